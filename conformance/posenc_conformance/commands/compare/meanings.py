"""What two configurations mean: where they differ, and what each difference costs."""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from posenc_conformance.commands.compare.checkpoints import GGUF, Checkpoint
from posenc_conformance.commands.compare.findings import Finding
from posenc_conformance.commands.compare.gguf_meaning import LIST_MISSING
from posenc_conformance.errors import apart
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.models.cost import POSITIONS, Cost, cost
from posenc_conformance.models.layer_frequencies import rotated, turning
from posenc_conformance.models.layer_kinds import WITHOUT_POSITIONS
from posenc_conformance.models.meaning import Group, Meaning, call_of, scheme_of
from posenc_conformance.models.misreadings import unturned, with_plain_rope

NEAR = 1e-5
"""Largest relative difference of frequencies that were computed and stored in float32."""
STATED = 2.0**-24
"""Largest relative error of a number that one file has in float32, rounded once."""
BY_FACTOR = ("dynamic-ntk", "ntk-aware", "position-interpolation", "yarn")
"""Schemes whose factor a file states; others may be read from a table, and are as near as that."""
OF_LENGTH = ("attention_factor", "mscale", "mscale_all_dim")
"""Parameters that make pairs longer, which are compared by their result."""
UNSCALED = ("m-rope", "p-rope", "rope")
LISTED = ("short_factors", "long_factors")
BIASES = ("alibi",)
Change = tuple[str, str]
"""The id of a difference, and its text."""


def compare_meanings(original: Checkpoint, converted: Checkpoint) -> list[Finding]:
    """Compare groups of layers by the numbers that they compute; spelling is no difference."""
    before, after = _by_layer(original.meaning), _by_layer(converted.meaning)
    findings = list(_contexts(original.meaning, converted.meaning))
    if before.keys() != after.keys():
        text = f"{len(before)} layers → {len(after)} layers"
        findings.append(Finding("layers", "meaning", (), text))
    pairs: dict[tuple[int, int], list[int]] = {}
    for number in sorted(before.keys() & after.keys()):
        pairs.setdefault((id(before[number]), id(after[number])), []).append(number)
    for numbers in pairs.values():
        left, right = before[numbers[0]], after[numbers[0]]
        findings += _of_layers(left, right, tuple(numbers), original, converted)
    return findings


def _by_layer(meaning: Meaning) -> dict[int, Group]:
    """Return the group of each layer; what acts once before the first stands at -1."""
    return {number: group for group in meaning.groups for number in (group.layers or (-1,))}


def _contexts(before: Meaning, after: Meaning) -> Iterator[Finding]:
    left, right = before.context.extended, after.context.extended
    if left is not None and right is not None and left != right:
        text = f"released for {left:,} positions → {right:,}; no number changes, but code may "
        yield Finding("context", "meaning", (), f"{text}cut or refuse longer texts")


def _of_layers(
    left: Group,
    right: Group,
    numbers: tuple[int, ...],
    original: Checkpoint,
    converted: Checkpoint,
) -> Iterator[Finding]:
    layers = tuple(number for number in numbers if number >= 0)
    changes = [
        *_sight(left, right, original, converted),
        *_positions(left, right, original, converted),
    ]
    unknown = any(id != LIST_MISSING for id, _ in _flaws(original, converted))
    for number, (id, text) in enumerate(changes):
        # The cost is that of all changes of these layers together.
        costs = () if number or unknown else _costs(left, right)
        yield Finding(id, "meaning", (), text, layers, costs=costs)
    if not changes:
        yield Finding("", "meaning", (), _described(left), layers)


def _described(group: Group) -> str:
    if group.call is None:
        return "no positions in either file"
    base = group.parameters.get("base")
    more = f", base {_number(base)}" if base is not None else ""
    window = f", a query sees {group.window:,} positions" if group.window else ""
    return f"{scheme_of(group).title}{more}{window}: the same"


def _sight(
    left: Group, right: Group, original: Checkpoint, converted: Checkpoint
) -> Iterator[Change]:
    """Yield what differs in the keys that a query sees."""
    linear = [group.attention in WITHOUT_POSITIONS for group in (left, right)]
    if linear[0] != linear[1]:
        yield "layer-kinds", f"{left.attention} layers → {right.attention} layers"
        return
    windows = [_window(group, side) for group, side in ((left, original), (right, converted))]
    if windows[0] != windows[1]:
        texts = [f"{window:,} positions" if window else "none" for window in windows]
        yield "window", f"window {texts[0]} → {texts[1]}"
    elif windows[0] and left.attention != right.attention:
        yield "window-kind", f"{left.attention} window → {right.attention} window"


