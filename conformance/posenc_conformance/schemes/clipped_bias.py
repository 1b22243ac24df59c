"""Biases by clipped distance: bounds, invariants and deviations."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from posenc_conformance.diagnose.mistakes import DeviationModel, Model
from posenc_conformance.families.biases import (
    averaged,
    constant_table,
    gathered,
    heads_apart,
    last_queries,
    looked_up,
    overwritten,
    pairs_of_rows,
    table_sweep,
    table_vjp_terms,
    toeplitz,
    vjp_total,
    with_gradient,
)
from posenc_conformance.families.lengths import no_sweep
from posenc_conformance.judge.arrays import Floats, fine, lattice
from posenc_conformance.judge.bounded import Exact
from posenc_conformance.judge.case import Case, exact_terms
from posenc_conformance.judge.trial import Trial

Index = npt.NDArray[np.int64]


def arguments(trial: Trial) -> dict[str, Any]:
    """A few heads, queries and keys; the table shorter or longer than the distances."""
    k_len = trial.choose("k_len", (6, 2, 9, 33))
    rows, heads = trial.choose("rows", (7, 1, 3, 5, 11, 33)), trial.choose("heads", (2, 1, 3, 8))
    q_len = trial.choose("q_len", (k_len - trial.pick.integer(0, min(3, k_len - 1)),))
    return {"table": fine((rows, heads)), "q_len": q_len, "k_len": k_len}


def vjp_arguments(trial: Trial) -> dict[str, Any]:
    """A gradient of a few heads, queries and keys; the table shorter or longer than these."""
    chosen = arguments(trial)
    rows, heads = chosen.pop("table").shape
    return {**with_gradient(chosen, heads), "rows": rows}


def vjp_sizes(case: Case) -> Iterator[dict[str, Any]]:
    """Tables of one row to 257, distances within and beyond, many heads, many queries."""
    for rows, shape in ((1, (3, 4, 4)), (5, (33, 2, 9)), (257, (2, 3, 140)), (9, (1, 130, 130))):
        yield {"gradient": fine(shape), "rows": rows}


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


def saturation(trial: Trial) -> None:
    """All keys k or more away on one side have the bias of the table's first or last row."""
    y = trial.answer(**arguments(trial))
    table, at = y.given("table"), places(y.case)
    for far, row in ((at.offset <= -at.reach, table[0]), (at.offset >= at.reach, table[-1])):
        trial.zero(
            (y - row[:, None, None]).where(far),
            "far keys do not share the table's first or last row",
        )


def mirrored(trial: Trial) -> None:
    """A table upside down, and the result with queries and keys exchanged: the same."""
    chosen = arguments(trial)
    chosen["q_len"] = trial.choose("q_len", (chosen["k_len"],))
    if chosen["q_len"] != chosen["k_len"]:
        return
    y = trial.answer(**chosen)
    turned = trial.answer(**(chosen | {"table": chosen["table"][::-1].copy()}))
    trial.zero(
        y - turned.swapped(1, 2), "turning the table upside down does not exchange past and future"
    )


def vjp_adjoint(trial: Trial) -> None:
    """<g, bias of a table> is <vjp(g), the table>."""
    y = trial.answer(**vjp_arguments(trial))
    table = lattice(y.case.shape, 3)
    bias = np.moveaxis(table[right_rows(y.case)], -1, 0)
    after = (y * Exact(table)).sum(axis=0)
    before = (y.given("gradient") * Exact(bias)).sum(axis=(1, 2))
    trial.zero(after - before, "<vjp(g), table> is not <g, bias>")


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


def clipped_lost(case: Case, got: Floats) -> Iterator[Model]:
    """Offsets of k and less alone, as a band of diagonals."""
    at = places(case)
    within = np.abs(at.offset) <= at.reach
    output = gathered(case, at.rows(at.offset), case.arguments["gradient"] * within)
    yield Model("matches gradients of clipped distances left out", output)


SHAPES = {"clipped_bias_vjp": lambda case: (case.parameter("rows"), case.parameter("heads"))}
ERROR_TERMS = {
    "clipped_bias": exact_terms,
    "clipped_bias_vjp": table_vjp_terms(right_rows),
}
ARGUMENTS = {"clipped_bias": arguments, "clipped_bias_vjp": vjp_arguments}
SWEEPS = {"clipped_bias": table_sweep("rows", 257), "clipped_bias_vjp": no_sweep}
SIZES = {"clipped_bias": sizes, "clipped_bias_vjp": vjp_sizes}
INVARIANTS = {
    "clipped_bias": {
        "toeplitz": toeplitz(arguments),
        "saturation": saturation,
        "last-queries": last_queries(arguments),
        "heads-apart": heads_apart(arguments, "table", axis=1),
        "mirrored": mirrored,
        "constant-table": constant_table(arguments),
    },
    "clipped_bias_vjp": {"vjp-total": vjp_total(vjp_arguments), "vjp-adjoint": vjp_adjoint},
}
DEVIATIONS = {
    "clipped_bias": {name: wrong_rows(name, looked_up) for name in WRONG_ROWS},
    "clipped_bias_vjp": {
        "gradient-clipped-lost": clipped_lost,
        "gradient-overwritten": overwritten(right_rows, "row"),
        "gradient-averaged": averaged(pairs_of_rows(right_rows), what="each row"),
        "gradient-sign-flipped": wrong_rows("sign-flipped", gathered),
        "gradient-queries-from-zero": wrong_rows("queries-from-zero", gathered),
    },
}
