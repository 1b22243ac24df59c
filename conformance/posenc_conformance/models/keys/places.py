"""Places in a configuration where engines look for a field that is elsewhere."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from posenc_conformance.models.configuration import FieldDict, Fields


@dataclass(frozen=True)
class Misread:
    """A place in a configuration where an engine looks for a field that is elsewhere."""

    id: str
    words: str
    respelled: Callable[[Fields], FieldDict]
    """Returns the configuration with the field where the engine looks for it."""
    mistake: str | None = None
    """The id of the resulting mistake, if that has a name of its own."""


def _renamed(given: str, read: str) -> Misread:
    """Make the misreading that looks for ``read`` where the block of scaling has ``given``."""

    def respelled(config: Fields) -> FieldDict:
        changed = {
            name: respelled(value) if isinstance(value, Mapping) else value
            for name, value in config.items()
        }
        if given in changed and read not in changed:
            changed[read] = changed.pop(given)
        return changed

    words = f"reads the key {read} where this configuration has {given}"
    id = f"{read.replace('_', '-')}-read"
    return Misread(id, f"{words}, and so ignores the scaling", respelled, "scaling-ignored")


OUTER = ("rope_theta", "partial_rotary_factor")
"""Fields that were next to rope_scaling, and are now within rope_parameters."""


def _in_the_old_place(config: Fields) -> FieldDict:
    """Return the configuration with rope_scaling, rope_theta etc. instead of rope_parameters."""
    parameters = config.get("rope_parameters")
    if not isinstance(parameters, Mapping):
        return dict(config)
    changed = {name: value for name, value in config.items() if name != "rope_parameters"}
    block = parameters.get("full_attention", parameters)
    local = parameters.get("sliding_attention")
    if isinstance(local, Mapping) and "rope_theta" in local:
        changed["rope_local_base_freq"] = local["rope_theta"]
    if isinstance(block, Mapping):
        changed |= {name: block[name] for name in OUTER if name in block}
        changed["rope_scaling"] = {name: block[name] for name in block if name not in OUTER}
    return changed


def _in_the_new_place(config: Fields) -> FieldDict:
    """Return the configuration with rope_parameters instead of rope_scaling, rope_theta etc."""
    if config.get("rope_parameters") is not None:
        return dict(config)
    moved = ("rope_scaling", "rope_local_base_freq", *OUTER)
    others = {name: value for name, value in config.items() if name not in moved}
    block = {"rope_type": "default", **(config.get("rope_scaling") or {})}
    block |= {name: config[name] for name in OUTER if config.get(name) is not None}
    local = config.get("rope_local_base_freq")
    if local is None:
        return {**others, "rope_parameters": block}
    sliding = {"rope_type": "default", "rope_theta": local}
    blocks = {"full_attention": block, "sliding_attention": sliding}
    return {**others, "rope_parameters": blocks}


def of_each_kind(config: Fields) -> Mapping[str, FieldDict]:
    """Return the configuration with one flat block, that of each kind of attention, by kind.

    Empty unless the configuration has a block for each kind of layer.
    """
    blocks = config.get("rope_parameters")
    if not isinstance(blocks, Mapping):
        return {}
    return {
        kind: {**config, "rope_parameters": blocks[name]}
        for kind, name in BLOCKS.items()
        if isinstance(blocks.get(name), Mapping)
    }


BLOCKS = {
    "full": "full_attention",
    "sliding": "sliding_attention",
    "two-sided": "sliding_attention",
    "chunked": "chunked_attention",
}
"""Names of the blocks for kinds of attention."""
NESTED = (
    "nested-block-unread",
    "reads rope_parameters as one flat block, where this configuration has one for each kind of "
    "layer",
)
MISREAD = (
    _renamed("rope_type", "type"),
    _renamed("type", "rope_type"),
    Misread(
        "old-place-read",
        "reads rope_theta and rope_scaling, where this configuration has rope_parameters",
        _in_the_old_place,
    ),
    Misread(
        "new-place-read",
        "reads rope_parameters, where this configuration has rope_theta and rope_scaling",
        _in_the_new_place,
    ),
)
"""Misreadings with the same results as other mistakes; only a call with a respelled configuration
tells them apart."""
