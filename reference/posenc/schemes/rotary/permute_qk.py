"""Conversion of query and key projections from one layout of rotary pairs to another.

Source: models/llama/convert_llama_weights_to_hf.py in transformers, which converts Meta's weights.
"""

import numpy as np
import numpy.typing as npt

from posenc import arguments, rotation

__all__ = ["permute_qk", "permute_qk_bias"]

DIRECTIONS = ("interleaved-to-half", "half-to-interleaved")


def permute_qk(
    q_weight: npt.ArrayLike,
    k_weight: npt.ArrayLike,
    heads: int,
    key_heads: int,
    *,
    direction: str = "interleaved-to-half",
    rotary_dim: int | None = None,
) -> npt.NDArray[np.floating]:
    """Reorder the rows of both projections for another layout; return those of q, then of k.

    In each head, rows 2t and 2t+1 become rows t and t + r/2 of r rotated channels, or the reverse.

    Parameters
    ----------
    q_weight : floating array of shape [heads * head_dim, width]
        Projection of queries, a row for each channel of each head.
    k_weight : floating array of shape [key_heads * head_dim, width]
        Projection of keys.
    heads, key_heads : int
        Numbers of query heads and of key heads; the second divides the first.
    direction : "interleaved-to-half" or "half-to-interleaved"
        The old layout of the rows, and the new one.
    rotary_dim : int or None
        Number r of leading channels of a head that are rotated; the others stay. None means all.

    Returns
    -------
    array of shape [(heads + key_heads) * head_dim, width] and the dtype of q_weight

    Raises
    ------
    TypeError
        If weights are not floating.
    ValueError
        If the rows do not divide into heads of one size, or an argument is out of its domain.
    """
    return _permuted("weight", 2, q_weight, k_weight, heads, key_heads, direction, rotary_dim)


def permute_qk_bias(
    q_bias: npt.ArrayLike,
    k_bias: npt.ArrayLike,
    heads: int,
    key_heads: int,
    *,
    direction: str = "interleaved-to-half",
    rotary_dim: int | None = None,
) -> npt.NDArray[np.floating]:
    """Reorder the biases of both projections for another layout, like :func:`permute_qk`.

    Parameters
    ----------
    q_bias, k_bias : floating arrays of shape [heads * head_dim] and [key_heads * head_dim]
        Biases, a number for each channel of each head.
    heads, key_heads, direction, rotary_dim
        As for :func:`permute_qk`.

    Returns
    -------
    array of shape [(heads + key_heads) * head_dim] and the dtype of q_bias

    Raises
    ------
    TypeError, ValueError
        As :func:`permute_qk`.
    """
    return _permuted("bias", 1, q_bias, k_bias, heads, key_heads, direction, rotary_dim)


def _permuted(
    what: str,
    axes: int,
    q: npt.ArrayLike,
    k: npt.ArrayLike,
    heads: int,
    key_heads: int,
    direction: str,
    rotary_dim: int | None,
) -> npt.NDArray[np.floating]:
    arguments.choice("direction", direction, DIRECTIONS)
    of_q = arguments.floating(f"q_{what}", q, axes)
    of_k = arguments.floating(f"k_{what}", k, axes)
    count, key_count = (
        arguments.integer(name, value, 1)
        for name, value in (("heads", heads), ("key_heads", key_heads))
    )
    if count % key_count:
        raise ValueError(f"key_heads is {key_count}, which does not divide heads ({count})")
    head_dim = len(of_q) // count
    if len(of_q) != count * head_dim or len(of_k) != key_count * head_dim or not head_dim:
        raise ValueError(
            f"q has {len(of_q)} rows for {count} heads and k has {len(of_k)} for {key_count}; "
            "heads must have one size"
        )
    if of_q.shape[1:] != of_k.shape[1:]:
        raise ValueError(f"q has {of_q.shape[1:]} columns and k has {of_k.shape[1:]}")
    order = _order(direction, rotation.width(rotary_dim, head_dim), head_dim)
    both = np.concatenate([of_q, of_k])
    by_head = both.reshape(count + key_count, head_dim, *both.shape[1:])
    return by_head[:, order].reshape(both.shape)


def _order(direction: str, rotated: int, head_dim: int) -> npt.NDArray[np.intp]:
    """Return the old row for each new row of a head."""
    first = np.arange(0, rotated, 2)
    to_half = np.concatenate([first, first + 1])
    order = np.arange(head_dim)
    order[:rotated] = to_half if direction == "interleaved-to-half" else np.argsort(to_half)
    return order
