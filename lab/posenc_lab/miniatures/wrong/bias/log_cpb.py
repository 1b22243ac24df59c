"""Wrong implementations: a log-spaced continuous position bias, and its coordinates."""

from typing import Any

import numpy as np

from posenc_lab.miniatures.base import KINDS, Array, Mistake, made, narrow


class Coordinates(Mistake, steps=True):
    """The coordinates that the network reads, in steps."""

    call = "log_cpb_coordinates"
    claimed = ("swin",)

    def answer(
        self,
        height: int,
        width: int,
        *,
        pretrained_height: int,
        pretrained_width: int,
        coordinates: str,
        dtype: str,
    ) -> Any:
        sizes, before = (height, width), (pretrained_height, pretrained_width)
        return self.coordinates(sizes, before, coordinates).astype(KINDS[dtype])

    def coordinates(self, sizes: tuple[int, int], before: tuple[int, int], form: str) -> Array:
        if min(sizes) < 1 or 1 in before:
            raise ValueError(f"{sizes} patches")
        self.normalized = self.form(form) == "normalized"
        windows = self.windows(sizes, before)
        axes = [
            self.along(self.offsets(size), steps)
            for size, steps in zip(sizes, self.divisors(windows), strict=True)
        ]
        return self.joined(*axes)

    def form(self, form: str) -> str:
        return form

    def windows(self, sizes: tuple[int, int], before: tuple[int, int]) -> tuple[int, int]:
        return before[0] or sizes[0], before[1] or sizes[1]

    def divisors(self, windows: tuple[int, int]) -> tuple[float, float]:
        return max(windows[0] - 1, 1), max(windows[1] - 1, 1)

    def offsets(self, size: int) -> Array:
        return np.arange(1.0 - size, size)

    def along(self, offset: Array, steps: float) -> Array:
        part = self.part(offset, steps) if self.normalized else offset
        return self.logarithm(part)

    def part(self, offset: Array, steps: float) -> Array:
        return 8 * offset / steps

    def logarithm(self, part: Array) -> Array:
        return np.sign(part) * np.log1p(np.abs(part)) / self.whole()

    def whole(self) -> float:
        return float(np.log(8)) if self.normalized else 1.0

    def joined(self, down: Array, right: Array) -> Array:
        return np.stack(np.meshgrid(down, right, indexing="ij"), axis=-1).reshape(-1, 2)


class Spaced(Coordinates, steps=True):
    """The bias that the network returns, in steps."""

    call = "log_cpb"

    def answer(
        self,
        w1: Array,
        b1: Array,
        w2: Array,
        *,
        height: int,
        width: int,
        pretrained_height: int,
        pretrained_width: int,
        coordinates: str,
        output: str,
    ) -> Any:
        if w1.shape != (len(b1), 2) or w2.shape[1] != len(b1):
            raise ValueError("layers do not fit")
        before = pretrained_height, pretrained_width
        inputs = self.coordinates((height, width), before, coordinates)
        first, bias, second = (array.astype(np.float64) for array in (w1, b1, w2))
        answers = self.activation(inputs @ first.T + bias) @ second.T
        row, column = self.patches(height, width)
        rows = (row[:, None] - row + height - 1) * (2 * width - 1)
        rows += column[:, None] - column + width - 1
        result = self.finish(np.moveaxis(answers[rows], -1, 0), output == "sigmoid")
        return result.astype(w2.dtype)

    def activation(self, hidden: Array) -> Array:
        return np.maximum(hidden, 0)

    def patches(self, height: int, width: int) -> tuple[Array, Array]:
        row, column = np.divmod(np.arange(height * width), width)
        return row, column

    def finish(self, bias: Array, sigmoid: bool) -> Array:
        return 16 / (1 + np.exp(-bias)) if sigmoid else bias


