"""The use of cosines and sines in a rotation, read from its results.

The angles may be right and their use wrong: a sign, a partner channel, a rounded table.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from posenc_conformance.diagnose.diagnosis import differs, residual_of, widest_bound
from posenc_conformance.diagnose.heads import parts_of, wrong_parts
from posenc_conformance.judge.arrays import (
    PRECISE,
    UNIT_ROUNDOFF,
    Flags,
    Floats,
    Ints,
    round_to,
)
from posenc_conformance.judge.case import Case

TURNING = ("rotary", "in-place", "gradient", "layer")
"""Kinds of calls that may rotate pairs of channels."""
SHORT = ("bfloat16", "float16")
STEPS = (360, *(2**power for power in range(6, 15)))
"""Sizes that are tried for a table of cosines and sines over the full circle."""
FACTOR = 1e-4
"""Least difference of a factor from 1 that is described."""
READ = 1e-6
"""Error of cosines and sines that are read from a result in float32."""
HALF_APART = "pairs are of channels half a head apart"
MOST = 256
"""Maximum number of channels: the truth is computed once per channel."""


@dataclass(frozen=True)
class Turned:
    """A result as ``cos * own + sign * sin * partner``, in the shape of x."""

    own: Floats
    partner: Floats
    cos: Floats
    sin: Floats
    place: Ints
    """Index of each channel's partner; the channel's own index if it is not rotated."""

    @property
    def is_first(self) -> Flags:
        """Which channels come first in their pairs."""
        return np.asarray(np.arange(len(self.place)) < self.place)

    @property
    def sign(self) -> Floats:
        """Sign of the sine in each channel."""
        return np.where(self.is_first, -1.0, 1.0)

    @property
    def stays(self) -> Flags:
        """Which channels are not rotated."""
        return np.asarray(self.place == np.arange(len(self.place)))

    @property
    def still(self) -> int:
        """Number of channels that are not rotated."""
        return int(np.sum(self.stays))

    @property
    def right(self) -> Floats:
        """The right result."""
        return self.of(self.cos, self.sin)

    def of(self, cos: Floats, sin: Floats) -> Floats:
        """Rotate by other cosines and sines."""
        return np.asarray(cos * self.own + self.sign * sin * self.partner)


@dataclass(frozen=True)
class Waves:
    """Cosines and sines of each row and pair, as read from a result and as asked for."""

    cos: Floats
    sin: Floats
    cos_asked: Floats
    sin_asked: Floats
    near: Floats
    """How far right ones may be off, by the error of their angles."""

    @property
    def longer(self) -> Floats:
        """Length of each pair relative to the right one."""
        asked = np.hypot(self.cos_asked, self.sin_asked)
        return np.asarray(np.hypot(self.cos, self.sin) / np.where(asked == 0, 1.0, asked))

    @property
    def ahead(self) -> Floats:
        """Angle of each pair less the right one, in radians from -π to π."""
        both = (self.cos + 1j * self.sin) * (self.cos_asked - 1j * self.sin_asked)
        return np.asarray(np.angle(both))

    @property
    def allowed(self) -> Floats:
        """How far angles and relative lengths may be off: both channels of a pair have an error."""
        return 2 * self.near + READ


Model = Callable[[Turned], Floats]
"""The result of a mistake."""


def describe_turning(
    wrong: Sequence[tuple[Case, Floats]], right: Sequence[tuple[Case, Floats]]
) -> str:
    """Say in words how right angles are misused; empty if nothing known gives all results.

    If only queries, keys or values are wrong, the words begin with them.
    """
    names = {name for answer in wrong for name, *_ in wrong_parts(*answer)}
    if not names:
        return ""
    name = next(iter(names)) if len(names) == 1 else ""
    parts = [(case, output) for pair in (*wrong, *right) for _, case, output in _of(names, *pair)]
    answers = [(*answer, read_turning(answer[0])) for answer in parts]
    readable = [(case, output, turned) for case, output, turned in answers if turned is not None]
    if len(readable) < len(answers):
        return ""
    for words, model in MODELS.items():
        models = [(case, output, model(turned)) for case, output, turned in readable]
        wide = HALF_APART in words
        if all(_fits(model, *answer, wide=wide) for answer in readable) and any(
            differs(case, predicted) for case, _, predicted in models
        ):
            return f"{name}: {words}" if name else words
    words = _describe_still(readable) or _describe_read(readable)
    return f"{name}: {words}" if name and words else words


def _fits(model: Model, case: Case, output: Floats, turned: Turned, *, wide: bool) -> bool:
    """Return whether a result is that of a mistake whose angles round as the case's own.

    With ``wide``, each value has the widest bound of its row.
    """
    predicted = model(turned)
    if residual_of(case, output, predicted, widest_bound(case) if wide else None) <= 1:
        return True
    with np.errstate(invalid="ignore"):
        near = np.abs(output - predicted) <= np.maximum(case.bound, np.spacing(np.abs(predicted)))
    if 2 * np.count_nonzero(near) < near.size:  # no rounding of angles makes most values wrong
        return False
    return residual_of(case, output, predicted, _own_bound(model, case, turned)) <= 1


def _own_bound(model: Model, case: Case, turned: Turned) -> Floats:
    """Return the bound of a mistake's result: how far it moves with the error of each angle.

    A rounded table may move by a step, where an angle is near the edge of one.
    """
    lost = (case.bound - case.bounds(angles=False)) / _scale_of(case)
    lost = np.where(turned.stays, 0.0, lost)
    right, size = model(turned), np.hypot(turned.own, turned.partner)
    moved = [
        np.abs(model(replace(turned, cos=turned.cos + a, sin=turned.sin + b)) - right)
        for by in (lost, -lost)
        for a, b in ((by, 0.0), (0.0, by))
    ]
    rounding = case.scheme.accuracy.rounding * UNIT_ROUNDOFF[case.dtype]
    still = replace(turned, own=size, partner=0 * size, cos=0 * turned.cos + 1, sin=0 * turned.sin)
    size = np.maximum(size, np.abs(model(still)))  # some mistakes move pairs
    return np.asarray(np.sum(moved, axis=0) + rounding * size)


def _scale_of(case: Case) -> Floats:
    """Return the scale of each value by which bounds are divided; 1 where it is 0."""
    return np.where(case.terms.scale > 0, case.terms.scale, 1.0)


def _of(names: Collection[str], case: Case, output: Floats) -> list[tuple[str, Case, Floats]]:
    return [part for part in parts_of(case, output) if part[0] in names]


def read_turning(case: Case) -> Turned | None:
    """Find cosine, sine and partner of each channel, from the rotation of unit vectors.

    None if the call rotates no pairs, or has too many channels.
    """
    x = case.arguments.get("x")
    turns = case.scheme.family == "rotary" and case.call.kind in TURNING
    if not turns or x is None or x.shape != case.shape:
        return None
    dim = x.shape[-1]
    if not 2 <= dim <= MOST:
        return None
    columns = [case.with_arguments(x=np.broadcast_to(unit, x.shape)).truth for unit in np.eye(dim)]
    matrix = np.stack(columns, axis=-1)  # last axis: inputs of each channel
    beside = np.abs(matrix * (1 - np.eye(dim))).reshape(-1, dim, dim).sum(axis=0)
    place = np.where(beside.any(axis=1), beside.argmax(axis=1), np.arange(dim))
    if (place[place] != np.arange(dim)).any() or (np.count_nonzero(beside, axis=1) > 1).any():
        return None
    channels = np.arange(dim)
    cos = matrix[..., channels, channels]
    sin = np.where(place == channels, 0.0, matrix[..., channels, place])
    sign = np.where(channels < place, -1.0, 1.0)
    return Turned(x, x[..., place], cos, sign * sin, place)


def _first_again(turned: Turned) -> Floats:
    """Compute the second member of each pair from the first one's new value."""
    new = turned.right
    second = turned.cos * turned.own + turned.sin * new[..., turned.place]
    return np.where(turned.is_first, new, second)


