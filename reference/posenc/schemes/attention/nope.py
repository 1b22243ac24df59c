"""Causal self-attention without any positional encoding.

Source: Kazemnejad et al. 2023, "The Impact of Positional Encoding on Length Generalization in
Transformers", arXiv 2305.19466, section 2; Haviv et al. 2022, arXiv 2203.16634, section 2.
"""

import numpy as np
import numpy.typing as npt

from posenc import elementary
from posenc.elementary import pair, total
from posenc.exact import Array, Pair
from posenc.schemes.attention.attention import mean_of, scaled_products, weights_of

__all__ = ["nope_layer"]


def nope_layer(
    x: npt.ArrayLike, w_q: npt.ArrayLike, w_k: npt.ArrayLike, w_v: npt.ArrayLike
) -> npt.NDArray[np.floating]:
    """Compute a head of causal self-attention; only its mask depends on the order of the rows.

    Queries, keys and values are ``x w_q``, ``x w_k`` and ``x w_v``; logits are divided by
    ``sqrt(head_dim)``; row i sees the rows up to i.

    Parameters
    ----------
    x : floating array of shape [..., n, dim]
        Hidden states.
    w_q, w_k : floating arrays of shape [dim, head_dim]
        Projections to queries and keys, applied from the right.
    w_v : floating array of shape [dim, dim]
        Projection to values.

    Returns
    -------
    array of the shape and dtype of x
        Computed beyond float64 precision and rounded once.

    Raises
    ------
    TypeError
        If an array is not floating.
    ValueError
        If shapes do not fit.
    """
    inputs = {"x": x, "w_q": w_q, "w_k": w_k, "w_v": w_v}
    arrays = {name: np.asarray(value) for name, value in inputs.items()}
    for name, array in arrays.items():
        if array.dtype.kind not in "fV":
            raise TypeError(f"{name} is {array.dtype}; it must be floating")
        if array.ndim < 2 or (name != "x" and array.ndim > 2):
            raise ValueError(f"{name} has shape {array.shape}; it has too few or too many axes")
    dim, head_dim = arrays["x"].shape[-1], arrays["w_q"].shape[-1]
    shapes = {"w_q": (dim, head_dim), "w_k": (dim, head_dim), "w_v": (dim, dim)}
    for name, shape in shapes.items():
        if arrays[name].shape != shape or not head_dim:
            raise ValueError(
                f"{name} has shape {arrays[name].shape}; it must be {shape}, not empty"
            )
    rows, *weights = arrays.values()
    if not rows.size:
        return np.array(arrays["x"])
    q, k, v = (_projected(rows, weight) for weight in weights)
    attended = mean_of(weights_of(scaled_products(q, k, "root"), "causal"), v)
    return np.asarray(total(attended).astype(arrays["x"].dtype))


def _projected(x: Array, w: Array) -> Pair:
    return elementary.dots(pair(x[..., :, None, :]), pair(w.T))
