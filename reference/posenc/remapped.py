"""Attention logits of rotary embedding with remapped relative distances."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from posenc import arguments, exact
from posenc.disentangled import operands, over_root, turned_products
from posenc.exact import Array, Pair, SinCos
from posenc.masks import Positions, places

LAYOUTS = ("interleaved", "half")


@dataclass(frozen=True)
class Heads:
    """Queries and keys in float64, and their positions."""

    q: Array
    k: Array
    dtype: np.dtype[Any]
    layout: str
    query: Positions
    """The positions of the queries, as a column."""
    key: Positions

    @property
    def distance(self) -> Positions:
        """Query position minus key position, 0 for keys after the query: [q_len, k_len]."""
        return np.asarray(np.maximum(self.query - self.key, 0))

    def waves(self, distances: Array, base: float) -> SinCos:
        """Return the sine and cosine of ``distances`` times each frequency: [..., head_dim / 2]."""
        width = self.q.shape[-1]
        turns = exact.turns_per_position(arguments.base(base), Fraction(2, width), width // 2)
        return exact.sincos(distances, turns)

    def logits(
        self, distance: Positions, waves: Callable[[Array], SinCos]
    ) -> npt.NDArray[np.floating]:
        """Compute scaled dot products of queries with keys rotated back by ``distance``.

        The scale is ``1 / sqrt(head_dim)``. ``distance`` has shape [q_len, k_len]; ``waves`` is
        called once, with the distinct distances. Keys after the query get ``-inf``.
        """
        different, index = np.unique(distance, return_inverse=True)
        parts = waves(different.astype(np.float64))
        index = index.reshape(distance.shape)
        full = SinCos(*(Pair(wave.high[index], wave.low[index]) for wave in parts))
        turned = turned_products(self.q, self.k, full, self.layout)
        shown = over_root(turned, self.q.shape[-1], np.dtype(np.float64))
        return np.where(self.key <= self.query, shown, -np.inf).astype(self.dtype)


def heads(q: npt.ArrayLike, k: npt.ArrayLike, layout: str) -> Heads:
    """Check queries and keys, and return them with their positions.

    Query i is at position ``k_len - q_len + i``.

    Raises TypeError if they are not floating or not of one dtype, and ValueError if shapes do not
    fit, head_dim is odd, or the layout is unknown.
    """
    arguments.choice("layout", layout, LAYOUTS)
    arrays = operands(q=(q, "heads q_len head_dim"), k=(k, "heads k_len head_dim"))
    width = arrays.sizes["head_dim"]
    if width < 2 or width % 2:
        raise ValueError(f"head_dim is {width}; it must be even and at least 2")
    where = places(arrays.sizes["q_len"], arrays.sizes["k_len"])
    return Heads(arrays["q"], arrays["k"], arrays.dtype, layout, *where)
