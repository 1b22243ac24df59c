"""Learned position embeddings: bounds, invariants and deviations."""

from collections.abc import Callable, Iterator, Sequence
from math import isqrt

import numpy as np

from posenc_conformance.diagnose.predictors import other_conventions, predict_case
from posenc_conformance.families.lengths import no_sweep
from posenc_conformance.families.linearity import linear_in
from posenc_conformance.judge.arrays import Floats, fine, lattice, round_to
from posenc_conformance.judge.bounded import Answer, Exact
from posenc_conformance.judge.case import Case, ErrorTerms, exact_terms
from posenc_conformance.judge.deviation import Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict

ROWS = 5
RECTANGLES = ((2, 3), (3, 2), (4, 9), (1, 4), (8, 2))
"""Height and width of grids that are not square; the last three have as many cells as a square."""
GRIDS = ((3, 4, 5), (2, 3, 3), (4, 2, 3), (5, 3, 7), (4, 1, 6))
"""Old size, new height, new width. No grid keeps its size or has a single cell, because all kernels
agree on such grids."""


def before(case: Case, offset: str | None = None) -> int:
    """Count the table rows before position 0's, by ``offset`` or the case's own convention."""
    chosen = offset or case.conventions["offset"]
    return {"none": 0, "two": 2}.get(str(chosen), int(case.arguments.get("padding_idx") or 0) + 1)


def offset_arguments(trial: Trial) -> ArgumentDict:
    """Draw the padding index, if the convention depends on it."""
    if trial.subject.combination.conventions["offset"] != "after-padding":
        return {}
    return {"padding_idx": trial.choose("padding_idx", (1, 0, 4))}


def learned_arguments(trial: Trial) -> ArgumentDict:
    """Draw a few consecutive positions.

    The simplest table is long enough for the calls that behaviour checks make.
    """
    extra = offset_arguments(trial)
    rows = trial.pick.one_of((1010, 9, 40))
    start = trial.position(ROWS, rows - ROWS)
    first = before(trial.case(**extra, positions=np.arange(1)))
    return extra | {
        "positions": start + np.arange(ROWS),
        "table": fine((first + rows, trial.choose("dim", (4, 1, 3, 8))), start),
    }


def learned_sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield narrow and wide, short and long tables.

    The longest has more rows than 16 bits can count.
    """
    first = before(case)
    for rows, dim in (
        (7, 2),
        (2, 3),
        (1, 1),
        (512, 5),
        (2048, 1),
        (3, 64),
        (3, 100),
        (3, 769),
        (5, first + 5),
    ):
        last = np.array([0, rows // 2, rows - 1])
        yield {"table": fine((first + rows, dim)), "positions": last}
    yield {"table": fine((first + 2049, 2)), "positions": np.arange(2049)}
    far = np.array([127, 128, 255, 256, 32767, 32768, 65535, 65536])
    yield {"table": fine((first + 65537, 1)), "positions": far}


def rows_apart(trial: Trial) -> None:
    """Check that only the row of the position affects the result."""
    chosen = learned_arguments(trial)
    single = chosen | {"positions": chosen["positions"][:1]}
    answer = trial.answer(**single)
    table = -chosen["table"]
    row = before(answer.case) + int(single["positions"][0])
    table[row] = chosen["table"][row]
    other = trial.answer(**(single | {"table": table}))
    wrong = answer.values != other.values
    trial.assert_none(answer, wrong, "other rows of the table have an effect")


def columns_apart(trial: Trial) -> None:
    """Check that reversing the columns of the table reverses the channels."""
    chosen = learned_arguments(trial)
    answer = trial.answer(**chosen)
    turned = trial.answer(**(chosen | {"table": chosen["table"][:, ::-1].copy()}))
    trial.assert_none(
        answer,
        answer.values != turned.values[:, ::-1],
        "reversing the columns of the table does not reverse the channels",
    )


def constant_table(trial: Trial) -> None:
    """Check that a constant table gives a constant result, so that nothing is scaled."""
    chosen = learned_arguments(trial)
    answer = trial.answer(**(chosen | {"table": np.full_like(chosen["table"], 0.75)}))
    wrong = answer.values != 0.75
    trial.assert_none(answer, wrong, "a constant table does not give a constant result")


def moved(case: Case, shift: int) -> Iterator[Floats]:
    """Yield the rows of the table that are ``shift`` further on, if they exist.

    Rows below 0 are counted from the end of the table.
    """
    rows = case.arguments["positions"] + before(case) + shift
    if np.all(np.abs(2 * rows + 1) < 2 * len(case.arguments["table"])):
        yield case.arguments["table"][rows]


def offset_swapped(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the offset of another convention, or of padding index 1."""
    own = before(case)
    names = {"none": 0, "two": 2, "after-padding with padding_idx 1": 2}
    for name, first in names.items():
        if first != own:
            for output in moved(case, first - own):
                yield Prediction(
                    f"matches the offset {name}; {own} rows belong to no position", output
                )


