"""Absolute encoding and relative bias together: bounds, invariants and deviations."""

from collections.abc import Iterator
from typing import Any

import numpy as np

import posenc
from posenc_conformance.diagnose.predictors import rounded_angles, short_tables
from posenc_conformance.families.encodings import wrong_base
from posenc_conformance.families.rotary import progression
from posenc_conformance.families.scores import root
from posenc_conformance.judge.arrays import Floats, fine, round_to
from posenc_conformance.judge.bounded import ARITHMETIC, Exact
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.deviation import Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments
from posenc_conformance.schemes.bias.clipped_bias import WRONG_ROWS, Index, Places, offset_matrix
from posenc_conformance.schemes.combination.embedding_sum import interleaved

ANGLE = 4
"""Factor on the sinusoids' angles, as in the accuracy of the sinusoidal encoding."""


def encoding(case: Case, **conventions: Any) -> Floats:
    """Compute the encoding of all rows, or a wrong one with other ``conventions``."""
    n, dim = case.arguments["x"].shape
    options = {"base": case.arguments["base"], **conventions}
    return np.asarray(posenc.sinusoidal(np.arange(n), dim, **options))


def logits(case: Case, placed: Floats) -> Floats:
    """Compute the dot products of these rows, projected and divided, without the bias."""
    w_q, w_k = case.arguments["w_q"], case.arguments["w_k"]
    return np.asarray((placed @ w_q) @ np.swapaxes(placed @ w_k, 1, 2) / root(case))


def absolute(case: Case) -> Floats:
    """Compute the logits of x + PE, without the bias."""
    return logits(case, case.arguments["x"] + encoding(case))


