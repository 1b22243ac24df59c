"""Shared parts of bias schemes: invariants, and models of mistakes.

A scheme defines the bias of a key at a distance. All schemes share the rest: queries are at the
last key positions, a bias is added head by head, and its gradient is linear.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from posenc_conformance.families.lengths import Integers, distances, lags, lengths, queries
from posenc_conformance.judge.arrays import Floats, fine
from posenc_conformance.judge.bounded import Exact
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.deviation import DeviationModel, Prediction
from posenc_conformance.judge.trial import DrawArguments, InvariantCheck, Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments

Sweep = Callable[[Arguments, int], ArgumentDict]
Rows = Callable[[Case], Integers]
"""Returns the table row of each query-key pair: [q_len, k_len]."""


@dataclass(frozen=True)
class DistanceBias:
    """A bias that each head computes only from the distance and its own parameters.

    All that the kit needs for such a scheme follows from its formula.
    """

    at: Callable[[Case, Floats], Floats]
    """The bias at distances of shape [q_len, k_len]: [heads, q_len, k_len]."""
    numbers: Mapping[str, float]
    """Names of the arrays of parameters, one number per head, and the middle of drawn values."""
    lost: Callable[[Case, Floats], Floats] | None = None
    """Rounding errors in the formula, relative to its result, in units of u, used as ``angle``."""

    def of_heads(self, heads: int) -> dict[str, Floats]:
        """Make arrays with a different number for each head."""
        return {
            name: middle + fine((heads,), 31 * start) / 2
            for start, (name, middle) in enumerate(self.numbers.items())
        }

    def arguments(self, trial: Trial) -> ArgumentDict:
        """Draw a few heads, queries and keys."""
        chosen = lengths(trial)
        return self.of_heads(trial.choose("heads", (2, 1, 3, 8))) | chosen

    def sweep(self, parameters: Arguments, largest: int) -> ArgumentDict:
        """Place one query at the end of many keys."""
        others = {name: value for name, value in parameters.items() if name != "heads"}
        numbers = self.of_heads(parameters.get("heads", 2))
        return {**numbers, "q_len": 1, "k_len": min(largest, 1023) + 1, **others}

    def sizes(self, case: Case) -> Iterator[ArgumentDict]:
        """Yield few and many heads, then many queries."""
        for heads in (1, 3, 8, 20, 33):
            yield {**self.of_heads(heads), "q_len": 1, "k_len": 3}
        yield {**self.of_heads(1), "q_len": 300, "k_len": 300}

    def error_terms(self, case: Case) -> ErrorTerms:
        """Return the scale, which is the magnitude of the bias, and the loss in the formula.

        The loss takes the place of the angle. It is 0 where the bias is 0.
        """
        distance = distances(case)
        scale = np.abs(self.at(case, distance))
        lost = np.zeros(()) if self.lost is None else self.lost(case, distance)
        return ErrorTerms(scale, np.where(scale == 0, 0.0, lost))

    @property
    def invariants(self) -> dict[str, InvariantCheck]:
        """Checks of the invariants of every such bias."""
        return {
            "toeplitz": toeplitz(self.arguments),
            "last-queries": last_queries(self.arguments),
            "heads-apart": heads_apart(self.arguments, *self.numbers),
        }

    @property
    def deviations(self) -> dict[str, DeviationModel]:
        """Models of mistakes that are possible in every such bias."""
        return {
            "sign-flipped": negated("matches the bias with the sign flipped"),
            "queries-from-zero": queries_from_zero(self._from_queries),
            "distance-shifted": distance_shifted(self._shifted),
        }

    def _from_queries(self, case: Case, query: Integers) -> Iterator[Floats]:
        yield self.at(case, distances(case, query))
        yield self.at(case, np.abs(lags(case, query)).astype(np.float64))

    def _shifted(self, case: Case, shift: int) -> Floats:
        return self.at(case, distances(case, queries(case) + shift))


def with_gradient(arguments: ArgumentDict, heads: int, start: int = 0) -> ArgumentDict:
    """Replace the lengths among the arguments of a bias by a gradient: [heads, q_len, k_len]."""
    q_len, k_len = arguments.pop("q_len"), arguments.pop("k_len")
    return {"gradient": fine((heads, q_len, k_len), start), **arguments}


def seen_gradient(case: Case) -> Floats:
    """Return the gradient, with 0 where a causal mask hides the bias."""
    return np.where(lags(case) < 0, 0.0, case.arguments["gradient"])


def table_sweep(name: str, rows: int, **more: Any) -> Sweep:
    """Make a sweep with two queries at the end of many keys.

    The table has a dozen heads and ``rows`` rows, unless the parameters give other numbers.
    ``name`` is the parameter that counts the rows.
    """

    def make(parameters: Arguments, largest: int) -> ArgumentDict:
        k_len = min(largest, 4096) + 1
        table = fine((parameters.get(name, rows), parameters.get("heads", 12)))
        others = {key: value for key, value in parameters.items() if key not in (name, "heads")}
        return {"table": table, "q_len": min(2, k_len), "k_len": k_len, **more, **others}

    return make


def toeplitz(arguments: DrawArguments) -> InvariantCheck:
    """Make a check that the bias depends on the distance between key and query only."""

    def check(trial: Trial) -> None:
        y = trial.answer(**arguments(trial))
        trial.assert_zero(
            y[:, 1:, 1:] - y[:, :-1, :-1], "the bias is not constant along the diagonals"
        )

    return check


def last_queries(arguments: DrawArguments) -> InvariantCheck:
    """Make a check that fewer queries than keys get the last rows of the bias of all queries."""

    def check(trial: Trial) -> None:
        chosen = arguments(trial)
        q_len, k_len = chosen["q_len"], chosen["k_len"]
        few, every = trial.answer(**chosen), trial.answer(**(chosen | {"q_len": k_len}))
        trial.assert_zero(
            few - every[:, k_len - q_len :],
            "with fewer queries than keys the queries are not the last ones",
        )

    return check


def heads_apart(arguments: DrawArguments, *names: str, axis: int = 0) -> InvariantCheck:
    """Make a check that heads in reverse order have their biases in reverse order.

    The heads are reversed in the arguments ``names``.
    """

    def check(trial: Trial) -> None:
        chosen = arguments(trial)
        turned = {name: np.flip(chosen[name], axis).copy() for name in names}
        y, other = trial.answer(**chosen), trial.answer(**(chosen | turned))
        trial.assert_zero(
            y - other[::-1], "heads in reverse order do not have their biases in reverse order"
        )

    return check


def constant_table(arguments: DrawArguments) -> InvariantCheck:
    """Make a check that a table of one value gives a bias of that value, without a scale."""

    def check(trial: Trial) -> None:
        chosen = arguments(trial)
        y = trial.answer(**(chosen | {"table": np.full_like(chosen["table"], 0.75)}))
        trial.assert_zero(y - Exact(0.75), "a constant table does not give a constant bias")

    return check


def vjp_total(arguments: DrawArguments) -> InvariantCheck:
    """Make a check that the table's gradient adds up to the upstream gradient: nothing is lost."""

    def check(trial: Trial) -> None:
        y = trial.answer(**arguments(trial))
        trial.assert_zero(
            y.sum(axis=0) - y.given("gradient").sum(axis=(1, 2)),
            "the gradient does not add up to what came in",
        )

    return check


