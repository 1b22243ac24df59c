"""Equinox."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from posenc_conformance import claims

if TYPE_CHECKING:
    from jax import Array as JaxArray

Array = npt.NDArray[Any]
Positions = npt.NDArray[np.int64]
FLOATS = ("float32", "bfloat16", "float16")


class EquinoxRotary:
    """The rotary embedding."""

    requires = ("jax", "equinox")

    def __init__(self) -> None:
        import equinox
        import jax

        self.equinox = equinox
        self.jax = jax

    @claims("half", dtype=FLOATS)
    def rope(self, x: Array, positions: Positions, *, base: float) -> Array:
        """The module on sequences that hold the rows of x."""
        return _by_sequences(self._module(x.shape[-1], base), x, positions)

    @claims("half", dtype=FLOATS)
    def rope_vjp(self, x: Array, positions: Positions, *, base: float) -> Array:
        """What ``jax.vjp`` makes of the module."""
        module = self._module(x.shape[-1], base)

        def pull_back(rows: JaxArray) -> JaxArray:
            result: JaxArray = self.jax.vjp(module, rows)[1](rows)[0]
            return result

        return _by_sequences(pull_back, x, positions)

    def _module(self, head_dim: int, base: float) -> Callable[[JaxArray], JaxArray]:
        self.equinox.clear_caches()
        module = self.equinox.nn.RotaryPositionalEmbedding(head_dim, theta=base)
        return lambda rows: module(self.jax.numpy.asarray(rows))


class EquinoxAdapter(EquinoxRotary):
    """equinox (seen: 0.13.8, with jax 0.10.2), on the CPU.

    ====================  ======================================================================
    rope half             ``nn.RotaryPositionalEmbedding``, of its default dtype
    learned plain         ``nn.Embedding``
    attention             ``nn.MultiheadAttention`` of one head, whose projections are identities
    ====================  ======================================================================

    The rotary embedding turns row i of a sequence by position i and takes no positions. So the
    rows are put into sequences where they stand at their positions, with zeros elsewhere. Its
    tables are kept by width and dtype, not by theta; ``clear_caches`` makes each call the first of
    its process (see EquinoxThetaAdapter). JAX is left without float64.
    """

    @claims(dtype=FLOATS)
    def learned(self, positions: Positions, table: Array) -> JaxArray:
        """``nn.Embedding`` of the table, at each position."""
        module = self.equinox.nn.Embedding(weight=self.jax.numpy.asarray(table))
        result: JaxArray = self.jax.vmap(module)(positions)
        return result

    @claims("full", "causal", dtype=FLOATS)
    def attention(self, q: Array, k: Array, v: Array, *, mask: str) -> JaxArray:
        """``nn.MultiheadAttention``; a causal mask is for the caller to make."""
        q_len, k_len = q.shape[-2], k.shape[-2]
        seen = np.tri(q_len, k_len, k_len - q_len, dtype=bool) if mask == "causal" else None
        module = self._one_head(q.shape[-1], v.shape[-1], q.dtype)
        attend = self.jax.vmap(lambda *each: module(*each, mask=seen))
        heads = (each.reshape(-1, *each.shape[-2:]) for each in (q, k, v))
        result: JaxArray = attend(*heads)
        return result.reshape(*q.shape[:-1], v.shape[-1])

    def _one_head(self, head_dim: int, value_dim: int, dtype: np.dtype[Any]) -> Any:
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


class EquinoxThetaAdapter(EquinoxRotary):
    """The rotary embedding where a rotary embedding of the default theta has been called before.

    As in any model whose layers differ in theta.
    """

    def _module(self, head_dim: int, base: float) -> Callable[[JaxArray], JaxArray]:
        module = super()._module(head_dim, base)
        first = self.equinox.nn.RotaryPositionalEmbedding(head_dim)

        def second(rows: JaxArray) -> JaxArray:
            first(rows)
            return module(rows)

        return second


def _by_sequences(function: Callable[[Any], JaxArray], x: Array, positions: Positions) -> Array:
    """A function of whole sequences, for rows that stand at any positions.

    A position that is asked for twice needs two sequences. Their length is a power of two, since
    each new one is compiled.
    """
    result = np.empty_like(x)
    length = 1 << max(6, int(positions.max(initial=0)).bit_length())
    times = np.array([np.sum(positions[:i] == at) for i, at in enumerate(positions)], np.int64)
    for head in np.ndindex(x.shape[:-2]):
        for time in range(int(times.max(initial=0)) + 1):
            rows, at = times == time, positions[times == time]
            sequence = np.zeros((length, x.shape[-1]), x.dtype)
            sequence[at] = x[head][rows]
            result[head][rows] = np.asarray(function(sequence))[at]
    return result