def _second_again(turned: Turned) -> Floats:
    """Compute the first member of each pair from the second one's new value."""
    new = turned.right
    first = turned.cos * turned.own - turned.sin * new[..., turned.place]
    return np.where(turned.is_first, first, new)


def _without_rest(turned: Turned) -> Floats:
    """Set channels that are not rotated to 0, where others are: at position 0 none is."""
    if turned.still == len(turned.place):
        return turned.right
    return np.where(turned.stays, 0.0, turned.right)


def _far_partner(turned: Turned, rest: float, is_long: bool = False) -> Floats:
    """Rotate the first channels with those half a head away, as if all channels were rotated.

    Rotated channels that are left unwritten contain x times ``rest``. ``is_long`` says that the
    factor on rotated pairs is on all channels.
    """
    first = np.flatnonzero(turned.is_first)
    far, still = first + len(turned.place) // 2, turned.stays
    if not turned.still or not first.size or far[-1] >= len(turned.place):
        return turned.right
    longer = np.hypot(turned.cos, turned.sin)[..., first[:1]] if is_long else 1.0
    out = np.where(still, turned.own, rest * turned.own) * longer
    cos, sin = turned.cos[..., first], turned.sin[..., first]
    out[..., first] = cos * turned.own[..., first] - sin * turned.own[..., far]
    out[..., far] = sin * turned.own[..., first] + cos * turned.own[..., far]
    return out


