"""Wrong implementations: order of vision tokens."""

from typing import Any

import numpy as np

from posenc_lab.miniatures.base import Array, Mistake

Key = tuple[int, ...]


class Merged(Mistake, steps=True):
    """Heights and widths of patches, sorted by blocks, in steps."""

    call = "merged_position_ids"
    claimed = ("block-by-block",)

    def answer(self, grids: Array, *, merge_size: int) -> Any:
        if (grids[:, 1:] % merge_size).any():
            raise ValueError(grids)
        ids: list[Key] = []
        for frames, height, width in grids.tolist():
            cells = sorted(np.ndindex(height, width), key=lambda cell: self.block(cell, merge_size))
            for frame in range(frames):
                ids += [self.place(cell, frame, height, merge_size) for cell in cells]
        return np.array(ids, dtype=np.int64).reshape(-1, 2).T

    def block(self, cell: Key, merge: int) -> Key:
        return cell[0] // merge, cell[1] // merge, *cell

    def place(self, cell: Key, frame: int, height: int, merge: int) -> Key:
        return cell


class MergedRowByRow(Merged):
    """Patches are in row order, as if nothing were merged."""

    named = "merge-ignored"

    def block(self, cell: Key, merge: int) -> Key:
        return cell


class MergedExchanged(Merged):
    """Widths come before heights."""

    named = "height-and-width-exchanged"

    def place(self, cell: Key, frame: int, height: int, merge: int) -> Key:
        return cell[::-1]


class MergedCoordinates(Merged):
    """Coordinates are those after merging."""

    named = "merged-coordinates"

    def place(self, cell: Key, frame: int, height: int, merge: int) -> Key:
        return cell[0] // merge, cell[1] // merge


class MergedStacked(Merged):
    """Frames are stacked vertically."""

    named = "frames-stacked"

    def place(self, cell: Key, frame: int, height: int, merge: int) -> Key:
        return cell[0] + frame * height, cell[1]


class MergedByColumns(Merged):
    """Patches of a block are in column order."""

    def block(self, cell: Key, merge: int) -> Key:
        return cell[0] // merge, cell[1] // merge, *cell[::-1]


class MergedInPairs(Merged):
    """Blocks are always two by two."""

    def block(self, cell: Key, merge: int) -> Key:
        return super().block(cell, 2 if merge > 1 else 1)


class Windows(Mistake, steps=True):
    """Tokens sorted by windows, in steps."""

    call = "window_order"
    claimed = ("window-by-window",)

    def answer(self, grids: Array, window: int, *, merge_size: int) -> Any:
        if window < 1 or (grids[:, 1:] % merge_size).any() or (grids < 1).any():
            raise ValueError((grids, window))
        numbers: list[int] = []
        for frames, height, width in grids.tolist():
            shape = (frames, height // merge_size, width // merge_size)
            cells = list(np.ndindex(shape))
            order = sorted(range(len(cells)), key=lambda index: self.key(cells[index], window))
            numbers += [self.first(len(numbers)) + index for index in self.told(order)]
        return np.array(numbers, dtype=np.int64)

    def key(self, cell: Key, side: int) -> Key:
        frame, row, column = cell
        return frame, row // side, column // side, row, column

    def told(self, order: list[int]) -> list[int]:
        return order

    def first(self, before: int) -> int:
        return before


class WindowsNone(Windows):
    """Tokens are in row order."""

    named = "windows-ignored"

    def key(self, cell: Key, side: int) -> Key:
        return cell


class WindowsInverted(Windows):
    """The inverse permutation is returned."""

    named = "order-inverted"

    def told(self, order: list[int]) -> list[int]:
        return [int(index) for index in np.argsort(order)]


class WindowsByColumns(Windows):
    """Windows are in column order."""

    named = "windows-by-columns"

    def key(self, cell: Key, side: int) -> Key:
        frame, row, column = cell
        return frame, column // side, row // side, row, column


class WindowsCellsByColumns(Windows):
    """Tokens of a window are in column order."""

    named = "windows-by-columns"

    def key(self, cell: Key, side: int) -> Key:
        frame, row, column = cell
        return frame, row // side, column // side, column, row


class WindowsFromZero(Windows):
    """Each image is numbered from 0."""

    named = "images-from-zero"

    def first(self, before: int) -> int:
        return 0


class WindowsOverFrames(Windows):
    """A window spans all frames."""

    def key(self, cell: Key, side: int) -> Key:
        frame, row, column = cell
        return row // side, column // side, frame, row, column


class WindowsOfFour(Windows):
    """The window is always 4, as in the released models."""

    def key(self, cell: Key, side: int) -> Key:
        return super().key(cell, 4)


class Edges(Mistake, steps=True):
    """Cumulative sizes of windows, in steps."""

    call = "window_edges"
    claimed = ("edges-in-patches",)

    def answer(self, grids: Array, window: int, *, merge_size: int) -> Any:
        if window < 1 or (grids[:, 1:] % merge_size).any() or (grids < 1).any():
            raise ValueError((grids, window))
        edges = [0]
        for frames, height, width in grids.tolist():
            before = self.first(edges)
            for _ in range(frames):
                for size in self.sizes(height // merge_size, width // merge_size, window):
                    before += size * self.unit(merge_size)
                    edges.append(before)
        return np.array(edges, dtype=np.int64)

    def first(self, edges: list[int]) -> int:
        return edges[-1]

    def unit(self, merge: int) -> int:
        return merge * merge

    def sizes(self, rows: int, columns: int, side: int) -> list[int]:
        return [
            min(side, rows - row) * min(side, columns - column)
            for row in range(0, rows, side)
            for column in range(0, columns, side)
        ]


class EdgesInTokens(Edges):
    """Edges count tokens after merging."""

    named = "edges-in-tokens"

    def unit(self, merge: int) -> int:
        return 1


class EdgesOfFullWindows(Edges):
    """All windows are full, even at the border."""

    named = "windows-filled"

    def sizes(self, rows: int, columns: int, side: int) -> list[int]:
        return [side * side] * (-(-rows // side) * -(-columns // side))


class EdgesFromZero(Edges):
    """Each image starts at 0."""

    named = "edges-restarted"

    def first(self, edges: list[int]) -> int:
        return 0


class EdgesRepeated(Edges):
    """An empty window is added if windows divide the grid."""

    def sizes(self, rows: int, columns: int, side: int) -> list[int]:
        windows = super().sizes(rows, columns, side)
        return [*windows, 0] if rows % side == 0 and columns % side == 0 else windows


class EdgesByColumns(Edges):
    """Windows are in column order."""

    def sizes(self, rows: int, columns: int, side: int) -> list[int]:
        return super().sizes(columns, rows, side)
