"""Embedding and bias computed from the boxes of words on a page: invariants and deviations."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

import posenc
from posenc_conformance.diagnose.predictors import predict_case
from posenc_conformance.families.biases import heads_apart
from posenc_conformance.families.lengths import no_sweep
from posenc_conformance.judge.arrays import Floats, fine
from posenc_conformance.judge.bounded import Exact
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.deviation import DeviationModel, Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict

Boxes = npt.NDArray[np.int64]
TABLES = ("x_table", "y_table", "h_table", "w_table")
BUCKETS = ((64, 256), (8, 20), (4, 8), (16, 64))
"""Numbers of buckets, and the ``max_distance`` at which the logarithm reaches the last bucket."""
READS = ("x_table", "y_table", "x_table", "y_table", "h_table", "w_table")


def summed(case: Case) -> bool:
    """Return whether the six embeddings are added."""
    return case.conventions["join"] == "sum"


def clipped(case: Case) -> bool:
    """Return whether negative sizes are clipped to 0, which allows boxes of negative size."""
    return case.conventions["sizes"] == "clipped"


def numbers_of(case: Case, boxes: Boxes | None = None) -> list[Boxes]:
    """Return the table rows of the four edges, the height and the width."""
    left, upper, right, lower = (case.arguments["bbox"] if boxes is None else boxes).T
    height, width = lower - upper, right - left
    if clipped(case):
        height, width = np.maximum(height, 0), np.maximum(width, 0)
    return [left, upper, right, lower, height, width]


def joined(case: Case, numbers: Sequence[Boxes], reads: Sequence[str] = READS) -> Floats | None:
    """Look up the rows ``numbers`` in the tables ``reads``, and add or concatenate them.

    Return None if a row does not exist, or if the result has another shape than the case.
    """
    parts = []
    for name, rows in zip(reads, numbers, strict=True):
        table = case.arguments[name]
        if rows.size and not (-len(table) <= rows.min() and rows.max() < len(table)):
            return None
        parts.append(table[rows])
    if summed(case):
        return np.asarray(sum(parts))
    result = np.concatenate(parts, axis=-1)
    return result if result.shape == case.shape else None


def embedding_shape(case: Case) -> tuple[int, ...]:
    """Return the shape [words, channels]: the channels of one table row if summed, or of six."""
    edge, size = (case.arguments[name].shape[1] for name in ("x_table", "h_table"))
    return len(case.arguments["bbox"]), edge if summed(case) else 4 * edge + 2 * size


def bias_shape(case: Case) -> tuple[int, ...]:
    """Return the shape [heads, queries, keys]."""
    words = len(case.arguments["bbox"])
    return case.arguments["x_table"].shape[1], words, words


def embedding_terms(case: Case) -> ErrorTerms:
    """Return the sum of the magnitudes as scale, 0 if nothing is added, and angle 0.

    Only sums are rounded.
    """
    if not summed(case):
        return ErrorTerms(np.zeros(()), np.zeros(()))
    sizes = case.with_arguments(**{name: np.abs(case.arguments[name]) for name in TABLES})
    magnitudes = joined(sizes, numbers_of(case))
    return ErrorTerms(np.asarray(magnitudes), np.zeros(()))


def bias_terms(case: Case) -> ErrorTerms:
    """Return the sum of both magnitudes, divided like the bias, as scale, and angle 0."""
    sizes = {name: np.abs(case.arguments[name]) for name in ("x_table", "y_table")}
    return ErrorTerms(looked_up(case.with_arguments(**sizes)), np.zeros(()))


def looked_up(
    case: Case,
    edges: tuple[Floats, Floats] | None = None,
    *,
    names: tuple[str, str] = ("x_table", "y_table"),
    sign: int = 1,
    divisor: float | None = None,
    **rule: Any,
) -> Floats:
    """Compute the bias from the distances of ``edges``, or of the left and lower edges."""
    boxes, chosen = case.arguments["bbox"], case.arguments
    total = np.zeros(case.shape)
    for name, edge in zip(names, edges or (boxes[:, 0], boxes[:, 3]), strict=True):
        table = chosen[name]
        apart = sign * (edge - edge[:, None]).astype(np.int64)
        usual = {"num_buckets": len(table), "max_distance": int(chosen["max_distance"])}
        total += np.moveaxis(table[posenc.t5_bucket(apart, **(usual | rule))], -1, 0)
    root = np.sqrt(chosen["head_dim"]) if case.conventions["scaling"] == "root" else 1.0
    return total / (root if divisor is None else divisor)


def boxes_on(count: int, rows: int, *, turned: bool = False) -> Boxes:
    """Make ``count`` boxes on a page, with coordinates below ``rows``.

    If ``turned``, some of them end before they begin.
    """
    place = np.arange(count)
    edges = np.stack([(7 * place + 1) % rows, (5 * place + 2) % rows, (11 * place) % rows, place])
    edges[3] = (3 * edges[3] + rows // 2) % rows
    left, upper, right, lower = edges
    if turned:
        return edges.T
    low, high = np.minimum(left, right), np.minimum(upper, lower)
    return np.stack([low, high, np.maximum(left, right), np.maximum(upper, lower)], axis=1)


def tables(rows: int, edge: int, size: int) -> dict[str, Floats]:
    """Make all four tables."""
    widths = (edge, edge, size, size)
    return {
        name: fine((rows, wide), 17 * start)
        for start, (name, wide) in enumerate(zip(TABLES, widths, strict=True))
    }


def arguments(trial: Trial) -> ArgumentDict:
    """Draw a few words on a small page."""
    conventions = trial.subject.combination.conventions
    dim = trial.choose("dim", (3, 1, 4))
    alike = conventions["join"] == "sum"
    rows = trial.choose("rows", (9, 16, 7))
    turned = conventions["sizes"] == "clipped" and trial.pick.integer(0, 1) == 0
    return {
        "bbox": boxes_on(trial.pick.one_of((6, 1, 2, 11)), rows, turned=turned),
        **tables(rows, dim, dim if alike else trial.choose("size_dim", (2, 1, 3))),
    }


def sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield the page sizes and widths of released models, and a page without words."""
    for count, rows, edge, size in ((5, 1024, 128, 128), (130, 1024, 2, 2), (0, 9, 2, 2)):
        yield {"bbox": boxes_on(count, rows), **tables(rows, edge, size)}
    if not summed(case):
        yield {"bbox": boxes_on(4, 1024), **tables(1024, 171, 170)}


