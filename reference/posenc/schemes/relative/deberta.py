"""Disentangled attention of DeBERTa, with the distance buckets of its second version.

Source: He et al. 2021, "DeBERTa", arXiv 2006.03654, section 3.1, equations 3 and 4; buckets are
those of its released code (``make_log_bucket_position``).
"""

import numpy as np
import numpy.typing as npt

from posenc import arguments
from posenc.disentangled import Operands, operands, over_root, products
from posenc.elementary import add
from posenc.exact import Pair

__all__ = ["deberta_bucket", "deberta_scores", "deberta_v2_scores"]

FAR = ("clamped", "growing")
P2C_INDICES = ("query-minus-key", "key-minus-query")
NEAR = 1e-9
"""Far more than float64's error in the logarithm of a distance, and far less than its steps."""

Integers = npt.NDArray[np.int64]


def deberta_bucket(
    relative_position: npt.ArrayLike,
    *,
    far: str = "clamped",
    num_buckets: int = 256,
    max_relative_positions: int = 512,
) -> Integers:
    """Return the signed bucket of each distance, by an exact integer rule.

    Distances of magnitude n up to ``mid = num_buckets // 2`` are their own bucket. Beyond, the
    magnitude of the bucket is ``mid + c`` with the least whole c for which
    ``last^c * mid^(mid - 1) >= n^(mid - 1) * mid^c``, with ``last = max_relative_positions - 1``;
    this is the released code's rounded-up logarithm, computed without logarithms. The sign is that
    of the distance.

    Parameters
    ----------
    relative_position : integer array of any shape
        Query position minus key position.
    far : "clamped" or "growing"
        Whether magnitudes are first clamped to last, or buckets keep growing.
    num_buckets : int
        Buckets of one direction, at least 4; the tables have twice as many rows.
    max_relative_positions : int
        One more than the distance with the last bucket; at least mid + 2.

    Returns
    -------
    int64 array of the same shape; magnitudes below ``2 * mid`` if clamped

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its domain.
    """
    arguments.choice("far", far, FAR)
    mid = arguments.integer("num_buckets", num_buckets, 4) // 2
    last = arguments.integer("max_relative_positions", max_relative_positions, mid + 2) - 1
    relative = np.asarray(relative_position)
    if not np.issubdtype(relative.dtype, np.integer):
        raise TypeError(f"relative_position is {relative.dtype}; it must hold integers")
    relative = relative.astype(np.int64)
    distance = np.abs(relative)
    if far == "clamped":
        distance = np.minimum(distance, last)
    beyond = mid + _beyond(distance, mid, last)
    return np.asarray(np.sign(relative) * np.where(distance <= mid, distance, beyond))


def deberta_scores(
    q: npt.ArrayLike,
    k: npt.ArrayLike,
    q_r: npt.ArrayLike,
    k_r: npt.ArrayLike,
    *,
    p2c_index: str = "query-minus-key",
) -> npt.NDArray[np.floating]:
    """Compute the logits: content to content, content to position, and position to content.

    ``(q_i · k_j + q_i · k_r[δ(i, j)] + k_j · q_r[δ']) / sqrt(3 * head_dim)``, where δ is the
    distance i - j plus span, clamped to 0 … 2 span - 1.

    Parameters
    ----------
    q, k : arrays of shape [heads, length, head_dim]
        Projected content. As many queries as keys: DeBERTa is an encoder.
    q_r, k_r : arrays of shape [heads, 2 span, head_dim]
        Projected relative positions, for queries and for keys.
    p2c_index : "query-minus-key" or "key-minus-query"
        Whether δ' is δ(i, j), as in all released code, or δ(j, i), as in the paper.

    Returns
    -------
    array of shape [heads, length, length] and the dtype of q

    Raises
    ------
    TypeError
        If an array is not floating, or the dtypes differ.
    ValueError
        If shapes do not fit or p2c_index is unknown.
    """
    arguments.choice("p2c_index", p2c_index, P2C_INDICES)
    arrays = _operands(q, k, q_r, k_r)
    return _scores(arrays, _relative(arrays), transposed=p2c_index == "key-minus-query")


