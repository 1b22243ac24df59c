"""Biases by clipped distance: bounds, invariants and deviations."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from posenc_conformance.diagnose.mistakes import DeviationModel, Model
from posenc_conformance.judge.arrays import Floats, fine, lattice
from posenc_conformance.judge.bounded import ARITHMETIC, Answer
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.trial import Trial

Index = npt.NDArray[np.int64]


def error_terms(case: Case) -> ErrorTerms:
    """Biases are copies: nothing is rounded."""
    return ErrorTerms(np.zeros(()), np.zeros(()))


def vjp_error_terms(case: Case) -> ErrorTerms:
    """The scale is the sum of the magnitudes added up; their number stands in place of angles."""
    gradient = case.arguments["gradient"]
    rows = right_rows(case)
    return ErrorTerms(
        gathered(case, rows, np.abs(gradient)), gathered(case, rows, np.ones(gradient.shape))
    )


def arguments(trial: Trial) -> dict[str, Any]:
    """A few heads, queries and keys; the table shorter or longer than the distances."""
    k_len = trial.choose("k_len", (6, 1, 2, 9, 33))
    rows = trial.choose("rows", (7, 1, 3, 5, 11, 33))
    return {
        "table": fine((rows, trial.choose("heads", (2, 1, 3, 8)))),
        "q_len": trial.choose("q_len", (k_len - trial.pick.integer(0, min(3, k_len - 1)),)),
        "k_len": k_len,
    }


def vjp_arguments(trial: Trial) -> dict[str, Any]:
    """A gradient of a few heads, queries and keys; the table shorter or longer than these."""
    shape = arguments(trial)
    rows, heads = shape["table"].shape
    return {"gradient": fine((heads, shape["q_len"], shape["k_len"])), "rows": rows}


def no_sweep(parameters: Mapping[str, Any], largest: int) -> None:
    """Nothing is asked far out."""


def vjp_sizes(case: Case) -> Iterator[dict[str, Any]]:
    """Tables of one row to 257, distances within and beyond, many heads, many queries."""
    for rows, shape in ((1, (3, 4, 4)), (5, (33, 2, 9)), (257, (2, 3, 140)), (9, (1, 130, 130))):
        yield {"gradient": fine(shape), "rows": rows}


def sweep(parameters: Mapping[str, Any], largest: int) -> dict[str, Any]:
    """Two queries at the end of many keys."""
    k_len = min(largest, 4096) + 1
    rows, heads = parameters.get("rows", 257), parameters.get("heads", 12)
    rest = {name: value for name, value in parameters.items() if name in ("q_len", "k_len")}
    return {"table": fine((rows, heads)), "q_len": min(2, k_len), "k_len": k_len, **rest}


def sizes(case: Case) -> Iterator[dict[str, Any]]:
    """Tables of one row to 601, distances within and beyond, many heads, many queries."""
    for rows, heads, q_len, k_len in (
        (1, 3, 4, 4),
        (3, 33, 2, 9),
        (5, 1, 3, 3),
        (129, 2, 2, 200),
        (257, 16, 3, 130),
        (601, 1, 2, 700),
        (65, 1, 300, 300),
    ):
        yield {"table": fine((rows, heads)), "q_len": q_len, "k_len": k_len}


def exact(answer: Answer, trial: Trial, wrong: npt.NDArray[np.bool_], what: str) -> None:
    """Demand that nothing is wrong."""
    trial.within(answer, wrong.astype(np.float64), np.zeros(wrong.shape), what)


def toeplitz(trial: Trial) -> None:
    """The bias depends on the distance between key and query only."""
    answer = trial.answer(**arguments(trial))
    y = answer.values
    exact(answer, trial, y[:, 1:, 1:] != y[:, :-1, :-1], "the bias differs along a diagonal")


def saturation(trial: Trial) -> None:
    """All keys k or more away on one side have the bias of the table's first or last row."""
    answer = trial.answer(**arguments(trial))
    table = answer.case.arguments["table"]
    at = places(answer.case)
    for far, row in ((at.offset <= -at.reach, table[0]), (at.offset >= at.reach, table[-1])):
        wrong = far & (answer.values != row[:, None, None])
        exact(answer, trial, wrong, "far keys do not share the table's first or last row")


