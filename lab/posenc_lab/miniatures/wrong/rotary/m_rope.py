"""Wrong implementations: multimodal rotary embedding and its position ids."""

from typing import Any, ClassVar

import numpy as np

from posenc_lab.miniatures.base import Array, Mistake, made, narrow
from posenc_lab.miniatures.below import below_zero

PARTIAL: dict[str, Any] = {"rotation": "partial"}
NEAR: dict[str, Any] = {"max_position": 2**15}


class Multimodal(Mistake, steps=True):
    """Each pair rotated by the position on its section's axis, in steps."""

    call = "m_rope"
    claimed = ("qwen2-vl",)

    def answer(
        self,
        x: Array,
        positions: Array,
        sections: Array,
        *,
        base: float,
        layout: str,
        allocation: str,
    ) -> Array:
        sizes = [int(size) for size in sections]
        axes = self.whole(self.axes(sizes, allocation), x.shape[-1])
        width = 2 * len(axes)
        omega = self.frequencies(axes, sizes, self.base(base), x.shape[-1])
        places = self.places(positions)[axes].T
        angles = self.angles(places.astype(np.float64), omega)
        out = x.copy()
        a, b = self.split(self.read(x[..., :width]), layout)
        self.join(out[..., :width], *self.turned(a, b, *self.waves(angles)), layout)
        return out

    def read(self, x: Array) -> Array:
        return x.astype(np.float64)

    def base(self, base: float) -> float:
        return base

    def axes(self, sizes: list[int], allocation: str) -> list[int]:
        if allocation == "contiguous":
            return [axis for axis in range(3) for _ in range(sizes[axis])]
        if allocation == "alternating":
            if sizes[1] != sizes[2]:
                raise ValueError(sizes)
            return [1, 2] * sizes[1] + [0] * sizes[0]
        axes = [0] * sum(sizes)
        for axis in (1, 2):
            for pair in range(axis, min(3 * sizes[axis], len(axes)), 3):
                axes[pair] = axis
        return axes

    def whole(self, axes: list[int], head_dim: int) -> list[int]:
        return axes

    def frequencies(self, axes: list[int], sizes: list[int], base: float, head_dim: int) -> Array:
        return base ** (-np.arange(len(axes)) / len(axes))

    def places(self, positions: Array) -> Array:
        return positions

    def angles(self, places: Array, omega: Array) -> Array:
        return places * omega

    def waves(self, angles: Array) -> tuple[Array, Array]:
        return np.sin(angles), np.cos(angles)

    def split(self, x: Array, layout: str) -> tuple[Array, Array]:
        half = x.shape[-1] // 2
        return (x[..., :half], x[..., half:]) if layout == "half" else (x[..., 0::2], x[..., 1::2])

    def turned(self, a: Array, b: Array, sin: Array, cos: Array) -> tuple[Array, Array]:
        return a * cos - b * sin, b * cos + a * sin

    def join(self, out: Array, a: Array, b: Array, layout: str) -> None:
        half = out.shape[-1] // 2
        if layout == "half":
            out[..., :half], out[..., half:] = a, b
        else:
            out[..., 0::2], out[..., 1::2] = a, b


class MultimodalMixesTables(Multimodal):
    """Each entry of a table stands twice in a row, and pairs are of halves."""

    named = "tables-mixed"

    def turned(self, a: Array, b: Array, sin: Array, cos: Array) -> tuple[Array, Array]:
        n = a.shape[-1]
        sin, cos = np.repeat(sin, 2, axis=-1), np.repeat(cos, 2, axis=-1)
        return a * cos[..., :n] - b * sin[..., :n], b * cos[..., n:] + a * sin[..., n:]


