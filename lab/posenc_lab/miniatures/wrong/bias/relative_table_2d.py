"""Wrong implementations: a bias by 2-D offset, and its table rows."""

from typing import Any

import numpy as np

from posenc_lab.miniatures.base import Array, Mistake, made


class WindowRows(Mistake, steps=True):
    """Table rows for every query and key, in steps."""

    call = "relative_table_2d_rows"
    claimed = ("swin",)

    def answer(self, height: int, width: int, *, class_token: str) -> Any:
        return self.rows(height, width, class_token)

    def rows(self, height: int, width: int, class_token: str) -> Array:
        if height < 1 or width < 1:
            raise ValueError(f"{height} x {width} patches")
        below, beside = self.offsets(*self.patches(height, width))
        stride = self.stride(height, width)
        rows = self.joined(below + self.middle(height), beside + self.middle(width), stride)
        if class_token == "none":
            return rows
        return self.with_class(rows, (2 * height - 1) * (2 * width - 1))

    def patches(self, height: int, width: int) -> tuple[Array, Array]:
        row, column = np.divmod(np.arange(height * width), width)
        return row, column

    def offsets(self, row: Array, column: Array) -> tuple[Array, Array]:
        return row[:, None] - row, column[:, None] - column

    def middle(self, side: int) -> int:
        return side - 1

    def stride(self, height: int, width: int) -> int:
        return 2 * width - 1

    def joined(self, below: Array, beside: Array, stride: int) -> Array:
        return below * stride + beside

    def with_class(self, rows: Array, count: int) -> Array:
        as_query, as_key, as_both = self.extra(count)
        every = np.full((len(rows) + 1, len(rows) + 1), as_query)
        every[:, 0] = as_key
        every[0, 0] = as_both
        every[1:, 1:] = self.behind(rows)
        return every

    def extra(self, count: int) -> tuple[int, int, int]:
        return count, count + 1, count + 2

    def behind(self, rows: Array) -> Array:
        return rows


class WindowBias(WindowRows, steps=True):
    """Table values for every query and key, in steps."""

    call = "relative_table_2d"

    def answer(self, table: Array, *, height: int, width: int, class_token: str) -> Any:
        count = (2 * height - 1) * (2 * width - 1) + 3 * (class_token == "first")
        if len(table) != count:
            raise ValueError(f"{len(table)} rows")
        rows = self.rows(height, width, class_token)
        return self.moved(self.table(table, height, width)[rows % len(table)])

    def table(self, table: Array, height: int, width: int) -> Array:
        return table

    def moved(self, bias: Array) -> Array:
        return np.moveaxis(bias, -1, 0)


_STEPS: tuple[tuple[str, str | None, tuple[str, ...], dict[str, Any]], ...] = (
    (
        "of key minus query",
        "offset-reversed",
        ("swin", "beit"),
        {"offsets": lambda self, row, column: (row - row[:, None], column - column[:, None])},
    ),
    (
        "upside down",
        "offset-reversed",
        ("swin",),
        {"offsets": lambda self, row, column: (row - row[:, None], column[:, None] - column)},
    ),
    (
        "of patches column by column",
        "transposed",
        ("swin", "beit"),
        {"patches": lambda self, height, width: np.divmod(np.arange(height * width), height)[::-1]},
    ),
    (
        "with the stride of the height",
        "row-stride",
        ("swin", "beit"),
        {"stride": lambda self, height, width: 2 * height - 1},
    ),
    (
        "with a stride of three",
        "row-stride",
        ("swin",),
        {"stride": lambda self, height, width: 3 * width - 1},
    ),
    (
        "with a stride that is too small",
        "row-stride",
        ("swin",),
        {"stride": lambda self, height, width: max(2 * width - 2, 1)},
    ),
    (
        "of distances",
        "distances",
        ("swin", "beit"),
        {
            "offsets": lambda self, row, column: (
                abs(row[:, None] - row),
                abs(column[:, None] - column),
            )
        },
    ),
    ("from the end", "unshifted", ("swin",), {"middle": lambda self, side: 0}),
    (
        "with class rows exchanged",
        "class-rows-exchanged",
        ("beit",),
        {"extra": lambda self, count: (count + 1, count, count + 2)},
    ),
    (
        "with class rows first",
        "class-rows-exchanged",
        ("beit",),
        {"extra": lambda self, count: (0, 1, 2), "behind": lambda self, rows: rows + 3},
    ),
    (
        "of sums",
        None,
        ("swin",),
        {"joined": lambda self, below, beside, stride: below + beside},
    ),
    (
        "with one row for the class token",
        None,
        ("beit",),
        {"extra": lambda self, count: (count, count, count)},
    ),
)

for _base in (WindowRows, WindowBias):
    for _name, _named, _claims, _given in _STEPS:
        for _claimed in _claims:
            made(
                _base,
                f"{_base.__name__} {_name} {_claimed}",
                "One step otherwise.",
                named=_named,
                claimed=(_claimed,),
                **_given,
            )


def stretched(self: WindowBias, table: Array, height: int, width: int) -> Array:
    """Read the table as [columns, rows]; resize it to [rows, columns], like transformers' BEiT."""
    high, wide = 2 * height - 1, 2 * width - 1
    taken = table[: high * wide].reshape(wide, high, -1).astype(np.float64)
    for axis, (before, after) in enumerate(((wide, high), (high, wide))):
        place = np.clip((np.arange(after) + 0.5) * before / after - 0.5, 0, before - 1)
        near = np.floor(place).astype(int)
        far = np.minimum(near + 1, before - 1)
        share = (place - near).reshape((-1, 1, 1) if axis == 0 else (1, -1, 1))
        taken = np.take(taken, near, axis) * (1 - share) + np.take(taken, far, axis) * share
    flat = taken.reshape(high * wide, -1).astype(table.dtype)
    return np.concatenate([flat, table[high * wide :]])


for _claimed in ("swin", "beit"):
    made(
        WindowBias,
        f"WindowBias stretched {_claimed}",
        "A table reshaped to width by height.",
        named="table-stretched",
        claimed=(_claimed,),
        dtype="float64",
        table=stretched,
    )


class WindowBiasOfHeadsFirst(WindowBias):
    """The table is laid out as [heads, rows]."""

    def table(self, table: Array, height: int, width: int) -> Array:
        return table.T.reshape(table.shape)


class WindowBiasAsAView(WindowBias):
    """The caller's table is overwritten with 0."""

    def answer(self, table: Array, **given: Any) -> Any:
        out = super().answer(table, **given)
        table[...] = 0
        return out
