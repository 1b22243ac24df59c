"""p-RoPE: bounds, invariants and deviations."""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

import posenc
from posenc_conformance.families.rotary import (
    channels,
    progression,
    rotary_dim,
    written_channels,
)
from posenc_conformance.families.rotary_scaling import Scaling, unscaled
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.judge.bounded import Exact
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.deviation import Prediction
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments


def count(given: Arguments, size: int) -> int:
    """Count the pairs that turn, with the proportion taken as a decimal fraction."""
    return int(Fraction(str(given["proportion"])) * size / 2)


def stretch(given: Arguments) -> float:
    """Return the divisor of frequencies: the factor, or 1 if there is none."""
    return float(given.get("factor", 1.0))


def divided(given: Arguments, size: int) -> Floats:
    """Return RoPE's frequencies of all pairs, divided by the factor."""
    return np.asarray(unscaled(given, size) / stretch(given))


def leading(given: Arguments, size: int, number: int) -> Floats:
    """Return the frequencies of the first ``number`` pairs, and 0 for the others."""
    return np.where(np.arange(size // 2) < number, divided(given, size), 0.0)


def frequencies(given: Arguments, size: int) -> Floats:
    """Return the frequencies of the pairs that turn, and 0 for the others."""
    return leading(given, size, count(given, size))


def division(given: Arguments, size: int) -> Floats:
    """Return the cost of dividing by the factor: 0.25, or 0 if there is no factor.

    The division is one more rounding, in addition to the four granted to RoPE's angles.
    """
    return np.full(size // 2, 0.25 if "factor" in given else 0.0)


def stretched(trial: Trial) -> ArgumentDict:
    """Sometimes draw a factor for longer contexts, if scaling is claimed."""
    if trial.can("scaling") and trial.pick.integer(0, 1):
        return {"scaling": "linear", "factor": trial.choose("factor", (4.0, 8.0, 1.5, 3.0))}
    return {}


SCALING = Scaling(
    "p_rope",
    frequencies,
    # Most mistakes give the right result at 1 and at 0, so only changes include these.
    choices={"proportion": (0.5, 0.25, 0.75, 0.3, 0.7)},
    changes=({"proportion": 1.0}, {"proportion": 0.25}, {"proportion": 0.0}),
    cost=division,
    optional=stretched,
)


def pairs_that_turn(trial: Trial) -> None:
    """Check that exactly floor(p d / 2) leading frequencies are not 0."""
    answer = trial.answer(**SCALING.frequency_arguments(trial))
    inputs = answer.case.arguments
    turning = np.arange(inputs["rotary_dim"] // 2) < count(inputs, inputs["rotary_dim"])
    # In float16 a slow frequency may be rounded to 0, as its bound allows.
    wrong = np.where(turning, answer.values <= -answer.bound, answer.values != 0)
    trial.assert_none(answer, wrong, "not just the leading pairs turn")


def slow_pairs_pass(trial: Trial) -> None:
    """Check that the pairs that do not turn are unchanged."""
    answer = trial.answer(**SCALING.rotary_arguments(trial))
    x = answer.case.arguments["x"]
    still = SCALING.frequencies(answer.case) == 0
    for channel in written_channels(answer.case):
        change = answer - Exact(x)
        trial.assert_zero(change[..., channel[still]], "a pair beyond the share is changed")


def times_factor(trial: Trial) -> None:
    """Check that the factor times the frequencies gives those without a factor."""
    if not trial.can("scaling"):
        return
    chosen = SCALING.frequency_arguments(trial)
    plain = {name: value for name, value in chosen.items() if name not in ("scaling", "factor")}
    factor = trial.choose("factor", (4.0, 8.0, 1.5, 3.0))
    scaled = trial.answer(**plain, scaling="linear", factor=factor)
    message = f"{factor:g} times the frequencies are not those without a factor"
    trial.assert_zero(scaled * Exact(factor) - trial.answer(**plain), message)


def all_turned(case: Case, x: Floats) -> Floats:
    """Apply position interpolation to the channels ``x``.

    Without a factor, this is rotary embedding.
    """
    inputs = case.arguments
    turned = posenc.position_interpolation(
        x,
        inputs["positions"],
        base=inputs["base"],
        layout=str(case.conventions["layout"]),
        factor=stretch(inputs),
    )
    return np.asarray(turned, np.float64)


def proportion_one(trial: Trial) -> None:
    """Check that all pairs turn with proportion 1."""
    answer = trial.answer(**(SCALING.rotary_arguments(trial) | {"proportion": 1.0}))
    expected = all_turned(answer.case, np.asarray(answer.case.arguments["x"], np.float64))
    trial.assert_zero(answer - Exact(expected), "with proportion 1 it is not RoPE of all pairs")


def no_rotation(trial: Trial) -> None:
    """Check that nothing turns with proportion 0, at any position."""
    answer = trial.answer(**(SCALING.rotary_arguments(trial) | {"proportion": 0.0}))
    trial.assert_zero(
        answer - Exact(answer.case.arguments["x"]), "with proportion 0 something turns"
    )


def all_turn(case: Case) -> Iterator[tuple[str, Floats]]:
    """Predict frequencies with the proportion ignored."""
    yield "matches plain RoPE; proportion was ignored", divided(case.arguments, rotary_dim(case))


def fast_dropped(case: Case) -> Iterator[tuple[str, Floats]]:
    """Predict the slow frequencies kept, or the fast ones moved to the last pairs."""
    inputs, size = case.arguments, rotary_dim(case)
    number, omega = count(inputs, size), divided(inputs, size)
    last = np.arange(size // 2) >= size // 2 - number
    yield "matches the slowest frequencies kept, not the fastest", np.where(last, omega, 0.0)
    moved = np.concatenate([np.zeros(size // 2 - number), omega[:number]])
    yield "matches the kept frequencies on the last pairs", moved


def partial_frequencies(case: Case) -> Iterator[tuple[str, Floats]]:
    """Predict the frequencies of a head that has only the channels that turn."""
    inputs, size = case.arguments, rotary_dim(case)
    number = count(inputs, size)
    if number:
        omega = np.zeros(size // 2)
        omega[:number] = progression(inputs["base"], 2 * number) / stretch(inputs)
        yield "matches exponents over the channels that turn, not over all", omega


def other_count(case: Case) -> Iterator[tuple[str, Floats]]:
    """Predict one turning pair more or less, or twice as many."""
    inputs, size = case.arguments, rotary_dim(case)
    number = count(inputs, size)
    for other in (number - 1, number + 1, 2 * number):
        if 0 <= other <= size // 2:
            words = f"matches {other} pairs that turn, not {number}"
            share = f", of a proportion of {inputs['proportion']:g}"
            yield words + share, leading(inputs, size, other)


def taken_for_partial(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict partial rotary embedding: a smaller head within the head."""
    inputs, number = case.arguments, count(case.arguments, rotary_dim(case))
    if number:
        turned = np.array(inputs["x"], np.float64)
        turned[..., : 2 * number] = all_turned(case, turned[..., : 2 * number])
        yield Prediction(f"matches partial rotation of {2 * number} channels", turned)
    yield from SCALING.in_rotation(partial_frequencies)(case, got)


def paired_within(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the right frequencies, with pairs formed within the leading channels."""
    inputs, size = case.arguments, rotary_dim(case)
    number = count(inputs, size)
    x, out = inputs["x"], inputs["x"].copy()
    angles = SCALING.rotation.angles(case)[:, :number]
    first, second = channels(2 * number, str(case.conventions["layout"]))
    out[..., first] = x[..., first] * np.cos(angles) - x[..., second] * np.sin(angles)
    out[..., second] = x[..., first] * np.sin(angles) + x[..., second] * np.cos(angles)
    words = f"matches pairs (t, t + {number}) within the first {2 * number} channels"
    yield Prediction(words, out)


def factor_ignored(case: Case) -> Iterator[tuple[str, Floats]]:
    """Predict frequencies without the factor."""
    by = stretch(case.arguments)
    if by != 1:
        yield "matches frequencies without the factor", SCALING.frequencies(case) * by


def factor_multiplied(case: Case) -> Iterator[tuple[str, Floats]]:
    """Predict frequencies multiplied by the factor."""
    by = stretch(case.arguments)
    if by != 1:
        yield "matches frequencies times the factor", SCALING.frequencies(case) * by**2


def many_that_turn(case: Case) -> Iterator[ArgumentDict]:
    """Yield more pairs than a GPU grid has blocks, most of which turn."""
    yield {"rotary_dim": 2**18, "proportion": 0.75}


KNOWLEDGE = SCALING.knowledge(
    frequency_invariants={
        "pairs-that-turn": pairs_that_turn,
        "falling": SCALING.falling,
        "times-factor": times_factor,
    },
    rotation_invariants={
        "slow-pairs-pass": slow_pairs_pass,
        "proportion-one": proportion_one,
        "proportion-zero": no_rotation,
    },
    mistakes={
        "count-wrong": other_count,
        "all-turn": all_turn,
        "fast-dropped": fast_dropped,
        "factor-ignored": factor_ignored,
        "factor-multiplied": factor_multiplied,
    },
    frequency_deviations={
        "taken-for-partial": SCALING.in_frequencies(partial_frequencies),
    },
    rotation_deviations={"paired-within": paired_within, "taken-for-partial": taken_for_partial},
    many=many_that_turn,
)
