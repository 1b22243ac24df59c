"""Rotation by the caller's tables of cosines and sines.

Source: apply_rotary_pos_emb in transformers, apply_rotary_emb in meta-llama/llama-models, and the
kernels of FlashInfer that take a cos_sin_cache.
"""

import numpy as np
import numpy.typing as npt

from posenc import arguments, rotation
from posenc.exact import Array, Pair

__all__ = ["rope_apply", "rope_apply_cache", "rope_apply_pairs"]

LAYOUTS = ("half", "interleaved")


def rope_apply(
    x: npt.ArrayLike,
    cos: npt.ArrayLike,
    sin: npt.ArrayLike,
    *,
    layout: str = "interleaved",
    table: str = "half-width",
) -> npt.NDArray[np.floating]:
    """Rotate each pair of channels of queries or keys by its cosine and sine from tables.

    Pair (x1, x2) becomes (x1 cos - x2 sin, x1 sin + x2 cos). cos² + sin² need not be 1.

    Parameters
    ----------
    x : floating array of shape [..., n, head_dim]
        Queries or keys, with any batch and head axes.
    cos, sin : floating arrays of shape [n, r / 2], or [n, r] if doubled
        A row for each row of x; the leading r channels are rotated.
    layout : "interleaved" or "half"
        Pairs are channels (2t, 2t+1), or (t, t + r/2).
    table : "half-width" or "doubled"
        A number for each pair, or for each channel, the same for both channels of a pair.

    Returns
    -------
    array of the shape and dtype of x
        Computed in float64 and rounded once.

    Raises
    ------
    TypeError
        If x or tables are not floating.
    ValueError
        If an argument is out of its domain, shapes do not fit, or a table is not doubled.
    """
    arguments.choice("table", table, ("half-width", "doubled"))
    arguments.choice("layout", layout, LAYOUTS)
    tables = {name: _floats(name, array, 2) for name, array in (("cos", cos), ("sin", sin))}
    if table == "doubled":
        tables = {name: _first_of_each_pair(name, data, layout) for name, data in tables.items()}
    return _turned(x, tables["cos"], tables["sin"], layout)


def rope_apply_pairs(
    x: npt.ArrayLike, cis: npt.ArrayLike, *, layout: str = "interleaved", table: str = "complex"
) -> npt.NDArray[np.floating]:
    """Multiply each pair of queries or keys by its complex number from a table.

    Parameters
    ----------
    x : floating array of shape [..., n, head_dim]
        Queries or keys, with any batch and head axes.
    cis : floating array of shape [n, r / 2, 2]
        Real and imaginary parts, that is, cosine and sine, of each pair.
    layout, table
        As for :func:`rope_apply`; the table is ``"complex"``.

    Returns
    -------
    array of the shape and dtype of x
        Computed in float64 and rounded once.

    Raises
    ------
    TypeError, ValueError
        As :func:`rope_apply`.
    """
    arguments.choice("table", table, ("complex",))
    numbers = _floats("cis", cis, 3)
    if numbers.shape[-1] != 2:
        raise ValueError(f"cis has shape {numbers.shape}; it must be [n, r / 2, 2]")
    return _turned(x, numbers[..., 0], numbers[..., 1], layout)


def rope_apply_cache(
    x: npt.ArrayLike,
    rows: npt.ArrayLike,
    cache: npt.ArrayLike,
    *,
    layout: str = "interleaved",
    table: str = "side-by-side",
) -> npt.NDArray[np.floating]:
    """Rotate each row of queries or keys by the cache row that ``rows`` names.

    Parameters
    ----------
    x : floating array of shape [..., n, head_dim]
        Queries or keys, with any batch and head axes.
    rows : integer array of shape [n]
        Row of the cache for each row of x, usually its position.
    cache : floating array of shape [length, r]
        Cosines, then sines.
    layout, table
        As for :func:`rope_apply`; the table is ``"side-by-side"``.

    Returns
    -------
    array of the shape and dtype of x
        Computed in float64 and rounded once.

    Raises
    ------
    TypeError, ValueError
        As :func:`rope_apply`; also if a row is not in the cache.
    """
    arguments.choice("table", table, ("side-by-side",))
    entries, index = _floats("cache", cache, 2), np.asarray(rows)
    if index.dtype.kind not in "iu":
        raise TypeError(f"rows are {index.dtype}; they must be integers")
    if index.ndim != 1 or entries.shape[1] % 2:
        raise ValueError(f"rows have shape {index.shape} and the cache {entries.shape}")
    if index.size and not (index.min() >= 0 and index.max() < len(entries)):
        raise ValueError(f"rows are {index.min()} to {index.max()}; the cache has {len(entries)}")
    chosen, half = entries[index], entries.shape[1] // 2
    return _turned(x, chosen[:, :half], chosen[:, half:], layout)


def _turned(x: npt.ArrayLike, cos: Array, sin: Array, layout: str) -> npt.NDArray[np.floating]:
    arguments.choice("layout", layout, LAYOUTS)
    values = rotation.queries_or_keys("x", x)
    if cos.shape != sin.shape or len(cos) != values.shape[-2]:
        raise ValueError(f"tables {cos.shape} and {sin.shape} do not fit x of {values.shape}")
    rotation.width(2 * cos.shape[1], values.shape[-1])
    nothing = np.zeros(cos.shape)
    return rotation.turned(values, Pair(sin, nothing), Pair(cos, nothing), layout, layout)


def _floats(name: str, given: npt.ArrayLike, axes: int) -> Array:
    return arguments.floating(name, given, axes).astype(np.float64)


def _first_of_each_pair(name: str, table: Array, layout: str) -> Array:
    first, second = rotation.pairs(table, layout)
    if not np.array_equal(first, second):
        raise ValueError(f"{name} is not doubled: the channels of a pair have different numbers")
    return first