def last_queries(trial: Trial) -> None:
    """Fewer queries are the last rows of as many queries as keys."""
    chosen = arguments(trial)
    q_len, k_len = chosen["q_len"], chosen["k_len"]
    if k_len not in trial.scope.parameters.get("q_len", (k_len,)):
        return
    answer, whole = trial.answer(**chosen), trial.answer(**(chosen | {"q_len": k_len}))
    wrong = answer.values != whole.values[:, k_len - q_len :]
    exact(answer, trial, wrong, "with fewer queries than keys the queries are not the last ones")


def heads_apart(trial: Trial) -> None:
    """Each head looks into its own column of the table."""
    chosen = arguments(trial)
    answer = trial.answer(**chosen)
    turned = trial.answer(**(chosen | {"table": chosen["table"][:, ::-1].copy()}))
    wrong = answer.values != turned.values[::-1]
    exact(answer, trial, wrong, "reversing the columns of the table does not reverse the heads")


def mirrored(trial: Trial) -> None:
    """A table upside down, and the result with queries and keys exchanged: the same."""
    chosen = arguments(trial)
    chosen["q_len"] = trial.choose("q_len", (chosen["k_len"],))
    if chosen["q_len"] != chosen["k_len"]:
        return
    answer = trial.answer(**chosen)
    turned = trial.answer(**(chosen | {"table": chosen["table"][::-1].copy()}))
    wrong = answer.values != np.swapaxes(turned.values, 1, 2)
    exact(answer, trial, wrong, "turning the table upside down does not exchange past and future")


def constant_table(trial: Trial) -> None:
    """A table of one value gives a bias of that value everywhere: no scale is applied."""
    chosen = arguments(trial)
    answer = trial.answer(**(chosen | {"table": np.full_like(chosen["table"], 0.75)}))
    exact(answer, trial, answer.values != 0.75, "a constant table does not give a constant bias")


def vjp_total(trial: Trial) -> None:
    """The gradient of the table adds up to that of the bias: what is clipped is not lost."""
    answer = trial.answer(**vjp_arguments(trial))
    given = answer.case.arguments["gradient"]
    total, before = answer.values.sum(axis=0), given.sum(axis=(1, 2))
    bound = answer.bound.sum(axis=0) + ARITHMETIC * np.abs(given).sum(axis=(1, 2))
    trial.within(answer, total - before, bound, "the gradient does not add up to what came in")


def vjp_adjoint(trial: Trial) -> None:
    """<g, bias of a table> is <vjp(g), the table>."""
    answer = trial.answer(**vjp_arguments(trial))
    given, table = answer.case.arguments["gradient"], lattice(answer.case.shape, 3)
    bias = np.moveaxis(table[right_rows(answer.case)], -1, 0)
    before, after = given * bias, answer.values * table
    bound = (answer.bound * np.abs(table)).sum(axis=0)
    bound += ARITHMETIC * (np.abs(before).sum(axis=(1, 2)) + np.abs(after).sum(axis=0))
    trial.within(
        answer,
        after.sum(axis=0) - before.sum(axis=(1, 2)),
        bound,
        "<vjp(g), table> is not <g, bias>",
    )


def offset_matrix(q_len: int, k_len: int, first: int) -> Index:
    """Key position minus query position, the first query standing at ``first``."""
    return np.asarray(np.arange(k_len) - (first + np.arange(q_len))[:, None], dtype=np.int64)


@dataclass(frozen=True)
class Places:
    """Where a table of 2k+1 rows is looked up for each query and key."""

    offset: Index
    """Key minus query, or the reverse where that is the convention."""
    from_zero: Index
    """The same if the first query stood at position 0."""
    reach: int
    """k."""

    def rows(self, offset: Index) -> Index:
        """Row of each offset."""
        return np.clip(offset, -self.reach, self.reach) + self.reach

    def clipped_early(self, low: int, high: int) -> Index:
        """Rows of offsets clipped one too early at one end or at both."""
        ends = min(low - self.reach, 0), max(self.reach - high, 0)
        return np.asarray(np.clip(self.offset, *ends) + self.reach)


def places(case: Case) -> Places:
    """Those of a case."""
    q_len, k_len = int(case.parameter("q_len")), int(case.parameter("k_len"))
    sign = -1 if case.conventions.get("offset") == "query-minus-key" else 1
    return Places(
        sign * offset_matrix(q_len, k_len, k_len - q_len),
        sign * offset_matrix(q_len, k_len, 0),
        int(case.parameter("rows")) // 2,
    )


def right_rows(case: Case) -> Index:
    """Row of the table for each query and key."""
    at = places(case)
    return at.rows(at.offset)


