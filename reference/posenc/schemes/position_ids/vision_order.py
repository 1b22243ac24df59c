"""The order in which vision encoders store the patches of images.

Source: transformers 4.49, ``rot_pos_emb`` of ``models/qwen2_vl`` and ``get_window_index`` of
``models/qwen2_5_vl``.
"""

import numpy as np
import numpy.typing as npt

from posenc import arguments

__all__ = ["merged_position_ids", "window_edges", "window_order"]

Ids = npt.NDArray[np.int64]


def merged_position_ids(grids: npt.ArrayLike, *, merge_size: int = 1) -> Ids:
    """Return the row and column of each patch, with merged patches next to each other.

    Parameters
    ----------
    grids : integer array of shape [s, 3]
        Frames, height and width in patches of each image or video.
    merge_size : int
        Patches that are merged into one token along the height, and as many along the width.

    Returns
    -------
    int64 array of shape [2, patches]
        Frame by frame; within a frame block by block, within a block row by row.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its domain, or grids are not multiples of merge_size.
    """
    merge = arguments.integer("merge_size", merge_size, 1)
    parts = [np.zeros((2, 0), dtype=np.int64)]
    for frames, height, width in _grids(grids, merge):
        blocks = np.indices((height, width)).reshape(
            2, height // merge, merge, width // merge, merge
        )
        parts += [blocks.swapaxes(2, 3).reshape(2, -1)] * frames
    return np.concatenate(parts, axis=1)


def window_order(grids: npt.ArrayLike, window: int, *, merge_size: int = 1) -> Ids:
    """Return the order of merged tokens that sorts them by windows.

    Parameters
    ----------
    grids : integer array of shape [s, 3]
        Frames, height and width in patches of each image or video.
    window : int
        Tokens of a window along the height, and as many along the width, after merging. Windows at
        the lower and right border are smaller if the grid is not a multiple.
    merge_size : int
        Patches that are merged into one token along the height, and as many along the width.

    Returns
    -------
    int64 array of shape [tokens]
        Numbers of tokens, counted frame by frame and row by row over all grids.

    Raises
    ------
    TypeError, ValueError
        As :func:`merged_position_ids`, or if window is below 1.
    """
    merge, side = _sizes(window, merge_size)
    parts, before = [np.zeros(0, dtype=np.int64)], 0
    for frames, height, width in _grids(grids, merge):
        frame, row, column = np.indices((frames, height // merge, width // merge)).reshape(3, -1)
        order = np.lexsort((column, row, column // side, row // side, frame))
        parts.append(before + order)
        before += len(order)
    return np.concatenate(parts)


def window_edges(grids: npt.ArrayLike, window: int, *, merge_size: int = 1) -> Ids:
    """Return the number of patches before each window, and the total.

    Parameters
    ----------
    grids, window, merge_size
        As for :func:`window_order`.

    Returns
    -------
    int64 array of shape [windows + 1]
        From 0 to the number of patches.

    Raises
    ------
    TypeError, ValueError
        As :func:`window_order`.
    """
    merge, side = _sizes(window, merge_size)
    sizes: list[int] = []
    for frames, height, width in _grids(grids, merge):
        rows, columns = (_pieces(size // merge, side) for size in (height, width))
        sizes += np.outer(rows, columns).reshape(-1).tolist() * frames
    return np.cumsum([0, *sizes], dtype=np.int64) * merge**2


def _pieces(length: int, side: int) -> list[int]:
    """Cut a length into pieces of ``side``, of which the last may be shorter."""
    return [min(side, length - start) for start in range(0, length, side)]


def _sizes(window: int, merge_size: int) -> tuple[int, int]:
    return arguments.integer("merge_size", merge_size, 1), arguments.integer("window", window, 1)


def _grids(grids: npt.ArrayLike, merge_size: int) -> list[list[int]]:
    """Check the size of each grid, and return the sizes as Python integers."""
    sizes = np.asarray(grids)
    if sizes.dtype.kind not in "iu":
        raise TypeError(f"grids are {sizes.dtype}; they must be integers")
    if sizes.ndim != 2 or sizes.shape[1] != 3 or (sizes < 1).any():
        raise ValueError(f"grids have shape {sizes.shape}; they must be [s, 3], and at least 1")
    if (sizes[:, 1:] % merge_size).any():
        raise ValueError(f"heights and widths must be multiples of merge_size, {merge_size}")
    listed: list[list[int]] = sizes.tolist()
    return listed
