"""Hugging Face diffusers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from posenc_conformance import claims, to_torch
from posenc_conformance.implementations.torch_tools import as_tensor, backward, gradient

if TYPE_CHECKING:
    from torch import Tensor

FLOATS = ("float32", "bfloat16", "float16")
EXACT = 2**24
Array = npt.NDArray[Any]
Positions = npt.NDArray[np.int64]
Method = Callable[..., Any]


def on_squares(*sizes: int) -> Callable[[Method], Method]:
    """A claim for square grids of these sizes: a single base size stands for both axes."""

    def declare(method: Method) -> Method:
        for size in sizes:
            method = claims("mae", base=10000.0, height=size, width=size)(method)
        return method

    return declare


class DiffusersAdapter:
    """diffusers (seen: 0.42.1), functions and modules of ``diffusers.models.embeddings``.

    =====================  =====================================================================
    timestep               ``get_timestep_embedding``, as UNets, DiT, FLUX and others call it
    sinusoidal ddpm, adm   the same as an encoding of positions
    sincos-2d mae          ``get_2d_sincos_pos_embed`` of DiT and PixArt, with the grid's own size
                           for its base size
    rope                   ``get_1d_rotary_pos_embed`` in float32, as of CogVideoX, interleaved;
                           Stable Audio, half-split; with ``linear_factor`` position interpolation
    embedding-sum          ``SinusoidalPositionalEmbedding`` of AnimateDiff
    unscaled
    fourier-features       ``GaussianFourierProjection`` of noise levels, without its logarithm
    gaussian
    =====================  =====================================================================
    """

    requires = ("torch", "diffusers")

    def __init__(self) -> None:
        import torch
        from diffusers.models import embeddings
        from diffusers.models.attention_processor import StableAudioAttnProcessor2_0

        self.torch = torch
        self.code = embeddings
        self._stable_audio = StableAudioAttnProcessor2_0()

    @claims("ddpm", "adm", "ernie-image", "diffusers-dit", max_position=EXACT)
    def timestep(
        self,
        positions: npt.NDArray[Any],
        dim: int,
        *,
        order: str,
        frequency_shift: int,
        max_period: float,
        scale: float,
    ) -> Tensor:
        """``get_timestep_embedding``."""
        return self.code.get_timestep_embedding(
            to_torch(positions),
            dim,
            flip_sin_to_cos=order == "cos-sin",
            downscale_freq_shift=frequency_shift,
            scale=scale,
            max_period=max_period,
        )

    @claims("ddpm", odd_dim="zero", domain=("real", "negative"), max_position=EXACT)
    @claims("adm", odd_dim="zero", domain=("real", "negative"), max_position=EXACT)
    def sinusoidal(
        self, positions: npt.NDArray[Any], dim: int, *, base: float, layout: str, denominator: str
    ) -> Tensor:
        """``get_timestep_embedding``."""
        return self.code.get_timestep_embedding(
            to_torch(positions),
            dim,
            flip_sin_to_cos=layout == "cos-sin",
            downscale_freq_shift=1 if denominator == "d/2-1" else 0,
            max_period=base,
        )

    @on_squares(1, 2, 3, 14, 32, 64)
    def sincos_2d(self, height: int, width: int, dim: int, *, dtype: str) -> Tensor:
        """``get_2d_sincos_pos_embed``, float64 inside."""
        table = self.code.get_2d_sincos_pos_embed(dim, (height, width), base_size=height)
        return table.to(getattr(self.torch, dtype))

    @claims("interleaved", dtype=FLOATS, max_position=EXACT)
    @claims("half", dtype=FLOATS, rotation="partial", max_position=EXACT)
    def rope(
        self,
        x: Array,
        positions: Positions,
        *,
        base: float,
        layout: str,
        rotary_dim: int | None = None,
    ) -> Tensor:
        """``apply_rotary_emb``, or Stable Audio's of some channels."""
        return self._turned(to_torch(x), positions, layout, rotary_dim, theta=base)

    @claims("interleaved", dtype=FLOATS, max_position=EXACT)
    @claims("half", dtype=FLOATS, rotation="partial", max_position=EXACT)
    def rope_vjp(
        self,
        x: Array,
        positions: Positions,
        *,
        base: float,
        layout: str,
        rotary_dim: int | None = None,
    ) -> Tensor:
        """What autograd makes of it."""
        return gradient(
            lambda each: self._turned(each, positions, layout, rotary_dim, theta=base),
            to_torch(x),
        )

    @claims("interleaved", "half", dtype=FLOATS, max_position=EXACT)
    def position_interpolation(
        self, x: Array, positions: Positions, *, base: float, factor: float, layout: str
    ) -> Tensor:
        """The ``linear_factor``."""
        return self._turned(as_tensor(x), positions, layout, None, theta=base, linear_factor=factor)

    @claims("interleaved", "half", dtype=FLOATS, max_position=EXACT)
    def position_interpolation_vjp(
        self, x: Array, positions: Positions, **parameters: Any
    ) -> Tensor:
        """What autograd makes of it."""
        return backward(self.position_interpolation, x, positions, **parameters)

    def _turned(
        self,
        values: Tensor,
        positions: Positions,
        layout: str,
        rotary_dim: int | None,
        **parameters: Any,
    ) -> Tensor:
        head_dim = values.shape[-1]
        waves = self.code.get_1d_rotary_pos_embed(
            rotary_dim or head_dim,
            to_torch(positions),
            use_real=True,
            repeat_interleave_real=layout == "interleaved",
            **parameters,
        )
        heads = headed(values)
        if layout == "interleaved":
            turned = self.code.apply_rotary_emb(heads, waves)
        else:
            turned = self._stable_audio.apply_partial_rotary_emb(heads, waves)
        return turned.reshape(values.shape)

    @claims("unscaled", base=10000.0, max_position=131_071)
    def embedding_sum(self, x: Array, positions: Positions) -> Tensor:
        """``SinusoidalPositionalEmbedding``, at all positions from 0 on in turn."""
        values = to_torch(x)
        *batch, rows, dim = values.shape
        length = int(positions.max()) + 1 if rows else 0
        module = self.code.SinusoidalPositionalEmbedding(dim, max_seq_length=length)
        every = values.new_zeros(math.prod(batch), length, dim)
        sums = self.torch.empty_like(values)
        for row, position in enumerate(positions):
            every[:, position] = values[..., row, :].reshape(-1, dim)
            sums[..., row, :] = module(every)[:, position].reshape(*batch, dim)
        return sums

    @claims("paper", "code", coords=1)
    def gaussian_fourier(self, x: Array, b: Array, *, waves: str) -> Tensor:
        """``GaussianFourierProjection`` of numbers, b in the place of its weights."""
        values, weights = to_torch(x), to_torch(b)
        module = self.code.GaussianFourierProjection(
            len(weights), log=False, flip_sin_to_cos=waves == "cos-sin"
        )
        module.weight.data = weights[:, 0]
        return module(values.flatten()).reshape(*values.shape[:-1], -1)


class DiffusersFluxAdapter:
    """FLUX's rotary embedding in diffusers (seen: 0.42.1), whose frequencies are float64."""

    requires = ("torch", "diffusers")

    def __init__(self) -> None:
        from diffusers.models import embeddings
        from diffusers.models.transformers import transformer_flux

        self._apply = embeddings.apply_rotary_emb
        self._module = transformer_flux.FluxPosEmbed

    @claims("interleaved", dtype=FLOATS, max_position=EXACT)
    def rope(self, x: Array, positions: Positions, *, base: float) -> Tensor:
        """``FluxPosEmbed`` of ids on a single axis, heads after positions as FLUX has them."""
        heads = headed(to_torch(x)).transpose(1, 2)
        waves = self._module(base, [x.shape[-1]])(to_torch(positions)[:, None])
        turned = self._apply(heads, waves, sequence_dim=1)
        return turned.transpose(1, 2).reshape(x.shape)


def headed(values: Tensor) -> Tensor:
    """x of shape ``[..., n, head_dim]`` as ``[1, heads, n, head_dim]``, as the library holds it."""
    *batch, rows, head_dim = values.shape
    return values.reshape(1, math.prod(batch), rows, head_dim)
