"""Decomposed relative positions: bounds, invariants and deviations."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from posenc_conformance.families.lengths import no_sweep
from posenc_conformance.judge.arrays import Floats, fine
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.deviation import DeviationModel, Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict

Index = npt.NDArray[np.int64]
Resize = Callable[[Floats, int], Floats]
Shapes = tuple[tuple[int, int], ...]
GRIDS: tuple[tuple[tuple[int, int], tuple[int, int]], ...] = (
    ((2, 3), (2, 3)),
    ((3, 2), (3, 2)),
    ((4, 2), (2, 1)),
    ((1, 2), (2, 4)),
    ((1, 1), (1, 1)),
    ((3, 4), (3, 2)),
)
"""Rows and columns of patches, of queries and of keys."""


def between(count: int, rows: int) -> tuple[Index, Index, Floats]:
    """Find the two rows that each row of a resized table interpolates, and the second's share."""
    place = np.maximum((np.arange(rows) + 0.5) * count / rows - 0.5, 0)
    near = np.minimum(place.astype(np.int64), count - 1)
    far = np.minimum(near + 1, count - 1)
    return near, far, np.where(near < count - 1, place - near, 0)


def resized(table: Floats, rows: int) -> Floats:
    """Resize a table by linear interpolation between the centres of rows."""
    near, far, share = between(len(table), rows)
    return np.asarray(table[near] * (1 - share)[:, None] + table[far] * share[:, None])


def magnitudes(table: Floats, rows: int) -> Floats:
    """Return the magnitudes to which the rounding errors of a resized table are proportional.

    They are the sum of the magnitudes of both rows that a row interpolates, whatever their shares.
    A table of the right length is not resized.
    """
    size = np.abs(table)
    if len(table) == rows:
        return np.asarray(size)
    near, far, _ = between(len(table), rows)
    return np.asarray(size[near] + size[far])


def grids(case: Case) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the rows and columns of queries, and those of keys."""
    values = case.arguments
    return (values["q_height"], values["q_width"]), (values["k_height"], values["k_width"])


def distance_rows(queries: int, keys: int) -> Index:
    """Return the row of the resized table for each query and key of one axis: [queries, keys]."""
    i, j = np.arange(queries)[:, None], np.arange(keys)
    return i * max(keys // queries, 1) + (keys - 1 - j) * max(queries // keys, 1)


@dataclass(frozen=True)
class Bias:
    """The parts of the bias; a mistake replaces one of them."""

    q: Floats
    tables: tuple[Floats, Floats]
    grids: tuple[tuple[int, int], tuple[int, int]]
    resize: Resize = resized
    rows: Callable[[int, int], Index] = distance_rows

    def axis(self, number: int) -> Floats:
        """Compute the products with one table: [heads, q_height, q_width, keys]."""
        (height, width), keys = self.grids[0], self.grids[1][number]
        queries = self.grids[0][number]
        table = self.resize(self.tables[number], 2 * max(queries, keys) - 1)
        chosen = table[self.rows(queries, keys)]
        patches = self.q.reshape(len(self.q), height, width, -1)
        return np.asarray(np.einsum(("hyxc,ykc->hyxk", "hyxc,xkc->hyxk")[number], patches, chosen))

    def total(self) -> Floats:
        """Compute the bias: [heads, queries, keys]."""
        both = self.axis(0)[..., :, None] + self.axis(1)[..., None, :]
        return both.reshape(len(self.q), self.q.shape[1], -1)


def right(case: Case) -> Bias:
    """Return the right parts of a case's bias."""
    values = case.arguments
    return Bias(values["q"], (values["table_h"], values["table_w"]), grids(case))


def shape(case: Case) -> tuple[int, ...]:
    """Return the shape of the bias: [heads, queries, keys]."""
    _, (height, width) = grids(case)
    return *case.arguments["q"].shape[:2], height * width


def error_terms(case: Case) -> ErrorTerms:
    """Return as scale the sum of the magnitudes of the products with all rows read.

    The angle is twice head_dim, plus twice the rows of the longest resized table.
    """
    at = right(case)
    scale = replace(at, q=np.abs(at.q), resize=magnitudes).total()
    grown = [
        2 * len(table)
        for table, queries, keys in zip(at.tables, *at.grids, strict=True)
        if len(table) != 2 * max(queries, keys) - 1
    ]
    return ErrorTerms(scale, np.asarray(2.0 * at.q.shape[-1] + max(grown, default=0)))


def table_terms(case: Case) -> ErrorTerms:
    """Return as scale the magnitudes of both rows that a row interpolates.

    The error of a row's place grows with the number of rows of the table. Twice that number serves
    as the angle.
    """
    table, rows = case.arguments["table"], case.arguments["rows"]
    return ErrorTerms(magnitudes(table, rows), np.asarray(2.0 * len(table)))


