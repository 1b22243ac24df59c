"""Right implementations: the fixed pattern."""

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import Array, right


@right
class FixedByLayout:
    """The authors' layout of rows and columns, for blocks of one token."""

    @claims("union", "block", "columns")
    def fixed_mask(
        self, q_len: int, k_len: int, block_size: int, summary: int, *, part: str
    ) -> Array:
        layout = np.zeros((k_len, k_len), dtype=bool)
        if part != "block":
            for column in range(block_size - summary, block_size):
                layout[:, column::block_size] = True
        for query in range(k_len):
            row = query // block_size
            if part != "columns":
                layout[query, row * block_size : (row + 1) * block_size] = True
            layout[query, query + 1 :] = False
        return layout[k_len - q_len :]


@right
class FixedByKronecker:
    """Blocks along the diagonal, repeated columns, and a triangle over both."""

    @claims("union", "block")
    def fixed_mask(
        self, q_len: int, k_len: int, block_size: int, summary: int, *, part: str
    ) -> Array:
        count = -(-k_len // block_size)
        blocks = np.kron(np.eye(count), np.ones((block_size, block_size)))
        ends = np.tile(np.arange(block_size) >= block_size - summary, count)
        both = blocks + (ends if part == "union" else 0)
        return np.tril(both > 0)[k_len - q_len : k_len, :k_len]


@right
class FixedByRemainders:
    """Positions counted from the end of each block."""

    @claims("columns")
    def fixed_mask(self, q_len: int, k_len: int, block_size: int, summary: int) -> Array:
        if not 0 < summary <= block_size:
            raise ValueError("a summary is a part of a block")
        to_the_end = -np.arange(1, k_len + 1) % block_size
        query = np.arange(k_len - q_len, k_len)
        return np.where(np.arange(k_len) <= query[:, None], to_the_end < summary, False)


@right
class LayoutsOfHeads:
    """The authors' list of places, split into sets; a layout per head."""

    @claims("several-sets")
    def fixed_head_masks(
        self, heads: int, q_len: int, k_len: int, block_size: int, summary: int, sets: int
    ) -> Array:
        if heads % sets or block_size % summary or sets * summary > block_size:
            raise ValueError(f"{sets} sets of {summary} for {heads} heads")
        places = np.arange(block_size)[::-1].reshape(-1, summary)[:sets]
        layouts = []
        for head in range(heads):
            layout = np.zeros((k_len, k_len), dtype=bool)
            for column in places[head % sets]:
                layout[:, column::block_size] = True
            for query in range(k_len):
                layout[query, query // block_size * block_size : query + 1] = True
            layouts.append(np.tril(layout)[k_len - q_len :])
        return np.array(layouts)


@right
class ColumnsOfHeads:
    """One block pattern for all heads, plus the columns of each."""

    @claims("several-sets")
    def fixed_head_masks(
        self, heads: int, q_len: int, k_len: int, block_size: int, summary: int, sets: int
    ) -> Array:
        if heads % sets or block_size % summary or sets * summary > block_size:
            raise ValueError(f"{sets} sets of {summary} for {heads} heads")
        query, key = np.arange(k_len - q_len, k_len), np.arange(k_len)
        own = np.equal.outer(query // block_size, key // block_size)
        cycle = np.repeat(np.arange(block_size // summary)[::-1], summary)
        turn = np.resize(np.arange(sets), heads)
        columns = np.resize(cycle, k_len) == turn[:, None]
        return (own | columns[:, None]) & np.less_equal.outer(key, query).T
