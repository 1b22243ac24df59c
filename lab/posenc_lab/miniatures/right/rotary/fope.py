"""Right implementations: FoPE."""

import math

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import FLOATS, NARROW, Array, right, rotate_half


@right
class FourierAsReleased:
    """The authors' steps: float32 waves, two matrix products, and x cos + rotated x sin."""

    @claims("ones", "unchanged", dtype=NARROW)
    def fope(
        self,
        x: Array,
        positions: Array,
        sin_coef: Array,
        cos_coef: Array,
        *,
        rest: str,
        original_max_position_embeddings: int,
        base: float,
    ) -> Array:
        f32, head_dim = np.float32, x.shape[-1]
        if head_dim % 2 or sin_coef.shape != cos_coef.shape:
            raise ValueError((x.shape, sin_coef.shape, cos_coef.shape))
        frequencies = f32(1) / f32(base) ** (np.arange(0, head_dim, 2, dtype=f32) / f32(head_dim))
        frequencies = frequencies[frequencies > 2 * math.pi / original_max_position_embeddings]
        angles = np.multiply.outer(positions.astype(f32), frequencies)
        width = ((0, 0), (0, head_dim // 2 - sin_coef.shape[1]))
        sin = np.pad(
            np.sin(angles) @ sin_coef.astype(f32), width, constant_values=int(rest == "ones")
        )
        cos = np.pad(np.cos(angles) @ cos_coef.astype(f32), width, constant_values=1)
        sin, cos = (np.tile(wave, 2).astype(x.dtype) for wave in (sin, cos))
        return np.asarray(x * cos + rotate_half(x) * sin).astype(x.dtype)


@right
class FourierFrequencyByFrequency:
    """One frequency at a time, pairs as complex numbers, in float64."""

    @claims("ones", "unchanged", dtype=FLOATS, max_position=2**20, domain="negative")
    def fope(
        self,
        x: Array,
        positions: Array,
        sin_coef: Array,
        cos_coef: Array,
        *,
        rest: str,
        original_max_position_embeddings: int,
        base: float,
    ) -> Array:
        half, odd = divmod(x.shape[-1], 2)
        rates = [math.exp(-math.log(base) * t / max(half, 1)) for t in range(half)]
        rates = [rate for rate in rates if rate * original_max_position_embeddings > 2 * math.pi]
        if odd or not sin_coef.shape[0] == cos_coef.shape[0] == len(rates):
            raise ValueError((x.shape, sin_coef.shape, cos_coef.shape))
        z = x[..., :half].astype(float) + 1j * x[..., half:].astype(float)
        mixed = sin_coef.shape[1]
        factor = np.zeros((len(positions), half), dtype=complex)
        for rate, sines, cosines in zip(
            rates, sin_coef.astype(float), cos_coef.astype(float), strict=True
        ):
            turn = positions[:, None] * rate
            factor[:, :mixed] += np.cos(turn) * cosines + 1j * np.sin(turn) * sines
        factor[:, mixed:] = 1 + 1j if rest == "ones" else 1
        z = z * factor
        return np.concatenate([z.real, z.imag], axis=-1).astype(x.dtype)
