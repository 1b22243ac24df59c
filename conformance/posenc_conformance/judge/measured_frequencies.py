"""Frequencies of rotated pairs, read from results.

The kit's knowledge of a call says where its pairs are: see ``CallKnowledge.frequencies``.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from posenc_conformance.judge.arrays import UNIT_ROUNDOFF, Array, Floats
from posenc_conformance.judge.case import Case
from posenc_conformance.scheme_file.scheme import Arguments

Waves = npt.NDArray[np.complex128]
Index = npt.NDArray[np.int64]
Channels = Index | slice
INTERLEAVED = slice(0, None, 2), slice(1, None, 2)
"""Channels of sines and of cosines in the interleaved layout."""
NOISE = 3e-6
"""Error in radians that float32 may add to an angle read from a few rows."""
NEAR = 1e-3
"""Relative difference up to which estimates count as equal."""
EXACT = 1e-5
"""Relative difference up to which frequencies in float32 count as equal."""
ROUNDINGS = 4
"""Relative error of an angle, in units of ``u * (1 + |ln w|)``: the constant B of rope's error
model."""
FIT = 3
"""Number of bounds by which a result may differ from its fit: one for itself, and one for each of
the two ends of the fit."""
FASTEST = 16
"""Largest multiple of the requested frequency at which pairs may turn. Beyond it, whole turns
between two rows may be missed."""


@dataclass(frozen=True)
class Paired:
    """Pairs of a result as complex numbers, before and after rotation, row by row: [n, pairs]."""

    before: Waves
    after: Waves
    places: Floats
    """Position of each row."""
    bound: Floats
    """Error bound of the result."""
    unit: float
    """Unit roundoff of the dtype in which angles are computed."""

    def of(self, pairs: Index) -> "Paired":
        """Select some of the pairs."""
        return Paired(
            self.before[:, pairs],
            self.after[:, pairs],
            self.places[:, pairs],
            self.bound[:, pairs],
            self.unit,
        )

    def evenly(self, omega: Floats, offsets: Floats, length: float) -> bool:
        """Return whether frequencies, offsets and a length reproduce the pairs.

        Frequencies are in radians per position, offsets in radians; the length is a factor. The
        estimates are uncertain, so NOISE is allowed, and FIT bounds instead of one.
        """
        angle = self.places * omega + offsets
        size = length * np.abs(self.before)
        error = np.abs(self.after - length * self.before * np.exp(1j * angle))
        lost = self.lost(angle, omega) + NOISE
        return bool(np.all(error <= FIT * max(1.0, length) * self.bound + size * lost))

    def lost(self, angle: Floats, omega: Floats) -> Floats:
        """Compute the error from rounding angles, relative to a pair's length."""
        growth = 1 + np.abs(np.log(np.where(omega == 0, 1, np.abs(omega))))
        return np.asarray(ROUNDINGS * self.unit * np.abs(angle) * growth)

    def turn(self, omega: Floats, offset: float, length: float) -> bool:
        """Return whether pairs turn by these radians per position, within one bound.

        ``offset`` is added to every angle, ``length`` is a factor of the length. Both are
        estimates, so an offset or a length other than 1 allows NEAR as well.
        """
        angle = self.places * omega + offset
        error = np.abs(self.after - length * self.before * np.exp(1j * angle))
        size = length * np.abs(self.before)
        estimated = NEAR if offset or length != 1 else 0.0  # estimates are accurate to NEAR only
        lost = self.lost(angle, omega) + estimated
        return bool(np.all(error <= max(1.0, length) * self.bound + size * lost))


