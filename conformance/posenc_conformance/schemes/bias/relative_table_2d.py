"""Tables of offsets in two dimensions: invariants and deviations."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from posenc_conformance.families.lengths import no_sweep
from posenc_conformance.judge.arrays import Array, Floats, fine
from posenc_conformance.judge.case import Case, exact_terms
from posenc_conformance.judge.deviation import DeviationModel, Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict

Index = npt.NDArray[np.int64]
LARGEST_WINDOW = 64
"""The largest number of rows or columns of patches that identification tries."""
WINDOWS = ((2, 3), (3, 2), (2, 2), (1, 4), (5, 3))


@dataclass(frozen=True)
class Window:
    """A window of patches, and the table rows that they read, right or wrong."""

    height: int
    width: int

    def rows(
        self,
        down: Callable[[Index], Index] = lambda offset: offset,
        right: Callable[[Index], Index] = lambda offset: offset,
        stride: int = 0,
    ) -> Index:
        """Return the row of each query and key, from changed offsets or with another stride."""
        row, column = np.divmod(np.arange(self.height * self.width), self.width)
        below = down(row[:, None] - row) + self.height - 1
        beside = right(column[:, None] - column) + self.width - 1
        return np.asarray(below * (stride or 2 * self.width - 1) + beside)

    @property
    def count(self) -> int:
        """The number of table rows for patches."""
        return (2 * self.height - 1) * (2 * self.width - 1)


def window(case: Case) -> Window:
    """Return the window of a case."""
    return Window(int(case.arguments["height"]), int(case.arguments["width"]))


def has_class(case: Case) -> bool:
    """Return whether a class token comes first."""
    return case.conventions["class_token"] == "first"


def with_class(case: Case, patches: Index, extra: tuple[int, int, int] = (0, 1, 2)) -> Index:
    """Add the rows of a class token, if there is one: as query, as key and as both."""
    if not has_class(case):
        return patches
    tokens = len(patches) + 1
    as_query, as_key, as_both = (window(case).count + number for number in extra)
    every = np.full((tokens, tokens), as_query)
    every[:, 0] = as_key
    every[0, 0] = as_both
    every[1:, 1:] = patches
    return every


def result(case: Case, rows: Index) -> Floats:
    """Compute the result of a call that reads these rows; rows beyond the table wrap around."""
    if case.call.name == "relative_table_2d_rows":
        return np.asarray(rows, dtype=np.float64)
    table = case.arguments["table"]
    return np.asarray(np.moveaxis(table[rows % len(table)], -1, 0))


def shape(case: Case) -> tuple[int, ...]:
    """Return the shape [heads, tokens, tokens], or the same without heads."""
    at = window(case)
    tokens = at.height * at.width + has_class(case)
    heads = (case.arguments["table"].shape[1],) if "table" in case.arguments else ()
    return *heads, tokens, tokens


def arrays(heads: int, height: int, width: int, extra: int) -> ArgumentDict:
    """Make a table for a window."""
    rows = (2 * height - 1) * (2 * width - 1) + extra
    return {"table": fine((rows, heads)), "height": height, "width": width}


def extra_of(trial: Trial) -> int:
    """Return the number of table rows for a class token."""
    return 3 * (trial.subject.combination.conventions["class_token"] == "first")


def arguments(trial: Trial) -> ArgumentDict:
    """Draw a small window, square or not, with a table."""
    height, width = trial.pick.one_of(WINDOWS)
    return arrays(trial.choose("heads", (2, 1, 3)), height, width, extra_of(trial))


def row_arguments(trial: Trial) -> ArgumentDict:
    """Draw a small window, square or not, without a table."""
    height, width = trial.pick.one_of(WINDOWS)
    return {"height": height, "width": width}


def sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield windows of released models, long and narrow ones, many heads, and a single patch."""
    extra = 3 * has_class(case)
    for heads, height, width in (
        (3, 7, 7),
        (4, 12, 12),
        (33, 2, 2),
        (1, 14, 14),
        (2, 1, 65),
        (2, 16, 9),
        (2, 1, 1),
    ):
        yield arrays(heads, height, width, extra)


