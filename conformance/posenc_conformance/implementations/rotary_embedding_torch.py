"""Adapters of rotary-embedding-torch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from posenc_conformance import claims, to_torch
from posenc_conformance.adapters import (
    EXACT,
    Array,
    Positions,
    in_sequence,
    in_stretches,
    once,
)
from posenc_conformance.adapters.torch import backward

if TYPE_CHECKING:
    from torch import Tensor

HEAD_DIMS = (8, 4, 6, 10, 16, 20, 32, 34, 64, 80, 96, 100, 128, 130, 192, 256, 512)
"""Widths without 2: the module divides by dim - 2, whatever it is asked for."""


class RotaryEmbeddingTorch:
    """The library, and one module for all calls with the same parameters, as in a model."""

    requires = ("torch", "rotary-embedding-torch")

    def __init__(self) -> None:
        from rotary_embedding_torch import RotaryEmbedding

        self._new = RotaryEmbedding
        self._module = once(RotaryEmbedding)

    def _turned(self, x: Array, positions: Positions, **parameters: Any) -> Any:
        turn = self._module(**parameters).rotate_queries_or_keys
        return in_stretches(lambda rows, first: turn(rows, offset=first), to_torch(x), positions)


class RotaryEmbeddingTorchAdapter(RotaryEmbeddingTorch):
    """rotary-embedding-torch (seen: 0.9.1), as its README calls it.

    ``rotate_queries_or_keys`` takes a stretch of positions from an offset on; each stretch goes to
    it by itself, as in prefill and decoding. One module serves all calls, as it does in a model,
    and keeps angles from one to the next.

    Of xPos, ``rotate_queries_and_keys`` takes queries and keys at all positions from 0 on; rows
    that are not asked for are zeros. Its module is new for each call; of one that has seen a longer
    sequence, see RotaryEmbeddingTorchXposAdapter. ``rotate_queries_with_cached_keys``, which takes
    the centre of queries from their number, is not judged.
    """

    @claims("interleaved", head_dim=HEAD_DIMS, max_position=EXACT)
    @claims("interleaved", rotation="partial", head_dim=HEAD_DIMS, rotary_dim=4)
    @claims("interleaved", rotation="partial", head_dim=256, rotary_dim=64)
    def rope(
        self, x: Array, positions: Positions, *, base: float, rotary_dim: int | None = None
    ) -> object:
        """Rotate some or all channels by ``RotaryEmbedding``."""
        return self._turned(x, positions, dim=rotary_dim or x.shape[-1], theta=base)

    @claims("interleaved", head_dim=HEAD_DIMS, max_position=EXACT)
    @backward
    def rope_vjp(self, x: Array, positions: Positions, *, base: float) -> object:
        """Compute what autograd makes of ``rope``."""
        return self.rope(x, positions, base=base)

    @claims("interleaved", head_dim=HEAD_DIMS, max_position=EXACT)
    def position_interpolation(
        self, x: Array, positions: Positions, *, base: float, factor: float
    ) -> object:
        """Rotate x with an ``interpolate_factor``."""
        return self._turned(x, positions, dim=x.shape[-1], theta=base, interpolate_factor=factor)

    position_interpolation_vjp = backward(position_interpolation)

    @claims()
    def ntk_aware_frequencies(self, rotary_dim: int, *, base: float, factor: float) -> Tensor:
        """Return the frequencies of a module with a ``theta_rescale_factor``."""
        return self._new(dim=rotary_dim, theta=base, theta_rescale_factor=factor).freqs

    @claims("interleaved", max_position=EXACT)
    def ntk_aware(self, x: Array, positions: Positions, *, base: float, factor: float) -> object:
        """Rotate x with a ``theta_rescale_factor``."""
        return self._turned(x, positions, dim=x.shape[-1], theta=base, theta_rescale_factor=factor)

    ntk_aware_vjp = backward(ntk_aware)

    @claims("lucidrains", head_dim=HEAD_DIMS, max_position=4095)
    def xpos(
        self, x: Array, positions: Positions, *, base: float, scale_base: float, downscale: int
    ) -> object:
        """Return the first or second result of ``rotate_queries_and_keys``."""

        def turn(rows: Tensor) -> object:
            module = new_xpos(x.shape[-1], base, scale_base)
            return module.rotate_queries_and_keys(rows, rows)[downscale]

        return in_sequence(turn, to_torch(x), positions)

    @claims("lucidrains", head_dim=HEAD_DIMS, max_position=1023)
    @backward
    def xpos_vjp(
        self, x: Array, positions: Positions, *, base: float, scale_base: float, downscale: int
    ) -> object:
        """Compute what autograd makes of ``xpos``."""
        return self.xpos(x, positions, base=base, scale_base=scale_base, downscale=downscale)


class RotaryEmbeddingTorchXposAdapter:
    """xPos in rotary-embedding-torch (seen: 0.9.1), of a model that has seen a long sequence.

    Its module keeps the scales of the longest sequence, of up to 8,192, and takes the first of them
    for a shorter one, whose centre is another. Here it has seen one of 8,192 tokens.
    """

    requires = ("torch", "rotary-embedding-torch")

    def __init__(self) -> None:
        import torch

        self.torch = torch
        self._module = once(self._make_module)

    @claims("lucidrains", head_dim=HEAD_DIMS, max_position=4095)
    def xpos(
        self, x: Array, positions: Positions, *, base: float, scale_base: float, downscale: int
    ) -> object:
        """Return the first or second result of ``rotate_queries_and_keys``."""
        turn = self._module(x.shape[-1], base, scale_base).rotate_queries_and_keys
        return in_sequence(lambda rows: turn(rows, rows)[downscale], to_torch(x), positions)

    def _make_module(self, head_dim: int, base: float, scale_base: float) -> Any:
        module = new_xpos(head_dim, base, scale_base)
        long = self.torch.zeros(1, 8192, head_dim)
        module.rotate_queries_and_keys(long, long)
        return module


class RotaryEmbeddingTorchHalfAdapter(RotaryEmbeddingTorch):
    """rotary-embedding-torch (seen: 0.9.1) for queries and keys in bfloat16 and float16.

    ``rotate_queries_or_keys`` counts positions in the dtype of what it rotates, also under
    autocast: in bfloat16 from 257 on neighbours collide, in float16 from 2049 on. Its module keeps
    the angles, also for float32 calls that follow.
    """

    @claims("interleaved", dtype=("bfloat16", "float16"), head_dim=HEAD_DIMS, max_position=65_504)
    def rope(self, x: Array, positions: Positions, *, base: float) -> object:
        """Rotate all channels by ``RotaryEmbedding``."""
        return self._turned(x, positions, dim=x.shape[-1], theta=base)


def new_xpos(head_dim: int, base: float, scale_base: float) -> Any:
    """Make a new module for xPos."""
    from rotary_embedding_torch import RotaryEmbedding

    return RotaryEmbedding(dim=head_dim, theta=base, use_xpos=True, xpos_scale_base=scale_base)
