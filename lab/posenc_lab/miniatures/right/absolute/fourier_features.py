"""Right implementations: Fourier features."""

import math
from collections.abc import Callable
from functools import partial

import ml_dtypes
import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import FLOATS, NARROW, Array, right

HALF_PI = np.float32(math.pi / 2)


def _waved(wave: Callable[[Array], Array], octave: np.float32, points: Array) -> Array:
    return wave(points * octave)


@right
class BandsByFunctions:
    """The authors' steps in float32: a list of functions, each called on all coordinates."""

    @claims("code", dtype=NARROW)
    def nerf(self, x: Array, num_frequencies: int) -> Array:
        functions: list[Callable[[Array], Array]] = [lambda p: p]
        for octave in 2.0 ** np.linspace(0, num_frequencies - 1, num_frequencies):
            for wave in (np.sin, np.cos):
                functions.append(partial(_waved, wave, np.float32(octave)))
        points = x.astype(np.float32)
        return np.concatenate([function(points) for function in functions], axis=-1).astype(x.dtype)


@right
class BandsOfOneSine:
    """Later jaxnerf and nerfstudio: one sine of all angles and of the angles plus π/2."""

    @claims("jaxnerf", "nerfstudio", dtype=FLOATS)
    def nerf(
        self, x: Array, num_frequencies: int, *, factor: str, order: str, include_input: str
    ) -> Array:
        if num_frequencies < 1:
            raise ValueError(num_frequencies)
        kind: type[np.floating] = np.float64 if x.dtype == np.float64 else np.float32
        points, octaves = x.astype(kind), (2.0 ** np.arange(num_frequencies)).astype(kind)
        if factor == "two-pi":
            points = points * kind(2 * math.pi)
        if order == "sines-by-frequency":
            angles = points[..., None, :] * octaves[:, None]
        else:
            angles = points[..., None] * octaves
        flat = angles.reshape(*x.shape[:-1], x.shape[-1] * num_frequencies)
        waves = np.sin(np.concatenate([flat, flat + kind(math.pi / 2)], axis=-1)).astype(x.dtype)
        return waves if include_input == "none" else np.concatenate([x, waves], axis=-1)


@right
class BandsOfShiftedSines:
    """jaxnerf's steps in float32: cosines as sines of sums with π/2."""

    @claims("code", dtype=NARROW)
    def nerf(self, x: Array, num_frequencies: int) -> Array:
        points = x.astype(np.float32)
        angles = []
        for k in range(num_frequencies):
            angles += [2**k * points, 2**k * points + HALF_PI]
        if not angles:
            raise ValueError(num_frequencies)
        waves = np.sin(np.concatenate(angles, axis=-1))
        return np.concatenate([x, waves.astype(x.dtype)], axis=-1)


@right
class BandsFeatureByFeature:
    """tiny-cuda-nn's steps: each feature from its index, by scaling and a shifted sine."""

    @claims("paper", dtype=NARROW)
    def nerf(self, x: Array, num_frequencies: int) -> Array:
        coords = x.shape[-1]
        if num_frequencies < 1:
            raise ValueError(num_frequencies)
        out = np.empty((*x.shape[:-1], 2 * coords * num_frequencies), dtype=x.dtype)
        for j in range(out.shape[-1]):
            coord, k = j // (2 * num_frequencies), j // 2 % num_frequencies
            octave = np.ldexp(x[..., coord].astype(np.float32), k)
            out[..., j] = np.sin(octave * np.float32(math.pi) + j % 2 * HALF_PI)
        return out


@right
class BandsByDoubling:
    """Complex numbers squared from one frequency to the next, in float64."""

    @claims("paper", "code", dtype=["float64", "float32", "bfloat16"], num_frequencies=[1, 2, 3, 4])
    def nerf(
        self, x: Array, num_frequencies: int, *, factor: str, order: str, include_input: str
    ) -> Array:
        point = np.exp(1j * x.astype(np.float64) * (math.pi if factor == "pi" else 1))
        points = []
        for _ in range(num_frequencies):
            points.append(point)
            point = point * point
        circle = np.stack(points, axis=-1)  # [..., coords, frequencies]
        if order == "by-frequency":
            circle = np.swapaxes(circle, -1, -2)
            parts = np.stack([circle.imag, circle.real], axis=-2)
        else:
            parts = np.stack([circle.imag, circle.real], axis=-1)
        features = parts.reshape(*x.shape[:-1], -1).astype(x.dtype)
        return np.append(x, features, axis=-1) if include_input == "first" else features