def row_sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield windows without tables: of released models, long and narrow ones, a single patch."""
    for height, width in ((7, 7), (14, 14), (1, 65), (16, 9), (9, 16), (1, 1)):
        yield {"height": height, "width": width}


def patches_of(case: Case, values: Floats) -> Floats:
    """Return the values without those of the class token."""
    return values[..., 1:, 1:] if has_class(case) else values


def offset_only(trial: Trial) -> None:
    """Check that queries and keys at the same offset have the same bias or row."""
    answer = trial.answer(**trial_arguments(trial))
    numbers = patches_of(answer.case, answer.values)
    rows = window(answer.case).rows()
    _, first, group = np.unique(rows, return_index=True, return_inverse=True)
    query, key = np.unravel_index(first[group.reshape(rows.shape)], rows.shape)
    trial.assert_none(
        answer, numbers != numbers[..., query, key], "equal offsets have different numbers"
    )


def trial_arguments(trial: Trial) -> ArgumentDict:
    """Draw arguments of either call."""
    return trial.subject.knowledge.arguments(trial)


def upside_down(trial: Trial) -> None:
    """Check that turning the table upside down transposes the result.

    Only the rows for patches are turned, and only patches are compared.
    """
    chosen = arguments(trial)
    count = len(chosen["table"]) - extra_of(trial)
    turned = chosen["table"].copy()
    turned[:count] = chosen["table"][:count][::-1]
    y, other = trial.answer(**chosen), trial.answer(**(chosen | {"table": turned}))
    wrong = patches_of(y.case, y.values) != np.swapaxes(patches_of(y.case, other.values), -1, -2)
    trial.assert_none(y, wrong, "turning the table upside down does not exchange queries and keys")


def heads_apart(trial: Trial) -> None:
    """Check that each head reads its own column."""
    chosen = arguments(trial)
    whole = trial.answer(**chosen)
    head = trial.pick.integer(0, chosen["table"].shape[1] - 1)
    alone = trial.answer(**(chosen | {"table": chosen["table"][:, head : head + 1].copy()}))
    trial.assert_none(whole, whole.values[head] != alone.values[0], "a head depends on other heads")


def every_row(trial: Trial) -> None:
    """Check that every row of the table is read."""
    answer = trial.answer(**row_arguments(trial))
    count = window(answer.case).count + 3 * has_class(answer.case)
    missing = set(range(count)) - set(answer.values.ravel().astype(int).tolist())
    trial.assert_none(answer, np.array([len(missing)]), "rows of the table are never read")


def class_rows(trial: Trial) -> None:
    """Check that the class token reads the three rows after those of the patches."""
    answer = trial.answer(**row_arguments(trial))
    rows, count = answer.values, window(answer.case).count
    wrong = np.concatenate(
        [rows[0, 1:] != count, rows[1:, 0] != count + 1, [rows[0, 0] != count + 2]]
    )
    trial.assert_none(answer, wrong, "the class token does not read the last three rows")


Rows = Callable[[Case], Iterator[tuple[str, Index]]]


def reading(rows: Rows) -> DeviationModel:
    """Make a model that predicts the result of reading other rows."""

    def models(case: Case, got: Floats) -> Iterator[Prediction]:
        for words, other_rows in rows(case):
            yield Prediction(words, result(case, other_rows))
            last = len(case.arguments.get("table", ())) - 1
            if 0 <= last < other_rows.max(initial=0):  # some code cuts indices, some wraps them
                cut = np.clip(other_rows, 0, last)
                yield Prediction(f"{words}, cut at the table's end", result(case, cut))

    return models


def reversed_offsets(case: Case) -> Iterator[tuple[str, Index]]:
    """Predict offsets of key minus query, on both axes or on one."""
    at = window(case)
    for words, down, right in (
        ("both axes", np.negative, np.negative),
        ("the height alone", np.negative, np.positive),
        ("the width alone", np.positive, np.negative),
    ):
        rows = at.rows(down, right)
        yield f"matches offsets of key minus query on {words}", with_class(case, rows)


def transposed(case: Case) -> Iterator[tuple[str, Index]]:
    """Predict width before height in the table, or in the list of patches."""
    at = window(case)
    row, column = np.divmod(np.arange(at.height * at.width), at.width)
    by_width = (column[:, None] - column + at.width - 1) * (2 * at.height - 1)
    by_width = by_width + row[:, None] - row + at.height - 1
    yield "matches a table of columns first, then rows", with_class(case, by_width)
    order = np.arange(at.height * at.width).reshape(at.height, at.width).T.ravel()
    listed = at.rows()[np.ix_(order, order)]
    yield "matches patches listed column by column", with_class(case, listed)


def other_strides(case: Case) -> Iterator[tuple[str, Index]]:
    """Predict another number of rows between offsets that differ by one in height."""
    at = window(case)
    for stride in (
        2 * at.height - 1,
        2 * at.width - 2,
        2 * at.width,
        3 * at.width - 1,
        3 * at.height - 1,
    ):
        if stride > 0 and stride != 2 * at.width - 1:
            yield (
                f"matches {stride} rows between offsets one apart in height, not "
                f"{2 * at.width - 1}",
                with_class(case, at.rows(stride=stride)),
            )


def unsigned(case: Case) -> Iterator[tuple[str, Index]]:
    """Predict distances instead of offsets."""
    yield "matches distances, not offsets", with_class(case, window(case).rows(np.abs, np.abs))


def unshifted(case: Case) -> Iterator[tuple[str, Index]]:
    """Predict offsets used as they are, negative ones as indices from the end."""
    at = window(case)
    middle = (at.height - 1) * (2 * at.width - 1) + at.width - 1
    rows = with_class(case, at.rows() - middle)
    size = at.count + 3 * has_class(case)
    yield (
        "matches offsets used as they are, negative ones from the end of the table",
        rows if case.call.name == "relative_table_2d_rows" else rows % size,
    )


def class_exchanged(case: Case) -> Iterator[tuple[str, Index]]:
    """Predict the class token's three rows in another order, or before those of the patches."""
    if has_class(case):
        rows = window(case).rows()
        yield (
            "matches the class token's rows of query and key exchanged",
            with_class(case, rows, (1, 0, 2)),
        )
        yield (
            "matches the class token's rows in the order both, query, key",
            with_class(case, rows, (1, 2, 0)),
        )
        count = window(case).count
        first = with_class(case, rows + 3, (-count, 1 - count, 2 - count))
        yield "matches a table that begins with the class token's rows", first


