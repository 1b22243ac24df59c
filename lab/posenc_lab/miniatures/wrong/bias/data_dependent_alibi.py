"""Wrong implementations: data-dependent ALiBi."""

from typing import Any

import numpy as np

from posenc_lab.miniatures.base import Array, Mistake, made, narrow


class ForgetGates(Mistake, steps=True):
    """Differences of cumulative sums of log gates, in steps."""

    call = "data_dependent_alibi_bias"
    claimed = ("causal",)

    def answer(self, gates: Array, q_len: int) -> Array:
        if gates.ndim != 2 or not 0 <= q_len <= gates.shape[1]:
            raise ValueError(f"gates {gates.shape}, {q_len} queries")
        sums = self.sums(self.logs(self.heads(gates.astype(np.float64))))
        query = self.queries(q_len, gates.shape[1])
        to_query, to_key = self.query_sums(sums)[:, query, None], self.key_sums(sums)[:, None]
        with np.errstate(invalid="ignore"):
            return np.asarray(self.finish(to_query - to_key).astype(gates.dtype))

    def heads(self, gates: Array) -> Array:
        return gates

    def logs(self, gates: Array) -> Array:
        return -np.logaddexp(0, -gates)

    def sums(self, logs: Array) -> Array:
        return logs.cumsum(axis=-1)

    def query_sums(self, sums: Array) -> Array:
        return sums

    def key_sums(self, sums: Array) -> Array:
        return sums

    def queries(self, q_len: int, k_len: int) -> Array:
        return np.arange(k_len - q_len, k_len)

    def finish(self, bias: Array) -> Array:
        return bias


def before(sums: Array) -> Array:
    """Return exclusive cumulative sums."""
    return np.concatenate([np.zeros_like(sums[:, :1]), sums[:, :-1]], axis=-1)


def rounded_first(self: ForgetGates, gates: Array) -> Array:
    """Return the logarithm of a float32 sigmoid."""
    with np.errstate(over="ignore", divide="ignore"):
        return np.log(1 / (1 + np.exp(-gates.astype(np.float32)))).astype(np.float64)


def by_blocks(size: int) -> Any:
    """Return a ``sums`` method that restarts in every block of ``size`` keys."""

    def sums(self: ForgetGates, logs: Array) -> Array:
        parts = [logs[:, n : n + size].cumsum(axis=-1) for n in range(0, logs.shape[1], size)]
        return np.concatenate(parts, axis=-1)

    return sums


for _name, _named, _steps in (
    ("that add", "sign-flipped", {"finish": lambda self, bias: -bias}),
    ("with the key's own", "own-gate-counted", {"key_sums": lambda self, sums: before(sums)}),
    (
        "a token late",
        "gates-of-keys",
        {
            "key_sums": lambda self, sums: before(sums),
            "query_sums": lambda self, sums: before(sums),
        },
    ),
    ("unsquashed", "not-squashed", {"logs": lambda self, gates: gates}),
    ("without logarithms", "log-missing", {"logs": lambda self, gates: 1 / (1 + np.exp(-gates))}),
    ("inverted", "gate-inverted", {"logs": lambda self, gates: -np.logaddexp(0, gates)}),
    ("to base 2", "in-base-2", {"finish": lambda self, bias: bias / np.log(2)}),
    (
        "with queries first",
        "queries-from-zero",
        {"queries": lambda self, q_len, k_len: np.arange(q_len)},
    ),
    (
        "summed in bfloat16",
        "sums-rounded",
        {"sums": lambda self, logs: narrow(logs.cumsum(axis=-1), "bfloat16")},
    ),
    (
        "summed in float16",
        "sums-rounded",
        {"sums": lambda self, logs: narrow(logs.cumsum(axis=-1), "float16")},
    ),
    ("rounded first", None, {"logs": rounded_first}),
    (
        "with gates kept above -88",
        None,
        {"logs": lambda self, gates: -np.log1p(np.exp(-np.maximum(gates, -88.0)))},
    ),
    (
        "with a small number",
        "sigmoid-kept-above-0",
        {"logs": lambda self, gates: np.log(1 / (1 + np.exp(-gates)) + 1e-6)},
    ),
    (
        "with a smaller number",
        "sigmoid-kept-above-0",
        {"logs": lambda self, gates: np.log(1 / (1 + np.exp(-gates)) + 1e-8)},
    ),
    (
        "with several queries first",
        "queries-from-zero",
        {
            "queries": lambda self, q_len, k_len: (
                np.arange(q_len) if q_len > 1 else np.array([k_len - 1] * q_len, dtype=np.int64)
            )
        },
    ),
    ("by a root", "other-scale", {"finish": lambda self, bias: bias / 8}),
    (
        "of the first head",
        None,
        {"heads": lambda self, gates: np.broadcast_to(gates[:1], gates.shape)},
    ),
    ("by blocks", None, {"sums": by_blocks(1024)}),
    ("by small blocks", None, {"sums": by_blocks(16)}),
    (
        "that forget at most e¹⁰ times",
        None,
        {"finish": lambda self, bias: np.maximum(bias, -10.0)},
    ),
    ("of tanh", None, {"logs": lambda self, gates: -np.logaddexp(0, -2 * gates)}),
):
    made(ForgetGates, f"ForgetGates {_name}", "One step otherwise.", named=_named, **_steps)
