"""The meaning of configurations of models without rotation: position tables, biases, or neither."""

from collections.abc import Callable, Mapping

from posenc_conformance.errors import in_line
from posenc_conformance.models.configuration import Configuration
from posenc_conformance.models.meaning import Context, Group, Meaning
from posenc_conformance.models.types.others import GRIDS, LEARNED
from posenc_conformance.models.understood import ABOUT_POSITIONS, IGNORED
from posenc_conformance.models.unturned import jamba, kimi_linear, nemotron_h
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments

# Tables.


def table(config: Configuration) -> Meaning:
    """Derive the position table, which is added before the first layer.

    Raises UserError for fields that are missing or not understood.
    """
    style = config.get("position_embedding_type", "absolute")
    if style != "absolute":
        raise config.wrong("position_embedding_type", f"{style!r} is not known here")
    combination, rows = LEARNED[config.type], config.whole("max_position_embeddings")
    parameters: ArgumentDict = {"rows": rows, "dim": config.whole("hidden_size")}
    length = rows
    if combination == "after-padding":
        padding = config.need("pad_token_id")
        if not isinstance(padding, int) or not 0 <= padding < rows - 1:
            raise config.wrong(
                "pad_token_id",
                f"it is {in_line(repr(padding))}, and positions begin after it",
                f"it must be an integer from 0 on, below the last of {rows:,} rows",
            )
        parameters["padding_idx"] = padding
        length = rows - padding - 1
    elif combination == "two":
        parameters["rows"] = rows + 2
    group = Group("input", (), "learned", call="learned", combination=combination)
    return Meaning((_with(group, parameters),), Context(length, length), None)


def _with(group: Group, parameters: Arguments) -> Group:
    return Group(**{**vars(group), "parameters": dict(parameters)})


def grid(config: Configuration) -> Meaning:
    """Derive the table of positions for the patches of an image.

    Raises UserError for fields that are missing or not understood.
    """
    combination, class_tokens = GRIDS[config.type]
    image, patch = config.whole("image_size"), config.whole("patch_size")
    side = image // patch
    if config.type == "vit" and image % patch:
        raise config.wrong("image_size", f"{image} is not divisible by patch_size {patch}")
    parameters = {
        "rows": side * side + class_tokens,
        "dim": config.whole("hidden_size"),
        "height": side,
        "width": side,
    }
    group = Group("input", (), "learned", call="learned_grid", combination=combination)
    return Meaning((_with(group, parameters),), Context(side * side, side * side), None)


def _whisper(config: Configuration) -> Meaning:
    dim = config.whole("hidden_size")
    sources, targets = config.whole("max_source_positions"), config.whole("max_target_positions")
    encoder = Group("encoder-input", (), "sinusoidal", call="sinusoidal", combination="whisper")
    decoder = Group("decoder-input", (), "learned", call="learned", combination="plain")
    groups = (
        _with(encoder, {"dim": dim, "rows": sources}),
        _with(decoder, {"rows": targets, "dim": dim}),
    )
    return Meaning(groups, Context(targets, targets), None)


# Biases.


def _alibi(config: Configuration, form: str, heads: int, layers: int) -> Meaning:
    group = Group("layers", tuple(range(layers)), "alibi", call="alibi_bias", combination=form)
    extended = config.get("max_position_embeddings")
    return Meaning((_with(group, {"heads": heads}),), Context(extended, extended), None)


def _bloom(config: Configuration) -> Meaning:
    heads, layers = config.whole("num_attention_heads"), config.whole("num_hidden_layers")
    return _alibi(config, "first-key", heads, layers)


MPT = {"alibi": True, "rope": False, "alibi_bias_max": 8, "sliding_window_size": -1}
"""The fields of MPT's attn_config that affect positions, each with its only known value, which is
also the default."""
OF_ROPE = ("rope_dail_config", "rope_hf_config", "rope_impl", "rope_theta")
"""The fields of MPT's attn_config that are not read if queries and keys are not rotated."""


def _mpt(config: Configuration) -> Meaning:
    attention = config.get("attn_config", {})
    for name, value in attention.items():
        only = MPT.get(name)
        if only is not None and value != only:
            raise config.wrong(f"attn_config.{name}", f"it is {value}; {only} alone is known here")
        if name in MPT or name in OF_ROPE or name in IGNORED:
            continue
        if ABOUT_POSITIONS.search(name):
            raise config.wrong(
                f"attn_config.{name}", "it seems to be about positions, but is not known here"
            )
    heads, layers = config.whole("num_attention_heads"), config.whole("num_hidden_layers")
    return _alibi(config, "last-key", heads, layers)


ENCODERS = (["T5EncoderModel"], ["MT5EncoderModel"])
"""Classes that are the encoder alone, whatever the file says of a decoder."""


def _t5(config: Configuration) -> Meaning:
    parameters = {
        "num_buckets": config.get("relative_attention_num_buckets", 32),
        "max_distance": config.get("relative_attention_max_distance", 128),
    }
    exact = parameters["num_buckets"] // 2
    if parameters["max_distance"] <= exact:
        raise config.wrong(
            "relative_attention_max_distance",
            f"it is {parameters['max_distance']}, but each of the first {exact} has a bucket alone",
        )
    heads = config.whole("num_attention_heads")
    decoder = config.get("num_decoder_layers", config.whole("num_hidden_layers"))
    if config.listed("architectures") in ENCODERS:
        decoder = 0
    groups = tuple(
        _with(
            Group(id, tuple(range(count)), "t5-bias", call="t5_bucket", combination=combination),
            {**parameters, "heads": heads},
        )
        for id, combination, count in (
            ("encoder", "bidirectional", config.whole("num_hidden_layers")),
            ("decoder", "causal", decoder),
        )
        if count
    )
    return Meaning(groups, Context(None, None), None)


def _deberta(config: Configuration) -> Meaning:
    if not config.get("relative_attention"):
        raise config.wrong("relative_attention", "it is not true, so nothing here is relative")
    length = config.whole("max_position_embeddings")
    reach = config.get("max_relative_positions", -1)
    reach = length if reach < 1 else reach
    layers = tuple(range(config.whole("num_hidden_layers")))
    if config.type == "deberta":
        group = Group("layers", layers, "deberta", call="deberta_scores", combination="v1")
        complete = _with(group, {"max_relative_positions": reach})
    else:
        buckets = config.whole("position_buckets")
        group = Group("layers", layers, "deberta", call="deberta_bucket", combination="clamped")
        complete = _with(group, {"num_buckets": buckets, "max_relative_positions": reach})
    return Meaning((complete,), Context(length, length), None)


OWN: Mapping[str, Callable[[Configuration], Meaning]] = {
    "bloom": _bloom,
    "deberta": _deberta,
    "deberta-v2": _deberta,
    "jamba": jamba,
    "kimi_linear": kimi_linear,
    "nemotron_h": nemotron_h,
    "falcon": lambda config: _alibi(
        config,
        "first-key",
        config.whole("num_attention_heads"),
        config.whole("num_hidden_layers"),
    ),
    "mpt": _mpt,
    "mt5": _t5,
    "t5": _t5,
    "whisper": _whisper,
}
"""Types whose positions are derived by a function of their own."""
