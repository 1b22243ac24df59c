"""Adapters of KerasHub."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from posenc_conformance import claims
from posenc_conformance.adapters import EXACT, FLOATS, Array, Positions, by_heads
from posenc_conformance.adapters.jax import backward, compiled

Method = Callable[..., Any]


class KerasHub:
    """The library on JAX, and its rotary layers."""

    requires = ("keras", "keras_hub", "jax")

    def __init__(self) -> None:
        os.environ["KERAS_BACKEND"] = "jax"
        import keras_hub

        self.layers = keras_hub.layers
        self._rotary = compiled(self._make_rotary)
        self._sine = compiled(self._make_sine)
        self._timestep = compiled(self._make_timestep)
        self._alibi = compiled(self.layers.AlibiBias)

    def _turned(self, x: Any, positions: Positions, **parameters: Any) -> Any:
        return self._rotary(dtype=str(x.dtype), **parameters)(x, positions)

    def _make_rotary(self, kind: str = "layers", **parameters: Any) -> Method:
        new = self.layers.RotaryEmbedding
        if kind == "llama":
            new = _code("llama.llama_rotary_embedding").LlamaRotaryEmbedding
        layer = new(**parameters)
        return lambda x, positions: by_heads(
            lambda heads: layer(heads, positions=positions), x, form="bnhd"
        )

    def _make_sine(self, dim: int, base: float, dtype: str) -> Method:
        layer = self.layers.SinePositionEncoding(max_wavelength=base, dtype=dtype)
        return lambda positions: layer(
            np.zeros((1, len(positions), dim), np.float32), positions=positions
        )[0]

    def _make_timestep(self, dim: int, max_period: float, dtype: str) -> Method:
        new = _code("stable_diffusion_3.mmdit").TimestepEmbedding
        layer = new(1, frequency_dim=dim, max_period=max_period, dtype=dtype)
        return lambda positions: layer._create_timestep_embedding(positions[:, None])


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
    relative-shift xlnet    ``_rel_shift`` of XLNet
    causal-mask end         ``compute_causal_mask`` of the transformer decoder
    ======================  ====================================================================

    A layer gets the dtype that is judged, as in a model of that dtype policy. The backend is JAX,
    so that TensorFlow is not needed; layers run under ``jax.jit``, as Keras compiles models, except
    the one that is learned.
    """

    @claims("half", dtype=FLOATS, max_position=EXACT)
    def rope(self, x: Array, positions: Positions, *, base: float) -> object:
        """Apply the layer without a scaling."""
        return self._turned(x, positions, max_wavelength=base)

    rope_vjp = backward(rope)

    @claims("half", dtype=FLOATS, max_position=EXACT)
    def position_interpolation(
        self, x: Array, positions: Positions, *, base: float, factor: float
    ) -> object:
        """Apply the layer of the rope_type linear."""
        return self._turned(x, positions, max_wavelength=base, scaling_factor=factor)

    position_interpolation_vjp = backward(position_interpolation)

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
    ) -> object:
        """Apply the layer of the rope_type yarn."""
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

    yarn_vjp = backward(yarn)

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
    ) -> object:
        """Apply the layer of Llama's attention."""
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

    llama3_vjp = backward(llama3)

    @claims("paper", dtype=FLOATS, odd_dim="uneven", max_position=EXACT)
    def sinusoidal(self, positions: Positions, dim: int, *, base: float, dtype: str) -> object:
        """Apply the layer, for which only the shape of its input counts."""
        return self._sine(dim, base, dtype)(positions)

    @claims(dtype=FLOATS)
    def learned(self, positions: Positions, table: Array) -> object:
        """Apply the layer with the table as its weights."""
        rows, dim = table.shape
        layer = self.layers.PositionEmbedding(rows, dtype=str(table.dtype))
        shape = (1, len(positions), dim)
        layer.build(shape)
        layer.position_embeddings.assign(table)
        return layer(np.zeros(shape, np.float32), positions=positions)[0]

    @claims("adm", dtype=FLOATS, scale=1.0, max_position=EXACT)
    def timestep(self, positions: Positions, dim: int, *, max_period: float, dtype: str) -> object:
        """Return what the layer gives to its perceptron."""
        return self._timestep(dim, max_period, dtype)(positions)

    @claims("last-key", dtype=FLOATS)
    def alibi_bias(self, heads: int, q_len: int, k_len: int, *, dtype: str) -> object:
        """Apply the layer to scores of zero."""
        scores = np.zeros((1, heads, q_len, k_len), np.float32)
        return self._alibi(dtype=dtype)(scores)[0]

    @claims("xlnet", dtype=FLOATS)
    def relative_shift(self, x: Array) -> object:
        """Call ``_rel_shift`` of the relative attention."""
        q_len, columns = x.shape[-2:]
        shift = _code("xlnet.relative_attention")._rel_shift
        return by_heads(lambda heads: np.asarray(shift(heads, klen=columns - q_len)), x)

    @claims("end")
    def causal_mask(self, q_len: int, k_len: int) -> object:
        """Return the mask of the last queries, the other keys being cached."""
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
    ) -> object:
        """Apply the layer with all that it can be told."""
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
