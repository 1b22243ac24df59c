"""Causal self-attention without positions: bounds, invariants and deviations."""

from collections.abc import Iterator

import numpy as np

from posenc_conformance.families.lengths import no_sweep
from posenc_conformance.judge.arrays import Floats, fine
from posenc_conformance.judge.bounded import Exact
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.deviation import Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict
from posenc_conformance.schemes.attention.attention import Shown, softmax, weight_scale

SHARP = 2.0
"""Factor of drawn projections, so that logits differ enough for the weights to differ too."""


def projections(case: Case) -> tuple[Floats, Floats, Floats]:
    """Compute the projected queries, keys and values."""
    values = case.arguments
    q, k, v = (values["x"] @ values[name] for name in ("w_q", "w_k", "w_v"))
    return q, k, v


def causal(case: Case, offset: int = 0) -> Shown:
    """Return the mask of the rows that each row may see: row i sees those up to ``i + offset``."""
    n = case.arguments["x"].shape[-2]
    return np.tri(n, n, offset, dtype=bool)


def scores(q: Floats, k: Floats) -> Floats:
    """Compute the scaled logits."""
    return np.asarray(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]))


def error_terms(case: Case) -> ErrorTerms:
    """Return as scale the magnitudes of the values' terms, weighted by the scale of the weights.

    The number of summands serves as the angle.
    """
    q, k, _ = projections(case)
    magnitudes = {name: np.abs(value) for name, value in case.arguments.items()}
    q_terms, k_terms, v_terms = (magnitudes["x"] @ magnitudes[w] for w in ("w_q", "w_k", "w_v"))
    weights = weight_scale(case, scores(q, k), scores(q_terms, k_terms), causal(case))
    n, dim = case.arguments["x"].shape[-2:]
    return ErrorTerms(weights @ v_terms, np.asarray(float(2 * dim + q.shape[-1] + n)))


def arguments(trial: Trial) -> ArgumentDict:
    """Draw two sequences of a few rows."""
    n = trial.choose("n", (5, 1, 2, 3, 9))
    dim = trial.choose("dim", (4, 1, 2, 3, 8))
    head_dim = trial.choose("head_dim", (4, 1, 2, 3, 8))
    return {
        "x": fine((2, n, dim), trial.pick.integer(0, 4)),
        "w_q": SHARP * fine((dim, head_dim), 5),
        "w_k": SHARP * fine((dim, head_dim), 9),
        "w_v": fine((dim, dim), 3),
    }


def sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield one row and many, small heads and large ones."""
    for n, dim, head_dim in ((1, 1, 1), (130, 1, 1), (300, 1, 1), (2, 3, 64), (2, 33, 2)):
        yield {
            "x": fine((n, dim)),
            "w_q": fine((dim, head_dim), 1),
            "w_k": fine((dim, head_dim), 2),
            "w_v": fine((dim, dim), 3),
        }


def prefix(trial: Trial) -> None:
    """Check that later rows do not change earlier ones."""
    chosen = arguments(trial)
    n = chosen["x"].shape[-2]
    row = trial.pick.integer(0, n - 1)
    later = chosen["x"].copy()
    later[:, row + 1 :] = 2 - later[:, row + 1 :]
    before, after = trial.answer(**chosen), trial.answer(**(chosen | {"x": later}))
    wrong = (after.values != before.values)[:, : row + 1]
    trial.assert_none(after, wrong, f"rows after row {row} change it")


def last_row(trial: Trial) -> None:
    """Check that the order of earlier rows does not change the last one."""
    chosen = arguments(trial)
    turned = chosen["x"].copy()
    turned[:, :-1] = np.roll(turned[:, :-1], 1, axis=1)
    before, after = trial.answer(**chosen), trial.answer(**(chosen | {"x": turned}))
    trial.assert_zero((after - before)[:, -1], "the order of earlier rows changes the last one")


def identical_rows(trial: Trial) -> None:
    """Check that identical rows have identical results."""
    chosen = arguments(trial)
    chosen["x"] = np.broadcast_to(chosen["x"][:, :1], chosen["x"].shape).copy()
    answer = trial.answer(**chosen)
    trial.assert_zero(answer - answer[:, :1], "identical rows have different results")


def first_row(trial: Trial) -> None:
    """Check that the result of the first row, which sees only itself, is its own value."""
    answer = trial.answer(**arguments(trial))
    _, _, values = projections(answer.case)
    trial.assert_zero((answer - Exact(values))[:, 0], "the first row is not its own value")


def counting(trial: Trial) -> None:
    """Check that the first of i + 1 rows has a share of 1 / (i + 1) if all logits are 0.

    All rows but the first are 0.
    """
    chosen = arguments(trial)
    x = np.zeros_like(chosen["x"])
    x[:, 0] = 1
    w_v = np.zeros_like(chosen["w_v"])
    w_v[0] = 1
    answer = trial.answer(**(chosen | {"x": x, "w_v": w_v, "w_q": 0 * chosen["w_q"]}))
    expected = 1 / np.arange(1, x.shape[-2] + 1)[:, None]
    message = "with equal logits the share of the first of i + 1 rows is not 1 / (i + 1)"
    trial.assert_zero(answer - Exact(expected), message)


def layer(q: Floats, k: Floats, v: Floats, shown: Shown, factor: float = 1.0) -> Floats:
    """Compute the layer's result for these queries, keys and values."""
    return np.asarray(softmax(scores(q, k) * factor, shown) @ v)


