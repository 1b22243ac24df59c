"""KerasHub."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from posenc_conformance import claims

Array = npt.NDArray[Any]
Positions = npt.NDArray[np.int64]
FLOATS = ("float32", "bfloat16", "float16")
EXACT = 2**24
"""Positions are cast to float32, which holds every integer up to here."""


class KerasHub:
    """The library on JAX, and its rotary layers."""

    requires = ("keras", "keras_hub", "jax")

    def __init__(self) -> None:
        os.environ["KERAS_BACKEND"] = "jax"
        import jax
        import keras_hub

        self.jax = jax
        self.layers = keras_hub.layers
        self._rotary = lru_cache(maxsize=64)(self._make_rotary)

    def _turned(self, x: Any, positions: Positions, **parameters: Any) -> Any:
        rows, head_dim = x.shape[-2:]
        layer = self._rotary(dtype=str(x.dtype), **parameters)
        heads = self.jax.numpy.reshape(x, (1, math.prod(x.shape[:-2]), rows, head_dim))
        turned = layer(heads.swapaxes(1, 2), positions=positions)
        return turned.swapaxes(1, 2).reshape(x.shape)

    def _make_rotary(self, kind: str = "layers", **parameters: Any) -> Any:
        if kind == "layers":
            return self.layers.RotaryEmbedding(**parameters)
        return _code("llama.llama_rotary_embedding").LlamaRotaryEmbedding(**parameters)


class KerasHubAdapter(KerasHub):
    """keras-hub (seen: 0.32.0, with keras 3.15.1 and jax 0.10.2), on the CPU.

    ======================  ====================================================================
    rope, yarn, position    ``layers.RotaryEmbedding``; for its rope_type dynamic see
    interpolation           KerasHubDynamicAdapter
    llama3                  ``LlamaRotaryEmbedding`` of Llama 3
    sinusoidal paper        ``layers.SinePositionEncoding``
    learned plain           ``layers.PositionEmbedding``
    timestep adm            ``TimestepEmbedding`` of Stable Diffusion 3, before its layers
    alibi last-key          ``layers.AlibiBias``, on scores of zero
    t5                      ``T5MultiHeadAttention``, whose constants 32 and 128 are overwritten
    deberta v2              ``DisentangledSelfAttention`` of DeBERTa-v3. It projects hidden states;
                            here these hold queries and keys side by side, so that half of the
                            heads have those that are asked for.
    relative-shift xlnet    ``_rel_shift`` of XLNet
    causal-mask end         ``compute_causal_mask`` of the transformer decoder
    ======================  ====================================================================

    A layer gets the dtype that is judged, as in a model of that dtype policy. The backend is JAX,
    so that TensorFlow is not needed; gradients are those of ``jax.vjp``.
    """

    @claims("half", dtype=FLOATS, max_position=EXACT)
    def rope(self, x: Array, positions: Positions, *, base: float) -> Any:
        """The layer without a scaling."""
        return self._turned(x, positions, max_wavelength=base)

    @claims("half", dtype=FLOATS, max_position=EXACT)
    def rope_vjp(self, x: Array, positions: Positions, *, base: float) -> Any:
        """What ``jax.vjp`` makes of the layer."""
        _result, pull_back = self.jax.vjp(
            lambda each: self._turned(each, positions, max_wavelength=base), np.zeros_like(x)
        )
        return pull_back(self.jax.numpy.asarray(x))[0]

    @claims("half", dtype=FLOATS, max_position=EXACT)
    def position_interpolation(
        self, x: Array, positions: Positions, *, base: float, factor: float
    ) -> Any:
        """The rope_type linear."""
        return self._turned(x, positions, max_wavelength=base, scaling_factor=factor)

    @claims("code-half", "gpt-oss", dtype=FLOATS, max_position=EXACT)
    def yarn(
        self,
        x: Array,
        positions: Positions,
        *,
        ramp: str,
        base: float,
        factor: float,
        original_max_position_embeddings: int,
        beta_fast: float = 32.0,
        beta_slow: float = 1.0,
    ) -> Any:
        """The rope_type yarn."""
        return self._turned(
            x,
            positions,
            rope_type="yarn",
            max_wavelength=base,
            scaling_factor=factor,
            original_max_position_embeddings=original_max_position_embeddings,
            beta_fast=beta_fast,
            beta_slow=beta_slow,
            truncate=ramp == "index",
        )

    @claims("half", dtype=FLOATS, max_position=EXACT)
    def llama3(
        self,
        x: Array,
        positions: Positions,
        *,
        base: float,
        factor: float,
        low_freq_factor: float,
        high_freq_factor: float,
        original_max_position_embeddings: int,
    ) -> Any:
        """The layer of Llama's attention."""
        return self._turned(
            x,
            positions,
            kind="llama",
            max_wavelength=base,
            frequency_adjustment_factor=factor,
            low_freq_factor=low_freq_factor,
            high_freq_factor=high_freq_factor,
            pretraining_sequence_length=original_max_position_embeddings,
        )

    @claims("paper", dtype=FLOATS, odd_dim="uneven", max_position=EXACT)
    def sinusoidal(self, positions: Positions, dim: int, *, base: float, dtype: str) -> Any:
        """The layer, of which only the shape of its input counts."""
        layer = self.layers.SinePositionEncoding(max_wavelength=base, dtype=dtype)
        return layer(np.zeros((1, len(positions), dim), np.float32), positions=positions)[0]

    @claims(dtype=FLOATS)
    def learned(self, positions: Positions, table: Array) -> Any:
        """The layer with the table as its weights."""
        rows, dim = table.shape
        layer = self.layers.PositionEmbedding(rows, dtype=str(table.dtype))
        shape = (1, len(positions), dim)
        layer.build(shape)
        layer.position_embeddings.assign(table)
        return layer(np.zeros(shape, np.float32), positions=positions)[0]

    @claims("adm", dtype=FLOATS, scale=1.0, max_position=EXACT)
    def timestep(self, positions: Positions, dim: int, *, max_period: float, dtype: str) -> Any:
        """What the layer gives to its perceptron."""
        layer = _code("stable_diffusion_3.mmdit").TimestepEmbedding(
            1, frequency_dim=dim, max_period=max_period, dtype=dtype
        )
        return layer._create_timestep_embedding(positions[:, None])

    @claims("last-key", dtype=FLOATS)
    def alibi_bias(self, heads: int, q_len: int, k_len: int, *, dtype: str) -> Any:
        """The layer, on scores of zero."""
        scores = np.zeros((1, heads, q_len, k_len), np.float32)
        return self.layers.AlibiBias(dtype=dtype)(scores)[0]

    @claims("bidirectional", "causal")
    def t5_bucket(
        self,
        relative_position: Positions,
        *,
        direction: str,
        num_buckets: int,
        max_distance: int,
    ) -> Any:
        """``T5MultiHeadAttention._relative_position_bucket``."""
        bucket = _code("t5.t5_multi_head_attention").T5MultiHeadAttention._relative_position_bucket
        distances = self.jax.numpy.asarray(relative_position)
        return bucket(distances, direction == "bidirectional", num_buckets, max_distance)

    @claims("bidirectional", "causal", dtype=FLOATS)
    def t5_bias(
        self, table: Array, q_len: int, k_len: int, *, direction: str, max_distance: int
    ) -> Any:
        """``T5MultiHeadAttention.compute_bias``, of a decoder if causal."""
        return self._t5(direction, max_distance, q_len, k_len)(self.jax.numpy.asarray(table))

    @claims("bidirectional", "causal", dtype=FLOATS)
    def t5_bias_vjp(
        self, gradient: Array, *, direction: str, num_buckets: int, max_distance: int
    ) -> Any:
        """What ``jax.vjp`` makes of ``compute_bias``."""
        heads, q_len, k_len = gradient.shape
        bias = self._t5(direction, max_distance, q_len, k_len)
        table = np.zeros((num_buckets, heads), gradient.dtype)
        return self.jax.vjp(bias, table)[1](self.jax.numpy.asarray(gradient))[0]

    def _t5(
        self, direction: str, max_distance: int, q_len: int, k_len: int
    ) -> Callable[[Any], Any]:
        attention = _code("t5.t5_multi_head_attention").T5MultiHeadAttention

        def bias(table: Any) -> Any:
            layer = attention(direction == "causal", 1, 1, table.shape[1], 0.0)
            layer.relative_attention_buckets = len(table)
            layer.relative_attention_max_distance = max_distance
            layer.relative_attention_bias = table
            return layer.compute_bias(q_len, k_len, query_start_index=k_len - q_len)[0]

        return bias

    @claims("growing")
    def deberta_bucket(
        self, relative_position: Positions, *, num_buckets: int, max_relative_positions: int
    ) -> Any:
        """``_make_log_bucket_position``."""
        layer = _deberta(1, 1, num_buckets, max_relative_positions, "float32")
        return layer._make_log_bucket_position(self.jax.numpy.asarray(relative_position))

    @claims("v2-transformers", dtype=FLOATS)
    def deberta_v2_scores(
        self, q: Array, k: Array, q_r: Array, k_r: Array, *, max_relative_positions: int
    ) -> Any:
        """What the layer gives to its softmax."""
        heads, _length, head_dim = q.shape
        width = heads * head_dim
        layer = _deberta(
            2 * heads, 2 * width, q_r.shape[1] // 2, max_relative_positions, str(q.dtype)
        )
        hidden, table = (
            np.concatenate([each.swapaxes(0, 1).reshape(-1, width) for each in pair], axis=1)[None]
            for pair in ((q, k), (q_r, k_r))
        )
        layer.build(hidden.shape, table.shape)
        for projection, first in ((layer._query_dense, 0), (layer._key_dense, width)):
            kernel = np.zeros((2 * width, 2 * width), q.dtype)
            kernel[first : first + width, :width] = np.eye(width)
            projection.kernel.assign(kernel.reshape(2 * width, 2 * heads, head_dim))
        seen = []

        def watch(scores: Any, _mask: Any) -> Any:
            seen.append(scores)
            return scores

        layer._masked_softmax = watch
        layer(hidden, table)
        return seen[0][0, :heads]

    @claims("xlnet", dtype=FLOATS)
    def relative_shift(self, x: Array) -> Any:
        """``_rel_shift`` of the relative attention."""
        *batch, q_len, columns = x.shape
        shift = _code("xlnet.relative_attention")._rel_shift
        heads = self.jax.numpy.reshape(x, (1, math.prod(batch), q_len, columns))
        return shift(heads, klen=columns - q_len).reshape(*batch, q_len, columns - q_len)

    @claims("end")
    def causal_mask(self, q_len: int, k_len: int) -> Any:
        """The mask of the last queries, the other keys being cached."""
        code = import_module("keras_hub.src.layers.modeling.transformer_layer_utils")
        return code.compute_causal_mask(1, k_len, q_len, cache_index=k_len - q_len)[0]


class KerasHubDynamicAdapter(KerasHub):
    """``layers.RotaryEmbedding`` of rope_type dynamic, which is not told the length of a text."""

    @claims("half", dtype=FLOATS, max_position=16_383)
    def dynamic_ntk(
        self,
        x: Array,
        positions: Positions,
        *,
        base: float,
        factor: float,
        original_max_position_embeddings: int,
        length: int,
    ) -> Any:
        """The layer with all that it can be told."""
        return self._turned(
            x,
            positions,
            rope_type="dynamic",
            max_wavelength=base,
            scaling_factor=factor,
            original_max_position_embeddings=original_max_position_embeddings,
        )


def _code(name: str) -> Any:
    return import_module(f"keras_hub.src.models.{name}")


def _deberta(heads: int, hidden_dim: int, buckets: int, largest: int, dtype: str) -> Any:
    return _code("deberta_v3.disentangled_self_attention").DisentangledSelfAttention(
        heads, hidden_dim, largest, buckets, dropout=0.0, dtype=dtype
    )