@dataclass(frozen=True)
class PairFrequencies:
    """A progression of pair frequencies, read from one result."""

    numbers: Floats
    """Indices in the progression of the pairs that can be read."""
    frequencies: Floats
    """Radians per position of these pairs, up to multiples of ``turn``."""
    asked: Floats
    """Requested frequencies of these pairs, in radians per position."""
    dim: int
    """Number of channels in the progression."""
    given: Arguments
    """Arguments of the call."""
    based: str = "base"
    """Name of the argument that is the base of the powers."""
    noise: Floats | float = 0.0
    """Uncertainty of frequencies, in radians per position."""
    turn: Floats | float = np.inf
    """Radians per position that add a whole turn between two rows, which is invisible."""
    first: float = 0.0
    """Smallest magnitude of a position; the larger it is, the less certain is the offset."""
    offset: float = 0.0
    """Radians added to every angle."""
    length: float = 1.0
    """Length of pairs relative to the right one."""
    where: str = ""
    """Description of the channels of the pairs, if they are not the claimed ones."""
    of_axis: bool = False
    """Whether these are the pairs of one axis of several."""
    paired: Paired | None = None
    """The pairs from which frequencies are read; None if the result consists of frequencies."""

    @property
    def base(self) -> float:
        """The requested base."""
        return float(self.given.get(self.based, 10000.0))

    @property
    def plain(self) -> Floats:
        """Frequencies of the progression without any scaling."""
        return np.asarray(self.base ** (-2 * self.numbers / self.dim))

    def are(self, omega: Floats) -> bool:
        """Return whether the frequencies ``omega`` reproduce the result, within rounding."""
        if self.paired is None:
            return bool(np.all(np.abs(self.frequencies - omega) <= EXACT * np.abs(omega)))
        return self.paired.turn(omega, self.offset, self.length)

    def near(self, omega: Floats) -> bool:
        """Return whether estimated frequencies ``omega`` may be those of the result.

        Whole turns between two rows make no difference.
        """
        off = self.frequencies - omega
        if np.all(np.isfinite(self.turn)):
            off = off - self.turn * np.round(off / self.turn)
        return bool(np.all(np.abs(off) <= self.noise + NEAR * np.abs(omega)))

    def aliased(self, shares: Floats) -> bool:
        """Return whether pairs seem to turn so fast that whole turns may be missed.

        ``shares`` are frequencies in units of the requested ones.
        """
        return self.paired is not None and bool(np.any(np.abs(shares) > FASTEST))

    @property
    def readable(self) -> npt.NDArray[np.bool_]:
        """Which pairs turn less than half a turn between two rows, if they turn as requested.

        Whole turns of the others are invisible, and so is which way they turn.
        """
        return np.asarray(2 * np.abs(self.asked) < np.abs(self.turn))

    @property
    def certain(self) -> npt.NDArray[np.bool_]:
        """Which pairs turn less than half a turn between two rows, even FASTEST times too fast.

        At whole positions next to each other, whole turns make no difference at all.
        """
        next_to = np.abs(self.turn) > 2 * np.pi * (1 - NEAR)
        return np.asarray(next_to | (2 * FASTEST * np.abs(self.asked) < np.abs(self.turn)))

    def above_noise(self, omega: Floats) -> npt.NDArray[np.bool_]:
        """Return which frequencies are large enough to compare with others."""
        return np.asarray(np.abs(omega) > self.noise / NEAR)


ReadFrequencies = Callable[[Case, Floats], Iterator[list[PairFrequencies] | None]]
"""Reads frequencies from a call's result. For each possible place of the pairs it yields a list of
progressions: an empty one if the result does not show how fast they turn, or None if no pairs turn
there. The first list counts."""


def fit_frequencies(
    case: Case,
    pairs: tuple[Array, Array],
    places: Array,
    asked: Floats,
    bound: Floats,
    where: str = "",
    axis: Index | None = None,
    dim: int = 0,
    based: str = "base",
) -> list[PairFrequencies] | None:
    """Read the frequencies of pairs, given before and after rotation: [..., n, pairs].

    ``places`` (positions) and ``bound`` broadcast to that shape. ``axis`` is a number for each
    pair: the pairs of each axis are a progression of their own. Without ``dim`` a progression has
    two channels per pair.

    Returns None unless each pair turns evenly, all with the same offset and the same factor of
    length. The list is empty if all rows of each pair have the same position, so that nothing can
    be read.
    """
    paired = _paired(case, pairs, places, bound)
    rows = paired.before.T, paired.after.T, paired.places.T
    fits = [_one(*pair) for pair in zip(*rows, strict=True)]
    if any(pair is None for pair in fits):
        return None
    omega, turn, span, offsets, lengths = np.asarray(fits, np.float64).reshape(-1, 5).T
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
            PairFrequencies(
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


def fit_wave_frequencies(
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
) -> list[PairFrequencies] | None:
    """Read the frequencies of an encoding with sines and cosines in ``channels``.

    ``channels`` are those of the sines, then those of the cosines; ``bound`` has one bound per
    element of ``waves``. The other parameters are those of :func:`fit_frequencies`.
    """
    sin, cos = channels
    return fit_frequencies(
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
    """Fit one pair: return its frequency, a whole turn, span of positions, offset and length.

    Frequency and whole turn are in radians per position. The first four are nan if all rows have
    the same position. Returns None if the pair does not turn evenly.
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
    residual = np.angle(wave * np.conj(wave[0]) * np.exp(-1j * omega * (place - place[0])))
    if np.any(np.abs(residual) > NEAR):
        return None
    span = place[-1] - place[0]
    omega += residual[-1] / span
    offset = np.angle(wave[0] * np.exp(-1j * omega * place[0]))
    return float(omega), 2 * np.pi / least, float(span), float(offset), float(size.mean())


def read_as_given(asked: Callable[[Case], Floats]) -> ReadFrequencies:
    """Make a reader for a call whose result consists of frequencies."""

    def read(case: Case, output: Floats) -> Iterator[list[PairFrequencies]]:
        numbers = np.arange(len(output), dtype=np.float64)
        yield [PairFrequencies(numbers, output, asked(case), 2 * len(output), case.arguments)]

    return read