def gathered(case: Case, rows: Index, gradient: Floats) -> Floats:
    """Sums of a gradient over the pairs of each row: [rows, heads]."""
    sums = np.zeros(case.shape)
    np.add.at(sums, rows, np.moveaxis(gradient, 0, -1))
    return sums


WRONG_ROWS: Mapping[str, Mapping[str, Callable[[Places], Index]]] = {
    "queries-from-zero": {
        "matches queries that start at position 0": lambda at: at.rows(at.from_zero),
    },
    "sign-flipped": {
        "matches offsets of the opposite sign (query minus key)": lambda at: at.rows(-at.offset),
    },
    "offset-shifted": {
        "matches offsets shifted by +1": lambda at: at.rows(at.offset + 1),
        "matches offsets shifted by -1": lambda at: at.rows(at.offset - 1),
    },
    "clip-shifted": {
        "matches offsets clipped to k-1 ahead": lambda at: at.clipped_early(0, 1),
        "matches offsets clipped to k-1 behind": lambda at: at.clipped_early(1, 0),
        "matches offsets clipped to k-1 on both sides": lambda at: at.clipped_early(1, 1),
        "matches offsets that wrap around instead of being clipped": lambda at: (
            (at.offset + at.reach) % (2 * at.reach + 1)
        ),
    },
    "table-unshifted": {
        "matches clipped offsets used as indices without adding k": lambda at: (
            (at.rows(at.offset) - at.reach) % (2 * at.reach + 1)
        ),
    },
}
"""Wrong rows of a table of clipped distances, by deviation."""


def wrong_rows(name: str, result: Callable[[Case, Index], Floats]) -> DeviationModel:
    """The deviation of this name, in a call whose result follows from the rows."""

    def models(case: Case, got: Floats) -> Iterator[Model]:
        at = places(case)
        for explanation, rows in WRONG_ROWS[name].items():
            yield Model(explanation, result(case, rows(at)))

    return models


def looked_up(case: Case, rows: Index) -> Floats:
    """The bias of these rows."""
    return np.moveaxis(case.arguments["table"][rows], -1, 0)


def gathered_by(case: Case, rows: Index) -> Floats:
    """The gradient of a table that was looked up in these rows."""
    return gathered(case, rows, case.arguments["gradient"])


def clipped_lost(case: Case, got: Floats) -> Iterator[Model]:
    """Offsets of k and less alone, as a band of diagonals."""
    at = places(case)
    within = np.abs(at.offset) <= at.reach
    output = gathered(case, at.rows(at.offset), case.arguments["gradient"] * within)
    yield Model("matches gradients of clipped distances left out", output)


def overwritten(case: Case, got: Floats) -> Iterator[Model]:
    """The last pair's gradient alone."""
    output, rows = np.zeros(case.shape), right_rows(case)
    for query, key in np.ndindex(rows.shape):
        output[rows[query, key]] = case.arguments["gradient"][:, query, key]
    yield Model("matches gradients of a row written over each other", output)


def averaged(case: Case, got: Floats) -> Iterator[Model]:
    """The mean of each row."""
    number = gathered(case, right_rows(case), np.ones(case.arguments["gradient"].shape))
    yield Model("matches the mean over each row", case.truth / np.maximum(number, 1))


SHAPES = {"clipped_bias_vjp": lambda case: (case.parameter("rows"), case.parameter("heads"))}
ERROR_TERMS = {"clipped_bias": error_terms, "clipped_bias_vjp": vjp_error_terms}
ARGUMENTS = {"clipped_bias": arguments, "clipped_bias_vjp": vjp_arguments}
SWEEPS = {"clipped_bias": sweep, "clipped_bias_vjp": no_sweep}
SIZES = {"clipped_bias": sizes, "clipped_bias_vjp": vjp_sizes}
INVARIANTS = {
    "clipped_bias": {
        "toeplitz": toeplitz,
        "saturation": saturation,
        "last-queries": last_queries,
        "heads-apart": heads_apart,
        "mirrored": mirrored,
        "constant-table": constant_table,
    },
    "clipped_bias_vjp": {"vjp-total": vjp_total, "vjp-adjoint": vjp_adjoint},
}
DEVIATIONS = {
    "clipped_bias": {name: wrong_rows(name, looked_up) for name in WRONG_ROWS},
    "clipped_bias_vjp": {
        "gradient-clipped-lost": clipped_lost,
        "gradient-overwritten": overwritten,
        "gradient-averaged": averaged,
        "gradient-sign-flipped": wrong_rows("sign-flipped", gathered_by),
        "gradient-queries-from-zero": wrong_rows("queries-from-zero", gathered_by),
    },
}
