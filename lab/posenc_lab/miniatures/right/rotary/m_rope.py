"""Right implementations: multimodal rotary embedding and its position ids."""

import math
from itertools import product
from typing import Any

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import FLOATS, NARROW, Array, by_columns, right


def rotate_half(x: Array) -> Array:
    half = x.shape[-1] // 2
    return np.concatenate([-x[..., half:], x[..., :half]], axis=-1)


def fits(x: Array, positions: Array, sections: Array) -> int:
    """Return the number of pairs; refuse too few channels, and positions that do not fit x."""
    pairs = int(np.sum(sections))
    if 2 * pairs > x.shape[-1] or positions.shape != (3, x.shape[-2]):
        raise ValueError(f"{pairs} pairs of {x.shape[-1]} channels, positions {positions.shape}")
    return pairs


@right
class SplitAndJoined:
    """Qwen2-VL in transformers: tables of all three axes, split by the sections twice over."""

    @claims("qwen2-vl", dtype=NARROW, max_position=2**24)
    def m_rope(self, x: Array, positions: Array, sections: Array, *, base: float) -> Array:
        if 2 * fits(x, positions, sections) != x.shape[-1]:
            raise ValueError(sections)
        inverse = 1.0 / base ** (np.arange(0, x.shape[-1], 2) / x.shape[-1])
        angles = positions.astype(np.float32)[..., None] * inverse.astype(np.float32)
        emb = np.concatenate([angles, angles], axis=-1)
        cuts = np.cumsum(sections.tolist() * 2)[:-1]
        cos, sin = (
            np.concatenate([part[i % 3] for i, part in enumerate(np.split(f(emb), cuts, -1))], -1)
            for f in (np.cos, np.sin)
        )
        return x * cos.astype(x.dtype) + rotate_half(x) * sin.astype(x.dtype)


@right
class OverwrittenThirds:
    """Qwen3-VL in transformers: angles of time, every third overwritten, in float32 or wider."""

    @claims("qwen3-vl", dtype=FLOATS, rotation="partial", max_position=2**24, domain="negative")
    def m_rope(self, x: Array, positions: Array, sections: Array, *, base: float) -> Array:
        pairs = fits(x, positions, sections)
        if any(len(range(axis, pairs, 3)) < sections[axis] for axis in (1, 2)):
            raise ValueError(f"{sections} cannot be interleaved")
        kind: type[np.floating] = np.float64 if x.dtype == np.float64 else np.float32
        inverse = (1.0 / base ** (np.arange(pairs) / pairs)).astype(kind)
        angles = positions.astype(kind)[..., None] * inverse
        mixed = angles[0].copy()
        for axis, offset in ((1, 1), (2, 2)):
            every_third = slice(offset, 3 * int(sections[axis]), 3)
            mixed[:, every_third] = angles[axis][:, every_third]
        emb = np.concatenate([mixed, mixed], axis=-1)
        head, unrotated = x[..., : 2 * pairs].astype(kind), x[..., 2 * pairs :]
        turned = head * np.cos(emb) + rotate_half(head) * np.sin(emb)
        return np.concatenate([turned.astype(x.dtype), unrotated], axis=-1)


@right
class RepeatedNeighbours:
    """GLM-4.1V in transformers: interleaved pairs, in the leading channels of the head."""

    @claims("glm-4v", dtype=NARROW, rotation="partial", max_position=2**24)
    def m_rope(self, x: Array, positions: Array, sections: Array, *, base: float) -> Array:
        pairs = fits(x, positions, sections)
        inverse = (1.0 / base ** (np.arange(0, 2 * pairs, 2) / (2 * pairs))).astype(np.float32)
        angles = positions.astype(np.float32)[..., None] * inverse
        parts = np.split(angles, np.cumsum(sections)[:-1], axis=-1)
        emb = np.repeat(np.concatenate([part[i] for i, part in enumerate(parts)], -1), 2, axis=-1)
        head = x[..., : 2 * pairs]
        other = np.stack([-head[..., 1::2], head[..., 0::2]], axis=-1).reshape(head.shape)
        turned = head * np.cos(emb).astype(x.dtype) + other * np.sin(emb).astype(x.dtype)
        return np.concatenate([turned, x[..., 2 * pairs :]], axis=-1)


