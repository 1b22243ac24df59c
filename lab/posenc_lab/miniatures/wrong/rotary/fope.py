"""Wrong implementations: FoPE."""

from typing import Any

import numpy as np

from posenc_lab.miniatures.base import Array, Mistake, made, narrow
from posenc_lab.miniatures.below import below_zero


class Fourier(Mistake, steps=True):
    """Pairs rotated with weighted sums of sines and cosines, in steps."""

    call = "fope"
    claimed = ("ones",)

    def answer(
        self,
        x: Array,
        positions: Array,
        sin_coef: Array,
        cos_coef: Array,
        *,
        rest: str,
        original_max_position_embeddings: int,
        base: float,
    ) -> Array:
        head_dim = x.shape[-1]
        if head_dim % 2 or sin_coef.shape != cos_coef.shape:
            raise ValueError((x.shape, sin_coef.shape, cos_coef.shape))
        every = self.frequencies(head_dim, base)
        if np.sum(
            Fourier.frequencies(self, head_dim, base) * original_max_position_embeddings > 2 * np.pi
        ) != len(sin_coef):
            raise ValueError(sin_coef.shape)
        angle = self.positions(positions)[:, None] * self.kept(every, len(sin_coef))
        sin, cos = self.sums(angle, sin_coef.astype(float), cos_coef.astype(float))
        width = [(0, 0), (0, head_dim // 2 - sin.shape[1])]
        by_sin, by_cos = self.rest(rest == "ones")
        sin = np.pad(sin, width, constant_values=by_sin)
        cos = np.pad(cos, width, constant_values=by_cos)
        return self.turned(x.astype(np.float64), self.sine(sin), cos).astype(x.dtype)

    def positions(self, positions: Array) -> Array:
        return positions

    def frequencies(self, head_dim: int, base: float) -> Array:
        return float(base) ** (-np.arange(0, head_dim, 2) / head_dim)

    def kept(self, every: Array, number: int) -> Array:
        return every[:number]

    def sums(self, angle: Array, sin_coef: Array, cos_coef: Array) -> tuple[Array, Array]:
        return np.sin(angle) @ sin_coef, np.cos(angle) @ cos_coef

    def sine(self, sin: Array) -> Array:
        return sin

    def rest(self, ones: bool) -> tuple[float, float]:
        return (1.0, 1.0) if ones else (0.0, 1.0)

    def turned(self, x: Array, sin: Array, cos: Array) -> Array:
        first, second = np.split(x, 2, axis=-1)
        return np.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)


class FourierExceptRest(Fourier):
    """Sines have the opposite sign, except for pairs without coefficients."""

    named = "negated-angles"

    def sums(self, angle: Array, sin_coef: Array, cos_coef: Array) -> tuple[Array, Array]:
        return Fourier.sums(self, -angle, sin_coef, cos_coef)


def neighbours(self: Fourier, x: Array, sin: Array, cos: Array) -> Array:
    """Rotate channels 2t and 2t + 1 as pairs."""
    first, second = x[..., 0::2], x[..., 1::2]
    parts = [first * cos - second * sin, second * cos + first * sin]
    return np.stack(parts, axis=-1).reshape(x.shape)


def sums_of(change: Any) -> Any:
    """Return a ``sums`` step with changed coefficients."""
    return lambda self, angle, sin_coef, cos_coef: Fourier.sums(
        self, angle, *change(sin_coef, cos_coef)
    )


def eye(sin_coef: Array) -> Array:
    return np.eye(*sin_coef.shape)


def normalized(coefficients: Array) -> Array:
    total = coefficients.sum(axis=0)
    return np.divide(coefficients, np.where(total == 0, 1, total))


_named: str | None
_steps: dict[str, Any]

for _claim in ("ones", "unchanged"):
    for _name, _named, _steps in (
        (
            "with the other rest",
            "rest-swapped",
            {"rest": lambda self, ones: Fourier.rest(self, not ones)},
        ),
        (
            "with exchanged coefficients",
            "coefficients-exchanged",
            {"sums": sums_of(lambda sin, cos: (cos, sin))},
        ),
        (
            "with one matrix",
            "coefficients-exchanged",
            {"sums": sums_of(lambda sin, cos: (cos, cos))},
        ),
        (
            "of the identity",
            "coefficients-ignored",
            {"sums": sums_of(lambda sin, cos: (eye(sin), eye(cos)))},
        ),
        (
            "with normalized columns",
            "columns-normalized",
            {"sums": sums_of(lambda sin, cos: (normalized(sin), normalized(cos)))},
        ),
        ("of neighbours", "layout-swapped", {"turned": neighbours}),
        ("from 1", "positions-shifted", {"positions": lambda self, positions: positions + 1}),
        (
            "of another base",
            "wrong-base",
            {"frequencies": lambda self, head_dim, base: Fourier.frequencies(self, head_dim, 5e6)},
        ),
        (
            "of bfloat16 positions",
            "low-precision-angles",
            {"positions": lambda self, positions: narrow(positions, "bfloat16")},
        ),
        (
            "of the slowest",
            "slowest-kept",
            {"kept": lambda self, every, number: every[len(every) - number :]},
        ),
    ):
        made(
            Fourier,
            f"Fourier {_claim} {_name}",
            "One step otherwise.",
            named=_named,
            claimed=(_claim,),
            **_steps,
        )

for _name, _named, _steps in (
    ("with a rest of zeros", "rest-swapped", {"rest": lambda self, ones: (0.0, 0.0)}),
    (
        "with the identity added",
        "coefficients-ignored",
        {"sums": sums_of(lambda sin, cos: (sin + eye(sin), cos + eye(cos)))},
    ),
    (
        "of single channels",
        "exponents-wrong",
        {
            "frequencies": lambda self, head_dim, base: (
                float(base) ** (-np.arange(head_dim // 2) / head_dim)
            )
        },
    ),
    ("turning back", "negated-angles", {"sine": lambda self, sin: -sin}),
    (
        "with bfloat16 coefficients",
        "low-precision-angles",
        {"sums": sums_of(lambda sin, cos: (narrow(sin, "bfloat16"), narrow(cos, "bfloat16")))},
    ),
    ("up to 4096", None, {"positions": lambda self, positions: np.minimum(positions, 4096)}),
    (
        "of rows counted anew",
        None,
        {"positions": lambda self, positions: np.arange(len(positions))},
    ),
):
    made(Fourier, f"Fourier {_name}", "One step otherwise.", named=_named, **_steps)


def transposed_where_square(sin: Array, cos: Array) -> tuple[Array, Array]:
    """Transpose square matrices of coefficients."""
    return (sin.T, cos.T) if sin.shape[0] == sin.shape[1] else (sin, cos)


for _claim in ("ones", "unchanged"):
    made(
        Fourier,
        f"Fourier {_claim} transposed",
        "Rows of coefficients for columns.",
        named="coefficients-transposed",
        claimed=(_claim,),
        sums=sums_of(transposed_where_square),
    )

below_zero(Fourier, "ones")
