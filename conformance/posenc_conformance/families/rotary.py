"""What every rotary scheme shares: pairs of channels, bounds, invariants and models of mistakes.

A scheme says how fast its pairs turn; how a head's channels make pairs, and what follows from
turning them, is the same for all.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

import posenc
from posenc_conformance.diagnose.mistakes import (
    DeviationModel,
    Model,
    attempt,
    other_conventions,
    rounded_angles,
    shifted_positions,
)
from posenc_conformance.diagnose.turns import Turns, turns_of
from posenc_conformance.judge.arrays import Floats, fine
from posenc_conformance.judge.bounded import Answer, Exact
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.positions import reaching
from posenc_conformance.judge.trial import Trial

ROWS = 6
POLAR = 3 * np.pi + 1
"""What turning a pair as a length and an angle may cost more than products with sine and cosine, in
units of u. The angle of the pair is at most π and, like every function of a library, off by less
than 2 u of itself; adding the position's angle rounds it by π u more. Length, cosine and their
product cost 5 u, of which the model grants 4 v."""
Index = npt.NDArray[np.int64]
Pair = tuple[Index, Index]
"""Channels of the first and of the second member of each pair."""
Sweep = Callable[[Mapping[str, Any], int], dict[str, Any]]
UNSCALED = "matches the gradient turned back at RoPE's frequencies, unscaled"
LAYOUT_SWAPPED = other_conventions(
    "layout", "matches the {value} layout exactly; {claimed} was claimed"
)


def rotary_dim(case: Case) -> int:
    """Number of rotated channels; two for each pair of sections, if there are sections."""
    if "sections" in case.arguments:
        return 2 * int(case.arguments["sections"].sum())
    return int(case.arguments.get("rotary_dim") or case.arguments["x"].shape[-1])


def channels(rotated: int, layout: str, widths: Sequence[int] = ()) -> Pair:
    """Channels of the first and of the second member of each pair.

    Widths are those of the axes, whose channels lie apart under half-per-axis; two equal ones if
    none are given.
    """
    pairs = np.arange(rotated // 2)
    if layout == "interleaved":
        return 2 * pairs, 2 * pairs + 1
    if layout == "half-per-axis":
        halves = np.array(widths or (rotated // 2, rotated // 2)) // 2
        first = pairs + np.repeat(np.cumsum(halves) - halves, halves)
        return first, first + np.repeat(halves, halves)
    return pairs, pairs + rotated // 2


def read_channels(case: Case) -> Pair:
    """Where pairs are read from; in a backward pass, where the forward one writes them to."""
    return channels(rotary_dim(case), _layouts(case)[0], _widths(case))


def written_channels(case: Case) -> Pair:
    """Where pairs are written to."""
    return channels(rotary_dim(case), _layouts(case)[1], _widths(case))


def _widths(case: Case) -> list[int]:
    """Channels of each axis, if the axes have widths of their own."""
    return [int(width) for width in case.arguments.get("widths", ())]


def _layouts(case: Case) -> tuple[str, str]:
    read, _, written = str(case.conventions["layout"]).partition("-to-")
    written = written or read
    return (written, read) if case.call.kind == "gradient" else (read, written)


def progression(base: float, rotated: int) -> Floats:
    """Frequencies ``base ** (-2t / r)`` of r rotated channels, in radians per position."""
    return np.asarray(base ** -(np.arange(0, rotated, 2) / rotated))


def forward_of(case: Case) -> Case:
    """The case of the forward call with the arguments of a backward one."""
    call = case.scheme.calls[case.call.name.removesuffix("_vjp")]
    return case.anew(call=call)


def one_axis(case: Case) -> Floats:
    """The position of each row, the same for all pairs: [n, 1]."""
    return np.asarray(case.arguments["positions"][:, None], dtype=np.float64)


def unscaled(case: Case) -> Floats:
    """Rotation alone, which keeps lengths."""
    return np.ones(1)


def few_rows(head_dim: int, start: int) -> dict[str, Any]:
    """Two heads and a few positions in a row."""
    return {
        "x": np.roll(fine((2, ROWS, head_dim)), start % 5),
        "positions": start + np.arange(ROWS),
    }


def some_channels(trial: Trial, head_dim: int) -> dict[str, Any]:
    """Now and then, where it is claimed, fewer rotated channels than the head has."""
    if not (trial.can("rotation") and head_dim >= 4 and trial.pick.integer(0, 1)):
        return {}
    widths = [width for width in (head_dim // 4 * 2, 2, head_dim - 2) if width >= 2]
    return {"rotation": "partial", "rotary_dim": trial.choose("rotary_dim", widths)}


def partial(trial: Trial, chosen: dict[str, Any]) -> dict[str, Any]:
    """The same call, with fewer rotated channels than the head has."""
    if "rotary_dim" in chosen:
        return chosen
    width = trial.choose("rotary_dim", [max(2, chosen["x"].shape[-1] // 4 * 2)])
    return chosen | {"rotation": "partial", "rotary_dim": width}


def rest_passes(trial: Trial, chosen: dict[str, Any], beyond: str = "rotary_dim") -> None:
    """Demand that channels beyond the rotated ones are returned bit by bit."""
    answer = trial.answer(**chosen)
    rest = slice(rotary_dim(answer.case), None)
    wrong = answer.values[..., rest] != answer.case.arguments["x"][..., rest]
    trial.never(answer, wrong, f"channels beyond {beyond} are changed")


def far(
    parameters: Mapping[str, Any], largest: int, head_dim: int = 128, **usual: Any
) -> dict[str, Any]:
    """All powers of two up to the largest position, for one head."""
    positions = reaching(largest)
    rest = {name: value for name, value in parameters.items() if name != "head_dim"}
    x = fine((len(positions), parameters.get("head_dim", head_dim)))
    return {"x": x, "positions": positions, **usual, **rest}


def small_head(sweep: Sweep) -> Sweep:
    """The sweep of a backward call: as forward, for a head of 16 channels if any will do."""
    return lambda parameters, largest: sweep({"head_dim": 16, **parameters}, largest)


def few_heads(dims: tuple[int, ...]) -> Callable[[Case], Iterator[dict[str, Any]]]:
    """Sizes of heads for a backward call, whose forward call is asked for many."""

    def sizes(case: Case) -> Iterator[dict[str, Any]]:
        return ({"x": fine((2, 2, dim)), "positions": np.array([1, 7])} for dim in dims)

    return sizes


@dataclass(frozen=True)
class Rotation:
    """A rotary call: what it draws for its checks, and how each pair turns."""

    arguments: Callable[[Trial], dict[str, Any]]
    """Of a small call: x of shape [2, ROWS, head_dim], positions of ROWS consecutive rows."""
    frequencies: Callable[[Case], Floats]
    """Radians per position of each pair: [pairs]."""
    places: Callable[[Case], Floats] = one_axis
    """Position of each row for each pair: [n, pairs], or what broadcasts to it."""
    amplitude: Callable[[Case], Floats] = unscaled
    """Factor of each pair's length: broadcasts to [n, pairs]."""
    axis: Callable[[Case], Index] | None = None
    """Of each pair, if frequencies begin anew with each axis."""

    def angles(self, case: Case) -> Floats:
        """Angle of each row and pair, as float64 has it: [n, pairs]."""
        return self.places(case) * self.frequencies(case)

    def error_terms(self, case: Case) -> ErrorTerms:
        """The scale is the length of the turned pair; channels that pass through must be equal."""
        omega = self.frequencies(case)
        growth = np.where(omega > 0, 1 + np.abs(np.log(np.where(omega > 0, omega, 1))), 0)
        return self.terms(case, np.abs(self.angles(case)) * growth)

    def terms(self, case: Case, angle: Floats) -> ErrorTerms:
        """Those of pairs whose angles lose so much, in units of u times ``accuracy.angle``."""
        x, (first, second) = case.arguments["x"], read_channels(case)
        length = np.hypot(x[..., first], x[..., second]) * self.amplitude(case)
        scale, angles = np.zeros(case.shape), np.zeros(case.shape)
        for written in written_channels(case):
            scale[..., written] = length
            angles[..., written] = angle + POLAR / case.scheme.accuracy.angle
        return ErrorTerms(scale, angles)

    def turned(self, case: Case, angles: Floats) -> Floats:
        """The result that other angles, one per row and pair, would give."""
        x, out = case.arguments["x"], case.arguments["x"].copy()
        first, second = (x[..., channel] * self.amplitude(case) for channel in read_channels(case))
        to_first, to_second = written_channels(case)
        out[..., to_first] = first * np.cos(angles) - second * np.sin(angles)
        out[..., to_second] = first * np.sin(angles) + second * np.cos(angles)
        return np.asarray(out)

    def with_frequencies(self, case: Case, omega: Floats, explanation: str) -> Model:
        """The result that other frequencies would give."""
        return Model(explanation, self.turned(case, self.places(case) * omega))

    @property
    def backward(self) -> "Rotation":
        """Its transpose: pairs turn back, at the same length; channels change places by the call.

        Not its inverse: what makes pairs longer on the way forth does so on the way back.
        """
        return replace(self, places=lambda case: -self.places(case))

    # Invariants.

    def isometry(self, trial: Trial) -> None:
        """Every pair keeps its length, up to the amplitude."""
        answer = trial.answer(**self.arguments(trial))
        first, second = (answer[..., channel] for channel in written_channels(answer.case))
        x = answer.case.arguments["x"]
        before = sum(x[..., channel] ** 2 for channel in read_channels(answer.case))
        wanted = before * self.amplitude(answer.case) ** 2
        trial.zero(first * first + second * second - wanted, "a rotated pair has another length")

    def identity_at_zero(self, trial: Trial) -> None:
        """At position 0 nothing turns; only the layout of the result may differ."""
        chosen = self.arguments(trial)
        answer = trial.answer(**(chosen | {"positions": 0 * chosen["positions"]}))
        expected = self.turned(answer.case, np.zeros(self.angles(answer.case).shape))
        trial.zero(answer - Exact(expected), "position 0 is not the identity")

    def relative_scores(self, trial: Trial) -> None:
        """Moving query and key by the same distance, one for each axis, keeps their score."""
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
        trial.zero(
            scores[1] - scores[0],
            f"the score of a query and a key {gap} apart changes when both move by {by}",
        )

    def axis_locality(self, trial: Trial) -> None:
        """Moving along one axis turns only the pairs that look at it."""
        chosen = self.arguments(trial)
        before = trial.answer(**chosen)
        moved = chosen["positions"].copy()
        axis = trial.pick.integer(0, len(moved) - 1)
        moved[axis] += min(trial.pick.integer(1, 64), trial.scope.max_position - int(moved.max()))
        after = trial.answer(**(chosen | {"positions": moved}))
        still = (self.places(before.case) == self.places(after.case)).all(axis=0)
        elsewhere = np.concatenate([part[still] for part in written_channels(before.case)])
        trial.zero(
            (after - before)[..., elsewhere],
            f"moving along axis {axis} changes pairs that do not look at it",
        )

    def scores_of_ones(self, trial: Trial) -> None:
        """For all-ones query and key the score is 2 Σ cos(w δ): it fixes the frequencies."""
        chosen = self.arguments(trial)
        chosen["x"] = np.ones_like(chosen["x"])
        answer = trial.answer(**chosen)
        places = self.places(answer.case)
        offsets = (places[-1:] - places) * self.frequencies(answer.case)
        size = self.amplitude(answer.case) ** 2 * np.ones(offsets.shape)
        expected = 2 * (size * np.cos(offsets)).sum(axis=-1)
        trial.zero(
            pair_products(answer, answer[..., ROWS - 1 :, :]) - expected,
            "the score of two rows of ones is not 2 Σ cos(w (n - m))",
        )

    def composition(self, trial: Trial) -> None:
        """Rotating by m and then by n is rotating by m + n."""
        chosen = self.arguments(trial)
        once = trial.answer(**chosen)
        read, written = read_channels(once.case), written_channels(once.case)
        again = once.values.copy()
        for channel, pair in zip(read, written, strict=True):
            again[..., channel] = once.values[..., pair]
        twice = trial.answer(**(chosen | {"x": again}))
        doubled = trial.answer(**(chosen | {"positions": 2 * chosen["positions"]}))
        trial.zero(
            doubled - twice.allowing(turned_error(once, written, written)),
            "rotating twice by p is not rotating once by 2p",
        )

    def pair_locality(self, trial: Trial) -> None:
        """Changing one pair of channels changes only the channels of that pair."""
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
        trial.never(
            after,
            (after.values != before.values)[..., elsewhere],
            f"changing pair {pair} of x changes other pairs of the result",
        )

    def chunks(self, trial: Trial) -> None:
        """Rotated in two pieces, each at its own positions, the result is that of the whole."""
        chosen = self.arguments(trial)
        whole = trial.answer(**chosen)
        cut = trial.pick.integer(1, ROWS - 1)
        x, positions = chosen["x"], chosen["positions"]
        for rows in (slice(None, cut), slice(cut, None)):
            piece = trial.answer(
                **(chosen | {"x": x[..., rows, :], "positions": positions[..., rows]})
            )
            trial.zero(
                piece - whole[..., rows, :],
                f"rotated in two pieces, cut at row {cut}, the result is not that of the whole",
            )

    def layout_permutation(self, trial: Trial) -> None:
        """Up to the permutation between layouts, the result is that of interleaved pairs."""
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
        interleaved = answer.case.under(layout="interleaved").changed(x=x[..., of_x]).truth
        trial.zero(
            answer[..., of_y] - Exact(interleaved),
            "permuted to interleaved pairs, the result is not that of interleaved pairs",
        )

    def adjoint(self, trial: Trial) -> None:
        """Of a backward call: <g, f(x)> is <vjp(g), x>, row by row, f being the forward pass."""
        answer = trial.answer(**self.arguments(trial))
        given = answer.case.arguments["x"]
        forward = forward_of(answer.case).changed(x=np.roll(given, 1, axis=-1))
        x = Exact(forward.arguments["x"])
        trial.zero(
            (answer * x - given * forward.truth).sum(axis=-1),
            "<vjp(g), x> is not <g, f(x)>, f being the forward pass",
        )

    # What a result says.

    def turns(self, case: Case, output: Floats) -> Iterator[list[Turns] | None]:
        """Frequencies read from a result in the layout that is claimed, then in the others."""
        claimed = case.conventions["layout"]
        size = self.amplitude(case)
        for layout in dict.fromkeys((claimed, *case.scheme.conventions["layout"].values)):
            other = case.under(layout=layout)
            first, second = read_channels(other)
            before = case.arguments["x"][..., first] + 1j * case.arguments["x"][..., second]
            first, second = written_channels(other)
            after = (output[..., first] + 1j * output[..., second]) / size
            yield turns_of(
                case,
                (before, after),
                self.places(case),
                self.frequencies(case),
                (case.bound[..., first] + case.bound[..., second]) / size,
                f", in the {layout} layout" * (layout != claimed),
                self.axis and self.axis(case),
            )

    # Models of mistakes.

    def turned_forward(self, case: Case, got: Floats) -> Iterator[Model]:
        """Of a backward call: the gradient turned as queries and keys are."""
        turned = self.turned(case, -self.angles(case))
        yield Model("matches the gradient turned forward instead of back", turned)

    def inverse(self, case: Case, got: Floats) -> Iterator[Model]:
        """Of a backward call: the inverse of the forward pass in place of its transpose."""
        shorter = replace(self, amplitude=lambda each: 1 / self.amplitude(each))
        turned = shorter.turned(case, self.angles(case))
        yield Model("matches the inverse of the forward pass, not its transpose", turned)

    def amplitude_missing(self, case: Case, got: Floats) -> Iterator[Model]:
        """Of a backward call: pairs that keep their length."""
        plain = replace(self, amplitude=unscaled).turned(case, self.angles(case))
        yield Model("matches the gradient turned back, its length left as it came", plain)

    def at_frequencies(self, frequencies: Callable[[Case], Floats], words: str) -> DeviationModel:
        """Pairs turned at other frequencies."""

        def models(case: Case, got: Floats) -> Iterator[Model]:
            yield self.with_frequencies(case, frequencies(case), words)

        return models

    @property
    def backward_invariants(self) -> dict[str, Callable[[Trial], None]]:
        """What holds of every backward call."""
        return {"vjp-adjoint": self.adjoint, "vjp-length": self.isometry}

    @property
    def backward_deviations(self) -> dict[str, DeviationModel]:
        """Mistakes that every backward call can make."""
        return {
            "backward-is-forward": self.turned_forward,
            "backward-layout-swapped": LAYOUT_SWAPPED,
        }

    def unrotated(self, case: Case, got: Floats) -> Iterator[Model]:
        """No rotation at all."""
        yield Model("matches x without any rotation", case.arguments["x"])

    def degrees(self, case: Case, got: Floats) -> Iterator[Model]:
        """Angles taken for degrees, or turned into degrees."""
        angles = self.angles(case)
        yield Model("matches angles taken for degrees", self.turned(case, np.deg2rad(angles)))
        into = self.turned(case, np.rad2deg(angles))
        yield Model("matches angles turned into degrees, of which sines are taken", into)

    def exponent_halved(self, case: Case, got: Floats) -> Iterator[Model]:
        """Exponent t/d instead of 2t/d."""
        omega = self.frequencies(case) ** 0.5
        yield self.with_frequencies(case, omega, "matches exponents t/d instead of 2t/d")

    def low_precision_angles(self, case: Case, got: Floats) -> Iterator[Model]:
        """Positions, frequencies and angles in a narrow dtype."""
        places, omega = self.places(case), self.frequencies(case)
        yield from rounded_angles(places, omega, lambda angles: self.turned(case, angles))