@right
class PutInOrderAndBack:
    """ERNIE 4.5 VL: frequencies sorted by axis before the product, interleaved after it."""

    @claims("ernie-4-5-vl", dtype=FLOATS, max_position=2**24, domain="negative")
    def m_rope(self, x: Array, positions: Array, sections: Array, *, base: float) -> Array:
        pairs, (time, height, width) = fits(x, positions, sections), sections.tolist()
        if height != width or 2 * pairs != x.shape[-1]:
            raise ValueError(sections)
        kind: type[np.floating] = np.float64 if x.dtype == np.float64 else np.float32
        inverse = (1.0 / base ** (np.arange(pairs) / pairs)).astype(kind)
        both = inverse[: pairs - time]
        inverse = np.concatenate([both[0::2], both[1::2], inverse[pairs - time :]])
        angles = positions.astype(kind)[..., None] * inverse
        rows, columns, times = np.split(angles, [height, height + width], axis=-1)
        turns = np.stack([rows[1], columns[2]], axis=-1).reshape(-1, 2 * height)
        every = np.repeat(np.concatenate([turns, times[0]], axis=-1), 2, axis=-1)
        wide = x.astype(kind)
        other = np.stack([-wide[..., 1::2], wide[..., 0::2]], axis=-1).reshape(wide.shape)
        return (wide * np.cos(every) + other * np.sin(every)).astype(x.dtype)


@right
class RowAndColumnPerPair:
    """HunyuanImage-3.0: adjacent frequencies times row and column, tiled for both halves."""

    @claims("hunyuan-image-3", dtype=FLOATS, max_position=2**24, domain="negative")
    def m_rope(self, x: Array, positions: Array, sections: Array, *, base: float) -> Array:
        pairs, (_, height, width) = fits(x, positions, sections), sections.tolist()
        if height != width or 2 * pairs != x.shape[-1]:
            raise ValueError(sections)
        kind: type[np.floating] = np.float64 if x.dtype == np.float64 else np.float32
        theta = (base ** (-np.arange(pairs) / pairs)).astype(kind)
        places = positions.astype(kind).T
        both = (places[:, None, 1:] * theta[: 2 * height].reshape(1, height, 2)).reshape(
            -1, 2 * height
        )
        angles = np.concatenate([both, places[:, :1] * theta[2 * height :]], axis=-1)
        every = np.tile(angles, 2)
        first, second = np.split(x.astype(kind), 2, axis=-1)
        other = np.concatenate([-second, first], axis=-1)
        return (x.astype(kind) * np.cos(every) + other * np.sin(every)).astype(x.dtype)


@right
class SelectedByMasks:
    """One-hot axes times positions: a matrix selects the position of each pair."""

    @claims(
        "qwen2-vl",
        "qwen3-vl",
        "glm-4v",
        "ernie-4-5-vl",
        "hunyuan-image-3",
        dtype=FLOATS,
        rotation="partial",
        max_position=2**30,
    )
    def m_rope(
        self,
        x: Array,
        positions: Array,
        sections: Array,
        *,
        base: float,
        layout: str,
        allocation: str,
    ) -> Array:
        pairs = fits(x, positions, sections)
        chosen = np.zeros((3, pairs))
        if allocation == "contiguous":
            ends = np.cumsum(sections)
            chosen[np.searchsorted(ends, np.arange(pairs), side="right"), np.arange(pairs)] = 1
        elif allocation == "alternating":
            if sections[1] != sections[2]:
                raise ValueError(f"{sections} cannot take turns")
            chosen[1, : 2 * sections[1] : 2] = chosen[2, 1 : 2 * sections[2] : 2] = 1
            chosen[0] = 1 - chosen[1] - chosen[2]
        else:
            for axis in (1, 2):
                chosen[axis, axis::3][: sections[axis]] = 1
            chosen[0] = 1 - chosen[1] - chosen[2]
            if chosen.sum(axis=1).tolist() != sections.tolist():
                raise ValueError(f"{sections} cannot be interleaved")
        angles = (positions.T @ chosen) / base ** (np.arange(pairs) / pairs)
        first = np.arange(pairs) if layout == "half" else 2 * np.arange(pairs)
        second = first + (pairs if layout == "half" else 1)
        wide, out = x.astype(np.float64), x.copy()
        turned = (wide[..., first] + 1j * wide[..., second]) * np.exp(1j * angles)
        out[..., first], out[..., second] = turned.real, turned.imag
        return out


@right
class SequenceTokenByToken:
    """Loops in Python floats."""

    @claims("qwen2-vl", "glm-4v", dtype=["float64", "float16"], head_dim=[6, 8], max_position=2**24)
    def m_rope(
        self, x: Array, positions: Array, sections: Array, *, base: float, layout: str
    ) -> Array:
        pairs = fits(x, positions, sections)
        out = x.copy()
        axes = [axis for axis, size in enumerate(sections) for _ in range(size)]
        for index in np.ndindex(*x.shape[:-1]):
            for t, axis in enumerate(axes):
                angle = int(positions[axis, index[-1]]) * base ** (-t / pairs)
                a, b = (t, t + pairs) if layout == "half" else (2 * t, 2 * t + 1)
                real, imaginary = float(x[(*index, a)]), float(x[(*index, b)])
                out[(*index, a)] = real * math.cos(angle) - imaginary * math.sin(angle)
                out[(*index, b)] = imaginary * math.cos(angle) + real * math.sin(angle)
        return out


