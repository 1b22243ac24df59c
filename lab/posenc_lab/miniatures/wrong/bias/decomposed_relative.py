"""Wrong implementations: decomposed relative positions."""

from typing import Any

import numpy as np

from posenc_lab.miniatures.base import Array, Mistake, made


class Resized(Mistake, steps=True):
    """Linear interpolation between centres, in steps."""

    call = "resized_relative_table"
    claimed = ("vitdet",)

    def answer(self, table: Array, *, rows: int) -> Array:
        if not len(table):
            raise ValueError("no rows")
        return np.asarray(self.resized(table.astype(np.float64), rows).astype(table.dtype))

    def resized(self, table: Array, rows: int) -> Array:
        place = self.places(len(table), rows)
        near = np.minimum(np.floor(place).astype(int), len(table) - 1)
        far = np.minimum(near + 1, len(table) - 1)
        share = np.where(far > near, place - near, 0)[:, None]
        return np.asarray(table[near] * (1 - share) + table[far] * share)

    def places(self, count: int, rows: int) -> Array:
        return np.maximum((np.arange(rows) + 0.5) * count / rows - 0.5, 0)


class Decomposed(Resized, steps=True):
    """Lookups in a table per axis, in steps."""

    call = "decomposed_relative_bias"

    def answer(
        self,
        q: Array,
        table_h: Array,
        table_w: Array,
        *,
        q_height: int,
        q_width: int,
        k_height: int,
        k_width: int,
    ) -> Array:
        grid = self.queries(q.astype(np.float64)).reshape(len(q), q_height, q_width, -1)
        high, wide = self.tables(table_h.astype(np.float64), table_w.astype(np.float64))
        by_row = np.einsum("hyxc,ykc->hyxk", grid, self.chosen(high, q_height, k_height))
        by_column = np.einsum("hyxc,xkc->hyxk", grid, self.chosen(wide, q_width, k_width))
        both = self.added(by_row[..., :, None], by_column[..., None, :])
        return np.asarray(self.listed(both).reshape(*q.shape[:2], -1).astype(q.dtype))

    def queries(self, q: Array) -> Array:
        return q

    def tables(self, high: Array, wide: Array) -> tuple[Array, Array]:
        return high, wide

    def chosen(self, table: Array, queries: int, keys: int) -> Array:
        rows = self.rows(queries, keys)
        return np.asarray(self.resized(table, 2 * max(queries, keys) - 1)[rows])

    def rows(self, queries: int, keys: int) -> Array:
        i, j = np.arange(queries)[:, None], np.arange(keys)
        up, down = max(keys // queries, 1), max(queries // keys, 1)
        return np.asarray(i * up - j * down + (keys - 1) * down)

    def added(self, by_row: Array, by_column: Array) -> Array:
        return by_row + by_column

    def listed(self, both: Array) -> Array:
        return both


def corners(self: Resized, count: int, rows: int) -> Array:
    return np.linspace(0, count - 1, rows) if rows > 1 else np.zeros(1)


def copied(self: Resized, table: Array, rows: int) -> Array:
    return np.asarray(table[np.arange(rows) * len(table) // rows])


def cut(self: Resized, table: Array, rows: int) -> Array:
    return np.asarray(table[np.minimum(np.arange(rows), len(table) - 1)])


def extrapolated(self: Resized, table: Array, rows: int) -> Array:
    place = (np.arange(rows) + 0.5) * len(table) / rows - 0.5
    near = np.clip(np.floor(place).astype(int), 0, max(len(table) - 2, 0))
    far = np.minimum(near + 1, len(table) - 1)
    return np.asarray(table[near] + (table[far] - table[near]) * (place - near)[:, None])


def in_the_middle(self: Resized, table: Array, rows: int) -> Array:
    """Crop the table around its middle, or pad it with zeros on both sides."""
    gap = (rows - len(table)) // 2
    every = np.arange(rows) - gap
    inside = (every >= 0) & (every < len(table))
    return np.asarray(table[np.clip(every, 0, len(table) - 1)] * inside[:, None])


def averaged(self: Resized, table: Array, rows: int) -> Array:
    """Shorten the table by averaging adjacent rows."""
    if rows >= len(table):
        return Resized.resized(self, table, rows)
    return np.stack([part.mean(axis=0) for part in np.array_split(table, rows)])


for _base in (Resized, Decomposed):
    for _name, _named, _steps in (
        ("with aligned corners", "corners-aligned", {"places": corners}),
        ("by copying", "nearest", {"resized": copied}),
        ("not at all", "not-resized", {"resized": cut}),
        ("beyond its ends", None, {"resized": extrapolated}),
        ("in the middle", None, {"resized": in_the_middle}),
        ("by averages", None, {"resized": averaged}),
    ):
        made(_base, f"{_base.__name__} {_name}", "Resized otherwise.", named=_named, **_steps)

_STEPS: tuple[tuple[str, str | None, dict[str, Any]], ...] = (
    (
        "with tables exchanged",
        "tables-swapped",
        {"tables": lambda self, high, wide: (wide, high)},
    ),
    (
        "of scaled queries",
        "queries-scaled",
        {"queries": lambda self, q: q / q.shape[-1] ** 0.5},
    ),
    (
        "reversed",
        "offset-reversed",
        {
            "rows": lambda self, queries, keys: (
                2 * max(queries, keys) - 2 - Decomposed.rows(self, queries, keys)
            )
        },
    ),
    (
        "on one grid",
        "strides-ignored",
        {
            "rows": lambda self, queries, keys: (
                np.arange(queries)[:, None] - np.arange(keys) + keys - 1
            )
        },
    ),
    ("of rows alone", "one-axis", {"added": lambda self, rows, columns: rows + 0 * columns}),
    ("of columns alone", "one-axis", {"added": lambda self, rows, columns: 0 * rows + columns}),
    (
        "column by column",
        "columns-first",
        {"listed": lambda self, both: np.swapaxes(both, -1, -2)},
    ),
    ("multiplied", None, {"added": lambda self, rows, columns: rows * columns}),
    (
        "of the first head",
        None,
        {"queries": lambda self, q: np.broadcast_to(q[:1], q.shape)},
    ),
    (
        "of magnitudes",
        None,
        {
            "rows": lambda self, queries, keys: abs(
                np.arange(queries)[:, None] * max(keys // queries, 1)
                - np.arange(keys) * max(queries // keys, 1)
            )
        },
    ),
)
for _name, _named, _steps in _STEPS:
    made(Decomposed, f"Decomposed {_name}", "One step otherwise.", named=_named, **_steps)


class DecomposedInFloat16(Decomposed):
    """The result is rounded to float16 for float32 queries."""

    def answer(self, q: Array, table_h: Array, table_w: Array, **sizes: Any) -> Array:
        return super().answer(q, table_h, table_w, **sizes).astype(np.float16).astype(q.dtype)


class ResizedInPlace(Resized):
    """The caller's table is overwritten with 0."""

    def answer(self, table: Array, *, rows: int) -> Array:
        out = super().answer(table, rows=rows)
        table[...] = 0
        return out
