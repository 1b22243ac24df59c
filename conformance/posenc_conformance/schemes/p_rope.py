"""p-RoPE: bounds, invariants and deviations."""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

import posenc
from posenc_conformance.diagnose.mistakes import Model
from posenc_conformance.families.rotary import (
    channels,
    progression,
    rotary_dim,
    written_channels,
)
from posenc_conformance.families.rotary_scaling import Arguments, Scaling, unscaled
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.judge.bounded import Exact
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.trial import Trial


def count(given: Arguments, size: int) -> int:
    """Pairs that turn, counted in decimal."""
    return int(Fraction(str(given["proportion"])) * size / 2)


def leading(given: Arguments, size: int, number: int) -> Floats:
    """RoPE's frequencies of the first pairs, and 0."""
    return np.where(np.arange(size // 2) < number, unscaled(given, size), 0.0)


def frequencies(given: Arguments, size: int) -> Floats:
    """RoPE's frequencies of the pairs that turn."""
    return leading(given, size, count(given, size))


SCALING = Scaling(
    "p_rope",
    frequencies,
    choices={"proportion": (0.5, 0.25, 0.75, 1.0, 0.0, 0.3, 0.7)},
    changes=({"proportion": 1.0}, {"proportion": 0.25}),
)


def pairs_that_turn(trial: Trial) -> None:
    """Exactly floor(p d / 2) leading frequencies are not 0."""
    answer = trial.answer(**SCALING.frequency_arguments(trial))
    given = answer.case.arguments
    wanted = np.arange(given["rotary_dim"] // 2) < count(given, given["rotary_dim"])
    # In float16 a slow frequency may be rounded to 0, as its bound allows.
    wrong = np.where(wanted, answer.values <= -answer.bound, answer.values != 0)
    trial.never(answer, wrong, "not just the leading pairs turn")


def slow_pairs_pass(trial: Trial) -> None:
    """Pairs beyond the share come out as they went in."""
    answer = trial.answer(**SCALING.rotary_arguments(trial))
    x = answer.case.arguments["x"]
    still = SCALING.frequencies(answer.case) == 0
    for channel in written_channels(answer.case):
        change = answer - Exact(x)
        trial.zero(change[..., channel[still]], "a pair beyond the share is changed")


def no_rotation(trial: Trial) -> None:
    """With proportion 0 nothing turns, at any position."""
    if not trial.allows("proportion", 0.0):
        return
    answer = trial.answer(**(SCALING.rotary_arguments(trial) | {"proportion": 0.0}))
    trial.zero(answer - Exact(answer.case.arguments["x"]), "with proportion 0 something turns")


def all_turn(case: Case) -> Iterator[tuple[str, Floats]]:
    """The proportion ignored."""
    yield "matches plain RoPE; proportion was ignored", unscaled(case.arguments, rotary_dim(case))


def fast_dropped(case: Case) -> Iterator[tuple[str, Floats]]:
    """The slow frequencies kept, or the kept ones put last."""
    given, size = case.arguments, rotary_dim(case)
    number, omega = count(given, size), unscaled(given, size)
    last = np.arange(size // 2) >= size // 2 - number
    yield "matches the slowest frequencies kept, not the fastest", np.where(last, omega, 0.0)
    moved = np.concatenate([np.zeros(size // 2 - number), omega[:number]])
    yield "matches the kept frequencies on the last pairs", moved


def partial_frequencies(case: Case) -> Iterator[tuple[str, Floats]]:
    """Frequencies of a head of as many channels as turn."""
    given, size = case.arguments, rotary_dim(case)
    number = count(given, size)
    if number:
        omega = np.zeros(size // 2)
        omega[:number] = progression(given["base"], 2 * number)
        yield "matches exponents over the channels that turn, not over all", omega


def other_count(case: Case) -> Iterator[tuple[str, Floats]]:
    """A pair more or less, or twice as many."""
    given, size = case.arguments, rotary_dim(case)
    number = count(given, size)
    for other in (number - 1, number + 1, 2 * number):
        if 0 <= other <= size // 2:
            yield f"matches {other} pairs that turn, not {number}", leading(given, size, other)


def taken_for_partial(case: Case, got: Floats) -> Iterator[Model]:
    """Partial rotary embedding: a smaller head within the head."""
    given, number = case.arguments, count(case.arguments, rotary_dim(case))
    if number:
        turned = posenc.rope(
            given["x"],
            given["positions"],
            base=given["base"],
            layout=str(case.conventions["layout"]),
            rotary_dim=2 * number,
        )
        yield Model(
            f"matches partial rotation of {2 * number} channels", np.asarray(turned, np.float64)
        )
    yield from SCALING.in_rotation(partial_frequencies)(case, got)


def paired_within(case: Case, got: Floats) -> Iterator[Model]:
    """The right frequencies, on pairs made within the leading channels."""
    given, size = case.arguments, rotary_dim(case)
    number = count(given, size)
    x, out = given["x"], given["x"].copy()
    angles = SCALING.rotation.angles(case)[:, :number]
    first, second = channels(2 * number, str(case.conventions["layout"]))
    out[..., first] = x[..., first] * np.cos(angles) - x[..., second] * np.sin(angles)
    out[..., second] = x[..., first] * np.sin(angles) + x[..., second] * np.cos(angles)
    words = f"matches pairs (t, t + {number}) within the first {2 * number} channels"
    yield Model(words, out)


ERROR_TERMS, ARGUMENTS = SCALING.error_terms, SCALING.arguments
SWEEPS, SIZES = SCALING.sweeps, SCALING.sizes
INVARIANTS = SCALING.invariants(
    {"pairs-that-turn": pairs_that_turn, "falling": SCALING.falling},
    {
        "slow-pairs-pass": slow_pairs_pass,
        "proportion-one": SCALING.is_rope(proportion=1.0),
        "proportion-zero": no_rotation,
    },
)
DEVIATIONS = SCALING.deviations(
    {"all-turn": all_turn, "fast-dropped": fast_dropped, "count-wrong": other_count},
    frequencies={
        "taken-for-partial": SCALING.in_frequencies(partial_frequencies),
    },
    rotation={"paired-within": paired_within, "taken-for-partial": taken_for_partial},
)
