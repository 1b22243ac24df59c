"""Wrong implementations: axial rotary embedding, widths of axes and grids of position ids."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from posenc_lab.miniatures.base import Array, Mistake, made, narrow


class Axes(Mistake, steps=True):
    """Pairs of each axis rotated by the position on that axis, in steps."""

    call = "axial_rope"
    claimed = ("interleaved",)

    def answer(
        self, x: Array, positions: Array, widths: Array, *, base: float, layout: str
    ) -> Array:
        sizes = self.sizes([int(width) for width in widths])
        place = self.places(positions)
        omega = [self.frequencies(size, x.shape[-1], self.base(base)) for size in sizes]
        angles = self.joined(
            [self.angles(row, waves) for row, waves in zip(place, self.all(omega), strict=False)]
        )
        firsts, seconds = self.channels(sizes, layout)
        sin, cos = np.sin(angles), np.cos(angles)
        out = np.array(x, dtype=np.float64)
        a, b = out[..., firsts], out[..., seconds]
        out[..., firsts], out[..., seconds] = self.turned(a, b, sin, cos)
        return out.astype(x.dtype)

    def sizes(self, widths: list[int]) -> list[int]:
        return widths

    def places(self, positions: Array) -> Array:
        return positions

    def base(self, base: float) -> float:
        return base

    def frequencies(self, width: int, head_dim: int, base: float) -> Array:
        return np.asarray(base ** (-np.arange(0, width, 2) / width))

    def all(self, omega: list[Array]) -> list[Array]:
        return omega

    def angles(self, place: Array, omega: Array) -> Array:
        return np.multiply.outer(place.astype(np.float64), omega)

    def joined(self, angles: list[Array]) -> Array:
        return np.concatenate(angles, axis=-1)

    def channels(self, sizes: list[int], layout: str) -> tuple[Array, Array]:
        every = np.arange(sum(sizes))
        if layout == "interleaved":
            return every[0::2], every[1::2]
        if layout == "half":
            return np.split(every, 2)[0], np.split(every, 2)[1]
        halves = [np.split(part, 2) for part in np.split(every, np.cumsum(sizes)[:-1])]
        return np.concatenate([a for a, _ in halves]), np.concatenate([b for _, b in halves])

    def turned(self, a: Array, b: Array, sin: Array, cos: Array) -> tuple[Array, Array]:
        return a * cos - b * sin, b * cos + a * sin


for _claimed in ("interleaved", "half", "half-per-axis"):
    made(
        Axes,
        f"Axes transposed {_claimed}",
        "The last two axes taken for one another.",
        named="axes-swapped",
        claimed=(_claimed,),
        places=lambda self, positions: (
            np.concatenate([positions[:-2], positions[:-3:-1]]) if len(positions) > 1 else positions
        ),
    )
    made(
        Axes,
        f"Axes back to front {_claimed}",
        "Positions in the opposite order of the axes.",
        named="axes-swapped",
        claimed=(_claimed,),
        places=lambda self, positions: positions[::-1],
    )


def equal(sizes: list[int]) -> list[int]:
    """Return equal widths, as far as pairs allow; the remainder goes to the first axis."""
    share = sum(sizes) // len(sizes) // 2 * 2
    return [sum(sizes) - share * (len(sizes) - 1)] + [share] * (len(sizes) - 1)


for _claimed in ("interleaved", "half"):
    made(
        Axes,
        f"Axes of equal widths {_claimed}",
        "The head shared out equally.",
        named="widths-swapped",
        claimed=(_claimed,),
        sizes=lambda self, widths: equal(widths),
    )
    made(
        Axes,
        f"Axes with the widths back to front {_claimed}",
        "The width of the last axis given to the first.",
        named="widths-swapped",
        claimed=(_claimed,),
        sizes=lambda self, widths: widths[::-1],
    )

for _axis in (0, -1):
    made(
        Axes,
        f"Axes of axis {_axis}",
        "One position for every pair.",
        named="one-axis-for-all",
        places=lambda self, positions, axis=_axis: positions[[axis] * len(positions)],
    )

for _claimed in ("interleaved", "half-per-axis"):
    made(
        Axes,
        f"Axes of one progression {_claimed}",
        "Frequencies that go on from axis to axis.",
        named="one-progression",
        claimed=(_claimed,),
        limits={"head_dim": [16, 64, 128]},
        frequencies=lambda self, width, head_dim, base: (
            base ** (-np.arange(0, head_dim, 2) / head_dim)
        ),
        all=lambda self, omega: omega,
        joined=lambda self, angles: angles[0],
        answer=lambda self, x, positions, widths, **rest: of_one_progression(
            self, x, positions, widths, **rest
        ),
    )


def of_one_progression(
    self: Axes, x: Array, positions: Array, widths: Array, *, base: float, layout: str
) -> Array:
    """Rotate with frequencies from head_dim and the pair's index in the head."""
    axis = np.repeat(np.arange(len(widths)), widths // 2)
    omega = base ** (-np.arange(len(axis)) / len(axis))
    angles = positions[axis].T * omega
    firsts, seconds = self.channels([int(width) for width in widths], layout)
    out = np.array(x, dtype=np.float64)
    a, b = out[..., firsts], out[..., seconds]
    out[..., firsts], out[..., seconds] = self.turned(a, b, np.sin(angles), np.cos(angles))
    return out.astype(x.dtype)


for _claimed in ("interleaved", "half"):
    made(
        Axes,
        f"Axes of head_dim {_claimed}",
        "Exponents 2t/head_dim on every axis.",
        named="head-dim-exponents",
        claimed=(_claimed,),
        frequencies=lambda self, width, head_dim, base: (
            base ** (-np.arange(0, width, 2) / head_dim)
        ),
    )

for _claimed, _given in (
    ("interleaved", "half"),
    ("half", "interleaved"),
    ("half-per-axis", "half"),
    ("half", "half-per-axis"),
):
    made(
        Axes,
        f"Axes {_given} layout for {_claimed}",
        "Pairs of the channels of another layout.",
        named="layout-swapped",
        claimed=(_claimed,),
        channels=lambda self, sizes, layout, given=_given: Axes.channels(self, sizes, given),
    )


def laid_out(
    self: Axes, x: Array, positions: Array, widths: Array, *, base: float, layout: str
) -> Array:
    """Rotate with sines and cosines in one layout and channel pairs in another."""
    sizes = [int(width) for width in widths]
    angles = np.concatenate(
        [
            self.angles(place, self.frequencies(size, x.shape[-1], base))
            for place, size in zip(positions, sizes, strict=True)
        ],
        axis=-1,
    )
    wide = np.repeat(angles, 2, axis=-1) if layout == "half" else np.tile(angles, 2)
    firsts, seconds = self.channels(sizes, layout)
    turned = np.empty(x.shape)
    turned[..., firsts], turned[..., seconds] = -x[..., seconds], x[..., firsts]
    return (x * np.cos(wide) + turned * np.sin(wide)).astype(x.dtype)


for _claimed in ("interleaved", "half"):
    made(
        Axes,
        f"Axes with waves in another layout {_claimed}",
        "As ERNIE-Image turns halves, and V-JEPA 2 neighbours.",
        named="waves-in-other-layout",
        claimed=(_claimed,),
        answer=laid_out,
    )


def paired_otherwise(
    self: Axes, x: Array, positions: Array, widths: Array, *, base: float, layout: str
) -> Array:
    """Rotate with sines and cosines in the claimed layout and channel pairs in the other."""
    other = "half" if layout == "interleaved" else "interleaved"
    return laid_out(self, x, positions, widths, base=base, layout=other)


for _claimed in ("interleaved", "half"):
    made(
        Axes,
        f"Axes with pairs of another layout {_claimed}",
        "The table fits the claim, and the pairs do not.",
        named="waves-in-other-layout",
        claimed=(_claimed,),
        answer=paired_otherwise,
    )

for _claimed, _shift in (("interleaved", 1), ("half", -1)):
    made(
        Axes,
        f"Axes shifted {_shift} {_claimed}",
        "Positions counted from another number.",
        named="positions-shifted",
        claimed=(_claimed,),
        places=lambda self, positions, shift=_shift: positions + shift,
    )

for _claimed, _base in (("interleaved", 10000.0), ("half", 256.0), ("half-per-axis", 10000.0)):
    made(
        Axes,
        f"Axes with base {_base:.0f} {_claimed}",
        "One base, whatever is asked for.",
        named="wrong-base",
        claimed=(_claimed,),
        base=lambda self, base, given=_base: given,
    )


class Tiled(Mistake, steps=True):
    """V-JEPA 2: frequencies tiled over the channels of each axis, neighbours paired, in steps."""

    call = "axial_rope_tiled"
    claimed = ("vjepa-2",)

    def answer(self, x: Array, positions: Array) -> Array:
        head_dim, out, first = x.shape[-1], [], 0
        for place, width in zip(
            self.places(positions.astype(np.float64)), self.widths(head_dim), strict=True
        ):
            part = x[..., first : first + width].astype(np.float64)
            angles = self.angles(place, self.laid_out(self.frequencies(width, head_dim)))
            out.append(part * np.cos(angles) + self.beside(part) * np.sin(angles))
            first += width
        return self.joined(out, x[..., first:]).astype(x.dtype)

    def places(self, positions: Array) -> Array:
        return positions

    def widths(self, head_dim: int) -> tuple[int, ...]:
        return (head_dim // 6 * 2,) * 3

    def frequencies(self, width: int, head_dim: int) -> Array:
        return np.asarray(10000.0 ** (-np.arange(0, width, 2) / width))

    def laid_out(self, omega: Array) -> Array:
        return np.tile(omega, 2)

    def angles(self, place: Array, omega: Array) -> Array:
        return np.multiply.outer(place, omega)

    def beside(self, x: Array) -> Array:
        return np.stack([-x[..., 1::2], x[..., 0::2]], axis=-1).reshape(x.shape)

    def joined(self, parts: list[Array], rest: Array) -> Array:
        return np.concatenate([*parts, rest], axis=-1)


for _name, _why, _named, _changes in (
    (
        "as a rotation",
        "What the pull request makes of it.",
        "tiled-as-a-rotation",
        {"laid_out": lambda self, omega: np.repeat(omega, 2)},
    ),
    (
        "halves",
        "The helper that most code has for tiled waves.",
        "tiled-halves",
        {
            "beside": lambda self, x: np.concatenate(
                [-x[..., x.shape[-1] // 2 :], x[..., : x.shape[-1] // 2]], axis=-1
            )
        },
    ),
    (
        "transposed",
        "Rows and columns taken for one another.",
        "tiled-axes-swapped",
        {"places": lambda self, positions: positions[[0, 2, 1]]},
    ),
    (
        "back to front",
        "The frame last.",
        "tiled-axes-swapped",
        {"places": lambda self, positions: positions[::-1]},
    ),
    (
        "with Wan's widths",
        "What is left over goes to time.",
        "tiled-shared-out",
        {
            "widths": lambda self, dim: (dim - dim // 6 * 4, dim // 6 * 2, dim // 6 * 2),
            "limits": {"head_dim": [16, 20, 64, 80, 88]},
        },
    ),
    (
        "with a wide last axis",
        "What is left over goes to the columns.",
        "tiled-shared-out",
        {
            "widths": lambda self, dim: (dim // 6 * 2, dim // 6 * 2, dim - dim // 6 * 4),
            "limits": {"head_dim": [16, 20, 64, 80, 88]},
        },
    ),
    (
        "of head_dim",
        "Exponents 2t/head_dim on every axis.",
        "tiled-head-dim-exponents",
        {
            "frequencies": lambda self, width, head_dim: (
                10000.0 ** (-np.arange(0, width, 2) / head_dim)
            )
        },
    ),
    (
        "from 1",
        "Positions counted from 1.",
        "tiled-positions-shifted",
        {"places": lambda self, positions: positions + 1},
    ),
    (
        "backwards",
        "Sines of the opposite sign.",
        "tiled-sign-flipped",
        {"angles": lambda self, place, omega: -np.multiply.outer(place, omega)},
    ),
    (
        "of bfloat16 frequencies",
        "Frequencies in the dtype of a model.",
        "tiled-low-precision-angles",
        {
            "angles": lambda self, place, omega: np.multiply.outer(
                place, narrow(omega, "bfloat16")
            ),
            "limits": {"max_position": 2**15},
        },
    ),
    (
        "without the rest",
        "Channels of no axis set to zero.",
        None,
        {"joined": lambda self, parts, rest: np.concatenate([*parts, 0 * rest], axis=-1)},
    ),
    (
        "with the rest first",
        "Channels of no axis moved to the front.",
        None,
        {"joined": lambda self, parts, rest: np.concatenate([rest, *parts], axis=-1)},
    ),
    (
        "of a reflection",
        "One sign wrong.",
        None,
        {
            "beside": lambda self, x: np.stack([x[..., 1::2], x[..., 0::2]], axis=-1).reshape(
                x.shape
            )
        },
    ),
    (
        "of one base less",
        "The base of other models of images.",
        None,
        {"frequencies": lambda self, width, head_dim: 100.0 ** (-np.arange(0, width, 2) / width)},
    ),
):
    made(Tiled, f"Tiled {_name}", _why, named=_named, **_changes)


class TiledOfTheFirstHead(Tiled):
    """Only the first head is rotated."""

    def answer(self, x: Array, positions: Array) -> Array:
        turned = super().answer(x, positions)
        if x.ndim > 2:
            turned[..., 1:, :, :] = x[..., 1:, :, :]
        return turned


class AxesBackwards(Axes):
    """The rotation has the opposite sign."""

    named = "sign-flipped"

    def turned(self, a: Array, b: Array, sin: Array, cos: Array) -> tuple[Array, Array]:
        return a * cos + b * sin, b * cos - a * sin


class AxesUnrotated(Axes):
    """x is not rotated."""

    named = "unrotated"

    def answer(self, x: Array, positions: Array, widths: Array, **keywords: Any) -> Array:
        return x.copy()


class AxesWithNegativesReversed(Axes):
    """Negative positions read a table of 4,096 rows from the wrong end."""

    named = "negative-reversed"
    limits: ClassVar = {"domain": "negative"}

    def places(self, positions: Array) -> Array:
        return np.where(positions < 0, -4097 - positions, positions)


class AxesWithoutNegatives(Axes):
    """Negative positions are clamped to 0."""

    limits: ClassVar = {"domain": "negative"}

    def places(self, positions: Array) -> Array:
        return np.maximum(positions, 0)


_NEAR: dict[str, Any] = {"max_position": 2**15}

for _kind, _claimed in (("bfloat16", "interleaved"), ("float16", "half")):
    made(
        Axes,
        f"Axes with angles in {_kind}",
        "Angles in a narrow dtype, as under autocast.",
        named="low-precision-angles",
        claimed=(_claimed,),
        limits=_NEAR,
        angles=lambda self, place, omega, kind=_kind: narrow(Axes.angles(self, place, omega), kind),
    )


class AxesWithPositionsInBfloat16(Axes):
    """Positions are cast to bfloat16: right up to 256."""

    named = "low-precision-angles"
    limits: ClassVar = _NEAR

    def places(self, positions: Array) -> Array:
        return narrow(positions, "bfloat16")


class AxesReflected(Axes):
    """One sign is wrong: a reflection instead of a rotation."""

    def turned(self, a: Array, b: Array, sin: Array, cos: Array) -> tuple[Array, Array]:
        return a * cos + b * sin, b * cos + a * sin


class AxesOfThree(Axes):
    """Axes beyond the third are not rotated."""

    def joined(self, angles: list[Array]) -> Array:
        return np.concatenate([*angles[:3], *(0 * part for part in angles[3:])], axis=-1)


class AxesOfOneStart(Axes):
    """Positions are counted from that of the first token."""

    def places(self, positions: Array) -> Array:
        return positions - positions[:, :1]


class AxesCutAt1023(Axes):
    """Tables end after 1,023 positions; later ones get the last row."""

    def places(self, positions: Array) -> Array:
        return np.minimum(positions, 1022)


class AxesCutAt128(Axes):
    """Tables end after 128 rows and columns; later ones get the last entry."""

    claimed = ("half-per-axis",)

    def places(self, positions: Array) -> Array:
        return np.concatenate([positions[:1], np.minimum(positions[1:], 127)])


class AxesByFours(Axes):
    """The kernel rotates four pairs at a time and, on wide axes, skips the remainder."""

    def angles(self, place: Array, omega: Array) -> Array:
        angles = super().angles(place, omega)
        if len(omega) > 4:
            angles[:, len(omega) // 4 * 4 :] = 0
        return angles


class AxesWithoutSmallBases(Axes):
    """Bases below 1,000 are replaced by 10,000."""

    def base(self, base: float) -> float:
        return base if base >= 1000 else 10000.0


class AxesOverThePairsLessOne(Axes):
    """Exponents are divided by w/2 - 1, as from linspace with its end point."""

    def frequencies(self, width: int, head_dim: int, base: float) -> Array:
        count = width // 2
        return np.asarray(base ** -np.linspace(0, 1, count))


class AxesOfTheFirstInBatch(Axes):
    """Only the first head of the first batch element is rotated."""

    def answer(self, x: Array, positions: Array, widths: Array, **keywords: Any) -> Array:
        out = x.copy()
        first = (0,) * (x.ndim - 2)
        out[first] = super().answer(x[first], positions, widths, **keywords)
        return out


class AxesInPlace(Axes):
    """x is overwritten."""

    def answer(self, x: Array, positions: Array, widths: Array, **keywords: Any) -> Array:
        x[...] = super().answer(x, positions, widths, **keywords)
        return x


class AxesWrongFrom1024(Axes):
    """Tokens from index 1,024 on are not rotated."""

    claimed = ("half",)

    def answer(self, x: Array, positions: Array, widths: Array, **keywords: Any) -> Array:
        out = super().answer(x, positions, widths, **keywords)
        out[..., 1024:, :] = x[..., 1024:, :]
        return out


class AxesWrongFromChannel128(Axes):
    """Channels from index 128 on are not rotated."""

    def answer(self, x: Array, positions: Array, widths: Array, **keywords: Any) -> Array:
        out = super().answer(x, positions, widths, **keywords)
        out[..., 128:] = x[..., 128:]
        return out


class AxesFloat32AsFloat64(Axes):
    """Angles are float32 for a float64 x."""

    dtype = "float64"

    def angles(self, place: Array, omega: Array) -> Array:
        return np.multiply.outer(place.astype("f4"), omega.astype("f4")).astype(np.float64)


class Widths(Mistake, steps=True):
    """Numbers of channels for time, height and width, in steps."""

    call = "axial_rope_widths"
    claimed = ("wan",)

    def answer(self, head_dim: int, *, allocation: str) -> Any:
        if head_dim % 2:
            raise ValueError(f"{head_dim} channels")
        return np.array(self.shares(head_dim, allocation))

    def shares(self, head_dim: int, allocation: str) -> list[int]:
        if allocation == "sixths":
            side = 2 * (head_dim // 6)
            return [head_dim - 2 * side, side, side]
        return [head_dim // 4, 3 * head_dim // 8, 3 * head_dim // 8]


def of_thirds(head_dim: int) -> list[int]:
    return [head_dim - 2 * (head_dim // 3), head_dim // 3, head_dim // 3]


def rest_last(head_dim: int) -> list[int]:
    side = 2 * (head_dim // 6)
    return [side, side, head_dim - 2 * side]


_SHARES: tuple[tuple[str, str | None, str, Callable[[int], list[int]]], ...] = (
    ("of thirds", "thirds", "wan", of_thirds),
    ("with the rest for the width", "rest-to-width", "wan", rest_last),
    ("of eighths", "allocation-swapped", "wan", lambda d: [d // 4, 3 * d // 8, 3 * d // 8]),
    (
        "of sixths",
        "allocation-swapped",
        "cogvideox",
        lambda d: [d - 4 * (d // 6), 2 * (d // 6), 2 * (d // 6)],
    ),
    ("of pairs", None, "wan", lambda d: [d // 2 - 2 * (d // 6), d // 6, d // 6]),
    ("of released models", None, "cogvideox", lambda d: [16, (d - 16) // 2, (d - 16) // 2]),
    ("with the height for the rest", None, "wan", lambda d: [rest_last(d)[i] for i in (0, 2, 1)]),
)
for _name, _named, _claimed, _given_widths in _SHARES:
    made(
        Widths,
        f"Widths {_name} {_claimed}",
        "The head shared out otherwise.",
        named=_named,
        claimed=(_claimed,),
        shares=lambda self, head_dim, allocation, given=_given_widths: given(head_dim),
    )


class Grid(Mistake, steps=True):
    """Position ids of a text and of images, in steps."""

    call = "axial_rope_position_ids"
    claimed = ("flux",)

    def answer(self, images: Array, *, tokens: int, grid: str) -> Any:
        sizes: list[list[int]] = images.tolist()
        if (grid == "flux-2" and any(frames != 1 for frames, _, _ in sizes)) or (
            grid == "z-image" and len(sizes) > 1
        ):
            raise ValueError(f"{grid} cannot place {sizes}")
        parts = [self.text(tokens, sizes, grid)]
        for number, size in enumerate(sizes):
            ids = self.patches(size)
            ids[0] += self.start(number, tokens, grid)
            for axis in (1, 2):
                ids[axis] -= self.middle(size[axis], grid)
            parts.append(np.concatenate([ids, 0 * ids[:1]]) if grid == "flux-2" else ids)
        return np.concatenate(parts, axis=1)

    def text(self, tokens: int, sizes: list[list[int]], grid: str) -> Array:
        counted = np.arange(tokens)
        ids = np.zeros((4 if grid == "flux-2" else 3, tokens), dtype=np.int64)
        if grid == "flux-2":
            ids[3] = counted
        elif grid == "z-image":
            ids[0] = 1 + counted
        elif grid == "qwen-image":
            ids[:] = self.after(sizes) + counted
        return ids

    def after(self, sizes: list[list[int]]) -> int:
        return max([0, *(side // 2 for _, *sides in sizes for side in sides)])

    def patches(self, size: list[int]) -> Array:
        return np.indices(size).reshape(3, -1)

    def start(self, number: int, tokens: int, grid: str) -> int:
        return {"flux-2": 10 * number, "z-image": 1 + tokens}.get(grid, number)

    def middle(self, side: int, grid: str) -> int:
        return side - side // 2 if grid == "qwen-image" else 0


for _claimed in ("flux", "flux-2", "qwen-image", "z-image"):
    made(
        Grid,
        f"Grid transposed {_claimed}",
        "Rows for columns.",
        named="height-and-width-exchanged",
        claimed=(_claimed,),
        answer=lambda self, images, *, tokens, grid: exchanged(
            Grid.answer(self, images, tokens=tokens, grid=grid), tokens
        ),
    )
    made(
        Grid,
        f"Grid column by column {_claimed}",
        "Patches in the order of the columns.",
        claimed=(_claimed,),
        patches=lambda self, size: np.indices(size).transpose(0, 1, 3, 2).reshape(3, -1),
    )


def exchanged(ids: Array, tokens: int) -> Array:
    """Swap rows and columns in the ids of the patches."""
    ids[1:3, tokens:] = ids[2:0:-1, tokens:].copy()
    return ids


for _name, _named, _claimed, _steps in (
    ("from the corner", "not-centred", "qwen-image", {"middle": lambda self, side, grid: 0}),
    (
        "centred the other way",
        "centred-the-other-way",
        "qwen-image",
        {"middle": lambda self, side, grid: side // 2},
    ),
    (
        "with the text after the image",
        "text-after-the-image",
        "qwen-image",
        {"after": lambda self, sizes: max([0, *(max(size[1:]) for size in sizes)])},
    ),
    (
        "with the text after the last image",
        None,
        "qwen-image",
        {"after": lambda self, sizes: Grid.after(self, sizes[-1:])},
    ),
    (
        "with the text from 0",
        "first-axis-shifted",
        "z-image",
        {"text": lambda self, tokens, sizes, grid: np.array([[1], [0], [0]]) * np.arange(tokens)},
    ),
    (
        "with the image too early",
        "first-axis-shifted",
        "z-image",
        {"start": lambda self, number, tokens, grid: tokens},
    ),
    (
        "of one plane",
        "images-on-one-plane",
        "flux",
        {"start": lambda self, number, tokens, grid: 0},
    ),
    (
        "of one plane",
        "images-on-one-plane",
        "flux-2",
        {"start": lambda self, number, tokens, grid: 0},
    ),
    (
        "without gaps",
        None,
        "flux-2",
        {"start": lambda self, number, tokens, grid: number},
    ),
    (
        "with images from 10",
        None,
        "flux-2",
        {"start": lambda self, number, tokens, grid: 10 + 10 * number},
    ),
    (
        "with the text at 0",
        "text-at-zero",
        "flux-2",
        {"text": lambda self, tokens, sizes, grid: np.zeros((4, tokens), dtype=np.int64)},
    ),
    (
        "with the text at 0",
        "text-at-zero",
        "qwen-image",
        {"text": lambda self, tokens, sizes, grid: np.zeros((3, tokens), dtype=np.int64)},
    ),
    (
        "of patches not yet packed",
        None,
        "flux",
        {"patches": lambda self, size: np.indices(size).reshape(3, -1) * [[1], [2], [2]]},
    ),
    (
        "with the text after the frames",
        None,
        "qwen-image",
        {"after": lambda self, sizes: max([0, *(max(size) // 2 for size in sizes)])},
    ),
    (
        "with one frame",
        None,
        "qwen-image",
        {"patches": lambda self, size: np.indices(size).reshape(3, -1) * [[0], [1], [1]]},
    ),
):
    made(
        Grid,
        f"Grid {_name} {_claimed}",
        "One step otherwise.",
        named=_named,
        claimed=(_claimed,),
        **_steps,
    )

for _claimed, _given in (("flux", "qwen-image"), ("qwen-image", "flux"), ("z-image", "flux")):
    made(
        Grid,
        f"Grid {_given} for {_claimed}",
        "The grid of another model.",
        named="grid-swapped",
        claimed=(_claimed,),
        answer=lambda self, images, *, tokens, grid, given=_given: Grid.answer(
            self, images, tokens=tokens, grid=given
        ),
    )
