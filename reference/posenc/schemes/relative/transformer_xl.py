"""Relative attention of Transformer-XL, XLNet and the Conformer.

Source: Dai et al. 2019, "Transformer-XL", arXiv 1901.02860, section 3.3 and appendix B; the order
of sines and cosines and the clamp are those of its released code.
"""

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from posenc import arguments
from posenc.disentangled import operands, over_root
from posenc.elementary import add, dots, expanded, pair
from posenc.exact import Array, Pair, sincos, turns_per_position, two_sum

__all__ = ["relative_shift", "transformer_xl_scores"]

BASE = 10000.0
DIRECTIONS = ("causal", "two-sided")
LAYOUTS = ("concatenated", "interleaved")
DISTANCES = ("past", "padded", "full")


def relative_shift(x: npt.ArrayLike, *, distances: str = "past") -> npt.NDArray[np.floating]:
    """Move the scores of each distance to the key at that distance.

    Query i is at position ``k_len - q_len + i``, so row i is moved to the left by
    ``q_len - 1 - i`` columns, or by one more if ``padded``.

    Parameters
    ----------
    x : floating array of shape [..., q_len, columns]
        Column c contains the scores of each query at one distance, query minus key.
    distances : "past", "full" or "padded"
        The distances of the columns, decreasing by one from column to column:
        ``k_len - 1`` to 0, and keys after the query are masked (Transformer-XL);
        ``k_len - 1`` to ``-(q_len - 1)`` (Conformer);
        ``k_len`` to ``-(q_len - 1)``, of which the first is never read (XLNet).

    Returns
    -------
    array of shape [..., q_len, k_len] and the dtype of x
        Minus infinity where a key is masked.

    Raises
    ------
    TypeError
        If x is not floating.
    ValueError
        If x has fewer than two axes, or so few columns that there are fewer keys than queries.

    Notes
    -----
    Appendix B of the paper. Its released code does this by padding and reshaping, which leaves
    other rows' scores where this function returns minus infinity.
    """
    arguments.choice("distances", distances, DISTANCES)
    scores = np.asarray(x)
    if scores.dtype.kind not in "fV":
        raise TypeError(f"x is {scores.dtype}; it must be floating")
    if scores.ndim < 2:
        raise ValueError(f"x has shape {scores.shape}; it must be [..., q_len, columns]")
    q_len, columns = scores.shape[-2:]
    k_len = columns - {"past": 0, "full": q_len - 1, "padded": q_len}[distances]
    if k_len < q_len:
        raise ValueError(f"x has {columns} columns for {q_len} queries, which leaves {k_len} keys")
    query, key = np.arange(q_len)[:, None], np.arange(k_len)
    column = key + (q_len if distances == "padded" else q_len - 1) - query
    hidden = column >= columns
    source = np.where(hidden, 0, column)
    shifted = np.take_along_axis(scores, np.broadcast_to(source, (*scores.shape[:-1], k_len)), -1)
    shifted[..., hidden] = -np.inf
    return shifted


def transformer_xl_scores(
    q: npt.ArrayLike,
    k: npt.ArrayLike,
    w_kr: npt.ArrayLike,
    u: npt.ArrayLike,
    v: npt.ArrayLike,
    *,
    direction: str = "causal",
    layout: str = "concatenated",
    clamp_len: int | None = None,
) -> npt.NDArray[np.floating]:
    """Compute the logits of content and distance, before the softmax.

    ``((q_i + u) · k_j + (q_i + v) · w_krᵀ R_δ) / sqrt(head_dim)`` with the distance
    ``δ = k_len - q_len + i - j`` from key to query, and sinusoids R_δ of dim channels whose
    frequencies are ``10000 ** (-2t / dim)``, t = 0 … dim/2-1.

    Parameters
    ----------
    q : array of shape [heads, q_len, head_dim]
        Projected queries; q_len is at most k_len, and the keys before them are the memory.
    k : array of shape [heads, k_len, head_dim]
        Projected keys, memory first.
    w_kr : array of shape [heads, dim, head_dim]
        Projection of the sinusoids; dim is even.
    u, v : arrays of shape [heads, head_dim]
        Biases added to every query for the content term and for the distance term.
    direction : "causal" or "two-sided"
        Whether keys after the query are masked, or seen at negative distances as in XLNet.
    layout : "concatenated" or "interleaved"
        Sines in the first half of the channels and cosines in the second, or interleaved.
    clamp_len : int or None
        Distances are clamped to this magnitude, at least 1. None means no clamping.

    Returns
    -------
    array of shape [heads, q_len, k_len] and the dtype of q
        Minus infinity where a key is masked.

    Raises
    ------
    TypeError
        If an array is not floating, or the dtypes differ.
    ValueError
        If shapes do not fit or an argument is out of its domain.

    Notes
    -----
    The products are terms (a) plus (c), and (b) plus (d), of section 3.3.
    """
    arguments.choice("direction", direction, DIRECTIONS)
    arguments.choice("layout", layout, LAYOUTS)
    arrays = operands(
        q=(q, "heads q_len head_dim"),
        k=(k, "heads k_len head_dim"),
        w_kr=(w_kr, "heads dim head_dim"),
        u=(u, "heads head_dim"),
        v=(v, "heads head_dim"),
    )
    q_len, k_len, dim = (arrays.sizes[name] for name in ("q_len", "k_len", "dim"))
    if q_len > k_len:
        raise ValueError(f"q_len is {q_len} and k_len {k_len}; queries are the last of the keys")
    if dim < 2 or dim % 2:
        raise ValueError(f"dim is {dim}; it must be even and at least 2")
    distance = np.arange(k_len - q_len, k_len)[:, None] - np.arange(k_len)
    clamped = distance
    if clamp_len is not None:
        longest = arguments.integer("clamp_len", clamp_len, 1)
        clamped = np.clip(distance, -longest, longest)
    distinct, place = np.unique(clamped, return_inverse=True)
    place = place.reshape(clamped.shape)
    r = _projected(arrays["w_kr"], _sinusoids(distinct, dim, layout))
    # As two words, so that the sums are not rounded.
    by_content, by_place = (two_sum(arrays["q"], arrays[name][:, None]) for name in ("u", "v"))
    content = dots(expanded(by_content, 2), pair(arrays["k"][:, None]))
    of_every = dots(expanded(by_place, 2), expanded(r, 1))
    rows = np.arange(q_len)[:, None]
    scores = add(content, Pair(*(part[:, rows, place] for part in of_every)))
    out = over_root(scores, arrays.sizes["head_dim"], arrays.dtype)
    if direction == "causal":
        out[:, distance < 0] = -np.inf
    return out


def _sinusoids(distances: Array, dim: int, layout: str) -> Pair:
    """Return the sinusoids of distances: shape [distances, dim]."""
    turns = turns_per_position(BASE, Fraction(2, dim), dim // 2)
    waves = sincos(distances.astype(np.float64), turns)
    join = np.concatenate if layout == "concatenated" else _by_turns
    return Pair(*(join(parts, axis=-1) for parts in zip(waves.sin, waves.cos, strict=True)))


def _by_turns(parts: tuple[Array, Array], axis: int) -> Array:
    return np.stack(parts, axis=axis).reshape(*parts[0].shape[:-1], 2 * parts[0].shape[-1])


def _projected(w_kr: Array, sinusoids: Pair) -> Pair:
    """Project sinusoids to keys of shape [heads, distances, head_dim]."""
    return dots(expanded(sinusoids, 1), pair(np.swapaxes(w_kr, 1, 2)[:, None]))