def resampled(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict a table read with columns first, then stretched to the window."""
    if case.call.name == "relative_table_2d_rows":
        return
    at, table = window(case), case.arguments["table"]
    high, wide = 2 * at.height - 1, 2 * at.width - 1
    if high == wide:
        return
    taken = table[: at.count].reshape(wide, high, -1)
    for axis, (before, after) in enumerate(((wide, high), (high, wide))):
        place = np.clip((np.arange(after) + 0.5) * before / after - 0.5, 0, before - 1)
        near = np.floor(place).astype(np.int64)
        far = np.minimum(near + 1, before - 1)
        share = np.expand_dims(place - near, tuple(number for number in range(3) if number != axis))
        taken = np.take(taken, near, axis) * (1 - share) + np.take(taken, far, axis) * share
    stretched = np.concatenate([taken.reshape(at.count, -1), table[at.count :]])
    changed = case.with_arguments(table=stretched)
    yield Prediction(
        "matches a table taken for one of columns first, then stretched to the window",
        result(changed, with_class(case, at.rows())),
    )


SHARED: Mapping[str, DeviationModel] = {
    "offset-reversed": reading(reversed_offsets),
    "transposed": reading(transposed),
    "row-stride": reading(other_strides),
    "distances": reading(unsigned),
    "unshifted": reading(unshifted),
    "class-rows-exchanged": reading(class_exchanged),
}


def saved_rows(array: Array) -> Iterator[tuple[ArgumentDict, Array]]:
    """Yield each height and width that fit an array of rows: [tokens, tokens].

    All tokens are patches, or all but a class token.
    """
    if array.ndim != 2 or array.dtype.kind not in "iu" or len(set(array.shape)) > 1:
        return
    for cells in (len(array), len(array) - 1):
        for height in range(1, min(cells, LARGEST_WINDOW) + 1):
            if cells % height == 0 and cells // height <= LARGEST_WINDOW:
                yield {"height": height, "width": cells // height}, array


KNOWLEDGE = {
    "relative_table_2d": CallKnowledge(
        error_terms=exact_terms,
        arguments=arguments,
        sweep=no_sweep,
        sizes=sizes,
        shape=shape,
        invariants={
            "offset-only": offset_only,
            "upside-down": upside_down,
            "heads-apart": heads_apart,
        },
        deviations={**SHARED, "table-stretched": resampled},
    ),
    "relative_table_2d_rows": CallKnowledge(
        error_terms=exact_terms,
        arguments=row_arguments,
        sweep=no_sweep,
        sizes=row_sizes,
        shape=shape,
        identify=saved_rows,
        invariants={
            "rows-offset-only": offset_only,
            "every-row": every_row,
            "class-rows": class_rows,
        },
        deviations=dict(SHARED),
    ),
}