_BOTH = ("swin", "paper")
_STEPS: tuple[tuple[str, str | None, tuple[str, ...], dict[str, Any]], ...] = (
    (
        "of the window itself",
        "window-for-pretrained",
        ("swin",),
        {"windows": lambda self, sizes, before: sizes},
    ),
    (
        "by the size",
        "divisor-wrong",
        ("swin",),
        {"divisors": lambda self, windows: windows},
    ),
    (
        "by the height",
        "divisor-wrong",
        ("swin",),
        {"divisors": lambda self, windows: (max(windows[0] - 1, 1),) * 2},
    ),
    (
        "without eight",
        "eight-left-out",
        ("swin",),
        {"part": lambda self, offset, steps: offset / steps},
    ),
    (
        "to base two",
        "logarithm-wrong",
        _BOTH,
        {"whole": lambda self: float(np.log(2))},
    ),
    (
        "to base nine",
        "logarithm-wrong",
        ("swin",),
        {"whole": lambda self: float(np.log(9))},
    ),
    ("of offsets", "linear-coordinates", _BOTH, {"logarithm": lambda self, part: part}),
    (
        "of distances",
        "sign-lost",
        _BOTH,
        {"offsets": lambda self, size: np.abs(np.arange(1.0 - size, size))},
    ),
    (
        "in plain form",
        "coordinates-swapped",
        ("swin",),
        {"form": lambda self, form: "plain"},
    ),
    (
        "in normalized form",
        "coordinates-swapped",
        ("paper",),
        {"form": lambda self, form: "normalized"},
    ),
    (
        "of key minus query",
        "offset-reversed",
        _BOTH,
        {"offsets": lambda self, size: -np.arange(1.0 - size, size)},
    ),
    (
        "width first",
        "transposed",
        _BOTH,
        {"joined": lambda self, down, right: Coordinates.joined(self, down, right)[:, ::-1]},
    ),
    (
        "in bfloat16",
        "narrow-coordinates",
        _BOTH,
        {
            "logarithm": lambda self, part: narrow(Coordinates.logarithm(self, part), "bfloat16"),
        },
    ),
    (
        "of halves",
        None,
        _BOTH,
        {"offsets": lambda self, size: np.arange(1.0 - size, size) + 0.5},
    ),
    (
        "that stop at five",
        None,
        _BOTH,
        {"offsets": lambda self, size: np.clip(np.arange(1.0 - size, size), -5, 5)},
    ),
)

for _base in (Coordinates, Spaced):
    for _name, _named, _claims, _given in _STEPS:
        for _claimed in _claims:
            made(
                _base,
                f"{_base.__name__} {_name} {_claimed}",
                "One step otherwise.",
                named=_named,
                claimed=(_claimed,),
                **_given,
            )

for _claimed in _BOTH:
    made(
        Spaced,
        f"Spaced column by column {_claimed}",
        "Patches listed column by column.",
        named="transposed",
        claimed=(_claimed,),
        patches=lambda self, height, width: np.divmod(np.arange(height * width), height)[::-1],
    )
    made(
        Spaced,
        f"Spaced without ReLU {_claimed}",
        "Two linear layers.",
        named="relu-left-out",
        claimed=(_claimed,),
        activation=lambda self, hidden: hidden,
    )
    made(
        Spaced,
        f"Spaced with the other output {_claimed}",
        "A sigmoid where there is none, and none where there is one.",
        named="output-swapped",
        claimed=(_claimed,),
        finish=lambda self, bias, sigmoid: Spaced.finish(self, bias, not sigmoid),
    )
    made(
        Spaced,
        f"Spaced with leaks {_claimed}",
        "A hundredth of what is below 0 leaks through.",
        claimed=(_claimed,),
        activation=lambda self, hidden: np.where(hidden > 0, hidden, 0.01 * hidden),
    )
    made(
        Spaced,
        f"Spaced up to unit 32 {_claimed}",
        "Units from 32 on are never computed.",
        claimed=(_claimed,),
        activation=lambda self, hidden: np.maximum(hidden, 0) * (np.arange(hidden.shape[-1]) < 32),
    )


class SpacedWithoutSixteen(Spaced):
    """The sigmoid is not multiplied by 16."""

    named = "output-swapped"

    def finish(self, bias: Array, sigmoid: bool) -> Array:
        return 1 / (1 + np.exp(-bias))


class SpacedOfTheFirstHead(Spaced):
    """The first head's bias is used for all."""

    def finish(self, bias: Array, sigmoid: bool) -> Array:
        return np.broadcast_to(super().finish(bias, sigmoid)[:1], bias.shape)


class CoordinatesUndivided(Coordinates):
    """Offsets are not divided if the window has a single row, as in transformers."""

    named = "divisor-wrong"

    def divisors(self, windows: tuple[int, int]) -> tuple[float, float]:
        return super().divisors(windows) if windows[0] > 1 else (1, 1)
