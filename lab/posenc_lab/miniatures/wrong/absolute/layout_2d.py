"""Wrong implementations: embeddings of bounding boxes, and a bias by their distance."""

from typing import Any

import numpy as np

from posenc_lab.miniatures.base import Array, Mistake, made
from posenc_lab.miniatures.wrong.bias.t5_bias import Buckets

BUCKETS = Buckets()
"""T5's bucket rule without a mistake."""


class Placed(Mistake, steps=True):
    """Embeddings of bounding boxes, in steps."""

    call = "layout_embedding"
    claimed = ("v2",)

    def answer(
        self,
        bbox: Array,
        x_table: Array,
        y_table: Array,
        h_table: Array,
        w_table: Array,
        *,
        join: str,
        sizes: str,
    ) -> Any:
        left, upper, right, lower = self.edges(bbox).T
        self.last = len(h_table) - 1
        sizes_of = self.sizes(lower - upper, right - left, sizes == "clipped")
        edges = [(x_table, left), (y_table, upper), (x_table, right), (y_table, lower)]
        shape = list(zip(*self.tables(h_table, w_table, *sizes_of), strict=True))
        parts = [self.row(table, rows) for table, rows in self.order(edges, shape)]
        if join == "concatenate":
            return np.concatenate(parts, axis=-1)
        total = np.sum([part.astype(np.float64) for part in parts], axis=0)
        return self.finish(total, len(parts)).astype(x_table.dtype)

    def edges(self, bbox: Array) -> Array:
        return bbox

    def sizes(self, height: Array, width: Array, clipped: bool) -> tuple[Array, Array]:
        return (np.maximum(height, 0), np.maximum(width, 0)) if clipped else (height, width)

    def tables(self, h: Array, w: Array, height: Array, width: Array) -> Any:
        return (h, w), (height, width)

    def order(self, edges: list[Any], shape: list[Any]) -> list[Any]:
        return [*edges, *shape]

    def row(self, table: Array, rows: Array) -> Array:
        if rows.size and (rows.min() < 0 or rows.max() >= len(table)):
            raise IndexError("no such row")
        return table[rows]

    def finish(self, total: Array, count: int) -> Array:
        return total


def magnitudes(self: Placed, height: Array, width: Array, clipped: bool) -> Any:
    """Return absolute sizes where negative ones should be clipped to 0."""
    return (abs(height), abs(width)) if clipped else (height, width)


_SUM, _BESIDE, _ALL = ("v1",), ("v2", "v3"), ("v1", "v2", "v3")
_STEPS: tuple[tuple[str, str | None, tuple[str, ...], dict[str, Any]], ...] = (
    (
        "by upper left",
        "axes-exchanged",
        _ALL,
        {"edges": lambda self, bbox: bbox[:, [1, 0, 3, 2]]},
    ),
    (
        "width first",
        "sizes-exchanged",
        _BESIDE,
        {"tables": lambda self, h, w, height, width: ((w, h), (width, height))},
    ),
    (
        "of exchanged sizes",
        "sizes-exchanged",
        _ALL,
        {"tables": lambda self, h, w, height, width: ((h, w), (width, height))},
    ),
    (
        "by axes",
        "edges-sorted",
        _BESIDE,
        {"order": lambda self, edges, shape: [edges[number] for number in (0, 2, 1, 3)] + shape},
    ),
    (
        "one too large",
        "sizes-wrong",
        _ALL,
        {
            "sizes": lambda self, height, width, clipped: tuple(
                np.minimum(size + 1, self.last)
                for size in Placed.sizes(self, height, width, clipped)
            )
        },
    ),
    ("without sign", "sizes-without-sign", ("v3",), {"sizes": magnitudes}),
    (
        "from the end",
        "sizes-without-sign",
        ("v3",),
        {
            "sizes": lambda self, height, width, clipped: (
                height % (self.last + 1),
                width % (self.last + 1),
            )
        },
    ),
    ("averaged", "mean-for-sum", _SUM, {"finish": lambda self, total, count: total / count}),
    (
        "without sizes",
        "sizes-wrong",
        _SUM,
        {"order": lambda self, edges, shape: edges},
    ),
    (
        "up to row 127",
        None,
        _ALL,
        {"row": lambda self, table, rows: table[np.clip(rows, 0, 127)]},
    ),
)

