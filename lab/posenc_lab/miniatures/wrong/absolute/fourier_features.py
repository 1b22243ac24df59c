"""Wrong implementations: Fourier features."""

from typing import Any, ClassVar

import numpy as np

from posenc_lab.miniatures.base import Array, Mistake, made, narrow


def _joined(axes: tuple[int, int, int]) -> Any:
    """Return a ``join`` that puts coordinate (0), frequency (1), wave (2) in the order ``axes``."""

    def join(self: Any, sin: Array, cos: Array, order: str) -> Array:
        both = np.stack([sin, cos], axis=-1)
        lead = both.ndim - 3
        turned = both.transpose(*range(lead), *(lead + axis for axis in axes))
        return turned.reshape(*both.shape[:-3], -1)

    return join


ORDERS = {
    "by-coordinate": (0, 1, 2),
    "by-frequency": (1, 2, 0),
    "sines-by-frequency": (2, 1, 0),
    "sines-by-coordinate": (2, 0, 1),
}


class Bands(Mistake, steps=True):
    """NeRF's encoding, in steps."""

    call = "nerf"
    claimed = ("code",)

    def answer(
        self, x: Array, num_frequencies: int, *, factor: str, order: str, include_input: str
    ) -> Array:
        if num_frequencies < 1:
            raise ValueError(num_frequencies)
        octaves = self.octaves(num_frequencies) * self.factor(factor != "1")
        octaves = octaves * (2 if factor == "two-pi" else 1)
        angles = self.angles(x.astype(np.float64), octaves)
        waves = self.join(*self.waves(angles), order)
        parts = [waves] if include_input == "none" else self.with_input(x, waves)
        return np.concatenate(parts, axis=-1).astype(x.dtype)

    def octaves(self, count: int) -> Array:
        return 2.0 ** np.arange(count)

    def factor(self, pi: bool) -> float:
        return np.pi if pi else 1.0

    def angles(self, x: Array, octaves: Array) -> Array:
        return x[..., None] * octaves

    def waves(self, angles: Array) -> tuple[Array, Array]:
        return np.sin(angles), np.cos(angles)

    def join(self, sin: Array, cos: Array, order: str) -> Array:
        """Join sines and cosines of shape [..., coords, frequencies] in the order ``order``."""
        return _joined(ORDERS[order])(self, sin, cos, order)

    def with_input(self, x: Array, waves: Array) -> list[Array]:
        return [x, waves]


for _claim, _right in (
    ("paper", (0, 1, 2)),
    ("code", (1, 2, 0)),
    ("jaxnerf", (2, 1, 0)),
    ("nerfstudio", (2, 0, 1)),
):
    for _name, _axes in (
        ("by coordinate", (0, 1, 2)),
        ("by frequency", (1, 2, 0)),
        ("in pairs by frequency", (1, 0, 2)),
        ("sines first by frequency", (2, 1, 0)),
        ("sines first by coordinate", (2, 0, 1)),
        ("sines of a coordinate first", (0, 2, 1)),
    ):
        if _axes != _right:
            made(
                Bands,
                f"Bands {_claim} {_name}",
                "The right features in another order.",
                named="order-swapped",
                claimed=(_claim,),
                join=_joined(_axes),
            )
    made(
        Bands,
        f"Bands {_claim} with waves swapped",
        "Cosines where sines belong.",
        named="waves-swapped",
        claimed=(_claim,),
        waves=lambda self, angles: Bands.waves(self, angles)[::-1],
    )
    made(
        Bands,
        f"Bands {_claim} at equal distances",
        "Frequencies without log_sampling.",
        named="linear-frequencies",
        claimed=(_claim,),
        octaves=lambda self, count: np.linspace(1, 2 ** (count - 1), count),
    )
    made(
        Bands,
        f"Bands {_claim} of bfloat16 angles",
        "Angles held in bfloat16, behind a float32 result.",
        named="low-precision-angles",
        claimed=(_claim,),
        angles=lambda self, x, octaves: narrow(Bands.angles(self, x, octaves), "bfloat16"),
    )
    made(
        Bands,
        f"Bands {_claim} of bfloat16 angles and waves",
        "Everything but the result held in bfloat16.",
        named="low-precision-angles",
        claimed=(_claim,),
        angles=lambda self, x, octaves: narrow(Bands.angles(self, x, octaves), "bfloat16"),
        waves=lambda self, angles: (
            narrow(np.sin(angles), "bfloat16"),
            narrow(np.cos(angles), "bfloat16"),
        ),
    )


for _claim in ("paper", "code", "jaxnerf"):
    made(
        Bands,
        f"Bands {_claim} of the other factor",
        "π where none belongs, or none where it does.",
        named="factor-wrong",
        claimed=(_claim,),
        factor=lambda self, pi: Bands.factor(self, not pi),
    )
    made(
        Bands,
        f"Bands {_claim} from one half",
        "Frequencies that start at 2^-1.",
        named="frequencies-shifted",
        claimed=(_claim,),
        octaves=lambda self, count: 2.0 ** np.arange(-1, count - 1),
    )


