"""Data-dependent ALiBi: bounds, invariants and deviations."""

from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np

from posenc_conformance.errors import apart
from posenc_conformance.families.biases import heads_apart
from posenc_conformance.families.lengths import lags, lengths, queries
from posenc_conformance.judge.arrays import Floats, fine
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.deviation import DeviationModel, Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments

GATES = ((4.0, 1.0), (1.0, 5.0), (80.0, -20.0), (3.0, -3.0))
"""Spread and middle of drawn gates: open and closed, nearly open as at the start of training, some
so closed that the sigmoid itself is 0 in float32, and nearly closed."""
KINDS: Arguments = {"bfloat16": ml_dtypes.bfloat16, "float16": np.float16}


def of_gates(heads: int, k_len: int, spread: float = 4.0, middle: float = 1.0) -> Floats:
    """Make different gates for each head and key."""
    return np.asarray(spread * fine((heads, k_len)) + middle)


def logs(case: Case) -> Floats:
    """Compute the logarithm of each token's factor on the weights: [heads, k_len]."""
    return log_sigmoid(case.arguments["gates"].astype(np.float64))


def log_sigmoid(x: Floats) -> Floats:
    """Compute the logarithm of the sigmoid, without overflow and without loss near 0."""
    return np.asarray(np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x))))


def between(case: Case, each: Floats, own: int = 0, last: int = 0, query: Any = None) -> Floats:
    """Sum ``each`` over the tokens after the key, up to the query; 0 at keys after the query.

    With ``own`` 1 the key's token counts too, and with ``last`` -1 the query's does not.
    """
    where = queries(case) if query is None else query
    sums = np.concatenate([np.zeros_like(each[:, :1]), each.cumsum(axis=-1)], axis=-1)
    to_query = sums[:, np.clip(where + 1 + last, 0, None)[:, 0], None]
    to_key = sums[:, None, np.arange(each.shape[1]) + 1 - own]
    return np.where(lags(case) >= 0, to_query - to_key, 0.0)


def error_terms(case: Case) -> ErrorTerms:
    """Return as scale the sum of the magnitudes up to the query, and the angle.

    The bias may be the difference of two such sums. The number of terms serves as the angle, plus
    the error of logarithms of sigmoids rounded near 1.
    """
    totals = np.abs(logs(case)).cumsum(axis=-1)[:, queries(case)[:, 0], None]
    scale = np.where(lags(case) >= 0, totals, 0.0)
    number = np.broadcast_to(queries(case) + 1.0, scale.shape)
    lost = np.divide(3 * number, scale, out=np.zeros_like(scale), where=scale > 0)
    return ErrorTerms(scale, number + lost)


def arguments(trial: Trial) -> ArgumentDict:
    """Draw a few heads, queries and keys, and gates open and closed."""
    chosen = lengths(trial)
    spread, middle = trial.pick.one_of(GATES)
    heads = trial.choose("heads", (2, 1, 3, 8))
    return {
        "gates": of_gates(heads, chosen.pop("k_len"), spread, middle),
        "q_len": chosen["q_len"],
    }


def sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Place one query at the end of many keys."""
    k_len = parameters.get("k_len", min(largest, 1023) + 1)
    q_len = min(parameters.get("q_len", 1), k_len)
    return {"gates": of_gates(parameters.get("heads", 2), k_len), "q_len": q_len}


def sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield many heads, many queries, and one token."""
    for heads, q_len, k_len in ((1, 1, 1), (3, 1, 3), (33, 2, 3), (8, 20, 20), (1, 130, 130)):
        yield {"gates": of_gates(heads, k_len), "q_len": q_len}


def own_key(trial: Trial) -> None:
    """Check that the bias at the query's own key is 0."""
    y = trial.answer(**arguments(trial))
    rows, own = np.arange(len(queries(y.case))), queries(y.case)[:, 0]
    trial.assert_zero(y[:, rows, own], "the bias at the query's own key is not 0")


def additive(trial: Trial) -> None:
    """Check that the bias of all earlier keys changes equally from one query to the next."""
    y = trial.answer(**arguments(trial))
    rows, before = np.arange(1, len(queries(y.case))), queries(y.case)[:-1, 0]
    step = y[:, rows, before][:, :, None]
    seen = np.broadcast_to((lags(y.case) >= 0)[:-1], y[:, 1:].values.shape)
    trial.assert_zero(
        (y[:, 1:] - y[:, :-1] - step).where(seen),
        "the bias of one query is not that of the query before, moved on",
    )


def constant_gates(trial: Trial) -> None:
    """Check that equal gates give ALiBi, with the logarithm of the gate's sigmoid as slope."""
    chosen = arguments(trial)
    gates = np.broadcast_to(chosen["gates"][:, :1], chosen["gates"].shape).copy()
    y = trial.answer(**(chosen | {"gates": gates}))
    slope = logs(y.case)[:, :1, None]
    straight = np.where(lags(y.case) >= 0, slope * lags(y.case), 0.0)
    trial.assert_zero(y - straight, "equal gates do not give a straight line")


