"""Right implementations: query temperature."""

import math
from typing import Any

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import FLOATS, NARROW, Array, right


def placed(x: Array, positions: Array, length: int, least: int = 1) -> None:
    """Refuse positions that do not match the rows of x, and lengths below ``least``."""
    if positions.shape != x.shape[-2:-1] or length < least:
        raise ValueError(f"positions {positions.shape} of x {x.shape}, length {length}")


@right
class StepsInFloat32:
    """Llama 4 in transformers: float32 positions plus one, log1p, cast after the product."""

    @claims("llama-4", dtype=NARROW, max_position=2**24 - 2)
    def query_temperature(self, x: Array, positions: Array, *, length: int, beta: float) -> Array:
        placed(x, positions, length)
        number = positions.astype(np.float32) + np.float32(1)
        steps = np.floor(number / np.float32(length))
        scales = np.log1p(steps) * np.float32(beta) + np.float32(1)
        return (x.astype(np.float32) * scales[:, None]).astype(x.dtype)


@right
class StepsCastFirst:
    """Ministral 3 in transformers: the factor cast to the dtype of the queries, then multiplied."""

    @claims("ministral", dtype=FLOATS, max_position=2**24 - 2)
    def query_temperature(self, x: Array, positions: Array, *, length: int, beta: float) -> Array:
        placed(x, positions, length)
        kind: type[np.floating] = np.float64 if x.dtype == np.float64 else np.float32
        quotient = positions.astype(kind) / kind(length)
        scaling = kind(1) + kind(beta) * np.log(kind(1) + np.floor(quotient))
        return x * scaling[:, None].astype(x.dtype)


@right
class StepsInWholeNumbers:
    """Integer division, for both counts, query by query."""

    @claims("llama-4", "ministral", dtype=["float64", "bfloat16"], max_position=2**40)
    def query_temperature(
        self, x: Array, positions: Array, *, length: int, beta: float, count: str
    ) -> Array:
        placed(x, positions, length)
        out = np.empty_like(x)
        for row, place in enumerate(positions.tolist()):
            number = place + 1 if count == "from-1" else place
            factor = 1 + beta * math.log(1 + number // length)
            out[..., row, :] = (x[..., row, :].astype(np.float64) * factor).astype(x.dtype)
        return out


@right
class ListOfLogarithms:
    """Qwen: a list of factors for numbers from 1 on, cast to the dtype of the queries, indexed."""

    @claims("qwen", dtype=NARROW, max_position=2**15)
    def query_log_scale(self, x: Array, positions: Array, *, length: int) -> Array:
        placed(x, positions, length, 2)
        logn = [math.log(i, length) if i > length else 1 for i in range(1, 2**15 + 2)]
        return x * np.array(logn).astype(x.dtype)[positions][:, None]


@right
class LogarithmsOfTwo:
    """Grok 2 in SGLang: logarithms to base 2, multiplied by a reciprocal, in float32."""

    @claims("grok-2", dtype=NARROW, max_position=2**24)
    def query_log_scale(self, x: Array, positions: Array, *, length: int) -> Array:
        placed(x, positions, length, 2)
        scale = np.float32(1) / np.log2(np.float32(length))
        number = np.maximum(positions, 1).astype(np.float32)
        factor = np.where(positions > length, np.log2(number) * scale, np.float32(1))
        return (x.astype(np.float32) * factor[:, None]).astype(x.dtype)


@right
class QuotientsOfLogarithms:
    """Natural logarithms, at least 1, in float64, for both counts."""

    @claims("qwen", "grok-2", dtype=["float64", "float16"], max_position=2**40)
    def query_log_scale(
        self, x: Array, positions: Array, *, length: int, count: str, **rest: Any
    ) -> Array:
        placed(x, positions, length, 2)
        number = np.maximum(positions.astype(np.int64) + (count == "from-1"), length)
        factor = np.log(number) / np.log(length)
        return (x.astype(np.float64) * factor[:, None]).astype(x.dtype)
