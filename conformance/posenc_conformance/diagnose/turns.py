"""Pairs that turn, read from results: at which frequency each does.

A scheme's knowledge says in ``TURNS`` where the pairs of a call are.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from posenc_conformance.judge.arrays import UNIT_ROUNDOFF, Array, Floats
from posenc_conformance.judge.case import Case

Waves = npt.NDArray[np.complex128]
Index = npt.NDArray[np.int64]
Channels = Index | slice
INTERLEAVED = slice(0, None, 2), slice(1, None, 2)
"""Channels of sines and of cosines."""
NOISE = 3e-6
"""Radians that float32 may add to an angle that is read from few rows."""
NEAR = 1e-3
"""Relative difference of estimates that are called equal."""
EXACT = 1e-5
"""Relative difference of frequencies in float32 that are called the same."""
ROUNDINGS = 4
"""Roundings that an angle may lose, in units of u of itself times ``1 + |ln w|``."""
FIT = 3
"""Bounds within which a result is what was read from it: from its ends, each off by one."""
FASTEST = 16
"""Times by which pairs may turn faster. Beyond, whole turns between two rows may be lost."""


@dataclass(frozen=True)
class Paired:
    """Pairs of a result as complex numbers, before and after they turn, row by row: [n, pairs]."""

    before: Waves
    after: Waves
    places: Floats
    """Positions."""
    bound: Floats
    """How far the result may be off."""
    unit: float
    """Roundoff of angles."""

    def of(self, pairs: Index) -> "Paired":
        """Some of the pairs."""
        return Paired(
            self.before[:, pairs],
            self.after[:, pairs],
            self.places[:, pairs],
            self.bound[:, pairs],
            self.unit,
        )

    def evenly(self, omega: Floats, offsets: Floats, length: float) -> bool:
        """Whether they are what these radians, which were read from them, say."""
        angle = self.places * omega + offsets
        size = length * np.abs(self.before)
        error = np.abs(self.after - length * self.before * np.exp(1j * angle))
        lost = self.lost(angle, omega) + NOISE
        return bool(np.all(error <= FIT * max(1.0, length) * self.bound + size * lost))

    def lost(self, angle: Floats, omega: Floats) -> Floats:
        """What rounding angles may cost, as a part of the length."""
        growth = 1 + np.abs(np.log(np.where(omega == 0, 1, np.abs(omega))))
        return np.asarray(ROUNDINGS * self.unit * np.abs(angle) * growth)

    def turn(self, omega: Floats, offset: float, length: float) -> bool:
        """Whether they turn by these radians per position."""
        angle = self.places * omega + offset
        error = np.abs(self.after - length * self.before * np.exp(1j * angle))
        size = length * np.abs(self.before)
        estimated = NEAR if offset or length != 1 else 0.0  # which say no more than NEAR
        lost = self.lost(angle, omega) + estimated
        return bool(np.all(error <= max(1.0, length) * self.bound + size * lost))


@dataclass(frozen=True)
class Turns:
    """What one result says of a progression of pairs."""

    numbers: Floats
    """Of the pairs that can be read, among those of the progression."""
    frequencies: Floats
    """Radians per position of these, up to multiples of ``turn``."""
    asked: Floats
    dim: int
    given: Mapping[str, Any]
    based: str = "base"
    """The argument that is raised to powers."""
    noise: Floats | float = 0.0
    """How uncertain frequencies are."""
    turn: Floats | float = np.inf
    first: float = 0.0
    """Position of the first row, which makes the offset uncertain."""
    offset: float = 0.0
    """Radians added to every angle."""
    length: float = 1.0
    """By what pairs are made longer than asked for."""
    where: str = ""
    """In which channels the pairs lie, if not where they were claimed."""
    of_axis: bool = False
    """Whether these are the pairs of one axis of several."""
    paired: Paired | None = None
    """What they are read from, if not from frequencies."""

    @property
    def base(self) -> float:
        """Of the progression that was asked for."""
        return float(self.given.get(self.based, 10000.0))

    @property
    def plain(self) -> Floats:
        """Frequencies without any scaling."""
        return np.asarray(self.base ** (-2 * self.numbers / self.dim))

    def are(self, omega: Floats) -> bool:
        """Whether these frequencies give the result, within what rounding costs."""
        if self.paired is None:
            return bool(np.all(np.abs(self.frequencies - omega) <= EXACT * np.abs(omega)))
        return self.paired.turn(omega, self.offset, self.length)

    def near(self, omega: Floats) -> bool:
        """Whether these frequencies, which were estimated, may be those of the result."""
        off = self.frequencies - omega
        if np.all(np.isfinite(self.turn)):
            off = off - self.turn * np.round(off / self.turn)
        return bool(np.all(np.abs(off) <= self.noise + NEAR * np.abs(omega)))

    def blurred(self, shares: Floats) -> bool:
        """Whether pairs seem to turn so fast that whole turns may be lost."""
        return self.paired is not None and bool(np.any(np.abs(shares) > FASTEST))

    def clear(self, omega: Floats) -> npt.NDArray[np.bool_]:
        """Which frequencies are large enough to be compared with another one."""
        return np.asarray(np.abs(omega) > self.noise / NEAR)


Read = Callable[[Case, Floats], Iterator[list[Turns] | None]]
"""What a call's results say: nothing if they cannot tell, None if they are no pairs that turn.

