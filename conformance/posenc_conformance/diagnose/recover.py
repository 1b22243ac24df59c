"""A description of an implementation in words, read from its results.

A formula is reported only if it gives every wrong result within its bound.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import numpy as np

from posenc_conformance.diagnose.constants import (
    describe_combination,
    describe_fixed,
    describe_inverted,
    describe_other_number,
    describe_other_positions,
)
from posenc_conformance.diagnose.diagnosis import find_fits, fits_of_readings
from posenc_conformance.diagnose.distances import describe_distances
from posenc_conformance.diagnose.given import (
    describe_given,
    describe_moved_rows,
    describe_stored,
)
from posenc_conformance.diagnose.heads import describe_heads, only_wrong_part
from posenc_conformance.diagnose.inexact import describe_inexact
from posenc_conformance.diagnose.moved_axes import describe_axes
from posenc_conformance.diagnose.part_of_head import describe_part_of_head
from posenc_conformance.diagnose.places import describe_places
from posenc_conformance.diagnose.rotation_tables import describe_turning
from posenc_conformance.diagnose.rows import describe_rows
from posenc_conformance.diagnose.values import describe_missing, describe_values
from posenc_conformance.errors import apart
from posenc_conformance.judge.arrays import PRECISE, Floats
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.measured_frequencies import (
    EXACT,
    FASTEST,
    NEAR,
    PairFrequencies,
)

FEWEST = 3
"""Fewest pairs from which a formula is read: fewer pairs fit many formulas."""

EXPONENTS: Mapping[str, Callable[[Floats, int], Floats]] = {
    "2t/d": lambda t, d: 2 * t / d,
    "t/(d/2-1)": lambda t, d: t / max(d / 2 - 1, 1),
    "t/d": lambda t, d: t / d,
    "4t/d": lambda t, d: 4 * t / d,
    "2(t+1)/d": lambda t, d: 2 * (t + 1) / d,
    "(2t+1)/d": lambda t, d: (2 * t + 1) / d,
    "(t+1)/d": lambda t, d: (t + 1) / d,
    "2t/(d+2)": lambda t, d: 2 * t / (d + 2),
    "2t/(d-1)": lambda t, d: 2 * t / (d - 1),
    "2(d/2-1-t)/d": lambda t, d: 2 * (d / 2 - 1 - t) / d,
    "(-2t)/d": lambda t, d: -2 * t / d,
}
"""Exponents e of ``base^(-e)`` that are tried, by their formulas: t is the index of a pair, d the
number of channels."""
FACTORS = {"": 1.0, "2π·": 2 * np.pi, "π·": np.pi, "2·": 2.0, "1/2·": 0.5, "-": -1.0}
PLAIN = "base^(-2t/d)"


Answers = Sequence[tuple[Case, Floats]]


def recover(answers: Answers, right: Answers = (), readers: "Readers | None" = None) -> str:
    """Say in words what all wrong answers have in common; empty if nothing can be read.

    If other answers are right, and have enough pairs to tell, the words say for how many calls they
    hold. ``readers`` are all of them if left out.
    """
    used = (*CAUSES, *PLACES, *LAST) if readers is None else readers
    return next(filter(None, (read(answers, right) for read in used)), "")


def _recover_formula(
    answers: Sequence[tuple[Case, Floats]], right: Sequence[tuple[Case, Floats]]
) -> str:
    """Say at which frequencies and with which lengths pairs turn; empty if that cannot be read."""
    results = [_first(case, output) for case, output in answers]
    read = [turns for pairs in results for turns in pairs or ()]
    if not read or any(turns is None for turns in results):
        return ""
    offset = min(read, key=lambda turns: turns.first).offset
    if len({turns.where for turns in read}) > 1 or any(
        abs(turns.offset - offset) > NEAR * (1 + turns.first) for turns in read
    ):
        return ""
    lengths = [turns.length for turns in read]
    more = [f"{offset:.4g} radians are added to every angle"] * bool(offset)
    if max(abs(length - 1) for length in lengths) > NEAR:
        low, high = min(lengths), max(lengths)
        times = f"{low:.6g}" if high - low < NEAR else " to ".join(apart(low, high))
        more.append(f"pairs are {times} times as long as they should be")
    words = _words(read)
    where = read[0].where + ", d being the channels of one axis" * read[0].of_axis
    told = "; ".join([*[words + where] * bool(words), *more])
    others = sum(_tells(case, output) for case, output in right)
    if told and others:
        return f"in {len(answers)} of {len(answers) + others} small calls, {told}; others are right"
    return told


def _tells(case: Case, output: Floats) -> bool:
    """Return whether a result has enough pairs for a formula."""
    return any(len(turns.numbers) >= FEWEST for turns in _first(case, output) or ())


def _first(case: Case, output: Floats) -> list[PairFrequencies] | None:
    """Read the pairs of a result: None if that fails, empty if they show nothing."""
    if case.dtype not in PRECISE:
        return None
    read = case.knowledge.frequencies
    results = read(case, output) if read else iter(())
    return next((pairs for pairs in results if pairs is not None), None)


def _words(read: Sequence[PairFrequencies]) -> str:
    """Describe the frequencies in words; empty if they are right."""
    if all(turns.are(turns.asked) for turns in read):
        return ""
    if max(len(turns.numbers) for turns in read) < FEWEST:
        return _multiple(read) or _multiples(read)
    requested = _formula(read, lambda turns, omega: _same(turns.asked, omega))
    actual = _formula(read, PairFrequencies.are)
    if actual:
        prefix = "frequencies are inverted: " * ("^(2t/d)" in actual)
        if requested:
            return f"{prefix}pair t turns at {actual}; asked for {requested}"
        return f"pair t turns at {actual}" + ", without any scaling" * (actual == PLAIN)
    return (
        _constant(read, requested)
        or _equal_steps(read)
        or _multiple(read)
        or _bases(read)
        or _multiples(read)
        or _shares(read)
    )


def _same(found: Floats, wanted: Floats) -> bool:
    return bool(np.all(np.abs(found - wanted) <= 1e-9 * np.abs(wanted)))


def _formula(
    read: Sequence[PairFrequencies], fits: Callable[[PairFrequencies, Floats], bool]
) -> str:
    """Find the first formula that fits all results, in words; empty if there is none."""
    for words, omega in _formulas(read):
        if all(fits(turns, value) for turns, value in zip(read, omega, strict=True)):
            return words.replace("base", read[0].based).replace("-(-2t)", "2t")
    return ""


def _formulas(read: Sequence[PairFrequencies]) -> Iterator[tuple[str, list[Floats]]]:
    """Yield formulas in words, with the frequencies of each for every result."""
    for name, exponent in EXPONENTS.items():
        powers = [turns.base ** -exponent(turns.numbers, turns.dim) for turns in read]
        for words, factor in FACTORS.items():
            yield f"{words}base^(-{name})", [factor * power for power in powers]
    both = [(turns, float(turns.given.get("factor") or 0)) for turns in read]
    if not all(by for _, by in both):
        return
    yield f"{PLAIN}/factor", [turns.plain / by for turns, by in both]
    yield f"factor·{PLAIN}", [turns.plain * by for turns, by in both]
    yield f"{PLAIN}/factor²", [turns.plain / by**2 for turns, by in both]
    yield f"{PLAIN}/√factor", [turns.plain / by**0.5 for turns, by in both]
    for name, power in NTK.items():
        words = f"(base·factor{name})^(-2t/d)"
        yield words, [_other_base(turns, turns.base * by ** power(turns.dim)) for turns, by in both]


NTK: Mapping[str, Callable[[int], float]] = {
    "^(d/(d-2))": lambda d: d / (d - 2) if d > 2 else 1.0,
    "": lambda d: 1.0,
    "²": lambda d: 2.0,
    "^((d-2)/d)": lambda d: (d - 2) / d,
}


def _other_base(turns: PairFrequencies, base: float) -> Floats:
    return np.asarray(base ** (-2 * turns.numbers / turns.dim))


def _constant(read: Sequence[PairFrequencies], asked: str) -> str:
    """Say that all pairs turn at one frequency; empty if they do not."""
    value = float(np.median(read[0].frequencies))
    if not all(turns.near(np.full(len(turns.numbers), value)) for turns in read):
        return ""
    turn = min(float(np.min(turns.turn)) for turns in read)
    hidden = (
        "" if all(turns.readable.all() for turns in read) else f" or a multiple of {turn:.6g} more"
    )
    return f"every pair turns at {value:.6g}{hidden}" + f"; asked for {asked}" * bool(asked)


def _equal_steps(read: Sequence[PairFrequencies]) -> str:
    """Say that frequencies grow or fall by equal steps from pair to pair; empty if they do not."""
    lines = [_line(turns, turns.frequencies) for turns in read if len(turns.numbers) >= FEWEST]
    most = max(read, key=lambda turns: len(turns.numbers))
    line = _line(most, most.frequencies)
    if line is None or None in lines or len(most.numbers) <= FEWEST or _line(most, most.asked):
        return ""
    first, step = line
    last = first + step * float(np.ptp(most.numbers))
    turn = float(np.max(most.turn))
    if max(abs(first), abs(last)) < turn / 2:
        grow = "grow" if abs(last) > abs(first) else "fall"
        return (
            f"frequencies {grow} by equal steps, from {first:.6g} to {last:.6g}, d being {most.dim}"
        )
    start = f"{first:.6g} + " if abs(first) > NEAR * abs(step) else ""
    return (
        f"frequencies differ by equal steps from pair to pair: with d = {most.dim}, pair t turns "
        f"at {start}{step:.6g}·t, or a multiple of {turn:.6g}·t more"
    )


def _line(turns: PairFrequencies, omega: Floats) -> tuple[float, float] | None:
    """Return the first frequency and the step from pair to pair; None if steps are not equal.

    Whole turns between two rows make no difference, so the step is refined from pair to pair.
    """
    far, turn = turns.numbers - turns.numbers[0], float(np.max(turns.turn))
    if len(far) < FEWEST or (np.diff(far) != 1).any() or np.ptp(turns.turn) > NEAR * turn:
        return None
    step = 0.0
    for pair in range(1, len(far)):
        left = float(omega[pair] - omega[0] - step * far[pair])
        step += (left - turn * round(left / turn) if np.isfinite(turn) else left) / far[pair]
    line = omega[0] + step * far
    off = omega - line
    off -= turn * np.round(off / turn) if np.isfinite(turn) else 0.0
    fits = np.abs(off) <= turns.noise + NEAR * abs(step)
    return (float(omega[0]), step) if fits.all() and abs(step) > 2 * NEAR else None


def _bases(read: Sequence[PairFrequencies]) -> str:
    """Name the base of the frequencies; empty if those of a result are no geometric progression."""
    told: dict[str, None] = {}
    for turns in read:
        if len(turns.numbers) < FEWEST:
            continue
        base, requested = _base(turns, turns.frequencies), _base(turns, turns.asked)
        if base is None or not turns.near(_other_base(turns, base)):
            return ""
        if requested is not None and _same_base(turns.asked, turns, requested):
            if abs(base - requested) > NEAR * requested:
                found, asked = apart(base, requested, digits=5)
                told[f"{found} where {asked} is asked for"] = None
        else:
            factor = f" and factor {turns.given['factor']:g}" if turns.given.get("factor") else ""
            found, given = apart(base, turns.base, digits=5)
            told[f"{found} where base {given}{factor} is given"] = None
    if not told:
        return ""
    return f"pair t turns at B^(-2t/d), and the base B is {' and '.join(list(told)[:2])}"


def _same_base(omega: Floats, turns: PairFrequencies, base: float) -> bool:
    return bool(np.all(np.abs(omega / _other_base(turns, base) - 1) < NEAR))


def _base(turns: PairFrequencies, omega: Floats) -> float | None:
    """Estimate the base whose powers are the frequencies; None if that is impossible.

    The estimate uses the last pair above the noise, since that is a slow one.
    """
    seen = (omega > 0) & turns.above_noise(omega) & (turns.numbers > 0)
    if not seen.any():
        return None
    share = 2 * turns.numbers[seen] / turns.dim
    with np.errstate(over="ignore"):
        base = float(np.exp(-np.log(omega[seen][-1]) / share[-1]))
    return base if np.isfinite(base) else None


def _multiple(read: Sequence[PairFrequencies]) -> str:
    """Say that all frequencies of all calls are the same multiple of the right ones.

    Or the same multiple of the frequencies without scaling. Empty if neither holds.
    """
    for of, words in (("asked", "{:.6g} times its right frequency"), ("plain", "{:.6g}·" + PLAIN)):
        shares = _parts(read, of)
        if not shares:
            continue
        part = sum(shares) / len(shares)
        if abs(part - 1) > 2 * NEAR and max(shares) - min(shares) < 2 * NEAR * abs(part):
            return "every pair turns at " + words.format(part).replace("base", read[0].based)
    return ""


def _multiples(read: Sequence[PairFrequencies]) -> str:
    """Say that the frequencies of each call are one multiple of the right ones.

    Empty if they are not, or if all are right.
    """
    shares = _parts(read, "asked")
    if not shares or max(abs(share - 1) for share in shares) < 2 * NEAR:
        return ""
    low, high = (f"{share:.4g}" for share in (min(shares), max(shares)))
    unit, more = "an axis" if read[0].of_axis else "a call", f" to {high}" * (low != high)
    return f"all pairs of {unit} turn at the same multiple of their right frequencies, {low}{more}"


def _parts(read: Sequence[PairFrequencies], of: str) -> list[float]:
    """Compute for each call the ratio of its frequencies to those in the attribute ``of``.

    The list is empty if pairs of a call differ in their ratio.
    """
    parts = []
    for turns in read:
        right: Floats = getattr(turns, of)
        seen = turns.above_noise(right) & (right != 0) & turns.readable
        part = float(np.median(turns.frequencies[seen] / right[seen])) if seen.any() else np.nan
        if not turns.near(right * part) or turns.aliased(np.array([part])):
            return []
        parts.append(part)
    return parts


def _shares(read: Sequence[PairFrequencies]) -> str:
    """Say how much faster or slower than requested the pairs of the largest result turn.

    Empty if none does, or if whole turns may be missed.
    """
    most = max(read, key=lambda turns: len(turns.numbers))
    seen = most.above_noise(most.asked) & (most.asked != 0) & most.certain
    share = most.frequencies[seen] / most.asked[seen]
    other = np.abs(share - 1) > (2 * NEAR if most.paired else EXACT)
    if not other.any() or most.aliased(share):
        return ""
    hidden = len(most.certain) - np.count_nonzero(most.certain)
    if hidden and np.any(np.abs(share) > FASTEST / 4):  # as fast as chance alone lets pairs seem
        return ""
    more_of = f"; {hidden} more may turn too fast to be read at these positions" if hidden else ""
    low, high = (f"{part:.4g}" for part in (share[other].min(), share[other].max()))
    more = f" to {high}" * (low != high)
    return (
        f"with d = {most.dim}, {other.sum()} of {len(share)} measured pairs, from pair "
        f"{int(most.numbers[seen][other][0])} on, turn at {low}{more} times their right frequencies"
        f"{more_of}"
    )


def _recover_part(wrong: Answers, right: Answers) -> str:
    """Describe the only wrong one of queries, keys and values like a result of its own."""
    found = only_wrong_part(wrong)
    if found is None:
        return ""
    name, own = found
    words = _of_deviations(own, wrong[0][0].knowledge.deviations)
    if not words and (places := describe_heads(wrong)):
        return places
    words = words or next(filter(None, (read(own, ()) for read in OF_PART)), "")
    return f"{name} alone are wrong: {words}" if words else ""


def _places_of_part(wrong: Answers, right: Answers) -> str:
    """Describe the order of rows of queries, keys or values that alone are wrong."""
    name, own = only_wrong_part(wrong) or ("", [])
    words = describe_places(own) or describe_moved_rows(own)
    return f"{name} alone are wrong: {words}" if words else ""


def _of_deviations(answers: Answers, among: Collection[str]) -> str:
    """Name the first deviation of ``among`` that explains all results; empty if none does."""
    found = [
        {fit.deviation: fit.mistake for fit in find_fits(case, output, only=among)}
        for case, output in answers
    ]
    return next((words for id, words in found[0].items() if all(id in each for each in found)), "")


def describe_reading(wrong: Answers, right: Answers = ()) -> str:
    """Describe the mistake without an id that explains all results; empty if none does."""
    fits = [fits_of_readings(case, output) for case, output in (*wrong, *right)]
    refuted = {fit.mistake for each in fits for fit in each if not fit.fits}
    told = [[fit.mistake for fit in each if fit.fits] for each in fits[: len(wrong)]]
    common = set.intersection(*map(set, told)) - refuted if told else set()
    first = next((words for words in told[0] if words in common), "") if told else ""
    return first.removeprefix("matches ")


def _describe_by_scheme(wrong: Answers) -> str:
    """Describe the largest wrong result as its scheme does; empty if that fails for any result."""
    told = [
        (output.size, read(case, output) if (read := case.knowledge.description) else "")
        for case, output in wrong
    ]
    return max(told)[1] if told and all(words for _, words in told) else ""


Readers = Sequence[Callable[[Answers, Answers], str]]
OF_PART: Readers = (
    describe_fixed,
    describe_turning,
    _recover_formula,
    lambda wrong, right: describe_places(wrong),
    lambda wrong, right: describe_moved_rows(wrong),
)
"""Readers of queries, keys or values that alone are wrong."""
OF_MODELS: Readers = (describe_reading,)
"""Readers that try models, some of which need rows in their order, from the first one on."""
CAUSES: Readers = (
    # Queries, keys or values alone: their mistake is none of the whole result.
    _recover_part,
    # A known model is more certain than positions, or a formula, fitted to the numbers.
    describe_reading,
    # Positions of rows: a right formula looks odd at other positions.
    describe_rows,
    # Conventions of the scheme: each of them has frequencies of its own, too.
    describe_combination,
    # Numbers that are the same in every call: they affect all readers below.
    describe_fixed,
    # Heads with the results of others: a table or slope of another head fits a formula, too.
    lambda wrong, right: describe_heads(wrong),
    # Arguments changed before use: a changed argument moves elements of the result.
    describe_given,
    describe_other_number,
    describe_other_positions,
    lambda wrong, right: describe_axes(wrong),
    lambda wrong, right: describe_part_of_head(wrong),
    # The formula of pairs comes before that of frequencies: a wrong sum of products has some.
    describe_turning,
    _recover_formula,
    # Inverted frequencies are too high to read, so that no formula fits them.
    lambda wrong, right: describe_inverted(wrong),
    describe_distances,
)
"""Readers in their order of use: the most informative comes first."""
PLACES: Readers = (
    lambda wrong, right: describe_values(wrong),
    _places_of_part,
    lambda wrong, right: describe_places(wrong),
    lambda wrong, right: describe_moved_rows(wrong),
    lambda wrong, right: describe_stored(wrong),
    lambda wrong, right: describe_missing(wrong),
)
"""Readers that describe values and places, and name no cause; they need whole results."""
LAST: Readers = (
    lambda wrong, right: describe_inexact(wrong),
    lambda wrong, right: _describe_by_scheme(wrong),
)
"""Readers of what nothing else describes."""