def bias_tables(buckets: int, heads: int) -> dict[str, Floats]:
    """Make both tables of biases."""
    return {"x_table": fine((buckets, heads)), "y_table": fine((buckets, heads), 29)}


def bias_arguments(trial: Trial) -> ArgumentDict:
    """Draw a few words, near and far."""
    buckets, distance = trial.pick.one_of(BUCKETS)
    return {
        "bbox": boxes_on(trial.pick.one_of((6, 1, 2, 11)), trial.pick.one_of((37, 1000))),
        **bias_tables(buckets, trial.choose("heads", (2, 1, 3))),
        "max_distance": distance,
        "head_dim": trial.choose("head_dim", (64, 10, 1)),
    }


def bias_sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield many heads, many words and none, and all distances up to the maximum."""
    for count, heads in ((3, 12), (5, 33), (130, 2), (0, 2)):
        yield {"bbox": boxes_on(count, 1001), **bias_tables(64, heads), "max_distance": 256}
    line = np.repeat(np.arange(0, 260)[:, None], 4, axis=1)
    yield {"bbox": line, **bias_tables(64, 1), "max_distance": 256}


def words_apart(trial: Trial) -> None:
    """Check that reversing the words reverses their rows."""
    chosen = arguments(trial)
    turned = {"bbox": chosen["bbox"][::-1].copy()}
    before, after = trial.answer(**chosen), trial.answer(**(chosen | turned))
    trial.assert_none(
        before, before.values != after.values[::-1], "a word depends on its place in the list"
    )


def axes_exchanged(trial: Trial) -> None:
    """Check that exchanging x and y, in boxes and tables, exchanges their parts.

    A sum must not change.
    """
    chosen = arguments(trial)
    swapped = dict(
        zip(TABLES, (chosen[name] for name in (*TABLES[1::-1], *TABLES[:1:-1])), strict=True)
    )
    turned = {**swapped, "bbox": chosen["bbox"][:, [1, 0, 3, 2]].copy()}
    before, after = trial.answer(**chosen), trial.answer(**(chosen | turned))
    if summed(before.case):
        trial.assert_zero(before - after, "a sum changes with the names of the axes")
        return
    edge, size = chosen["x_table"].shape[1], chosen["h_table"].shape[1]
    starts = np.cumsum([0, edge, edge, edge, edge, size, size])
    order = np.concatenate(
        [np.arange(starts[part], starts[part + 1]) for part in (1, 0, 3, 2, 5, 4)]
    )
    wrong = before.values != after.values[:, order]
    trial.assert_none(before, wrong, "exchanging the axes does not exchange their parts")


def constant_tables(trial: Trial) -> None:
    """Check that tables of 0.25 everywhere give 0.25, or 1.5 if the six embeddings are added."""
    chosen = arguments(trial)
    alike = {name: np.full_like(chosen[name], 0.25) for name in TABLES}
    y = trial.answer(**(chosen | alike))
    trial.assert_zero(y - Exact(1.5 if summed(y.case) else 0.25), "constant tables are changed")


def offset_only(trial: Trial) -> None:
    """Check that the bias does not change when all words move together."""
    chosen = bias_arguments(trial)
    moved = {"bbox": chosen["bbox"] + np.array([13, 5, 13, 5])}
    before, after = trial.answer(**chosen), trial.answer(**(chosen | moved))
    trial.assert_zero(before - after, "the bias changes when all words are moved")


def one_line(trial: Trial) -> None:
    """Check that words with equal left edges have equal biases.

    Only the horizontal distance counts, because the table of y is 0.
    """
    chosen = bias_arguments(trial)
    boxes = chosen["bbox"].copy()
    boxes[:, 0] = boxes[0, 0]
    flat = {"bbox": boxes, "y_table": 0 * chosen["y_table"]}
    y = trial.answer(**(chosen | flat))
    trial.assert_zero(y - y[:, :1, :1], "words one above the other have different biases")


def right_and_upper(trial: Trial) -> None:
    """Check that the bias does not depend on right and upper edges."""
    chosen = bias_arguments(trial)
    boxes = chosen["bbox"].copy()
    boxes[:, 1], boxes[:, 2] = 0, 1000
    before, after = trial.answer(**chosen), trial.answer(**(chosen | {"bbox": boxes}))
    trial.assert_zero(before - after, "right or upper edges matter")


def given_by(
    changes: Callable[[Case], Iterator[tuple[str, Floats | None]]],
) -> DeviationModel:
    """Make a model that predicts the results of ``changes`` that exist and have the right shape."""

    def models(case: Case, got: Floats) -> Iterator[Prediction]:
        for words, output in changes(case):
            if output is not None and output.shape == case.shape:
                yield Prediction(words, output)

    return models


Found = Iterator[tuple[str, Floats | None]]


def exchanged(case: Case) -> Found:
    """Predict x and y exchanged, in boxes or tables, or the table of x for both."""
    boxes = case.arguments["bbox"][:, [1, 0, 3, 2]]
    yield (
        "matches boxes taken for upper, left, lower, right",
        joined(case, numbers_of(case, boxes)),
    )
    numbers = numbers_of(case)
    tables = ("y_table", "x_table", "y_table", "x_table", "h_table", "w_table")
    yield "matches tables of x and y exchanged", joined(case, numbers, tables)
    yield "matches the table of x for both", joined(case, numbers, (*(["x_table"] * 4), *READS[4:]))


def sizes_exchanged(case: Case) -> Found:
    """Predict width before height, or either one read from the table of the other."""
    *edges, height, width = numbers_of(case)
    for words, rows, tables in (
        ("width before height", (width, height), ("w_table", "h_table")),
        ("heights in the table of widths", (height, width), ("w_table", "h_table")),
        ("widths in the table of heights first", (width, height), ("h_table", "w_table")),
    ):
        yield f"matches {words}", joined(case, (*edges, *rows), (*READS[:4], *tables))


def sorted_edges(case: Case) -> Found:
    """Predict another order: left, right, upper, lower; upper, left, lower, right; sizes first."""
    numbers = numbers_of(case)
    for words, order in (
        ("left, right, upper, lower", (0, 2, 1, 3, 4, 5)),
        ("upper, left, lower, right", (1, 0, 3, 2, 4, 5)),
        ("heights and widths first", (4, 5, 0, 1, 2, 3)),
    ):
        reads = [READS[index] for index in order]
        yield f"matches the order {words}", joined(case, [numbers[index] for index in order], reads)


def other_sizes(case: Case) -> Found:
    """Predict sizes that are not the differences of edges, or a sum without sizes."""
    left, upper, right, lower, height, width = numbers_of(case)
    edges = (left, upper, right, lower)
    yield "matches lower and right edges for sizes", joined(case, (*edges, lower, right))
    yield "matches sizes one too large", joined(case, (*edges, height + 1, width + 1))
    yield (
        "matches right and lower edges for width and height",
        joined(case, (left, upper, left + right, upper + lower, lower, right)),
    )
    if summed(case):
        chosen = case.arguments
        corners = chosen["x_table"][left] + chosen["y_table"][upper]
        ends = chosen["x_table"][right] + chosen["y_table"][lower]
        yield "matches a sum without height and width", corners + ends


def unsigned(case: Case) -> Found:
    """Predict negative sizes treated in other ways."""
    left, upper, right, lower, *_ = numbers_of(case)
    for words, change in (
        ("sizes without a sign", np.abs),
        ("negative sizes read from the end of the table", np.asarray),
    ):
        output = joined(
            case, (left, upper, right, lower, change(lower - upper), change(right - left))
        )
        yield f"matches {words}", output


def mean(case: Case) -> Found:
    """Predict the mean in place of the sum: a sixth, a half or a quarter of the sum."""
    if summed(case):
        total = joined(case, numbers_of(case))
        for words, parts in (("six embeddings", 6), ("two", 2), ("four", 4)):
            yield f"matches the mean of {words}", None if total is None else total / parts


def edges_of(case: Case) -> list[Floats]:
    """Return the left, upper, right and lower edges."""
    return list(case.arguments["bbox"].astype(np.float64).T)


def bias_exchanged(case: Case) -> Found:
    """Predict x and y exchanged, in boxes, edges or tables, or the table of x for both."""
    left, upper, _, lower = edges_of(case)
    yield "matches tables of x and y exchanged", looked_up(case, names=("y_table", "x_table"))
    yield "matches the table of x for both", looked_up(case, names=("x_table", "x_table"))
    yield (
        "matches boxes taken for upper, left, lower, right",
        looked_up(case, (upper, case.arguments["bbox"][:, 2].astype(np.float64))),
    )
    yield "matches left and lower edges exchanged", looked_up(case, (lower, left))


def bias_reversed(case: Case) -> Found:
    """Predict distances of query minus key."""
    yield "matches distances of query minus key", looked_up(case, sign=-1)


def other_edges(case: Case) -> Found:
    """Predict the bias computed from other corners, or from centres."""
    left, upper, right, lower = edges_of(case)
    for words, edges in (
        ("upper left corners", (left, upper)),
        ("lower right corners", (right, lower)),
        ("upper right corners", (right, upper)),
        ("centres", ((left + right) // 2, (upper + lower) // 2)),
    ):
        yield f"matches {words}", looked_up(case, edges)


def other_scaling(case: Case) -> Found:
    """Predict a bias with other divisors."""
    wide = case.arguments["head_dim"]
    claimed = np.sqrt(wide) if case.conventions["scaling"] == "root" else 1.0
    for words, divisor in (
        ("a bias that is not divided", 1.0),
        ("a bias divided by the root of head_dim", np.sqrt(wide)),
        ("a bias divided by head_dim", wide),
        ("a bias divided by 8", 8.0),
        ("a bias divided by 32", 32.0),
    ):
        if divisor != claimed:
            yield f"matches {words}", looked_up(case, divisor=float(divisor))


def other_buckets(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict another ``max_distance``, or one-sided buckets."""
    for distance in (32, 64, 128, 256, 1000, 1024):
        if distance != case.arguments["max_distance"]:
            yield from predict_case(
                case.with_arguments(max_distance=distance),
                f"matches a greatest distance of {distance}",
            )
    exact = len(case.arguments["x_table"]) // 2
    if int(case.arguments["max_distance"]) > exact:
        words = "matches buckets of one side, with 0 for all keys after the query"
        yield Prediction(words, looked_up(case, direction="causal"))
        yield Prediction(f"{words}, turned around", looked_up(case, sign=-1, direction="causal"))