def arrays(
    heads: int, q_grid: tuple[int, int], k_grid: tuple[int, int], head_dim: int, rows: int
) -> ArgumentDict:
    """Make arrays of these sizes.

    ``rows`` is the number of rows of the first table; the second has one more. With 0, both tables
    have the right number.
    """
    sizes = [2 * max(pair) - 1 for pair in zip(q_grid, k_grid, strict=True)]
    high, wide = (rows, rows + 1) if rows else sizes
    return {
        "q": fine((heads, q_grid[0] * q_grid[1], head_dim)),
        "table_h": fine((high, head_dim), 5),
        "table_w": fine((wide, head_dim), 11),
        "q_height": q_grid[0],
        "q_width": q_grid[1],
        "k_height": k_grid[0],
        "k_width": k_grid[1],
    }


def arguments(trial: Trial) -> ArgumentDict:
    """Draw a few patches, and tables of the right length or of another."""
    q_grid, k_grid = trial.pick.one_of(GRIDS)
    return arrays(
        trial.choose("heads", (2, 1, 3)),
        q_grid,
        k_grid,
        trial.choose("head_dim", (4, 1, 6)),
        trial.pick.one_of((0, 7, 3, 1, 12)),
    )


def sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield odd and even grids, square and others, many heads, wide heads and larger images."""
    for heads, q_grid, k_grid, head_dim, rows in (
        (1, (1, 1), (1, 1), 1, 0),
        (9, (2, 2), (2, 2), 3, 5),
        (1, (5, 3), (5, 3), 64, 0),
        (2, (14, 14), (14, 14), 2, 27),
        (2, (14, 14), (7, 7), 2, 0),
        (1, (3, 12), (3, 4), 5, 33),
        (1, (20, 33), (1, 3), 1, 0),
        (33, (1, 2), (1, 2), 2, 127),
    ):
        yield arrays(heads, q_grid, k_grid, head_dim, rows)


def table_arguments(trial: Trial) -> ArgumentDict:
    """Draw a table to lengthen or shorten."""
    return {
        "table": fine((trial.choose("n", (5, 1, 2, 9, 13)), trial.choose("head_dim", (3, 1, 8)))),
        "rows": trial.choose("rows", (9, 3, 5, 1, 27)),
    }


def table_sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield short and long tables, wide and narrow ones."""
    for count, head_dim, rows in (
        (27, 80, 127),
        (127, 64, 27),
        (1, 3, 5),
        (7, 1, 7),
        (1023, 2, 2),
        (2, 2, 1023),
    ):
        yield {"table": fine((count, head_dim)), "rows": rows}


def constant_tables(trial: Trial) -> None:
    """Check that tables of equal rows give the product of the query with both rows everywhere."""
    chosen = arguments(trial)
    same = {
        name: np.broadcast_to(chosen[name][:1], chosen[name].shape).copy()
        for name in ("table_h", "table_w")
    }
    y = trial.answer(**(chosen | same))
    rows = y.case.arguments["table_h"][0] + y.case.arguments["table_w"][0]
    products = (y.case.arguments["q"] * rows).sum(axis=-1, keepdims=True)
    trial.assert_zero(y - products, "tables of equal rows c and d do not add q.(c + d) everywhere")


def rectangles(trial: Trial) -> None:
    """Check that the parts of height and width add up, at four keys that form a rectangle."""
    chosen = arguments(trial)
    y = trial.answer(**chosen)
    height, width = chosen["k_height"], chosen["k_width"]
    row, column = height // 2 * width, width // 2
    corners = y[..., 0:1] + y[..., row + column : row + column + 1]
    others = y[..., column : column + 1] + y[..., row : row + 1]
    trial.assert_zero(corners - others, "the parts of height and width do not add up")


def offset_only(trial: Trial) -> None:
    """Check that the bias of equal queries depends on the offset only, on equal grids."""
    chosen = arguments(trial)
    chosen |= {"k_height": chosen["q_height"], "k_width": chosen["q_width"]}
    chosen["q"] = np.broadcast_to(chosen["q"][:, :1], chosen["q"].shape).copy()
    y = trial.answer(**chosen)
    width = chosen["q_width"]
    trial.assert_zero(
        y[:, width:, width:] - y[:, :-width, :-width],
        "one row further down, both, equal queries have another bias",
    )


def mirrored_table(trial: Trial) -> None:
    """Check that turning the table upside down turns the resized table upside down."""
    chosen = table_arguments(trial)
    y = trial.answer(**chosen)
    other = trial.answer(**(chosen | {"table": chosen["table"][::-1].copy()}))
    trial.assert_zero(y - other[::-1], "a table upside down is not resized to one upside down")


def same_table(trial: Trial) -> None:
    """Check that resizing a table to its own number of rows does not change it."""
    chosen = table_arguments(trial)
    chosen["rows"] = len(chosen["table"])
    y = trial.answer(**chosen)
    wrong = y.values != y.case.arguments["table"]
    trial.assert_none(y, wrong, "a table resized to as many rows as it has is changed")