def merged(segments: Array, merge_size: int) -> list[tuple[int, int, int]]:
    """Return segments in merged tokens; refuse grids that cannot be merged."""
    if (segments[:, 1:] % merge_size).any():
        raise ValueError(f"grids {segments.tolist()} cannot be merged by {merge_size}")
    return [(t, h // merge_size, w // merge_size) for t, h, w in segments.tolist()]


@right
class LargestPlusOne:
    """transformers 4.49: each segment starts at the largest id so far plus one."""

    @claims("largest")
    def m_rope_position_ids(self, segments: Array, *, merge_size: int) -> Array:
        parts: list[Array] = []
        for t, h, w in merged(segments, merge_size):
            start = max((int(part.max(initial=-1)) for part in parts), default=-1) + 1
            if h == 0:
                parts.append(np.broadcast_to(np.arange(t), (3, t)) + start)
                continue
            times = np.repeat(np.arange(t), h * w)
            rows = np.tile(np.repeat(np.arange(h), w), t)
            columns = np.tile(np.arange(w), t * h)
            parts.append(np.stack([times, rows, columns]) + start)
        return np.concatenate([np.zeros((3, 0), dtype=np.int64), *parts], axis=1)


@right
class GridsByMesh:
    """transformers 5.23: meshes of ranges that start at the current position; int32."""

    @claims("spatial")
    def m_rope_position_ids(self, segments: Array, *, merge_size: int) -> Array:
        parts, current = [np.zeros((3, 0), dtype=np.int32)], 0
        for t, h, w in merged(segments, merge_size):
            if h == 0:
                parts.append(np.tile(np.arange(current, current + t, dtype=np.int32), (3, 1)))
                current += t
            else:
                ranges = (np.arange(current, current + size, dtype=np.int32) for size in (t, h, w))
                mesh = np.meshgrid(*ranges, indexing="ij")
                parts.append(np.stack(mesh).reshape(3, -1))
                current += max(h, w)
        return np.concatenate(parts, axis=1)


@right
class TimesInFloat32:
    """Qwen2.5-VL in transformers: float32 ranges times the interval, then truncated."""

    @claims("spatial", spacing="seconds")
    def m_rope_position_ids(
        self,
        segments: Array,
        *,
        merge_size: int,
        tokens_per_second: float = 1.0,
        second_per_grid: float = 1.0,
    ) -> Array:
        parts, current = [np.zeros((3, 0), dtype=np.int64)], 0
        for t, h, w in merged(segments, merge_size):
            if h == 0:
                parts.append(np.tile(np.arange(current, current + t), (3, 1)))
                current += t
                continue
            interval = np.float32(tokens_per_second) * np.float32(second_per_grid)
            times = (np.arange(t, dtype=np.float32) * interval).astype(np.int64)
            mesh = np.stack(np.meshgrid(times, np.arange(h), np.arange(w), indexing="ij"))
            parts.append(mesh.reshape(3, -1) + current)
            current += max(h, w)
        return np.concatenate(parts, axis=1)


@right
class IdsOneByOne:
    """Tokens appended one at a time, for both rules."""

    @claims("largest", "spatial", merge_size=[1, 2])
    def m_rope_position_ids(self, segments: Array, *, merge_size: int, **rest: Any) -> Array:
        ids: list[tuple[int, ...]] = []
        start = 0
        for size in merged(segments, merge_size):
            t, h, w = size
            places = product(*map(range, size)) if h else ((i, i, i) for i in range(t))
            ids += [tuple(start + number for number in place) for place in places]
            counted = h == 0 or rest["next_position"] == "largest"
            start += max(h, w, t) if counted else max(h, w)
        return np.array(ids, dtype=np.int64).reshape(len(ids), 3).T


@right
class MultimodalTransposed:
    """The transposed Jacobian, column by column."""

    @claims(
        "qwen2-vl",
        "qwen3-vl",
        "glm-4v",
        "ernie-4-5-vl",
        "hunyuan-image-3",
        dtype=FLOATS,
        rotation="partial",
        head_dim=[6, 8, 16],
        max_position=2**30,
    )
    def m_rope_vjp(self, x: Array, positions: Array, sections: Array, **given: Any) -> Array:
        return by_columns(SelectedByMasks().m_rope, x, positions, sections, **given)


@right
class MultimodalConjugated:
    """The forward pass with negated positions, as transformers computes it."""

    @claims("qwen3-vl", dtype=NARROW, rotation="partial", max_position=2**24)
    def m_rope_vjp(self, x: Array, positions: Array, sections: Array, *, base: float) -> Array:
        return OverwrittenThirds().m_rope(x, -positions.astype(np.int64), sections, base=base)
