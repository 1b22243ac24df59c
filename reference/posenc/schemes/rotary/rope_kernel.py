"""Rotary embedding with the signatures of kernels: several sequences, or queries with keys.

Source: apply_rotary_emb in Dao-AILab/flash-attention, apply_rope in flashinfer-ai/flashinfer, and
rotary_embedding in vllm-project/vllm.
"""

import numpy as np
import numpy.typing as npt

from posenc import arguments, rotation
from posenc.schemes.rotary.rope import rope

__all__ = [
    "rope_batched",
    "rope_in_place",
    "rope_offsets",
    "rope_packed",
    "rope_qkv",
    "rope_query_key",
]

LAYOUTS = ("half", "interleaved")
PACKINGS = ("blocks", "by-group")
Result = npt.NDArray[np.floating]
Integers = npt.NDArray[np.int64]


def rope_batched(
    x: npt.ArrayLike,
    positions: npt.ArrayLike,
    *,
    base: float = 10000.0,
    layout: str = "interleaved",
) -> Result:
    """Rotate queries or keys of several sequences, each with its own positions.

    Parameters
    ----------
    x : floating array of shape [batch, heads, n, head_dim]
        Queries or keys.
    positions : integer array of shape [batch, n]
        Position of each row of each sequence.
    base : float
        Base of the geometric progression of frequencies.
    layout : "interleaved" or "half"
        Pair t is channels (2t, 2t + 1), or (t, t + head_dim / 2).

    Returns
    -------
    array of the shape and dtype of x
        Computed in float64 and rounded once.

    Raises
    ------
    TypeError
        If x is not floating or positions are not integers.
    ValueError
        If an argument is out of its domain or shapes do not fit.
    """
    values, places = arguments.floating("x", x, 4), _integers("positions", positions, 2)
    if places.shape != (values.shape[0], values.shape[2]):
        raise ValueError(f"positions have shape {places.shape}, but x {values.shape}")
    return _turned(values, places[:, None, :], base, layout)


def rope_offsets(
    x: npt.ArrayLike, offsets: npt.ArrayLike, *, base: float = 10000.0, layout: str = "interleaved"
) -> Result:
    """Rotate queries or keys of several sequences, each with its own first position.

    Parameters
    ----------
    x : floating array of shape [batch, heads, n, head_dim]
        Queries or keys.
    offsets : integer array of shape [batch]
        Position of the first row of each sequence; the others follow.
    base, layout
        As for :func:`rope_batched`.

    Returns
    -------
    array of the shape and dtype of x
        Computed in float64 and rounded once.

    Raises
    ------
    TypeError, ValueError
        As :func:`rope_batched`.
    """
    values, first = arguments.floating("x", x, 4), _integers("offsets", offsets, 1)
    if len(first) != values.shape[0]:
        raise ValueError(f"there are {len(first)} offsets, but x has shape {values.shape}")
    places = first[:, None] + np.arange(values.shape[2])
    return _turned(values, places[:, None, :], base, layout)


def rope_packed(
    x: npt.ArrayLike,
    cu_seqlens: npt.ArrayLike,
    offsets: npt.ArrayLike,
    *,
    base: float = 10000.0,
    layout: str = "interleaved",
) -> Result:
    """Rotate queries or keys of sequences packed one after the other, without padding.

    Parameters
    ----------
    x : floating array of shape [heads, total, head_dim]
        Queries or keys.
    cu_seqlens : integer array of shape [sequences + 1]
        Sequence i has the rows from cu_seqlens[i] to cu_seqlens[i + 1] - 1; the first entry is 0
        and the last the number of rows. A sequence may be empty.
    offsets : integer array of shape [sequences]
        Position of the first row of each sequence; the others follow.
    base, layout
        As for :func:`rope_batched`.

    Returns
    -------
    array of the shape and dtype of x
        Computed in float64 and rounded once.

    Raises
    ------
    TypeError, ValueError
        As :func:`rope_batched`.
    """
    values, first = arguments.floating("x", x, 3), _integers("offsets", offsets, 1)
    edges = _integers("cu_seqlens", cu_seqlens, 1)
    lengths = np.diff(edges)
    if len(lengths) != len(first) or edges[0] or (lengths < 0).any():
        raise ValueError(f"cu_seqlens {edges.tolist()} do not bound {len(first)} sequences from 0")
    if edges[-1] != values.shape[1]:
        raise ValueError(f"cu_seqlens end at {edges[-1]}, but x has shape {values.shape}")
    places = np.arange(values.shape[1]) + np.repeat(first - edges[:-1], lengths)
    return _turned(values, places, base, layout)


