"""Whisper."""

from __future__ import annotations

from typing import TYPE_CHECKING

from posenc_conformance import claims
from posenc_conformance.adapters import Positions, rows_of

if TYPE_CHECKING:
    from torch import Tensor


class WhisperAdapter:
    """openai-whisper (seen: 20250625): ``sinusoids``, the table of its audio encoder."""

    requires = ("torch", "openai-whisper")

    def __init__(self) -> None:
        from whisper.model import sinusoids

        self._table = sinusoids

    @claims("whisper")
    def sinusoidal(self, positions: Positions, dim: int, *, base: float) -> Tensor:
        """``sinusoids``."""
        return rows_of(lambda length: self._table(length, dim, base), positions)
