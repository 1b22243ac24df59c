"""Randomized positions: bounds, invariants and deviations."""

from collections.abc import Iterator
from math import gcd
from typing import Any

import numpy as np

import posenc
from posenc_conformance.families.biases import last_queries, negated, queries_from_zero, toeplitz
from posenc_conformance.families.lengths import Integers, lags, lengths
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.judge.case import Case, ErrorTerms, exact_terms
from posenc_conformance.judge.deviation import Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments

HEADS = (8, 1, 2, 3, 6, 12)
LONGEST = 2048


def shuffled(length: int, step: int = 7, start: int = 3) -> Integers:
    """List each number below ``length`` once, in cyclic steps from ``start``.

    The step is the first number from ``step`` on that has no factor in common with ``length``.
    """
    while gcd(step, length) > 1:
        step += 1
    return np.asarray((start + step * np.arange(length)) % length)


def shuffled_distances(k_len: int, length: int, step: int) -> Integers:
    """Shuffle the distances from 1 to ``max(length, k_len) - 1``."""
    spread = max(length, k_len) - 1
    return np.asarray(1 + shuffled(spread, step, spread // 2))


def positions_arguments(trial: Trial) -> ArgumentDict:
    """Draw a few tokens, and a range as long or longer."""
    n = trial.choose("n", (5, 1, 2, 9, 33))
    length = n * trial.pick.one_of((4, 1, 2, 9)) + trial.pick.integer(0, 3)
    return {"order": shuffled(length, trial.pick.one_of((7, 3, 5, 11))), "n": n}


def bias_arguments(trial: Trial) -> ArgumentDict:
    """Draw a few heads, queries and keys, with distances on each side."""
    chosen = lengths(trial, heads=HEADS)
    length = chosen["k_len"] * trial.pick.one_of((4, 2, 9))
    return chosen | sides(chosen["k_len"], length)


def sides(k_len: int, length: int) -> ArgumentDict:
    """Return distances for both sides; the two orders differ."""
    return {
        "before": shuffled_distances(k_len, length, 7),
        "after": shuffled_distances(k_len, length, 11),
    }


def positions_sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Take half of the positions up to ``largest``, or LONGEST if that is less."""
    length = min(largest, LONGEST) + 1
    return {"order": shuffled(length), "n": parameters.get("n", (length + 1) // 2)}


def bias_sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Put one query at the end of many keys."""
    k_len = parameters.get("k_len", min(largest, 300) + 1)
    chosen = {"heads": 3, "q_len": 1, "k_len": k_len, **parameters}
    return chosen | sides(k_len, LONGEST)


def positions_sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield no token, one, a whole range, and more tokens than 8 or 16 bits can count."""
    few = ((0, 1), (0, 5), (1, 1), (1, 700), (17, 17), (300, 2048), (600, 601))
    for n, length in (*few, (2**16 + 1, 2**16 + 9)):
        yield {"order": shuffled(length), "n": n}


def bias_sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield few and many heads and keys, and no query."""
    for heads, q_len, k_len in ((1, 1, 1), (5, 2, 3), (12, 4, 4), (33, 1, 2), (2, 0, 3)):
        yield {"heads": heads, "q_len": q_len, "k_len": k_len} | sides(k_len, 64)
    yield {"heads": 1, "q_len": 300, "k_len": 300} | sides(300, LONGEST)


def error_terms(case: Case) -> ErrorTerms:
    """Return the magnitude of the value as the scale, and powers of the ratio as the angles."""
    heads = int(case.arguments["heads"])
    below = 2 ** (heads.bit_length() - 1)
    powers = [*range(1, below + 1), *range(1, 2 * (heads - below) + 1, 2)]
    return ErrorTerms(np.abs(case.truth), np.array(powers, dtype=np.float64)[:, None, None])


def ascending(trial: Trial) -> None:
    """Check that positions ascend from 0 or above."""
    answer = trial.answer(**positions_arguments(trial))
    wrong = np.diff(answer.values, prepend=-1) <= 0
    trial.assert_none(answer, wrong, "positions do not ascend from 0 or above")


def whole_range(trial: Trial) -> None:
    """Check that as many tokens as positions take the whole range."""
    order = positions_arguments(trial)["order"]
    answer = trial.answer(order=order, n=len(order))
    trial.assert_none(
        answer, answer.values != np.arange(len(order)), "a whole range is not 0, 1, 2, …"
    )


def order_of_drawing(trial: Trial) -> None:
    """Check that the order in which the same positions were drawn does not matter."""
    chosen = positions_arguments(trial)
    answer = trial.answer(**chosen)
    other = chosen["order"].copy()
    other[: chosen["n"]] = other[: chosen["n"]][::-1]
    same = trial.answer(order=other, n=chosen["n"]).values
    trial.assert_none(answer, answer.values != same, "the order of drawing changes the positions")


def without_the_others(trial: Trial) -> None:
    """Check that the drawn positions and the remaining positions are disjoint."""
    chosen = positions_arguments(trial)
    answer = trial.answer(**chosen)
    order, n = chosen["order"], chosen["n"]
    turned = {"order": np.roll(order, -n), "n": len(order) - n}
    left = trial.answer(**turned).values if turned["n"] else np.zeros(0)
    trial.assert_none(answer, np.isin(answer.values, left), "a position is drawn twice")


def own_key(trial: Trial) -> None:
    """Check that the query's own key has no bias."""
    y = trial.answer(**bias_arguments(trial))
    trial.assert_zero(y.where(lags(y.case) == 0), "the bias of a query's own key is not 0")


def bias_falls(trial: Trial) -> None:
    """Check that the bias falls with the distance on each side."""
    y = trial.answer(**bias_arguments(trial))
    lag = lags(y.case)
    steps = y[:, :, 1:] - y[:, :, :-1]
    falling = (steps.where(lag[:, :-1] <= 0)).positive()
    rising = (-steps.where(lag[:, 1:] >= 0)).positive()
    trial.assert_zero(falling, "the bias does not fall with the places after the query")
    trial.assert_zero(rising, "the bias does not fall with the places before the query")


def order_of_distances(trial: Trial) -> None:
    """Check that the order in which the same distances were drawn does not matter."""
    chosen = bias_arguments(trial)
    count = chosen["k_len"] - 1
    turned = {name: chosen[name][:count][::-1].copy() for name in ("before", "after")}
    y, other = trial.answer(**chosen), trial.answer(**(chosen | turned))
    trial.assert_zero(y - other, "the order of drawing changes the bias")


def half_a_step(trial: Trial) -> None:
    """Check that a key before the query has half a slope more than a key as far after it."""
    chosen = bias_arguments(trial)
    chosen |= {"after": chosen["before"], "q_len": chosen["k_len"]}
    y = trial.answer(**chosen)
    below = np.tril(np.ones((chosen["k_len"], chosen["k_len"]), dtype=bool), -1)
    slopes = posenc.alibi_slopes(chosen["heads"])[:, None, None]
    trial.assert_zero(
        (y - y.swapped(1, 2) - slopes / 2).where(below), "the sides do not differ by half a slope"
    )


def ids(explanation: str, values: Any) -> Prediction:
    """Return ``values`` as the prediction of a mistake."""
    return Prediction(explanation, np.asarray(values, dtype=np.float64))


def drawn(case: Case) -> Integers:
    """Return the positions in the order of drawing."""
    return np.asarray(case.arguments["order"][: int(case.arguments["n"])])


def not_sorted(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict positions in the order of drawing, or in descending order."""
    yield ids("matches positions in the order of drawing", drawn(case))
    yield ids("matches positions in descending order", np.sort(drawn(case))[::-1])


def ranks(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict indices or ranks of the drawn positions in place of their values."""
    places = np.argsort(drawn(case))
    yield ids("matches the places of the positions in the order of drawing", places)
    yield ids("matches the ranks of the positions", np.argsort(places))


def sorted_too_early(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict a range sorted before its first part is taken."""
    yield ids("matches a range that was sorted before its part was taken", np.arange(case.shape[0]))


def other_part(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the last numbers of the shuffled range, or a part that starts one number later."""
    n = int(case.arguments["n"])
    order = case.arguments["order"]
    yield ids("matches the last numbers of the range", np.sort(order[len(order) - n :]))
    yield ids("matches one number further on", np.sort(np.roll(order, -1)[:n]))


def shifted(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict positions shifted by 1 or -1, or with the first one at 0."""
    for shift in (1, -1):
        yield ids(f"matches positions shifted by {shift:+d}", case.truth + shift)
    yield ids("matches positions from the first one on", case.truth - case.truth[:1])


def distances(case: Case) -> tuple[Integers, Integers]:
    """Return the distances of the keys before and after the query, in the order of drawing."""
    count = int(case.arguments["k_len"]) - 1
    return case.arguments["before"][:count], case.arguments["after"][:count]


def slopes(case: Case) -> Floats:
    """Return the slope of every head: [heads, 1, 1]."""
    return np.asarray(posenc.alibi_slopes(case.arguments["heads"]))[:, None, None]


def biased(
    case: Case,
    before: Any = None,
    after: Any = None,
    halves: tuple[float, float] = (0.5, 0.0),
    lag: Any = None,
) -> Floats:
    """Compute the bias for the distances ``before`` and ``after``, in this order.

    ``halves`` are subtracted from the distances before and after. Omitted arguments have the right
    values.
    """
    right = [np.sort(side) for side in distances(case)]
    near, far = (right[0] if before is None else before), (right[1] if after is None else after)
    signed = np.concatenate([far[::-1] - halves[1], [0.0], near - halves[0]])
    places = lags(case) if lag is None else lag
    middle = len(far)
    return np.asarray(-slopes(case) * signed[np.clip(places + middle, 0, len(signed) - 1)])


def distances_not_sorted(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict distances in the order of drawing, or in descending order."""
    before, after = distances(case)
    yield Prediction("matches distances in the order of drawing", biased(case, before, after))
    near, far = (np.sort(side)[::-1] for side in (before, after))
    yield Prediction("matches distances in descending order", biased(case, near, far))


def distances_sorted_too_early(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict all distances sorted before the first are taken, or the last distances taken."""
    count = int(case.arguments["k_len"]) - 1
    sides = [case.arguments[name] for name in ("before", "after")]
    near, far = (np.sort(side)[:count] for side in sides)
    yield Prediction(
        "matches distances that were sorted before they were drawn", biased(case, near, far)
    )
    near, far = (np.sort(side[len(side) - count :]) for side in sides)
    yield Prediction("matches the last of the shuffled distances", biased(case, near, far))


def half_wrong(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict half a slope left out, on the other side, on both, or with the other sign."""
    for words, halves in (
        ("no half step", (0.0, 0.0)),
        ("the half step after the query", (0.0, 0.5)),
        ("half a step on both sides", (0.5, 0.5)),
        ("a key before the query half a step farther", (-0.5, 0.0)),
    ):
        yield Prediction(f"matches {words}", biased(case, halves=halves))


def sides_swapped(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the sides exchanged, or the distances of one side on both."""
    before, after = (np.sort(side) for side in distances(case))
    for words, near, far in (
        ("the sides exchanged", after, before),
        ("the distances before the query on both sides", before, before),
        ("the distances after the query on both sides", after, after),
    ):
        yield Prediction(f"matches {words}", biased(case, near, far))


def differences(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict differences of drawn positions, the first of which is 0."""
    k_len = int(case.arguments["k_len"])
    for side in distances(case):
        place = np.concatenate([[0], np.sort(side)])
        steps = place[k_len - int(case.arguments["q_len"]) :, None] - place
        for half in (0.5, 0.0):
            bias = -slopes(case) * (np.abs(steps) - half * (steps > 0))
            yield Prediction("matches differences of drawn positions", bias)


def not_drawn(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict plain distances."""
    plain = np.arange(1, int(case.arguments["k_len"]))
    for half in (0.5, 0.0):
        bias = biased(case, plain, plain, (half, 0.0))
        yield Prediction("matches distances that were not drawn", bias)


def other_slopes(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict slopes of the uniform rule, in reverse or descending order, or all 1."""
    right = slopes(case)
    heads = int(case.arguments["heads"])
    uniform = np.asarray(posenc.alibi_slopes(heads, head_rule="uniform"))[:, None, None]
    for words, other in (
        ("slopes of one progression", uniform),
        ("slopes in reverse order", right[::-1]),
        ("slopes in descending order", np.sort(right, axis=0)[::-1]),
        ("the same slope, 1, for every head", np.ones_like(right)),
    ):
        yield Prediction(f"matches {words}", case.truth * other / right)


def from_queries(case: Case, query: Integers) -> Iterator[Floats]:
    """Yield the bias of queries at the positions ``query``."""
    yield biased(case, lag=query - np.arange(int(case.parameter("k_len"))))


KNOWLEDGE = {
    "randomized_positions": CallKnowledge(
        error_terms=exact_terms,
        arguments=positions_arguments,
        sweep=positions_sweep,
        sizes=positions_sizes,
        shape=lambda case: (int(case.arguments["n"]),),
        invariants={
            "ascending": ascending,
            "whole-range": whole_range,
            "order-of-drawing": order_of_drawing,
            "drawn-once": without_the_others,
        },
        deviations={
            "not-sorted": not_sorted,
            "ranks": ranks,
            "sorted-too-early": sorted_too_early,
            "other-part": other_part,
            "positions-shifted": shifted,
        },
    ),
    "randomized_alibi_bias": CallKnowledge(
        error_terms=error_terms,
        arguments=bias_arguments,
        sweep=bias_sweep,
        sizes=bias_sizes,
        invariants={
            "toeplitz": toeplitz(bias_arguments),
            "last-queries": last_queries(bias_arguments),
            "own-key": own_key,
            "bias-falls": bias_falls,
            "order-of-distances": order_of_distances,
            "half-a-step": half_a_step,
        },
        deviations={
            "distances-not-sorted": distances_not_sorted,
            "distances-sorted-too-early": distances_sorted_too_early,
            "half-step-wrong": half_wrong,
            "sides-swapped": sides_swapped,
            "differences-of-positions": differences,
            "not-drawn": not_drawn,
            "slopes-wrong": other_slopes,
            "sign-flipped": negated("matches the bias with the sign flipped"),
            "queries-from-zero": queries_from_zero(from_queries),
        },
    ),
}
