"""rotary-embedding-torch."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from posenc_conformance import claims, to_torch
from posenc_conformance.implementations.torch_tools import as_tensor, backward, gradient

if TYPE_CHECKING:
    from torch import Tensor

EXACT = 2**24
HEAD_DIMS = (8, 4, 6, 10, 16, 20, 32, 34, 64, 80, 96, 100, 128, 130, 192, 256, 512)
"""The module divides by dim - 2, whatever it is asked for: there is none of two channels."""
Array = npt.NDArray[Any]
Positions = npt.NDArray[np.int64]


class RotaryEmbeddingTorchAdapter:
    """rotary-embedding-torch (seen: 0.9.1), as its README calls it.

    ``rotate_queries_or_keys`` takes a stretch of positions from an offset on; rows at other
    positions go to it one by one, as in decoding. One module serves all calls, as it does in a
    model, and keeps angles from one to the next.

    Of xPos, ``rotate_queries_and_keys`` takes queries and keys at all positions from 0 on; rows
    that are not asked for are zeros. Its module is new for each call: one that has seen a longer
    sequence keeps the scales of that, whose centre is another. Nor is
    ``rotate_queries_with_cached_keys`` judged, which takes the centre of queries from their number.
    """

    requires = ("torch", "rotary-embedding-torch")

    def __init__(self) -> None:
        import torch
        from rotary_embedding_torch import RotaryEmbedding

        self.torch = torch
        self._new = RotaryEmbedding
        self._module = lru_cache(maxsize=64)(RotaryEmbedding)

    @claims("interleaved", head_dim=HEAD_DIMS, max_position=EXACT)
    @claims("interleaved", rotation="partial", head_dim=HEAD_DIMS, rotary_dim=4)
    @claims("interleaved", rotation="partial", head_dim=256, rotary_dim=64)
    def rope(
        self, x: Array, positions: Positions, *, base: float, rotary_dim: int | None = None
    ) -> Tensor:
        """``RotaryEmbedding`` of some or all channels."""
        module = self._module(dim=rotary_dim or x.shape[-1], theta=base)
        return self.turned(module, to_torch(x), positions)

    @claims("interleaved", head_dim=HEAD_DIMS, max_position=EXACT)
    def rope_vjp(self, x: Array, positions: Positions, *, base: float) -> Tensor:
        """What autograd makes of it."""
        module = self._module(dim=x.shape[-1], theta=base)
        return gradient(lambda each: self.turned(module, each, positions), to_torch(x))

    @claims("interleaved", head_dim=HEAD_DIMS, max_position=EXACT)
    def position_interpolation(
        self, x: Array, positions: Positions, *, base: float, factor: float
    ) -> Tensor:
        """The ``interpolate_factor``."""
        module = self._module(dim=x.shape[-1], theta=base, interpolate_factor=factor)
        return self.turned(module, as_tensor(x), positions)

    @claims("interleaved", head_dim=HEAD_DIMS, max_position=EXACT)
    def position_interpolation_vjp(
        self, x: Array, positions: Positions, *, layout: str, **parameters: Any
    ) -> Tensor:
        """What autograd makes of it."""
        return backward(self.position_interpolation, x, positions, **parameters)

    @claims()
    def ntk_aware_frequencies(self, rotary_dim: int, *, base: float, factor: float) -> Tensor:
        """The frequencies of a module with ``theta_rescale_factor``."""
        return self._new(dim=rotary_dim, theta=base, theta_rescale_factor=factor).freqs

    @claims("interleaved", max_position=EXACT)
    def ntk_aware(self, x: Array, positions: Positions, *, base: float, factor: float) -> Tensor:
        """The ``theta_rescale_factor``."""
        module = self._module(dim=x.shape[-1], theta=base, theta_rescale_factor=factor)
        return self.turned(module, as_tensor(x), positions)

    @claims("interleaved", max_position=EXACT)
    def ntk_aware_vjp(
        self, x: Array, positions: Positions, *, layout: str, **parameters: Any
    ) -> Tensor:
        """What autograd makes of it."""
        return backward(self.ntk_aware, x, positions, **parameters)

    @claims("lucidrains", head_dim=HEAD_DIMS, max_position=4095)
    def xpos(
        self, x: Array, positions: Positions, *, base: float, scale_base: float, downscale: int
    ) -> Tensor:
        """The first or second result of ``rotate_queries_and_keys``."""
        values = as_tensor(x)
        *batch, rows, head_dim = values.shape
        length = int(positions.max()) + 1 if rows else 0
        turned = values.clone()
        for row, position in enumerate(positions):
            every = values.new_zeros(*batch, length, head_dim)
            every[..., position, :] = values[..., row, :]
            module = self._new(dim=head_dim, theta=base, use_xpos=True, xpos_scale_base=scale_base)
            both = module.rotate_queries_and_keys(every, every)
            turned[..., row, :] = both[downscale][..., position, :]
        return turned

    @claims("lucidrains", head_dim=HEAD_DIMS, max_position=1023)
    def xpos_vjp(
        self, x: Array, positions: Positions, *, center: str, layout: str, **parameters: Any
    ) -> Tensor:
        """What autograd makes of it."""
        return backward(self.xpos, x, positions, **parameters)

    def turned(self, module: Any, values: Tensor, positions: Positions) -> Tensor:
        """Rows turned together if their positions follow each other, else one by one."""
        rotate = module.rotate_queries_or_keys
        if (np.diff(positions) == 1).all():
            return rotate(values, offset=int(positions[0]) if len(positions) else 0)
        rows = [
            rotate(values[..., row : row + 1, :], offset=int(position))
            for row, position in enumerate(positions)
        ]
        return self.torch.cat(rows, dim=-2)


class RotaryEmbeddingTorchHalfAdapter:
    """rotary-embedding-torch (seen: 0.9.1) for queries and keys in bfloat16 and float16.

    ``rotate_queries_or_keys`` counts positions in the dtype of what it rotates, also under
    autocast: in bfloat16 from 257 on neighbours collide, in float16 from 2049 on. Its module keeps
    the angles, also for float32 calls that follow; here each call has a module of its own.
    """

    requires = ("torch", "rotary-embedding-torch")

    def __init__(self) -> None:
        self._float32 = RotaryEmbeddingTorchAdapter()

    @claims("interleaved", dtype=("bfloat16", "float16"), head_dim=HEAD_DIMS, max_position=65_504)
    def rope(self, x: Array, positions: Positions, *, base: float) -> Tensor:
        """``RotaryEmbedding`` of all channels."""
        module = self._float32._new(dim=x.shape[-1], theta=base)
        return self._float32.turned(module, to_torch(x), positions)