@right
class BandsInTurns:
    """Half turns reduced modulo whole turns before the sine, in every dtype."""

    @claims("paper", dtype=FLOATS)
    def nerf(self, x: Array, num_frequencies: int) -> Array:
        if num_frequencies <= 0:
            raise ValueError(num_frequencies)
        half_turns = np.multiply.outer(x.astype(float), 2.0 ** np.r_[:num_frequencies])
        half_turns -= 2 * np.rint(half_turns / 2)
        waves = np.stack([np.sin(math.pi * half_turns), np.cos(math.pi * half_turns)], axis=-1)
        return waves.reshape(*x.shape[:-1], 2 * num_frequencies * x.shape[-1]).astype(x.dtype)

    @claims("code", "paper", dtype=FLOATS)
    def gaussian_fourier(self, x: Array, b: Array, *, waves: str) -> Array:
        turns = np.einsum("...j,ij->...i", x.astype(float), b.astype(float))
        angles = 2 * math.pi * (turns - np.rint(turns))
        both = {"sin": np.sin(angles), "cos": np.cos(angles)}
        return np.concatenate([both[name] for name in waves.split("-")], axis=-1).astype(x.dtype)


@right
class BandsOfFloat64:
    """The authors' features in float64, for points with any number of axes."""

    @claims("code", dtype=["float64", "float16"])
    def nerf(self, x: Array, num_frequencies: int) -> Array:
        points = x.astype(np.float64)
        angles = points[..., None, :] * (1 << np.arange(num_frequencies))[:, None]
        waves = np.stack([np.sin(angles), np.cos(angles)], axis=-2)
        flat = waves.reshape(*x.shape[:-1], 2 * num_frequencies * x.shape[-1])
        return np.concatenate([x, flat.astype(x.dtype)], axis=-1)


@right
class ProjectedAsInTheDemo:
    """The authors' line of code in float32: 2π times the points, then the matrix product."""

    @claims("code", dtype=NARROW)
    def gaussian_fourier(self, x: Array, b: Array) -> Array:
        turn = np.float32(2 * math.pi)
        projected = (turn * x.astype(np.float32)) @ b.astype(np.float32).T
        return np.concatenate([np.sin(projected), np.cos(projected)], axis=-1).astype(x.dtype)


@right
class ProjectedLast:
    """Product first, 2π last, coordinate by coordinate, in float32 or wider."""

    @claims("paper", dtype=FLOATS)
    def gaussian_fourier(self, x: Array, b: Array) -> Array:
        if x.shape[-1] != b.shape[-1]:
            raise ValueError("other coordinates")
        wide = np.float64 if x.dtype == np.float64 else np.float32
        total = np.zeros((*x.shape[:-1], len(b)), dtype=wide)
        for j in range(b.shape[1]):
            total += x[..., j, None].astype(wide) * b[:, j].astype(wide)
        angles = total * wide(2 * math.pi)
        out = np.empty((*x.shape[:-1], 2 * len(b)), dtype=x.dtype)
        out[..., : len(b)], out[..., len(b) :] = np.cos(angles), np.sin(angles)
        return out


@right
class ProjectedAsComplexNumbers:
    """Real and imaginary parts of a complex exponential."""

    @claims("paper", "code", dtype=["float64", "bfloat16"])
    def gaussian_fourier(self, x: Array, b: Array, *, waves: str) -> Array:
        circle = np.exp(2j * math.pi * np.dot(x.astype(float), b.astype(float).T))
        parts = (circle.real, circle.imag)
        kind = x.dtype if x.dtype == ml_dtypes.bfloat16 else np.float64
        return np.concatenate(parts if waves == "cos-sin" else parts[::-1], axis=-1).astype(kind)