def constant_table(trial: Trial) -> None:
    """Check that resizing does not change equal rows."""
    chosen = table_arguments(trial)
    same = np.broadcast_to(chosen["table"][:1], chosen["table"].shape).copy()
    y = trial.answer(**(chosen | {"table": same}))
    trial.assert_zero(y - y.case.arguments["table"][:1], "equal rows do not stay as they are")


def instead(words: str, change: Callable[[Case, Bias], Bias]) -> DeviationModel:
    """Make a model that predicts the bias with one part changed."""

    def models(case: Case, got: Floats) -> Iterator[Prediction]:
        yield Prediction(words, change(case, right(case)).total())

    return models


def corners_aligned(table: Floats, rows: int) -> Floats:
    """Resize a table by interpolation that keeps the first and the last row."""
    place = np.linspace(0, len(table) - 1, rows) if rows > 1 else np.zeros(1)
    near = np.minimum(place.astype(np.int64), len(table) - 1)
    far = np.minimum(near + 1, len(table) - 1)
    share = (place - near)[:, None]
    return np.asarray(table[near] * (1 - share) + table[far] * share)


def nearest(table: Floats, rows: int) -> Floats:
    """Resize a table by copying rows."""
    return np.asarray(table[np.arange(rows) * len(table) // rows])


def not_resized(table: Floats, rows: int) -> Floats:
    """Read the table from its start, and repeat its last row beyond it."""
    return np.asarray(table[np.minimum(np.arange(rows), len(table) - 1)])


RESIZINGS: Mapping[str, tuple[str, Resize]] = {
    "corners-aligned": ("matches tables resized with their corners aligned", corners_aligned),
    "nearest": ("matches tables resized by copying the nearest row", nearest),
    "not-resized": ("matches tables that are not resized, their last row used beyond", not_resized),
}


def resizing(name: str) -> DeviationModel:
    """Make a model that predicts tables resized in another way, in either call."""
    words, resize = RESIZINGS[name]

    def models(case: Case, got: Floats) -> Iterator[Prediction]:
        if case.call.name == "resized_relative_table":
            yield Prediction(words, resize(case.arguments["table"], case.arguments["rows"]))
        else:
            yield Prediction(words, replace(right(case), resize=resize).total())

    return models


def tables_swapped(case: Case, at: Bias) -> Bias:
    """Use the table of the height for the width, and vice versa."""
    return replace(at, tables=(at.tables[1], at.tables[0]))


def scaled(case: Case, at: Bias) -> Bias:
    """Divide the queries by the root of head_dim."""
    return replace(at, q=at.q / at.q.shape[-1] ** 0.5)


def reversed_rows(queries: int, keys: int) -> Index:
    """Return the rows for offsets of key minus query."""
    return 2 * max(queries, keys) - 2 - distance_rows(queries, keys)


def unscaled_places(queries: int, keys: int) -> Index:
    """Return the rows for queries and keys placed on the same grid."""
    i, j = np.arange(queries)[:, None], np.arange(keys)
    return np.asarray(i - j + keys - 1)


def one_axis(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the bias of only one of the two tables."""
    at = right(case)
    for number, name in enumerate(("height", "width")):
        tables = [table * (other == number) for other, table in enumerate(at.tables)]
        yield Prediction(
            f"matches the {name} alone", replace(at, tables=(tables[0], tables[1])).total()
        )


def columns_first(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict keys listed column by column."""
    _, (height, width) = grids(case)
    order = np.arange(height * width).reshape(height, width).T.ravel()
    yield Prediction("matches keys listed column by column", right(case).total()[..., order])


KNOWLEDGE = {
    "decomposed_relative_bias": CallKnowledge(
        error_terms=error_terms,
        arguments=arguments,
        sweep=no_sweep,
        sizes=sizes,
        shape=shape,
        invariants={
            "constant-tables": constant_tables,
            "rectangles": rectangles,
            "offset-only": offset_only,
        },
        deviations={
            "tables-swapped": instead("matches the two tables exchanged", tables_swapped),
            "queries-scaled": instead(
                "matches queries divided by the root of head_dim first", scaled
            ),
            "offset-reversed": instead(
                "matches offsets of key minus query",
                lambda case, at: replace(at, rows=reversed_rows),
            ),
            "strides-ignored": instead(
                "matches queries and keys placed on one grid, though one has larger patches",
                lambda case, at: replace(at, rows=unscaled_places),
            ),
            "one-axis": one_axis,
            "columns-first": columns_first,
            **{name: resizing(name) for name in RESIZINGS},
        },
    ),
    "resized_relative_table": CallKnowledge(
        error_terms=table_terms,
        arguments=table_arguments,
        sweep=no_sweep,
        sizes=table_sizes,
        shape=lambda case: (
            case.arguments["rows"],
            case.arguments["table"].shape[1],
        ),
        invariants={
            "same-table": same_table,
            "constant-table": constant_table,
            "mirrored-table": mirrored_table,
        },
        deviations={name: resizing(name) for name in RESIZINGS},
    ),
}
