"""Wrong implementations: PoPE."""

from typing import Any

import numpy as np

from posenc_lab.miniatures.base import Array, Mistake, made, narrow
from posenc_lab.miniatures.below import below_zero


class Polar(Mistake, steps=True):
    """Queries in polar coordinates, in steps."""

    call = "pope_query"
    claimed = ("half",)

    def answer(self, x: Array, positions: Array, *, layout: str, base: float) -> Array:
        return self.turned(x, positions, np.zeros(x.shape[-1]), layout, base)

    def turned(self, x: Array, positions: Array, bias: Array, layout: str, base: float) -> Array:
        if base <= 0:
            raise ValueError(base)
        angle = self.angles(
            self.positions(positions)[:, None] * self.frequencies(x.shape[-1], base), bias
        )
        length = self.length(x.astype(np.float64))
        cos, sin = self.waves(angle)
        return self.join(length * cos, length * sin, layout == "half").astype(x.dtype)

    def positions(self, positions: Array) -> Array:
        return positions

    def frequencies(self, head_dim: int, base: float) -> Array:
        return float(base) ** (-np.arange(head_dim) / head_dim)

    def angles(self, turned: Array, bias: Array) -> Array:
        return turned + self.limited(bias)

    def limited(self, bias: Array) -> Array:
        return np.clip(bias.astype(np.float64), -2 * np.pi, 0)

    def length(self, x: Array) -> Array:
        return np.logaddexp(x, 0)

    def waves(self, angle: Array) -> tuple[Array, Array]:
        return np.cos(angle), np.sin(angle)

    def join(self, cos: Array, sin: Array, half: bool) -> Array:
        if half:
            return np.concatenate([cos, sin], axis=-1)
        return np.stack([cos, sin], axis=-1).reshape(*cos.shape[:-1], 2 * cos.shape[-1])


class PolarKeys(Polar, steps=True):
    """Keys in polar coordinates, in steps."""

    call = "pope_key"

    def answer(self, x: Array, positions: Array, bias: Array, *, layout: str, base: float) -> Array:
        return self.turned(x, positions, bias, layout, base)


_named: str | None
_steps: dict[str, Any]

for _base in (Polar, PolarKeys):
    for _claim in ("half", "interleaved"):
        for _name, _named, _steps in (
            (
                "in the other layout",
                "layout-swapped",
                {"join": lambda self, cos, sin, half: Polar.join(self, cos, sin, not half)},
            ),
            (
                "with waves swapped",
                "waves-swapped",
                {"waves": lambda self, angle: (np.sin(angle), np.cos(angle))},
            ),
            (
                "whose lengths overflow",
                None,
                {"length": lambda self, x: np.log1p(np.exp(x.astype(np.float32)))},
            ),
            (
                "whose lengths end at -20",
                None,
                {"length": lambda self, x: np.where(x < -20, 0, np.logaddexp(x, 0))},
            ),
            (
                "in pairs",
                "frequencies-of-pairs",
                {
                    "frequencies": lambda self, head_dim, base: (
                        float(base) ** (-2 * np.arange(head_dim) / head_dim)
                    )
                },
            ),
            ("of channels themselves", "length-wrong", {"length": lambda self, x: x}),
            (
                "turning back",
                "negated-angles",
                {"waves": lambda self, angle: (np.cos(angle), -np.sin(angle))},
            ),
            ("from 1", "positions-shifted", {"positions": lambda self, positions: positions + 1}),
            (
                "of bfloat16 positions",
                "low-precision-angles",
                {"positions": lambda self, positions: narrow(positions, "bfloat16")},
            ),
            (
                "of bfloat16 angles and waves",
                "low-precision-angles",
                {
                    "angles": lambda self, turned, bias: Polar.angles(
                        self, narrow(turned, "bfloat16"), bias
                    ),
                    "waves": lambda self, angle: (
                        narrow(np.cos(angle), "bfloat16"),
                        narrow(np.sin(angle), "bfloat16"),
                    ),
                },
            ),
        ):
            made(
                _base,
                f"{_base.__name__} {_claim} {_name}",
                "One step otherwise.",
                named=_named,
                claimed=(_claim,),
                **_steps,
            )

for _base in (Polar, PolarKeys):
    for _name, _named, _steps in (
        ("rectified", "length-wrong", {"length": lambda self, x: np.maximum(x, 0)}),
        (
            "of another base",
            "wrong-base",
            {"frequencies": lambda self, head_dim, base: Polar.frequencies(self, head_dim, 1e6)},
        ),
        (
            "of bfloat16 lengths",
            None,
            {"length": lambda self, x: narrow(np.logaddexp(x, 0), "bfloat16")},
        ),
        (
            "up to 4096",
            None,
            {"positions": lambda self, positions: np.minimum(positions, 4096)},
        ),
        (
            "of rows counted anew",
            None,
            {"positions": lambda self, positions: np.arange(len(positions))},
        ),
    ):
        made(_base, f"{_base.__name__} {_name}", "One step otherwise.", named=_named, **_steps)

for _claim in ("half", "interleaved"):
    for _name, _named, _steps in (
        ("without phases", "phase-ignored", {"angles": lambda self, turned, bias: turned}),
        (
            "with phases subtracted",
            "phase-ignored",
            {"angles": lambda self, turned, bias: turned - Polar.limited(self, bias)},
        ),
    ):
        made(
            PolarKeys,
            f"PolarKeys {_claim} {_name}",
            "One step otherwise.",
            named=_named,
            claimed=(_claim,),
            **_steps,
        )

for _name, _named, _steps in (
    (
        "without limits",
        "phase-unlimited",
        {"limited": lambda self, bias: bias.astype(np.float64)},
    ),
    (
        "up to 0",
        "phase-unlimited",
        {"limited": lambda self, bias: np.clip(bias.astype(np.float64), 0, 2 * np.pi)},
    ),
):
    made(PolarKeys, f"PolarKeys {_name}", "One step otherwise.", named=_named, **_steps)

below_zero(Polar, "half")
below_zero(PolarKeys, "half")