class MultimodalMixesTablesOfPairs(Multimodal):
    """A table tiled for halves is used with neighbours."""

    named = "tables-mixed"
    claimed = ("ernie-4-5-vl",)

    def turned(self, a: Array, b: Array, sin: Array, cos: Array) -> tuple[Array, Array]:
        sin, cos = np.tile(sin, 2), np.tile(cos, 2)
        return a * cos[..., 0::2] - b * sin[..., 0::2], b * cos[..., 1::2] + a * sin[..., 1::2]


for _claimed, _given in (
    ("qwen2-vl", "interleaved"),
    ("qwen3-vl", "contiguous"),
    ("ernie-4-5-vl", "contiguous"),
    ("hunyuan-image-3", "contiguous"),
):
    made(
        Multimodal,
        f"Multimodal {_given} sections for {_claimed}",
        "The other allocation, by which text is right.",
        named="allocation-swapped",
        claimed=(_claimed,),
        axes=lambda self, sizes, allocation, given=_given: Multimodal.axes(self, sizes, given),
    )


class MultimodalInterleavedToTheEnd(Multimodal):
    """Height and width get every third pair, up to the last pair."""

    named = "interleaving-unbounded"
    claimed = ("qwen3-vl",)

    def axes(self, sizes: list[int], allocation: str) -> list[int]:
        return [pair % 3 for pair in range(sum(sizes))]


for _claimed, _order in (
    ("qwen2-vl", [0, 2, 1]),
    ("qwen3-vl", [0, 2, 1]),
    ("glm-4v", [1, 0, 2]),
    ("ernie-4-5-vl", [0, 2, 1]),
    ("hunyuan-image-3", [0, 2, 1]),
    ("qwen2-vl", [1, 2, 0]),
):
    made(
        Multimodal,
        f"Multimodal {_claimed} in the order {_order}",
        "Positions in another order.",
        named="axes-swapped",
        claimed=(_claimed,),
        places=lambda self, positions, order=_order: positions[order],
    )

for _claimed, _order in (
    ("qwen2-vl", [1, 0, 2]),
    ("qwen2-vl", [1, 2, 0]),
    ("qwen3-vl", [0, 2, 1]),
    ("glm-4v", [0, 2, 1]),
):
    made(
        Multimodal,
        f"Multimodal {_claimed} with sections in the order {_order}",
        "Sections in another order; most models have two equal ones.",
        named="axes-swapped",
        claimed=(_claimed,),
        axes=lambda self, sizes, allocation, order=_order: Multimodal.axes(
            self, [sizes[axis] for axis in order], allocation
        ),
    )


class MultimodalSkipsEmptySections(Multimodal):
    """A section without pairs is left out of the list, so that the next takes its axis."""

    named = None

    def axes(self, sizes: list[int], allocation: str) -> list[int]:
        held = [size for size in sizes if size]
        return [axis for axis in range(len(held)) for _ in range(held[axis])]


for _axis, _claimed in enumerate(("qwen2-vl", "qwen3-vl", "glm-4v")):
    made(
        Multimodal,
        f"Multimodal by axis {_axis} for {_claimed}",
        "The ordinary rotary embedding, of one of the three positions.",
        named="one-axis-for-all",
        claimed=(_claimed,),
        places=lambda self, positions, axis=_axis: positions[[axis] * 3],
    )


class MultimodalOfChannels(Multimodal):
    """Section sizes are doubled, where the list should be repeated, and split full-width tables."""

    named = "sections-in-channels"

    def answer(
        self, x: Array, positions: Array, sections: Array, *, base: float, **rest: Any
    ) -> Array:
        pairs = int(sections.sum())
        omega = base ** (-np.arange(pairs) / pairs)
        every = positions[:, :, None] * np.concatenate([omega, omega])
        parts = np.split(every, np.cumsum(2 * sections)[:-1], axis=-1)
        angles = np.concatenate([part[i % 3] for i, part in enumerate(parts)], axis=-1)
        other = np.concatenate([-x[..., pairs:], x[..., :pairs]], axis=-1)
        return (x * np.cos(angles) + other * np.sin(angles)).astype(x.dtype)