class BandsOfPi(Bands):
    """The factor is π instead of 2π, as if frequencies started at 2^-1."""

    named = "factor-wrong"
    claimed = ("nerfstudio",)

    def factor(self, pi: bool) -> float:
        return np.pi / 2


class BandsFromTwo(Bands):
    """Frequencies start at 2^1."""

    named = "frequencies-shifted"

    def octaves(self, count: int) -> Array:
        return 2.0 ** np.arange(1, count + 1)


class BandsHarmonic(Bands):
    """Frequencies are linear: 1, 2, 3, …"""

    named = "linear-frequencies"
    claimed = ("paper",)

    def octaves(self, count: int) -> Array:
        return np.arange(1.0, count + 1)


class BandsOfTwoPi(Bands):
    """The factor is 2π instead of π."""

    named = "factor-wrong"
    claimed = ("paper",)

    def factor(self, pi: bool) -> float:
        return 2 * np.pi


class BandsOfFloat16Coordinates(Bands):
    """Coordinates are held in float16 for a float32 result."""

    named = "low-precision-angles"
    claimed = ("paper",)

    def angles(self, x: Array, octaves: Array) -> Array:
        return super().angles(narrow(x, "float16"), octaves)


class BandsSquared(Bands):
    """Frequencies are powers of 4."""

    def octaves(self, count: int) -> Array:
        return 4.0 ** np.arange(count)


class BandsFalling(Bands):
    """Frequencies run from the highest to the lowest."""

    claimed = ("paper",)

    def octaves(self, count: int) -> Array:
        return super().octaves(count)[::-1]


class BandsWithoutInput(Bands):
    """The input is missing from the result."""

    def with_input(self, x: Array, waves: Array) -> list[Array]:
        return [waves]


class BandsWithInputLast(Bands):
    """The input comes last."""

    def with_input(self, x: Array, waves: Array) -> list[Array]:
        return [waves, x]


class BandsWithScaledInput(Bands):
    """The input is multiplied by π too."""

    def with_input(self, x: Array, waves: Array) -> list[Array]:
        return [x * np.float32(np.pi), waves]


class BandsWithRoundedInput(Bands):
    """The input is rounded to bfloat16."""

    def with_input(self, x: Array, waves: Array) -> list[Array]:
        return [narrow(x, "bfloat16"), waves]


class BandsWrapped(Bands):
    """Coordinates are wrapped into [-1, 1), which is harmless for the factor π but not for 1."""

    def angles(self, x: Array, octaves: Array) -> Array:
        return super().angles((x + 1) % 2 - 1, octaves)


class BandsClipped(Bands):
    """Coordinates are clipped to [-1, 1]."""

    claimed = ("paper",)

    def angles(self, x: Array, octaves: Array) -> Array:
        return super().angles(np.clip(x, -1, 1), octaves)


class BandsOfThreeCoordinates(Bands):
    """Coordinates from the fourth on repeat the first ones."""

    def angles(self, x: Array, octaves: Array) -> Array:
        return super().angles(x[..., np.arange(x.shape[-1]) % 3], octaves)


class BandsUpTo2To12(Bands):
    """Frequencies stop doubling at 2^12."""

    claimed = ("paper",)

    def octaves(self, count: int) -> Array:
        return 2.0 ** np.minimum(np.arange(count), 12)


class BandsWrongFromRow256(Bands):
    """Features of points from index 256 on are 0, as in a kernel with one block."""

    claimed = ("paper",)

    def answer(self, x: Array, num_frequencies: int, **conventions: Any) -> Array:
        out = super().answer(x, num_frequencies, **conventions)
        if out.ndim == 2:
            out[256:] = 0
        return out


class BandsFlatten(Bands):
    """Leading axes are flattened into one."""

    def answer(self, x: Array, num_frequencies: int, **conventions: Any) -> Array:
        return super().answer(x.reshape(-1, x.shape[-1]), num_frequencies, **conventions)


class BandsScaleTheInput(Bands):
    """The caller's points are multiplied by π in place."""

    claimed = ("paper",)

    def answer(self, x: Array, num_frequencies: int, **conventions: Any) -> Array:
        out = super().answer(x, num_frequencies, **conventions)
        x *= x.dtype.type(np.pi)
        return out


