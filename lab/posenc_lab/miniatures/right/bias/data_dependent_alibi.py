"""Right implementations: data-dependent ALiBi."""

import math

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import FLOATS, Array, right


def checked(gates: Array, q_len: int) -> None:
    """Refuse gates that are not 2-D, and more queries than keys."""
    if gates.ndim != 2 or not 0 <= q_len <= gates.shape[1]:
        raise ValueError(f"gates {gates.shape}, {q_len} queries")


@right
class SumsSubtracted:
    """The authors' steps: cumulative sums in float32 or wider, subtracted."""

    @claims("causal", dtype=FLOATS)
    def data_dependent_alibi_bias(self, gates: Array, q_len: int) -> Array:
        checked(gates, q_len)
        wide = gates if gates.dtype == np.float64 else gates.astype(np.float32)
        logs = np.minimum(wide, 0) - np.log1p(np.exp(-np.abs(wide)))
        sums = np.cumsum(logs, axis=-1, dtype=wide.dtype)
        rows = sums[:, sums.shape[1] - q_len :, None]
        return (rows - sums[:, None, :]).astype(gates.dtype)


@right
class SumsInTheDtype:
    """Every step rounded to the dtype of the gates, sums accumulated in float32 or wider."""

    @claims("causal", dtype=FLOATS)
    def data_dependent_alibi_bias(self, gates: Array, q_len: int) -> Array:
        checked(gates, q_len)
        kind = np.float64 if gates.dtype == np.float64 else np.float32
        wide: Array = gates.astype(kind)
        logs: Array = (-np.logaddexp(0, -wide)).astype(gates.dtype)
        sums = np.cumsum(logs.astype(kind), axis=-1).astype(gates.dtype)
        rows = sums[:, sums.shape[1] - q_len :, None]
        return np.asarray(rows - sums[:, None, :])


@right
class SegmentSums:
    """A running sum per query, from its own key back to the first; -inf on later keys."""

    @claims("causal", dtype=["float64", "float32"])
    def data_dependent_alibi_bias(self, gates: Array, q_len: int) -> Array:
        checked(gates, q_len)
        heads, k_len = gates.shape
        out = np.full((heads, q_len, k_len), -np.inf)
        for h in range(heads):
            logs = [
                -math.log1p(math.exp(-x)) if x > 0 else x - math.log1p(math.exp(x))
                for x in gates[h].tolist()
            ]
            for i in range(q_len):
                total = 0.0
                for j in range(k_len - q_len + i, -1, -1):
                    out[h, i, j] = total
                    total += logs[j]
        return out.astype(gates.dtype)


@right
class RoundedSigmoids:
    """The logarithm of a float64 sigmoid, which does not underflow for gates of narrow dtypes."""

    @claims("causal", dtype=["float32", "bfloat16", "float16"])
    def data_dependent_alibi_bias(self, gates: Array, q_len: int) -> Array:
        checked(gates, q_len)
        sigmoid = 1 / (1 + np.exp(-gates.astype(np.float64)))
        sums = np.log(sigmoid)[..., ::-1].cumsum(axis=-1)[..., ::-1]
        after = np.concatenate([sums[:, 1:], np.zeros_like(sums[:, :1])], axis=-1)
        first = sums.shape[1] - q_len
        return (after[:, None, :] - after[:, first:, None]).astype(gates.dtype)
