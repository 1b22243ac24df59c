"""Transformers of diffusers, by ``_class_name``: the axes of a position, and the channels of each.

Taken from the classes of diffusers 0.42.1. Each axis turns channels 2t and 2t + 1 of its own share
of a head as a pair, with one base for all axes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from posenc_conformance.errors import UserError, in_line
from posenc_conformance.models.configuration import Configuration, normalise_numbers
from posenc_conformance.models.defaults import DIFFUSERS, Default
from posenc_conformance.models.fields import BASE, CHANNELS, LAYERS, integer, listed
from posenc_conformance.models.meaning import Context, Group, Meaning, Number
from posenc_conformance.models.types.rotary import INTERLEAVED
from posenc_conformance.models.understood import ABOUT_POSITIONS

FORMAT = "config.json of diffusers"

BLOCKS: Mapping[str, Number] = {"num_layers": 19, "num_single_layers": 38}


@dataclass(frozen=True)
class Axial:
    """A class whose queries and keys are rotated by positions on several axes."""

    base: Number
    layers: Mapping[str, Number]
    """Fields with numbers of layers, each with its default; layers of each are a group."""
    widths: str = ""
    """The field with the channels of each axis; empty if a rule shares them out."""
    usual: tuple[int, ...] = ()
    """The default of that field."""
    base_field: str = ""
    """The field with the base; empty if it is fixed in the class."""
    head: int = 128
    """The default of ``attention_head_dim``; 0 if heads are as large as all axes together."""
    switch: str = ""
    """A field that must be true for models that rotate, if there is one."""


FLUX = Axial(10000, BLOCKS, "axes_dims_rope", (16, 56, 56))
WAN = Axial(10000, {"num_layers": 40})
AXIAL: Mapping[str, Axial] = {
    "ChromaTransformer2DModel": FLUX,
    "CogVideoXTransformer3DModel": Axial(
        10000, {"num_layers": 30}, head=64, switch="use_rotary_positional_embeddings"
    ),
    "Flux2Transformer2DModel": Axial(
        2000,
        {"num_layers": 8, "num_single_layers": 48},
        "axes_dims_rope",
        (32, 32, 32, 32),
        "rope_theta",
    ),
    "FluxTransformer2DModel": FLUX,
    "HunyuanVideoTransformer3DModel": Axial(
        256,
        {"num_layers": 20, "num_single_layers": 40},
        "rope_axes_dim",
        (16, 56, 56),
        "rope_theta",
    ),
    "Lumina2Transformer2DModel": Axial(
        10000,
        {"num_layers": 26, "num_refiner_layers": 2},
        "axes_dim_rope",
        (32, 32, 32),
        head=0,
    ),
    "QwenImageTransformer2DModel": Axial(10000, {"num_layers": 60}, "axes_dims_rope", (16, 56, 56)),
    "SkyReelsV2Transformer3DModel": Axial(10000, {"num_layers": 32}),
    "WanTransformer3DModel": WAN,
    "WanVACETransformer3DModel": WAN,
    "ZImageTransformer2DModel": Axial(
        256,
        {"n_layers": 30, "n_refiner_layers": 2},
        "axes_dims",
        (32, 48, 48),
        "rope_theta",
        head=0,
    ),
}
"""Classes of which all axes are known."""

_CONVOLVES = "it convolves, and no token of it has a position"
_SINES = "it adds a table of sines for rows and columns to its patches, and turns nothing"
_STRETCHED = "rows and columns are stretched to the size of another grid before they turn anything"
REFUSED: Mapping[str, str] = {
    "AuraFlowTransformer2DModel": "it adds a learned table, cropped to the image",
    "CogView3PlusTransformer2DModel": _SINES,
    "CogView4Transformer2DModel": _STRETCHED,
    "DiTTransformer2DModel": _SINES,
    "HunyuanDiT2DModel": _STRETCHED,
    "LTXVideoTransformer3DModel": "positions are fractions of seconds and of the image",
    "PixArtTransformer2DModel": _SINES,
    "SD3Transformer2DModel": f"{_SINES}: that of its largest image, cropped around the middle",
    "SanaTransformer2DModel": _CONVOLVES,
    "StableCascadeUNet": _CONVOLVES,
}
"""Classes that are not read, each with the reason."""
CONVOLUTIONS = ("Autoencoder", "ControlNet", "Paella", "UNet", "VQModel")
"""Beginnings of the names of classes that have no tokens."""

IGNORED = frozenset(
    [
        *("axes_lens", "rope_max_seq_len"),  # lengths of tables of sines
        *("max_text_seq_length", "pos_embed_seq_len"),  # tokens that are not turned
        *("scaling_factor", "temporal_compression_ratio"),  # of the picture, not of its tokens
    ]
)
"""Fields that turn nothing, although their names resemble those of fields about positions."""
BASES = ("rope_theta", "theta")
"""Fields with a base, of which a class reads at most one."""


def of_diffusers(raw: Mapping[str, Any], where: str) -> Configuration:
    """Check the configuration of a class of diffusers, and return it.

    Raises UserError for a class that is not read, with the reason, and for a field that is missing
    or has a value that is not permitted.
    """
    name = raw["_class_name"]
    if not isinstance(name, str) or name not in AXIAL:
        reason = _reason(name)
        hint = f"read are {', '.join(AXIAL)}"
        if reason == _CONVOLVES:
            hint = "give the config.json of a transformer; this part has no positions to judge"
        shown = in_line(repr(name))[:100]
        raise UserError(f"{where}: _class_name: {shown} of diffusers is not read: {reason}", hint)
    config = Configuration(name, normalise_numbers(raw), where, INTERLEAVED, format=FORMAT)
    style = AXIAL[name]
    _demand_read(config, style)
    if style.switch and raw.get(style.switch) is not True:
        raise config.wrong(style.switch, "it is not true; only models that rotate are read")
    _demand_sound(config, style)
    _demand_whole(config, style)
    return replace(config, taken=_taken(config, style))


def _reason(name: object) -> str:
    if isinstance(name, str):
        if name in REFUSED:
            return REFUSED[name]
        if name.startswith(CONVOLUTIONS):
            return _CONVOLVES
    return "its positions are not specified here"


def _demand_read(config: Configuration, style: Axial) -> None:
    """Raise UserError for a field about positions that the class does not read, or that is null."""
    read = {*style.layers, *filter(None, (style.widths, style.base_field, style.switch))}
    if style.head:
        read.add("attention_head_dim")
    for field, value in config.fields.items():
        if field in read and value is None:
            raise config.wrong(
                field, "it is null, which diffusers' class does not take for missing"
            )
        if field in read or field in IGNORED or not value:
            continue
        if field in BASES and value == style.base and not style.base_field:
            continue
        if field in BASES or ABOUT_POSITIONS.search(field):
            hint = f"its base is {style.base:,}, whatever the file says: remove the field"
            if style.base_field:
                hint = f"write {style.base_field}, if that is what is meant"
            raise config.wrong(
                field,
                f"it is {in_line(repr(value))[:80]}, and {config.type} does not read it",
                hint if field in BASES else "nothing is guessed of it",
            )


def _demand_sound(config: Configuration, style: Axial) -> None:
    kinds = dict.fromkeys(style.layers, integer(LAYERS)) | {"attention_head_dim": integer(CHANNELS)}
    if style.widths:
        kinds[style.widths] = listed(integer(CHANNELS), 8)
    if style.base_field:
        kinds[style.base_field] = BASE
    for field, kind in kinds.items():
        value = config.get(field)
        if value is not None and not kind.holds(value):
            text = in_line(repr(value))[:80]
            raise config.wrong(field, f"it is {text}", f"it must be {kind.words}")


def _demand_whole(config: Configuration, style: Axial) -> None:
    """Raise UserError unless axes have whole pairs, and all channels of a head together."""
    widths = _widths(config, style)
    field = style.widths or "attention_head_dim"
    size = config.get("attention_head_dim", style.head) if style.head else _divided(config)
    size = sum(widths) if size is None else size
    if sum(widths) != size:
        channels = " + ".join(map(str, widths))
        raise config.wrong(field, f"axes have {channels} channels, and a head has {size}")
    if any(width % 2 for width in widths):
        raise config.wrong(field, f"axes of {widths} channels are no pairs")


def _divided(config: Configuration) -> int | None:
    """Return the channels of a head that follow from the hidden size, if the file has it."""
    for hidden, heads in (("dim", "n_heads"), ("hidden_size", "num_attention_heads")):
        if config.get(hidden) is not None and config.get(heads) is not None:
            return config.whole(hidden) // config.whole(heads)
    return None


def _widths(config: Configuration, style: Axial) -> Sequence[int]:
    """Return the channels of each axis."""
    if style.widths:
        widths: Sequence[int] = config.get(style.widths, list(style.usual))
        return [int(width) for width in widths]
    size = int(config.get("attention_head_dim", style.head))
    if style.switch:  # CogVideoX
        return [size // 4, size // 8 * 3, size // 8 * 3]
    across = size // 6 * 2
    return [size - 2 * across, across, across]


def _taken(config: Configuration, style: Axial) -> tuple[Default, ...]:
    """Return the fields that a file does not have, with what the class takes."""
    values: dict[str, Any] = {**style.layers, style.base_field or "theta": style.base}
    if style.widths:
        values[style.widths] = list(style.usual)
    if style.head:
        values["attention_head_dim"] = style.head
    return tuple(
        Default(name, value, DIFFUSERS)
        for name, value in values.items()
        if config.get(name) is None
    )


def axial(config: Configuration) -> Meaning:
    """Derive the groups of layers of a class of diffusers."""
    style = AXIAL[config.type]
    widths = _widths(config, style)
    base = config.get(style.base_field, style.base) if style.base_field else style.base
    parameters = {"head_dim": sum(widths), "base": base, "widths": list(widths)}
    groups = tuple(
        Group(
            id=field.removeprefix("num_").removeprefix("n_").replace("_", "-"),
            layers=tuple(range(config.get(field, usual))),
            scheme="axial-rope",
            attention="two-sided",
            call="axial_rope",
            combination="interleaved",
            parameters=parameters,
        )
        for field, usual in style.layers.items()
    )
    return Meaning(groups, Context(None, None), INTERLEAVED)
