"""Right implementations: adapters that are not classes."""

from types import ModuleType

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.right.bias.alibi import halving
from posenc_lab.miniatures.styles import RIGHT, Array


def _module() -> ModuleType:
    """Return a module of functions, as an adapter."""
    module = ModuleType("functions")

    @claims("musicgen", dtype="float32", max_position=1000)
    def sinusoidal(positions: Array, dim: int, *, base: float) -> Array:
        k = np.linspace(0, 1, dim // 2)
        angles = positions[:, None] * base**-k
        parts = [np.cos(angles), np.sin(angles), np.zeros((len(positions), dim % 2))]
        return np.concatenate(parts, axis=1).astype(np.float32)

    @claims("interleaved", "half", max_position=4096)
    def rope(x: Array, positions: Array, *, layout: str, base: float) -> Array:
        half = x.shape[-1] // 2
        rows = x.reshape(*x.shape[:-1], *((2, half) if layout == "half" else (half, 2)))
        pairs = rows if layout == "half" else np.moveaxis(rows, -1, -2)
        angles = positions[:, None] * base ** -np.linspace(0, 1, pairs.shape[-1], endpoint=False)
        turned = (pairs[..., 0, :] + 1j * pairs[..., 1, :]) * np.exp(1j * angles)
        axis = -2 if layout == "half" else -1
        both = np.stack([turned.real, turned.imag], axis=axis)
        return both.reshape(x.shape).astype(np.float32)

    @claims("interpolated", "uniform")
    def alibi_slopes(heads: int, *, head_rule: str) -> Array:
        if head_rule == "uniform":
            return np.geomspace(2 ** (-8 / heads), 2**-8, heads, dtype=np.float32)
        return np.array(halving(heads), dtype=np.float32)

    for function in (sinusoidal, rope, alibi_slopes):
        setattr(module, function.__name__, function)
    return module


RIGHT.append(_module)
