"""What the schemes of biases share: invariants, and models of mistakes.

A scheme says what a key far away costs; that queries are the last of the keys, that a bias is added
head by head, and that its gradient is linear, is the same for all.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from posenc_conformance.diagnose.mistakes import DeviationModel, Model
from posenc_conformance.families.lengths import Integers, distances, lags, lengths, queries
from posenc_conformance.judge.arrays import Floats, fine
from posenc_conformance.judge.bounded import Exact
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.trial import Arguments, InvariantCheck, Trial

Sweep = Callable[[Mapping[str, Any], int], dict[str, Any]]
Rows = Callable[[Case], Integers]
"""The row of a table for each query and key: [q_len, k_len]."""


@dataclass(frozen=True)
class DistanceBias:
    """A bias that each head forms of the distance alone, with numbers of its own.

    All tables of the kit that such a scheme needs follow from its formula.
    """

    at: Callable[[Case, Floats], Floats]
    """The bias at distances of shape [q_len, k_len]: [heads, q_len, k_len]."""
    numbers: Mapping[str, float]
    """Arrays of one number for each head, and the middle of the values that are drawn."""
    lost: Callable[[Case, Floats], Floats] | None = None
    """What the formula loses inside, relative to its result and in units of u: for ``angle``."""

    def of_heads(self, heads: int) -> dict[str, Floats]:
        """Different numbers for each head."""
        return {
            name: middle + fine((heads,), 31 * start) / 2
            for start, (name, middle) in enumerate(self.numbers.items())
        }

    def arguments(self, trial: Trial) -> dict[str, Any]:
        """A few heads, queries and keys."""
        chosen = lengths(trial)
        return self.of_heads(trial.choose("heads", (2, 1, 3, 8))) | chosen

    def sweep(self, parameters: Mapping[str, Any], largest: int) -> dict[str, Any]:
        """One query at the end of many keys."""
        rest = {name: value for name, value in parameters.items() if name != "heads"}
        numbers = self.of_heads(parameters.get("heads", 2))
        return {**numbers, "q_len": 1, "k_len": min(largest, 1023) + 1, **rest}

    def sizes(self, case: Case) -> Iterator[dict[str, Any]]:
        """Many heads, and many queries."""
        for heads in (1, 3, 8, 20, 33):
            yield {**self.of_heads(heads), "q_len": 1, "k_len": 3}
        yield {**self.of_heads(1), "q_len": 300, "k_len": 300}

    def error_terms(self, case: Case) -> ErrorTerms:
        """The scale is the magnitude of the bias."""
        distance = distances(case)
        scale = np.abs(self.at(case, distance))
        lost = np.zeros(()) if self.lost is None else self.lost(case, distance)
        return ErrorTerms(scale, np.where(scale == 0, 0.0, lost))

    @property
    def invariants(self) -> dict[str, InvariantCheck]:
        """What every such bias obeys."""
        return {
            "toeplitz": toeplitz(self.arguments),
            "last-queries": last_queries(self.arguments),
            "heads-apart": heads_apart(self.arguments, *self.numbers),
        }

    @property
    def deviations(self) -> dict[str, DeviationModel]:
        """Mistakes that every such bias knows."""
        return {
            "sign-flipped": negated("matches the bias with the sign flipped"),
            "queries-from-zero": queries_from_zero(self._from_queries),
            "distance-shifted": distance_shifted(self._shifted),
        }

    def _from_queries(self, case: Case, query: Integers) -> Iterator[Floats]:
        yield self.at(case, distances(case, query))

    def _shifted(self, case: Case, shift: int) -> Floats:
        return self.at(case, distances(case, queries(case) + shift))


def with_gradient(arguments: dict[str, Any], heads: int, start: int = 0) -> dict[str, Any]:
    """The arguments with a gradient in place of the lengths of a bias."""
    q_len, k_len = arguments.pop("q_len"), arguments.pop("k_len")
    return {"gradient": fine((heads, q_len, k_len), start), **arguments}


def seen_gradient(case: Case) -> Floats:
    """The gradient, 0 where a causal mask hides the bias."""
    return np.where(lags(case) < 0, 0.0, case.arguments["gradient"])


def table_sweep(name: str, rows: int, **more: Any) -> Sweep:
    """Two queries at the end of many keys, for a dozen heads and a table of so many rows."""

    def make(parameters: Mapping[str, Any], largest: int) -> dict[str, Any]:
        k_len = min(largest, 4096) + 1
        table = fine((parameters.get(name, rows), parameters.get("heads", 12)))
        rest = {key: value for key, value in parameters.items() if key not in (name, "heads")}
        return {"table": table, "q_len": min(2, k_len), "k_len": k_len, **more, **rest}

    return make


def toeplitz(arguments: Arguments) -> InvariantCheck:
    """The bias depends on the distance between key and query only."""

    def check(trial: Trial) -> None:
        y = trial.answer(**arguments(trial))
        trial.zero(y[:, 1:, 1:] - y[:, :-1, :-1], "the bias is not constant along the diagonals")

    return check


def last_queries(arguments: Arguments) -> InvariantCheck:
    """Fewer queries are the last rows of as many queries as keys."""

    def check(trial: Trial) -> None:
        chosen = arguments(trial)
        q_len, k_len = chosen["q_len"], chosen["k_len"]
        few, every = trial.answer(**chosen), trial.answer(**(chosen | {"q_len": k_len}))
        trial.zero(
            few - every[:, k_len - q_len :],
            "with fewer queries than keys the queries are not the last ones",
        )

    return check


def heads_apart(arguments: Arguments, *names: str, axis: int = 0) -> InvariantCheck:
    """Heads in reverse order, in these arguments, have their biases in reverse order."""

    def check(trial: Trial) -> None:
        chosen = arguments(trial)
        turned = {name: np.flip(chosen[name], axis).copy() for name in names}
        y, other = trial.answer(**chosen), trial.answer(**(chosen | turned))
        trial.zero(
            y - other[::-1], "heads in reverse order do not have their biases in reverse order"
        )

    return check


def constant_table(arguments: Arguments) -> InvariantCheck:
    """A table of one value gives a bias of that value everywhere: no scale is applied."""

    def check(trial: Trial) -> None:
        chosen = arguments(trial)
        y = trial.answer(**(chosen | {"table": np.full_like(chosen["table"], 0.75)}))
        trial.zero(y - Exact(0.75), "a constant table does not give a constant bias")

    return check


def vjp_total(arguments: Arguments) -> InvariantCheck:
    """The gradient of a table adds up to that of the bias: nothing is lost."""

    def check(trial: Trial) -> None:
        y = trial.answer(**arguments(trial))
        trial.zero(
            y.sum(axis=0) - y.given("gradient").sum(axis=(1, 2)),
            "the gradient does not add up to what came in",
        )

    return check


def negated(explanation: str) -> DeviationModel:
    """The opposite sign everywhere."""

    def models(case: Case, got: Floats) -> Iterator[Model]:
        yield Model(explanation, -case.truth)

    return models


def queries_from_zero(biases: Callable[[Case, Integers], Iterator[Floats]]) -> DeviationModel:
    """Query i taken to stand at position i, although keys come before it.

    ``biases`` takes the positions of the queries, as a column.
    """

    def models(case: Case, got: Floats) -> Iterator[Model]:
        late = case.parameter("k_len") - case.parameter("q_len")
        one = case.parameter("q_len") == 1
        words = "a single query that stands" if one else "queries that start"
        if late:
            for output in biases(case, queries(case) - late):
                yield Model(f"matches {words} at position 0", output)

    return models


def distance_shifted(bias: Callable[[Case, int], Floats]) -> DeviationModel:
    """A distance of one for the query itself, or none for the key before it.

    ``bias`` takes what is added to all distances.
    """

    def models(case: Case, got: Floats) -> Iterator[Model]:
        for shift in (1, -1):
            yield Model(f"matches distances shifted by {shift:+d}", bias(case, shift))

    return models


def averaged(*numbers: Callable[[Case], Any], what: str) -> DeviationModel:
    """Means of gradients where their sums belong; the numbers are those of the terms."""

    def models(case: Case, got: Floats) -> Iterator[Model]:
        for number in numbers:
            yield Model(f"matches the mean over {what}", case.truth / np.maximum(number(case), 1))

    return models


def pairs(case: Case) -> int:
    """Number of queries times number of keys."""
    return int(case.parameter("q_len") * case.parameter("k_len"))


def looked_up(case: Case, rows: Integers) -> Floats:
    """The bias that a table has in these rows."""
    return np.moveaxis(case.arguments["table"][rows], -1, 0)


def gathered(case: Case, rows: Integers, gradient: Floats | None = None) -> Floats:
    """Sums of a gradient, the case's own or another, over the pairs of each row: [rows, heads]."""
    sums = np.zeros(case.shape)
    each = case.arguments["gradient"] if gradient is None else gradient
    np.add.at(sums, rows, np.moveaxis(each, 0, -1))
    return sums


def pairs_of_rows(rows: Rows) -> Callable[[Case], Floats]:
    """How many queries and keys each row serves: [rows, heads]."""
    return lambda case: gathered(case, rows(case), np.ones(case.arguments["gradient"].shape))


def table_vjp_terms(rows: Rows) -> Callable[[Case], ErrorTerms]:
    """The scale is the sum of the magnitudes added up; their number stands in place of angles."""

    def terms(case: Case) -> ErrorTerms:
        size = np.abs(case.arguments["gradient"])
        return ErrorTerms(gathered(case, rows(case), size), pairs_of_rows(rows)(case))

    return terms


def overwritten(rows: Rows, what: str) -> DeviationModel:
    """The last pair's gradient alone."""

    def models(case: Case, got: Floats) -> Iterator[Model]:
        output, row = np.zeros(case.shape), rows(case)
        for query, key in np.ndindex(row.shape):
            output[row[query, key]] = case.arguments["gradient"][:, query, key]
        yield Model(f"matches gradients of a {what} written over each other", output)

    return models
