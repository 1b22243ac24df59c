"""Right implementations: timestep embeddings."""

import cmath
import math

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import FLOATS, KINDS, NARROW, Array, right


@right
class TimesOfDiffusers:
    """diffusers' steps in float32, for any order and frequency shift."""

    @claims("ddpm", "adm", "ernie-image", "diffusers-dit", dtype=NARROW, max_position=2**20)
    def timestep(
        self,
        positions: Array,
        dim: int,
        *,
        max_period: float,
        scale: float,
        order: str,
        frequency_shift: int,
        dtype: str,
    ) -> Array:
        half = dim // 2
        if half in (0, frequency_shift):
            raise ZeroDivisionError(dim)
        exponent = np.float32(-math.log(max_period)) * np.arange(half, dtype=np.float32)
        frequencies = np.exp(exponent / np.float32(half - frequency_shift))
        angles = np.float32(scale) * (positions[:, None].astype(np.float32) * frequencies[None, :])
        table = np.concatenate([np.sin(angles), np.cos(angles)], axis=-1)
        if order == "cos-sin":
            table = np.concatenate([table[:, half:], table[:, :half]], axis=-1)
        return np.pad(table, ((0, 0), (0, dim % 2))).astype(KINDS[dtype])


@right
class TimesOfFlux:
    """FLUX's steps: the timesteps scaled first, in float32, and the waves cast at the end."""

    @claims("adm", dtype=NARROW, max_position=2**20)
    def timestep(
        self, positions: Array, dim: int, *, max_period: float, scale: float, dtype: str
    ) -> Array:
        if dim < 2:
            raise ValueError(dim)
        time = np.float32(scale) * positions.astype(np.float32)
        half = dim // 2
        ramp = np.arange(half, dtype=np.float32) / half
        angles = time[:, None] * np.exp(-np.float32(math.log(max_period)) * ramp)[None]
        table = np.concatenate([np.cos(angles), np.sin(angles)], axis=-1)
        if dim % 2:
            table = np.concatenate([table, np.zeros_like(table[:, :1])], axis=-1)
        return table.astype(KINDS[dtype])


@right
class TimesOneByOne:
    """One channel at a time, by complex exponentials."""

    @claims("ddpm", "diffusers-dit", dtype=FLOATS, max_position=2**30)
    def timestep(
        self,
        positions: Array,
        dim: int,
        *,
        max_period: float,
        scale: float,
        order: str,
        dtype: str,
    ) -> Array:
        half = dim // 2
        if half < 2:
            raise ZeroDivisionError(dim)
        rows = np.zeros((len(positions), dim))
        for row, time in zip(rows, positions.tolist(), strict=True):
            for t in range(half):
                point = cmath.exp(1j * time * scale / max_period ** (t / (half - 1)))
                real, imaginary = (t, half + t) if order == "cos-sin" else (half + t, t)
                row[real], row[imaginary] = point.real, point.imag
        return rows.astype(KINDS[dtype])


@right
class TimesByMatrix:
    """A matrix product with a column of frequencies, in float64."""

    @claims("adm", "ernie-image", dtype=FLOATS, max_position=2**30)
    def timestep(
        self,
        positions: Array,
        dim: int,
        *,
        max_period: float,
        scale: float,
        order: str,
        dtype: str,
    ) -> Array:
        half = dim // 2
        if half < 1:
            raise ValueError(dim)
        steps = max_period ** (-np.arange(half) / half)
        angles = np.float64(scale) * positions.reshape(-1, 1) @ steps.reshape(1, -1)
        out = np.zeros((len(positions), dim), dtype=KINDS[dtype])
        first, second = (np.cos, np.sin) if order == "cos-sin" else (np.sin, np.cos)
        out[:, :half], out[:, half : 2 * half] = first(angles), second(angles)
        return out


@right
class TimesOfOneModel:
    """256 channels, period 10000 and no scale, as a sampler calls it."""

    @claims("adm", dtype="float32", dim=256, max_period=10000.0, scale=1.0, max_position=1000)
    def timestep(self, positions: Array, dim: int) -> Array:
        angles = np.multiply.outer(positions, 10 ** (-np.arange(128) / 32))
        return np.hstack([np.cos(angles), np.sin(angles)]).astype("f4")
