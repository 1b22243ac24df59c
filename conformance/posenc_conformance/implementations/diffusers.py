"""Adapters of Hugging Face diffusers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from posenc_conformance import claims, to_torch
from posenc_conformance.adapters import (
    EXACT,
    FLOATS,
    Array,
    Positions,
    by_heads,
    in_sequence,
    once,
)
from posenc_conformance.adapters.torch import backward

if TYPE_CHECKING:
    from torch import Tensor

CONTEXT = 131_072
"""Frames for which AnimateDiff's embedding makes a table."""
Method = Callable[..., Any]


def on_squares(*sizes: int) -> Callable[[Method], Method]:
    """Claim square grids of these sizes: a single base size stands for both axes."""

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
    axial-rope-widths wan  ``WanRotaryPosEmbed``, the numbers that it keeps
    axial-rope-            ``Flux2Pipeline``'s ids of text, of the new image and of references
    position-ids flux-2
    =====================  =====================================================================
    """

    requires = ("torch", "diffusers")

    def __init__(self) -> None:
        import torch
        from diffusers import Flux2Pipeline
        from diffusers.models import embeddings
        from diffusers.models.attention_processor import StableAudioAttnProcessor2_0
        from diffusers.models.transformers.transformer_wan import WanRotaryPosEmbed

        self.torch = torch
        self.code = embeddings
        self._flux_2 = Flux2Pipeline
        self._wan = WanRotaryPosEmbed
        self._stable_audio = StableAudioAttnProcessor2_0()
        new = embeddings.SinusoidalPositionalEmbedding
        self._animate = once(lambda dim, dtype: new(dim, CONTEXT).to(dtype), size=4)

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
        """Call ``get_timestep_embedding``."""
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
        """Call ``get_timestep_embedding`` with positions."""
        return self.code.get_timestep_embedding(
            to_torch(positions),
            dim,
            flip_sin_to_cos=layout == "cos-sin",
            downscale_freq_shift=1 if denominator == "d/2-1" else 0,
            max_period=base,
        )

    @on_squares(1, 2, 3, 14, 32, 64)
    def sincos_2d(self, height: int, width: int, dim: int, *, dtype: str) -> Tensor:
        """Call ``get_2d_sincos_pos_embed``, which computes in float64 inside."""
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
    ) -> object:
        """Rotate x by ``apply_rotary_emb``, or by Stable Audio's function of some channels."""
        return self._turned(x, positions, layout, rotary_dim, theta=base)

    rope_vjp = backward(rope)

    @claims("half-doubled", "interleaved-doubled", dtype=FLOATS)
    def rope_apply(self, x: Array, cos: Array, sin: Array, *, layout: str) -> object:
        """Call ``apply_rotary_emb``, which computes in float32."""
        tables, last = (to_torch(cos), to_torch(sin)), -2 if layout == "half" else -1
        turn = self.code.apply_rotary_emb
        return by_heads(lambda heads: turn(heads, tables, use_real_unbind_dim=last), to_torch(x))

    @claims("pairs-interleaved", dtype=FLOATS)
    def rope_apply_pairs(self, x: Array, cis: Array) -> object:
        """Call ``apply_rotary_emb`` with complex numbers, as in Lumina."""
        numbers = self.torch.view_as_complex(to_torch(cis).float().contiguous())[None]
        turn = self.code.apply_rotary_emb
        return by_heads(lambda heads: turn(heads, numbers, False), to_torch(x), form="bnhd")

    @claims("interleaved", "half", dtype=FLOATS, max_position=EXACT)
    def position_interpolation(
        self, x: Array, positions: Positions, *, base: float, factor: float, layout: str
    ) -> object:
        """Rotate x as ``rope`` does, with a ``linear_factor``."""
        return self._turned(x, positions, layout, None, theta=base, linear_factor=factor)

    position_interpolation_vjp = backward(position_interpolation)

    def _turned(
        self,
        x: Array,
        positions: Positions,
        layout: str,
        rotary_dim: int | None,
        **parameters: Any,
    ) -> Any:
        waves = self.code.get_1d_rotary_pos_embed(
            rotary_dim or x.shape[-1],
            to_torch(positions),
            use_real=True,
            repeat_interleave_real=layout == "interleaved",
            **parameters,
        )
        turn = self.code.apply_rotary_emb
        if layout == "half":
            turn = self._stable_audio.apply_partial_rotary_emb
        return by_heads(lambda heads: turn(heads, waves), to_torch(x))

    @claims("unscaled", dtype=FLOATS, base=10000.0)
    def embedding_sum(self, x: Array, positions: Positions) -> object:
        """Apply ``SinusoidalPositionalEmbedding`` to a sequence with these rows."""
        values = to_torch(x)
        add = self._animate(x.shape[-1], values.dtype)
        return in_sequence(lambda each: by_heads(add, each, form="hnd"), values, positions)

    @claims("paper", "code", coords=1)
    def gaussian_fourier(self, x: Array, b: Array, *, waves: str) -> Tensor:
        """Apply ``GaussianFourierProjection`` to numbers, with b in the place of its weights."""
        values, weights = to_torch(x), to_torch(b)
        module = self.code.GaussianFourierProjection(
            len(weights), log=False, flip_sin_to_cos=waves == "cos-sin"
        )
        module.weight.data = weights[:, 0]
        return module(values.flatten()).reshape(*values.shape[:-1], -1)

    @claims("wan")
    def axial_rope_widths(self, head_dim: int) -> list[int]:
        """Return the widths that ``WanRotaryPosEmbed`` keeps."""
        made = self._wan(head_dim, (1, 2, 2), 1)
        return [made.t_dim, made.h_dim, made.w_dim]

    @claims("flux-2")
    def axial_rope_position_ids(self, images: npt.NDArray[np.int64], *, tokens: int) -> Tensor:
        """Return the ids of ``Flux2Pipeline``.

        They are those of the text, of the image that is made, and of the images that it refers to.
        """
        if (images[:, 0] != 1).any():
            raise ValueError("the pipeline takes latents of images, which have no frames")
        latents = [self.torch.zeros(1, 1, int(h), int(w)) for _, h, w in images]
        ids = [self._flux_2._prepare_text_ids(self.torch.zeros(1, tokens, 1))]
        if latents:
            ids.append(self._flux_2._prepare_latent_ids(latents[0]))
        if latents[1:]:
            ids.append(self._flux_2._prepare_image_ids(latents[1:]))
        return self.torch.cat(ids, dim=1)[0].T


