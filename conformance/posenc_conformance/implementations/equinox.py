"""The adapter of Equinox."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from posenc_conformance import claims
from posenc_conformance.adapters import FLOATS, Array, Positions, by_heads, in_sequence, span
from posenc_conformance.adapters.jax import compiled, vjp

if TYPE_CHECKING:
    from jax import Array as JaxArray


class EquinoxAdapter:
    """equinox (seen: 0.13.8, with jax 0.10.2), on the CPU.

    ====================  ======================================================================
    rope half             ``nn.RotaryPositionalEmbedding``, of its default dtype
    learned plain         ``nn.Embedding``
    attention             ``nn.MultiheadAttention`` of one head, whose projections are identities
    ====================  ======================================================================

    The rotary embedding turns row i of a sequence by position i and takes no positions. So the
    rows are put into sequences where they stand at their positions, with zeros elsewhere. Its
    tables are kept by width and dtype, not by theta. Here one of the default theta is always called
    first, as in a model whose layers differ in theta. JAX is left without float64.
    """

    requires = ("jax", "equinox")

    def __init__(self) -> None:
        import equinox
        import jax

        self.equinox = equinox
        self.jax = jax
        self._turn = compiled(self._make_turn)
        self._turn_back = compiled(lambda *sizes: partial(vjp, self._make_turn(*sizes)))
        self._attend = compiled(self._make_attend)
        self._look_up = jax.jit(
            lambda table, positions: jax.vmap(equinox.nn.Embedding(weight=table))(positions)
        )

    @claims("half", dtype=FLOATS)
    def rope(self, x: Array, positions: Positions, *, base: float) -> object:
        """Apply the module to sequences that hold the rows of x."""
        return _in_sequences(self._turn(x.shape[-1], base), x, positions)

    @claims("half", dtype=FLOATS)
    def rope_vjp(self, x: Array, positions: Positions, *, base: float) -> object:
        """Compute what ``jax.vjp`` makes of the module."""
        return _in_sequences(self._turn_back(x.shape[-1], base), x, positions)

    def _make_turn(self, head_dim: int, base: float) -> Any:
        first = self.equinox.nn.RotaryPositionalEmbedding(head_dim)
        module = self.equinox.nn.RotaryPositionalEmbedding(head_dim, theta=base)

        def turn(rows: JaxArray) -> object:
            first(rows)
            return module(rows)

        return self.jax.vmap(turn)

    @claims(dtype=FLOATS)
    def learned(self, positions: Positions, table: Array) -> object:
        """Apply ``nn.Embedding`` of the table to each position."""
        return self._look_up(table, positions)

    @claims("full", "causal", dtype=FLOATS)
    def attention(self, q: Array, k: Array, v: Array, *, mask: str) -> object:
        """Call ``nn.MultiheadAttention``; a causal mask is for the caller to make."""
        attend = self._attend(q.shape[-1], v.shape[-1], str(q.dtype), mask)
        return by_heads(lambda *heads: np.asarray(attend(*heads)), q, k, v, form="hnd")

    def _make_attend(self, head_dim: int, value_dim: int, dtype: str, mask: str) -> Any:
        module = self._one_head(head_dim, value_dim, dtype)

        def attend(q: JaxArray, k: JaxArray, v: JaxArray) -> object:
            q_len, k_len = len(q), len(k)
            seen = np.tri(q_len, k_len, k_len - q_len, dtype=bool) if mask == "causal" else None
            return module(q, k, v, mask=seen)

        return self.jax.vmap(attend)

    def _one_head(self, head_dim: int, value_dim: int, dtype: str) -> Any:
        module = self.equinox.nn.MultiheadAttention(
            num_heads=1,
            query_size=head_dim,
            value_size=value_dim,
            output_size=value_dim,
            vo_size=value_dim,
            dtype=dtype,
            key=self.jax.random.key(0),
        )
        projections = ("query_proj", "key_proj", "value_proj", "output_proj")
        identities = [
            self.jax.numpy.eye(getattr(module, each).in_features, dtype=dtype)
            for each in projections
        ]
        return self.equinox.tree_at(
            lambda tree: [getattr(tree, each).weight for each in projections], module, identities
        )


def _in_sequences(turn: Callable[[Array], JaxArray], x: Array, positions: Positions) -> Any:
    """Turn rows at any positions, in sequences of few lengths, for which the code is compiled."""

    def turn_heads(sequence: Array) -> object:
        return by_heads(lambda heads: np.asarray(turn(heads)), sequence, form="hnd")

    return in_sequence(turn_heads, x, positions, span(positions, power_of_two=True))