for _name, _named, _claims, _given in _STEPS:
    for _claimed in _claims:
        made(
            Placed,
            f"Placed {_name} {_claimed}",
            "One step otherwise.",
            named=_named,
            claimed=(_claimed,),
            **_given,
        )


class PlacedByTheFirstWord(Placed):
    """The first word's box is used for all."""

    def edges(self, bbox: Array) -> Array:
        return np.broadcast_to(bbox[:1], bbox.shape)


class Apart(Mistake, steps=True):
    """A bias by distances between edges of boxes, in steps."""

    call = "layout_bias"
    claimed = ("v2",)

    def answer(
        self,
        bbox: Array,
        x_table: Array,
        y_table: Array,
        *,
        max_distance: int,
        head_dim: int,
        scaling: str,
    ) -> Any:
        bias = np.zeros((x_table.shape[1], len(bbox), len(bbox)))
        tables = self.tables(x_table, y_table)
        for table, edge in zip(tables, self.edges(bbox.astype(np.int64)), strict=True):
            rows = self.rows(self.apart(edge), len(table), max_distance)
            bias += np.moveaxis(table[rows].astype(np.float64), -1, 0)
        return (bias / self.divisor(head_dim, scaling == "root")).astype(x_table.dtype)

    def tables(self, x: Array, y: Array) -> tuple[Array, Array]:
        return x, y

    def edges(self, bbox: Array) -> tuple[Array, Array]:
        return bbox[:, 0], bbox[:, 3]

    def apart(self, edge: Array) -> Array:
        return edge - edge[:, None]

    def rows(self, apart: Array, buckets: int, distance: int) -> Array:
        return BUCKETS.bucket(apart, buckets, distance, "bidirectional")

    def divisor(self, head_dim: int, root: bool) -> float:
        return float(np.sqrt(head_dim)) if root else 1.0


_BIASES: tuple[tuple[str, str | None, tuple[str, ...], dict[str, Any]], ...] = (
    ("of exchanged tables", "axes-exchanged", _BESIDE, {"tables": lambda self, x, y: (y, x)}),
    (
        "of query minus key",
        "offset-reversed",
        _BESIDE,
        {"apart": lambda self, edge: edge[:, None] - edge},
    ),
    (
        "by upper left corners",
        "other-edges",
        _BESIDE,
        {"edges": lambda self, bbox: (bbox[:, 0], bbox[:, 1])},
    ),
    (
        "by centres",
        "other-edges",
        _BESIDE,
        {
            "edges": lambda self, bbox: (
                (bbox[:, 0] + bbox[:, 2]) // 2,
                (bbox[:, 1] + bbox[:, 3]) // 2,
            )
        },
    ),
    (
        "divided otherwise",
        "scaling-swapped",
        _BESIDE,
        {"divisor": lambda self, head_dim, root: Apart.divisor(self, head_dim, not root)},
    ),
    (
        "always divided by 8",
        "scaling-swapped",
        ("v3",),
        {"divisor": lambda self, head_dim, root: 8.0},
    ),
    (
        "up to 128",
        "buckets-wrong",
        _BESIDE,
        {
            "rows": lambda self, apart, buckets, distance: BUCKETS.bucket(
                apart, buckets, 128, "bidirectional"
            )
        },
    ),
    (
        "of one side",
        "buckets-wrong",
        _BESIDE,
        {
            "rows": lambda self, apart, buckets, distance: BUCKETS.bucket(
                apart, buckets, max(distance, buckets), "causal"
            )
        },
    ),
    (
        "of distances",
        None,
        _BESIDE,
        {"apart": lambda self, edge: -abs(edge - edge[:, None])},
    ),
)

for _name, _named, _claims, _given in _BIASES:
    for _claimed in _claims:
        made(
            Apart,
            f"Apart {_name} {_claimed}",
            "One step otherwise.",
            named=_named,
            claimed=(_claimed,),
            **_given,
        )
