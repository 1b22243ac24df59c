"""The adapter of timm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from posenc_conformance import claims, to_torch
from posenc_conformance.adapters import (
    ALL_FLOATS,
    FLOATS,
    Array,
    Positions,
    by_heads,
    span,
)
from posenc_conformance.adapters.torch import import_torchvision

if TYPE_CHECKING:
    from torch import Tensor


class TimmAdapter:
    """timm (seen: 1.0.31).

    ====================  ======================================================================
    conv-peg patches      Twins, kernels of three only
    conv-peg class-token  CoaT
    learned-grid timm     ``resample_abs_pos_embed``, by which Vision Transformers change their size
    sincos-2d row-first   ``build_sincos2d_pos_embed`` with interleave_sin_cos, which has all sines
                          of an axis before its cosines; without, those of both axes come first
    log-cpb               ``RelPosMlp`` with mode swin, and with mode cr (paper), whose second layer
                          has biases, of zeros here; ``gen_relative_log_coords``
    rope-2d               ``RotaryEmbeddingCat`` with grid_indexing ij (eva) and xy (rope-vit), and
                          ``RotaryEmbeddingMixed``; rows of a grid that holds all positions
    ====================  ======================================================================

    timm imports torchvision. Beside a torch of another build, torchvision lacks its compiled part;
    nothing that is judged here uses it.
    """

    requires = ("torch", "torchvision", "timm")

    def __init__(self) -> None:
        import torch

        import_torchvision()
        from timm import layers
        from timm.models import coat, twins

        self.torch = torch
        self.layers = layers
        self._modules = {"none": twins.PosConv, "first": coat.ConvPosEnc}

    @claims("patches", dtype=ALL_FLOATS, kernel=3)
    @claims("class-token", dtype=ALL_FLOATS)
    def conv_peg(
        self, x: Array, weight: Array, bias: Array, height: int, width: int, *, class_token: str
    ) -> object:
        """Apply ``PosConv`` or ``ConvPosEnc``."""
        kernels = to_torch(weight)
        dim, size, _ = kernels.shape
        if class_token == "first":
            module = self._modules["first"](dim, k=size)
            convolution = module.proj
        else:
            module = self._modules["none"](dim, dim)
            convolution = module.proj[0]
        convolution.weight.data = kernels[:, None]
        convolution.bias.data = to_torch(bias)
        return by_heads(lambda rows: module(rows, (height, width)), to_torch(x), form="hnd")

    @claims("rope-vit", "eva", dtype=FLOATS, max_position=127)
    def rope_2d(self, x: Array, positions: Positions, *, base: float, order: str) -> Tensor:
        """Apply ``RotaryEmbeddingCat``, then ``apply_rot_embed_cat``."""
        module = self.layers.RotaryEmbeddingCat(
            x.shape[-1],
            temperature=base,
            in_pixels=False,
            grid_indexing="xy" if order == "column-first" else "ij",
        )
        shape, rows = _grid(positions)
        return self.layers.apply_rot_embed_cat(to_torch(x), module.get_embed(shape)[rows])

    @claims(dtype=FLOATS, max_position=127)
    def rope_2d_mixed(self, x: Array, positions: Positions, frequencies: Array) -> Tensor:
        """Apply ``RotaryEmbeddingMixed`` of a single layer, its frequencies in float32."""
        heads, _n, head_dim = x.shape[-3:]
        module = self.layers.RotaryEmbeddingMixed(heads * head_dim, depth=1, num_heads=heads)
        module.freqs.data = to_torch(frequencies)[:, None].float()
        shape, rows = _grid(positions)
        return self.layers.apply_rot_embed_cat(to_torch(x), module.get_embed(shape)[0][:, rows])

    @claims("swin", "paper", dtype=FLOATS)
    def log_cpb(
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
        **rest: Any,
    ) -> Tensor:
        """Return the bias of ``RelPosMlp``."""
        first, bias, second = map(to_torch, (w1, b1, w2))
        module = self.layers.RelPosMlp(
            (height, width),
            num_heads=len(second),
            hidden_dim=len(bias),
            mode="swin" if coordinates == "normalized" else "cr",
            pretrained_window_size=(pretrained_height, pretrained_width),
            dtype=second.dtype,
        ).eval()
        module.mlp.fc1.weight.data, module.mlp.fc1.bias.data = first, bias
        module.mlp.fc2.weight.data = second
        if module.mlp.fc2.bias is not None:
            module.mlp.fc2.bias.data.zero_()
        return module.get_bias()[0]

    @claims("swin", "paper", dtype=FLOATS)
    def log_cpb_coordinates(
        self,
        height: int,
        width: int,
        *,
        pretrained_height: int,
        pretrained_width: int,
        coordinates: str,
        dtype: str,
    ) -> Tensor:
        """Call ``gen_relative_log_coords``."""
        table = self.layers.gen_relative_log_coords(
            (height, width),
            (pretrained_height, pretrained_width),
            mode="swin" if coordinates == "normalized" else "cr",
            dtype=getattr(self.torch, dtype),
        )
        return table.view(-1, 2)

    @claims("timm", dtype=FLOATS)
    def learned_grid(self, table: Array, height: int, width: int) -> Tensor:
        """Call ``resample_abs_pos_embed``."""
        return self.layers.resample_abs_pos_embed(to_torch(table)[None], [height, width])[0]

    @claims("row-first", dtype=FLOATS)
    def sincos_2d(self, height: int, width: int, dim: int, *, base: float, dtype: str) -> Tensor:
        """Call ``build_sincos2d_pos_embed``."""
        return self.layers.build_sincos2d_pos_embed(
            [height, width],
            dim,
            temperature=base,
            interleave_sin_cos=True,
            dtype=getattr(self.torch, dtype),
        )


def _grid(positions: Positions) -> tuple[list[int], Tensor]:
    """Return the size of a grid that holds all positions, and which of its rows they are."""
    height, width = (max(1, span(axis)) for axis in positions)
    return [height, width], to_torch(positions[0] * width + positions[1])
