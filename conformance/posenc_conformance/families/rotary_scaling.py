"""What the scalings of rotary embedding share.

Each has three calls: one gives the frequencies, one turns pairs of channels by them, and one turns
gradients back. A scheme says what its frequencies are; bounds, drawn arguments and models of
mistakes follow from that.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

from posenc_conformance.diagnose.mistakes import (
    DeviationModel,
    Model,
    bases,
    negated_positions,
    rounded_base,
    shifted_positions,
)
from posenc_conformance.diagnose.turns import Read, given
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
from posenc_conformance.judge.arrays import Array, Floats, fine, narrowed
from posenc_conformance.judge.bounded import Answer, Exact
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.trial import InvariantCheck, Trial

T = TypeVar("T")
Arguments = Mapping[str, Any]
Formula = Callable[[Arguments, int], Floats]
"""Something of each pair, from the arguments and the number of channels."""
Mistakes = Callable[[Case], Iterator[tuple[str, Floats]]]
"""Explanations, and the frequencies that they predict."""

SMALLEST_NORMAL = {"float16": 2.0**-14}
"""Numbers below this are rounded to a fixed step, in the one dtype where frequencies are so low."""
BASES = (10000.0, 500000.0, 1e6, 100.0)
NEAR = 0.02
"""Radians from which a frequency is read."""


def unscaled(given: Arguments, size: int) -> Floats:
    """The frequencies of rotary embedding, in radians per position."""
    return progression(given["base"], size)


def no_options(trial: Trial) -> dict[str, Any]:
    """The scheme has no optional conventions."""
    return {}


def nothing(given: Arguments, size: int) -> Floats:
    """No cost beyond that of rotary embedding's own frequencies."""
    return np.zeros(size // 2)


@dataclass(frozen=True)
class Scaling:
    """A scheme of this family."""

    name: str
    """Of the call that turns."""
    formula: Formula
    """Radians per position of each pair."""
    choices: Mapping[str, Sequence[Any]]
    """Values of each of its own parameters to draw from, the simplest first."""
    changes: Sequence[Mapping[str, Any]]
    """Other values of its own parameters, between which calls must keep nothing."""
    cost: Formula = nothing
    """Relative error of a frequency in float32 beyond ``1 + |ln w|``, in the same units."""
    least_dim: int = 2
    """Channels that it needs."""
    optional: Callable[[Trial], dict[str, Any]] = no_options
    """Drawn optional conventions with their parameters, of those that are claimed."""

    def frequencies(self, case: Case) -> Floats:
        """Radians per position of each pair."""
        return self.formula(case.arguments, rotary_dim(case))

    @cached_property
    def rotation(self) -> Rotation:
        """The call that turns."""
        return Rotation(self.rotary_arguments, self.frequencies)

    @cached_property
    def backward(self) -> Rotation:
        """The call that turns gradients back."""
        return self.rotation.backward

    def growth(self, case: Case, omega: Floats) -> Floats:
        """What rounding costs each frequency, relatively."""
        size = np.abs(np.log(np.where(omega > 0, omega, 1.0)))
        return np.asarray(1 + size + self.cost(case.arguments, rotary_dim(case)))

    def frequency_terms(self, case: Case) -> ErrorTerms:
        """The scale is the frequency itself, or RoPE's where it is 0."""
        omega = self.frequencies(case)
        omega = np.where(omega > 0, omega, unscaled(case.arguments, rotary_dim(case)))
        scale = np.maximum(omega, SMALLEST_NORMAL.get(case.dtype, 0.0))
        return ErrorTerms(scale, self.growth(case, omega))

    def rotary_terms(self, case: Case) -> ErrorTerms:
        """The scale is the length of the pair, the angle that of the pair times the growth."""
        angle = np.abs(self.rotation.angles(case)) * self.growth(case, self.frequencies(case))
        return self.rotation.terms(case, angle)

    # What the checks ask.

    def _dims(self) -> tuple[int, ...]:
        return tuple(dim for dim in (8, 2, 4, 6, 16, 64, 80, 128) if dim >= self.least_dim)

    def _own(self, trial: Trial) -> dict[str, Any]:
        own = {name: trial.choose(name, values) for name, values in self.choices.items()}
        return {"base": trial.choose("base", BASES), **own, **self.optional(trial)}

    def frequency_arguments(self, trial: Trial) -> dict[str, Any]:
        """A number of channels and the parameters."""
        return {"rotary_dim": trial.choose("rotary_dim", self._dims()), **self._own(trial)}

    def rotary_arguments(self, trial: Trial) -> dict[str, Any]:
        """Two heads and a few positions in a row."""
        head_dim, start = trial.choose("head_dim", self._dims()), trial.position(ROWS)
        return few_rows(head_dim, start) | self._own(trial)

    def sweep(self, parameters: Mapping[str, Any], largest: int) -> dict[str, Any]:
        """All powers of two up to the largest position, for one head."""
        usual = {name: values[0] for name, values in self.choices.items()}
        return far(parameters, largest, base=10000.0, **usual)

    def frequency_sizes(self, case: Case) -> Iterator[dict[str, Any]]:
        """Other parameters, then few and many pairs."""
        yield from map(dict, self.changes)
        for dim in (2, 4, 6, 10, 64, 80, 96, 128, 192, 256, 512):
            if dim >= self.least_dim:
                yield {"rotary_dim": dim}

    def rotary_sizes(self, case: Case) -> Iterator[dict[str, Any]]:
        """Other parameters, then small and large heads, and many rows."""
        yield from map(dict, self.changes)
        dims = (2, 4, 6, 10, 64, 80, 128, 256)
        yield from few_heads(tuple(dim for dim in dims if dim >= self.least_dim))(case)
        yield {"x": fine((513, 4)), "positions": np.arange(513)}

    @property
    def error_terms(self) -> dict[str, Callable[[Case], ErrorTerms]]:
        """Of each call."""
        return three_calls(self.name, self.frequency_terms, self.rotary_terms, self.rotary_terms)

    @property
    def arguments(self) -> dict[str, Callable[[Trial], dict[str, Any]]]:
        """Of each call."""
        turning = self.rotary_arguments
        return three_calls(self.name, self.frequency_arguments, turning, turning)

    @property
    def sweeps(self) -> dict[str, Any]:
        """Of each call; backward as forward, for a small head."""
        return three_calls(self.name, no_sweep, self.sweep, small_head(self.sweep))

    @property
    def sizes(self) -> dict[str, Callable[[Case], Iterator[dict[str, Any]]]]:
        """Of each call."""
        return three_calls(self.name, self.frequency_sizes, self.rotary_sizes, self.backward_sizes)

    def backward_sizes(self, case: Case) -> Iterator[dict[str, Any]]:
        """Other parameters, then a few heads."""
        yield from map(dict, self.changes)
        yield from few_heads((self.least_dim, 6, 80, 128))(case)

    # What a result says.

    @property
    def turns(self) -> dict[str, Read]:
        """Of each call."""
        return three_calls(
            self.name, given(self.frequencies), self.rotation.turns, self.backward.turns
        )

    # Invariants.

    def invariants(
        self, frequencies: dict[str, InvariantCheck], rotation: dict[str, InvariantCheck]
    ) -> dict[str, dict[str, InvariantCheck]]:
        """Of each call: the scheme's own, and what holds of every rotation."""
        return three_calls(
            self.name,
            frequencies,
            self.rotary_invariants | rotation,
            self.backward.backward_invariants,
        )

    @property
    def rotary_invariants(self) -> dict[str, InvariantCheck]:
        """What holds of every rotation, whatever the frequencies."""
        return {
            "isometry": self.rotation.isometry,
            "identity-at-zero": self.rotation.identity_at_zero,
            "relative-scores": self.rotation.relative_scores,
            "composition": self.rotation.composition,
            "layout-permutation": self.rotation.layout_permutation,
        }

    def is_rope(self, **values: Any) -> InvariantCheck:
        """With these values of its parameters it is rotary embedding itself."""

        def check(trial: Trial) -> None:
            answer = trial.answer(**(self.rotary_arguments(trial) | values))
            trial.zero(answer - Exact(plain_rope(answer.case)), "it is not plain RoPE")

        return check

    def multiplier(self, expected: Formula, what: str) -> InvariantCheck:
        """Each frequency is RoPE's times what a formula says; nan says nothing."""

        def check(trial: Trial) -> None:
            answer = trial.answer(**self.frequency_arguments(trial))
            given, size = answer.case.arguments, int(answer.case.arguments["rotary_dim"])
            wanted = unscaled(given, size) * expected(given, size)
            trial.zero((answer - wanted).where(np.isfinite(wanted)), what)

        return check

    def geometric(self, trial: Trial) -> None:
        """The product of a pair's two neighbours is its own square."""
        answer = trial.answer(**self.frequency_arguments(trial))
        before, here, after = answer[:-2], answer[1:-1], answer[2:]
        trial.zero(before * after - here * here, "the frequencies are not a geometric progression")

    def falling(self, trial: Trial) -> None:
        """Every pair turns more slowly than the one before, or neither turns."""
        answer = trial.answer(**self.frequency_arguments(trial))
        trial.zero((answer[1:] - answer[:-1]).positive(), "the frequencies do not fall")

    # Models of mistakes.

    def in_frequencies(self, mistakes: Mistakes) -> DeviationModel:
        """What mistaken frequencies look like."""

        def models(case: Case, got: Floats) -> Iterator[Model]:
            for explanation, omega in mistakes(case):
                yield Model(explanation, omega)

        return models

    def in_rotation(self, mistakes: Mistakes) -> DeviationModel:
        """What pairs look like that are turned by mistaken frequencies."""

        def models(case: Case, got: Floats) -> Iterator[Model]:
            for explanation, omega in mistakes(case):
                yield self.rotation.with_frequencies(case, omega, explanation)

        return models

    def deviations(
        self,
        mistakes: Mapping[str, Mistakes],
        frequencies: Mapping[str, DeviationModel] = MappingProxyType({}),
        rotation: Mapping[str, DeviationModel] = MappingProxyType({}),
    ) -> dict[str, dict[str, DeviationModel]]:
        """Of each call: mistakes in frequencies, others of the scheme's own, and common ones.

        Ids of the call that gives frequencies say so.
        """
        in_frequencies = {name: self.in_frequencies(of) for name, of in mistakes.items()}
        in_rotation = {name: self.in_rotation(of) for name, of in mistakes.items()}
        return three_calls(
            self.name,
            {**in_frequencies, **frequencies, **self.frequency_deviations},
            {**in_rotation, **rotation, **self.rotary_deviations},
            self.backward_deviations,
        )

    def slowest(self, case: Case) -> int:
        """The last pair that turns at all."""
        return int(np.flatnonzero(self.frequencies(case)).max(initial=0))

    def seen_frequency(self, case: Case, got: Floats) -> float:
        """What a result says that the slowest pair's frequency is; nan if it says nothing."""
        pair = self.slowest(case)
        if "x" not in case.arguments:
            return float(got[pair])
        positions = case.arguments["positions"]
        # The largest angle that is still less than half a turn if it is 150 times too large.
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

    def wrong_base(self, case: Case, got: Floats) -> Iterator[Model]:
        """Another base: the one estimated from the slowest pair, then those in common use."""
        pair, estimate = self.slowest(case), None
        ratio = self.seen_frequency(case, got) / self.frequencies(case)[pair] if pair else np.nan
        if ratio > 0:
            power = -rotary_dim(case) / (2 * pair)
            with np.errstate(over="ignore"):
                estimate = rounded_base(float(case.arguments["base"] * np.float64(ratio) ** power))
        yield from bases(case, estimate)

    def positions_shifted(self, case: Case, got: Floats) -> Iterator[Model]:
        """Positions off by as much as the slowest pair's angle says."""
        pair = self.slowest(case)
        first, second = (channel[pair] for channel in written_channels(case))
        estimate = np.nan
        if self.frequencies(case)[pair] > 0 and np.isfinite(case.truth).all():
            seen, true = (y[..., first] + 1j * y[..., second] for y in (got, case.truth))
            angle = np.angle(np.sum(seen * np.conj(true)))
            estimate = float(angle / self.frequencies(case)[pair])
        yield from shifted_positions(case, estimate)

    def narrow_frequencies(self, case: Case, got: Floats) -> Iterator[Model]:
        """Frequencies rounded to a narrow dtype, whatever dtype was asked for."""
        for dtype in ("bfloat16", "float16"):
            yield Model(f"matches frequencies rounded to {dtype}", narrowed(case.truth, dtype))

    @property
    def backward_deviations(self) -> dict[str, DeviationModel]:
        """Mistakes in turning gradients back that all schemes know."""
        plain = self.backward.at_frequencies(
            lambda case: unscaled(case.arguments, rotary_dim(case)), UNSCALED
        )
        return self.backward.backward_deviations | {"backward-unscaled": plain}

    @property
    def frequency_deviations(self) -> dict[str, DeviationModel]:
        """Mistakes in frequencies that all schemes know, less special than their own."""
        return {
            "narrow-frequencies": self.narrow_frequencies,
            "wrong-base-frequencies": self.wrong_base,
        }

    @property
    def rotary_deviations(self) -> dict[str, DeviationModel]:
        """Mistakes in turning that all schemes know, less special than their own."""
        return {
            "layout-swapped": LAYOUT_SWAPPED,
            "positions-shifted": self.positions_shifted,
            "sign-flipped": negated_positions,
            "low-precision-angles": self.rotation.low_precision_angles,
            "wrong-base": self.wrong_base,
        }


def three_calls(name: str, frequencies: T, rotation: T, backward: T) -> dict[str, T]:
    """A table of a scheme whose calls give frequencies, turn by them, and turn back."""
    return {f"{name}_frequencies": frequencies, name: rotation, f"{name}_vjp": backward}


def between(trial: Trial, answer: Answer, plain: Floats, what: str) -> None:
    """Demand that no frequency is above the unscaled one, or below that over the factor."""
    trial.zero((answer - plain).positive(), what)
    trial.zero((plain / answer.case.arguments["factor"] - answer).positive(), what)


def lists_of_frequencies(
    *settings: Arguments,
) -> Callable[[Array], Iterator[tuple[dict[str, Any], Array]]]:
    """For ``posenc identify``: a number for each pair, under each of the settings."""

    def found(array: Array) -> Iterator[tuple[dict[str, Any], Array]]:
        if array.ndim == 1 and 1 < len(array) <= 1024:
            for given in settings:
                yield {"rotary_dim": 2 * len(array), **given}, array

    return found