KNOWLEDGE = {
    "layout_embedding": CallKnowledge(
        error_terms=embedding_terms,
        arguments=arguments,
        sweep=no_sweep,
        sizes=sizes,
        shape=embedding_shape,
        invariants={
            "words-apart": words_apart,
            "axes-exchanged": axes_exchanged,
            "constant-tables": constant_tables,
        },
        deviations={
            "axes-exchanged": given_by(exchanged),
            "sizes-exchanged": given_by(sizes_exchanged),
            "edges-sorted": given_by(sorted_edges),
            "sizes-wrong": given_by(other_sizes),
            "sizes-without-sign": given_by(unsigned),
            "mean-for-sum": given_by(mean),
        },
    ),
    "layout_bias": CallKnowledge(
        error_terms=bias_terms,
        arguments=bias_arguments,
        sweep=no_sweep,
        sizes=bias_sizes,
        shape=bias_shape,
        invariants={
            "offset-only": offset_only,
            "heads-apart": heads_apart(bias_arguments, "x_table", "y_table", axis=1),
            "one-line": one_line,
            "right-and-upper": right_and_upper,
        },
        deviations={
            "axes-exchanged": given_by(bias_exchanged),
            "offset-reversed": given_by(bias_reversed),
            "other-edges": given_by(other_edges),
            "scaling-swapped": given_by(other_scaling),
            "buckets-wrong": other_buckets,
        },
    ),
}