def _in_steps(steps: int, whole: Callable[[Floats], Floats]) -> Callable[[Turned], Floats]:
    """Make a model that rotates by whole multiples of a part of the circle."""

    def model(turned: Turned) -> Floats:
        part = 2 * np.pi / steps
        angle = whole(np.arctan2(turned.sin, turned.cos) / part) * part
        return np.where(
            turned.stays,
            turned.own,
            turned.of(np.cos(angle), np.sin(angle)),
        )

    return model


def _rolled(values: Floats, by: int) -> Floats:
    return np.roll(values, by, axis=-1)


def _of_others(turned: Turned, x: Floats) -> Floats:
    """Rotate other rows by the same angles."""
    return replace(turned, own=x, partner=x[..., turned.place]).right


def _narrow(dtype: str) -> Model:
    return _in_short(lambda turned: turned.right, dtype)


def _one_narrow(dtype: str, of: str) -> Model:
    """Make a model of a table of cosines, or of sines, in a short dtype."""

    def model(turned: Turned) -> Floats:
        cos = round_to(turned.cos, dtype) if of == "cosines" else turned.cos
        return turned.of(cos, round_to(turned.sin, dtype) if of == "sines" else turned.sin)

    return model


def _in_short(model: Model, dtype: str) -> Model:
    """Make a mistake's model for a table of cosines and sines in a short dtype."""

    def rounded(turned: Turned) -> Floats:
        cos, sin = round_to(turned.cos, dtype), round_to(turned.sin, dtype)
        return model(replace(turned, cos=cos, sin=sin))

    return rounded


LINES: Mapping[str, Model] = {
    "cos and sin are exchanged": lambda turned: turned.of(turned.sin, turned.cos),
    "the minus sign is missing: both members of a pair get +sin": lambda turned: (
        turned.cos * turned.own + turned.sin * turned.partner
    ),
    "the minus sign stands twice: both members of a pair get -sin": lambda turned: (
        turned.cos * turned.own - turned.sin * turned.partner
    ),
    "every pair is turned the other way: sin has the opposite sign": lambda turned: turned.of(
        turned.cos, -turned.sin
    ),
    "sin stands in both places, for cos as well": lambda turned: turned.of(turned.sin, turned.sin),
    "cos stands in both places, for sin as well": lambda turned: turned.of(turned.cos, turned.cos),
    "the part with sin is missing": lambda turned: turned.cos * turned.own,
    "the part with cos is missing": lambda turned: turned.of(0 * turned.cos, turned.sin),
    "x is added to what should come": lambda turned: turned.own + turned.right,
    "the first member of a pair is overwritten before the second one is made of it": _first_again,
    "the second member of a pair is overwritten before the first one is made of it": _second_again,
    "the members of each pair are exchanged in the result": lambda turned: turned.right[
        ..., turned.place
    ],
    "the members of each pair are exchanged before they are turned": lambda turned: (
        turned.cos * turned.partner + turned.sign * turned.sin * turned.own
    ),
    "only the first member of each pair is turned": lambda turned: np.where(
        turned.is_first, turned.right, turned.own
    ),
    "only the second member of each pair is turned": lambda turned: np.where(
        turned.is_first, turned.own, turned.right
    ),
    "channels that are not turned are left out, zeros stand there": _without_rest,
    "channels that are not turned come before those that are": lambda turned: _rolled(
        turned.right, turned.still
    ),
    "the last channels are turned in place of the first ones": lambda turned: _rolled(
        _of_others(turned, _rolled(turned.own, -turned.still)), turned.still
    ),
}
"""Possible mistakes in the two lines that turn a pair, in words, and their results."""
MODELS: Mapping[str, Model] = {
    **LINES,
    "cosines and sines in bfloat16": _narrow("bfloat16"),
    "cosines and sines in float16": _narrow("float16"),
    **{
        f"{of} alone are in {dtype}": _one_narrow(dtype, of)
        for dtype in SHORT
        for of in ("cosines", "sines")
    },
    **{
        f"{words}; cosines and sines are in {dtype}": _in_short(model, dtype)
        for dtype in SHORT
        for words, model in LINES.items()
    },
    f"{HALF_APART}, as if all channels turned": partial(_far_partner, rest=1.0),
    f"{HALF_APART}, as if all channels turned; others are 0": partial(_far_partner, rest=0.0),
    f"{HALF_APART}, as if all channels turned, all times one factor": (
        partial(_far_partner, rest=1.0, is_long=True)
    ),
    **{
        f"angles are {how} whole multiples of 2π/{steps}": _in_steps(steps, whole)
        for how, whole in (("rounded to", np.rint), ("cut to", np.floor))
        for steps in STEPS
    },
}
"""Possible misuses of cosines and sines, in words, and their results."""


