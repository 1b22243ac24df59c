"""Wrong implementations: timestep embeddings."""

from typing import Any, ClassVar

import numpy as np

from posenc_lab.miniatures.base import KINDS, Array, Mistake, made, narrow


class Times(Mistake, steps=True):
    """diffusers' get_timestep_embedding, by parts."""

    call = "timestep"
    claimed = ("ddpm",)
    limits: ClassVar[dict[str, Any]] = {"max_position": 100_000}

    def answer(
        self,
        positions: Array,
        dim: int,
        *,
        max_period: float,
        scale: float,
        dtype: str,
        order: str,
        frequency_shift: int,
    ) -> Array:
        half = dim // 2
        if half in (0, frequency_shift):
            raise ZeroDivisionError(dim)
        omega = self.frequencies(half, half - frequency_shift, max_period)
        angles = self.angles(np.asarray(positions, np.float64), omega, scale)
        waves = self.waves(angles)
        first, second = waves[::-1] if order == "cos-sin" else waves
        rows = self.join(first, second, dim % 2)
        return self.finish(rows, scale).astype(KINDS[dtype])

    def frequencies(self, half: int, steps: int, max_period: float) -> Array:
        return np.exp(-np.log(max_period) * np.arange(half) / steps)

    def angles(self, time: Array, omega: Array, scale: float) -> Array:
        return scale * (time[:, None] * omega)

    def waves(self, angles: Array) -> tuple[Array, Array]:
        return np.sin(angles), np.cos(angles)

    def join(self, first: Array, second: Array, odd: int) -> Array:
        return np.hstack([first, second, np.zeros((len(first), odd))])

    def finish(self, rows: Array, scale: float) -> Array:
        return rows


def _angles_of(change: Any) -> Any:
    """Return an angles method that applies ``change`` to the timesteps first."""
    return lambda self, time, omega, scale: Times.angles(self, change(time), omega, scale)


def _side_by_side(self: Any, first: Array, second: Array, odd: int) -> Array:
    both = np.stack([first, second], axis=2).reshape(len(first), -1)
    return np.pad(both, ((0, 0), (0, odd)))


for _claim in ("ddpm", "adm", "ernie-image", "diffusers-dit"):
    made(
        Times,
        f"Times {_claim} in the other order",
        "Flipped once too often.",
        named="order-swapped",
        claimed=(_claim,),
        waves=lambda self, angles: Times.waves(self, angles)[::-1],
    )
    made(
        Times,
        f"Times {_claim} without scale",
        "Scale given and not used.",
        named="scale-ignored",
        claimed=(_claim,),
        angles=lambda self, time, omega, scale: Times.angles(self, time, omega, 1.0),
    )
    made(
        Times,
        f"Times {_claim} of bfloat16 timesteps",
        "Timesteps cast to the dtype of the model, behind a float32 result.",
        named="low-precision-timesteps",
        claimed=(_claim,),
        angles=_angles_of(lambda time: narrow(time, "bfloat16")),
    )
    made(
        Times,
        f"Times {_claim} of whole timesteps",
        "Timesteps cast to integers.",
        named="whole-timesteps",
        claimed=(_claim,),
        angles=_angles_of(np.trunc),
    )
    made(
        Times,
        f"Times {_claim} of period 1000",
        "A max_period written into the code.",
        named="wrong-period",
        claimed=(_claim,),
        frequencies=lambda self, half, steps, max_period: Times.frequencies(
            self, half, steps, 1000.0
        ),
    )

for _claim in ("ddpm", "diffusers-dit"):
    made(
        Times,
        f"Times {_claim} unshifted",
        "The exponent divided by the number of pairs.",
        named="shift-swapped",
        claimed=(_claim,),
        frequencies=lambda self, half, steps, max_period: Times.frequencies(
            self, half, steps + 1, max_period
        ),
    )


class TimesAdmShifted(Times):
    """Exponents are divided by one less than the number of pairs."""

    named = "shift-swapped"
    claimed = ("adm",)
    limits: ClassVar[dict[str, Any]] = {"dim": (8, 5, 256), "max_position": 1000}

    def frequencies(self, half: int, steps: int, max_period: float) -> Array:
        return super().frequencies(half, steps - 1, max_period)


class TimesSideBySide(Times):
    """Sines and cosines are interleaved."""

    named = "interleaved"
    join = _side_by_side


class TimesSideBySideAdm(Times):
    """Cosines and sines are interleaved."""

    named = "interleaved"
    claimed = ("adm",)
    join = _side_by_side


class TimesScaledAfter(Times):
    """The scale multiplies the result, as documentation once said."""

    named = "scale-on-result"
    claimed = ("adm",)

    def angles(self, time: Array, omega: Array, scale: float) -> Array:
        return time[:, None] * omega

    def finish(self, rows: Array, scale: float) -> Array:
        return rows * scale


