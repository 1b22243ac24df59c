"""Log-spaced continuous position bias: a small network's output for the offset of two patches.

Sources: Liu et al. 2022, "Swin Transformer V2", arXiv 2111.09883, section 3.3, equations 3 and 4,
and its released code, models/swin_transformer_v2.py of microsoft/Swin-Transformer.
"""

import numpy as np
import numpy.typing as npt

from posenc import arguments
from posenc.elementary import add, divide, dots, log, negative, pair, sigmoid, times, total
from posenc.exact import Array, Pair
from posenc.schemes.bias.relative_table_2d import relative_table_2d_rows

__all__ = ["log_cpb", "log_cpb_coordinates"]

COORDINATES = ("normalized", "plain")
OUTPUTS = ("sigmoid", "plain")
REACH = 8.0
LARGEST_BIAS = 16.0


def log_cpb(
    w1: npt.ArrayLike,
    b1: npt.ArrayLike,
    w2: npt.ArrayLike,
    *,
    height: int,
    width: int,
    pretrained_height: int = 0,
    pretrained_width: int = 0,
    coordinates: str = "normalized",
    output: str = "sigmoid",
) -> npt.NDArray[np.floating]:
    """Return the bias added to the logits of a window of patches.

    Parameters
    ----------
    w1, b1 : arrays of shape [hidden, 2] and [hidden]
        Weights and biases of the first layer, which takes the coordinates of an offset, height
        first, and is followed by a ReLU.
    w2 : array of shape [heads, hidden]
        Weights of the second layer, which has no biases.
    height, width, pretrained_height, pretrained_width, coordinates
        As in :func:`log_cpb_coordinates`.
    output : "sigmoid" or "plain"
        Whether the bias is 16 times the sigmoid of the network's output, or the output itself.

    Returns
    -------
    array of shape [heads, tokens, tokens] and the dtype of the weights
        Queries before keys, patches row by row.

    Raises
    ------
    TypeError
        If weights are not floating, or a size is not an integer.
    ValueError
        If layers do not fit together, or an argument is out of its domain.
    """
    arguments.choice("output", output, OUTPUTS)
    first, bias, second = (np.asarray(array) for array in (w1, b1, w2))
    _check(first, bias, second)
    along = _coordinates(height, width, (pretrained_height, pretrained_width), coordinates)
    wide = Pair(along.high[:, None], along.low[:, None])
    hidden = add(dots(wide, pair(first)), pair(bias))
    active = hidden.high > 0
    units = Pair(*(np.where(active, array, 0.0)[:, None] for array in hidden))
    outputs = dots(units, pair(second))
    if output == "sigmoid":
        outputs = times(pair(LARGEST_BIAS), sigmoid(outputs))
    table = total(outputs).astype(np.result_type(first, bias, second))
    return np.moveaxis(table[relative_table_2d_rows(height, width)], -1, 0).copy()


def log_cpb_coordinates(
    height: int,
    width: int,
    *,
    pretrained_height: int = 0,
    pretrained_width: int = 0,
    coordinates: str = "normalized",
    dtype: npt.DTypeLike = np.float64,
) -> npt.NDArray[np.floating]:
    """Return the network's input for every offset in a window.

    Along each axis, an offset of d patches is ``sign(d) log2(1 + 8 |d| / (size - 1)) / 3``, where
    size is that of the window in pre-training; plain, it is ``sign(d) ln(1 + |d|)``.

    Parameters
    ----------
    height, width : int
        Patches of the window along the axes, each at least 1.
    pretrained_height, pretrained_width : int
        Patches of the pre-training window, each at least 2, or 0 for the same number. Plain
        coordinates do not depend on them.
    coordinates : "normalized" or "plain"
        Whether offsets are relative to the pre-training window.
    dtype : dtype
        Dtype of the result: float64 or narrower.

    Returns
    -------
    array of shape [(2 height - 1) (2 width - 1), 2]
        Coordinates along the height, then along the width, of increasing offsets of query minus
        key; those along the width vary faster.

    Raises
    ------
    TypeError
        If a size is not an integer.
    ValueError
        If an argument is out of its domain.
    """
    pretrained = pretrained_height, pretrained_width
    return total(_coordinates(height, width, pretrained, coordinates)).astype(dtype)


def _coordinates(height: int, width: int, pretrained: tuple[int, int], kind: str) -> Pair:
    arguments.choice("coordinates", kind, COORDINATES)
    sizes = arguments.integer("height", height, 1), arguments.integer("width", width, 1)
    for name, value in zip(("pretrained_height", "pretrained_width"), pretrained, strict=True):
        if arguments.integer(name, value, 0) == 1:
            raise ValueError(f"{name} is 1; a window of one patch has no offset to divide by")
    axes = [
        _axis(size, before or size, kind) for size, before in zip(sizes, pretrained, strict=True)
    ]
    return Pair(*(_every(*part) for part in zip(*axes, strict=True)))


def _axis(size: int, pretrained: int, kind: str) -> Pair:
    """Return the coordinates of the offsets along one axis."""
    offset = np.arange(1.0 - size, size)
    distance = pair(np.abs(offset))
    if kind == "plain":
        coordinate = log(add(distance, pair(1.0)))
    else:
        part = divide(times(pair(REACH), distance), pair(max(pretrained - 1.0, 1.0)))
        coordinate = divide(log(add(part, pair(1.0))), log(pair(REACH)))
    mirrored = negative(coordinate)
    return Pair(*(np.where(offset < 0, a, b) for a, b in zip(mirrored, coordinate, strict=True)))


def _every(down: Array, right: Array) -> Array:
    """Combine every coordinate of one axis with every coordinate of the other."""
    return np.stack(np.meshgrid(down, right, indexing="ij"), axis=-1).reshape(-1, 2)


def _check(
    w1: npt.NDArray[np.floating], b1: npt.NDArray[np.floating], w2: npt.NDArray[np.floating]
) -> None:
    arguments.finite(w1=w1, b1=b1, w2=w2)
    hidden = len(b1) if b1.ndim == 1 else 0
    if not hidden or w1.shape != (hidden, 2) or w2.ndim != 2 or w2.shape[1] != hidden:
        raise ValueError(
            f"w1, b1 and w2 have shapes {w1.shape}, {b1.shape} and {w2.shape}; "
            "they must be [hidden, 2], [hidden] and [heads, hidden]"
        )
