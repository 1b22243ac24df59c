"""vit-pytorch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from posenc_conformance import claims, to_torch
from posenc_conformance.adapters import ALL_FLOATS, FLOATS, Array, Positions, by_heads, rows_of
from posenc_conformance.adapters.torch import import_torchvision

if TYPE_CHECKING:
    from torch import Tensor


class VitPytorchAdapter:
    """vit-pytorch (seen: 1.26.11) by lucidrains.

    sincos-2d big-vision      ``posemb_sincos_2d`` of SimpleViT
    sinusoidal whisper        ``posemb_sincos_1d`` of SimpleViT for series
    conv-peg patches          ``PEG`` of Twins SVT
    """

    requires = ("torch", "vit-pytorch")

    def __init__(self) -> None:
        import torch

        import_torchvision()
        from vit_pytorch.simple_vit import posemb_sincos_2d
        from vit_pytorch.simple_vit_1d import posemb_sincos_1d
        from vit_pytorch.twins_svt import PEG

        self._torch = torch
        self._grid = posemb_sincos_2d
        self._series = posemb_sincos_1d
        self._peg = PEG

    @claims("big-vision", dtype=FLOATS)
    def sincos_2d(self, height: int, width: int, dim: int, *, base: float, dtype: str) -> Tensor:
        """``posemb_sincos_2d``."""
        return self._grid(height, width, dim, base, getattr(self._torch, dtype))

    @claims("whisper", dtype=FLOATS)
    def sinusoidal(self, positions: Positions, dim: int, *, base: float, dtype: str) -> Tensor:
        """``posemb_sincos_1d`` of patches in the dtype of their model."""

        def table(length: int) -> Any:
            patches = self._torch.empty(1, length, dim, dtype=getattr(self._torch, dtype))
            return self._series(patches, base)

        return rows_of(table, positions)

    @claims("patches", dtype=ALL_FLOATS)
    def conv_peg(self, x: Array, weight: Array, bias: Array, height: int, width: int) -> Any:
        """``PEG`` on patches of shape [batch, dim, height, width]."""
        kernels = to_torch(weight)
        dim, size, _ = kernels.shape
        module = self._peg(dim, size)
        convolution = module.proj.fn
        convolution.weight.data, convolution.bias.data = kernels[:, None], to_torch(bias)

        def added(rows: Tensor) -> Tensor:
            grid = rows.transpose(1, 2).unflatten(2, (height, width))
            return module(grid).flatten(2).transpose(1, 2)

        return by_heads(added, to_torch(x), form="hnd")