def negated(explanation: str) -> DeviationModel:
    """Make a model that predicts the opposite sign everywhere."""

    def models(case: Case, got: Floats) -> Iterator[Prediction]:
        yield Prediction(explanation, -case.truth)

    return models


def queries_from_zero(biases: Callable[[Case, Integers], Iterator[Floats]]) -> DeviationModel:
    """Make a model that places query i at position i, although keys come before it.

    ``biases`` takes the positions of the queries, as a column.
    """

    def models(case: Case, got: Floats) -> Iterator[Prediction]:
        late = case.parameter("k_len") - case.parameter("q_len")
        single = case.parameter("q_len") == 1
        if late:
            for output in biases(case, queries(case) - late):
                # Both have the same result: code may leave the bias out while decoding.
                none = single and not output[case.shown].any()
                more = ", or no bias for a single query" if none else ""
                if single:
                    words = f"matches a single query that stands at position 0{more}"
                    yield Prediction(words, output)
                yield Prediction("matches queries that start at position 0", output)

    return models


def distance_shifted(
    bias: Callable[[Case, int], Floats],
    estimate: Callable[[Case, Floats], Iterable[int]] = lambda case, got: (),
) -> DeviationModel:
    """Make a model that predicts distances off by one.

    A query gets distance 1 to itself, or distance 0 to the key before it. ``bias`` takes the number
    that is added to all distances; ``estimate`` reads further ones from the result.
    """

    def models(case: Case, got: Floats) -> Iterator[Prediction]:
        for shift in (1, -1, *estimate(case, got)):
            yield Prediction(f"matches distances shifted by {shift:+d}", bias(case, shift))

    return models


def averaged(*numbers: Callable[[Case], Any], what: str) -> DeviationModel:
    """Make a model that predicts means of gradients instead of their sums.

    ``numbers`` count the terms of the sums.
    """

    def models(case: Case, got: Floats) -> Iterator[Prediction]:
        for number in numbers:
            yield Prediction(
                f"matches the mean over {what}", case.truth / np.maximum(number(case), 1)
            )

    return models


def pairs(case: Case) -> int:
    """Count the pairs of a query and a key: the number of queries times the number of keys."""
    return int(case.parameter("q_len") * case.parameter("k_len"))


def looked_up(case: Case, rows: Integers) -> Floats:
    """Look up the biases in these rows of the table: [heads, q_len, k_len]."""
    return np.moveaxis(case.arguments["table"][rows], -1, 0)


def gathered(case: Case, rows: Integers, gradient: Floats | None = None) -> Floats:
    """Sum the case's upstream gradient, or another, over the pairs of each row: [rows, heads]."""
    sums = np.zeros(case.shape)
    upstream = case.arguments["gradient"] if gradient is None else gradient
    np.add.at(sums, rows, np.moveaxis(upstream, 0, -1))
    return sums


def pairs_of_rows(rows: Rows) -> Callable[[Case], Floats]:
    """Make a function that counts the query-key pairs of each table row: [rows, heads]."""
    return lambda case: gathered(case, rows(case), np.ones(case.arguments["gradient"].shape))


def table_vjp_terms(rows: Rows) -> Callable[[Case], ErrorTerms]:
    """Make a function that returns the error terms for the gradient with respect to a table.

    The scale is the sum of the terms' magnitudes; their number takes the place of the angle.
    """

    def terms(case: Case) -> ErrorTerms:
        size = np.abs(case.arguments["gradient"])
        return ErrorTerms(gathered(case, rows(case), size), pairs_of_rows(rows)(case))

    return terms


def overwritten(rows: Rows, what: str) -> DeviationModel:
    """Make a model in which each table row keeps only the gradient of its last query-key pair."""

    def models(case: Case, got: Floats) -> Iterator[Prediction]:
        output, row = np.zeros(case.shape), rows(case)
        for query, key in np.ndindex(row.shape):
            output[row[query, key]] = case.arguments["gradient"][:, query, key]
        yield Prediction(f"matches gradients of a {what} written over each other", output)

    return models
