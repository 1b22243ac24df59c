"""Boxes of words on a page: invariants and deviations."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

import posenc
from posenc_conformance.diagnose.mistakes import DeviationModel, Model, attempt
from posenc_conformance.families.biases import heads_apart
from posenc_conformance.families.lengths import no_sweep
from posenc_conformance.judge.arrays import Floats, fine
from posenc_conformance.judge.bounded import Exact
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.trial import Trial

Boxes = npt.NDArray[np.int64]
TABLES = ("x_table", "y_table", "h_table", "w_table")
BUCKETS = ((64, 256), (8, 20), (4, 8), (16, 64))
"""Rows of tables of biases, and where the logarithm reaches their ends."""
READS = ("x_table", "y_table", "x_table", "y_table", "h_table", "w_table")


def summed(case: Case) -> bool:
    """Whether the six are added."""
    return case.conventions["join"] == "sum"


def clipped(case: Case) -> bool:
    """Whether boxes may end before they begin."""
    return case.conventions["sizes"] == "clipped"


def numbers_of(case: Case, boxes: Boxes | None = None) -> list[Boxes]:
    """Rows that are read: of four edges, height and width."""
    left, upper, right, lower = (case.arguments["bbox"] if boxes is None else boxes).T
    height, width = lower - upper, right - left
    if clipped(case):
        height, width = np.maximum(height, 0), np.maximum(width, 0)
    return [left, upper, right, lower, height, width]


def joined(case: Case, numbers: Sequence[Boxes], reads: Sequence[str] = READS) -> Floats | None:
    """What these rows give; None if there is no such row, or it does not fit."""
    parts = []
    for name, rows in zip(reads, numbers, strict=True):
        table = case.arguments[name]
        if rows.size and not (-len(table) <= rows.min() and rows.max() < len(table)):
            return None
        parts.append(table[rows])
    if summed(case):
        return np.asarray(sum(parts))
    found = np.concatenate(parts, axis=-1)
    return found if found.shape == case.shape else None


def embedding_shape(case: Case) -> tuple[int, ...]:
    """As wide as one row, or as six."""
    edge, size = (case.arguments[name].shape[1] for name in ("x_table", "h_table"))
    return len(case.arguments["bbox"]), edge if summed(case) else 4 * edge + 2 * size


def bias_shape(case: Case) -> tuple[int, ...]:
    """Heads, queries, keys."""
    words = len(case.arguments["bbox"])
    return case.arguments["x_table"].shape[1], words, words


def embedding_terms(case: Case) -> ErrorTerms:
    """Nothing is rounded but sums."""
    if not summed(case):
        return ErrorTerms(np.zeros(()), np.zeros(()))
    sizes = case.changed(**{name: np.abs(case.arguments[name]) for name in TABLES})
    found = joined(sizes, numbers_of(case))
    return ErrorTerms(np.asarray(found), np.zeros(()))


def bias_terms(case: Case) -> ErrorTerms:
    """The sum of both magnitudes, divided as it is."""
    sizes = {name: np.abs(case.arguments[name]) for name in ("x_table", "y_table")}
    return ErrorTerms(looked_up(case.changed(**sizes)), np.zeros(()))


def looked_up(
    case: Case,
    edges: tuple[Floats, Floats] | None = None,
    *,
    names: tuple[str, str] = ("x_table", "y_table"),
    sign: int = 1,
    divisor: float | None = None,
    **rule: Any,
) -> Floats:
    """The bias by these edges."""
    boxes, given = case.arguments["bbox"], case.arguments
    total = np.zeros(case.shape)
    for name, edge in zip(names, edges or (boxes[:, 0], boxes[:, 3]), strict=True):
        table = given[name]
        apart = sign * (edge - edge[:, None]).astype(np.int64)
        usual = {"num_buckets": len(table), "max_distance": int(given["max_distance"])}
        total += np.moveaxis(table[posenc.t5_bucket(apart, **(usual | rule))], -1, 0)
    root = np.sqrt(given["head_dim"]) if case.conventions["scaling"] == "root" else 1.0
    return total / (root if divisor is None else divisor)


def boxes_on(count: int, rows: int, *, turned: bool = False) -> Boxes:
    """Boxes on a page of so many places, some of which end before they begin."""
    place = np.arange(count)
    edges = np.stack([(7 * place + 1) % rows, (5 * place + 2) % rows, (11 * place) % rows, place])
    edges[3] = (3 * edges[3] + rows // 2) % rows
    left, upper, right, lower = edges
    if turned:
        return edges.T
    low, high = np.minimum(left, right), np.minimum(upper, lower)
    return np.stack([low, high, np.maximum(left, right), np.maximum(upper, lower)], axis=1)


def tables(rows: int, edge: int, size: int) -> dict[str, Floats]:
    """Four of them."""
    widths = (edge, edge, size, size)
    return {
        name: fine((rows, wide), 17 * start)
        for start, (name, wide) in enumerate(zip(TABLES, widths, strict=True))
    }


def arguments(trial: Trial) -> dict[str, Any]:
    """A few words on a small page."""
    conventions = trial.subject.combination.conventions
    dim = trial.choose("dim", (3, 1, 4))
    alike = conventions["join"] == "sum"
    rows = trial.choose("rows", (9, 16, 7))
    turned = conventions["sizes"] == "clipped" and trial.pick.integer(0, 1) == 0
    return {
        "bbox": boxes_on(trial.pick.one_of((6, 1, 2, 11)), rows, turned=turned),
        **tables(rows, dim, dim if alike else trial.choose("size_dim", (2, 1, 3))),
    }


def sizes(case: Case) -> Iterator[dict[str, Any]]:
    """Pages and widths of released models, and no words."""
    for count, rows, edge, size in ((5, 1024, 128, 128), (130, 1024, 2, 2), (0, 9, 2, 2)):
        yield {"bbox": boxes_on(count, rows), **tables(rows, edge, size)}
    if not summed(case):
        yield {"bbox": boxes_on(4, 1024), **tables(1024, 171, 170)}


def bias_tables(buckets: int, heads: int) -> dict[str, Floats]:
    """Both of them."""
    return {"x_table": fine((buckets, heads)), "y_table": fine((buckets, heads), 29)}


def bias_arguments(trial: Trial) -> dict[str, Any]:
    """A few words, near and far."""
    buckets, distance = trial.pick.one_of(BUCKETS)
    return {
        "bbox": boxes_on(trial.pick.one_of((6, 1, 2, 11)), trial.pick.one_of((37, 1000))),
        **bias_tables(buckets, trial.choose("heads", (2, 1, 3))),
        "max_distance": distance,
        "head_dim": trial.choose("head_dim", (64, 10, 1)),
    }


def bias_sizes(case: Case) -> Iterator[dict[str, Any]]:
    """Many heads, many words, and none; all distances up to the greatest."""
    for count, heads in ((3, 12), (5, 33), (130, 2), (0, 2)):
        yield {"bbox": boxes_on(count, 1001), **bias_tables(64, heads), "max_distance": 256}
    line = np.repeat(np.arange(0, 260)[:, None], 4, axis=1)
    yield {"bbox": line, **bias_tables(64, 1), "max_distance": 256}


def words_apart(trial: Trial) -> None:
    """Words in the reverse order have their rows in the reverse order."""
    chosen = arguments(trial)
    turned = {"bbox": chosen["bbox"][::-1].copy()}
    one, other = trial.answer(**chosen), trial.answer(**(chosen | turned))
    trial.never(one, one.values != other.values[::-1], "a word depends on its place in the list")


def axes_exchanged(trial: Trial) -> None:
    """x for y, in boxes and tables."""
    chosen = arguments(trial)
    given = dict(
        zip(TABLES, (chosen[name] for name in (*TABLES[1::-1], *TABLES[:1:-1])), strict=True)
    )
    turned = {**given, "bbox": chosen["bbox"][:, [1, 0, 3, 2]].copy()}
    one, other = trial.answer(**chosen), trial.answer(**(chosen | turned))
    if summed(one.case):
        trial.zero(one - other, "a sum changes with the names of the axes")
        return
    edge, size = chosen["x_table"].shape[1], chosen["h_table"].shape[1]
    starts = np.cumsum([0, edge, edge, edge, edge, size, size])
    order = np.concatenate(
        [np.arange(starts[part], starts[part + 1]) for part in (1, 0, 3, 2, 5, 4)]
    )
    wrong = one.values != other.values[:, order]
    trial.never(one, wrong, "exchanging the axes does not exchange their parts")


def constant_tables(trial: Trial) -> None:
    """A quarter everywhere."""
    chosen = arguments(trial)
    alike = {name: np.full_like(chosen[name], 0.25) for name in TABLES}
    y = trial.answer(**(chosen | alike))
    trial.zero(y - Exact(1.5 if summed(y.case) else 0.25), "constant tables are changed")


def offset_only(trial: Trial) -> None:
    """Words moved together."""
    chosen = bias_arguments(trial)
    moved = {"bbox": chosen["bbox"] + np.array([13, 5, 13, 5])}
    one, other = trial.answer(**chosen), trial.answer(**(chosen | moved))
    trial.zero(one - other, "the bias changes when all words are moved")


def one_line(trial: Trial) -> None:
    """Words one above the other, by the horizontal distance alone."""
    chosen = bias_arguments(trial)
    boxes = chosen["bbox"].copy()
    boxes[:, 0] = boxes[0, 0]
    flat = {"bbox": boxes, "y_table": 0 * chosen["y_table"]}
    y = trial.answer(**(chosen | flat))
    trial.zero(y - y[:, :1, :1], "words one above the other have different biases")


def right_and_upper(trial: Trial) -> None:
    """Other right and upper edges."""
    chosen = bias_arguments(trial)
    boxes = chosen["bbox"].copy()
    boxes[:, 1], boxes[:, 2] = 0, 1000
    one, other = trial.answer(**chosen), trial.answer(**(chosen | {"bbox": boxes}))
    trial.zero(one - other, "right or upper edges matter")


def given_by(
    changes: Callable[[Case], Iterator[tuple[str, Floats | None]]],
) -> DeviationModel:
    """The results that there are."""

    def models(case: Case, got: Floats) -> Iterator[Model]:
        for words, found in changes(case):
            if found is not None and found.shape == case.shape:
                yield Model(words, found)

    return models


Found = Iterator[tuple[str, Floats | None]]


def exchanged(case: Case) -> Found:
    """x for y."""
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
    """Width before height."""
    *edges, height, width = numbers_of(case)
    for words, rows, tables in (
        ("width before height", (width, height), ("w_table", "h_table")),
        ("heights in the table of widths", (height, width), ("w_table", "h_table")),
        ("widths in the table of heights first", (width, height), ("h_table", "w_table")),
    ):
        yield f"matches {words}", joined(case, (*edges, *rows), (*READS[:4], *tables))


def sorted_edges(case: Case) -> Found:
    """Left, right, upper, lower, or sizes first."""
    numbers = numbers_of(case)
    for words, order in (
        ("left, right, upper, lower", (0, 2, 1, 3, 4, 5)),
        ("upper, left, lower, right", (1, 0, 3, 2, 4, 5)),
        ("heights and widths first", (4, 5, 0, 1, 2, 3)),
    ):
        reads = [READS[each] for each in order]
        yield f"matches the order {words}", joined(case, [numbers[each] for each in order], reads)


def other_sizes(case: Case) -> Found:
    """Sizes that are not the differences."""
    left, upper, right, lower, height, width = numbers_of(case)
    edges = (left, upper, right, lower)
    yield "matches lower and right edges for sizes", joined(case, (*edges, lower, right))
    yield "matches sizes one too large", joined(case, (*edges, height + 1, width + 1))
    yield (
        "matches right and lower edges for width and height",
        joined(case, (left, upper, left + right, upper + lower, lower, right)),
    )
    if summed(case):
        given = case.arguments
        corners = given["x_table"][left] + given["y_table"][upper]
        ends = given["x_table"][right] + given["y_table"][lower]
        yield "matches a sum without height and width", corners + ends


def unsigned(case: Case) -> Found:
    """Negative sizes in other ways."""
    left, upper, right, lower, *_ = numbers_of(case)
    for words, change in (
        ("sizes without a sign", np.abs),
        ("negative sizes read from the end of the table", np.asarray),
    ):
        found = joined(
            case, (left, upper, right, lower, change(lower - upper), change(right - left))
        )
        yield f"matches {words}", found


def mean(case: Case) -> Found:
    """A sixth of the sum, or half."""
    if summed(case):
        found = joined(case, numbers_of(case))
        for words, parts in (("six embeddings", 6), ("two", 2), ("four", 4)):
            yield f"matches the mean of {words}", None if found is None else found / parts


def edges_of(case: Case) -> list[Floats]:
    """Left, upper, right and lower ones."""
    return list(case.arguments["bbox"].astype(np.float64).T)


def bias_exchanged(case: Case) -> Found:
    """x for y."""
    left, upper, _, lower = edges_of(case)
    yield "matches tables of x and y exchanged", looked_up(case, names=("y_table", "x_table"))
    yield "matches the table of x for both", looked_up(case, names=("x_table", "x_table"))
    yield (
        "matches boxes taken for upper, left, lower, right",
        looked_up(case, (upper, case.arguments["bbox"][:, 2].astype(np.float64))),
    )
    yield "matches left and lower edges exchanged", looked_up(case, (lower, left))


def bias_reversed(case: Case) -> Found:
    """Query minus key."""
    yield "matches distances of query minus key", looked_up(case, sign=-1)


def other_edges(case: Case) -> Found:
    """Other corners."""
    left, upper, right, lower = edges_of(case)
    for words, edges in (
        ("upper left corners", (left, upper)),
        ("lower right corners", (right, lower)),
        ("upper right corners", (right, upper)),
        ("centres", ((left + right) // 2, (upper + lower) // 2)),
    ):
        yield f"matches {words}", looked_up(case, edges)


def other_scaling(case: Case) -> Found:
    """Other divisors."""
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


def other_buckets(case: Case, got: Floats) -> Iterator[Model]:
    """Another greatest distance, or one side."""
    for distance in (32, 64, 128, 256, 1000, 1024):
        if distance != case.arguments["max_distance"]:
            yield from attempt(
                case.changed(max_distance=distance),
                f"matches a greatest distance of {distance}",
            )
    exact = len(case.arguments["x_table"]) // 2
    if int(case.arguments["max_distance"]) > exact:
        words = "matches buckets of one side, with 0 for all keys after the query"
        yield Model(words, looked_up(case, direction="causal"))
        yield Model(f"{words}, turned around", looked_up(case, sign=-1, direction="causal"))


ERROR_TERMS = {"layout_embedding": embedding_terms, "layout_bias": bias_terms}
ARGUMENTS: dict[str, Callable[[Trial], dict[str, Any]]] = {
    "layout_embedding": arguments,
    "layout_bias": bias_arguments,
}
SWEEPS = {"layout_embedding": no_sweep, "layout_bias": no_sweep}
SIZES = {"layout_embedding": sizes, "layout_bias": bias_sizes}
SHAPES: dict[str, Callable[[Case], tuple[int, ...]]] = {
    "layout_embedding": embedding_shape,
    "layout_bias": bias_shape,
}
INVARIANTS: dict[str, dict[str, Callable[[Trial], None]]] = {
    "layout_embedding": {
        "words-apart": words_apart,
        "axes-exchanged": axes_exchanged,
        "constant-tables": constant_tables,
    },
    "layout_bias": {
        "offset-only": offset_only,
        "heads-apart": heads_apart(bias_arguments, "x_table", "y_table", axis=1),
        "one-line": one_line,
        "right-and-upper": right_and_upper,
    },
}
DEVIATIONS: dict[str, dict[str, DeviationModel]] = {
    "layout_embedding": {
        "axes-exchanged": given_by(exchanged),
        "sizes-exchanged": given_by(sizes_exchanged),
        "edges-sorted": given_by(sorted_edges),
        "sizes-wrong": given_by(other_sizes),
        "sizes-without-sign": given_by(unsigned),
        "mean-for-sum": given_by(mean),
    },
    "layout_bias": {
        "axes-exchanged": given_by(bias_exchanged),
        "offset-reversed": given_by(bias_reversed),
        "other-edges": given_by(other_edges),
        "scaling-swapped": given_by(other_scaling),
        "buckets-wrong": other_buckets,
    },
}