def last_queries(trial: Trial) -> None:
    """Check that ``q_len`` queries give the last rows of as many queries as keys."""
    chosen = arguments(trial)
    q_len, k_len = chosen["q_len"], chosen["gates"].shape[1]
    few, every = trial.answer(**chosen), trial.answer(**(chosen | {"q_len": k_len}))
    trial.assert_zero(
        few - every[:, k_len - q_len :],
        "with fewer queries than keys the queries are not the last ones",
    )


def later_gates(trial: Trial) -> None:
    """Check that the gate of the last token does not affect earlier queries."""
    chosen = arguments(trial)
    other = chosen["gates"].copy()
    other[:, -1] -= 1.0
    y, changed = trial.answer(**chosen), trial.answer(**(chosen | {"gates": other}))
    trial.assert_zero(y[:, :-1] - changed[:, :-1], "queries see the gate of a token after them")


def of(words: str, each: Callable[[Case], Floats]) -> DeviationModel:
    """Make a model that predicts sums of other terms than the logarithms."""

    def models(case: Case, got: Floats) -> Iterator[Prediction]:
        yield Prediction(words, between(case, each(case)))

    return models


def raw(case: Case) -> Floats:
    """Return the gates in float64."""
    return np.asarray(case.arguments["gates"], dtype=np.float64)


def shifted(words: str, own: int, last: int) -> DeviationModel:
    """Make a model that predicts sums that begin at the key, or end before the query."""

    def models(case: Case, got: Floats) -> Iterator[Prediction]:
        yield Prediction(words, between(case, logs(case), own, last))

    return models


def queries_from_zero(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict query i at position i, although cached keys precede it."""
    late = case.parameter("k_len") - case.parameter("q_len")
    words = "a single query that stands" if case.parameter("q_len") == 1 else "queries that start"
    if late:
        bias = between(case, logs(case), query=queries(case) - late)
        yield Prediction(f"matches {words} at position 0", bias)


def sums_rounded(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict sums rounded to a narrow dtype before the subtraction."""
    sums = logs(case).cumsum(axis=-1)
    for name, kind in KINDS.items():
        rounded = sums.astype(kind).astype(np.float64)
        bias = rounded[:, queries(case)[:, 0], None] - rounded[:, None]
        yield Prediction(
            f"matches sums that are kept in {name}", np.where(lags(case) >= 0, bias, 0.0)
        )


def sigmoid_kept_above_0(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict a small number added to the sigmoid, so that its logarithm is finite."""
    for small in (1e-6, 1e-8, 1e-5, 1e-7, 1e-9, 1e-10, 1e-12):
        terms = np.log(np.exp(logs(case)) + small)
        yield Prediction(f"matches a sigmoid to which {small:g} is added", between(case, terms))


def other_scale(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict all biases times an estimated number."""
    truth, seen = (np.where(case.shown, values, 0.0) for values in (case.truth, got))
    size = float((truth * truth).sum())
    times = float((seen * truth).sum()) / size if size > 0 and np.isfinite(seen).all() else 0.0
    if times > 0:
        yield Prediction(f"matches the bias times {apart(times, 1, digits=6)[0]}", times * truth)


KNOWLEDGE = {
    "data_dependent_alibi_bias": CallKnowledge(
        error_terms=error_terms,
        arguments=arguments,
        sweep=sweep,
        sizes=sizes,
        largest_values={"gates": 80.0},
        invariants={
            "own-key": own_key,
            "additive": additive,
            "constant-gates": constant_gates,
            "later-gates": later_gates,
            "last-queries": last_queries,
            "heads-apart": heads_apart(arguments, "gates"),
        },
        deviations={
            "sign-flipped": of("matches sums of the opposite sign", lambda case: -logs(case)),
            "own-gate-counted": shifted(
                "matches sums in which the key's own gate counts too", 1, 0
            ),
            "gates-of-keys": shifted(
                "matches sums that begin at the key and end before the query", 1, -1
            ),
            "not-squashed": of("matches sums of gates that no sigmoid has seen", raw),
            "log-missing": of(
                "matches sums of sigmoids, not of their logarithms", lambda case: np.exp(logs(case))
            ),
            "gate-inverted": of(
                "matches gates that are open where they should be closed",
                lambda case: log_sigmoid(-raw(case)),
            ),
            "in-base-2": of("matches logarithms to base 2", lambda case: logs(case) / np.log(2.0)),
            "queries-from-zero": queries_from_zero,
            "sums-rounded": sums_rounded,
            "sigmoid-kept-above-0": sigmoid_kept_above_0,
            "other-scale": other_scale,
        },
    ),
}
