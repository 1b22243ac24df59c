"""Queries and keys that a comparison has not looked at, so that it certifies nothing."""

from collections.abc import Iterator

from posenc_conformance.commands.compare.checkpoints import Checkpoint
from posenc_conformance.commands.compare.projections import (
    KEY,
    QUERY,
    groups_of,
    layers_of,
    packed_in,
)
from posenc_conformance.errors import in_line
from posenc_conformance.files import shown
from posenc_conformance.models.layer_kinds import WITHOUT_POSITIONS
from posenc_conformance.models.meaning import written

NOT_READ = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.h5", "*.msgpack", "*.npz", "*.onnx")
"""Files with weights in forms that are not read."""
SAVE = "load it with transformers, and save it with save_pretrained, as safetensors"


def unread_rows(original: Checkpoint, converted: Checkpoint) -> Iterator[str]:
    """Yield what was not looked at of queries and keys, and what to do about it."""
    sides = original, converted
    reasons = [*_without_any(original), *_without_any(converted)]
    yield from reasons
    for side in sides:
        yield from _packed(side)
    if not reasons:
        yield from _in_neither(original, converted)


def _without_any(side: Checkpoint) -> Iterator[str]:
    """Yield why nothing of a file was looked at, if nothing was."""
    where = shown(side.path)
    if side.tensors:
        if not layers_of(side) and not packed_in(side):
            yield f"{where}: no tensor of it is known as queries or keys; {_example(side)}"
        return
    files = sorted({path.name for form in NOT_READ for path in side.path.glob(form)})
    if not files:
        yield f"{where}: no weights are there"
        return
    more = " …" if len(files) > 1 else ""
    yield f"{where}: {in_line(files[0])}{more} is not read: {SAVE}"


def _example(side: Checkpoint) -> str:
    return f"its first one is {in_line(min(side.tensors))}"


def _packed(side: Checkpoint) -> Iterator[str]:
    """Yield the projections that are packed in a way that is not read, by layers."""
    found: dict[tuple[tuple[str, ...], str], list[int]] = {}
    for number, roles in sorted(packed_in(side).items()):
        for packing in dict.fromkeys(roles.values()):
            parts = tuple(sorted(role for role in roles if roles[role] == packing))
            found.setdefault((parts, packing), []).append(number)
    for (parts, packing), numbers in found.items():
        where = f"layer{'s' * (len(numbers) > 1)} {written(numbers)}"
        yield (
            f"{shown(side.path)}: {', '.join(parts)} of {where} are {packing}, which is not read: "
            "compare the checkpoint as it was before"
        )


def _in_neither(original: Checkpoint, converted: Checkpoint) -> Iterator[str]:
    """Yield the layers with attention of which no file has known queries and keys."""
    known = {
        number
        for side in (original, converted)
        for found in (layers_of(side), packed_in(side))
        for number, roles in found.items()
        if {QUERY, KEY} & {*roles}
    }
    without = sorted(
        number
        for number, group in groups_of(original).items()
        if group.attention not in WITHOUT_POSITIONS and number not in known
    )
    if without:
        yield f"layers {written(without)}: no queries and keys with known names in either file"