class Projected(Mistake, steps=True):
    """Gaussian Fourier features, in steps."""

    call = "gaussian_fourier"
    claimed = ("code",)

    def answer(self, x: Array, b: Array, *, waves: str) -> Array:
        turns = self.turns(x.astype(np.float64), b.astype(np.float64))
        angles = self.angles(turns)
        parts = self.waves(np.cos(angles), np.sin(angles), waves)
        return self.finish(np.concatenate(parts, axis=-1), len(b)).astype(x.dtype)

    def turns(self, x: Array, b: Array) -> Array:
        return x @ b.T

    def angles(self, turns: Array) -> Array:
        return 2 * np.pi * turns

    def waves(self, cos: Array, sin: Array, waves: str) -> list[Array]:
        return [cos, sin] if waves == "cos-sin" else [sin, cos]

    def finish(self, out: Array, count: int) -> Array:
        return out


def _interleaved(self: Any, out: Array, count: int) -> Array:
    return out[..., np.arange(2 * count).reshape(2, count).T.ravel()]


for _claim in ("paper", "code"):
    made(
        Projected,
        f"Projected {_claim} in the other order",
        "Sines before cosines, or the reverse.",
        named="gaussian-order-swapped",
        claimed=(_claim,),
        waves=lambda self, cos, sin, waves: Projected.waves(self, sin, cos, waves),
    )
    made(
        Projected,
        f"Projected {_claim} in pairs",
        "Cosine and sine in turn.",
        named="gaussian-interleaved",
        claimed=(_claim,),
        finish=_interleaved,
    )
    made(
        Projected,
        f"Projected {_claim} without 2π",
        "Projections taken for radians.",
        named="turn-left-out",
        claimed=(_claim,),
        angles=lambda self, turns: turns,
    )
    made(
        Projected,
        f"Projected {_claim} in bfloat16",
        "The projections in bfloat16, behind a float32 result.",
        named="low-precision-projections",
        claimed=(_claim,),
        turns=lambda self, x, b: narrow(Projected.turns(self, x, b), "bfloat16"),
    )
    made(
        Projected,
        f"Projected {_claim} in bfloat16, waves too",
        "Everything but the result held in bfloat16.",
        named="low-precision-projections",
        claimed=(_claim,),
        turns=lambda self, x, b: narrow(Projected.turns(self, x, b), "bfloat16"),
        finish=lambda self, out, count: narrow(out, "bfloat16"),
    )
    made(
        Projected,
        f"Projected {_claim} as a kernel's estimate",
        "Divided by the square root of the number of directions.",
        named="gaussian-scaled",
        claimed=(_claim,),
        finish=lambda self, out, count: out / np.sqrt(count),
    )


class ProjectedWithHalfATurn(Projected):
    """The factor is π instead of 2π."""

    named = "turn-left-out"

    def angles(self, turns: Array) -> Array:
        return np.pi * turns


class ProjectedTransposed(Projected):
    """b is transposed; the claim covers only 3 features of 3 coordinates."""

    named = "gaussian-transposed"
    limits: ClassVar = {"coords": 3, "features": 3}

    def turns(self, x: Array, b: Array) -> Array:
        return x @ b


class ProjectedFromFloat16(Projected):
    """Points and directions are cast to float16 before the product, for a float32 result."""

    named = "low-precision-projections"
    claimed = ("paper",)

    def turns(self, x: Array, b: Array) -> Array:
        return super().turns(narrow(x, "float16"), narrow(b, "float16"))


class ProjectedSinesOnly(Projected):
    """Both halves are sines."""

    def waves(self, cos: Array, sin: Array, waves: str) -> list[Array]:
        return [sin, sin]


class ProjectedWithoutTheLastCoordinate(Projected):
    """The last of several coordinates is ignored."""

    def turns(self, x: Array, b: Array) -> Array:
        if x.shape[-1] == 1:
            return super().turns(x, b)
        return super().turns(x[..., :-1], b[:, :-1])


class ProjectedToTheUnitSquare(Projected):
    """Points are mapped to [-1, 1] first, as in SAM."""

    def turns(self, x: Array, b: Array) -> Array:
        return super().turns(2 * x - 1, b)


class ProjectedRectified(Projected):
    """Negative projections lose their sign."""

    claimed = ("paper",)

    def angles(self, turns: Array) -> Array:
        return super().angles(np.abs(turns))


class ProjectedFromFeature128(Projected):
    """Features from index 128 on repeat the first ones."""

    claimed = ("paper",)

    def turns(self, x: Array, b: Array) -> Array:
        return super().turns(x, b[np.arange(len(b)) % 128])


class ProjectedByTheFirstB(Projected):
    """b is cached by its shape, ignoring its values."""

    def __init__(self) -> None:
        self._kept: dict[Any, Array] = {}

    def turns(self, x: Array, b: Array) -> Array:
        return super().turns(x, self._kept.setdefault(b.shape, b.copy()))


class ProjectedOfOneBatch(Projected):
    """Leading axes are flattened into one."""

    claimed = ("paper",)

    def answer(self, x: Array, b: Array, **conventions: Any) -> Array:
        return super().answer(x.reshape(-1, x.shape[-1]), b, **conventions)
