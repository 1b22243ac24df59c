"""Right implementations: position ids in serving."""

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import Array, right


@right
class ServedByPieces:
    """Position ids by array operations, as in libraries."""

    @claims("contiguous", "zigzag", "round-robin")
    def shard_position_ids(self, length: int, rank: int, ranks: int, *, share: str) -> Array:
        if not 0 <= rank < ranks or length % ((1 + (share == "zigzag")) * ranks):
            raise ValueError("no such share")
        ids = np.arange(length)
        if share == "round-robin":
            return ids.reshape(-1, ranks)[:, rank]
        if share == "contiguous":
            return np.split(ids, ranks)[rank]
        pieces = np.split(ids, 2 * ranks)
        return np.concatenate([pieces[rank], pieces[-1 - rank]])

    @claims("by-depth")
    def tree_position_ids(self, past_length: int, parents: Array) -> Array:
        if (parents >= np.arange(len(parents))).any():
            raise ValueError("a token follows a later one")
        sees = np.eye(len(parents), dtype=bool)  # the draft's attention mask
        for row, parent in enumerate(parents):
            if parent >= 0:
                sees[row] |= sees[parent]
        return past_length + sees.sum(axis=1) - 1

    @claims("padded-one", "padded-continued")
    def length_position_ids(
        self, lengths: Array, past_lengths: Array, n: int, *, padded: str
    ) -> Array:
        if (lengths > n).any():
            raise ValueError("more tokens than columns")
        ids = past_lengths[:, None] + np.arange(n, dtype=np.int64)
        if padded == "one":
            ids[np.arange(n) >= lengths[:, None]] = 1
        return ids

    @claims("by-text")
    def segment_position_ids(self, segments: Array) -> Array:
        if (segments < 0).any():
            raise ValueError("a text below 0")
        place = np.arange(segments.shape[1])
        first = np.diff(segments, axis=1, prepend=-1) != 0
        return (place - np.maximum.accumulate(first * place, axis=1)) * (segments != 0)

    @claims("behind-the-last")
    def session_position_ids(self, events: Array) -> Array:
        cache: list[int] = []
        ids: list[int] = []
        for kind, start, then in events.tolist():
            if kind == 0:
                new = max(cache, default=-1) + 1
                ids += range(new, new + start)
                cache += range(new, new + start)
            elif kind == 1:
                cache = [position for position in cache if not start <= position < then]
            else:
                cache = [position + then if position >= start else position for position in cache]
                if min(cache, default=0) < 0:
                    raise ValueError("moved below 0")
        return np.array(ids, dtype=np.int64)

    @claims("behind-the-largest")
    def m_rope_window_position_ids(
        self, segments: Array, start: int, stop: int, *, merge_size: int
    ) -> Array:
        if stop < start:
            raise ValueError("a window that ends before it begins")
        ids: list[tuple[int, ...]] = []
        for size, height, width in segments.tolist():
            first = max(map(max, ids), default=-1) + 1
            shape = (size, height // merge_size, width // merge_size)
            cells = [(t, t, t) for t in range(size)] if not height else list(np.ndindex(shape))
            ids += [(first + t, first + h, first + w) for t, h, w in cells]
        delta = max(map(max, ids), default=-1) + 1 - len(ids)  # rope_deltas of transformers
        columns = [
            ids[token] if token < len(ids) else (token + delta,) * 3 for token in range(start, stop)
        ]
        return np.array(columns, dtype=np.int64).reshape(-1, 3).T


class Cache:
    """A KV cache with a fixed number of cells, each with a position."""

    def __init__(self, cells: int) -> None:
        self.positions = np.full(cells, -1, dtype=np.int64)

    def step(self) -> int:
        """Put one token into the first free cell, and return its position."""
        position = int(self.positions.max()) + 1
        self.positions[np.flatnonzero(self.positions < 0)[0]] = position
        return position

    def drop(self, start: int, stop: int) -> None:
        """Free the cells of positions from ``start`` to ``stop`` - 1."""
        self.positions[(self.positions >= start) & (self.positions < stop)] = -1

    def move(self, start: int, delta: int) -> None:
        """Shift positions from ``start`` on by ``delta``."""
        moved = self.positions >= start
        self.positions[moved] += delta
        if (self.positions[moved] < 0).any():
            raise ValueError("moved below 0")


@right
class ServedByCells:
    """A cache that takes one token at a time and reuses its cells."""

    @claims("behind-the-last")
    def session_position_ids(self, events: Array) -> Array:
        cache, ids = Cache(8192), []
        for kind, start, then in events.tolist():
            if kind == 0:
                ids += [cache.step() for _ in range(start)]
            elif kind == 1:
                cache.drop(start, then)
            else:
                cache.move(start, then)
        return np.array(ids, dtype=np.int64)

    @claims("round-robin", ranks=[1, 2, 4])
    def shard_position_ids(self, length: int, rank: int, ranks: int, *, share: str) -> list[int]:
        if length % ranks or rank >= ranks:
            raise ValueError("no such share")
        return [token for token in range(length) if token % ranks == rank]

    @claims("by-depth", max_position=2**15)
    def tree_position_ids(self, past_length: int, parents: Array) -> Array:
        depth = np.zeros(len(parents), dtype=np.int32)
        above = np.array(parents, dtype=np.int64)
        if (above >= np.arange(len(above))).any():
            raise ValueError("a token follows a later one")
        while (above >= 0).any():
            depth += above >= 0
            above = np.where(above >= 0, parents[above], -1)
        return past_length + depth
