"""Right implementations: dynamic NTK scaling."""

from typing import Any

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.scaled import by_halves, by_matrices, by_neighbours, plain, plain32
from posenc_lab.miniatures.styles import COLUMNS, FLOATS, KINDS, NARROW, Array, by_columns, right


@right
class LengthInFloat32:
    """transformers: the length is a tensor, so the stretch is computed in float32."""

    @claims(dtype=NARROW)
    def dynamic_ntk_frequencies(self, rotary_dim: int, *, dtype: str, **given: Any) -> Array:
        return self._frequencies(rotary_dim, **given).astype(KINDS[dtype])

    @claims("half", dtype=NARROW, max_position=2**24)
    def dynamic_ntk(self, x: Array, positions: Array, **given: Any) -> Array:
        del given["layout"]
        omega = self._frequencies(x.shape[-1], **given)
        return by_halves(x, positions.astype(np.float32)[:, None] * omega)

    @staticmethod
    def _frequencies(
        dim: int, base: float, factor: float, original_max_position_embeddings: int, length: int
    ) -> Array:
        seq_len = np.float32(max(length, original_max_position_embeddings))
        stretch = np.float32(factor) * seq_len / np.float32(original_max_position_embeddings)
        stretch = stretch - np.float32(factor - 1)
        return plain32(dim, np.float32(base) * stretch ** np.float32(dim / (dim - 2)))


@right
class OnlyBeyond:
    """The base changes only beyond the original length; interleaved pairs, in float32."""

    @claims("interleaved", dtype=NARROW, max_position=2**24)
    def dynamic_ntk(
        self,
        x: Array,
        positions: Array,
        *,
        base: float,
        factor: float,
        original_max_position_embeddings: int,
        length: int,
    ) -> Array:
        dim = x.shape[-1]
        if length > original_max_position_embeddings:
            stretch = (factor * length / original_max_position_embeddings) - (factor - 1)
            base = base * stretch ** (dim / (dim - 2))
        return by_neighbours(x, np.outer(positions.astype(np.float32), plain32(dim, base)))


@right
class Surplus:
    """1 + factor * surplus / original length, in float64; a table per length."""

    def __init__(self) -> None:
        self._tables: dict[tuple[float, ...], Array] = {}

    @claims("interleaved", "half", dtype=FLOATS, max_position=2**30, domain="negative")
    def dynamic_ntk(self, x: Array, positions: Array, *, layout: str, **given: Any) -> Array:
        omega = self.dynamic_ntk_frequencies(x.shape[-1], dtype="float64", **given)
        return by_matrices(x, np.outer(positions, omega), layout)

    @claims(dtype=FLOATS)
    def dynamic_ntk_frequencies(
        self,
        rotary_dim: int,
        *,
        base: float,
        factor: float,
        original_max_position_embeddings: int,
        length: int,
        dtype: str,
    ) -> Array:
        key = rotary_dim, base, factor, original_max_position_embeddings, length
        if key not in self._tables:
            surplus = max(length - original_max_position_embeddings, 0)
            exponent = np.arange(0, rotary_dim, 2) / (rotary_dim - 2)
            slower = (1 + factor * surplus / original_max_position_embeddings) ** -exponent
            self._tables[key] = plain(rotary_dim, base) * slower
        return self._tables[key].astype(KINDS[dtype])


@right
class DynamicTransposed:
    """The transposed Jacobian, column by column."""

    @claims("interleaved", "half", **COLUMNS)
    def dynamic_ntk_vjp(self, x: Array, positions: Array, **given: Any) -> Array:
        return by_columns(Surplus().dynamic_ntk, x, positions, **given)


@right
class DynamicConjugated:
    """flash-attention: the kernel of the forward pass with negated sines, angles in float32."""

    @claims("half", dtype=NARROW, max_position=2**24)
    def dynamic_ntk_vjp(self, x: Array, positions: Array, *, layout: str, **given: Any) -> Array:
        return LengthInFloat32().dynamic_ntk(x, -positions.astype(np.int64), **given, layout=layout)
