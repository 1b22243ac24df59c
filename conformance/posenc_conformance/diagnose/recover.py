"""What an implementation does, read from its results: at which frequency each pair turns."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from posenc_conformance.judge.arrays import Floats
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.knowledge import knowledge_of

Waves = npt.NDArray[np.complex128]
PRECISE = ("float64", "float32")
"""Dtypes in which angles can be read."""
NOISE = 3e-6
"""Radians that float32 may add to an angle that is read from few rows."""
NEAR = 1e-3
"""Relative difference of frequencies that are called equal."""

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
FACTORS = {"": 1.0, "2π·": 2 * np.pi, "π·": np.pi, "2·": 2.0, "1/2·": 0.5, "-": -1.0}


@dataclass(frozen=True)
class Turns:
    """What one result says of its pairs."""

    frequencies: Floats
    """Radians per position of each pair, between -π and π unless they are the result itself."""
    asked: Floats
    base: float
    dim: int
    first: float = 0.0
    """Position of the first row, which makes the offset uncertain."""
    offset: float = 0.0
    """Radians added to every angle."""
    length: float = 1.0
    """By what pairs are made longer than asked for."""
    where: str = ""
    """In which channels the pairs lie, if not where they were claimed."""
    whole: bool = True
    """Whether frequencies are known up to whole turns."""


def turns_of(
    positions: Floats, waves: Waves, asked: Floats, base: float, dim: int, where: str
) -> Turns | None:
    """Frequencies of pairs from their positions as complex numbers, [n, pairs], row by row.

    None unless rows follow each other and every pair turns by the same angle between two.
    """
    if len(positions) < 3 or not np.array_equal(np.diff(positions), np.ones(len(positions) - 1)):
        return None
    length = np.abs(waves)
    if length.min(initial=1) == 0 or np.ptp(length) > NEAR * length.max(initial=1):
        return None
    steps = waves[1:] * np.conj(waves[:-1])
    step = np.angle(steps.sum(axis=0))
    if np.any(np.abs(np.angle(steps * np.exp(-1j * step))) > NEAR):
        return None
    omega = step + np.angle(waves[-1] * np.conj(waves[0]) * np.exp(-1j * step * len(steps))) / len(
        steps
    )
    offsets = np.angle(waves[0] * np.exp(-1j * omega * positions[0]))
    offset = float(np.angle(np.exp(1j * offsets).sum()))
    if np.any(np.abs(np.angle(np.exp(1j * (offsets - offset)))) > NEAR * (1 + abs(positions[0]))):
        return None
    return Turns(
        omega,
        asked,
        base,
        dim,
        abs(float(positions[0])),
        offset if abs(offset) > NEAR * (1 + abs(positions[0])) else 0.0,
        float(length.mean()),
        where,
        whole=False,
    )


def recovered(answers: Sequence[tuple[Case, Floats]]) -> str:
    """What all answers have in common, in words; empty if they cannot be read."""
    read = [found for case, output in answers if (found := _first(case, output)) is not None]
    if len(read) < len(answers) or not read:
        return ""
    offset = min(read, key=lambda each: each.first).offset
    if len({each.where for each in read}) > 1 or any(
        abs(each.offset - offset) > NEAR * (1 + each.first) for each in read
    ):
        return ""
    lengths = [each.length for each in read]
    more = [f"{offset:.4g} radians are added to every angle"] * bool(offset)
    if max(abs(length - 1) for length in lengths) > NEAR:
        low, high = min(lengths), max(lengths)
        times = f"{low:.6g}" if high - low < NEAR else f"{low:.4g} to {high:.4g}"
        more.append(f"pairs are {times} times as long as they should be")
    said = _formula(read)
    said = ((_bases(read) or _shares(read)) if said is None else said) + read[0].where
    return "; ".join([*[said] * bool(said), *more])


def _first(case: Case, output: Floats) -> Turns | None:
    if case.dtype not in PRECISE:
        return None
    read = getattr(knowledge_of(case.scheme), "TURNS", {}).get(case.call.name)
    found: Iterator[Turns | None] = read(case, output) if read else iter(())
    return next((each for each in found if each is not None), None)


def _formula(read: Sequence[Turns]) -> str | None:
    """One formula for the frequencies of all: None if there is none, nothing if it is right."""
    asked = next((name for name in EXPONENTS if _fit(read, name, 1.0, of_asked=True)), None)
    if asked is None or max(len(each.asked) for each in read) < 3:
        return None
    for name in EXPONENTS:
        for words, factor in FACTORS.items():
            if _fit(read, name, factor):
                right = (name, words) == (asked, "")
                power = f"{words}base^(-{name})".replace("-(-2t)", "2t")
                return "" if right else f"pair t turns at {power}; asked for base^(-{asked})"
    constant = {float(np.median(each.frequencies)) for each in read}
    if len(constant) == 1 or np.ptp(list(constant)) < NOISE:
        value = constant.pop()
        if all(np.ptp(each.frequencies) < NOISE + NEAR * abs(value) for each in read):
            return f"every pair turns at {value:.6g}; asked for base^(-{asked})"
    return None


def _bases(read: Sequence[Turns]) -> str:
    """Progressions of another base than that asked for; empty if some result is none."""
    pairs = [(_base(each, each.frequencies), _base(each, each.asked)) for each in read]
    told = {
        f"{base:.5g} where {asked:.5g} is asked for"
        for base, asked in pairs
        if base and asked and abs(base - asked) > NEAR * asked
    }
    if not told or not all(base and asked for base, asked in pairs):
        return ""
    return f"pair t turns at B^(-2t/d), and B is {' and '.join(sorted(told)[:2])}"


def _base(turns: Turns, frequencies: Floats) -> float | None:
    """The base whose powers these frequencies are."""
    share = np.arange(len(frequencies)) / len(frequencies)
    if len(share) < 3 or frequencies.min() <= 0:
        return None
    base = float(frequencies[-1] ** (-1 / share[-1]))
    return base if _near(frequencies, base**-share, whole=turns.whole) else None


def _fit(read: Sequence[Turns], name: str, factor: float, *, of_asked: bool = False) -> bool:
    return all(
        _near(
            each.asked if of_asked else each.frequencies,
            factor
            * each.base ** -EXPONENTS[name](np.arange(len(each.asked), dtype=float), each.dim),
            whole=each.whole or of_asked,
        )
        for each in read
    )


def _near(found: Floats, wanted: Floats, *, whole: bool) -> bool:
    difference = found - wanted
    if not whole:
        difference = np.angle(np.exp(1j * difference))
    return bool(np.all(np.abs(difference) <= NOISE * (not whole) + NEAR * np.abs(wanted)))


def _shares(read: Sequence[Turns]) -> str:
    """By how much the pairs of the largest result turn faster or slower than asked for."""
    most = max(read, key=lambda each: len(each.asked))
    clear = most.asked > (0 if most.whole else NOISE / NEAR)
    share = most.frequencies[clear] / most.asked[clear]
    otherwise = np.flatnonzero(clear)[np.abs(share - 1) > 2 * NEAR]
    if not otherwise.size:
        return ""
    if np.ptp(share) < 2 * NEAR * np.abs(share).max():
        return f"every pair turns at {np.median(share):.6g} of what it should"
    low, high = np.sort(share[np.abs(share - 1) > 2 * NEAR][[0, -1]])
    return (
        f"of {len(most.asked)} pairs {otherwise.size} turn otherwise, from pair {otherwise[0]} on, "
        f"at {low:.4g} to {high:.4g} of what they should"
    )