def places(case: Case) -> Places:
    """Compute the offsets that the table is read at."""
    n = len(case.arguments["x"])
    offset = offset_matrix(n, n, 0)
    return Places(offset, offset, len(case.arguments["table"]) // 2)


def looked_up(case: Case, rows: Index) -> Floats:
    """Look up the biases in these rows of the table."""
    return np.moveaxis(case.arguments["table"][rows], -1, 0)


def biases(case: Case) -> Floats:
    """Look up the right biases."""
    at = places(case)
    return looked_up(case, at.rows(at.offset))


def error_terms(case: Case) -> ErrorTerms:
    """Return the sum of the magnitudes of all products as scale, and the angle.

    Sines count as 1. The rounding errors of their angles propagate through both projections. The
    number of summands is added to the angle.
    """
    x, w_q, w_k = (np.abs(case.arguments[name]) for name in ("x", "w_q", "w_k"))
    n, dim = x.shape
    queries, keys = ((x + 1) @ weights for weights in (w_q, w_k))
    frequency = case.arguments["base"] ** (-2.0 * (np.arange(dim) // 2) / dim)
    angles = np.arange(n)[:, None] * frequency * (1 + np.abs(np.log(frequency)))
    products = queries @ np.swapaxes(keys, 1, 2)
    turned = (angles @ w_q) @ np.swapaxes(keys, 1, 2) + queries @ np.swapaxes(angles @ w_k, 1, 2)
    scale = products / root(case) + np.abs(biases(case))
    share = np.divide(turned / root(case), scale, out=np.zeros_like(scale), where=scale > 0)
    return ErrorTerms(scale, 2 * dim + case.parameter("head_dim") + ANGLE * share)


def shape(case: Case) -> tuple[int, ...]:
    """Return the shape [heads, n, n]."""
    n = len(case.arguments["x"])
    return len(case.arguments["w_q"]), n, n


def arguments(trial: Trial) -> ArgumentDict:
    """Draw a few heads and rows, and a table for fewer or more distances than occur."""
    n, dim = trial.choose("n", (5, 1, 2, 8)), trial.choose("dim", (4, 2, 6, 16))
    heads, head_dim = trial.choose("heads", (2, 1, 3)), trial.choose("head_dim", (2, 1, 3, 8))
    base = trial.choose("base", (10000.0, 500.0))
    return arrays(n, dim, heads, head_dim, trial.choose("rows", (5, 1, 3, 17))) | {"base": base}


def arrays(n: int, dim: int, heads: int, head_dim: int, rows: int) -> ArgumentDict:
    """Make arrays of these sizes."""
    return {
        "x": fine((n, dim)),
        "w_q": fine((heads, dim, head_dim), 5),
        "w_k": fine((heads, dim, head_dim), 11),
        "table": fine((rows, heads), 17),
    }


def sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Make a call of a few hundred rows with few channels."""
    usual = {"n": min(largest, 200) + 1, "dim": 4, "heads": 1, "head_dim": 2, "rows": 65}
    usual |= {name: value for name, value in parameters.items() if name != "base"}
    return arrays(**usual) | {"base": parameters.get("base", 10000.0)}


def sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield odd and even head dimensions, and tables for fewer and more distances than occur.

    Some sizes are powers of two.
    """
    for chosen in (
        (2, 2, 1, 3, 1),
        (5, 6, 9, 5, 3),
        (3, 64, 2, 16, 5),
        (40, 10, 1, 1, 33),
        (130, 2, 1, 1, 301),
        (300, 2, 1, 1, 5),
    ):
        yield arrays(*chosen)


def slack(case: Case) -> Floats:
    """Return the error allowed for the kit's own arithmetic."""
    return ARITHMETIC * error_terms(case).scale


def absolute_only(trial: Trial) -> None:
    """Check that with a table of zeros the logits are those of the sinusoidal encoding."""
    chosen = arguments(trial)
    answer = trial.answer(**(chosen | {"table": np.zeros_like(chosen["table"])}))
    trial.assert_zero(
        answer.allowing(slack(answer.case)) - Exact(absolute(answer.case)),
        "with a table of zeros the logits are not those of x + PE",
    )


def relative_only(trial: Trial) -> None:
    """Check that with w_q of zeros the logits are the bias by clipped distance, bit by bit."""
    chosen = arguments(trial)
    answer = trial.answer(**(chosen | {"w_q": np.zeros_like(chosen["w_q"])}))
    bias = Exact(biases(answer.case))
    trial.assert_zero(answer - bias, "with w_q of zeros the logits are not the bias")


def bias_is_added(trial: Trial) -> None:
    """Check that the table's bias is added, undivided, to the logits without it."""
    chosen = arguments(trial)
    answer = trial.answer(**chosen)
    without = trial.answer(**(chosen | {"table": np.zeros_like(chosen["table"])}))
    bias = Exact(biases(answer.case))
    trial.assert_zero(answer - without - bias, "the bias is not added as it stands in the table")


def constant_table(trial: Trial) -> None:
    """Check that adding a number to the whole table adds it to all logits."""
    chosen = arguments(trial)
    higher = chosen | {"table": chosen["table"] + 0.5}
    answer, raised = trial.answer(**chosen), trial.answer(**higher)
    # The number added is not exactly 0.5: the sum in the table is rounded.
    lower, upper = (Exact(biases(y.case)) for y in (answer, raised))
    trial.assert_zero(
        raised - upper - (answer - lower),
        "adding a constant to the table does not add it to the logits",
    )


def zero_embeddings(trial: Trial) -> None:
    """Check that x of zeros and w_q = w_k give symmetric logits without the bias.

    They are the logits of PE.
    """
    chosen = arguments(trial)
    same = {"w_k": chosen["w_q"], "x": np.zeros_like(chosen["x"])}
    answer = trial.answer(**(chosen | same | {"table": np.zeros_like(chosen["table"])}))
    trial.assert_zero(
        answer - answer.swapped(1, 2),
        "for equal projections and no bias, query and key may not change places",
    )


def cancelled_encoding(trial: Trial) -> None:
    """Check that with x = -PE the logits are the bias.

    This holds if the encoding is added once, to the embeddings.
    """
    chosen = arguments(trial)
    case = trial.case(**chosen)
    answer = trial.answer(**(chosen | {"x": -encoding(case)}))
    # The residual of the sum after rounding x to the dtype, projected:
    left = np.abs(answer.case.arguments["x"] + encoding(case)) + 2.0**-52
    w_q, w_k = (np.abs(answer.case.arguments[name]) for name in ("w_q", "w_k"))
    residual = (left @ w_q) @ np.swapaxes(left @ w_k, 1, 2) / root(answer.case)
    trial.assert_zero(
        answer.allowing(residual) - Exact(biases(answer.case)),
        "with x = -PE the logits are not the bias alone",
    )


def bias_wrong(name: str) -> Any:
    """Make a model that predicts biases from wrong rows of the table."""

    def models(case: Case, got: Floats) -> Iterator[Prediction]:
        for explanation, rows in WRONG_ROWS[name].items():
            bias = looked_up(case, rows(places(case)))
            yield Prediction(explanation, absolute(case) + bias)

    return models


def part_left_out(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the result with only one of the two encodings."""
    x = case.arguments["x"]
    yield Prediction("matches logits without the sinusoids", logits(case, x) + biases(case))
    yield Prediction("matches logits without the bias", absolute(case))


def encoding_wrong(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the result with another sinusoidal encoding."""
    for explanation, axis, value in (
        ("matches sinusoids from position 1 on", "first_position", 1),
        ("matches all sines before all cosines", "layout", "sin-cos"),
        ("matches all cosines before all sines", "layout", "cos-sin"),
        ("matches exponents over dim/2 - 1", "denominator", "d/2-1"),
    ):
        placed = case.arguments["x"] + encoding(case, **{axis: value})
        yield Prediction(explanation, logits(case, placed) + biases(case))


def embeddings_scaled(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the embeddings times sqrt(dim), as in the first transformer."""
    x = case.arguments["x"] * np.sqrt(case.parameter("dim"))
    placed = x + encoding(case)
    yield Prediction("matches embeddings times sqrt(dim)", logits(case, placed) + biases(case))


def bias_divided(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the bias divided as well, or dot products not divided."""
    products, bias = absolute(case), biases(case)
    yield Prediction("matches the bias divided by sqrt(head_dim) too", products + bias / root(case))
    yield Prediction("matches dot products that are not divided", products * root(case) + bias)


def queries_only(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the encoding added for queries or for keys only."""
    x, placed = case.arguments["x"], case.arguments["x"] + encoding(case)
    w_q, w_k = case.arguments["w_q"], case.arguments["w_k"]
    for role, q, k in (("queries", placed, x), ("keys", x, placed)):
        products = (q @ w_q) @ np.swapaxes(k @ w_k, 1, 2) / root(case)
        yield Prediction(f"matches sinusoids added for {role} only", products + biases(case))


def low_precision(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict positions, frequencies or angles in a narrow dtype, and tables of them."""
    n, dim = case.arguments["x"].shape
    position = np.arange(n, dtype=np.float64)[:, None]
    omega = progression(case.arguments["base"], dim)

    def of(encoding: Floats) -> Floats:
        return logits(case, case.arguments["x"] + encoding[:, :dim]) + biases(case)

    def in_short(angles: Floats, dtype: str) -> Floats:
        return of(round_to(interleaved(angles), dtype))

    yield from rounded_angles(position, omega, lambda angles: of(interleaved(angles)), in_short)
    yield from short_tables(position * omega, in_short)


KNOWLEDGE = {
    "hybrid_scores": CallKnowledge(
        error_terms=error_terms,
        arguments=arguments,
        sweep=sweep,
        sizes=sizes,
        shape=shape,
        batched=(),
        invariants={
            "absolute-only": absolute_only,
            "relative-only": relative_only,
            "bias-is-added": bias_is_added,
            "constant-table": constant_table,
            "zero-embeddings": zero_embeddings,
            "cancelled-encoding": cancelled_encoding,
        },
        deviations={
            "sign-flipped": bias_wrong("sign-flipped"),
            "clip-shifted": bias_wrong("clip-shifted"),
            "offset-shifted": bias_wrong("offset-shifted"),
            "table-unshifted": bias_wrong("table-unshifted"),
            "part-left-out": part_left_out,
            "queries-only": queries_only,
            "embeddings-scaled": embeddings_scaled,
            "bias-divided": bias_divided,
            "encoding-wrong": encoding_wrong,
            "wrong-base": wrong_base,
        },
        readings=(low_precision,),
    ),
}