def _describe_read(known: Sequence[tuple[Case, Floats, Turned]]) -> str:
    """Describe cosines and sines that are read from results; empty if they tell nothing simple."""
    read = [read_waves(*answer) for answer in known]
    waves = [each for each in read if each is not None]
    if not waves or len(waves) < len(read):
        return ""
    return (
        _describe_rounded(waves) or _describe_factors(known, waves) or _describe_moved(known, waves)
    )


def _describe_rounded(waves: Sequence[Waves]) -> str:
    """Say that cosines, sines or both are rounded, by whatever angles of float32 they have."""
    for dtype in SHORT:
        cos = all(_are_in(dtype, each.cos, each.cos_asked, each.near) for each in waves)
        sin = all(_are_in(dtype, each.sin, each.sin_asked, each.near) for each in waves)
        if cos and sin:
            return f"cosines and sines in {dtype}"
        if cos and all(_are_near(each.sin, each.sin_asked, each.near) for each in waves):
            return f"cosines alone are in {dtype}"
        if sin and all(_are_near(each.cos, each.cos_asked, each.near) for each in waves):
            return f"sines alone are in {dtype}"
    return ""


def _are_near(found: Floats, asked: Floats, near: Floats) -> bool:
    """Return whether numbers are right, up to the error of their angles."""
    return bool((np.abs(found - asked) <= near).all())


def _are_in(dtype: str, found: Floats, asked: Floats, near: Floats) -> bool:
    """Return whether numbers are right ones, up to the error of their angles, in a dtype."""
    least, most = (round_to(asked + by, dtype) for by in (-near, near))
    is_held = np.abs(found - round_to(found, dtype)) <= READ
    return bool((is_held & (found >= least - READ) & (found <= most + READ)).all())


def read_waves(case: Case, output: Floats, turned: Turned) -> Waves | None:
    """Read cosines and sines from a result, the same for all leading indices: None if they differ.

    They are read from all leading indices together, by least squares.
    """
    first = np.flatnonzero(turned.is_first)
    if case.dtype not in PRECISE or not first.size or not np.isfinite(output).all():
        return None
    place = turned.place[first]
    own, partner = turned.own[..., first], turned.own[..., place]
    one, two = output[..., first], output[..., place]
    over = tuple(range(output.ndim - 2))
    size = (own**2 + partner**2).sum(axis=over)
    cos = (own * one + partner * two).sum(axis=over) / size
    sin = (own * two - partner * one).sum(axis=over) / size
    model = turned.right.copy()
    model[..., first], model[..., place] = own * cos - partner * sin, own * sin + partner * cos
    if residual_of(case, output, model) > 1:
        return None
    tables = (turned.cos, turned.sin, case.bound / _scale_of(case))
    once = (0,) * (own.ndim - 2)
    asked = [np.broadcast_to(table[..., first], own.shape)[once] for table in tables]
    return Waves(cos, sin, *asked)


