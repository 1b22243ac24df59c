"""RoPE adapters that switch to another code path at some size; some declare the switch."""

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.memory import Turning, TurningSome
from posenc_lab.miniatures.styles import Array

ROWS, TOKEN_HEADS = 6000, 20_000


class Chunked:
    """Rotates rows in chunks; from row ``ROWS`` on, positions are one too small."""

    @claims("half")
    def rope(self, x: Array, positions: Array, *, base: float) -> Array:
        late = np.arange(len(positions)) >= ROWS
        return Turning().turned(x, positions - late, base)


class SayingChunks(Chunked):
    @claims("half", switches={"rows": ROWS})
    def rope(self, x: Array, positions: Array, *, base: float) -> Array:
        return super().rope(x, positions, base=base)


class Warps:
    """Beyond TOKEN_HEADS token-heads, partial rotation skips all heads but the first."""

    @claims("half", rotation="partial")
    def rope(
        self, x: Array, positions: Array, *, base: float, rotary_dim: int | None = None
    ) -> Array:
        result = TurningSome().rope(x, positions, base=base, rotary_dim=rotary_dim)
        if rotary_dim is not None and np.prod(x.shape[:-1]) > TOKEN_HEADS:
            result.reshape(-1, *x.shape[-2:])[1:] = x.reshape(-1, *x.shape[-2:])[1:]
        return result


class SayingWarps(Warps):
    @claims("half", rotation="partial", switches={"token_heads": [64, TOKEN_HEADS]})
    def rope(
        self, x: Array, positions: Array, *, base: float, rotary_dim: int | None = None
    ) -> Array:
        return super().rope(x, positions, base=base, rotary_dim=rotary_dim)


class Right:
    @claims("half", switches={"rows": [64, 2048], "heads": 32, "token_heads": 10_240})
    def rope(self, x: Array, positions: Array, *, base: float) -> Array:
        return Turning().turned(x, positions, base)
