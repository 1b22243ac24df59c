"""timm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from posenc_conformance import claims, to_torch

if TYPE_CHECKING:
    from torch import Tensor

ALL_FLOATS = ("float64", "float32", "bfloat16", "float16")
FLOATS = ("float32", "bfloat16", "float16")
Array = npt.NDArray[Any]


class TimmAdapter:
    """timm (seen: 1.0.31).

    ====================  ======================================================================
    conv-peg patches      Twins, kernels of three only
    conv-peg class-token  CoaT
    learned-grid timm     ``resample_abs_pos_embed``, by which Vision Transformers change their size
    sincos-2d row-first   ``build_sincos2d_pos_embed`` with interleave_sin_cos, which has all sines
                          of an axis before its cosines; without, those of both axes come first
    ====================  ======================================================================

    timm imports torchvision, which must be of the same build as torch: for torch of the CPU,
    from the index of its wheels.
    """

    requires = ("torch", "torchvision", "timm")

    def __init__(self) -> None:
        import torch
        from timm import layers
        from timm.models import coat, twins

        self.torch = torch
        self.layers = layers
        self._modules = {"none": twins.PosConv, "first": coat.ConvPosEnc}

    @claims("patches", dtype=ALL_FLOATS, kernel=3)
    @claims("class-token", dtype=ALL_FLOATS)
    def conv_peg(
        self, x: Array, weight: Array, bias: Array, height: int, width: int, *, class_token: str
    ) -> Tensor:
        """``PosConv`` or ``ConvPosEnc``."""
        values, kernels = to_torch(x), to_torch(weight)
        dim, size, _ = kernels.shape
        if class_token == "first":
            module = self._modules["first"](dim, k=size)
            convolution = module.proj
        else:
            module = self._modules["none"](dim, dim)
            convolution = module.proj[0]
        convolution.weight.data = kernels[:, None]
        convolution.bias.data = to_torch(bias)
        rows = values.reshape(-1, *values.shape[-2:])
        return module(rows, (height, width)).reshape(values.shape)

    @claims("timm", dtype=FLOATS)
    def learned_grid(self, table: Array, height: int, width: int) -> Tensor:
        """``resample_abs_pos_embed``."""
        return self.layers.resample_abs_pos_embed(to_torch(table)[None], [height, width])[0]

    @claims("row-first", dtype=FLOATS)
    def sincos_2d(self, height: int, width: int, dim: int, *, base: float, dtype: str) -> Tensor:
        """``build_sincos2d_pos_embed``."""
        return self.layers.build_sincos2d_pos_embed(
            [height, width],
            dim,
            temperature=base,
            interleave_sin_cos=True,
            dtype=getattr(self.torch, dtype),
        )
