"""Right implementations: order of vision tokens."""

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import Array, right


@right
class OrderByReshaping:
    """transformers: axes split into blocks and transposed; grids padded, the padding dropped."""

    @claims("block-by-block")
    def merged_position_ids(self, grids: Array, *, merge_size: int) -> Array:
        parts = [np.zeros((2, 0), dtype=np.int64)]
        for frames, height, width in grids:
            rows, columns = (
                axis.reshape(height // merge_size, merge_size, width // merge_size, merge_size)
                .transpose(0, 2, 1, 3)
                .ravel()
                for axis in np.mgrid[:height, :width]
            )
            parts.append(np.tile(np.stack([rows, columns]), (1, frames)))
        return np.concatenate(parts, axis=1)

    @claims("window-by-window")
    def window_order(self, grids: Array, window: int, *, merge_size: int) -> Array:
        return self._windows(grids, window, merge_size)[0]

    @claims("edges-in-patches")
    def window_edges(self, grids: Array, window: int, *, merge_size: int) -> Array:
        sizes = self._windows(grids, window, merge_size)[1]
        edges = np.concatenate([[0], np.cumsum(sizes) * merge_size**2])
        return edges[np.diff(edges, prepend=-1) > 0]  # padding may create empty windows

    def _windows(self, grids: Array, window: int, merge_size: int) -> tuple[Array, Array]:
        if window < 1 or (grids < 1).any() or (grids[:, 1:] % merge_size).any():
            raise ValueError("no such windows")
        order, sizes, before = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)], 0
        for frames, height, width in grids // (1, merge_size, merge_size):
            index = np.arange(frames * height * width).reshape(frames, height, width)
            padding = [(0, window - size % window) for size in (height, width)]
            padded = np.pad(index, [(0, 0), *padding], constant_values=-1)
            high, wide = (size // window for size in padded.shape[1:])
            split = padded.reshape(frames, high, window, wide, window).swapaxes(2, 3)
            sizes.append((split >= 0).sum(axis=(3, 4)).ravel())
            order.append(split[split >= 0] + before)
            before += index.size
        return np.concatenate(order), np.concatenate(sizes)


@right
class OrderBySorting:
    """Patches sorted by a key, in plain Python."""

    @claims("block-by-block", merge_size=[1, 2])
    def merged_position_ids(self, grids: Array, *, merge_size: int) -> Array:
        if (grids[:, 1:] % merge_size).any():
            raise ValueError("blocks that are cut")
        ids = []
        for frames, height, width in grids.tolist():
            cells = [(h, w) for h in range(height) for w in range(width)]
            cells.sort(key=lambda cell: (cell[0] // merge_size, cell[1] // merge_size, cell))
            ids += cells * frames
        return np.array(ids, dtype=np.int32).reshape(-1, 2).T

    @claims("window-by-window", window=4, merge_size=2)
    def window_order(self, grids: Array, window: int, *, merge_size: int) -> list[int] | Array:
        order: list[int] = []
        for frames, height, width in grids.tolist():
            high, wide = height // merge_size, width // merge_size
            window_of = [(cell // wide // 4, cell % wide // 4) for cell in range(high * wide)]
            cells = sorted(range(high * wide), key=window_of.__getitem__)  # a stable sort
            for _ in range(frames):
                first = len(order)
                order += [first + cell for cell in cells]
        return order or np.zeros(0, dtype=np.int64)