def _window(group: Group, side: Checkpoint) -> int | None:
    """Return the window of a group; None for one that no text is long enough for."""
    whole = side.meaning.context.extended
    if group.window is None or (whole is not None and group.window >= whole):
        return None
    return group.window


def _positions(
    left: Group, right: Group, original: Checkpoint, converted: Checkpoint
) -> Iterator[Change]:
    """Yield what differs in how positions enter."""
    if left.turns != right.turns:
        yield "rotation", f"{_kind(left)} → {_kind(right)}"
    elif left.turns:
        yield from _rotations(left, right, original, converted)
    elif left.scheme != right.scheme:
        yield "scheme", f"{_kind(left)} → {_kind(right)}"
    else:
        yield from _parameters(left, right)
    if left.temperature != right.temperature:
        yield "temperature", "queries grow with the position in another way, or in one file only"
    before, after = _score_factor(left, original), _score_factor(right, converted)
    if not np.isclose(before, after, rtol=NEAR, atol=0):
        yield "score-factor", "logits × {} → × {}".format(*apart(before, after))


def _score_factor(group: Group, side: Checkpoint) -> float:
    """Return the factor of logits in addition to 1/√d."""
    factor, size = group.score_factor or 1.0, group.parameters.get("head_dim")
    if not side.config.type.startswith("granite") or size is None:
        return factor
    root = math.sqrt(int(size))
    # Where nothing is said, transformers multiplies by 1, and llama.cpp by 1/√d.
    usual = 1 / root if side.form == GGUF else 1.0
    return factor * root * float(side.config.get("attention_multiplier", usual))


def _kind(group: Group) -> str:
    return "not rotated" if group.call is None else scheme_of(group).title


def _rotations(
    left: Group, right: Group, original: Checkpoint, converted: Checkpoint
) -> Iterator[Change]:
    sizes = [int(group.parameters["head_dim"]) for group in (left, right)]
    if sizes[0] != sizes[1]:
        yield "head-size", f"heads of {sizes[0]} channels → {sizes[1]}"
        return
    widths = [_width(group) for group in (left, right)]
    if widths[0] != widths[1]:
        yield "rotated-share", f"{widths[0]} of {sizes[0]} channels rotated → {widths[1]}"
        return
    sections = [group.parameters.get("sections") for group in (left, right)]
    if sections[0] != sections[1] or _arrangement(left) != _arrangement(right):
        yield "sections", f"pairs for time, height and width {sections[0]} → {sections[1]}"
    flaws = _flaws(original, converted)
    yield from flaws or _frequencies(left, right, original, converted)


def _flaws(original: Checkpoint, converted: Checkpoint) -> list[Change]:
    """List what is wrong with the tables of divisors of a file."""
    ours = [(id, f"the original's {text}") for id, text in original.flaws]
    return [*ours, *converted.flaws]


def _arrangement(group: Group) -> str | None:
    return group.combination if group.scheme == "m-rope" else None


def _width(group: Group) -> int:
    """Count the channels that are rotated at some length of text."""
    if group.scheme == "p-rope":
        (omega, *_) = [numbers for _, numbers, _ in turning(group)]
        return 2 * int(np.count_nonzero(omega))
    return rotated(group)


def _frequencies(
    left: Group, right: Group, original: Checkpoint, converted: Checkpoint
) -> Iterator[Change]:
    before, after = _turning(left, original), _turning(right, converted)
    same = len(before) == len(after) and all(
        one.shape == other.shape and np.allclose(one, other, rtol=NEAR, atol=0)
        for (_, one, _), (_, other, _) in zip(before, after, strict=True)
    )
    if not same and (original.divisors is not None or converted.divisors is not None):
        yield "divisors", _worst(before[0][1], after[0][1])
    elif not same:
        yield from _why(left, right)
    elif left.scheme == right.scheme:
        yield from _stated(left, right)
    if not _other_scaling(left, right) and not np.isclose(
        before[0][2], after[0][2], rtol=NEAR, atol=0
    ):
        yield (
            "attention-factor",
            "pairs longer by " + " → ".join(apart(before[0][2], after[0][2], digits=6)),
        )


def _turning(group: Group, side: Checkpoint) -> list[tuple[str, Floats, float]]:
    """Return the frequencies at each length of text, and how much longer pairs become."""
    found = list(turning(group))
    if side.divisors is None:
        return found
    return [(words, _divided(omega, side.divisors), longer) for words, omega, longer in found]


def _divided(omega: Floats, divisors: Floats) -> Floats:
    if omega.shape != divisors.shape:
        return np.zeros(0)
    return np.asarray(omega / divisors, dtype=np.float64)


def _worst(before: Floats, after: Floats) -> str:
    if before.shape != after.shape:
        return "rope_freqs divides another number of frequencies than turn"
    ratio = after / before
    pair = int(np.argmax(np.abs(np.log(ratio))))
    return f"rope_freqs: pair {pair} turns {ratio[pair]:.4g} times as fast as in the original"


