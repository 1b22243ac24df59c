"""Shared parts of the schemes that rescale the frequencies of rotary embedding.

Each scheme has three calls: one returns the frequencies, one rotates pairs of channels by them, and
one rotates gradients back. A scheme gives its frequencies, the values of its parameters and its
own mistakes; the rest follows.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from posenc_conformance.diagnose.predictors import (
    bases,
    negated_positions,
    rounded_base,
    shifted_positions,
)
from posenc_conformance.families.fitted_base import nearest_base
from posenc_conformance.families.lengths import no_sweep
from posenc_conformance.families.rotary import (
    LAYOUT_SWAPPED,
    ROWS,
    UNSCALED,
    Rotation,
    far,
    few_heads,
    few_rows,
    plain_rope,
    progression,
    read_channels,
    rotary_dim,
    small_head,
    written_channels,
)
from posenc_conformance.families.rotary_tables import backward_readings, forward_readings
from posenc_conformance.judge.arrays import PRECISE, Array, Floats, fine, round_to
from posenc_conformance.judge.bounded import Answer, Exact
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.deviation import DeviationModel, Prediction
from posenc_conformance.judge.knowledge import CallKnowledge, Identify
from posenc_conformance.judge.measured_frequencies import read_as_given
from posenc_conformance.judge.trial import InvariantCheck, Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments

Formula = Callable[[Arguments, int], Floats]
"""Computes a number for each pair, from the arguments and the number of rotated channels."""
Mistakes = Callable[[Case], Iterator[tuple[str, Floats]]]
"""Yields the explanation of each mistake, and the frequencies that the mistake gives."""

SMALLEST_NORMAL = {"float16": 2.0**-14}
"""The smallest normal number of a dtype, below which its spacing is fixed. Only in float16 do
frequencies lie below it."""
BASES = (10000.0, 500000.0, 1e6, 100.0)
NEAR = 0.02
"""Frequencies are read from angles below this, in radians. Such an angle is still less than half a
turn if it is 150 times too large."""
WHOLE = 1e-6
"""Relative error of a base that is fitted to frequencies in float32."""


def unscaled(given: Arguments, size: int) -> Floats:
    """Compute the frequencies of rotary embedding, in radians per position."""
    return progression(given["base"], size)


def no_options(trial: Trial) -> ArgumentDict:
    """Draw nothing: the scheme has no optional conventions."""
    return {}


def nothing(given: Arguments, size: int) -> Floats:
    """Return 0: there is no error beyond that of rotary embedding's own frequencies."""
    return np.zeros(size // 2)


@dataclass(frozen=True)
class Scaling:
    """A scheme that rescales the frequencies of rotary embedding."""

    name: str
    """The name of the call that rotates pairs."""
    formula: Formula
    """Computes the frequency of each pair, in radians per position."""
    choices: Mapping[str, Sequence[Any]]
    """The values to draw from for each of the scheme's own parameters, the simplest first."""
    changes: Sequence[Arguments]
    """Other values of the scheme's own parameters, between which calls must keep no state."""
    cost: Formula = nothing
    """Computes a frequency's relative error in float32 beyond ``1 + |ln w|``, in the same units."""
    least_dim: int = 2
    """The smallest number of channels that the scheme allows."""
    optional: Callable[[Trial], ArgumentDict] = no_options
    """Draws claimed optional conventions, with their parameters."""

    def frequencies(self, case: Case) -> Floats:
        """Compute the frequency of each pair, in radians per position."""
        return self.formula(case.arguments, rotary_dim(case))

    @cached_property
    def rotation(self) -> Rotation:
        """The call that rotates pairs."""
        return Rotation(self.rotary_arguments, self.frequencies)

    @cached_property
    def backward(self) -> Rotation:
        """The call that rotates gradients back."""
        return self.rotation.backward

    def growth(self, case: Case, omega: Floats) -> Floats:
        """Bound the relative rounding error of each frequency."""
        size = np.abs(np.log(np.where(omega > 0, omega, 1.0)))
        return np.asarray(1 + size + self.cost(case.arguments, rotary_dim(case)))

    def frequency_terms(self, case: Case) -> ErrorTerms:
        """Return the scale, which is the frequency, or RoPE's where it is 0, and the error growth.

        In float16 the scale is never below the smallest normal number.
        """
        omega = self.frequencies(case)
        omega = np.where(omega > 0, omega, unscaled(case.arguments, rotary_dim(case)))
        scale = np.maximum(omega, SMALLEST_NORMAL.get(case.dtype, 0.0))
        return ErrorTerms(scale, self.growth(case, omega))

    def rotary_terms(self, case: Case) -> ErrorTerms:
        """Return the scale, which is the length of the pair, and its angle times the growth."""
        angle = np.abs(self.rotation.angles(case)) * self.growth(case, self.frequencies(case))
        return self.rotation.terms(case, angle)

    # Arguments of the checks.

    def _dims(self) -> tuple[int, ...]:
        return tuple(dim for dim in (8, 2, 4, 6, 16, 64, 80, 128) if dim >= self.least_dim)

    def _own(self, trial: Trial) -> ArgumentDict:
        own = {name: trial.choose(name, values) for name, values in self.choices.items()}
        return {"base": trial.choose("base", BASES), **own, **self.optional(trial)}

    def frequency_arguments(self, trial: Trial) -> ArgumentDict:
        """Draw a number of channels and the parameters."""
        return {"rotary_dim": trial.choose("rotary_dim", self._dims()), **self._own(trial)}

    def rotary_arguments(self, trial: Trial) -> ArgumentDict:
        """Draw two heads, a few consecutive positions and the parameters."""
        head_dim, start = trial.choose("head_dim", self._dims()), trial.position(ROWS)
        return few_rows(head_dim, start) | self._own(trial)

    def sweep(self, parameters: Arguments, largest: int) -> ArgumentDict:
        """Make a call of one head that reaches all powers of two up to the largest position."""
        usual = {name: values[0] for name, values in self.choices.items()}
        return far(parameters, largest, base=10000.0, **usual)

    def frequency_sizes(self, case: Case) -> Iterator[ArgumentDict]:
        """Yield other parameters, then few and many pairs."""
        yield from map(dict, self.changes)
        for dim in (2, 4, 6, 10, 64, 80, 96, 128, 192, 256, 512):
            if dim >= self.least_dim:
                yield {"rotary_dim": dim}

    def rotary_sizes(self, case: Case) -> Iterator[ArgumentDict]:
        """Yield other parameters, then small and large heads, and many rows."""
        yield from map(dict, self.changes)
        dims = (2, 4, 6, 10, 64, 80, 128, 256)
        yield from few_heads(tuple(dim for dim in dims if dim >= self.least_dim))(case)
        yield {"x": fine((513, 4)), "positions": np.arange(513)}

    def backward_sizes(self, case: Case) -> Iterator[ArgumentDict]:
        """Yield other parameters, then a few heads."""
        yield from map(dict, self.changes)
        yield from few_heads((self.least_dim, 6, 80, 128))(case)

    def knowledge(
        self,
        *,
        frequency_invariants: Mapping[str, InvariantCheck],
        rotation_invariants: Mapping[str, InvariantCheck],
        mistakes: Mapping[str, Mistakes],
        frequency_deviations: Mapping[str, DeviationModel] = MappingProxyType({}),
        rotation_deviations: Mapping[str, DeviationModel] = MappingProxyType({}),
        unnamed: Sequence[Mistakes] = (),
        readings: Sequence[DeviationModel] = (),
        identify: Identify | None = None,
        many: Callable[[Case], Iterator[ArgumentDict]] | None = None,
    ) -> dict[str, CallKnowledge]:
        """Return the kit's knowledge of the three calls.

        Mistakes in frequencies show in the call that returns them and in the one that rotates;
        ``unnamed`` are those without an id, and ``readings`` those of rotations alone.
        ``identify`` and ``many`` belong to the call that returns frequencies.
        """
        in_frequencies = {name: self.in_frequencies(of) for name, of in mistakes.items()}
        in_rotation = {name: self.in_rotation(of) for name, of in mistakes.items()}
        return {
            f"{self.name}_frequencies": CallKnowledge(
                error_terms=self.frequency_terms,
                arguments=self.frequency_arguments,
                sweep=no_sweep,
                sizes=self.frequency_sizes,
                frequencies=read_as_given(self.frequencies),
                readings=tuple(map(self.in_frequencies, unnamed)),
                identify=identify,
                many=many,
                invariants=frequency_invariants,
                deviations={**in_frequencies, **frequency_deviations, **self.frequency_deviations},
            ),
            self.name: CallKnowledge(
                error_terms=self.rotary_terms,
                arguments=self.rotary_arguments,
                sweep=self.sweep,
                sizes=self.rotary_sizes,
                frequencies=self.rotation.read_frequencies,
                invariants={**self.rotary_invariants, **rotation_invariants},
                deviations={**in_rotation, **rotation_deviations, **self.rotary_deviations},
                readings=(
                    *readings,
                    *map(self.in_rotation, unnamed),
                    *forward_readings(self.rotation),
                    self.progressions,
                ),
            ),
            f"{self.name}_vjp": CallKnowledge(
                error_terms=self.rotary_terms,
                arguments=self.rotary_arguments,
                sweep=small_head(self.sweep),
                sizes=self.backward_sizes,
                frequencies=self.backward.read_frequencies,
                readings=backward_readings(self.backward),
                invariants=self.backward.backward_invariants,
                deviations=self.backward_deviations,
            ),
        }

    # Invariants.

    @property
    def rotary_invariants(self) -> dict[str, InvariantCheck]:
        """Checks of the invariants of every rotation, whatever its frequencies."""
        return {
            "isometry": self.rotation.isometry,
            "identity-at-zero": self.rotation.identity_at_zero,
            "relative-scores": self.rotation.relative_scores,
            "composition": self.rotation.composition,
            "layout-permutation": self.rotation.layout_permutation,
        }

    def is_rope(self, **values: Any) -> InvariantCheck:
        """Make a check that the parameters ``values`` give plain rotary embedding."""

        def check(trial: Trial) -> None:
            answer = trial.answer(**(self.rotary_arguments(trial) | values))
            trial.assert_zero(answer - Exact(plain_rope(answer.case)), "it is not plain RoPE")

        return check

    def multiplier(self, expected: Formula, what: str) -> InvariantCheck:
        """Make a check that each frequency is RoPE's times the result of a formula.

        Where the formula returns nan, nothing is checked.
        """

        def check(trial: Trial) -> None:
            answer = trial.answer(**self.frequency_arguments(trial))
            chosen, size = answer.case.arguments, int(answer.case.arguments["rotary_dim"])
            scaled = unscaled(chosen, size) * expected(chosen, size)
            trial.assert_zero((answer - scaled).where(np.isfinite(scaled)), what)

        return check

    def geometric(self, trial: Trial) -> None:
        """Check that the square of each frequency is the product of its two neighbours."""
        answer = trial.answer(**self.frequency_arguments(trial))
        before, here, after = answer[:-2], answer[1:-1], answer[2:]
        trial.assert_zero(
            before * after - here * here, "the frequencies are not a geometric progression"
        )

    def falling(self, trial: Trial) -> None:
        """Check that no pair has a higher frequency than the pair before."""
        answer = trial.answer(**self.frequency_arguments(trial))
        trial.assert_zero((answer[1:] - answer[:-1]).positive(), "the frequencies do not fall")

    # Models of mistakes.

    def in_frequencies(self, mistakes: Mistakes) -> DeviationModel:
        """Make a model that predicts mistaken frequencies."""

        def models(case: Case, got: Floats) -> Iterator[Prediction]:
            for explanation, omega in mistakes(case):
                yield Prediction(explanation, omega)

        return models

    def in_rotation(self, mistakes: Mistakes) -> DeviationModel:
        """Make a model that predicts pairs rotated by mistaken frequencies."""

        def models(case: Case, got: Floats) -> Iterator[Prediction]:
            for explanation, omega in mistakes(case):
                yield self.rotation.with_frequencies(case, omega, explanation)

        return models

    def slowest(self, case: Case) -> int:
        """Return the last pair whose frequency is not 0."""
        return int(np.flatnonzero(self.frequencies(case)).max(initial=0))

    def seen_frequency(self, case: Case, got: Floats) -> float:
        """Read the frequency of the slowest pair from a result; nan if no row shows it."""
        pair = self.slowest(case)
        if "x" not in case.arguments:
            return float(got[pair])
        positions = case.arguments["positions"]
        # An angle below NEAR is still less than half a turn if it is 150 times too large.
        near = (positions > 0) & (positions * self.frequencies(case)[pair] < NEAR)
        if not near.any():
            return np.nan
        row = int(np.argmax(np.where(near, positions, 0)))
        before, after = (
            source[..., row, channel[0][pair]] + 1j * source[..., row, channel[1][pair]]
            for source, channel in (
                (case.arguments["x"], read_channels(case)),
                (got, written_channels(case)),
            )
        )
        return float(np.angle(np.sum(after * np.conj(before))) / positions[row])

    def wrong_base(self, case: Case, got: Floats) -> Iterator[Prediction]:
        """Predict the result with another base.

        The first base is fitted to the slowest pair; the others are in common use.
        """
        pair, estimate = self.slowest(case), None
        ratio = self.seen_frequency(case, got) / self.frequencies(case)[pair] if pair else np.nan
        if ratio > 0:
            power = -rotary_dim(case) / (2 * pair)
            with np.errstate(over="ignore"):
                estimate = float(case.arguments["base"] * np.float64(ratio) ** power)
        is_exact = case.dtype in PRECISE and estimate is not None
        if "x" in case.arguments and not (is_exact and self.may_be_written(estimate, case)):
            estimate = nearest_base(case, got, self.rotation.places(case), self.frequencies)
        if estimate is not None:
            estimate = rounded_base(estimate) if self.may_be_written(estimate, case) else None
        yield from bases(case, estimate)

    def progressions(self, case: Case, got: Floats) -> Iterator[Prediction]:
        """Predict powers of one base in a short dtype, in which no pair's frequency can be read."""
        if case.dtype in PRECISE:
            return
        size, places = rotary_dim(case), self.rotation.places(case)
        base = nearest_base(case, got, places, lambda other: unscaled(other.arguments, size))
        if base is not None:
            near = float(f"{base:.4g}")
            words = f"matches pair t turning at B^(-2t/d), with a base B of about {near:g}"
            yield self.rotation.with_frequencies(case, progression(base, size), words)

    def may_be_written(self, base: float | None, case: Case) -> bool:
        """Return whether a person may have written a base, where any number of digits fits.

        Frequencies of a rescaled base are those of some given base, whatever the mistake. One that
        a person writes has two digits, or is a whole number of at most five to all digits.
        """
        omega = self.frequencies(case)
        if base is None or len(omega) < 3 or (omega <= 0).any():
            return True
        steps = np.diff(np.log(omega))
        rescaled = (
            np.ptp(steps) < 1e-9
            and abs(omega[0] - 1) < 1e-9
            and not np.allclose(omega, unscaled(case.arguments, rotary_dim(case)), rtol=1e-9)
        )
        short, whole = rounded_base(base), float(f"{base:.5g}")
        few = short is not None and short == float(f"{short:.2g}")
        return not rescaled or few or (whole.is_integer() and abs(base / whole - 1) < WHOLE)

    def positions_shifted(self, case: Case, got: Floats) -> Iterator[Prediction]:
        """Predict shifted positions.

        The first shift is fitted to the angle of the slowest pair; the others are one or two.
        """
        pair = self.slowest(case)
        first, second = (channel[pair] for channel in written_channels(case))
        estimate = np.nan
        if self.frequencies(case)[pair] > 0 and np.isfinite(case.truth).all():
            seen, true = (y[..., first] + 1j * y[..., second] for y in (got, case.truth))
            angle = np.angle(np.sum(seen * np.conj(true)))
            estimate = float(angle / self.frequencies(case)[pair])
        yield from shifted_positions(case, estimate)

    def narrow_frequencies(self, case: Case, got: Floats) -> Iterator[Prediction]:
        """Predict frequencies rounded to a narrow dtype, whatever the dtype of the call."""
        for dtype in ("bfloat16", "float16"):
            yield Prediction(f"matches frequencies rounded to {dtype}", round_to(case.truth, dtype))

    @property
    def backward_deviations(self) -> dict[str, DeviationModel]:
        """Mistakes in rotating gradients back, possible in all schemes."""
        plain = self.backward.at_frequencies(
            lambda case: unscaled(case.arguments, rotary_dim(case)), UNSCALED
        )
        return self.backward.backward_deviations | {"backward-unscaled": plain}

    @property
    def frequency_deviations(self) -> dict[str, DeviationModel]:
        """Mistakes in frequencies, possible in all schemes, less specific than a scheme's own."""
        return {
            "narrow-frequencies": self.narrow_frequencies,
            "wrong-base-frequencies": self.wrong_base,
        }

    @property
    def rotary_deviations(self) -> dict[str, DeviationModel]:
        """Mistakes in rotating, possible in all schemes, less specific than a scheme's own."""
        return {
            "layout-swapped": LAYOUT_SWAPPED,
            "positions-shifted": self.positions_shifted,
            "sign-flipped": negated_positions,
            "low-precision-angles": self.rotation.low_precision_angles,
            "wrong-base": self.wrong_base,
        }


def between(trial: Trial, answer: Answer, plain: Floats, what: str) -> None:
    """Check that frequencies lie between RoPE's divided by the factor and RoPE's own."""
    trial.assert_zero((answer - plain).positive(), what)
    trial.assert_zero((plain / answer.case.arguments["factor"] - answer).positive(), what)


def lists_of_frequencies(
    *settings: Arguments,
) -> Callable[[Array], Iterator[tuple[ArgumentDict, Array]]]:
    """Make a function that reads an array as frequencies, for ``posenc identify``.

    The array has a number for each pair. The function yields the arguments under each of
    ``settings``.
    """

    def found(array: Array) -> Iterator[tuple[ArgumentDict, Array]]:
        if array.ndim == 1 and 1 < len(array) <= 1024:
            for setting in settings:
                yield {"rotary_dim": 2 * len(array), **setting}, array

    return found