def rows_shifted(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict shifted rows: by the shift of the first row, or by one."""
    shifts = [1, -1]
    if len(got):
        same = np.flatnonzero((case.arguments["table"] == got[0]).all(axis=1))
        here = int(case.arguments["positions"][0]) + before(case)
        if len(same) == 1:  # a row that repeats does not say which of them it is
            shifts = [int(same[0]) - here, *shifts]
    for shift in dict.fromkeys(shifts):
        for output in moved(case, shift):
            yield Prediction(f"matches rows {shift:+d} from those asked for", output)


def row_numbers(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the first rows of the table, regardless of the positions."""
    numbers = before(case) + np.arange(len(case.arguments["positions"]))
    if numbers.max(initial=0) < len(case.arguments["table"]):
        yield Prediction("matches the first rows of the table", case.arguments["table"][numbers])


def rows_scaled(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict rows multiplied or divided by sqrt(dim)."""
    dim = case.shape[1]
    for name, factor in (("sqrt(dim)", dim**0.5), ("1/sqrt(dim)", dim**-0.5)):
        product = round_to(case.truth * factor, case.dtype)
        yield Prediction(f"matches rows multiplied by {name}", product)


def padding_row_zeroed(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict zeros for position 0."""
    yield Prediction(
        "matches zeros for position 0",
        np.where(case.arguments["positions"][:, None] == 0, 0.0, case.truth),
    )


def table_rounded(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict a table rounded to a narrow dtype."""
    for dtype in ("bfloat16", "float16"):
        yield Prediction(f"matches a table in {dtype}", round_to(case.truth, dtype))


def class_tokens(case: Case) -> int:
    """Return the number of table rows for class tokens, which belong to no cell."""
    return int(case.conventions["class_tokens"])


def old_size(case: Case) -> tuple[int, int]:
    """Return height and width of the table's grid."""
    chosen, side = case.arguments, isqrt(len(case.arguments["table"]) - class_tokens(case))
    return chosen.get("source_height", side), chosen.get("source_width", side)


def grid_shape(case: Case) -> tuple[int, int]:
    """Return the shape of the result: [class tokens + cells, dim]."""
    chosen = case.arguments
    rows = class_tokens(case) + chosen["height"] * chosen["width"]
    return rows, chosen["table"].shape[1]


def old_grid(case: Case) -> Floats:
    """Return the cells of the table: [height, width, dim]."""
    cells = case.arguments["table"][class_tokens(case) :]
    return np.asarray(cells.reshape(*old_size(case), -1))


def with_class_rows(case: Case, cells: Floats) -> Floats:
    """Put cells [..., dim] below the rows of class tokens."""
    table = case.arguments["table"]
    first = table[: class_tokens(case)]
    return np.concatenate([first, cells.reshape(-1, table.shape[1])])


def axis_terms(grid: int, size: int, resampling: str) -> Floats:
    """Compute the term that serves as the angle, for each cell along one axis.

    It is 8 per weight, plus 4 times the coordinate.
    """
    taps = {"linear-corners": 2, "bicubic-antialias": int(np.ceil(4 * max(1, grid / size)))}
    place = (np.arange(size) + 0.5) * grid / size
    return np.asarray(8 * taps.get(resampling, 4) + 4 * place)


def grid_terms(case: Case) -> ErrorTerms:
    """Return the channel's largest entry as scale, and the angle of each cell.

    Both are 0 for the rows of class tokens, which are copied.
    """
    (down, across), resampling = old_size(case), str(case.conventions["resampling"])
    height, width = case.arguments["height"], case.arguments["width"]
    cells = (
        axis_terms(down, height, resampling)[:, None] + axis_terms(across, width, resampling)[None]
    )
    copied = np.zeros(class_tokens(case))
    largest = np.abs(old_grid(case)).max(axis=(0, 1))
    scale = np.concatenate([copied, np.ones(height * width)])[:, None] * largest
    return ErrorTerms(scale, np.concatenate([copied, cells.ravel()])[:, None])


def grid_arguments(trial: Trial) -> ArgumentDict:
    """Draw a table with a small grid, and the height and width of the new grid."""
    grid, height, width = trial.pick.one_of(GRIDS)
    first = int(trial.subject.combination.conventions["class_tokens"])
    if trial.can("source") and trial.pick.integer(0, 1):
        down, across = trial.pick.one_of(RECTANGLES)
        return {
            "table": fine((first + down * across, trial.choose("dim", (2, 1, 3)))),
            "height": trial.choose("height", (height,)),
            "width": trial.choose("width", (width,)),
            "source": "rectangle",
            "source_height": trial.choose("source_height", (down,)),
            "source_width": trial.choose("source_width", (across,)),
        }
    rows = first + grid * grid
    return {
        "table": fine((rows, trial.choose("dim", (2, 1, 3)))),
        "height": trial.choose("height", (height,)),
        "width": trial.choose("width", (width,)),
    }


def grid_sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield grids that grow, that shrink, and that do both.

    Also yield a single cell, another grid of as many cells, the sizes of models, many channels, and
    sizes for which the old size times the quotient new / old is a little too small in floating
    point.
    """
    for down, across, height, width, dim in RECTANGLE_SIZES if _is_rectangle(case) else SIZES:
        table = fine((class_tokens(case) + down * across, dim))
        chosen: ArgumentDict = {"table": table, "height": height, "width": width}
        if _is_rectangle(case):
            chosen |= {"source_height": down, "source_width": across}
        yield chosen


def _is_rectangle(case: Case) -> bool:
    return case.conventions.get("source") == "rectangle"


Sizes = Sequence[tuple[int, int, int, int, int]]
SIZES: Sizes = (
    (2, 2, 3, 2, 1),
    (4, 4, 3, 5, 2),
    (4, 4, 2, 8, 1),
    (4, 4, 16, 1, 2),
    (1, 1, 1, 1, 1),
    (1, 1, 3, 1, 2),
    (1, 1, 2, 2, 2),
    (2, 2, 2, 2, 3),
    (3, 3, 1, 1, 65),
    (6, 6, 2, 9, 1),
    (5, 5, 17, 1, 1),
    (2, 2, 3, 3, 513),
    (7, 7, 16, 16, 1),
    (7, 7, 61, 2, 1),
    (11, 11, 15, 30, 1),
    (13, 13, 4, 15, 1),
)
"""Height and width of the table's grid, height and width of the new one, channels."""
RECTANGLE_SIZES: Sizes = (
    (2, 3, 3, 2, 1),
    (4, 9, 6, 6, 2),
    (9, 4, 6, 6, 1),
    (2, 8, 8, 2, 1),
    (3, 5, 3, 5, 2),
    (5, 3, 3, 5, 2),
    (1, 6, 2, 3, 1),
    (12, 101, 12, 50, 1),
    (7, 11, 61, 15, 1),
)
"""The same for grids that are not square; some keep their number of cells, or one side."""


def cells_of(answer: Answer) -> Answer:
    """Return the new cells: [height, width, dim]."""
    height, width = answer.case.arguments["height"], answer.case.arguments["width"]
    return answer[class_tokens(answer.case) + np.arange(height * width).reshape(height, width)]


def same_size(trial: Trial) -> None:
    """Check that a grid of unchanged size is the table: nothing is interpolated."""
    chosen = grid_arguments(trial)
    height = trial.choose("height", (chosen["height"],))
    width = chosen.get("source_width", height)
    if trial.choose("width", (width,)) != width:
        return
    first = int(trial.subject.combination.conventions["class_tokens"])
    table = fine((first + height * width, chosen["table"].shape[1]))
    source = {"source_height": height} if "source" in chosen else {}
    answer = trial.answer(**(chosen | source | {"table": table, "height": height, "width": width}))
    same = Exact(answer.case.arguments["table"])
    trial.assert_zero(answer - same, "a grid of its own size is not the table")


def class_rows(trial: Trial) -> None:
    """Check that the rows of class tokens are copied."""
    answer = trial.answer(**grid_arguments(trial))
    first = class_tokens(answer.case)
    wrong = answer.values[:first] != answer.case.arguments["table"][:first]
    trial.assert_none(answer, wrong, "the rows of class tokens are changed")


def constants(trial: Trial) -> None:
    """Check that a constant table stays constant, since weights add up to 1."""
    chosen = grid_arguments(trial)
    answer = trial.answer(**(chosen | {"table": np.full_like(chosen["table"], 0.75)}))
    trial.assert_zero(answer - Exact(0.75), "a constant table is not constant")


def separable(trial: Trial) -> None:
    """Check that a product of rows and columns stays a product."""
    chosen = grid_arguments(trial)
    dim = chosen["table"].shape[1]
    first = int(trial.subject.combination.conventions["class_tokens"])
    height, width = old_size(trial.case(**chosen))
    u, v = lattice((height, 1, 1)) / 4, lattice((1, width, 1), 5) / 4  # products of 12 bits at most

    def answer(cells: Floats) -> Answer:
        wide = np.broadcast_to(cells, (height, width, dim)).reshape(-1, dim)
        return trial.answer(**(chosen | {"table": np.concatenate([np.zeros((first, dim)), wide])}))

    if trial.dtype != "float64" and trial.dtype != "float32":
        u, v = np.sign(u), v  # a product with a sign fits every dtype
    both, down, across = answer(u * v), answer(u), answer(v)
    trial.assert_zero(
        both - down * across,
        "a table that is a product of rows and columns does not give a product",
    )


def transposed(trial: Trial) -> None:
    """Check that exchanging rows and columns of the table exchanges those of the result."""
    chosen = grid_arguments(trial)
    height = trial.choose("height", (chosen["width"],))
    width = trial.choose("width", (chosen["height"],))
    if (height, width) != (chosen["width"], chosen["height"]):
        return
    answer = trial.answer(**chosen)
    turned: ArgumentDict = {"height": height, "width": width}
    turned["table"] = with_class_rows(answer.case, old_grid(answer.case).swapaxes(0, 1))
    if "source" in chosen:
        across = trial.choose("source_height", (chosen["source_width"],))
        down = trial.choose("source_width", (chosen["source_height"],))
        if (across, down) != (chosen["source_width"], chosen["source_height"]):
            return
        turned |= {"source_height": across, "source_width": down}
    other = trial.answer(**(chosen | turned))
    trial.assert_zero(
        cells_of(answer) - cells_of(other).swapped(0, 1),
        "exchanging rows and columns of the table does not exchange those of the result",
    )


def mirrored(trial: Trial) -> None:
    """Check that a table upside down gives the result upside down.

    A single row with aligned corners is not checked: it is always the table's first row.
    """
    chosen = grid_arguments(trial)
    if trial.case(**chosen).conventions["resampling"] == "linear-corners" and chosen["height"] == 1:
        return
    answer = trial.answer(**chosen)
    turned = with_class_rows(answer.case, old_grid(answer.case)[::-1])
    other = trial.answer(**(chosen | {"table": turned}))
    trial.assert_zero(
        cells_of(answer) - cells_of(other)[::-1],
        "a table turned upside down does not give the result upside down",
    )


def centres(grid: int, size: int, more: float = 0.0) -> Floats:
    """Compute the coordinates of new cells if the centres of both grids coincide."""
    return np.asarray((np.arange(size) + 0.5) * grid / (size + more) - 0.5)


def corners(grid: int, size: int) -> Floats:
    """Compute the coordinates of new cells if the corners of both grids coincide."""
    return np.asarray(np.arange(size) * (grid - 1) / max(size - 1, 1))


def keys(distance: Floats, a: float) -> Floats:
    """Compute Keys' cubic kernel."""
    x = np.abs(distance)
    near = (a + 2) * x**3 - (a + 3) * x**2 + 1
    far = a * (x**3 - 5 * x**2 + 8 * x - 4)
    return np.where(x < 1, near, np.where(x < 2, far, 0.0))


def cubic(grid: int, place: Floats, a: float) -> Floats:
    """Compute the weights [new, old] of Keys' kernel, with the edge repeated outside."""
    weights = np.zeros((len(place), grid))
    for step in (-1, 0, 1, 2):
        cell = np.floor(place).astype(int) + step
        inside = np.arange(len(place)), np.clip(cell, 0, grid - 1)
        np.add.at(weights, inside, keys(place - cell, a))
    return weights


def linear(grid: int, place: Floats) -> Floats:
    """Compute the weights [new, old] of linear interpolation, with the edge repeated outside."""
    inside = np.clip(place, 0, grid - 1)
    return np.asarray(np.maximum(1 - np.abs(inside[:, None] - np.arange(grid)), 0))


def read_with(case: Case, weights: Callable[[int, int], Floats]) -> Floats:
    """Compute the result with other weights.

    ``weights`` takes the old and the new length of an axis.
    """
    old_height, old_width = old_size(case)
    down = weights(old_height, case.arguments["height"])
    across = weights(old_width, case.arguments["width"])
    return with_class_rows(case, np.einsum("yi,xj,ijd->yxd", down, across, old_grid(case)))


OTHER_KERNELS: dict[str, Callable[[int, int], Floats]] = {
    "straight lines at the centres of cells": lambda g, n: linear(g, centres(g, n)),
    "the nearest cell": lambda g, n: linear(g, np.floor(np.arange(n) * g / n)),
    "Keys' kernel with a = -1/2": lambda g, n: cubic(g, centres(g, n), -0.5),
    "Keys' kernel with a = -1": lambda g, n: cubic(g, centres(g, n), -1.0),
    "Keys' kernel with a = -3/4 and aligned corners": lambda g, n: cubic(g, corners(g, n), -0.75),
    "Keys' kernel with a = -1/2 and aligned corners": lambda g, n: cubic(g, corners(g, n), -0.5),
}
"""Weights that no combination of conventions has."""


def other_kernel(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the results of weights that no combination has."""
    for name, weights in OTHER_KERNELS.items():
        yield Prediction(f"matches {name}", read_with(case, weights))


def grid_flattened(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the grid read as one long row."""
    cells = old_grid(case).reshape(-1, case.shape[1])
    place = centres(len(cells), case.arguments["height"] * case.arguments["width"])
    row = np.einsum("xj,jd->xd", cubic(len(cells), place, -0.75), cells)
    yield Prediction("matches the grid taken for one long row", with_class_rows(case, row))


def rectangle_misread(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict a rectangle read as a square, read with its sides exchanged, or not resized."""
    if not _is_rectangle(case):
        return
    height, width = old_size(case)
    side = isqrt(height * width)
    for words, down, across in (
        ("a square of as many cells", side, side),
        ("its height and width exchanged", width, height),
    ):
        if down * across == height * width:
            other = case.with_arguments(source_height=down, source_width=across)
            yield from predict_case(other, f"matches the table's grid read with {words}")
    if case.arguments["height"] * case.arguments["width"] == height * width:
        words = "matches the table as it is, because the new grid has as many cells"
        yield Prediction(words, case.arguments["table"])


def grid_transposed(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict a grid read or written by column, or height and width exchanged."""
    turned = with_class_rows(case, old_grid(case).swapaxes(0, 1))
    yield Prediction(
        "matches the table read column by column", case.with_arguments(table=turned).truth
    )
    height, width, dim = case.arguments["height"], case.arguments["width"], case.shape[1]
    cells = case.truth[class_tokens(case) :].reshape(height, width, dim)
    written = with_class_rows(case, cells.swapaxes(0, 1))
    yield Prediction("matches the result written column by column", written)
    swapped = case.with_arguments(height=width, width=height).truth
    yield Prediction("matches height and width exchanged", swapped)


def grid_misread(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict rows of the table viewed as channels, or a class token counted as a cell."""
    cells, first = case.arguments["table"][class_tokens(case) :], class_tokens(case)
    viewed = cells.reshape(cells.shape[1], -1).T
    yield from predict_case(
        case.with_arguments(table=with_class_rows(case, viewed)),
        "matches rows of the table viewed as channels, without a transposition",
    )
    if first:
        moved = with_class_rows(case, case.arguments["table"][: len(cells)])
        words = "matches class tokens counted as cells of the grid, its last cells left out"
        yield from predict_case(case.with_arguments(table=moved), words)


def class_rows_misplaced(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict class tokens at the end, or left at zero."""
    first = class_tokens(case)
    if first:
        last, bound = (np.roll(array, -first, axis=0) for array in (case.truth, case.bound))
        yield Prediction("matches class tokens at the end", last, bound=bound)
        lost = case.truth.copy()
        lost[:first] = 0
        yield Prediction("matches class tokens left at zero", lost)


def interpolated_narrowly(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the result, the grid, the table, or table and result rounded to a narrow dtype."""
    for dtype in ("bfloat16", "float16"):
        narrow = case.with_arguments(table=round_to(case.arguments["table"], dtype)).truth
        yield Prediction(f"matches a result in {dtype}", round_to(case.truth, dtype))
        cells = case.truth.copy()
        first = class_tokens(case)
        cells[first:] = round_to(cells[first:], dtype)
        yield Prediction(f"matches a grid in {dtype}", cells)
        yield Prediction(f"matches a table in {dtype}", narrow)
        yield Prediction(f"matches a table and a result in {dtype}", round_to(narrow, dtype))


# The number of rows that a table needs depends on conventions, so ``sizes`` reaches far positions,
# not a sweep.


KNOWLEDGE = {
    "learned": CallKnowledge(
        error_terms=exact_terms,
        arguments=learned_arguments,
        sweep=no_sweep,
        sizes=learned_sizes,
        invariants={
            "rows-apart": rows_apart,
            "columns-apart": columns_apart,
            "constant-table": constant_table,
        },
        deviations={
            "padding-row-zeroed": padding_row_zeroed,
            "row-numbers": row_numbers,
            "offset-swapped": offset_swapped,
            "rows-shifted": rows_shifted,
            "rows-scaled": rows_scaled,
            "table-rounded": table_rounded,
        },
    ),
    "learned_grid": CallKnowledge(
        error_terms=grid_terms,
        arguments=grid_arguments,
        sweep=no_sweep,
        sizes=grid_sizes,
        shape=grid_shape,
        invariants={
            "same-size": same_size,
            "class-rows": class_rows,
            "constants": constants,
            "linearity": linear_in("table", grid_arguments),
            "separable": separable,
            "transposed": transposed,
            "mirrored": mirrored,
        },
        deviations={
            "resampling-swapped": other_conventions(
                "resampling", "matches the resampling {value}; {claimed} was claimed"
            ),
            "other-kernel": other_kernel,
            "rectangle-misread": rectangle_misread,
            "grid-flattened": grid_flattened,
            "grid-transposed": grid_transposed,
            "class-rows-misplaced": class_rows_misplaced,
            "interpolated-narrowly": interpolated_narrowly,
        },
        readings=(grid_misread,),
    ),
}
