"""A bias that a small network computes from the distance.

Sources: Wang et al. 2021, "CrossFormer", arXiv 2108.00154, section 3.3, for the idea; the network
is that of x-transformers, DynamicPositionBias.
"""

import numpy as np
import numpy.typing as npt

from posenc import arguments
from posenc.elementary import add, dots, log, pair, sigmoid, times, total
from posenc.exact import LARGEST_POSITION, Pair

__all__ = ["dynamic_position_bias"]

DISTANCES = ("linear", "log")


def dynamic_position_bias(
    w_in: npt.ArrayLike,
    b_in: npt.ArrayLike,
    w_mid: npt.ArrayLike,
    b_mid: npt.ArrayLike,
    w_out: npt.ArrayLike,
    b_out: npt.ArrayLike,
    q_len: int,
    k_len: int,
    *,
    distance: str = "linear",
) -> npt.NDArray[np.floating]:
    """Return the bias added to the attention logits: a small network's output for a distance.

    Query i is at position ``k_len - q_len + i``, key j at position j. The network's input is d, the
    query's position minus the key's, or ``sign(d) * ln(abs(d) + 1)``. Each layer but the last is
    followed by SiLU, ``x / (1 + exp(-x))``.

    Parameters
    ----------
    w_in, b_in : arrays of shape [hidden]
        Weights and biases of the first layer, which has one input.
    w_mid, b_mid : arrays of shape [layers, hidden, hidden] and [layers, hidden]
        Weights and biases of the hidden layers between, of which there may be none.
    w_out, b_out : arrays of shape [heads, hidden] and [heads]
        Weights and biases of the last layer.
    q_len, k_len : int
        q_len is at most k_len.
    distance : "linear" or "log"
        The network's input.

    Returns
    -------
    array of shape [heads, q_len, k_len] and the dtype of the weights
        Nothing is masked.

    Raises
    ------
    TypeError
        If weights are not floating, or a length is not an integer.
    ValueError
        If an argument is out of its domain.
    """
    arguments.choice("distance", distance, DISTANCES)
    weights = {
        name: np.asarray(weight)
        for name, weight in (
            ("w_in", w_in),
            ("b_in", b_in),
            ("w_mid", w_mid),
            ("b_mid", b_mid),
            ("w_out", w_out),
            ("b_out", b_out),
        )
    }
    _check(**weights)
    q_len, k_len = arguments.integer("q_len", q_len, 0), arguments.integer("k_len", k_len, 0)
    if not q_len <= k_len <= LARGEST_POSITION:
        raise ValueError(
            f"q_len is {q_len} and k_len {k_len}; it must hold q_len <= k_len <= 2**53"
        )
    lags = np.arange(1 - q_len, k_len, dtype=np.float64)
    part = pair(lags)
    if distance == "log":
        part = times(pair(np.sign(lags)), log(pair(np.abs(lags) + 1)))
    answers = _network(part, *weights.values())
    query = np.arange(k_len - q_len, k_len)[:, None]
    return answers[:, query - np.arange(k_len) + q_len - 1].astype(
        np.result_type(*weights.values())
    )


def _network(part: Pair, *weights: npt.NDArray[np.floating]) -> npt.NDArray[np.float64]:
    """Apply the network to each distance: [n] to [heads, n]."""
    w_in, b_in, w_mid, b_mid, w_out, b_out = (array.astype(np.float64) for array in weights)
    wide = Pair(part.high[:, None], part.low[:, None])
    hidden = _silu(add(times(wide, pair(w_in)), pair(b_in)))
    for weight, bias in zip(w_mid, b_mid, strict=True):
        sums = dots(Pair(hidden.high[:, None], hidden.low[:, None]), pair(weight))
        hidden = _silu(add(sums, pair(bias)))
    return total(add(dots(hidden, pair(w_out[:, None])), pair(b_out[:, None])))


def _silu(a: Pair) -> Pair:
    return times(a, sigmoid(a))


def _check(**weights: npt.NDArray[np.floating]) -> None:
    """Refuse layers whose shapes do not fit together."""
    arguments.finite(**weights)
    hidden, heads, layers = (len(weights[name]) for name in ("w_in", "b_out", "b_mid"))
    expected = {
        "w_in": (hidden,),
        "b_in": (hidden,),
        "w_mid": (layers, hidden, hidden),
        "b_mid": (layers, hidden),
        "w_out": (heads, hidden),
        "b_out": (heads,),
    }
    for name, shape in expected.items():
        if weights[name].shape != shape or not hidden or not heads:
            raise ValueError(
                f"{name} has shape {weights[name].shape}; with {hidden} units, {layers} layers "
                f"between and {heads} heads it must be {shape}"
            )
