"""Wrong implementations: Time2Vec."""

from typing import Any

import numpy as np

from posenc_lab.miniatures.base import Array, Mistake, made, narrow


class Timed(Mistake, steps=True):
    """Time2Vec's channels, in steps."""

    call = "time2vec"
    claimed = ("paper",)

    def answer(self, x: Array, w: Array, b: Array, *, linear: str, wave: str) -> Array:
        if w.shape != (x.shape[-1], len(b)):
            raise ValueError(w.shape)
        times, frequencies, phases = (array.astype(np.float64) for array in (x, w, b))
        angles = self.angles(times, frequencies, phases)
        straight = np.arange(len(b)) == (len(b) - 1 if self.last(linear == "last") else 0)
        waves = self.wave(wave == "cos", angles)
        out = np.where(straight, self.straight(angles, times, straight), waves)
        return self.finish(out, straight).astype(x.dtype)

    def angles(self, x: Array, w: Array, b: Array) -> Array:
        return x @ w + b

    def last(self, claimed: bool) -> bool:
        return claimed

    def wave(self, cosine: bool, angles: Array) -> Array:
        return np.cos(angles) if cosine else np.sin(angles)

    def straight(self, angles: Array, x: Array, where: Array) -> Array:
        return angles

    def finish(self, out: Array, straight: Array) -> Array:
        return out


_named: str | None
_steps: dict[str, Any]

for _claim in ("paper", "linear-last", "cosine"):
    for _name, _named, _steps in (
        (
            "with the linear channel elsewhere",
            "linear-misplaced",
            {"last": lambda self, claimed: not claimed},
        ),
        (
            "of the other wave",
            "wave-swapped",
            {"wave": lambda self, cosine, angles: Timed.wave(self, not cosine, angles)},
        ),
        (
            "of waves only",
            "linear-waved",
            {"finish": lambda self, out, straight: np.where(straight, np.sin(out), out)},
        ),
        ("without phases", "phase-left-out", {"angles": lambda self, x, w, b: x @ w}),
        (
            "of bfloat16 angles",
            "low-precision-angles",
            {"angles": lambda self, x, w, b: narrow(x @ w + b, "bfloat16")},
        ),
        (
            "in turns",
            "turns-for-radians",
            {"angles": lambda self, x, w, b: 2 * np.pi * (x @ w) + b},
        ),
    ):
        if (_claim, _named) != ("cosine", "linear-waved"):
            made(
                Timed,
                f"Timed {_claim} {_name}",
                "One step otherwise.",
                named=_named,
                claimed=(_claim,),
                **_steps,
            )


def _rolled(self: Any, out: Array, straight: Array) -> Array:
    return np.roll(out, -1, axis=-1)


for _name, _named, _steps in (
    ("joined the other way round", "linear-misplaced", {"finish": _rolled}),
    (
        "without an intercept",
        "phase-left-out",
        {"angles": lambda self, x, w, b: x @ w + b * (np.arange(len(b)) > 0)},
    ),
    (
        "with the trend in all channels",
        "linear-added",
        {"finish": lambda self, out, straight: out + out[..., :1] * ~straight},
    ),
    (
        "with the time itself",
        "time-alone",
        {"straight": lambda self, angles, x, where: x[..., :1] + 0 * angles},
    ),
    (
        "of bfloat16 times and waves",
        "low-precision-angles",
        {
            "angles": lambda self, x, w, b: narrow(x, "bfloat16") @ w + b,
            "finish": lambda self, out, straight: narrow(out, "bfloat16"),
        },
    ),
    (
        "of float16 times",
        "low-precision-angles",
        {"angles": lambda self, x, w, b: narrow(x, "float16") @ w + b},
    ),
    (
        "of the first number",
        None,
        {"angles": lambda self, x, w, b: x[..., :1] @ w[:1] + b},
    ),
    (
        "wrapped at a turn",
        None,
        {"angles": lambda self, x, w, b: np.fmod(x, 64.0) @ w + b},
    ),
    (
        "with the trend cut off",
        None,
        {"straight": lambda self, angles, x, where: np.maximum(angles, 0)},
    ),
    ("of negative phases", None, {"angles": lambda self, x, w, b: x @ w - b}),
    (
        "of up to 32 channels",
        None,
        {"finish": lambda self, out, straight: out * (np.arange(out.shape[-1]) < 32)},
    ),
):
    made(Timed, f"Timed {_name}", "One step otherwise.", named=_named, **_steps)
