"""Biases by clipped distance: bounds, invariants and deviations."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

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
from posenc_conformance.judge.deviation import DeviationModel, Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict

Index = npt.NDArray[np.int64]


def arguments(trial: Trial) -> ArgumentDict:
    """Draw a few heads, queries and keys, and a table for fewer or more distances than occur."""
    k_len = trial.choose("k_len", (6, 2, 9, 33))
    rows, heads = trial.choose("rows", (7, 1, 3, 5, 11, 33)), trial.choose("heads", (2, 1, 3, 8))
    q_len = trial.choose("q_len", (k_len - trial.pick.integer(0, min(3, k_len - 1)),))
    return {"table": fine((rows, heads)), "q_len": q_len, "k_len": k_len}


def vjp_arguments(trial: Trial) -> ArgumentDict:
    """Draw an upstream gradient for a few heads, queries and keys.

    The table is for fewer or more distances than occur.
    """
    chosen = arguments(trial)
    rows, heads = chosen.pop("table").shape
    return {**with_gradient(chosen, heads), "rows": rows}


def vjp_sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield gradients for tables of 1 to 257 rows, far distances, many heads and many queries."""
    for rows, shape in ((1, (3, 4, 4)), (5, (33, 2, 9)), (257, (2, 3, 140)), (9, (1, 130, 130))):
        yield {"gradient": fine(shape), "rows": rows}


def sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield tables of 1 to 601 rows, distances within them and beyond, many heads and queries."""
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
    """Check that keys k or more before the query have the bias of the table's first row.

    Keys k or more after the query have the bias of its last row.
    """
    y = trial.answer(**arguments(trial))
    table, at = y.given("table"), places(y.case)
    for far, row in ((at.offset <= -at.reach, table[0]), (at.offset >= at.reach, table[-1])):
        trial.assert_zero(
            (y - row[:, None, None]).where(far),
            "far keys do not share the table's first or last row",
        )


def mirrored(trial: Trial) -> None:
    """Check that turning the table upside down exchanges queries and keys in the result."""
    chosen = arguments(trial)
    chosen["q_len"] = trial.choose("q_len", (chosen["k_len"],))
    if chosen["q_len"] != chosen["k_len"]:
        return
    y = trial.answer(**chosen)
    turned = trial.answer(**(chosen | {"table": chosen["table"][::-1].copy()}))
    trial.assert_zero(
        y - turned.swapped(1, 2), "turning the table upside down does not exchange past and future"
    )


def vjp_adjoint(trial: Trial) -> None:
    """Check that <g, bias of a table> is <vjp(g), the table>."""
    y = trial.answer(**vjp_arguments(trial))
    table = lattice(y.case.shape, 3)
    bias = np.moveaxis(table[right_rows(y.case)], -1, 0)
    after = (y * Exact(table)).sum(axis=0)
    before = (y.given("gradient") * Exact(bias)).sum(axis=(1, 2))
    trial.assert_zero(after - before, "<vjp(g), table> is not <g, bias>")


def offset_matrix(q_len: int, k_len: int, first: int) -> Index:
    """Return key position minus query position, with the first query at position ``first``."""
    return np.asarray(np.arange(k_len) - (first + np.arange(q_len))[:, None], dtype=np.int64)


@dataclass(frozen=True)
class Places:
    """The offset of each query and key, to look up a table of 2k+1 rows."""

    offset: Index
    """Key minus query, or the reverse where that is the convention."""
    from_zero: Index
    """The offset with the first query at position 0."""
    reach: int
    """k, the limit to which larger offsets are clipped."""

    def rows(self, offset: Index) -> Index:
        """Return the row of the table for each offset."""
        return np.clip(offset, -self.reach, self.reach) + self.reach

    def clipped_early(self, low: int, high: int) -> Index:
        """Return the rows for offsets clipped one too early at one end or at both."""
        ends = min(low - self.reach, 0), max(self.reach - high, 0)
        return np.asarray(np.clip(self.offset, *ends) + self.reach)


def places(case: Case) -> Places:
    """Compute the offsets for which a case looks up its table."""
    q_len, k_len = int(case.parameter("q_len")), int(case.parameter("k_len"))
    sign = -1 if case.conventions.get("offset") == "query-minus-key" else 1
    return Places(
        sign * offset_matrix(q_len, k_len, k_len - q_len),
        sign * offset_matrix(q_len, k_len, 0),
        int(case.parameter("rows")) // 2,
    )


def right_rows(case: Case) -> Index:
    """Return the row of the table for each query and key."""
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
    """Make the model of deviation ``name``; ``result`` computes the call's result from its rows."""

    def models(case: Case, got: Floats) -> Iterator[Prediction]:
        at = places(case)
        for explanation, rows in WRONG_ROWS[name].items():
            yield Prediction(explanation, result(case, rows(at)))

    return models


def clipped_lost(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict a gradient summed over offsets up to k only, as from a band of diagonals."""
    at = places(case)
    within = np.abs(at.offset) <= at.reach
    output = gathered(case, at.rows(at.offset), case.arguments["gradient"] * within)
    yield Prediction("matches gradients of clipped distances left out", output)


KNOWLEDGE = {
    "clipped_bias": CallKnowledge(
        error_terms=exact_terms,
        arguments=arguments,
        sweep=table_sweep("rows", 257),
        sizes=sizes,
        invariants={
            "toeplitz": toeplitz(arguments),
            "saturation": saturation,
            "last-queries": last_queries(arguments),
            "heads-apart": heads_apart(arguments, "table", axis=1),
            "mirrored": mirrored,
            "constant-table": constant_table(arguments),
        },
        deviations={name: wrong_rows(name, looked_up) for name in WRONG_ROWS},
    ),
    "clipped_bias_vjp": CallKnowledge(
        error_terms=table_vjp_terms(right_rows),
        arguments=vjp_arguments,
        sweep=no_sweep,
        sizes=vjp_sizes,
        shape=lambda case: (case.parameter("rows"), case.parameter("heads")),
        invariants={"vjp-total": vjp_total(vjp_arguments), "vjp-adjoint": vjp_adjoint},
        deviations={
            "gradient-clipped-lost": clipped_lost,
            "gradient-overwritten": overwritten(right_rows, "row"),
            "gradient-averaged": averaged(pairs_of_rows(right_rows), what="each row"),
            "gradient-sign-flipped": wrong_rows("sign-flipped", gathered),
            "gradient-queries-from-zero": wrong_rows("queries-from-zero", gathered),
        },
    ),
}
