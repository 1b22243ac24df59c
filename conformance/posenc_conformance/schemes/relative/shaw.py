"""Relative position representations: bounds, invariants and deviations."""

from collections.abc import Iterator

import numpy as np

from posenc_conformance.diagnose.predictors import other_conventions
from posenc_conformance.families.lengths import lengths
from posenc_conformance.families.scores import (
    alike,
    content_alone,
    dots,
    last_queries,
    root,
    sizes,
    sweep,
    zeros,
)
from posenc_conformance.judge.arrays import Floats, fine
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.deviation import Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict
from posenc_conformance.schemes.bias.clipped_bias import Index, places, wrong_rows

LENGTHS = (6, 1, 2, 9)
ROWS = (5, 1, 3, 11, 33)
SIZES_OF = (
    (1, 2, 2, 3, 1),
    (9, 3, 5, 5, 3),
    (1, 4, 4, 64, 5),
    (2, 1, 40, 6, 33),
    (1, 65, 65, 2, 9),
    (1, 300, 300, 2, 5),
)
"""Odd and even head dimensions; tables for fewer and more distances than occur."""


def dot_products(case: Case, size: bool = False) -> tuple[Floats, Floats]:
    """Compute the dot products of every query with every key, and with every row of the table.

    With ``size``, compute the dot products of the magnitudes.
    """
    arrays = [case.arguments[name] for name in ("q", "k", "table")]
    q, k, table = map(np.abs, arrays) if size else arrays
    return q @ np.swapaxes(k, 1, 2), q @ table.T


def of_rows(by_row: Floats, rows: Index) -> Floats:
    """Pick the products with one table row per query and key from those with every row."""
    return np.take_along_axis(by_row, np.broadcast_to(rows, (len(by_row), *rows.shape)), axis=2)


def scores(case: Case, rows: Index) -> Floats:
    """Compute the logits for these rows of the table."""
    content, by_row = dot_products(case)
    return (content + of_rows(by_row, rows)) / root(case)


def right_rows(case: Case) -> Index:
    """Return the right row of the table for each query and key."""
    at = places(case)
    return at.rows(at.offset)


def score_terms(case: Case) -> ErrorTerms:
    """Return the sum of the magnitudes of all products as scale.

    The number of products serves as the angle.
    """
    content, by_row = dot_products(case, size=True)
    scale = (content + of_rows(by_row, right_rows(case))) / root(case)
    return ErrorTerms(scale, np.asarray(2.0 * case.parameter("head_dim")))


def weighted(case: Case, rows: Index, size: bool = False) -> Floats:
    """Compute the outputs for these rows of the table.

    With ``size``, compute the sums of the magnitudes.
    """
    arrays = [case.arguments[name] for name in ("weights", "v", "table")]
    weights, v, table = map(np.abs, arrays) if size else arrays
    return np.asarray(weights @ v + np.einsum("hij,ijc->hic", weights, table[rows]))


def value_terms(case: Case) -> ErrorTerms:
    """Return the sum of the magnitudes of all products as scale.

    The number of products serves as the angle.
    """
    scale = weighted(case, right_rows(case), size=True)
    return ErrorTerms(scale, np.asarray(2.0 * case.parameter("k_len")))


def values_shape(case: Case) -> tuple[int, ...]:
    """Return the shape of the outputs: [heads, q_len, head_dim]."""
    return *case.arguments["weights"].shape[:2], case.arguments["v"].shape[2]


def score_arguments(trial: Trial) -> ArgumentDict:
    """Draw a few heads, queries and keys.

    The table is for fewer or more distances than occur.
    """
    chosen = lengths(trial, LENGTHS)
    heads, head_dim = trial.choose("heads", (2, 1, 3)), trial.choose("head_dim", (4, 1, 6, 16))
    return score_arrays(heads=heads, head_dim=head_dim, rows=trial.choose("rows", ROWS), **chosen)


def score_arrays(heads: int, q_len: int, k_len: int, head_dim: int, rows: int) -> ArgumentDict:
    """Make arrays of these sizes for the logits."""
    return {
        "q": fine((heads, q_len, head_dim)),
        "k": fine((heads, k_len, head_dim), 5),
        "table": fine((rows, head_dim), 11),
    }


