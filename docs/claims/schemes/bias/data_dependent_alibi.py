import ml_dtypes
import numpy as np

import posenc


def alibi() -> str:
    """The gate that gives the first of posenc's eight slopes; both biases agree."""
    slope = posenc.alibi_slopes(8)[0]
    gate = np.exp(-slope)
    gates = np.full((1, 9), np.log(gate / (1 - gate)))
    seen = np.tril(np.ones((9, 9), dtype=bool))
    bias = posenc.data_dependent_alibi_bias(gates, 9)[0, seen]
    assert np.allclose(bias, posenc.alibi_bias(8, 9, 9)[0, seen])
    return f"{gate:.3f}"


def apart() -> str:
    """The step of bfloat16 from 512 to 1,024."""
    steps = {
        float(
            np.diff(np.unique(np.arange(512, 1024).astype(ml_dtypes.bfloat16).astype(float))).min()
        )
    }
    assert steps == {4.0}
    return f"{steps.pop():g}"


def kept() -> str:
    """posenc's bias at a closed gate, and the largest loss with a millionth added."""
    gates = np.array([[0.0, -120.0]])
    assert abs(posenc.data_dependent_alibi_bias(gates, 2)[0, 1, 0] + 120) < 1e-9
    with np.errstate(over="ignore", divide="ignore"):
        assert np.log(1 / (1 + np.exp(np.float32(120)))) == -np.inf
    return f"{-np.log(1e-6):.1f}"


def begins() -> str:
    """The gate for a projection of 5."""
    return f"{np.exp(posenc.data_dependent_alibi_bias(np.array([[0.0, 5.0]]), 2)[0, 1, 0]):.3f}"
