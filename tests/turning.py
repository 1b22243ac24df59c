"""Parts of a rotary embedding for tests of the diagnosis, and the first lines of failures."""

from collections.abc import Sequence

import numpy as np

from posenc_lab.judging import Verdict, failed
from posenc_lab.miniatures.base import Array
from posenc_lab.miniatures.styles import rotate_half


def omega(dim: int, base: float) -> Array:
    return np.asarray(base ** -(np.arange(0, dim, 2) / dim))


def halves(x: Array, angles: Array) -> Array:
    wave = np.concatenate([angles, angles], axis=-1)
    wide = x.astype(np.float64)
    return np.asarray((wide * np.cos(wave) + rotate_half(wide) * np.sin(wave)).astype(x.dtype))


def first_lines(verdicts: Sequence[Verdict]) -> list[str]:
    return [verdict.text.splitlines()[0] for verdict in failed(verdicts)]
