"""Order of vision tokens: patches sorted by frame, block, row and column."""

from collections.abc import Iterator
from typing import Any

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element

Place = tuple[int, ...]


def cells(arguments: Arguments, unit: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield image, frame, row and column of each cell of ``unit`` patches a side, row by row."""
    for image, (frames, height, width) in enumerate(arguments["grids"].tolist()):
        for frame in range(frames):
            for row in range(height // unit):
                for column in range(width // unit):
                    yield image, frame, row, column


def by_blocks(place: Place, side: int) -> Place:
    """Return the sorting key of a place: image and frame, block, then the place in the block."""
    image, frame, row, column = place
    return image, frame, row // side, column // side, row, column


def merge_of(arguments: Arguments) -> int:
    """Return the number of patches along a side of merged blocks."""
    return int(arguments.get("merge_size", 1))


def merged_position_ids(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the coordinate at (axis, patch)."""
    merge = merge_of(arguments)
    patches = sorted(cells(arguments, 1), key=lambda place: by_blocks(place, merge))
    return lambda index: mpmath.mpf(patches[index[1]][2 + index[0]])


def in_windows(arguments: Arguments) -> list[tuple[Place, int]]:
    """List the sorting key and the number of each token, sorted by windows."""
    side = int(arguments["window"])
    numbered: Any = enumerate(cells(arguments, merge_of(arguments)))
    return sorted((by_blocks(place, side), number) for number, place in numbered)


def window_order(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the token at (place,)."""
    tokens = in_windows(arguments)
    return lambda index: mpmath.mpf(tokens[index[0]][1])


def window_edges(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the number of patches before (window,)."""
    windows = [key[:4] for key, _ in in_windows(arguments)]
    starts = [
        place for place, window in enumerate(windows) if not place or windows[place - 1] != window
    ]
    edges = [*starts, len(windows)] if windows else [0]
    return lambda index: mpmath.mpf(edges[index[0]] * merge_of(arguments) ** 2)


VALUES = {
    "merged_position_ids": merged_position_ids,
    "window_order": window_order,
    "window_edges": window_edges,
}
