"""The parts of a file: its text, which is read, and images, sound and speech, which are not.

Also the forms in which a text is given: in a part of its own, beside the fields of images as
transformers wrote it until 4.53, or without the type that its classes name.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from posenc_conformance.errors import UserError
from posenc_conformance.models.architectures import ROTARY
from posenc_conformance.models.defaults import TRANSFORMERS, Default
from posenc_conformance.models.types.others import GRIDS, LEARNED, TEXTS
from posenc_conformance.models.types.refused import NOT_SPECIFIED

TEXT = ("text_config", "thinker_config", "llm_config", "language_config", "llm_cfg")
"""Keys under which the configuration of a multimodal model has its text part."""

NO_PARTS = ("compression", "generation", "quant", "speculative", "task_specific")
"""Beginnings of blocks named ``…_config`` that describe no part of a model."""
OF_THE_TEXT = ("attn", "dual_chunk_attention", "ffn", "linear_attn", "per_layer", "rope")
"""Beginnings of such blocks that belong to the text."""
TOWERS = ("mm_vision_tower", "mm_audio_tower", "vision_tower")
"""Fields that name the model of another part."""


@dataclass(frozen=True)
class Part:
    """A part of a file."""

    name: str
    type: str | None
    """Its type of model, if the file says it."""
    read: bool


def parts_of(raw: Mapping[str, Any], above: str = "") -> tuple[Part, ...]:
    """Return the parts that a file consists of; none if it is of a text alone."""
    listed = tuple(_parts(raw, above))
    return listed if len(listed) > 1 or any(not part.read for part in listed) else ()


def _parts(raw: Mapping[str, Any], above: str) -> Iterator[Part]:
    text = next((name for name in TEXT if isinstance(raw.get(name), Mapping)), None)
    for name, value in raw.items():
        if name == text and any(isinstance(value.get(inner), Mapping) for inner in TEXT):
            yield from _parts(value, f"{above}{name}.")
        elif isinstance(value, Mapping) and _is_part(name):
            yield Part(f"{above}{name}", _type_in(value), name == text)
        elif name in TOWERS and isinstance(value, str) and len(value) < 200:
            yield Part(f"{above}{name}", value, False)


def _is_part(name: str) -> bool:
    return name.endswith(("_config", "_cfg")) and not name.startswith((*NO_PARTS, *OF_THE_TEXT))


def _type_in(part: Mapping[str, Any]) -> str | None:
    value = part.get("model_type")
    return value if isinstance(value, str) and len(value) < 100 else None


NEEDED = ("hidden_size", "num_attention_heads", "num_hidden_layers")


def flat_type(type: str, raw: Mapping[str, Any]) -> str:
    """Return the type of the text of a multimodal model whose file has no part for it.

    LLaVA's authors, and transformers until 4.53 for some types, write the fields of the text beside
    those of images. Returns ``type`` itself for all others.
    """
    if type in (*ROTARY, *LEARNED, *GRIDS, *NOT_SPECIFIED):
        return type
    whole = type.removesuffix("_llama") if type == "llava_llama" else type
    text = TEXTS.get(whole, f"{whole}_text")
    known = text in (*ROTARY, *LEARNED, *NOT_SPECIFIED)
    return text if known and all(raw.get(name) is not None for name in NEEDED) else type


def type_by_class(raw: Mapping[str, Any]) -> str | None:
    """Return the type of model that a file without ``model_type`` names by its class, if known.

    Files released with code of their own may leave it out.
    """
    names = raw.get("architectures")
    if not isinstance(names, list) or len(names) != 1 or not isinstance(names[0], str):
        return None
    stem = names[0].removesuffix("ForCausalLM").lower()
    types = {type.replace("_", ""): type for type in ROTARY}
    return types.get(stem) if names[0].endswith("ForCausalLM") else None


TOWER_ALONE = {
    "StableDiffusionSafetyChecker": "the tower for images",
    "CLIPVisionModel": "the tower for images",
    "CLIPVisionModelWithProjection": "the tower for images",
}
"""Classes that have no text, although their files have a part for one."""


def demand_text(raw: Mapping[str, Any], where: str) -> None:
    """Raise UserError if the class of a model has no text, whatever parts its file has."""
    names = raw.get("architectures")
    for name in names if isinstance(names, list) else ():
        if isinstance(name, str) and name in TOWER_ALONE:
            raise UserError(
                f"{where}: architectures: {name} has {TOWER_ALONE[name]} alone, and no text",
                "judge it by learned_grid, whose combinations are tables for patches",
            )


SIZES: Mapping[str, tuple[int, int, int, int]] = {
    "gemma": (3072, 28, 16, 8192),
    "gemma2": (2304, 26, 8, 8192),
    "llama": (4096, 32, 32, 2048),
    "mistral": (4096, 32, 32, 131072),
    "mixtral": (4096, 32, 32, 131072),
    "opt": (768, 12, 12, 2048),
    "qwen2": (4096, 32, 32, 32768),
    "qwen3": (4096, 32, 32, 32768),
}
"""Hidden size, layers, heads and context length of a type's class in transformers, which writes
into the part for a text only what differs from them."""
FIELDS_OF_SIZE = (
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "max_position_embeddings",
)


def with_sizes(type: str, fields: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[Default, ...]]:
    """Return the fields of a part for a text with the sizes that its class has by default."""
    missing = {
        name: value
        for name, value in zip(FIELDS_OF_SIZE, SIZES.get(type, ()), strict=False)
        if fields.get(name) is None
    }
    taken = tuple(Default(name, value, TRANSFORMERS) for name, value in missing.items())
    return {**fields, **missing}, taken