for _claimed in ("qwen2-vl", "qwen3-vl", "hunyuan-image-3"):
    made(
        Multimodal,
        f"Multimodal {_claimed} with frequencies that restart",
        "A progression of its own for each section.",
        named="frequencies-restarted",
        claimed=(_claimed,),
        frequencies=lambda self, axes, sizes, base, head_dim: np.array(
            [base ** (-axes[:t].count(axes[t]) / sizes[axes[t]]) for t in range(len(axes))]
        ),
    )

for _claimed, _given in (("qwen2-vl", "interleaved"), ("glm-4v", "half")):
    made(
        Multimodal,
        f"Multimodal {_given} layout for {_claimed}",
        "Pairs of the channels of another layout.",
        named="layout-swapped",
        claimed=(_claimed,),
        split=lambda self, x, layout, given=_given: Multimodal.split(self, x, given),
        join=lambda self, out, a, b, layout, given=_given: Multimodal.join(self, out, a, b, given),
    )

for _claimed, _shift in (("qwen2-vl", 1), ("qwen3-vl", -1)):
    made(
        Multimodal,
        f"Multimodal {_claimed} shifted by {_shift}",
        "Positions counted from another number.",
        named="positions-shifted",
        claimed=(_claimed,),
        places=lambda self, positions, shift=_shift: positions + shift,
    )

for _claimed, _base in (("qwen2-vl", 10000.0), ("qwen3-vl", 1e6), ("ernie-4-5-vl", 1e4)):
    made(
        Multimodal,
        f"Multimodal {_claimed} with base {_base:.0f}",
        "One base, whatever is asked for.",
        named="wrong-base",
        claimed=(_claimed,),
        base=lambda self, base, given=_base: given,
    )


class MultimodalBackwards(Multimodal):
    """The rotation has the opposite sign."""

    named = "sign-flipped"

    def turned(self, a: Array, b: Array, sin: Array, cos: Array) -> tuple[Array, Array]:
        return a * cos + b * sin, b * cos - a * sin


