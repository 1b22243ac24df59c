"""Shared parts of rotary schemes: pairs of channels, bounds, invariants and models of mistakes.

A scheme defines the frequencies of its pairs. All schemes share the rest: how the channels of a
head form pairs, and the bounds and checks that follow from rotating them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

import posenc
from posenc_conformance.diagnose.predictors import (
    other_conventions,
    predict_case,
    rounded_angles,
    shifted_positions,
)
from posenc_conformance.families.encodings import errors_of, growth
from posenc_conformance.judge.arrays import Floats, fine, round_to
from posenc_conformance.judge.bounded import Answer, Exact
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.deviation import DeviationModel, Prediction
from posenc_conformance.judge.measured_frequencies import PairFrequencies, fit_frequencies
from posenc_conformance.judge.positions import positions_up_to
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments

ROWS = 6
POLAR = 3 * np.pi + 1
"""The extra error, in units of u, of rotating a pair as a length and an angle instead of by
products with sine and cosine. The angle of the pair is at most π and, from a library function,
has a relative error below 2 u; adding the position's angle rounds it by π u more. Length,
cosine and their product cost 5 u, of which the model grants 4 v."""
Index = npt.NDArray[np.int64]
Pair = tuple[Index, Index]
"""The channels of the first and of the second member of each pair."""
Sweep = Callable[[Arguments, int], ArgumentDict]
UNSCALED = "matches the gradient turned back at RoPE's frequencies, unscaled"
LAYOUT_SWAPPED = other_conventions(
    "layout", "matches the {value} layout exactly; {claimed} was claimed"
)


def rotary_dim(case: Case) -> int:
    """Count the rotated channels; if there are sections, two for each pair of a section."""
    if "sections" in case.arguments:
        return 2 * int(case.arguments["sections"].sum())
    return int(case.arguments.get("rotary_dim") or case.arguments["x"].shape[-1])


def channels(rotated: int, layout: str, widths: Sequence[int] = ()) -> Pair:
    """Return the channels of the first and of the second member of each pair.

    ``widths`` are the numbers of channels of the axes, which the half-per-axis layout keeps apart.
    By default, there are two axes of equal width.
    """
    pairs = np.arange(rotated // 2)
    if layout == "interleaved":
        return 2 * pairs, 2 * pairs + 1
    if layout == "half-per-axis":
        halves = np.array(widths or (rotated // 2, rotated // 2)) // 2
        first = pairs + np.repeat(np.cumsum(halves) - halves, halves)
        return first, first + np.repeat(halves, halves)
    return pairs, pairs + rotated // 2


def _sliced(channels: Index) -> slice | Index:
    """Return channels as a slice if they are evenly spaced, which NumPy reads much faster."""
    steps = np.diff(channels)
    if len(steps) and (steps != steps[0]).any():
        return channels
    step = int(steps[0]) if len(steps) else 1
    return slice(int(channels[0]), int(channels[-1]) + 1, step)


SQUARED = 1e-140, 1e140
"""The range of lengths whose squares float64 represents with all their bits."""


def _lengths(first: Floats, second: Floats) -> Floats:
    """Compute the lengths of pairs, ten times as fast as ``np.hypot``."""
    with np.errstate(over="ignore", under="ignore"):
        length = np.sqrt(first * first + second * second)
    low, high = SQUARED
    beyond = ~((length > low) & (length < high))
    if beyond.any():
        length[beyond] = np.hypot(first[beyond], second[beyond])
    return np.asarray(length)


def read_channels(case: Case) -> Pair:
    """Return the channels to read pairs from; if backward, those that the forward pass writes."""
    return channels(rotary_dim(case), _layouts(case)[0], widths_of(case))


def written_channels(case: Case) -> Pair:
    """Return the channels to write pairs to; if backward, those that the forward pass reads."""
    return channels(rotary_dim(case), _layouts(case)[1], widths_of(case))


def widths_of(case: Case) -> list[int]:
    """Return the width of each axis; empty unless the call has ``widths``."""
    return [int(width) for width in case.arguments.get("widths", ())]


def _layouts(case: Case) -> tuple[str, str]:
    read, _, written = str(case.conventions["layout"]).partition("-to-")
    written = written or read
    return (written, read) if case.call.kind == "gradient" else (read, written)


def progression(base: float, rotated: int) -> Floats:
    """Compute frequencies ``base ** (-2t / r)`` of r rotated channels, in radians per position."""
    return np.asarray(base ** -(np.arange(0, rotated, 2) / rotated))


def in_dtype(angles: Floats, dtype: str) -> tuple[Floats, Floats]:
    """Return cosines and sines rounded to ``dtype``."""
    return round_to(np.cos(angles), dtype), round_to(np.sin(angles), dtype)


def forward_of(case: Case) -> Case:
    """Return the case of the forward call for the arguments of a backward call."""
    call = case.scheme.calls[case.call.name.removesuffix("_vjp")]
    return case.with_fields(call=call)


def one_axis(case: Case) -> Floats:
    """Return the position of each row, the same for all pairs: [n, 1]."""
    return np.asarray(case.arguments["positions"][:, None], dtype=np.float64)


def unscaled(case: Case) -> Floats:
    """Return the factor 1 of a pure rotation, which keeps lengths."""
    return np.ones(1)


def few_rows(head_dim: int, start: int) -> ArgumentDict:
    """Make the arguments of two heads, with ROWS consecutive positions from ``start`` on."""
    return {
        "x": np.roll(fine((2, ROWS, head_dim)), start % 5),
        "positions": start + np.arange(ROWS),
    }


def some_channels(trial: Trial, head_dim: int) -> ArgumentDict:
    """Draw partial rotation, a ``rotary_dim`` below the head dimension, now and then if claimed."""
    if not (trial.can("rotation") and head_dim >= 4 and trial.pick.integer(0, 1)):
        return {}
    widths = [width for width in (head_dim // 4 * 2, 2, head_dim - 2) if width >= 2]
    return {"rotation": "partial", "rotary_dim": trial.choose("rotary_dim", widths)}


def partial(trial: Trial, chosen: ArgumentDict) -> ArgumentDict:
    """Return the arguments of the same call with fewer rotated channels than the head has."""
    if "rotary_dim" in chosen:
        return chosen
    width = trial.choose("rotary_dim", [max(2, chosen["x"].shape[-1] // 4 * 2)])
    return chosen | {"rotation": "partial", "rotary_dim": width}


def rest_passes(trial: Trial, chosen: ArgumentDict, beyond: str = "rotary_dim") -> None:
    """Check that channels beyond the rotated ones are returned bit for bit."""
    answer = trial.answer(**chosen)
    passing = slice(rotary_dim(answer.case), None)
    wrong = answer.values[..., passing] != answer.case.arguments["x"][..., passing]
    trial.assert_none(answer, wrong, f"channels beyond {beyond} are changed")


def far(parameters: Arguments, largest: int, head_dim: int = 128, **usual: Any) -> ArgumentDict:
    """Make the arguments of one head that reach all powers of two up to the largest position."""
    positions = positions_up_to(largest)
    others = {name: value for name, value in parameters.items() if name != "head_dim"}
    x = fine((len(positions), parameters.get("head_dim", head_dim)))
    return {"x": x, "positions": positions, **usual, **others}


def small_head(sweep: Sweep) -> Sweep:
    """Make the sweep of a backward call from that of its forward call.

    The head has 16 channels, unless the parameters give another number.
    """
    return lambda parameters, largest: sweep({"head_dim": 16, **parameters}, largest)


def few_heads(dims: tuple[int, ...]) -> Callable[[Case], Iterator[ArgumentDict]]:
    """Make a function that yields heads of the sizes ``dims``.

    It is for backward calls, which need few sizes, since their forward calls get many.
    """

    def sizes(case: Case) -> Iterator[ArgumentDict]:
        return ({"x": fine((2, 2, dim)), "positions": np.array([1, 7])} for dim in dims)

    return sizes


@dataclass(frozen=True)
class Rotation:
    """A rotary call: the arguments drawn for its checks, and the rotation of each pair."""

    arguments: Callable[[Trial], ArgumentDict]
    """Draws the arguments of a small call: x of shape [2, ROWS, head_dim], and positions of ROWS
    consecutive rows."""
    frequencies: Callable[[Case], Floats]
    """Computes the frequency of each pair, in radians per position: [pairs]."""
    places: Callable[[Case], Floats] = one_axis
    """The position of each row for each pair, in a shape that broadcasts to [n, pairs]."""
    amplitude: Callable[[Case], Floats] = unscaled
    """The factor that scales each pair's length, in a shape that broadcasts to [n, pairs]."""
    axis: Callable[[Case], Index] | None = None
    """The axis of each pair, if frequencies restart with each axis."""

    def angles(self, case: Case) -> Floats:
        """Compute the angle of each row and pair in float64: [n, pairs]."""
        return self.places(case) * self.frequencies(case)

    def error_terms(self, case: Case) -> ErrorTerms:
        """Return the scale, which is the length of the rotated pair, and the angle.

        The scale of channels that pass through is 0, because they must not change at all.
        """
        return self.terms(case, np.abs(self.angles(case)) * growth(self.frequencies(case)))

    def terms(self, case: Case, angle: Floats) -> ErrorTerms:
        """Return the error terms of pairs whose angles have the error ``angle``.

        ``angle`` is in units of u times ``accuracy.angle``.
        """
        x, (first, second) = case.arguments["x"], map(_sliced, read_channels(case))
        length = _lengths(x[..., first], x[..., second])
        length *= self.amplitude(case)
        scale = np.zeros(case.shape)
        angles = np.zeros((*angle.shape[:-1], case.shape[-1]))  # the same for all heads
        for written in map(_sliced, written_channels(case)):
            scale[..., written] = length
            angles[..., written] = angle + POLAR / case.scheme.accuracy.angle
        return ErrorTerms(scale, angles)

    def turned(self, case: Case, angles: Floats) -> Floats:
        """Compute the result for other angles, one per row and pair."""
        return self.waved(case, np.cos(angles), np.sin(angles))

    def waved(self, case: Case, cos: Floats, sin: Floats) -> Floats:
        """Compute the result for other cosines and sines, one per row and pair."""
        x, out = case.arguments["x"], case.arguments["x"].copy()
        first, second = (x[..., channel] * self.amplitude(case) for channel in read_channels(case))
        to_first, to_second = written_channels(case)
        out[..., to_first] = first * cos - second * sin
        out[..., to_second] = first * sin + second * cos
        return np.asarray(out)

    def in_short(self, case: Case, angles: Floats, dtype: str) -> Floats:
        """Compute the result for other angles, with cosines and sines rounded to ``dtype``."""
        return self.waved(case, *in_dtype(angles, dtype))

    def predict(self, case: Case, explanation: str, angles: Floats) -> Prediction:
        """Predict the result for other angles, which round as angles of their own size."""

        def terms() -> ErrorTerms:
            return self.terms(case, errors_of(angles, self.places(case), self.frequencies(case)))

        return Prediction(explanation, self.turned(case, angles), terms=terms)

    def with_frequencies(self, case: Case, omega: Floats, explanation: str) -> Prediction:
        """Predict the result for other frequencies."""
        return self.predict(case, explanation, self.places(case) * omega)

    @property
    def backward(self) -> "Rotation":
        """The transpose, which rotates pairs back and scales their length as the rotation does.

        The call itself swaps the channels. It is not the inverse: a factor that makes pairs longer
        forward makes them longer backward, too.
        """
        return replace(self, places=lambda case: -self.places(case))

    # Invariants.

    def isometry(self, trial: Trial) -> None:
        """Check that every pair keeps its length, up to the amplitude."""
        answer = trial.answer(**self.arguments(trial))
        first, second = (answer[..., channel] for channel in written_channels(answer.case))
        x = answer.case.arguments["x"]
        before = sum(x[..., channel] ** 2 for channel in read_channels(answer.case))
        expected = before * self.amplitude(answer.case) ** 2
        trial.assert_zero(
            first * first + second * second - expected, "a rotated pair has another length"
        )

    def identity_at_zero(self, trial: Trial) -> None:
        """Check that nothing is rotated at position 0; only the layout of the result may differ."""
        chosen = self.arguments(trial)
        answer = trial.answer(**(chosen | {"positions": 0 * chosen["positions"]}))
        expected = self.turned(answer.case, np.zeros(self.angles(answer.case).shape))
        trial.assert_zero(answer - Exact(expected), "position 0 is not the identity")

    def relative_scores(self, trial: Trial) -> None:
        """Check that query and key keep their score when both move by the same distance.

        The distance differs from axis to axis.
        """
        chosen = self.arguments(trial)
        query, key = chosen["x"], chosen["x"][..., ::-1, :].copy()
        positions = chosen["positions"]
        axes = positions.shape[:-1]
        gap = trial.pick.integer(0, 64)
        shifts = [trial.pick.integer(1, 512) for _ in range(int(np.prod(axes)))]
        room = trial.scope.max_position - int(positions.max()) - gap
        if room < 0:
            return
        scores = []
        for moved in (np.zeros((*axes, 1), int), np.minimum(shifts, room).reshape(*axes, 1)):
            q = trial.answer(**(chosen | {"x": query, "positions": positions + moved}))
            k = trial.answer(**(chosen | {"x": key, "positions": positions + gap + moved}))
            scores.append(pair_products(q, k))
        by = " and ".join(map(str, shifts))
        trial.assert_zero(
            scores[1] - scores[0],
            f"the score of a query and a key {gap} apart changes when both move by {by}",
        )

    def axis_locality(self, trial: Trial) -> None:
        """Check that moving along one axis changes only the pairs of that axis."""
        chosen = self.arguments(trial)
        before = trial.answer(**chosen)
        moved = chosen["positions"].copy()
        axis = trial.pick.integer(0, len(moved) - 1)
        moved[axis] += min(trial.pick.integer(1, 64), trial.scope.max_position - int(moved.max()))
        after = trial.answer(**(chosen | {"positions": moved}))
        still = (self.places(before.case) == self.places(after.case)).all(axis=0)
        elsewhere = np.concatenate([part[still] for part in written_channels(before.case)])
        trial.assert_zero(
            (after - before)[..., elsewhere],
            f"moving along axis {axis} changes pairs that do not look at it",
        )

    def scores_of_ones(self, trial: Trial) -> None:
        """Check that the score of an all-ones query and key is 2 Σ cos(w δ).

        These scores determine the frequencies.
        """
        chosen = self.arguments(trial)
        chosen["x"] = np.ones_like(chosen["x"])
        answer = trial.answer(**chosen)
        places = self.places(answer.case)
        offsets = (places[-1:] - places) * self.frequencies(answer.case)
        size = self.amplitude(answer.case) ** 2 * np.ones(offsets.shape)
        expected = 2 * (size * np.cos(offsets)).sum(axis=-1)
        trial.assert_zero(
            pair_products(answer, answer[..., ROWS - 1 :, :]) - expected,
            "the score of two rows of ones is not 2 Σ cos(w (n - m))",
        )

    def composition(self, trial: Trial) -> None:
        """Check that rotating by p twice is rotating by 2p.

        In general, rotating by m and then by n is rotating by m + n.
        """
        chosen = self.arguments(trial)
        once = trial.answer(**chosen)
        read, written = read_channels(once.case), written_channels(once.case)
        again = once.values.copy()
        for channel, pair in zip(read, written, strict=True):
            again[..., channel] = once.values[..., pair]
        twice = trial.answer(**(chosen | {"x": again}))
        doubled = trial.answer(**(chosen | {"positions": 2 * chosen["positions"]}))
        trial.assert_zero(
            doubled - twice.allowing(turned_error(once, written, written)),
            "rotating twice by p is not rotating once by 2p",
        )

    def pair_locality(self, trial: Trial) -> None:
        """Check that changing one pair of channels changes only the channels of that pair."""
        chosen = self.arguments(trial)
        before = trial.answer(**chosen)
        pair = trial.pick.integer(0, rotary_dim(before.case) // 2 - 1)
        x = chosen["x"].copy()
        for channel in read_channels(before.case):
            x[..., channel[pair]] += 1
        after = trial.answer(**(chosen | {"x": x}))
        elsewhere = np.ones(x.shape[-1], dtype=bool)
        for channel in written_channels(before.case):
            elsewhere[channel[pair]] = False
        trial.assert_none(
            after,
            (after.values != before.values)[..., elsewhere],
            f"changing pair {pair} of x changes other pairs of the result",
        )

    def chunks(self, trial: Trial) -> None:
        """Check that two pieces, each at its own positions, give the result of the whole."""
        chosen = self.arguments(trial)
        whole = trial.answer(**chosen)
        cut = trial.pick.integer(1, ROWS - 1)
        x, positions = chosen["x"], chosen["positions"]
        for rows in (slice(None, cut), slice(cut, None)):
            piece = trial.answer(
                **(chosen | {"x": x[..., rows, :], "positions": positions[..., rows]})
            )
            trial.assert_zero(
                piece - whole[..., rows, :],
                f"rotated in two pieces, cut at row {cut}, the result is not that of the whole",
            )

    def layout_permutation(self, trial: Trial) -> None:
        """Check that the result is that of interleaved pairs, up to a permutation.

        The permutation is the one between the two layouts.
        """
        chosen = self.arguments(trial)
        answer = trial.answer(**chosen)
        x = answer.case.arguments["x"]
        of_x, of_y = np.arange(x.shape[-1]), np.arange(x.shape[-1])
        for place, read, written in zip(
            channels(rotary_dim(answer.case), "interleaved"),
            read_channels(answer.case),
            written_channels(answer.case),
            strict=True,
        ):
            of_x[place], of_y[place] = read, written
        interleaved = (
            answer.case.with_conventions(layout="interleaved").with_arguments(x=x[..., of_x]).truth
        )
        trial.assert_zero(
            answer[..., of_y] - Exact(interleaved),
            "permuted to interleaved pairs, the result is not that of interleaved pairs",
        )

    def adjoint(self, trial: Trial) -> None:
        """Check that <g, f(x)> is <vjp(g), x>, row by row.

        The call is a backward one, and f is its forward pass.
        """
        answer = trial.answer(**self.arguments(trial))
        gradient = answer.case.arguments["x"]
        forward = forward_of(answer.case).with_arguments(x=np.roll(gradient, 1, axis=-1))
        x = Exact(forward.arguments["x"])
        trial.assert_zero(
            (answer * x - gradient * forward.truth).sum(axis=-1),
            "<vjp(g), x> is not <g, f(x)>, f being the forward pass",
        )

    # Reading results.

    def read_frequencies(
        self, case: Case, output: Floats
    ) -> Iterator[list[PairFrequencies] | None]:
        """Read frequencies from a result, in the claimed layout, then in the others."""
        claimed = case.conventions["layout"]
        size = self.amplitude(case)
        rest = slice(rotary_dim(case), None)
        if not np.array_equal(output[..., rest], case.arguments["x"][..., rest]):
            return  # more is wrong than the turning of pairs
        for layout in dict.fromkeys((claimed, *case.scheme.conventions["layout"].values)):
            other = case.with_conventions(layout=layout)
            first, second = read_channels(other)
            before = case.arguments["x"][..., first] + 1j * case.arguments["x"][..., second]
            first, second = written_channels(other)
            after = (output[..., first] + 1j * output[..., second]) / size
            yield fit_frequencies(
                case,
                (before, after),
                self.places(case),
                self.frequencies(case),
                (case.bound[..., first] + case.bound[..., second]) / size,
                f", in the {layout} layout" * (layout != claimed),
                self.axis and self.axis(case),
            )

    # Models of mistakes.

    def turned_forward(self, case: Case, got: Floats) -> Iterator[Prediction]:
        """Predict the gradient of a backward call rotated forward, as queries and keys are."""
        turned = self.turned(case, -self.angles(case))
        yield Prediction("matches the gradient turned forward instead of back", turned)

    def inverse(self, case: Case, got: Floats) -> Iterator[Prediction]:
        """Predict the inverse of the forward pass in place of its transpose.

        It is a model of a backward call.
        """
        shorter = replace(self, amplitude=lambda forward: 1 / self.amplitude(forward))
        turned = shorter.turned(case, self.angles(case))
        yield Prediction("matches the inverse of the forward pass, not its transpose", turned)

    def amplitude_missing(self, case: Case, got: Floats) -> Iterator[Prediction]:
        """Predict pairs that keep their length in a backward call."""
        plain = replace(self, amplitude=unscaled).turned(case, self.angles(case))
        yield Prediction("matches the gradient turned back, its length left as it came", plain)

    def at_frequencies(self, frequencies: Callable[[Case], Floats], words: str) -> DeviationModel:
        """Make a model that predicts pairs rotated at other frequencies."""

        def models(case: Case, got: Floats) -> Iterator[Prediction]:
            yield self.with_frequencies(case, frequencies(case), words)

        return models

    @property
    def backward_invariants(self) -> dict[str, Callable[[Trial], None]]:
        """Checks of the invariants of every backward call."""
        return {"vjp-adjoint": self.adjoint, "vjp-length": self.isometry}

    @property
    def backward_deviations(self) -> dict[str, DeviationModel]:
        """Models of mistakes that every backward call can make."""
        return {
            "backward-is-forward": self.turned_forward,
            "backward-layout-swapped": LAYOUT_SWAPPED,
        }

    def unrotated(self, case: Case, got: Floats) -> Iterator[Prediction]:
        """Predict no rotation at all."""
        yield Prediction("matches x without any rotation", case.arguments["x"])

    def degrees(self, case: Case, got: Floats) -> Iterator[Prediction]:
        """Predict angles taken for degrees, or converted to degrees."""
        angles = self.angles(case)
        yield self.predict(case, "matches angles taken for degrees", np.deg2rad(angles))
        words = "matches angles turned into degrees, of which sines are taken"
        yield self.predict(case, words, np.rad2deg(angles))

    def exponent_halved(self, case: Case, got: Floats) -> Iterator[Prediction]:
        """Predict the exponent t/d instead of 2t/d."""
        omega = self.frequencies(case) ** 0.5
        yield self.with_frequencies(case, omega, "matches exponents t/d instead of 2t/d")

    def low_precision_angles(self, case: Case, got: Floats) -> Iterator[Prediction]:
        """Predict positions, frequencies or angles in a narrow dtype, and tables of them."""
        yield from rounded_angles(
            self.places(case),
            self.frequencies(case),
            lambda angles: self.turned(case, angles),
            lambda angles, dtype: self.in_short(case, angles, dtype),
        )


def plain_rope(case: Case) -> Floats:
    """Compute plain rotary embedding for the arguments of a case."""
    turned = posenc.rope(
        case.arguments["x"],
        case.arguments["positions"],
        base=case.arguments["base"],
        layout=str(case.conventions["layout"]),
        rotary_dim=case.arguments.get("rotary_dim"),
    )
    return np.asarray(turned, np.float64)


def positions_shifted(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict positions that start one or two too early or too late."""
    yield from shifted_positions(case, np.nan)


def all_channels_rotated(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict that partial rotation is ignored: all channels are rotated."""
    if rotary_dim(case) < case.arguments["x"].shape[-1]:
        yield from predict_case(
            case.with_arguments(rotary_dim=None),
            "matches all channels rotated; rotary_dim was ignored",
        )


def turned_error(answer: Answer, source: Pair, to: Pair) -> Floats:
    """Bound the errors of two channels after their pair is rotated.

    The error of each channel is at most the sum of the errors of both channels before.
    """
    first, second = (answer.bound[..., channel] for channel in source)
    error = np.zeros(answer.bound.shape)
    for channel in to:
        error[..., channel] = first + second
    return error


def pair_products(a: Answer, b: Answer) -> Answer:
    """Compute the dot product of a and b over their rotated channels, row by row."""
    both = np.concatenate(written_channels(a.case))
    return (a[..., both] * b[..., both]).sum(axis=-1)