def _why(left: Group, right: Group) -> Iterator[Change]:
    """Yield the parameters that make frequencies differ: the base, and those of scaling."""
    base, scaling = _others(left, right, "base"), _other_scaling(left, right)
    if base:
        yield "base", _bases(left, right)
    if scaling:
        yield "scaling", _scalings(left, right)
    lists = [name for name in LISTED if _differ(left, right, name)]
    if left.scheme == right.scheme and lists:
        yield "lists", f"other numbers in {' and '.join(lists)}"
    if not (base or scaling or lists):
        yield "frequencies", "pairs turn by other frequencies"


def _stated(left: Group, right: Group) -> Iterator[Change]:
    """Yield the numbers that files state differently, though frequencies are near to each other."""
    if _others(left, right, "base"):
        yield "base", _bases(left, right)
    if left.scheme in BY_FACTOR and _others(left, right, "factor"):
        yield "scaling", _scalings(left, right)


def _others(left: Group, right: Group, name: str, limit: float = STATED) -> bool:
    """Return whether numbers differ by more than one of them may be rounded."""
    one, other = (group.parameters.get(name) for group in (left, right))
    if isinstance(one, int | float) and isinstance(other, int | float):
        return abs(one - other) > limit * max(abs(one), abs(other))
    return one != other


def _bases(left: Group, right: Group) -> str:
    base, other = (_number(group.parameters.get("base")) for group in (left, right))
    return f"base {base} → {other}"


def _scalings(left: Group, right: Group) -> str:
    return f"scaling {_scaling(left)} → {_scaling(right)}"


def _scaling(group: Group) -> str:
    """Describe the scaling of frequencies."""
    if group.scheme in UNSCALED:
        return "none"
    values = [f"{name} {_number(value)}" for name, value in _of_scaling(group).items()]
    return f"{group.scheme} ({', '.join(values)})"


def _of_scaling(group: Group) -> dict[str, int | float]:
    """Return the parameters that scale frequencies."""
    skipped = ("head_dim", "rotary_dim", "base", *OF_LENGTH, *LISTED)
    return {
        name: value
        for name, value in group.parameters.items()
        if name not in skipped and isinstance(value, int | float)
    }


def _other_scaling(left: Group, right: Group) -> bool:
    """Return whether frequencies are scaled in another way, or by other numbers."""
    if left.scheme in UNSCALED and right.scheme in UNSCALED:
        return False
    names = {**_of_scaling(left), **_of_scaling(right)}
    limit = STATED if left.scheme in BY_FACTOR else NEAR
    return left.scheme != right.scheme or any(_others(left, right, name, limit) for name in names)


def _number(value: object) -> str:
    return f"{value:,.10g}" if isinstance(value, int | float) else str(value)


def _differ(left: Group, right: Group, name: str) -> bool:
    before, after = left.parameters.get(name), right.parameters.get(name)
    if isinstance(before, int | float | list) and isinstance(after, int | float | list):
        one, other = np.asarray(before, float), np.asarray(after, float)
        return one.shape != other.shape or not np.allclose(one, other, rtol=NEAR, atol=0)
    return before != after


def _parameters(left: Group, right: Group) -> Iterator[Change]:
    """Yield the parameters of a bias or a table that differ."""
    for name in {**left.parameters, **right.parameters}:
        if _differ(left, right, name):
            values = [str(group.parameters.get(name)) for group in (left, right)]
            yield "parameter", f"{name} {values[0]} → {values[1]}"


# What a difference costs.


def _costs(left: Group, right: Group) -> tuple[Cost, ...]:
    """Compute what the converted group costs at each position; empty if it has no number."""
    if left.scheme in BIASES and right.scheme == left.scheme:
        return tuple(cost(left, right, position) for position in POSITIONS)
    if not left.turns:
        return ()
    other = _in_layout_of(left, right) if right.turns else unturned(left, left)
    if other is None or other.parameters["head_dim"] != left.parameters["head_dim"]:
        return ()
    return tuple(cost(left, other, position) for position in POSITIONS)


def _in_layout_of(left: Group, right: Group) -> Group | None:
    """Return a group with its pairs in the layout of another one; None if none is known."""
    layout = left.conventions.get("layout")
    if right.conventions.get("layout") == layout:
        return right
    wanted = {**call_of(right).combinations[right.combination or ""].conventions, "layout": layout}
    for name, combination in call_of(right).combinations.items():
        if combination.conventions == wanted:
            return replace(right, combination=name)
    if right.scheme != "rope":
        return None
    return replace(with_plain_rope(right), combination=str(layout))
