"""Wrong implementations: Sandwich."""

from typing import Any

import numpy as np

from posenc_lab.miniatures.base import Array, Mistake, made, narrow


class Sandwiched(Mistake, steps=True):
    """Sums of cosines divided by each head's number, in steps."""

    call = "sandwich_bias"
    claimed = ("nemo",)

    def answer(
        self,
        heads: int,
        q_len: int,
        k_len: int,
        *,
        dim: int,
        exponents: str,
        own_key: str,
        dtype: Any,
    ) -> Array:
        if q_len > k_len or dim % 2 or heads < 1:
            raise ValueError("out of the domain")
        w = self.frequencies(self.first(exponents == "from-1"), dim)
        sums = self.sums(self.queries(q_len, k_len), np.arange(k_len), w)
        level = dim / 2 if self.zero(own_key == "zero") else 0
        return self.divided(self.finish(sums - level, dim), heads).astype(dtype)

    def queries(self, q_len: int, k_len: int) -> Array:
        return np.arange(k_len - q_len, k_len)

    def sums(self, query: Array, key: Array, w: Array) -> Array:
        return self.waves(self.lags(query[:, None], key)[..., None] * w).sum(axis=-1)

    def lags(self, query: Array, key: Array) -> Array:
        return query - key

    def first(self, one: bool) -> int:
        return int(one)

    def zero(self, wanted: bool) -> bool:
        return wanted

    def frequencies(self, first: int, dim: int) -> Array:
        return 10000.0 ** (-2 * np.arange(first, first + dim // 2) / dim)

    def waves(self, angles: Array) -> Array:
        return np.cos(angles)

    def finish(self, sums: Array, dim: int) -> Array:
        return sums

    def divided(self, sums: Array, heads: int) -> Array:
        return sums / self.numbers(heads)[:, None, None]

    def numbers(self, heads: int) -> Array:
        return 8 * np.arange(1, heads + 1) / heads


for _claim in ("nemo", "attention-gym"):
    for _name, _named, _steps in (
        (
            "of the other exponents",
            "exponents-swapped",
            {"first": lambda self, from_1: int(not from_1)},
        ),
        ("of the other level", "own-key-swapped", {"zero": lambda self, claimed: not claimed}),
        (
            "without cosines",
            "cosine-left-out",
            {"waves": lambda self, angles: -angles},
        ),
        (
            "one frequency short",
            "frequency-missing",
            {"frequencies": lambda self, first, dim: Sandwiched.frequencies(self, first, dim)[:-1]},
        ),
        (
            "by powers of two",
            "head-number-wrong",
            {"numbers": lambda self, heads: 2.0 ** Sandwiched.numbers(self, heads)},
        ),
        (
            "by bare numbers",
            "head-number-wrong",
            {"numbers": lambda self, heads: np.arange(1.0, heads + 1)},
        ),
        (
            "of half exponents",
            "exponent-halved",
            {
                "frequencies": lambda self, first, dim: (
                    10000.0 ** (-np.arange(first, first + dim // 2) / dim)
                )
            },
        ),
        ("averaged", "averaged", {"finish": lambda self, sums, dim: sums / (dim / 2)}),
        (
            "with queries from zero",
            "queries-from-zero",
            {"queries": lambda self, q_len, k_len: np.arange(q_len)},
        ),
        ("off by one", "distance-shifted", {"lags": lambda self, query, key: query - key + 1}),
        ("subtracted", "sign-flipped", {"finish": lambda self, sums, dim: -sums}),
        (
            "of bfloat16 angles",
            "low-precision-angles",
            {"waves": lambda self, angles: np.cos(narrow(np.abs(angles), "bfloat16"))},
        ),
        (
            "up to 512",
            None,
            {"lags": lambda self, query, key: np.clip(query - key, -512, 512)},
        ),
        (
            "with keys ahead at 0",
            None,
            {"lags": lambda self, query, key: np.maximum(query - key, 0)},
        ),
        (
            "of the first head",
            None,
            {"numbers": lambda self, heads: np.full(heads, 8 / heads)},
        ),
        (
            "of two heads",
            None,
            {"numbers": lambda self, heads: 8 * np.minimum(np.arange(1, heads + 1), 2) / heads},
        ),
        (
            "of 64 frequencies",
            None,
            {"frequencies": lambda self, first, dim: Sandwiched.frequencies(self, first, dim)[:32]},
        ),
    ):
        made(
            Sandwiched,
            f"Sandwiched {_claim} {_name}",
            "One step otherwise.",
            named=_named,
            claimed=(_claim,),
            **_steps,
        )


class SandwichedAsFirstReleased(Sandwiched):
    """Angles replace cosines and one frequency is missing, as in NeMo's first code."""

    named = "cosine-left-out"

    def frequencies(self, first: int, dim: int) -> Array:
        return super().frequencies(first, dim)[:-1]

    def waves(self, angles: Array) -> Array:
        return -angles


class SandwichedSines(Sandwiched):
    """Dot products are of sines only, without cosines."""

    named = "sines-alone"
    claimed = ("attention-gym",)

    def sums(self, query: Array, key: Array, w: Array) -> Array:
        return np.sin(np.multiply.outer(query, w)) @ np.sin(np.multiply.outer(key, w)).T