for _claimed in ("qwen3-vl", "glm-4v"):
    made(
        Multimodal,
        f"Multimodal {_claimed} with frequencies of head_dim",
        "Frequencies follow from head_dim although fewer channels are rotated.",
        named="head-dim-frequencies",
        claimed=(_claimed,),
        limits=PARTIAL,
        frequencies=lambda self, axes, sizes, base, head_dim: (
            base ** (-2 * np.arange(len(axes)) / head_dim)
        ),
    )
    made(
        Multimodal,
        f"Multimodal {_claimed} of the whole head",
        "Every pair of the head rotated, those beyond the sections by the time.",
        named="whole-head-rotated",
        claimed=(_claimed,),
        limits=PARTIAL,
        whole=lambda self, axes, head_dim: axes + [0] * (head_dim // 2 - len(axes)),
    )


class MultimodalUnrotated(Multimodal):
    """x is not rotated."""

    named = "unrotated"

    def answer(self, x: Array, *arguments: Any, **keywords: Any) -> Array:
        return x.copy()


for _kind, _claimed in (("bfloat16", "qwen2-vl"), ("float16", "glm-4v")):
    made(
        Multimodal,
        f"Multimodal with positions in {_kind}",
        "Positions in a narrow dtype.",
        named="low-precision-angles",
        claimed=(_claimed,),
        limits=NEAR,
        places=lambda self, positions, kind=_kind: narrow(positions, kind),
    )


class MultimodalWithAnglesInBfloat16(Multimodal):
    """Angles are rounded to bfloat16."""

    named = "low-precision-angles"
    claimed = ("qwen3-vl",)
    limits: ClassVar = NEAR

    def angles(self, places: Array, omega: Array) -> Array:
        return narrow(places * omega, "bfloat16")


class MultimodalReflected(Multimodal):
    """One sign is wrong: a reflection instead of a rotation."""

    def turned(self, a: Array, b: Array, sin: Array, cos: Array) -> tuple[Array, Array]:
        return a * cos + b * sin, b * cos + a * sin


class MultimodalSections16(Multimodal):
    """Sections always have the ratio 2 : 3 : 3."""

    def axes(self, sizes: list[int], allocation: str) -> list[int]:
        pairs = sum(sizes)
        last = 3 * pairs // 8
        return [0] * (pairs // 4) + [1] * (pairs - pairs // 4 - last) + [2] * last


class MultimodalSectionsInReverse(Multimodal):
    """Sections are laid out in reverse order."""

    claimed = ("glm-4v",)

    def axes(self, sizes: list[int], allocation: str) -> list[int]:
        return [axis for axis in (2, 1, 0) for _ in range(sizes[axis])]


class MultimodalByRow(Multimodal):
    """Tokens are numbered from 0, ignoring positions."""

    def places(self, positions: Array) -> Array:
        return np.tile(np.arange(positions.shape[1]), (3, 1))


class MultimodalFromTheFirst(Multimodal):
    """Positions are counted from those of the first token."""

    claimed = ("qwen3-vl",)

    def places(self, positions: Array) -> Array:
        return positions - positions[:, :1]


class MultimodalOfStillImages(Multimodal):
    """The position on the time axis is always 0."""

    def places(self, positions: Array) -> Array:
        return positions * np.array([[0], [1], [1]])


class MultimodalClampedInWidth(Multimodal):
    """Positions on the width axis are clamped at 1,023."""

    def places(self, positions: Array) -> Array:
        return np.minimum(positions, [[2**60], [2**60], [1023]])


class MultimodalDropsTheRest(Multimodal):
    """Channels beyond the sections are set to 0."""

    claimed = ("glm-4v",)
    limits: ClassVar = PARTIAL

    def answer(self, x: Array, positions: Array, sections: Array, **keywords: Any) -> Array:
        out = super().answer(x, positions, sections, **keywords)
        out[..., 2 * int(sections.sum()) :] = 0
        return out


class MultimodalWrongFromChannel128(Multimodal):
    """Channels from index 128 on are not rotated."""

    def answer(self, x: Array, positions: Array, sections: Array, **keywords: Any) -> Array:
        out = super().answer(x, positions, sections, **keywords)
        out[..., 128:] = x[..., 128:]
        return out


class MultimodalWrongFrom1024(Multimodal):
    """Tokens from index 1,024 on are not rotated."""

    claimed = ("qwen3-vl",)

    def answer(self, x: Array, positions: Array, sections: Array, **keywords: Any) -> Array:
        out = super().answer(x, positions, sections, **keywords)
        out[..., 1024:, :] = x[..., 1024:, :]
        return out


class MultimodalCachedByTime(Multimodal):
    """Tables are cached by positions on the time axis, ignoring the other axes."""

    def __init__(self) -> None:
        self.kept: dict[Any, Array] = {}

    def angles(self, places: Array, omega: Array) -> Array:
        key = places.shape, places[:, :1].tobytes(), omega.tobytes()
        return self.kept.setdefault(key, places * omega)


class MultimodalInNarrowTables(Multimodal):
    """Sines and cosines are in bfloat16 for a float32 x."""

    def waves(self, angles: Array) -> tuple[Array, Array]:
        return narrow(np.sin(angles), "bfloat16"), narrow(np.cos(angles), "bfloat16")


class MultimodalFloat32AsFloat64(Multimodal):
    """Angles are float32 for a float64 x."""

    dtype = "float64"

    def angles(self, places: Array, omega: Array) -> Array:
        return (places.astype("f4") * omega.astype("f4")).astype(np.float64)


class MultimodalInPlace(Multimodal):
    """x is overwritten."""

    def answer(self, x: Array, *arguments: Any, **keywords: Any) -> Array:
        x[...] = super().answer(x, *arguments, **keywords)
        return x


class MultimodalBack(Multimodal, steps=True):
    """Upstream gradients rotated back, in steps."""

    call = "m_rope_vjp"

    def waves(self, angles: Array) -> tuple[Array, Array]:
        return -np.sin(angles), np.cos(angles)


for _name, _named, _claimed, _steps in (
    ("forward", "backward-is-forward", "qwen2-vl", {"waves": Multimodal.waves}),
    ("forward neighbours", "backward-is-forward", "glm-4v", {"waves": Multimodal.waves}),
    (
        "of exchanged axes",
        "backward-axes-swapped",
        "qwen3-vl",
        {"places": lambda self, positions: positions[[0, 2, 1]]},
    ),
    (
        "of neighbours",
        "backward-layout-swapped",
        "qwen2-vl",
        {
            "split": lambda self, x, layout: Multimodal.split(self, x, "interleaved"),
            "join": lambda self, out, a, b, layout: Multimodal.join(self, out, a, b, "interleaved"),
        },
    ),
    ("by time", None, "glm-4v", {"places": lambda self, positions: positions[[0, 0, 0]]}),
    (
        "of contiguous sections",
        None,
        "qwen3-vl",
        {"axes": lambda self, sizes, rule: Multimodal.axes(self, sizes, "contiguous")},
    ),
):
    made(
        MultimodalBack,
        f"MultimodalBack {_name}",
        "One step otherwise.",
        named=_named,
        claimed=(_claimed,),
        **_steps,
    )


class MultimodalBackDropsTheRest(MultimodalBack):
    """Unrotated channels get no gradient."""

    limits: ClassVar = PARTIAL

    def answer(self, x: Array, positions: Array, sections: Array, **keywords: Any) -> Array:
        out = super().answer(x, positions, sections, **keywords)
        out[..., 2 * int(sections.sum()) :] = 0
        return out


class Ids(Mistake, steps=True):
    """Time, height and width ids of every token, in steps."""

    call = "m_rope_position_ids"
    claimed = ("largest",)

    def answer(
        self,
        segments: Array,
        *,
        merge_size: int,
        next_position: str,
        tokens_per_second: float = 1.0,
        second_per_grid: float = 1.0,
    ) -> Array:
        columns: list[tuple[int, int, int]] = []
        start, images = 0, 0
        self.per_second, self.seconds = tokens_per_second, second_per_grid
        for frames, height, width in segments.tolist():
            if height == 0:
                columns += self.text(start, frames)
                start += frames
                continue
            size = frames, height // merge_size, width // merge_size
            columns += self.image(start, size, images)
            start = self.after(start, size, next_position, columns)
            images += 1
        return self.stacked(columns)

    def text(self, start: int, tokens: int) -> list[tuple[int, int, int]]:
        return [(start + i, start + i, start + i) for i in range(tokens)]

    def image(
        self, start: int, size: tuple[int, int, int], number: int
    ) -> list[tuple[int, int, int]]:
        return [self.token(start, *place) for place in np.ndindex(*size)]

    def token(self, start: int, time: int, row: int, column: int) -> tuple[int, int, int]:
        return self.time(start, time), start + row, start + column

    def time(self, start: int, frame: int) -> int:
        return start + int(frame * self.per_second * self.seconds)

    def after(
        self,
        start: int,
        size: tuple[int, int, int],
        rule: str,
        columns: list[tuple[int, int, int]],
    ) -> int:
        longest = columns[-1][0] + 1 - start if rule == "largest" else 0
        return start + max(longest, *size[1:])

    def stacked(self, columns: list[tuple[int, int, int]]) -> Array:
        return np.array(columns, dtype=np.int64).reshape(-1, 3).T.copy()


for _claimed, _given in (("largest", "spatial"), ("spatial", "largest")):
    made(
        Ids,
        f"Ids {_given} for {_claimed}",
        "What follows an image placed by the other rule.",
        named="next-position-swapped",
        claimed=(_claimed,),
        after=lambda self, start, size, rule, columns, given=_given: Ids.after(
            self, start, size, given, columns
        ),
    )

for _claimed in ("largest", "spatial"):
    made(
        Ids,
        f"Ids {_claimed} after all tokens",
        "What follows an image placed after as many ids as the image has tokens.",
        named="next-after-tokens",
        claimed=(_claimed,),
        after=lambda self, start, size, rule, columns: start + int(np.prod(size)),
    )
    for _shift in (-1, 1):
        made(
            Ids,
            f"Ids {_claimed} off by {_shift}",
            "What follows an image starts one early or late.",
            named="start-off-by-one",
            claimed=(_claimed,),
            after=lambda self, start, size, rule, columns, shift=_shift: (
                Ids.after(self, start, size, rule, columns) + shift
            ),
        )
    made(
        Ids,
        f"Ids {_claimed} with times from 0",
        "The time of an image counted from 0.",
        named="time-from-zero",
        claimed=(_claimed,),
        token=lambda self, start, time, row, column: (time, start + row, start + column),
    )
    made(
        Ids,
        f"Ids {_claimed} transposed",
        "Columns counted by the height, rows by the width.",
        named="height-and-width-exchanged",
        claimed=(_claimed,),
        token=lambda self, start, time, row, column: (start + time, start + column, start + row),
    )


class IdsOfText(Ids):
    """Image tokens are numbered like text."""

    named = "images-as-text"

    def image(
        self, start: int, size: tuple[int, int, int], number: int
    ) -> list[tuple[int, int, int]]:
        return self.text(start, int(np.prod(size)))

    def after(self, start: int, size: tuple[int, int, int], *rest: Any) -> int:
        return start + int(np.prod(size))


class IdsOfOneImage(Ids):
    """Images after the first are numbered like text."""

    named = "later-images-as-text"

    def __init__(self) -> None:
        self.number = 0

    def image(
        self, start: int, size: tuple[int, int, int], number: int
    ) -> list[tuple[int, int, int]]:
        self.number = number
        if number:
            return self.text(start, int(np.prod(size)))
        return super().image(start, size, number)

    def after(self, start: int, size: tuple[int, int, int], *rest: Any) -> int:
        return start + int(np.prod(size)) if self.number else super().after(start, size, *rest)


class IdsColumnByColumn(Ids):
    """Image tokens are listed column by column."""

    def image(
        self, start: int, size: tuple[int, int, int], number: int
    ) -> list[tuple[int, int, int]]:
        frames, height, width = size
        order = ((t, row, column) for t, column, row in np.ndindex(frames, width, height))
        return [self.token(start, *place) for place in order]


class IdsOfStillImages(Ids):
    """All frames have the same time id."""

    named = "frames-at-one-time"
    claimed = ("spatial",)

    def token(self, start: int, time: int, row: int, column: int) -> tuple[int, int, int]:
        return start, start + row, start + column


class IdsOfOneTime(Ids):
    """All frames have the same time id, and the next start follows the resulting largest id."""

    named = "frames-at-one-time"
    claimed = ("largest",)

    def time(self, start: int, frame: int) -> int:
        return start


class IdsWithoutHeights(Ids):
    """Height ids of images are 0, where the time ids of still images were meant."""

    named = "height-zeroed"

    def token(self, start: int, time: int, row: int, column: int) -> tuple[int, int, int]:
        return self.time(start, time), 0, start + column


class IdsOfTheFirstRow(Ids):
    """All tokens of an image have the height id of its first row."""

    named = "height-zeroed"
    claimed = ("spatial",)

    def token(self, start: int, time: int, row: int, column: int) -> tuple[int, int, int]:
        return self.time(start, time), start, start + column


class IdsRestarted(Ids):
    """Ids of images start at 0 on all axes."""

    def token(self, start: int, time: int, row: int, column: int) -> tuple[int, int, int]:
        return time, row, column


class IdsAfterTheWidth(Ids):
    """The next start follows the image's width, whatever its height."""

    claimed = ("spatial",)

    def after(self, start: int, size: tuple[int, int, int], *rest: Any) -> int:
        return start + size[2]


class IdsInPatches(Ids):
    """The next start counts heights and widths before merging by 2."""

    def after(self, start: int, size: tuple[int, int, int], *rest: Any) -> int:
        return start + max(size[0], 2 * size[1], 2 * size[2])


class IdsInBytes(Ids):
    """Ids are stored in 8 bits."""

    def stacked(self, columns: list[tuple[int, int, int]]) -> Array:
        return super().stacked(columns).astype(np.uint8).astype(np.int64)


class IdsAsFloats(Ids):
    """Ids are floating-point numbers."""

    def stacked(self, columns: list[tuple[int, int, int]]) -> Array:
        return super().stacked(columns).astype(np.float32)


class IdsByToken(Ids):
    """The result has a row per token instead of a row per axis."""

    def stacked(self, columns: list[tuple[int, int, int]]) -> Array:
        return super().stacked(columns).T.copy()


class IdsUnmerged(Ids):
    """merge_size is ignored."""

    def answer(self, segments: Array, *, merge_size: int, next_position: str, **_: Any) -> Array:
        return super().answer(segments, merge_size=1, next_position=next_position)


SPACED: dict[str, Any] = {"spacing": "seconds"}


class IdsOfCountedFrames(Ids):
    """Frames are counted, ignoring the time between them."""

    named = "seconds-ignored"
    claimed = ("spatial",)
    limits: ClassVar = SPACED

    def time(self, start: int, frame: int) -> int:
        return start + frame


class IdsOfASecondEach(Ids):
    """second_per_grid is dropped: frames are one second apart."""

    named = "seconds-ignored"
    claimed = ("spatial",)
    limits: ClassVar = SPACED

    def time(self, start: int, frame: int) -> int:
        return start + int(frame * self.per_second)


class IdsOfWholeSeconds(Ids):
    """second_per_grid is truncated to an integer before the product."""

    named = "seconds-cut-early"
    claimed = ("spatial",)
    limits: ClassVar = SPACED

    def time(self, start: int, frame: int) -> int:
        return start + int(frame * self.per_second * int(self.seconds))


class IdsOfWholeIntervals(Ids):
    """The interval between frames is truncated to an integer before it multiplies the frame."""

    named = "seconds-cut-early"
    limits: ClassVar = SPACED

    def time(self, start: int, frame: int) -> int:
        return start + frame * int(self.per_second * self.seconds)


class IdsOfSpacedStarts(Ids):
    """The start is multiplied as well as the frame, for still images too."""

    named = "start-spaced"
    claimed = ("spatial",)
    limits: ClassVar = SPACED

    def image(
        self, start: int, size: tuple[int, int, int], number: int
    ) -> list[tuple[int, int, int]]:
        self.still = size[0] == 1
        return super().image(start, size, number)

    def time(self, start: int, frame: int) -> int:
        return int((start + frame) * self.per_second * (1.0 if self.still else self.seconds))


class IdsOfNoSecond(Ids):
    """A second_per_grid of 1 is treated as missing."""

    claimed = ("spatial",)
    limits: ClassVar = SPACED

    def time(self, start: int, frame: int) -> int:
        return start + frame if self.seconds == 1 else super().time(start, frame)


class IdsOfTextAfterFrames(Ids):
    """Times are spaced, but the next start ignores the spacing."""

    limits: ClassVar = SPACED

    def after(self, start: int, size: tuple[int, int, int], *rest: Any) -> int:
        return start + max(size)


below_zero(Multimodal, "qwen3-vl")
below_zero(MultimodalBack, "ernie-4-5-vl")
