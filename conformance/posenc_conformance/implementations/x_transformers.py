"""The adapter of x-transformers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from posenc_conformance import claims, to_torch
from posenc_conformance.adapters import (
    ALL_FLOATS,
    EXACT,
    FLOATS,
    Array,
    Positions,
    by_heads,
    once,
)
from posenc_conformance.adapters.torch import backward

if TYPE_CHECKING:
    from torch import Tensor

HEAD_DIMS = (8, 4, 6, 10, 16, 20, 32, 34, 64, 80, 96, 100, 128, 130, 192, 256, 512)
"""Widths without 2: ``RotaryEmbedding`` divides by dim - 2, whatever it is asked for."""


class XTransformersAdapter:
    """x-transformers (seen: 2.31.10), its modules as its ``AttentionLayers`` uses them.

    Angles are formed by a module in float32, whatever the dtype of queries and keys. ``Attend``
    without flash returns logits and weights among its intermediates; its softmax is in float32.
    The bias of T5 is multiplied by a scale, which is 1 here.
    """

    requires = ("torch", "x-transformers")

    def __init__(self) -> None:
        import torch
        from x_transformers import x_transformers
        from x_transformers.attend import Attend

        self.torch = torch
        self.code = x_transformers
        self._attend = Attend
        self._rotary = once(x_transformers.RotaryEmbedding)
        self._alibi = once(x_transformers.AlibiPositionalBias)
        self._polar = once(x_transformers.PolarEmbedding)

    @claims("interleaved", dtype=FLOATS, head_dim=HEAD_DIMS, max_position=EXACT)
    @claims("interleaved", dtype=FLOATS, rotation="partial", head_dim=HEAD_DIMS, rotary_dim=4)
    @claims("interleaved", dtype=FLOATS, rotation="partial", head_dim=256, rotary_dim=64)
    def rope(
        self, x: Array, positions: Positions, *, base: float, rotary_dim: int | None = None
    ) -> object:
        """Apply ``RotaryEmbedding``, then ``apply_rotary_pos_emb``."""
        return self._turned(x, positions, dim=rotary_dim or x.shape[-1], base=base)

    @claims("interleaved", dtype=FLOATS, head_dim=HEAD_DIMS, max_position=EXACT)
    @backward
    def rope_vjp(self, x: Array, positions: Positions, *, base: float) -> object:
        """Compute what autograd makes of ``rope``."""
        return self.rope(x, positions, base=base)

    @claims("interleaved", dtype=FLOATS, head_dim=HEAD_DIMS, max_position=EXACT)
    def position_interpolation(
        self, x: Array, positions: Positions, *, base: float, factor: float
    ) -> object:
        """Rotate x with an ``interpolation_factor``."""
        return self._turned(x, positions, dim=x.shape[-1], base=base, interpolation_factor=factor)

    position_interpolation_vjp = backward(position_interpolation)

    @claims()
    def ntk_aware_frequencies(self, rotary_dim: int, *, base: float, factor: float) -> Tensor:
        """Return the frequencies of a module with a ``base_rescale_factor``."""
        new = self.code.RotaryEmbedding
        return new(dim=rotary_dim, base=base, base_rescale_factor=factor).inv_freq

    @claims("interleaved", dtype=FLOATS, max_position=EXACT)
    def ntk_aware(self, x: Array, positions: Positions, *, base: float, factor: float) -> object:
        """Rotate x with a ``base_rescale_factor``."""
        return self._turned(x, positions, dim=x.shape[-1], base=base, base_rescale_factor=factor)

    ntk_aware_vjp = backward(ntk_aware)

    @claims("lucidrains", dtype=FLOATS, head_dim=HEAD_DIMS, max_position=EXACT)
    def xpos(
        self, x: Array, positions: Positions, *, base: float, scale_base: float, downscale: int
    ) -> object:
        """Rotate x with the scale, or with its inverse for keys."""
        return self._turned(
            x,
            positions,
            power=-1 if downscale else 1,
            dim=x.shape[-1],
            base=base,
            use_xpos=True,
            scale_base=scale_base,
        )

    xpos_vjp = backward(xpos)

    def _turned(
        self, x: Array, positions: Positions, power: int | None = None, **parameters: Any
    ) -> Any:
        angles, scale = self._rotary(**parameters)(to_torch(positions))
        turn = self.code.apply_rotary_pos_emb
        return by_heads(
            lambda heads: turn(heads, angles, scale**power if power else scale), to_torch(x)
        )

    @claims("x-transformers", dtype="float32", odd_dim="refuse", max_position=EXACT)
    def sinusoidal(self, positions: Positions, dim: int, *, base: float) -> Tensor:
        """Apply ``ScaledSinusoidalEmbedding`` as it is initialised."""
        module = self.code.ScaledSinusoidalEmbedding(dim, base)
        where = to_torch(positions)
        return module(where[None], pos=where)

    @claims("interpolated", dtype="float32")
    def alibi_slopes(self, heads: int) -> Tensor:
        """Return the slopes of a new ``AlibiPositionalBias``."""
        return self.code.AlibiPositionalBias(heads).slopes.flatten()

    @claims("symmetric", dtype="float32")
    def alibi_bias(self, heads: int, q_len: int, k_len: int) -> Tensor:
        """Call ``AlibiPositionalBias``, which keeps the largest bias that it made."""
        return self._alibi(heads)(q_len, k_len)

    @claims("bidirectional", "causal")
    def t5_bucket(
        self,
        relative_position: Positions,
        *,
        direction: str,
        num_buckets: int,
        max_distance: int,
    ) -> Tensor:
        """Call ``RelativePositionBias._relative_position_bucket``."""
        return self.code.RelativePositionBias._relative_position_bucket(
            to_torch(relative_position), direction == "causal", num_buckets, max_distance
        )

    @claims("bidirectional", "causal", dtype=ALL_FLOATS)
    def t5_bias(
        self, table: Array, q_len: int, k_len: int, *, direction: str, max_distance: int
    ) -> Tensor:
        """Call ``RelativePositionBias`` with a scale of 1."""
        weights = to_torch(table)
        rows, heads = weights.shape
        module = self.code.RelativePositionBias(1, direction == "causal", rows, max_distance, heads)
        module.relative_attention_bias.weight.data = weights
        return module(q_len, k_len)

    @claims("half", dtype=FLOATS, max_position=EXACT)
    def pope_query(self, x: Array, positions: Positions, *, base: float) -> object:
        """Apply ``PolarEmbedding``, then ``apply_polar_pos_emb`` as queries are given to it."""
        angles, _ = self._polar(x.shape[-1], 1, base=base)(to_torch(positions))
        turn = self.code.apply_polar_pos_emb
        return by_heads(lambda heads: turn(heads, angles), to_torch(x))

    @claims("half", dtype=FLOATS, max_position=EXACT)
    def pope_key(self, x: Array, positions: Positions, bias: Array, *, base: float) -> object:
        """Apply ``PolarEmbedding``, then ``apply_polar_pos_emb`` as keys are given to it.

        The module's bias is set.
        """
        module = self._polar(x.shape[-1], 1, base=base)
        module.learned_bias.data = to_torch(bias).float()[None, None]
        angles, phases = module(to_torch(positions))
        turn = self.code.apply_polar_pos_emb
        return by_heads(lambda heads: turn(heads, angles + phases), to_torch(x))

    @claims("linear", "log", dtype="float32")
    def dynamic_position_bias(
        self,
        w_in: Array,
        b_in: Array,
        w_mid: Array,
        b_mid: Array,
        w_out: Array,
        b_out: Array,
        q_len: int,
        k_len: int,
        *,
        distance: str,
    ) -> Tensor:
        """Call ``DynamicPositionBias``, its layers given these weights."""
        heads, hidden = w_out.shape
        module = self.code.DynamicPositionBias(
            hidden, heads=heads, depth=len(w_mid) + 1, log_distance=distance == "log"
        )
        layers = [*zip([w_in[:, None], *w_mid], [b_in, *b_mid], strict=True), (w_out, b_out)]
        linear = [each for each in module.modules() if isinstance(each, self.torch.nn.Linear)]
        for layer, (weight, bias) in zip(linear, layers, strict=True):
            layer.load_state_dict({"weight": to_torch(weight), "bias": to_torch(bias)})
        return module(q_len, k_len)

    @claims("full", "causal", dtype=FLOATS)
    def attention_weights(self, q: Array, k: Array, *, mask: str) -> object:
        """Return the weights of ``Attend``."""
        attend = self._attend(causal=mask == "causal")
        return by_heads(lambda q, k: attend(q, k, k)[1].post_softmax_attn, to_torch(q), to_torch(k))

    @claims("full", "causal", dtype=FLOATS)
    def attention(self, q: Array, k: Array, v: Array, *, mask: str) -> object:
        """Call ``Attend``."""
        attend = self._attend(causal=mask == "causal")
        return by_heads(lambda *each: attend(*each)[0], *map(to_torch, (q, k, v)))

    @claims("causal", "unscaled", dtype=FLOATS)
    def attention_with_bias(
        self, q: Array, k: Array, v: Array, bias: Array, *, mask: str, scaling: str
    ) -> object:
        """Call ``Attend`` with an ``attn_bias``."""
        attend = self._attend(causal=mask == "causal", scale=1.0 if scaling == "unscaled" else None)
        every = self.torch.broadcast_to(to_torch(bias), (*q.shape[:-1], k.shape[-2]))
        return by_heads(
            lambda q, k, v, bias: attend(q, k, v, attn_bias=bias)[0],
            *map(to_torch, (q, k, v)),
            every,
        )

    @claims("causal", dtype=FLOATS)
    def data_dependent_alibi_bias(self, gates: Array, q_len: int) -> Tensor:
        """Apply ``DataDependentAlibi`` to hidden states.

        Its projection hands them on as gates.
        """
        heads, k_len = gates.shape
        hidden = to_torch(gates).T[None]
        module = self.code.DataDependentAlibi(dim=heads, heads=heads).to(hidden.dtype)
        linear = module.to_forget_gates[0]
        linear.weight.data = self.torch.eye(heads, dtype=hidden.dtype)
        linear.bias.data = self.torch.zeros(heads, dtype=hidden.dtype)
        return module(hidden)[0].narrow(1, k_len - q_len, q_len)

    @claims("listing", dtype=FLOATS)
    def cope_scores(self, q: Array, k: Array, table: Array) -> Tensor:
        """Return the logits of ``Attend`` with a ``CoPE``."""
        rows = to_torch(table)
        cope = self.code.CoPE(dim=rows.shape[1], heads=len(q), max_pos=len(rows))
        cope.pos_emb.data = rows
        attend = self._attend(causal=True, cope=cope)
        return by_heads(lambda q, k: attend(q, k, k)[1].pre_softmax_attn, to_torch(q), to_torch(k))
