"""Right implementations: Llama 3's scaling."""

import math
from typing import Any

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.scaled import by_complex_numbers, by_halves, by_matrices, plain, plain32
from posenc_lab.miniatures.styles import COLUMNS, FLOATS, KINDS, NARROW, Array, by_columns, right


@right
class WhereByWavelength:
    """transformers: three masks over float32 wavelengths."""

    @claims(dtype=NARROW)
    def llama3_frequencies(self, rotary_dim: int, *, dtype: str, **given: Any) -> Array:
        return self._frequencies(rotary_dim, **given).astype(KINDS[dtype])

    @claims("half", dtype=NARROW, max_position=2**24)
    def llama3(self, x: Array, positions: Array, **given: Any) -> Array:
        del given["layout"]
        omega = self._frequencies(x.shape[-1], **given)
        return by_halves(x, positions.astype(np.float32)[:, None] * omega)

    @staticmethod
    def _frequencies(
        dim: int,
        base: float,
        factor: float,
        low_freq_factor: float,
        high_freq_factor: float,
        original_max_position_embeddings: int,
    ) -> Array:
        omega = plain32(dim, base)
        context, s = np.float32(original_max_position_embeddings), np.float32(factor)
        low, high = np.float32(low_freq_factor), np.float32(high_freq_factor)
        wavelength = np.float32(2 * math.pi) / omega
        result = np.where(wavelength > context / low, omega / s, omega)
        smooth = (context / wavelength - low) / (high - low)
        mixed = (1 - smooth) * result / s + smooth * result
        medium = ~(wavelength < context / high) * ~(wavelength > context / low)
        return np.where(medium, mixed, result)


@right
class LoopOverFrequencies:
    """torchtune: one frequency at a time; pairs as complex numbers."""

    @claims("interleaved", dtype=NARROW, max_position=2**24)
    def llama3(
        self,
        x: Array,
        positions: Array,
        *,
        base: float,
        factor: float,
        low_freq_factor: float,
        high_freq_factor: float,
        original_max_position_embeddings: int,
    ) -> Array:
        scaled = []
        for omega in plain32(x.shape[-1], base):
            wavelength = 2 * np.float32(math.pi) / omega
            if wavelength <= original_max_position_embeddings / high_freq_factor:
                scaled.append(omega)
            elif wavelength >= original_max_position_embeddings / low_freq_factor:
                scaled.append(omega / np.float32(factor))
            else:
                turns = np.float32(original_max_position_embeddings) / wavelength
                smooth = (turns - np.float32(low_freq_factor)) / np.float32(
                    high_freq_factor - low_freq_factor
                )
                scaled.append((1 - smooth) * omega / np.float32(factor) + smooth * omega)
        return by_complex_numbers(x, np.outer(positions.astype(np.float32), scaled))


@right
class ByParts:
    """NTK-by-parts: a ramp clipped to [0, 1] as a multiplier, in float64, then matrices."""

    @claims("interleaved", "half", dtype=FLOATS, max_position=2**30, domain="negative")
    def llama3(self, x: Array, positions: Array, *, layout: str, **given: Any) -> Array:
        omega = self.llama3_frequencies(x.shape[-1], dtype="float64", **given)
        return by_matrices(x, np.outer(positions, omega), layout)

    @claims(dtype=FLOATS)
    def llama3_frequencies(
        self,
        rotary_dim: int,
        *,
        base: float,
        factor: float,
        low_freq_factor: float,
        high_freq_factor: float,
        original_max_position_embeddings: int,
        dtype: str,
    ) -> Array:
        if low_freq_factor >= high_freq_factor:
            raise ValueError("no ramp")
        omega = plain(rotary_dim, base)
        turns = original_max_position_embeddings * omega / (2 * np.pi)
        gamma = np.clip((turns - low_freq_factor) / (high_freq_factor - low_freq_factor), 0, 1)
        return (omega * (1 / factor + gamma * (1 - 1 / factor))).astype(KINDS[dtype])


@right
class Wavelengths:
    """mlx: wavelengths scaled, and positions divided by them, in float32."""

    @claims("half", dtype=["float32", "float16"], max_position=2**24, low_freq_factor=1.0)
    def llama3(
        self,
        x: Array,
        positions: Array,
        *,
        base: float,
        factor: float,
        high_freq_factor: float,
        original_max_position_embeddings: int,
    ) -> Array:
        dim = x.shape[-1]
        periods = np.float32(base) ** (np.arange(0, dim, 2, dtype=np.float32) / np.float32(dim))
        turns = np.float32(original_max_position_embeddings) / (np.float32(2 * np.pi) * periods)
        smooth = (turns - np.float32(1)) / np.float32(high_freq_factor - 1)
        mixed = periods / ((1 - smooth) / np.float32(factor) + smooth)
        slow, fast = turns <= 1, turns >= high_freq_factor
        periods = np.where(slow, periods * np.float32(factor), np.where(fast, periods, mixed))
        return by_halves(x, positions.astype(np.float32)[:, None] / periods)


@right
class Llama3Transposed:
    """The transposed Jacobian, column by column."""

    @claims("interleaved", "half", **COLUMNS)
    def llama3_vjp(self, x: Array, positions: Array, **given: Any) -> Array:
        return by_columns(ByParts().llama3, x, positions, **given)


@right
class Llama3Conjugated:
    """flash-attention: the kernel of the forward pass with negated sines, angles in float32."""

    @claims("half", dtype=NARROW, max_position=2**24)
    def llama3_vjp(self, x: Array, positions: Array, *, layout: str, **given: Any) -> Array:
        return WhereByWavelength().llama3(x, -positions.astype(np.int64), **given, layout=layout)