More than one, if pairs may lie in several places; the first that is not None counts."""


def turns_of(
    case: Case,
    pairs: tuple[Array, Array],
    places: Array,
    asked: Floats,
    bound: Floats,
    where: str = "",
    axis: Index | None = None,
    dim: int = 0,
    based: str = "base",
) -> list[Turns] | None:
    """Frequencies of pairs, which are given before and after they turn: [..., n, pairs].

    Places and bounds, which are those of pairs, broadcast to that. With an axis for each pair,
    those of each are a progression of its own. Without ``dim`` its channels are two for each pair.
    None unless each pair turns evenly, all with one offset, and all are longer by one factor.
    """
    paired = _paired(case, pairs, places, bound)
    rows = paired.before.T, paired.after.T, paired.places.T
    found = [_one(*each) for each in zip(*rows, strict=True)]
    if any(each is None for each in found):
        return None
    omega, turn, span, offsets, lengths = np.asarray(found, np.float64).reshape(-1, 5).T
    moved = np.isfinite(omega)
    if not moved.any():
        return []
    first = float(np.abs(paired.places).min())
    offset = float(np.angle(np.exp(1j * offsets[moved]).sum()))
    apart = np.abs(np.angle(np.exp(1j * (offsets[moved] - offset))))
    if np.any(apart > NEAR * (1 + first)) or np.ptp(lengths) > NEAR * lengths.max():
        return None
    length = float(lengths.mean())
    every = np.flatnonzero(moved)
    if not paired.of(every).evenly(omega[moved], offsets[moved], length):
        return None
    groups = np.zeros(len(omega), np.int64) if axis is None else axis
    result = []
    for own in (groups == group for group in np.unique(groups[moved])):
        read = np.flatnonzero(own & moved)
        result.append(
            Turns(
                numbers=np.cumsum(own)[read] - 1.0,
                frequencies=omega[read],
                asked=np.asarray(asked, np.float64)[read],
                dim=dim or 2 * int(own.sum()),
                given=case.arguments,
                based=based,
                noise=NOISE / np.minimum(span[read], 1),
                turn=turn[read],
                first=first,
                offset=offset if abs(offset) > NEAR * (1 + first) else 0.0,
                length=length if abs(length - 1) > NEAR else 1.0,
                where=where,
                of_axis=axis is not None,
                paired=paired.of(read),
            )
        )
    return result


def turns_of_waves(
    case: Case,
    waves: Floats,
    bound: Floats,
    channels: tuple[Channels, Channels],
    places: Array,
    asked: Floats,
    where: str = "",
    axis: Index | None = None,
    based: str = "base",
    amplitude: float = 1.0,
) -> list[Turns] | None:
    """The same of an encoding with sines and cosines in these channels, and bounds for each."""
    sin, cos = channels
    return turns_of(
        case,
        (np.full(1, amplitude), waves[..., cos] + 1j * waves[..., sin]),
        places,
        asked,
        bound[..., sin] + bound[..., cos],
        where,
        axis,
        based=based,
    )


def _paired(case: Case, pairs: tuple[Array, Array], places: Array, bound: Floats) -> Paired:
    before, after = np.broadcast_arrays(*pairs)

    def flat(values: Array, kind: type) -> Array:
        wide = np.broadcast_to(values, before.shape)
        return wide.reshape(-1, before.shape[-1]).astype(kind)

    unit = UNIT_ROUNDOFF["float64" if case.dtype == "float64" else "float32"]
    return Paired(
        flat(before, np.complex128),
        flat(after, np.complex128),
        flat(places, np.float64),
        flat(bound, np.float64),
        unit,
    )


def _one(before: Waves, after: Waves, places: Floats) -> tuple[float, ...] | None:
    """Of a pair: radians per position, a whole turn, how far it moves, offset and length.

    The first ones are not numbers if it stays at one place; None if it does not turn evenly.
    """
    place, row = np.unique(places, return_inverse=True)
    square = np.bincount(row, np.abs(before) ** 2)
    both = after * np.conj(before)
    if square.min(initial=np.inf) == 0:
        return None
    wave = (np.bincount(row, both.real) + 1j * np.bincount(row, both.imag)) / square
    if np.any(np.abs(after - wave[row] * before) > NEAR * np.abs(before).max()):
        return None
    size = np.abs(wave)
    if size.min() == 0 or np.ptp(size) > NEAR * size.max():
        return None
    if len(place) < 2:
        return np.nan, np.nan, np.nan, np.nan, float(size.mean())
    gaps = np.diff(place)
    least = gaps.min()
    steps = (wave[1:] * np.conj(wave[:-1]))[gaps <= least * (1 + 1e-6)]
    omega = np.angle(steps.sum()) / least
    rest = np.angle(wave * np.conj(wave[0]) * np.exp(-1j * omega * (place - place[0])))
    if np.any(np.abs(rest) > NEAR):
        return None
    span = place[-1] - place[0]
    omega += rest[-1] / span
    offset = np.angle(wave[0] * np.exp(-1j * omega * place[0]))
    return float(omega), 2 * np.pi / least, float(span), float(offset), float(size.mean())


def given(asked: Callable[[Case], Floats]) -> Read:
    """Of a call that gives frequencies themselves."""

    def read(case: Case, output: Floats) -> Iterator[list[Turns]]:
        numbers = np.arange(len(output), dtype=np.float64)
        yield [Turns(numbers, output, asked(case), 2 * len(output), case.arguments)]

    return read
