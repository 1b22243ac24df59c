"""Right implementations: embedding and sinusoid, concatenated."""

import math

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import FLOATS, NARROW, Array, right


def fitting(x: Array, positions: Array, encoding_dim: int) -> None:
    """Refuse an odd encoding_dim, and mismatched positions."""
    if encoding_dim < 2 or encoding_dim % 2 or x.shape[-2] != len(positions):
        raise ValueError((x.shape, positions, encoding_dim))


@right
class FilledBlocks:
    """An empty array filled block by block; angles in float64."""

    @claims("content-first", "encoding-first", dtype=FLOATS, max_position=2**30)
    def concatenation(
        self, x: Array, positions: Array, encoding_dim: int, *, base: float = 1e4, order: str
    ) -> Array:
        fitting(x, positions, encoding_dim)
        dim = x.shape[-1]
        out = np.empty((*x.shape[:-1], dim + encoding_dim), dtype=x.dtype)
        content = slice(0, dim) if order == "content-first" else slice(encoding_dim, None)
        start = dim if order == "content-first" else 0
        out[..., content] = x
        for pair in range(encoding_dim // 2):
            angle = positions * base ** (-2 * pair / encoding_dim)
            out[..., start + 2 * pair] = np.sin(angle)
            out[..., start + 2 * pair + 1] = np.cos(angle)
        return out


@right
class TiledInFloat32:
    """A float32 table, repeated along the leading axes and cast to the dtype of x."""

    @claims("content-first", dtype=NARROW, max_position=2**20)
    def concatenation(
        self, x: Array, positions: Array, encoding_dim: int, *, base: float = 1e4
    ) -> Array:
        fitting(x, positions, encoding_dim)
        steps = np.arange(0, encoding_dim, 2, dtype=np.float32)
        rates = np.exp(steps * np.float32(-math.log(base) / encoding_dim))
        angles = positions.astype(np.float32)[:, None] * rates
        table = np.dstack([np.sin(angles), np.cos(angles)]).reshape(len(positions), encoding_dim)
        tiled = np.tile(table, (*x.shape[:-2], 1, 1)).astype(x.dtype)
        return np.concatenate([x, tiled], axis=-1)


@right
class TwoMatrices:
    """x and the encoding, each times its rows of an identity matrix, and added."""

    @claims("encoding-first", dtype=["float64", "float32"], base=10000.0)
    def concatenation(self, x: Array, positions: Array, encoding_dim: int) -> Array:
        fitting(x, positions, encoding_dim)
        whole = np.eye(encoding_dim + x.shape[-1], dtype=x.dtype)
        half = np.arange(encoding_dim // 2)
        pointer = np.exp(1j * positions[:, None] * 10000.0 ** (-2 * half / encoding_dim))
        encoding = np.stack([pointer.imag, pointer.real], axis=-1)
        encoding = encoding.reshape(len(positions), encoding_dim).astype(x.dtype)
        return encoding @ whole[:encoding_dim] + x @ whole[encoding_dim:]


@right
class RowsInLists:
    """Python lists, row by row."""

    @claims("content-first", dtype="float64", base=10000.0, dim=3, encoding_dim=[4, 8])
    def concatenation(self, x: Array, positions: Array, encoding_dim: int) -> Array:
        fitting(x, positions, encoding_dim)
        flat = x.reshape(math.prod(x.shape[:-2]), *x.shape[-2:]).tolist()
        for sequence in flat:
            for row, position in zip(sequence, positions.tolist(), strict=True):
                for pair in range(encoding_dim // 2):
                    angle = position / 10000 ** (2 * pair / encoding_dim)
                    row += [math.sin(angle), math.cos(angle)]
        wide = x.shape[-1] + encoding_dim
        return np.array(flat, dtype=np.float64).reshape(*x.shape[:-1], wide)