def deberta_v2_scores(
    q: npt.ArrayLike,
    k: npt.ArrayLike,
    q_r: npt.ArrayLike,
    k_r: npt.ArrayLike,
    *,
    far: str = "clamped",
    max_relative_positions: int = 512,
) -> npt.NDArray[np.floating]:
    """Compute the logits of DeBERTa versions 2 and 3, which use distance buckets.

    The number of buckets is span. The logits are
    ``(q_i · k_j + q_i · k_r[δ] + k_j · q_r[δ]) / sqrt(3 * head_dim)``, where δ is the bucket of
    i - j plus span, clamped to 0 … 2 span - 1.

    Parameters
    ----------
    q, k : arrays of shape [heads, length, head_dim]
        Projected content.
    q_r, k_r : arrays of shape [heads, 2 span, head_dim]
        Projected relative positions, for queries and for keys.
    far, max_relative_positions
        As in :func:`deberta_bucket`, whose num_buckets is span.

    Returns
    -------
    array of shape [heads, length, length] and the dtype of q

    Raises
    ------
    TypeError
        If an array is not floating, or the dtypes differ.
    ValueError
        If shapes do not fit or an argument is out of its domain.
    """
    arrays = _operands(q, k, q_r, k_r)
    bucket = deberta_bucket(
        _relative(arrays),
        far=far,
        num_buckets=arrays.sizes["rows"] // 2,
        max_relative_positions=max_relative_positions,
    )
    return _scores(arrays, bucket)


def _operands(
    q: npt.ArrayLike, k: npt.ArrayLike, q_r: npt.ArrayLike, k_r: npt.ArrayLike
) -> Operands:
    arrays = operands(
        q=(q, "heads length head_dim"),
        k=(k, "heads length head_dim"),
        q_r=(q_r, "heads rows head_dim"),
        k_r=(k_r, "heads rows head_dim"),
    )
    rows = arrays.sizes["rows"]
    if rows < 2 or rows % 2:
        raise ValueError(f"q_r and k_r have {rows} rows; they must have two for each of the span")
    return arrays


def _relative(given: Operands) -> Integers:
    """Return the position of each query minus that of each key."""
    place = np.arange(given.sizes["length"])
    return np.asarray(place[:, None] - place)


def _scores(
    given: Operands, distance: Integers, *, transposed: bool = False
) -> npt.NDArray[np.floating]:
    """Add up the three terms; read position-to-content at δ(j, i) if transposed."""
    heads, rows = given.sizes["heads"], given.sizes["rows"]
    index = np.clip(distance + rows // 2, 0, rows - 1)
    to_position = _looked_up(products(given["q"], given["k_r"]), index, heads)
    # One row for each key: the index for key j and query i is the transpose.
    by_key = index if transposed else index.T
    to_content = _looked_up(products(given["k"], given["q_r"]), by_key, heads)
    scores = add(products(given["q"], given["k"]), to_position)
    scores = add(scores, Pair(*(np.swapaxes(part, 1, 2) for part in to_content)))
    return over_root(scores, 3 * given.sizes["head_dim"], given.dtype)


def _looked_up(scores: Pair, index: Integers, heads: int) -> Pair:
    """Pick the scores at ``index`` from each row."""
    everywhere = np.broadcast_to(index, (heads, *index.shape))
    return Pair(*(np.take_along_axis(part, everywhere, -1) for part in scores))


def _beyond(distance: Integers, mid: int, last: int) -> Integers:
    """Find the least whole c with ``(last/mid)^c >= (n/mid)^(mid-1)``; at most 0 up to mid.

    A logarithm near a whole number could lie on either side of it; then integer arithmetic decides,
    so that the result is the same on every machine.
    """
    distinct, where = np.unique(distance, return_inverse=True)
    ratio = np.log(np.maximum(distinct, mid) / mid) / np.log(last / mid)
    steps = np.asarray(ratio * (mid - 1))
    nearest, beyond = (to(steps).astype(np.int64) for to in (np.rint, np.ceil))
    unsure = (distinct > mid) & (np.abs(steps - nearest) <= NEAR * nearest)
    for place in np.flatnonzero(unsure):
        n, c = int(distinct[place]), int(nearest[place])
        reached = last**c * mid ** (mid - 1) >= n ** (mid - 1) * mid**c
        beyond[place] = c if reached else c + 1
    return np.asarray(beyond[where].reshape(distance.shape))