def _describe_factors(known: Sequence[tuple[Case, Floats, Turned]], waves: Sequence[Waves]) -> str:
    """Say that cosines and sines have different factors; empty if they do not."""
    told = []
    for name, both in (
        ("cosines", [(each.cos, each.cos_asked) for each in waves]),
        ("sines", [(each.sin, each.sin_asked) for each in waves]),
    ):
        products = sum(float((found * asked).sum()) for found, asked in both)
        squares = sum(float((asked * asked).sum()) for _, asked in both)
        told.append((name, products / squares if squares else 1.0))
    (_, of_cos), (_, of_sin) = told
    models = [
        (case, output, turned.of(of_cos * turned.cos, of_sin * turned.sin))
        for case, output, turned in known
    ]
    kept = [
        (case, output, np.where(turned.stays, turned.own, model))
        for (case, output, model), (_, _, turned) in zip(models, known, strict=True)
    ]
    if abs(of_cos - of_sin) < FACTOR or any(residual_of(*each) > 1 for each in kept):
        return ""
    words = [
        f"{name} are {by:.6g} times what they should be"
        for name, by in told
        if abs(by - 1) > FACTOR
    ]
    return " and ".join(words)


def _describe_moved(known: Sequence[tuple[Case, Floats, Turned]], waves: Sequence[Waves]) -> str:
    """Say that cosines or sines alone are those of the next position, or of the one before."""
    if all(_are_near(each.cos, each.cos_asked, each.near) for each in waves):
        wave, kept = "sines", "cosines"
    elif all(_are_near(each.sin, each.sin_asked, each.near) for each in waves):
        wave, kept = "cosines", "sines"
    else:
        return ""
    for step, which in ((1, "the next position"), (-1, "the position before")):
        if all(_is_moved(*answer, wave, step) for answer in known):
            return f"{wave} are those of {which}, {kept} are right"
    return f"{kept} are right, {wave} are not"


def _is_moved(case: Case, output: Floats, turned: Turned, wave: str, step: int) -> bool:
    """Return whether one of the two tables is a row further on."""
    positions = case.arguments.get("positions")
    if positions is None or positions.dtype.kind != "i":
        return False
    other = read_turning(case.with_arguments(positions=positions + step))
    if other is None:
        return False
    cos = other.cos if wave == "cosines" else turned.cos
    sin = other.sin if wave == "sines" else turned.sin
    model = replace(turned, cos=cos, sin=sin).right
    return differs(case, model) and residual_of(case, output, model) <= 1


def _describe_still(known: Sequence[tuple[Case, Floats, Turned]]) -> str:
    """Say which pairs are not rotated while others are; empty if that is not the mistake."""
    told = [words for words, _ in _rules_of_still(known[0])]
    for answer in known:
        whole, still = _pairs_of(answer)
        fitting = {
            words
            for words, rule in _rules_of_still(answer)
            if (np.where(rule, still, whole)).all() and not (rule | still).all()
        }
        told = [words for words in told if words in fitting]
    return told[0] if told else ""


def _rules_of_still(answer: tuple[Case, Floats, Turned]) -> Iterator[tuple[str, Flags]]:
    """Yield words for pairs that may not be rotated, and a flag for each pair."""
    pairs = np.arange(np.count_nonzero(answer[2].is_first))
    for first in pairs[1:]:
        yield f"pairs are not turned from pair {first} on", pairs >= first
    for first in pairs[1:]:
        yield f"pairs are not turned up to pair {first - 1}", pairs < first
    for first in (1, 0):
        yield f"every second pair is not turned, from pair {first} on", pairs % 2 == first


def _pairs_of(answer: tuple[Case, Floats, Turned]) -> tuple[Flags, Flags]:
    """Return which pairs of a result may be right, and which may be as they were given."""
    case, output, turned = answer
    firsts = np.flatnonzero(turned.is_first)
    allowed = np.maximum(case.bound, np.spacing(np.abs(turned.own)))
    flags = []
    for model in (turned.right, turned.own):
        near = np.abs(output - model) <= allowed
        fits = np.asarray(near.reshape(-1, near.shape[-1]).all(axis=0))
        flags.append(fits[firsts] & fits[turned.place[firsts]])
    return flags[0], flags[1]
