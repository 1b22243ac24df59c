"""Right implementations: Perceiver's Fourier features."""

import math
from itertools import product
from typing import Any

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import FLOATS, NARROW, Array, right


@right
class SpreadAsReleased:
    """The authors' steps in float32: a table of all axes' bands, one product, sines first."""

    @claims("perceiver", "bare", "sine-only", dtype=NARROW)
    def perceiver_fourier(
        self,
        x: Array,
        max_resolution: Array,
        num_bands: int,
        *,
        order: str,
        position: str,
        waves: str,
    ) -> Array:
        if num_bands < 1 or len(max_resolution) != x.shape[-1]:
            raise ValueError(num_bands)
        f32 = np.float32
        bands = np.stack(
            [np.linspace(f32(1), f32(size / 2), num_bands, dtype=f32) for size in max_resolution]
        )
        flat = (x.astype(f32)[..., None] * bands).reshape(*x.shape[:-1], -1)
        halves = [np.sin(f32(math.pi) * flat), np.cos(f32(math.pi) * flat)]
        parts = [x] * (position == "first") + halves[: 2 if waves == "both" else 1]
        return np.concatenate([part.astype(x.dtype) for part in parts], axis=-1)

    @claims("ends", dtype=FLOATS)
    def perceiver_positions(self, index_dims: Array, *, dtype: Any) -> Array:
        axes = [np.linspace(-1, 1, size, dtype=np.float64) for size in index_dims.tolist()]
        return np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, len(axes)).astype(dtype)


@right
class SpreadByShiftedSines:
    """Bands interpolated between both ends, and sines only, in float32."""

    @claims("perceiver", "lucidrains", dtype=NARROW)
    def perceiver_fourier(
        self,
        x: Array,
        max_resolution: Array,
        num_bands: int,
        *,
        order: str,
        position: str,
        waves: str,
    ) -> Array:
        f32 = np.float32
        part = np.arange(num_bands, dtype=f32) / f32(max(num_bands - 1, 1))
        parts = [x] if position == "first" else []
        phases = [f32(0), f32(math.pi / 2)]
        angles = []
        for axis, size in enumerate(max_resolution):
            bands = (1 - part) + part * f32(size / 2)
            angles.append(x[..., axis, None].astype(f32) * (f32(math.pi) * bands))
        if order == "sines-first":
            parts += [np.sin(values + phase) for phase in phases for values in angles]
        else:
            for axis, values in enumerate(angles):
                parts += [np.sin(values + phase) for phase in phases] + [x[..., axis, None]]
        if num_bands < 1 or len(max_resolution) != x.shape[-1]:
            raise ValueError(num_bands)
        return np.concatenate([values.astype(x.dtype) for values in parts], axis=-1)

    @claims("ends", dtype=NARROW)
    def perceiver_positions(self, index_dims: Array, *, dtype: Any) -> Array:
        f32 = np.float32
        axes = []
        for size in index_dims.tolist():
            if size < 0:
                raise ValueError(size)
            step = f32(2) / f32(max(size - 1, 1))
            axes.append([f32(-1) + step * f32(i) for i in range(size)])
        return np.array(list(product(*axes)), dtype=f32).astype(dtype)


@right
class SpreadByRotating:
    """Complex numbers rotated from each band to the next, in float64."""

    @claims(
        *("perceiver", "bare", "sine-only", "lucidrains"),
        dtype=FLOATS[:2],
        num_bands=[1, 2, 3, 4, 5],
    )
    def perceiver_fourier(
        self,
        x: Array,
        max_resolution: Array,
        num_bands: int,
        *,
        order: str,
        position: str,
        waves: str,
    ) -> Array:
        if num_bands < 1:
            raise ValueError(num_bands)
        step = (max_resolution / 2 - 1) / max(num_bands - 1, 1)
        first, turn = (np.exp(1j * math.pi * x.astype(float) * factor) for factor in (1, step))
        circle = np.stack([first * turn**k for k in range(num_bands)], axis=-1)
        if order == "by-coordinate":
            every = [circle.imag, circle.real, x[..., None]]
            return np.concatenate(every, axis=-1).reshape(*x.shape[:-1], -1).astype(x.dtype)
        parts = [circle.imag, circle.real][: 2 if waves == "both" else 1]
        flat = [part.reshape(*x.shape[:-1], -1) for part in parts]
        return np.concatenate([x] * (position == "first") + flat, axis=-1).astype(x.dtype)
