"""Wrong implementations: conditional positions of patches."""

from typing import Any

import numpy as np

from posenc_lab.miniatures.base import Array, Mistake, made


class Patches(Mistake, steps=True):
    """A depthwise convolution by shifted images, in steps."""

    call = "conv_peg"
    claimed = ("patches",)

    def answer(
        self, x: Array, weight: Array, bias: Array, height: int, width: int, *, class_token: str
    ) -> Array:
        first = 1 if class_token == "first" else 0
        wide = x.astype(np.float64)
        token, rows = wide[..., :first, :], wide[..., first:, :]
        height, width = self.size(height, width)
        picture = rows.reshape(*rows.shape[:-2], height, width, -1)
        kernels = self.kernels(weight.astype(np.float64))
        gained = self.joined(picture, self.convolved(picture, kernels), bias.astype(np.float64))
        out = np.concatenate([token, gained.reshape(rows.shape)], axis=-2)
        return out.astype(x.dtype)

    mode: Any = "constant"

    def size(self, height: int, width: int) -> tuple[int, int]:
        return height, width

    def kernels(self, weight: Array) -> Array:
        return weight

    def convolved(self, picture: Array, weight: Array) -> Array:
        k = weight.shape[-1]
        height, width = picture.shape[-3:-1]
        around = [(0, 0)] * (picture.ndim - 3) + [(k // 2, k // 2)] * 2 + [(0, 0)]
        padded = np.pad(picture, around, mode=self.mode)
        out = np.zeros_like(picture)
        for s in range(k):
            for t in range(k):
                out += weight[:, s, t] * padded[..., s : s + height, t : t + width, :]
        return out

    def joined(self, picture: Array, convolution: Array, bias: Array) -> Array:
        return picture + (convolution + bias)


for _claimed in ("patches", "class-token"):
    for _name, _named, _attributes in (
        ("wide for high", "axes-swapped", {"size": lambda self, h, w: (w, h)}),
        ("rows for columns", "axes-swapped", {"kernels": lambda self, w: w.swapaxes(1, 2)}),
        ("wrapped", "circular-padding", {"mode": "wrap"}),
        ("continued", "circular-padding", {"mode": "edge"}),
        ("alone", "residual-missing", {"joined": lambda self, p, c, b: c + b}),
        ("unbiased", "bias-missing", {"joined": lambda self, p, c, b: p + c}),
        ("flipped", "kernel-flipped", {"kernels": lambda self, w: w[:, ::-1, ::-1]}),
    ):
        made(
            Patches,
            f"Patches {_claimed} {_name}",
            "Another convolution, or another sum.",
            named=_named,
            claimed=(_claimed,),
            **_attributes,
        )


class PatchesWithTokenBiased(Patches):
    """The bias is added to the class token too."""

    named = "class-token-convolved"
    claimed = ("class-token",)

    def answer(self, x: Array, *rest: Any, class_token: str) -> Array:
        out = super().answer(x, *rest, class_token=class_token)
        out[..., 0, :] += rest[1]
        return out


class PatchesOfToken(Patches):
    """The class token is convolved as the first patch, and the last patch is not convolved."""

    named = "class-token-convolved"
    claimed = ("class-token",)

    def answer(
        self, x: Array, weight: Array, bias: Array, height: int, width: int, *, class_token: str
    ) -> Array:
        gained = super().answer(x[..., :-1, :], weight, bias, height, width, class_token="none")
        return np.concatenate([gained, x[..., -1:, :]], axis=-2)


class PatchesMixed(Patches):
    """The first channel's kernel is used for all."""

    def kernels(self, weight: Array) -> Array:
        return 0 * weight + weight[:1]


class PatchesOfThree(Patches):
    """Kernels are cropped to three rows and columns."""

    def kernels(self, weight: Array) -> Array:
        far = np.abs(np.arange(weight.shape[-1]) - weight.shape[-1] // 2) > 1
        return np.where(far[:, None] | far, 0, weight)


class PatchesUpTo256(Patches):
    """Patches from column 256 on are not convolved."""

    def convolved(self, picture: Array, weight: Array) -> Array:
        return super().convolved(picture, weight) * (np.arange(picture.shape[-2]) < 256)[:, None]


class PatchesKeepTheirSize(Patches):
    """Height and width are cached by the number of patches."""

    def __init__(self) -> None:
        self._sizes: dict[int, tuple[int, int]] = {}

    def size(self, height: int, width: int) -> tuple[int, int]:
        return self._sizes.setdefault(height * width, (height, width))