def mask_forgotten(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict attention without a mask."""
    every = np.ones_like(causal(case))
    yield Prediction("matches attention without a mask", layer(*projections(case), every))


def own_row_hidden(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict a mask off by one, so that rows do not see themselves.

    The result of the first row is 0, or the mean of all values.
    """
    few = causal(case, -1)
    q, k, v = projections(case)
    result = layer(q, k, v, few)
    yield Prediction("matches rows that do not see themselves", result)
    filled = result.copy()
    filled[..., 0, :] = v.mean(axis=-2)
    yield Prediction("matches rows that do not see themselves, the first one seeing all", filled)


def next_row_seen(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict a mask off by one the other way, so that rows see the next one."""
    model = layer(*projections(case), causal(case, 1))
    yield Prediction("matches rows that see the next one", model)


def scaled_otherwise(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict another factor on the logits."""
    dim, head_dim = case.arguments["w_q"].shape
    root = np.sqrt(head_dim)
    factors = {
        "no division of the logits": root,
        "division by sqrt(dim)": root / np.sqrt(dim),
        "division by head_dim": 1 / root,
    }
    for words, factor in factors.items():
        yield Prediction(f"matches {words}", layer(*projections(case), causal(case), factor))


def positions_added(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict sines and cosines added to the rows, in either order."""
    n, dim = case.arguments["x"].shape[-2:]
    angle = np.arange(n)[:, None] * 10000.0 ** (-np.arange(0, dim, 2) / dim)
    waves = np.sin(angle), np.cos(angle)
    interleaved = np.stack(waves, axis=-1).reshape(n, -1)[:, :dim]
    for order, table in (
        ("interleaved", interleaved),
        ("concatenated", np.concatenate(waves, axis=-1)[:, :dim]),
    ):
        q, k, v = projections(case.with_arguments(x=case.arguments["x"] + table))
        yield Prediction(f"matches {order} sines and cosines added", layer(q, k, v, causal(case)))


def projections_transposed(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict square matrices transposed: all of them, or only that of the values."""
    values = case.arguments
    names = ("w_q", "w_k", "w_v")
    square = [name for name in names if values[name].shape[0] == values[name].shape[1]]
    for chosen in (square, ["w_v"]):
        turned = {name: values[name].T for name in chosen}
        result = layer(*projections(case.with_arguments(**turned)), causal(case))
        yield Prediction(f"matches {', '.join(chosen)} transposed", result)


KNOWLEDGE = {
    "nope_layer": CallKnowledge(
        error_terms=error_terms,
        arguments=arguments,
        sweep=no_sweep,
        sizes=sizes,
        invariants={
            "prefix": prefix,
            "last-row": last_row,
            "identical-rows": identical_rows,
            "first-row": first_row,
            "counting": counting,
        },
        deviations={
            "mask-forgotten": mask_forgotten,
            "own-row-hidden": own_row_hidden,
            "next-row-seen": next_row_seen,
            "layer-scale-wrong": scaled_otherwise,
            "positions-added": positions_added,
            "projections-transposed": projections_transposed,
        },
    ),
}