def rope_query_key(
    q: npt.ArrayLike,
    k: npt.ArrayLike,
    positions: npt.ArrayLike,
    *,
    base: float = 10000.0,
    layout: str = "interleaved",
) -> Result:
    """Rotate queries and keys in one call.

    Parameters
    ----------
    q : floating array of shape [heads, n, head_dim]
        Queries.
    k : floating array of shape [key_heads, n, head_dim]
        Keys, usually with fewer heads.
    positions : integer array of shape [n]
        Position of each row.
    base, layout
        As for :func:`rope_batched`.

    Returns
    -------
    array of shape [heads + key_heads, n, head_dim] and the dtype of q
        The heads of q, then those of k. Computed in float64 and rounded once.

    Raises
    ------
    TypeError, ValueError
        As :func:`rope_batched`.
    """
    queries, keys = arguments.floating("q", q, 3), arguments.floating("k", k, 3)
    if queries.shape[1:] != keys.shape[1:]:
        raise ValueError(f"q has shape {queries.shape} and k {keys.shape}")
    return _turned(np.concatenate([queries, keys]), _rows(positions, queries), base, layout)


def rope_in_place(
    x: Result, positions: npt.ArrayLike, *, base: float = 10000.0, layout: str = "interleaved"
) -> Result:
    """Rotate queries or keys in place.

    Parameters
    ----------
    x : floating array of shape [..., n, head_dim]
        Queries or keys, which are overwritten.
    positions : integer array of shape [n]
        Position of each row.
    base, layout
        As for :func:`rope_batched`.

    Returns
    -------
    x itself

    Raises
    ------
    TypeError, ValueError
        As :func:`rope_batched`.
    """
    if not isinstance(x, np.ndarray):
        raise TypeError(f"x is a {type(x).__name__}; it must be an array that can be written")
    values = rotation.queries_or_keys("x", x)
    x[...] = _turned(values, _rows(positions, values), base, layout)
    return x


def rope_qkv(
    qkv: npt.ArrayLike,
    positions: npt.ArrayLike,
    heads: int,
    key_heads: int,
    *,
    base: float = 10000.0,
    layout: str = "interleaved",
    packing: str = "blocks",
) -> Result:
    """Rotate queries and keys in the result of one projection; leave the values unchanged.

    Parameters
    ----------
    qkv : floating array of shape [n, (heads + 2 * key_heads) * head_dim]
        In each row the heads of the query, then those of the key, then those of the value; or, by
        group, the query heads that share a key head, that key head and its value head.
    positions : integer array of shape [n]
        Position of each row.
    heads, key_heads : int
        Number of query heads, and of key heads, which is also that of value heads.
    base, layout
        As for :func:`rope_batched`.
    packing : "blocks" or "by-group"
        Order of the heads in a row.

    Returns
    -------
    array of the shape and dtype of qkv
        Computed in float64 and rounded once.

    Raises
    ------
    TypeError, ValueError
        As :func:`rope_batched`. ValueError if the query heads do not make groups of one size.
    """
    arguments.choice("packing", packing, PACKINGS)
    values = arguments.floating("qkv", qkv, 2)
    count = arguments.integer("heads", heads, 1) + arguments.integer("key_heads", key_heads, 1)
    every = count + key_heads
    if values.shape[1] % every:
        raise ValueError(f"rows of {values.shape[1]} channels are not {every} heads of one size")
    by_head = values.reshape(len(values), every, values.shape[1] // every).swapaxes(0, 1)
    turns = np.arange(every) < count
    if packing == "by-group":
        if heads % key_heads:
            raise ValueError(f"{heads} query heads do not make {key_heads} groups of one size")
        turns = np.arange(every) % (every // key_heads) <= heads // key_heads
    out = by_head.copy()
    out[turns] = _turned(by_head[turns], _rows(positions, values), base, layout)
    return out.swapaxes(0, 1).reshape(values.shape)


def _turned(values: Result, positions: Integers, base: float, layout: str) -> Result:
    arguments.choice("layout", layout, LAYOUTS)
    return rope(values, positions, base=base, layout=layout)


def _rows(positions: npt.ArrayLike, values: Result) -> Integers:
    places = _integers("positions", positions, 1)
    if len(places) != values.shape[-2]:
        raise ValueError(f"there are {len(places)} positions, but rows of shape {values.shape}")
    return places


def _integers(name: str, given: npt.ArrayLike, axes: int) -> Integers:
    values = np.asarray(given)
    if values.dtype.kind not in "iu":
        raise TypeError(f"{name} are {values.dtype}; they must be integers")
    if values.ndim != axes:
        raise ValueError(f"{name} have shape {values.shape}; they must have {axes} axes")
    return values.astype(np.int64)