class DiffusersFluxAdapter:
    """FLUX's rotary embedding in diffusers (seen: 0.42.1), whose frequencies are float64."""

    requires = ("torch", "diffusers")

    def __init__(self) -> None:
        from diffusers.models import embeddings
        from diffusers.models.transformers import transformer_flux

        self._apply = embeddings.apply_rotary_emb
        self._module = transformer_flux.FluxPosEmbed

    @claims("interleaved", dtype=FLOATS, max_position=EXACT)
    def rope(self, x: Array, positions: Positions, *, base: float) -> object:
        """Rotate x by ``FluxPosEmbed`` of ids on a single axis.

        Heads come after positions, as FLUX has them.
        """
        waves = self._module(base, [x.shape[-1]])(to_torch(positions)[:, None])
        return by_heads(
            lambda heads: self._apply(heads, waves, sequence_dim=1), to_torch(x), form="bnhd"
        )

    @claims("interleaved", dtype=FLOATS, domain="negative", max_position=EXACT)
    def axial_rope(
        self, x: Array, positions: Positions, widths: npt.NDArray[np.int64], *, base: float
    ) -> object:
        """Rotate x by ``FluxPosEmbed`` of ids on several axes."""
        waves = self._module(base, widths.tolist())(to_torch(positions.T.copy()))
        return by_heads(
            lambda heads: self._apply(heads, waves, sequence_dim=1), to_torch(x), form="bnhd"
        )
