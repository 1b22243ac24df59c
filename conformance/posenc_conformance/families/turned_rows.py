"""Mistakes of calls that turn rows of several arrays, each row at its own position."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from posenc_conformance.diagnose.predictors import (
    BASES,
    LARGEST_SHIFT,
    iterated,
    rounded_base,
)
from posenc_conformance.errors import apart
from posenc_conformance.families.encodings import errors_of
from posenc_conformance.families.rotary import channels
from posenc_conformance.families.rotary_tables import per_channel
from posenc_conformance.judge.arrays import Flags, Floats, Ints
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.deviation import Constant, DeviationModel, Prediction

NEAR = 32
"""Positions below this are used to estimate a base: the slowest pair turns little there."""


@dataclass(frozen=True)
class TurnedRows:
    """The rows of a call, and results of it that other angles would give."""

    rows: Callable[[Case], Floats]
    """All rows of the arguments: [..., n, head_dim]."""
    apart: Callable[[Case, Floats], Floats]
    """Split a result into rows of the same shape."""
    turns: Callable[[Case], Flags]
    """Which of the rows are turned."""
    positions: Callable[[Case], Ints]
    """The position of each row, in a shape that broadcasts to that of rows less channels."""
    frequencies: Callable[[Case], Floats]
    """The frequency of each pair."""
    result: Callable[[Case, Floats], Floats]
    """Compute the result from an angle for each row and pair."""
    terms: Callable[[Case, Floats], ErrorTerms]
    """Return the error terms of a result from the error of the angle in each channel."""

    def predict(
        self, case: Case, words: str, angles: Floats, constant: Constant | None = None
    ) -> Prediction:
        """Predict the result for other angles, which round as angles of their own size."""

        def terms() -> ErrorTerms:
            lost = errors_of(angles, self._places(case), self.frequencies(case))
            pairs = channels(self.rows(case).shape[-1], str(case.conventions["layout"]))
            return self.terms(case, per_channel(lost, pairs))

        return Prediction(words, self.result(case, angles), constant=constant, terms=terms)

    def unrotated(self, case: Case, got: Floats) -> Iterator[Prediction]:
        """Predict no rotation at all."""
        yield Prediction(
            "matches rows without any rotation", self.result(case, 0 * self._all(case))
        )

    def degrees(self, case: Case, got: Floats) -> Iterator[Prediction]:
        """Predict angles taken for degrees, or converted to degrees."""
        angles = self._all(case)
        yield self.predict(case, "matches angles taken for degrees", np.deg2rad(angles))
        words = "matches angles turned into degrees, of which sines are taken"
        yield self.predict(case, words, np.rad2deg(angles))

    def at_frequencies(self, words: str, frequencies: Callable[[Case], Floats]) -> DeviationModel:
        """Make a model that predicts rows turned at other frequencies."""

        def models(case: Case, got: Floats) -> Iterator[Prediction]:
            omega = frequencies(case)
            if not np.array_equal(omega, self.frequencies(case)):
                yield self.predict(case, words, self._places(case) * omega)

        return models

    def wrong_base(self, case: Case, got: Floats) -> Iterator[Prediction]:
        """Predict the result with another base: an estimated one, or one in common use."""
        asked, pairs = case.arguments["base"], np.arange(len(self.frequencies(case)))
        estimate = self._estimated_base(case, got)
        for base in dict.fromkeys([*([estimate] if estimate else []), *BASES]):
            if base != asked and len(pairs) > 1:
                other, right = apart(base, asked, digits=6)
                words = f"matches base {other}; {right} was asked for"
                angles = self._places(case) * base ** -(pairs / len(pairs))
                yield self.predict(case, words, angles, ("base", base))
                yield self.predict(case, words, angles, ("share", base / asked))

    def positions_shifted(self, case: Case, got: Floats) -> Iterator[Prediction]:
        """Predict positions shifted by an estimate from the slowest pair, or by one or two."""
        seen, true = (self._slowest(case, self.apart(case, y)) for y in (got, case.truth))
        estimate = float(np.angle(np.sum(seen * np.conj(true)))) / self.frequencies(case)[-1]
        near = [round(estimate)] if abs(estimate) < LARGEST_SHIFT else []
        for shift in dict.fromkeys([*near, 1, -1, 2, -2]):
            if shift:
                angles = (self._places(case) + shift) * self.frequencies(case)
                words = f"matches positions shifted by {shift:+d}"
                yield self.predict(case, words, angles, ("shift", shift))

    def iterated_frequencies(self, case: Case, got: Floats) -> Iterator[Prediction]:
        """Predict the angle, or frequency, of each pair computed from that of the pair before."""
        places, omega = self._places(case), self.frequencies(case)

        def result(angles: Floats) -> Floats:
            return self.result(case, angles.reshape(*places.shape[:-1], len(omega)))

        yield from iterated(places.reshape(-1, 1), omega, result)

    @property
    def deviations(self) -> Mapping[str, DeviationModel]:
        """Models of mistakes in angles, named as for a call of rope, special ones first."""
        return {
            "degrees": self.degrees,
            "exponent-halved": self.at_frequencies(
                "matches exponents t/d instead of 2t/d", lambda case: self.frequencies(case) ** 0.5
            ),
            "exponent-doubled": self.at_frequencies(
                "matches exponents 4t/d instead of 2t/d", lambda case: self.frequencies(case) ** 2
            ),
            "exponent-to-the-end": self.at_frequencies(
                "matches exponents t/(d/2-1), not 2t/d", self._to_the_end
            ),
            "wrong-base": self.wrong_base,
            "positions-shifted": self.positions_shifted,
            "iterated-frequencies": self.iterated_frequencies,
        }

    def _places(self, case: Case) -> Floats:
        return np.asarray(self.positions(case))[..., None].astype(np.float64)

    def _all(self, case: Case) -> Floats:
        return self._places(case) * self.frequencies(case)

    def _to_the_end(self, case: Case) -> Floats:
        """Return frequencies of exponents that reach 1; those of a single pair are right."""
        pairs = len(self.frequencies(case))
        return np.asarray(case.arguments["base"] ** -np.linspace(0, 1, pairs))

    def _slowest(self, case: Case, rows: Floats) -> Floats:
        """Return the slowest pair of each turned row as a complex number."""
        first, second = channels(rows.shape[-1], str(case.conventions["layout"]))
        own = rows[self.turns(case)]
        return np.asarray(own[:, first[-1]] + 1j * own[:, second[-1]])

    def _estimated_base(self, case: Case, got: Floats) -> float | None:
        """Estimate the base from the slowest pair's angle at one position other than 0."""
        pairs, turns = len(self.frequencies(case)), self.turns(case)
        places = np.broadcast_to(self.positions(case), turns.shape)[turns]
        near = np.abs(places[(places != 0) & (np.abs(places) < NEAR)])
        if pairs < 2 or not near.size:
            return None
        place = places[np.abs(places) == near.max()][0]
        before, after = (
            self._slowest(case, rows)[places == place]
            for rows in (self.rows(case), self.apart(case, got))
        )
        omega = float(np.angle(np.sum(after * np.conj(before)))) / place
        return rounded_base(omega ** (-pairs / (pairs - 1))) if omega > 0 else None