class TimesRoundedAfterScaling(Times):
    """Scaled timesteps are rounded to integers, as for an embedding table."""

    named = "whole-timesteps"
    claimed = ("adm",)

    def angles(self, time: Array, omega: Array, scale: float) -> Array:
        return np.outer(np.rint(time * scale), omega)


class TimesScaledInBfloat16(Times):
    """Timesteps are multiplied by the scale in bfloat16."""

    named = "low-precision-timesteps"
    claimed = ("adm",)

    def angles(self, time: Array, omega: Array, scale: float) -> Array:
        return np.outer(narrow(narrow(time, "bfloat16") * scale, "bfloat16"), omega)


class TimesOfBfloat16Frequencies(Times):
    """Frequencies are held in bfloat16 for a float32 result."""

    named = "low-precision-timesteps"
    claimed = ("adm",)

    def frequencies(self, half: int, steps: int, max_period: float) -> Array:
        return narrow(super().frequencies(half, steps, max_period), "bfloat16")


class TimesOfFloat16Angles(Times):
    """Angles are held in float16 for a float32 result."""

    named = "low-precision-timesteps"
    limits: ClassVar[dict[str, Any]] = {"scale": 1.0, "max_position": 60_000}

    def angles(self, time: Array, omega: Array, scale: float) -> Array:
        return narrow(super().angles(time, omega, scale), "float16")


class TimesZerosFirst(Times):
    """Zero padding comes first."""

    named = "zeros-misplaced"

    def join(self, first: Array, second: Array, odd: int) -> Array:
        return np.hstack([np.zeros((len(first), odd)), first, second])


class TimesZerosBetween(Times):
    """Zero padding comes between the halves."""

    named = "zeros-misplaced"
    claimed = ("adm",)

    def join(self, first: Array, second: Array, odd: int) -> Array:
        return np.hstack([first, np.zeros((len(first), odd)), second])


class TimesWithoutPadding(Times):
    """An odd dim has one channel too few."""

    def join(self, first: Array, second: Array, odd: int) -> Array:
        return np.hstack([first, second])


class TimesRepeatTheLastWave(Times):
    """An odd dim repeats the last channel instead of appending zeros."""

    claimed = ("ernie-image",)

    def join(self, first: Array, second: Array, odd: int) -> Array:
        return np.pad(np.hstack([first, second]), ((0, 0), (0, odd)), mode="edge")


class TimesSinesTwice(Times):
    """Both halves are sines."""

    claimed = ("diffusers-dit",)

    def waves(self, angles: Array) -> tuple[Array, Array]:
        return np.sin(angles), np.sin(angles)


class TimesOfTheWholeTurn(Times):
    """Angles are multiplied by 2π, as in Fourier features."""

    def angles(self, time: Array, omega: Array, scale: float) -> Array:
        return 2 * np.pi * super().angles(time, omega, scale)


class TimesScaledTwice(Times):
    """The scale is applied twice: by the caller's helper and inside."""

    claimed = ("adm",)

    def angles(self, time: Array, omega: Array, scale: float) -> Array:
        return super().angles(time * scale, omega, scale)


class TimesUpTo999(Times):
    """Timesteps are clamped at 999, as with a table of 1,000 rows."""

    angles = _angles_of(lambda time: np.minimum(time, 999))


class TimesNegative(Times):
    """Timesteps are negated."""

    claimed = ("adm",)
    angles = _angles_of(np.negative)


class TimesWrongFromPair64(Times):
    """Pairs from index 64 on repeat the first ones, as in a kernel with one block."""

    claimed = ("adm",)

    def frequencies(self, half: int, steps: int, max_period: float) -> Array:
        return super().frequencies(half, steps, max_period)[np.arange(half) % 64]


class TimesWrongFromRow512(Times):
    """Rows from index 512 on are 0."""

    def finish(self, rows: Array, scale: float) -> Array:
        return rows * (np.arange(len(rows)) < 512)[:, None]


class TimesMoveTheInput(Times):
    """The caller's timesteps are increased by 1 in place."""

    claimed = ("ernie-image",)

    def answer(self, positions: Array, dim: int, **rest: Any) -> Array:
        rows = super().answer(positions, dim, **rest)
        positions += 1
        return rows


class TimesKeepTheFirstPeriod(Times):
    """Frequencies are cached by their number, ignoring max_period."""

    claimed = ("adm",)

    def __init__(self) -> None:
        self._kept: dict[int, Array] = {}

    def frequencies(self, half: int, steps: int, max_period: float) -> Array:
        if half not in self._kept:
            self._kept[half] = super().frequencies(half, steps, max_period)
        return self._kept[half]
