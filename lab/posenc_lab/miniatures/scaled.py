"""Steps and helpers shared by the miniatures of scaled rotary embedding.

Each scheme supplies ``frequencies``, which returns radians per position from the number of
channels, the base and the scheme's own parameters.
"""

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from posenc_lab.miniatures.base import KINDS, Array, made, narrow
from posenc_lab.miniatures.styles import rotate_every_two, rotate_half

Formula = Callable[..., Array]


def plain(dim: int, base: float) -> Array:
    """Return the frequencies of unscaled rotary embedding."""
    return np.asarray(float(base) ** -(np.arange(0, dim, 2) / dim))


def plain32(dim: int, base: float | np.floating) -> Array:
    """Return unscaled frequencies as released code computes them, every step in float32."""
    exponent = np.arange(0, dim, 2).astype(np.float32) / np.float32(dim)
    return np.float32(1) / np.float32(base) ** exponent


# Right rotations


def by_parts(dim: int, base: float, factor: float, length: int) -> Array:
    """Return YaRN's frequencies in float64, with a ramp from the pair of 32 turns to that of 1."""
    fast, slow = (
        dim * math.log(length / (turns * 2 * math.pi)) / (2 * math.log(base)) for turns in (32, 1)
    )
    low, high = max(math.floor(fast), 0), min(math.ceil(slow), dim - 1)
    ramp = np.clip((np.arange(dim // 2) - low) / max(high - low, 0.001), 0, 1)
    return np.asarray(plain(dim, base) * (1 - ramp + ramp / factor))


def by_halves(x: Array, angles: Array) -> Array:
    """Rotate pairs in half layout; cosines and sines are cast to the dtype of x before use."""
    emb = np.concatenate([angles, angles], axis=-1)
    return x * np.cos(emb).astype(x.dtype) + rotate_half(x) * np.sin(emb).astype(x.dtype)


def by_neighbours(x: Array, angles: Array) -> Array:
    """Rotate interleaved pairs by repeated cosines and sines, in float32, cast at the end."""
    emb = np.repeat(angles.astype(np.float32), 2, axis=-1)
    wide = x.astype(np.float32)
    return (wide * np.cos(emb) + rotate_every_two(wide) * np.sin(emb)).astype(x.dtype)


def by_complex_numbers(x: Array, angles: Array) -> Array:
    """Rotate interleaved pairs as complex64 numbers."""
    turn = (np.cos(angles) + 1j * np.sin(angles)).astype(np.complex64)
    pairs = np.ascontiguousarray(x, dtype=np.float32).view(np.complex64)
    return np.ascontiguousarray(pairs * turn).view(np.float32).astype(x.dtype)


def by_matrices(x: Array, angles: Array, layout: str) -> Array:
    """Multiply each row by its block-diagonal rotation matrix, in float64."""
    dim = x.shape[-1]
    order = np.arange(dim).reshape(2, -1) if layout == "half" else np.arange(dim).reshape(-1, 2).T
    matrix = np.zeros((len(angles), dim, dim))
    for t, (a, b) in enumerate(order.T):
        matrix[:, a, a] = matrix[:, b, b] = np.cos(angles[:, t])
        matrix[:, b, a] = np.sin(angles[:, t])
        matrix[:, a, b] = -matrix[:, b, a]
    return np.matmul(matrix, x.astype(np.float64)[..., None])[..., 0].astype(x.dtype)


# Steps of the wrong implementations


class FrequencyCall:
    """Steps of the call that returns frequencies."""

    claimed: ClassVar[tuple[str, ...]] = ("standard",)
    frequencies: Formula

    def answer(self, rotary_dim: int, *, base: float, dtype: str, **own: Any) -> Array:
        return self.finish(self.frequencies(rotary_dim, base, **own)).astype(KINDS[dtype])

    def finish(self, frequencies: Array) -> Array:
        return frequencies


class RotaryCall:
    """Steps of the call that rotates x."""

    claimed: ClassVar[tuple[str, ...]] = ("half",)
    frequencies: Formula

    def answer(self, x: Array, positions: Array, *, base: float, layout: str, **own: Any) -> Array:
        omega = self.frequencies(x.shape[-1], base, **own)
        angles = self.angles(self.places(positions), omega)
        first, second = self.split(x.astype(np.float64), self.layout(layout))
        turned = self.turn(first, second, np.sin(angles), np.cos(angles))
        return self.join(*turned, self.layout(layout)).astype(x.dtype)

    def layout(self, claimed: str) -> str:
        return claimed

    def places(self, positions: Array) -> Array:
        return positions.astype(np.float64)

    def angles(self, places: Array, omega: Array) -> Array:
        return np.multiply.outer(places, omega)

    def split(self, x: Array, layout: str) -> tuple[Array, Array]:
        if layout == "interleaved":
            return x[..., 0::2], x[..., 1::2]
        return x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]

    def turn(self, a: Array, b: Array, sin: Array, cos: Array) -> tuple[Array, Array]:
        return a * cos - b * sin, b * cos + a * sin

    def join(self, a: Array, b: Array, layout: str) -> Array:
        if layout == "half":
            return np.concatenate([a, b], axis=-1)
        return np.stack([a, b], axis=-1).reshape(*a.shape[:-1], 2 * a.shape[-1])


class BackwardCall(RotaryCall):
    """Steps of the call that rotates upstream gradients back."""

    def turn(self, a: Array, b: Array, sin: Array, cos: Array) -> tuple[Array, Array]:
        return a * cos + b * sin, b * cos - a * sin


def backward_mistakes(backward: Any) -> None:
    """Register mistakes that the backward pass of any scaled rotation can have."""
    name = backward.__name__
    made(
        backward,
        f"{name} forward",
        "The kernel of the forward pass, used as it is.",
        named="backward-is-forward",
        turn=RotaryCall.turn,
    )
    made(
        backward,
        f"{name} unscaled",
        "A backward pass that nobody told about the scaling.",
        named="backward-unscaled",
        claimed=("interleaved",),
        frequencies=lambda self, dim, base, **own: plain(dim, base),
    )
    for claimed, given in (("half", "interleaved"), ("interleaved", "half")):
        made(
            backward,
            f"{name} {given} for {claimed}",
            "The channels of the other layout.",
            named="backward-layout-swapped",
            claimed=(claimed,),
            layout=lambda self, claimed, given=given: given,
        )
    made(
        backward,
        f"{name} passes it on",
        "The gradient as it came.",
        answer=lambda self, x, positions, **given: x.copy(),
    )
    made(
        backward,
        f"{name} numbers rows",
        "Rows numbered from 0; the positions are not looked at.",
        places=lambda self, positions: np.arange(len(positions)),
    )
    made(
        backward,
        f"{name} of the first head",
        "Only the first element of the leading axes turned back.",
        claimed=("interleaved",),
        answer=lambda self, x, positions, **given: _unturned_from(
            1, x, backward.answer(self, x, positions, **given)
        ),
    )


def wrong_frequencies(
    calls: tuple[type, type], name: str, why: str, formula: Formula, named: str | None = None
) -> None:
    """Register one mistake in the frequencies, for both calls."""
    for base, layout in zip(calls, ("standard", "interleaved"), strict=True):
        made(
            base,
            f"{base.__name__} {name}",
            why,
            named=named,
            frequencies=lambda self, *given, of=formula, **own: of(*given, **own),
            claimed=(layout,),
        )


def usual_mistakes(calls: tuple[Any, Any]) -> None:
    """Register mistakes that the frequencies and the rotation of any scheme can have."""
    frequencies, rotary = calls
    for kind in ("bfloat16", "float16"):
        made(
            frequencies,
            f"{frequencies.__name__} rounded to {kind}",
            "Frequencies in the dtype of a model, behind a float32 result.",
            named="narrow-frequencies",
            finish=lambda self, omega, kind=kind: narrow(omega, kind),
        )
    for base, deviation in ((frequencies, "wrong-base-frequencies"), (rotary, "wrong-base")):
        made(
            base,
            f"{base.__name__} of base 12345",
            "One base, whatever is asked for.",
            named=deviation,
            frequencies=lambda self, dim, _, right=base, **own: right.frequencies(
                self, dim, 12345.0, **own
            ),
        )
        made(
            base,
            f"{base.__name__} wrong from pair 32",
            "Pairs from 32 on get the frequency of pair 31.",
            frequencies=lambda self, *given, right=base, **own: np.where(
                np.arange(given[0] // 2) < 32,
                right.frequencies(self, *given, **own),
                right.frequencies(self, *given, **own)[min(31, given[0] // 2 - 1)],
            ),
        )
        made(
            base,
            f"{base.__name__} keeps the first call",
            "Frequencies kept by number of channels and base, whatever the scaling.",
            frequencies=_kept_by_size(base),
        )
    for claimed, given in (("half", "interleaved"), ("interleaved", "half")):
        made(
            rotary,
            f"{rotary.__name__} {given} for {claimed}",
            "The channels of the other layout.",
            named="layout-swapped",
            claimed=(claimed,),
            layout=lambda self, claimed, given=given: given,
        )
    for claimed, shift in (("half", 1), ("interleaved", -2)):
        made(
            rotary,
            f"{rotary.__name__} shifted by {shift}",
            "Positions that count from another number.",
            named="positions-shifted",
            claimed=(claimed,),
            places=lambda self, positions, shift=shift: positions + shift,
        )
    made(
        rotary,
        f"{rotary.__name__} backwards",
        "Rotation in the opposite sense.",
        named="sign-flipped",
        turn=lambda self, a, b, sin, cos: (a * cos + b * sin, b * cos - a * sin),
    )
    made(
        rotary,
        f"{rotary.__name__} of bfloat16 positions",
        "Positions held in a narrow dtype.",
        named="low-precision-angles",
        places=lambda self, positions: narrow(positions, "bfloat16"),
        limits={"max_position": 2**15},
    )
    made(
        rotary,
        f"{rotary.__name__} of float16 frequencies",
        "Frequencies held in a narrow dtype.",
        named="low-precision-angles",
        angles=lambda self, places, omega: np.multiply.outer(places, narrow(omega, "float16")),
        claimed=("interleaved",),
        limits={"max_position": 2**15},
    )
    made(
        rotary,
        f"{rotary.__name__} numbers rows",
        "Rows numbered from 0; the positions are not looked at.",
        places=lambda self, positions: np.arange(len(positions)),
    )
    made(
        rotary,
        f"{rotary.__name__} reflects",
        "One sign wrong: a reflection instead of a rotation.",
        turn=lambda self, a, b, sin, cos: (a * cos + b * sin, b * cos + a * sin),
    )
    made(
        rotary,
        f"{rotary.__name__} of narrow results",
        "Results cast to bfloat16 on the way, behind a float32 result.",
        turn=lambda self, a, b, sin, cos: tuple(
            narrow(part, "bfloat16") for part in rotary.turn(self, a, b, sin, cos)
        ),
    )
    made(
        rotary,
        f"{rotary.__name__} into float32",
        "Results are float32, whatever x is.",
        dtype="bfloat16",
        answer=lambda self, x, positions, **given: rotary.answer(
            self, x.astype(np.float32), positions, **given
        ),
    )
    made(
        rotary,
        f"{rotary.__name__} of the first heads",
        "Heads from index 2 on are returned unrotated.",
        answer=lambda self, x, positions, **given: _unturned_from(
            2, x, rotary.answer(self, x, positions, **given)
        ),
    )


def _kept_by_size(base: Any) -> Formula:
    def frequencies(self: Any, dim: int, number: float, **own: Any) -> Array:
        cache = self.__dict__.setdefault("kept", {})
        return cache.setdefault((dim, number), base.frequencies(self, dim, number, **own))

    return frequencies


def _unturned_from(head: int, x: Array, turned: Array) -> Array:
    if x.ndim > 2:
        turned[..., head:, :, :] = x[..., head:, :, :]
    return turned
