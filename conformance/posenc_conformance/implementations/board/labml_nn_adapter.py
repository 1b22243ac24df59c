"""labml.ai's annotated implementations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from posenc_conformance import claims, to_torch
from posenc_conformance.adapters import FLOATS, Array, Positions, in_sequence, once, rows_of

if TYPE_CHECKING:
    from torch import Tensor


class LabmlNnAdapter:
    """labml-nn (seen: 0.5.1), without its dependencies: implementations that are read as a book.

    rope                  ``RotaryPositionalEmbeddings``, of sequences from 0 on
    sinusoidal paper      ``get_positional_encoding``, base 10,000 only
    alibi-slopes          ``get_slopes``
    alibi key-from-1      ``get_alibi_biases`` of a causal mask, where the first key is 1
    """

    requires = ("torch", "labml-nn")

    def __init__(self) -> None:
        from labml_nn.transformers import alibi
        from labml_nn.transformers.positional_encoding import get_positional_encoding
        from labml_nn.transformers.rope import RotaryPositionalEmbeddings
        from labml_nn.transformers.utils import subsequent_mask

        self._alibi = alibi
        self._mask = subsequent_mask
        self._made = once(RotaryPositionalEmbeddings)
        self._table = get_positional_encoding

    @claims("half", dtype=FLOATS, rotation="partial", max_position=8191)
    def rope(
        self, x: Array, positions: Positions, *, base: float, rotary_dim: int | None = None
    ) -> Any:
        """``RotaryPositionalEmbeddings`` on x of shape [length, batch, heads, head_dim]."""
        module = self._made(rotary_dim or x.shape[-1], base)

        def turn(sequence: Tensor) -> Tensor:
            *leading, length, dim = sequence.shape
            rows = sequence.reshape(-1, length, dim).swapaxes(0, 1)[:, None]
            return module(rows)[:, 0].swapaxes(0, 1).reshape(*leading, length, dim)

        return in_sequence(turn, to_torch(x), positions)

    @claims("paper", base=10000.0, odd_dim="refuse")
    def sinusoidal(self, positions: Positions, dim: int) -> Tensor:
        """``get_positional_encoding``."""
        return rows_of(lambda length: self._table(dim, length)[:, 0], positions)

    @claims("key-from-1", dtype="float32")
    def alibi_bias(self, heads: int, q_len: int, k_len: int) -> Any:
        """``get_alibi_biases`` of the last rows of a causal mask."""
        mask = self._mask(k_len)[k_len - q_len :, :, 0]
        return self._alibi.get_alibi_biases(heads, mask).permute(2, 0, 1)

    @claims("interpolated")
    def alibi_slopes(self, heads: int) -> Any:
        """``get_slopes``."""
        return self._alibi.get_slopes(heads)