def plain_rope(case: Case) -> Floats:
    """What rotary embedding itself makes of a case's arguments."""
    turned = posenc.rope(
        case.arguments["x"],
        case.arguments["positions"],
        base=case.arguments["base"],
        layout=str(case.conventions["layout"]),
        rotary_dim=case.arguments.get("rotary_dim"),
    )
    return np.asarray(turned, np.float64)


def positions_shifted(case: Case, got: Floats) -> Iterator[Model]:
    """Positions that start one or two too early or too late."""
    yield from shifted_positions(case, np.nan)


def all_channels_rotated(case: Case, got: Floats) -> Iterator[Model]:
    """Partial rotation ignored."""
    if rotary_dim(case) < case.arguments["x"].shape[-1]:
        yield from attempt(
            case.changed(rotary_dim=None), "matches all channels rotated; rotary_dim was ignored"
        )


def turned_error(answer: Answer, source: Pair, to: Pair) -> Floats:
    """What the errors of two channels may be once their pair is turned: at most both together."""
    first, second = (answer.bound[..., channel] for channel in source)
    error = np.zeros(answer.bound.shape)
    for channel in to:
        error[..., channel] = first + second
    return error


def pair_products(a: Answer, b: Answer) -> Answer:
    """Dot product of the rotated channels, row by row."""
    both = np.concatenate(written_channels(a.case))
    return (a[..., both] * b[..., both]).sum(axis=-1)
