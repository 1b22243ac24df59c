"""Wrong implementations: xPos."""

from typing import Any, ClassVar

import numpy as np

from posenc_lab.miniatures.base import Array, Mistake, made, narrow
from posenc_lab.miniatures.below import below_zero


class Xpos(Mistake, steps=True):
    """Pairs rotated and scaled, in steps."""

    call = "xpos"
    claimed = ("lucidrains",)
    limits: ClassVar = {"max_position": 2047}

    def answer(
        self,
        x: Array,
        positions: Array,
        *,
        base: float,
        scale_base: float,
        downscale: int,
        center: str,
        layout: str,
    ) -> Array:
        size = x.shape[-1]
        places = self.places(positions)
        t = np.arange(size // 2)
        angles = self.angles(places[:, None] * self.base(base) ** (-2 * t / size))
        length = int(places.max(initial=-1)) + 1
        power = (places - self.middle(length, center)) / self.scale_base(scale_base)
        power = self.role(power, downscale)
        scale = self.zeta(t, size) ** self.power(power)[:, None]
        a, b = self.split(x.astype(np.float64), layout)
        cos, sin = np.cos(angles), np.sin(angles)
        return self.finish(a * cos - b * sin, b * cos + a * sin, scale, layout).astype(x.dtype)

    def places(self, positions: Array) -> Array:
        return positions

    def base(self, base: float) -> float:
        return base

    def scale_base(self, scale_base: float) -> float:
        return scale_base

    def angles(self, angles: Array) -> Array:
        return angles

    def middle(self, length: int, center: str) -> float:
        return {"zero": 0, "ceiling": (length + 1) // 2, "floor": length // 2}[center]

    def role(self, power: Array, downscale: int) -> Array:
        return -power if downscale else power

    def power(self, power: Array) -> Array:
        return power

    def zeta(self, t: Array, size: int) -> Array:
        return (2 * t / size + 0.4) / 1.4

    def paired(self, claimed: str) -> str:
        return claimed

    def split(self, x: Array, layout: str) -> tuple[Array, Array]:
        if self.paired(layout) == "interleaved":
            return x[..., 0::2], x[..., 1::2]
        return x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]

    def finish(self, a: Array, b: Array, scale: Array, layout: str) -> Array:
        return self.join(a * scale, b * scale, layout)

    def join(self, a: Array, b: Array, layout: str) -> Array:
        if self.paired(layout) == "half":
            return np.concatenate([a, b], axis=-1)
        return np.stack([a, b], axis=-1).reshape(*a.shape[:-1], 2 * a.shape[-1])


for _claimed, _given in (("lucidrains", "half"), ("flash-attention", "interleaved")):
    made(
        Xpos,
        f"Xpos {_given} for {_claimed}",
        "Pairs of another layout.",
        named="layout-swapped",
        claimed=(_claimed,),
        paired=lambda self, claimed, given=_given: given,
    )

for _claimed, _given in (
    ("uncentred", "floor"),
    ("uncentred", "ceiling"),
    ("torchscale", "floor"),
    ("torchscale", "zero"),
    ("lucidrains", "ceiling"),
    ("flash-attention", "zero"),
):
    made(
        Xpos,
        f"Xpos centre {_given} for {_claimed}",
        "Another centre.",
        named="center-swapped",
        claimed=(_claimed,),
        middle=lambda self, length, center, given=_given: Xpos.middle(self, length, given),
    )

for _name, _named, _claimed, _steps in (
    (
        "keys as queries",
        "downscale-swapped",
        "uncentred",
        {"role": lambda self, power, down: power},
    ),
    (
        "queries as keys",
        "downscale-swapped",
        "torchscale",
        {"role": lambda self, power, downscale: -power},
    ),
    ("unscaled", "scale-missing", "lucidrains", {"power": lambda self, power: 0 * power}),
    ("unscaled halves", "scale-missing", "flash-attention", {"power": lambda self, p: 0 * p}),
    ("scaled twice", "scale-squared", "lucidrains", {"power": lambda self, power: 2 * power}),
    ("not divided", "zeta-wrong", "uncentred", {"zeta": lambda self, t, size: 2 * t / size + 0.4}),
    (
        "of half the index",
        "zeta-wrong",
        "torchscale",
        {"zeta": lambda self, t, size: (t / size + 0.4) / 1.4},
    ),
    (
        "reversed",
        "zeta-wrong",
        "flash-attention",
        {"zeta": lambda self, t, size: Xpos.zeta(self, t, size)[::-1]},
    ),
    ("of scale base 512", "wrong-scale-base", "lucidrains", {"scale_base": lambda self, b: 512.0}),
    ("of base 10,000", "wrong-base", "lucidrains", {"base": lambda self, base: 10000.0}),
    ("one ahead", "positions-shifted", "uncentred", {"places": lambda self, p: p + 1}),
    ("backwards", "sign-flipped", "lucidrains", {"angles": lambda self, angles: -angles}),
    (
        "of bfloat16 angles",
        "low-precision-angles",
        "flash-attention",
        {"angles": lambda self, angles: narrow(angles, "bfloat16")},
    ),
    ("clipped", None, "uncentred", {"power": lambda self, power: np.clip(power, -1, 1)}),
    ("of whole powers", None, "uncentred", {"power": lambda self, power: np.trunc(power)}),
    (
        "of a bfloat16 zeta",
        None,
        "lucidrains",
        {"zeta": lambda self, t, size: narrow(Xpos.zeta(self, t, size), "bfloat16")},
    ),
    (
        "of a bfloat16 power",
        None,
        "lucidrains",
        {"power": lambda self, power: narrow(power, "bfloat16")},
    ),
    (
        "of a fixed middle",
        None,
        "lucidrains",
        {"middle": lambda self, length, center: 256},
    ),
):
    made(Xpos, f"Xpos {_name}", "One step otherwise.", named=_named, claimed=(_claimed,), **_steps)


class XposScalesTiled(Xpos):
    """Scales are tiled over interleaved pairs, as in rotary-embedding-torch before #34."""

    named = "scales-misplaced"

    def finish(self, a: Array, b: Array, scale: Array, layout: str) -> Array:
        return self.join(a, b, layout) * np.tile(scale, 2)


class XposScalesRepeated(Xpos):
    """Scales are repeated as for interleaved pairs, in the half layout."""

    named = "scales-misplaced"
    claimed = ("flash-attention",)

    def finish(self, a: Array, b: Array, scale: Array, layout: str) -> Array:
        return self.join(a, b, layout) * np.repeat(scale, 2, axis=-1)


class XposCentredAtRows(Xpos):
    """The centre is computed from the number of rows, which is 1 in decoding."""

    def answer(self, x: Array, positions: Array, **keywords: Any) -> Array:
        self.rows = len(positions)
        return super().answer(x, positions, **keywords)

    def middle(self, length: int, center: str) -> float:
        return super().middle(self.rows, center)


class XposKeepsTheLongestCentre(Xpos):
    """The centre is that of the longest text so far, as in a table that only grows."""

    claimed = ("flash-attention",)
    longest = 0

    def middle(self, length: int, center: str) -> float:
        self.longest = max(self.longest, length)
        return super().middle(self.longest, center)


class XposWrongFromRow128(Xpos):
    """Rows from index 128 on are not rotated, as by a kernel launched for one block."""

    claimed = ("torchscale",)

    def answer(self, x: Array, positions: Array, **keywords: Any) -> Array:
        out = super().answer(x, positions, **keywords)
        out[..., 128:, :] = x[..., 128:, :]
        return out


class XposOneRowShort(Xpos):
    """Position 131,071 gets the previous position's row, as from a table one row short."""

    claimed = ("uncentred",)
    limits: ClassVar = {"max_position": 131071}

    def places(self, positions: Array) -> Array:
        return np.where(positions == 131071, 131070, positions)


class XposKeysAtMost100(Xpos):
    """The scale is capped at 100."""

    claimed = ("torchscale",)
    limits: ClassVar = {"max_position": 4095}

    def finish(self, a: Array, b: Array, scale: Array, layout: str) -> Array:
        return super().finish(a, b, np.minimum(scale, 100), layout)


class XposBack(Xpos, steps=True):
    """Upstream gradients rotated back, with the scale of the forward pass, in steps."""

    call = "xpos_vjp"

    def angles(self, angles: Array) -> Array:
        return -angles


for _name, _named, _claimed, _steps in (
    ("forward", "backward-is-forward", "torchscale", {"angles": Xpos.angles}),
    ("forward halves", "backward-is-forward", "flash-attention", {"angles": Xpos.angles}),
    (
        "inverted",
        "backward-inverse",
        "lucidrains",
        {"role": lambda self, power, downscale: power if downscale else -power},
    ),
    (
        "inverted halves",
        "backward-inverse",
        "flash-attention",
        {"role": lambda self, power, downscale: power if downscale else -power},
    ),
    ("unscaled", "backward-scale-missing", "torchscale", {"power": lambda self, power: 0 * power}),
    (
        "of neighbours",
        "backward-layout-swapped",
        "flash-attention",
        {"paired": lambda self, claimed: "interleaved"},
    ),
    ("of queries", None, "lucidrains", {"role": lambda self, power, downscale: power}),
    ("uncentred", None, "torchscale", {"middle": lambda self, length, center: 0}),
    ("scaled twice", None, "flash-attention", {"power": lambda self, power: 2 * power}),
):
    made(
        XposBack,
        f"XposBack {_name}",
        "One step otherwise.",
        named=_named,
        claimed=(_claimed,),
        **_steps,
    )


class XposBackCentredAtRows(XposBack):
    """The centre is that of a text of one token, as if computed from negated positions."""

    def middle(self, length: int, center: str) -> float:
        return super().middle(1, center)


below_zero(Xpos, "uncentred")
below_zero(XposBack, "torchscale")
