"""Relative position representations: bounds, invariants and deviations."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from posenc_conformance.diagnose.mistakes import Model, other_conventions
from posenc_conformance.judge.arrays import Floats, fine
from posenc_conformance.judge.bounded import ARITHMETIC, Answer
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.trial import Trial
from posenc_conformance.schemes.clipped_bias import Index, places, wrong_rows

LENGTHS = (6, 1, 2, 9)
ROWS = (5, 1, 3, 11, 33)


def dots(case: Case, sizes: bool = False) -> tuple[Floats, Floats]:
    """Products of every query with every key, and with every row of the table; or of magnitudes."""
    arrays = [case.arguments[name] for name in ("q", "k", "table")]
    q, k, table = map(np.abs, arrays) if sizes else arrays
    return q @ np.swapaxes(k, 1, 2), q @ table.T


def of_rows(by_row: Floats, rows: Index) -> Floats:
    """From products with every row those of the row that each query and key have."""
    return np.take_along_axis(by_row, np.broadcast_to(rows, (len(by_row), *rows.shape)), axis=2)


def scores(case: Case, rows: Index) -> Floats:
    """The logits if these rows of the table were looked up."""
    content, by_row = dots(case)
    return (content + of_rows(by_row, rows)) / root(case)


def root(case: Case) -> float:
    """What logits are divided by."""
    return float(np.sqrt(case.parameter("head_dim")))


def right_rows(case: Case) -> Index:
    """Those of the definition."""
    at = places(case)
    return at.rows(at.offset)


def score_terms(case: Case) -> ErrorTerms:
    """The scale is the sum of the magnitudes of all products; their number stands for angles."""
    content, by_row = dots(case, sizes=True)
    scale = (content + of_rows(by_row, right_rows(case))) / root(case)
    return ErrorTerms(scale, np.asarray(2.0 * case.parameter("head_dim")))


def weighted(case: Case, rows: Index, sizes: bool = False) -> Floats:
    """The outputs if these rows of the table were looked up; or the sum of magnitudes."""
    arrays = [case.arguments[name] for name in ("weights", "v", "table")]
    weights, v, table = map(np.abs, arrays) if sizes else arrays
    return np.asarray(weights @ v + np.einsum("hij,ijc->hic", weights, table[rows]))


def value_terms(case: Case) -> ErrorTerms:
    """As for scores."""
    scale = weighted(case, right_rows(case), sizes=True)
    return ErrorTerms(scale, np.asarray(2.0 * case.parameter("k_len")))


def values_shape(case: Case) -> tuple[int, ...]:
    """[heads, q_len, head_dim]."""
    return *case.arguments["weights"].shape[:2], case.arguments["v"].shape[2]


def lengths(trial: Trial) -> tuple[int, int]:
    """A number of queries and of keys; as many queries as keys, or fewer."""
    k_len = trial.choose("k_len", LENGTHS)
    q_len = trial.choose("q_len", (k_len - trial.pick.integer(0, min(3, k_len - 1)),))
    return q_len, k_len


def score_arguments(trial: Trial) -> dict[str, Any]:
    """A few heads, queries and keys; the table shorter or longer than the distances."""
    q_len, k_len = lengths(trial)
    heads, head_dim = trial.choose("heads", (2, 1, 3)), trial.choose("head_dim", (4, 1, 6, 16))
    rows = trial.choose("rows", ROWS)
    return score_arrays(heads, q_len, k_len, head_dim, rows)


def score_arrays(heads: int, q_len: int, k_len: int, head_dim: int, rows: int) -> dict[str, Any]:
    """Arrays of these sizes."""
    return {
        "q": fine((heads, q_len, head_dim)),
        "k": fine((heads, k_len, head_dim), 5),
        "table": fine((rows, head_dim), 11),
    }


def value_arguments(trial: Trial) -> dict[str, Any]:
    """The same for outputs; weights are not negative, and do not sum to 1."""
    q_len, k_len = lengths(trial)
    heads, head_dim = trial.choose("heads", (2, 1, 3)), trial.choose("head_dim", (3, 1, 6, 16))
    return value_arrays(heads, q_len, k_len, head_dim, trial.choose("rows", ROWS))


def value_arrays(heads: int, q_len: int, k_len: int, head_dim: int, rows: int) -> dict[str, Any]:
    """Arrays of these sizes."""
    return {
        "weights": np.abs(fine((heads, q_len, k_len))),
        "v": fine((heads, k_len, head_dim), 5),
        "table": fine((rows, head_dim), 11),
    }


def sweep(arrays: Callable[..., dict[str, Any]]) -> Callable[[Mapping[str, Any], int], Any]:
    """Two queries at the end of many keys."""

    def make(parameters: Mapping[str, Any], largest: int) -> dict[str, Any]:
        usual = {"heads": 2, "q_len": 2, "k_len": min(largest, 300) + 1, "head_dim": 4, "rows": 65}
        usual |= parameters
        return arrays(**(usual | {"q_len": min(usual["q_len"], usual["k_len"])}))

    return make


def sizes(arrays: Callable[..., dict[str, Any]]) -> Callable[[Case], Iterator[dict[str, Any]]]:
    """Odd and even heads, powers of two and not; tables that end within the keys and beyond."""

    def changes(case: Case) -> Iterator[dict[str, Any]]:
        for chosen in (
            (1, 2, 2, 3, 1),
            (9, 3, 5, 5, 3),
            (1, 4, 4, 64, 5),
            (2, 1, 40, 6, 33),
            (1, 65, 65, 2, 9),
        ):
            yield arrays(*chosen)

    return changes


def plain_dot_products(trial: Trial) -> None:
    """With a table of zeros the logits are those of ordinary attention."""
    chosen = score_arguments(trial)
    answer = trial.answer(**(chosen | {"table": np.zeros_like(chosen["table"])}))
    content = dots(answer.case)[0] / root(answer.case)
    size = dots(answer.case, sizes=True)[0] / root(answer.case)
    trial.within(
        answer,
        answer.values - content,
        answer.bound + ARITHMETIC * size,
        "with a table of zeros the logits are not q.k / sqrt(head_dim)",
    )


def clipped_offset_only(trial: Trial) -> None:
    """For equal queries and equal keys the logits depend on the clipped offset alone."""
    chosen = score_arguments(trial)
    same = {name: np.broadcast_to(chosen[name][:, :1], chosen[name].shape) for name in ("q", "k")}
    answer = trial.answer(**(chosen | same))
    equal_where_rows_are(trial, answer, "equal queries and keys at equal clipped offsets differ")


def equal_where_rows_are(trial: Trial, answer: Answer, what: str) -> None:
    """Demand one value for all elements that look up the same row."""
    rows = right_rows(answer.case)
    _, first, group = np.unique(rows, return_index=True, return_inverse=True)
    query, key = np.unravel_index(first[group.reshape(rows.shape)], rows.shape)
    other, bound = answer.values[:, query, key], answer.bound[:, query, key]
    trial.within(answer, answer.values - other, answer.bound + bound, what)


def constant_table(trial: Trial) -> None:
    """A table of equal rows c adds q_i.c / sqrt(head_dim) to row i, which softmax does not see."""
    chosen = score_arguments(trial)
    rows = np.broadcast_to(chosen["table"][:1], chosen["table"].shape)
    answer = trial.answer(**(chosen | {"table": rows}))
    without = trial.answer(**(chosen | {"table": np.zeros_like(rows)}))
    added = dots(answer.case)[1][:, :, :1] / root(answer.case)
    size = dots(answer.case, sizes=True)[1][:, :, :1] / root(answer.case)
    trial.within(
        answer,
        answer.values - without.values - added,
        answer.bound + without.bound + ARITHMETIC * size,
        "a table of equal rows c does not add q.c / sqrt(head_dim) everywhere",
    )


def linear_in_q(trial: Trial) -> None:
    """Twice the queries, twice the logits; a power of two changes no rounding."""
    chosen = score_arguments(trial)
    answer, twice = trial.answer(**chosen), trial.answer(**(chosen | {"q": 2 * chosen["q"]}))
    trial.within(
        answer,
        twice.values - 2 * answer.values,
        twice.bound + 2 * answer.bound,
        "twice the queries do not give twice the logits",
    )


def last_queries(trial: Trial) -> None:
    """Fewer queries are the last rows of as many queries as keys."""
    chosen = score_arguments(trial)
    heads, q_len, head_dim = chosen["q"].shape
    k_len = chosen["k"].shape[1]
    if k_len not in trial.scope.parameters.get("q_len", (k_len,)):
        return
    every = fine((heads, k_len, head_dim), 3)
    whole = trial.answer(**(chosen | {"q": every}))
    answer = trial.answer(**(chosen | {"q": every[:, k_len - q_len :].copy()}))
    trial.within(
        answer,
        answer.values - whole.values[:, k_len - q_len :],
        answer.bound + whole.bound[:, k_len - q_len :],
        "with fewer queries than keys the queries are not the last ones",
    )


def plain_average(trial: Trial) -> None:
    """With a table of zeros the outputs are the weighted values."""
    chosen = value_arguments(trial)
    answer = trial.answer(**(chosen | {"table": np.zeros_like(chosen["table"])}))
    given = answer.case.arguments
    trial.within(
        answer,
        answer.values - given["weights"] @ given["v"],
        answer.bound + ARITHMETIC * (given["weights"] @ np.abs(given["v"])),
        "with a table of zeros the outputs are not the weighted values",
    )


def constant_value_table(trial: Trial) -> None:
    """A table of equal rows c adds c times the sum of the weights: c itself after a softmax."""
    chosen = value_arguments(trial)
    rows = np.broadcast_to(chosen["table"][:1], chosen["table"].shape)
    answer = trial.answer(**(chosen | {"table": rows}))
    without = trial.answer(**(chosen | {"table": np.zeros_like(rows)}))
    given = answer.case.arguments
    added = given["weights"].sum(axis=-1, keepdims=True) * given["table"][0]
    trial.within(
        answer,
        answer.values - without.values - added,
        answer.bound + without.bound + ARITHMETIC * np.abs(added),
        "a table of equal rows c does not add c times the sum of the weights",
    )


def single_weight(trial: Trial) -> None:
    """All weight on one key gives its value plus the vector of its clipped offset."""
    chosen = value_arguments(trial)
    key = trial.pick.integer(0, chosen["v"].shape[1] - 1)
    weights = np.zeros_like(chosen["weights"])
    weights[..., key] = 1
    answer = trial.answer(**(chosen | {"weights": weights}))
    given = answer.case.arguments
    edge = given["table"][right_rows(answer.case)[:, key]]
    trial.within(
        answer,
        answer.values - (given["v"][:, key, None] + edge),
        answer.bound + ARITHMETIC * np.abs(edge),
        f"all weight on key {key} does not give its value plus the vector of its offset",
    )


def absolute_rows(case: Case, got: Floats) -> Iterator[Model]:
    """Rows by the position of the key, as the matrix product Q R^T would have them."""
    q_len, k_len = int(case.parameter("q_len")), int(case.parameter("k_len"))
    row = np.minimum(np.arange(k_len), len(case.arguments["table"]) - 1)
    logits = scores(case, np.broadcast_to(row, (q_len, k_len)))
    yield Model("matches rows taken by the position of the key, not its offset", logits)


def keys_for_queries(case: Case, got: Floats) -> Iterator[Model]:
    """The table multiplied with keys."""
    q, k, table = (case.arguments[name] for name in ("q", "k", "table"))
    position = np.einsum("hjc,ijc->hij", k, table[right_rows(case)])
    logits = (q @ np.swapaxes(k, 1, 2) + position) / root(case)
    yield Model("matches the table multiplied with keys instead of queries", logits)


def scaling_misplaced(case: Case, got: Floats) -> Iterator[Model]:
    """The square root dividing one term only, or none."""
    content, by_row = dots(case)
    position, scale = of_rows(by_row, right_rows(case)), root(case)
    yield Model("matches q.a not divided by sqrt(head_dim)", content / scale + position)
    yield Model("matches q.k not divided by sqrt(head_dim)", content + position / scale)
    yield Model("matches logits not divided by sqrt(head_dim)", content + position)


def position_left_out(case: Case, got: Floats) -> Iterator[Model]:
    """Ordinary attention."""
    yield Model("matches logits without the table", dots(case)[0] / root(case))


def skew_leaked(case: Case, got: Floats) -> Iterator[Model]:
    """The skewing of the Music Transformer, whose upper triangle belongs to other pairs."""
    content, by_row = dots(case)
    heads, q_len, k_len = content.shape
    if q_len != k_len or case.conventions["offset"] != "key-minus-query":
        return
    reach = by_row.shape[2] // 2
    behind = by_row[:, :, np.maximum(np.arange(1 - k_len, 1), -reach) + reach]
    padded = np.pad(behind, ((0, 0), (0, 0), (1, 0)))
    skewed = padded.reshape(heads, k_len + 1, q_len)[:, 1:]
    yield Model(
        "matches skewed products whose entries after the query were not masked",
        (content + skewed) / root(case),
    )


def values_left_out(case: Case, got: Floats) -> Iterator[Model]:
    """Weighted values alone."""
    given = case.arguments
    yield Model("matches outputs without the table", given["weights"] @ given["v"])


ERROR_TERMS = {"shaw_scores": score_terms, "shaw_values": value_terms}
ARGUMENTS = {"shaw_scores": score_arguments, "shaw_values": value_arguments}
SWEEPS = {"shaw_scores": sweep(score_arrays), "shaw_values": sweep(value_arrays)}
SIZES = {"shaw_scores": sizes(score_arrays), "shaw_values": sizes(value_arrays)}
SHAPES = {"shaw_values": values_shape}
INVARIANTS = {
    "shaw_scores": {
        "plain-dot-products": plain_dot_products,
        "clipped-offset-only": clipped_offset_only,
        "constant-table": constant_table,
        "linear-in-q": linear_in_q,
        "last-queries": last_queries,
    },
    "shaw_values": {
        "plain-average": plain_average,
        "constant-value-table": constant_value_table,
        "single-weight": single_weight,
    },
}
DEVIATIONS = {
    "shaw_scores": {
        "offset-swapped": other_conventions(
            "offset", "matches offsets of {value}; {claimed} was claimed"
        ),
        "queries-from-zero": wrong_rows("queries-from-zero", scores),
        "clip-shifted": wrong_rows("clip-shifted", scores),
        "offset-shifted": wrong_rows("offset-shifted", scores),
        "table-unshifted": wrong_rows("table-unshifted", scores),
        "absolute-rows": absolute_rows,
        "keys-for-queries": keys_for_queries,
        "scaling-misplaced": scaling_misplaced,
        "skew-leaked": skew_leaked,
        "position-left-out": position_left_out,
    },
    "shaw_values": {
        "values-sign-flipped": wrong_rows("sign-flipped", weighted),
        "values-queries-from-zero": wrong_rows("queries-from-zero", weighted),
        "values-clip-shifted": wrong_rows("clip-shifted", weighted),
        "values-table-unshifted": wrong_rows("table-unshifted", weighted),
        "values-left-out": values_left_out,
    },
}