def value_arguments(trial: Trial) -> ArgumentDict:
    """Draw a few heads, queries and keys for the outputs.

    The table is for fewer or more distances than occur. Weights are not negative, and do not sum to
    1.
    """
    chosen = lengths(trial, LENGTHS)
    heads, head_dim = trial.choose("heads", (2, 1, 3)), trial.choose("head_dim", (3, 1, 6, 16))
    return value_arrays(heads=heads, head_dim=head_dim, rows=trial.choose("rows", ROWS), **chosen)


def value_arrays(heads: int, q_len: int, k_len: int, head_dim: int, rows: int) -> ArgumentDict:
    """Make arrays of these sizes for the outputs."""
    return {
        "weights": np.abs(fine((heads, q_len, k_len))),
        "v": fine((heads, k_len, head_dim), 5),
        "table": fine((rows, head_dim), 11),
    }


def clipped_offset_only(trial: Trial) -> None:
    """Check that logits of equal queries and keys depend on the clipped offset only."""
    chosen = score_arguments(trial)
    y = trial.answer(**(chosen | alike(chosen, "q", "k")))
    rows = right_rows(y.case)
    _, first, group = np.unique(rows, return_index=True, return_inverse=True)
    query, key = np.unravel_index(first[group.reshape(rows.shape)], rows.shape)
    trial.assert_zero(
        y - y[:, query, key], "equal queries and keys at equal clipped offsets differ"
    )


def constant_table(trial: Trial) -> None:
    """Check that a table of equal rows c adds q_i.c / sqrt(head_dim) to row i.

    A softmax cancels this term.
    """
    chosen = score_arguments(trial)
    y = trial.answer(**(chosen | alike(chosen, "table")))
    without = trial.answer(**(chosen | zeros(chosen, "table")))
    trial.assert_zero(
        y - without - dots(y, "q", "table")[:, :, :1] / root(y.case),
        "a table of equal rows c does not add q.c / sqrt(head_dim) everywhere",
    )


def linear_in_q(trial: Trial) -> None:
    """Check that doubling the queries doubles the logits.

    A factor of two does not change roundings.
    """
    chosen = score_arguments(trial)
    y, twice = trial.answer(**chosen), trial.answer(**(chosen | {"q": 2 * chosen["q"]}))
    trial.assert_zero(2 * y - twice, "twice the queries do not give twice the logits")


def plain_average(trial: Trial) -> None:
    """Check that with a table of zeros the outputs are the weighted values."""
    chosen = value_arguments(trial)
    y = trial.answer(**(chosen | zeros(chosen, "table")))
    trial.assert_zero(
        y - y.given("weights") @ y.given("v"),
        "with a table of zeros the outputs are not the weighted values",
    )


def constant_value_table(trial: Trial) -> None:
    """Check that a table of equal rows c adds c times the sum of the weights.

    For weights of a softmax that is c itself.
    """
    chosen = value_arguments(trial)
    y = trial.answer(**(chosen | alike(chosen, "table")))
    without = trial.answer(**(chosen | zeros(chosen, "table")))
    added = y.given("weights").sum(axis=-1, keepdims=True) * y.given("table")[0]
    trial.assert_zero(
        y - without - added, "a table of equal rows c does not add c times the sum of the weights"
    )


def single_weight(trial: Trial) -> None:
    """Check that all weight on one key gives its value plus the vector of its clipped offset."""
    chosen = value_arguments(trial)
    key = trial.pick.integer(0, chosen["v"].shape[1] - 1)
    weights = np.zeros_like(chosen["weights"])
    weights[..., key] = 1
    y = trial.answer(**(chosen | {"weights": weights}))
    edge = y.given("table")[right_rows(y.case)[:, key]]
    trial.assert_zero(
        y - (y.given("v")[:, key, None] + edge),
        f"all weight on key {key} does not give its value plus the vector of its offset",
    )


