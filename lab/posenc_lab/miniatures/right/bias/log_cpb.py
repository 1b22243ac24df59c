"""Right implementations: a log-spaced continuous position bias, and its coordinates."""

import math
from itertools import product
from typing import Any

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import FLOATS, KINDS, NARROW, Array, right


def fitting(w1: Array, b1: Array, w2: Array, *pretrained: int) -> None:
    """Refuse mismatched layers, and pretrained windows of size 1."""
    if w1.shape != (len(b1), 2) or w2.shape[1] != len(b1) or 1 in pretrained:
        raise ValueError("layers or windows do not fit")


@right
class SpacedAsReleased:
    """SwinV2's steps in float32: a table of coordinates, base-2 logarithms, rows looked up."""

    def _table(self, height: int, width: int, before: tuple[int, int]) -> Array:
        if height < 1 or width < 1:
            raise ValueError(f"{height} x {width} patches")
        axes = [np.arange(1 - size, size, dtype=np.float32) for size in (height, width)]
        table = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
        for axis, (size, old) in enumerate(zip((height, width), before, strict=True)):
            table[..., axis] /= max((old or size) - 1, 1)
        table *= 8
        return np.sign(table) * np.log2(np.abs(table) + np.float32(1)) / np.float32(np.log2(8))

    @claims("swin", dtype=NARROW)
    def log_cpb_coordinates(
        self, height: int, width: int, *, pretrained_height: int, pretrained_width: int, dtype: str
    ) -> Array:
        table = self._table(height, width, (pretrained_height, pretrained_width))
        return table.reshape(-1, 2).astype(KINDS[dtype])

    @claims("swin", dtype=NARROW)
    def log_cpb(
        self,
        w1: Array,
        b1: Array,
        w2: Array,
        *,
        height: int,
        width: int,
        pretrained_height: int,
        pretrained_width: int,
    ) -> Array:
        fitting(w1, b1, w2, pretrained_height, pretrained_width)
        kind, f32 = w2.dtype, np.float32
        table = self._table(height, width, (pretrained_height, pretrained_width)).astype(kind)
        hidden = table.astype(f32) @ w1.astype(f32).T + b1.astype(f32)
        hidden = np.maximum(hidden.astype(kind), kind.type(0)).astype(f32)
        flat = (hidden @ w2.astype(f32).T).astype(kind).reshape(-1, len(w2))
        row, column = np.divmod(np.arange(height * width), width)
        rows = (row[:, None] - row + height - 1) * (2 * width - 1)
        rows += column[:, None] - column + width - 1
        bias = np.moveaxis(flat[rows], -1, 0).astype(f32)
        return (f32(16) * (f32(1) / (f32(1) + np.exp(-bias))).astype(kind).astype(f32)).astype(kind)


@right
class SpacedPairByPair:
    """The network for every pair of patches, in float64, with natural logarithms."""

    @claims("swin", "paper", dtype=FLOATS)
    def log_cpb(
        self,
        w1: Array,
        b1: Array,
        w2: Array,
        *,
        height: int,
        width: int,
        pretrained_height: int,
        pretrained_width: int,
        coordinates: str,
        output: str,
    ) -> Array:
        fitting(w1, b1, w2, pretrained_height, pretrained_width)
        first, bias, second = (value.astype(np.float64) for value in (w1, b1, w2))
        places = list(product(range(height), range(width)))
        sizes = pretrained_height or height, pretrained_width or width
        out = np.empty((len(w2), len(places), len(places)))
        for (i, query), (j, key) in product(enumerate(places), repeat=2):
            inside = [float(a - b) for a, b in zip(query, key, strict=True)]
            if coordinates == "normalized":
                inside = [
                    8 * value / (size - 1) if value else 0.0
                    for value, size in zip(inside, sizes, strict=True)
                ]
            whole = math.log(8) if coordinates == "normalized" else 1.0
            place = [math.copysign(math.log1p(abs(value)) / whole, value) for value in inside]
            out[:, i, j] = second @ np.clip(first @ place + bias, 0, None)
        return (16 / (1 + np.exp(-out)) if output == "sigmoid" else out).astype(w2.dtype)


@right
class SpacedAxisByAxis:
    """Each axis's share of the hidden units, broadcast; a hyperbolic tangent as the sigmoid."""

    @claims("swin", dtype="float64", heads=[1, 2])
    @claims("paper", dtype=["float64", "float32"])
    def log_cpb(
        self,
        w1: Array,
        b1: Array,
        w2: Array,
        *,
        height: int,
        width: int,
        pretrained_height: int,
        pretrained_width: int,
        coordinates: str,
        **rest: Any,
    ) -> Array:
        fitting(w1, b1, w2, pretrained_height, pretrained_width)
        parts = []
        for axis, (size, before) in enumerate(
            ((height, pretrained_height), (width, pretrained_width))
        ):
            place = np.arange(size)
            offset = place[:, None] - place
            if coordinates == "normalized":
                steps = max((before or size) - 1, 1)
                along = np.sign(offset) * np.log2((steps + 8 * np.abs(offset)) / steps) / 3
            else:
                along = np.sign(offset) * np.log(1 + np.abs(offset))
            parts.append(along[..., None] * w1[:, axis].astype(np.float64))
        down, beside = parts
        inside = down[:, None, :, None] + beside[None, :, None, :] + b1
        bias = np.einsum("abcdu,hu->habcd", np.where(inside > 0, inside, 0), w2.astype(np.float64))
        bias = bias.reshape(len(w2), height * width, height * width)
        if coordinates == "normalized":
            bias = 8 + 8 * np.tanh(bias / 2)
        return bias.astype(w2.dtype)


@right
class CoordinatesByTheLogarithmOfEach:
    """One coordinate at a time."""

    @claims("swin", "paper", dtype=FLOATS)
    def log_cpb_coordinates(
        self,
        height: int,
        width: int,
        *,
        pretrained_height: int,
        pretrained_width: int,
        coordinates: str,
        dtype: str,
    ) -> Array:
        def along(offset: int, size: int) -> float:
            if offset == 0:
                return 0.0
            if coordinates == "plain":
                return math.copysign(math.log(1 + abs(offset)), offset)
            return math.copysign(math.log(1 + 8 * abs(offset) / (size - 1), 8), offset)

        sizes = pretrained_height or height, pretrained_width or width
        if min(height, width) < 1:
            raise ValueError("no patches")
        offsets = product(range(1 - height, height), range(1 - width, width))
        table = [[along(y, sizes[0]), along(x, sizes[1])] for y, x in offsets]
        return np.array(table).astype(KINDS[dtype])