def absolute_rows(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict rows by the position of the key, as in the matrix product Q R^T."""
    q_len, k_len = int(case.parameter("q_len")), int(case.parameter("k_len"))
    row = np.minimum(np.arange(k_len), len(case.arguments["table"]) - 1)
    logits = scores(case, np.broadcast_to(row, (q_len, k_len)))
    yield Prediction("matches rows taken by the position of the key, not its offset", logits)


def keys_for_queries(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the table multiplied with keys instead of queries."""
    q, k, table = (case.arguments[name] for name in ("q", "k", "table"))
    position = np.einsum("hjc,ijc->hij", k, table[right_rows(case)])
    logits = (q @ np.swapaxes(k, 1, 2) + position) / root(case)
    yield Prediction("matches the table multiplied with keys instead of queries", logits)


def scaling_misplaced(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict a square root that divides one term only, or none."""
    content, by_row = dot_products(case)
    position, scale = of_rows(by_row, right_rows(case)), root(case)
    yield Prediction("matches q.a not divided by sqrt(head_dim)", content / scale + position)
    yield Prediction("matches q.k not divided by sqrt(head_dim)", content + position / scale)
    yield Prediction("matches logits not divided by sqrt(head_dim)", content + position)


def divided_otherwise(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict another divisor of both terms."""
    content, by_row = dot_products(case)
    total, scale = content + of_rows(by_row, right_rows(case)), root(case)
    for words, divisor in (
        ("head_dim", scale**2),
        ("sqrt(heads head_dim)", scale * np.sqrt(len(content))),
        ("the fourth root of head_dim", np.sqrt(scale)),
    ):
        words = f"matches logits divided by {words}, not by sqrt(head_dim)"
        yield Prediction(words, total / divisor)


def position_left_out(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict ordinary attention, without the table."""
    yield Prediction("matches logits without the table", dot_products(case)[0] / root(case))


def skew_leaked(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the skewing of the Music Transformer without its mask.

    The upper triangle of the skewed products belongs to other pairs.
    """
    content, by_row = dot_products(case)
    heads, q_len, k_len = content.shape
    if q_len != k_len or case.conventions["offset"] != "key-minus-query":
        return
    reach = by_row.shape[2] // 2
    behind = by_row[:, :, np.maximum(np.arange(1 - k_len, 1), -reach) + reach]
    padded = np.pad(behind, ((0, 0), (0, 0), (1, 0)))
    skewed = padded.reshape(heads, k_len + 1, q_len)[:, 1:]
    yield Prediction(
        "matches skewed products whose entries after the query were not masked",
        (content + skewed) / root(case),
    )


def values_left_out(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the weighted values without the table."""
    inputs = case.arguments
    yield Prediction("matches outputs without the table", inputs["weights"] @ inputs["v"])


KNOWLEDGE = {
    "shaw_scores": CallKnowledge(
        error_terms=score_terms,
        arguments=score_arguments,
        sweep=sweep(score_arrays, rows=65),
        sizes=sizes(score_arrays, *SIZES_OF),
        invariants={
            "plain-dot-products": content_alone(
                score_arguments,
                root,
                "with a table of zeros the logits are not q.k / sqrt(head_dim)",
                "table",
            ),
            "clipped-offset-only": clipped_offset_only,
            "constant-table": constant_table,
            "linear-in-q": linear_in_q,
            "last-queries": last_queries(score_arguments),
        },
        deviations={
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
        readings=(divided_otherwise,),
    ),
    "shaw_values": CallKnowledge(
        error_terms=value_terms,
        arguments=value_arguments,
        sweep=sweep(value_arrays, rows=65),
        sizes=sizes(value_arrays, *SIZES_OF),
        shape=values_shape,
        invariants={
            "plain-average": plain_average,
            "constant-value-table": constant_value_table,
            "single-weight": single_weight,
        },
        deviations={
            "values-sign-flipped": wrong_rows("sign-flipped", weighted),
            "queries-from-zero": wrong_rows("queries-from-zero", weighted),
            "clip-shifted": wrong_rows("clip-shifted", weighted),
            "table-unshifted": wrong_rows("table-unshifted", weighted),
            "values-left-out": values_left_out,
        },
    ),
}
