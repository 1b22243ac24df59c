"""Scores that depend on the distance of query and key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from posenc_conformance import claims, to_torch
from posenc_conformance.adapters import ALL_FLOATS, FLOATS, Array, Positions, by_heads, once
from posenc_conformance.adapters.torch import at_the_end, logits
from posenc_conformance.implementations.transformers.base import Transformers

if TYPE_CHECKING:
    from torch import Tensor


class Relative(Transformers):
    """What attention gives to its softmax.

    =====================  =====================================================================
    shaw key-minus-query   Wav2Vec2-BERT
    transformer-xl xlnet   XLNet
    transformer-xl         Wav2Vec2-Conformer (also SeamlessM4T)
    conformer
    deberta v1             DeBERTa
    deberta v2             DeBERTa-v2 (also SEW-D)
    decomposed-relative    ViTDet (also SAM), added to logits of zeros
    relative-table-2d      Swin (also Donut); BEiT (also Data2Vec), at the size of its configuration
    =====================  =====================================================================

    Wav2Vec2's are encoders, whose queries are all of the sequence. Where fewer are asked for, those
    before them are zeros, and their scores are not looked at. DeBERTa's layers project hidden
    states; here these are one-hot, so that their projections are queries and keys.
    """

    def __init__(self) -> None:
        super().__init__()
        self._xlnet = once(self._make_xlnet)

    @claims("key-minus-query", dtype=FLOATS)
    def shaw_scores(self, q: Array, k: Array, table: Array) -> Tensor:
        """Return the logits of ``Wav2Vec2BertSelfAttention``.

        Its position_embeddings_type is relative_key.
        """
        query, key, rows = (to_torch(each) for each in (q, k, table))
        code, reach = self.code["wav2vec2_bert"], len(rows) // 2
        config = self.transformers.Wav2Vec2BertConfig(
            hidden_size=query.shape[-1],
            num_attention_heads=1,
            left_max_position_embeddings=reach,
            right_max_position_embeddings=reach,
        )
        module = code.Wav2Vec2BertSelfAttention(config).to(rows.dtype).eval()
        module.load_state_dict({"distance_embedding.weight": rows}, strict=False)
        every, bias = code._apply_relative_key_position_encoding(
            module, at_the_end(query, key.shape[1])[None], key[None]
        )
        scores = logits(
            lambda: code.eager_attention_forward(
                module, every, key[None], key[None], None, module.scaling, position_bias=bias
            )
        )
        return scores[0, :, key.shape[1] - query.shape[1] :].to(query.dtype)

    @claims("swin", "beit", dtype=ALL_FLOATS)
    def relative_table_2d(
        self, table: Array, *, height: int, width: int, class_token: str
    ) -> Tensor:
        """Apply ``SwinRelativePositionBias`` or ``BeitRelativePositionBias``.

        Patches of BEiT are of one pixel.
        """
        values = to_torch(table)
        if class_token == "none":
            module = self.code["swin"].SwinRelativePositionBias(table.shape[1], (height, width))
        else:
            config = self.transformers.BeitConfig(
                image_size=(height, width), patch_size=1, num_attention_heads=table.shape[1]
            )
            module = self.code["beit"].BeitRelativePositionBias(config)
        module = module.to(values.dtype)
        module.load_state_dict({"relative_position_bias_table": values})
        module.requires_grad_(False)
        return module()[0] if class_token == "none" else module((height, width))[0]

    @claims("swin", "beit")
    def relative_table_2d_rows(self, height: int, width: int, *, class_token: str) -> Tensor:
        """Return the index that the modules keep or make."""
        if class_token == "none":
            module = self.code["swin"].SwinRelativePositionBias(1, (height, width))
            return module.relative_position_index.view(module.window_area, -1)
        make = self.code["beit"].BeitRelativePositionBias.generate_relative_position_index
        return make((height, width))

    @claims("v2", "v3", dtype=FLOATS)
    def layout_bias(
        self,
        bbox: Array,
        x_table: Array,
        y_table: Array,
        *,
        max_distance: int,
        head_dim: int,
        scaling: str,
    ) -> Tensor:
        """Return what the encoder adds to logits."""
        along, down = map(to_torch, (x_table, y_table))
        buckets, heads = along.shape
        sizes = {
            "hidden_size": heads * head_dim,
            "num_attention_heads": heads,
            "num_hidden_layers": 0,
            "rel_2d_pos_bins": buckets,
            "max_rel_2d_pos": max_distance,
        }
        name = "LayoutLMv2" if scaling == "none" else "LayoutLMv3"
        config = getattr(self.transformers, f"{name}Config")(**sizes)
        code = self.code[name.lower()]
        encoder = getattr(code, f"{name}Encoder")(config)
        encoder.rel_pos_x_bias.weight.data = along.T
        encoder.rel_pos_y_bias.weight.data = down.T
        boxes = to_torch(bbox)[None]
        if scaling == "none":
            return encoder._calculate_2d_position_embeddings(boxes)[0]
        encoder.rel_pos_bias.to(along.dtype).weight.data.zero_()  # the bias along the text
        return encoder._compute_position_bias(self.torch.zeros_like(boxes[..., 0]), boxes)[0]

    @claims("swin", dtype=FLOATS)
    def log_cpb(
        self,
        w1: Array,
        b1: Array,
        w2: Array,
        *,
        height: int,
        width: int,
        pretrained_height: int,
        pretrained_width: int,
    ) -> Tensor:
        """Return the logits of ``Swinv2SelfAttention`` with cosines multiplied by 0."""
        first, bias, second = map(to_torch, (w1, b1, w2))
        window, before = (height, width), (pretrained_height, pretrained_width)
        module = self._swinv2(len(second), window, before).to(second.dtype)
        inner, _, outer = module.continuous_position_bias_mlp
        for parameter, values in (
            (inner.weight, first),
            (inner.bias, bias),
            (outer.weight, second),
        ):
            parameter.data.zero_()
            parameter.data[tuple(slice(size) for size in values.shape)] = values
        module.logit_scale.data.fill_(-float("inf"))
        for projection in (module.query, module.key):
            self.torch.nn.init.eye_(projection.weight)
        ones = self.torch.ones(1, height * width, len(second), dtype=second.dtype)
        return logits(lambda: module(ones))[0]

    @claims("swin", dtype=FLOATS)
    def log_cpb_coordinates(
        self, height: int, width: int, *, pretrained_height: int, pretrained_width: int, dtype: str
    ) -> Tensor:
        """Return the table that the module keeps."""
        module = self._swinv2(1, (height, width), (pretrained_height, pretrained_width))
        return module.relative_coords_table.view(-1, 2).to(getattr(self.torch, dtype))

    def _swinv2(self, heads: int, window: tuple[int, int], before: tuple[int, int]) -> Any:
        config = self.transformers.Swinv2Config()
        return self.code["swinv2"].Swinv2SelfAttention(config, heads, heads, window, before).eval()

    @claims("vitdet", dtype=FLOATS)
    def decomposed_relative_bias(
        self,
        q: Array,
        table_h: Array,
        table_w: Array,
        *,
        q_height: int,
        q_width: int,
        k_height: int,
        k_width: int,
    ) -> object:
        """Call ``add_decomposed_relative_positions`` on logits of zeros."""
        query, high, wide = map(to_torch, (q, table_h, table_w))
        return self.code["vitdet"].add_decomposed_relative_positions(
            query.new_zeros(*query.shape[:2], k_height * k_width),
            query,
            high,
            wide,
            (q_height, q_width),
            (k_height, k_width),
        )

    @claims("xlnet", dtype=FLOATS)
    def relative_shift(self, x: Array) -> object:
        """Call ``XLNetRelativeAttention.rel_shift_bnij``."""
        q_len, columns = x.shape[-2:]
        shift = self.code["xlnet"].XLNetRelativeAttention.rel_shift_bnij
        return by_heads(lambda heads: shift(heads, klen=columns - q_len), to_torch(x))

    @claims("xlnet", dtype=FLOATS, clamping="clamped")
    @claims("conformer", dtype=FLOATS)
    def transformer_xl_scores(
        self,
        q: Array,
        k: Array,
        w_kr: Array,
        u: Array,
        v: Array,
        *,
        layout: str,
        clamp_len: int | None = None,
    ) -> Tensor:
        """Return logits: ``rel_attn_core`` of XLNet, or a layer of Wav2Vec2-Conformer."""
        arrays = [to_torch(each) for each in (q, k, w_kr, u, v)]
        if layout == "interleaved":
            return self._conformer(arrays)
        return self._xlnet_scores(arrays, clamp_len or -1)

    def _xlnet_scores(self, arrays: Sequence[Tensor], clamp_len: int) -> Tensor:
        q, k, w_kr, u, v = arrays
        heads, dim, head_dim = w_kr.shape
        model = self._xlnet(dim, clamp_len)
        code, config = self.code["xlnet"], self.transformers.XLNetConfig
        layer = code.XLNetRelativeAttention(config(d_model=heads * head_dim, n_head=heads)).eval()
        layer.r_w_bias.data, layer.r_r_bias.data = u, v
        waves = model.relative_positional_encoding(q.shape[1], k.shape[1], bsz=1).type(w_kr.dtype)
        distances = self.torch.einsum("ibh,nhd->ibnd", waves, w_kr)
        query, key = (each.permute(1, 0, 2)[:, None] for each in (q, k))
        scores = logits(lambda: layer.rel_attn_core(query, key, key, distances))
        return scores[0].to(q.dtype)

    def _make_xlnet(self, dim: int, clamp_len: int) -> Any:
        config = self.transformers.XLNetConfig(
            vocab_size=1, d_model=dim, n_layer=0, n_head=1, d_inner=1, clamp_len=clamp_len
        )
        return self.transformers.XLNetModel(config)

    def _conformer(self, arrays: Sequence[Tensor]) -> Tensor:
        q, k, w_kr, u, v = arrays
        heads, dim, head_dim = w_kr.shape
        code, auto = self.code["wav2vec2_conformer"], self.transformers
        usual = {"position_embeddings_type": "relative", "max_source_positions": 4}
        waves = code.Wav2Vec2ConformerRelPositionalEmbedding(
            auto.Wav2Vec2ConformerConfig(hidden_size=dim, **usual)
        )
        layer = code.Wav2Vec2ConformerSelfAttention(
            auto.Wav2Vec2ConformerConfig(
                hidden_size=heads * head_dim, num_attention_heads=heads, **usual
            )
        ).eval()
        layer.pos_bias_u.data, layer.pos_bias_v.data = u, v
        layer.linear_pos.weight.data = w_kr.transpose(1, 2).reshape(heads * head_dim, dim)
        distances = waves(k.new_zeros(1, k.shape[1], dim))
        query, bias = code._apply_relative_position_encoding(
            layer, at_the_end(q, k.shape[1])[None], k[None], distances
        )
        scores = logits(
            lambda: code.eager_attention_forward(
                layer, query, k[None], k[None], None, layer.scaling, position_bias=bias
            )
        )
        return scores[0, :, k.shape[1] - q.shape[1] :].to(q.dtype)

    @claims("growing")
    def deberta_bucket(
        self,
        relative_position: Positions,
        *,
        num_buckets: int,
        max_relative_positions: int,
    ) -> Tensor:
        """Call ``make_log_bucket_position``.

        As in ``build_relative_position``, its result is made whole.
        """
        bucket = self.code["deberta_v2"].make_log_bucket_position
        buckets = bucket(to_torch(relative_position), num_buckets, max_relative_positions)
        return buckets.to(self.torch.long)

    @claims("v1", dtype=FLOATS)
    def deberta_scores(self, q: Array, k: Array, q_r: Array, k_r: Array) -> Tensor:
        """Return the logits of DeBERTa's layer."""
        config = self.transformers.DebertaConfig(
            **_sizes(q), max_relative_positions=q_r.shape[1] // 2, pos_att_type=["c2p", "p2c"]
        )
        queries, keys, table_q, table_k = (_by_channel(each) for each in (q, k, q_r, k_r))
        code = self.code["deberta"]
        layer = code.DisentangledSelfAttention(config).to(queries.dtype).eval()
        three = self.torch.stack((queries, keys, self.torch.zeros_like(keys)), dim=1)
        layer.in_proj.weight.data = three.flatten(0, 2)
        layer.pos_q_proj.weight.data = table_q.flatten(0, 1)
        layer.pos_proj.weight.data = table_k.flatten(0, 1)
        layer.pos_q_proj.bias.data.zero_()
        tokens = self._one_hot(queries)
        return self._scores(layer, tokens, code.build_relative_position(tokens, tokens), table_q)

    @claims("v2-transformers", dtype=FLOATS)
    def deberta_v2_scores(
        self, q: Array, k: Array, q_r: Array, k_r: Array, *, max_relative_positions: int
    ) -> Tensor:
        """Return the logits of DeBERTa-v2's layer."""
        config = self.transformers.DebertaV2Config(
            **_sizes(q),
            max_relative_positions=max_relative_positions,
            position_buckets=q_r.shape[1] // 2,
            pos_att_type=["c2p", "p2c"],
        )
        queries, keys, table_q, table_k = (_by_channel(each) for each in (q, k, q_r, k_r))
        code = self.code["deberta_v2"]
        layer = code.DisentangledSelfAttention(config).to(queries.dtype).eval()
        for projection, heads in (
            (layer.query_proj, queries),
            (layer.key_proj, keys),
            (layer.value_proj, self.torch.zeros_like(keys)),
            (layer.pos_query_proj, table_q),
            (layer.pos_key_proj, table_k),
        ):
            projection.weight.data = heads.flatten(0, 1)
            projection.bias.data.zero_()
        return self._scores(layer, self._one_hot(queries), None, table_q)

    def _one_hot(self, heads: Tensor) -> Tensor:
        """Make one-hot rows, as many as heads have.

        So a projection of them is its own weights.
        """
        return self.torch.eye(heads.shape[-1], dtype=heads.dtype)[None]

    def _scores(
        self, layer: Any, tokens: Tensor, distances: Tensor | None, table: Tensor
    ) -> Tensor:
        everything = self.torch.ones(1, 1, 1, tokens.shape[1], dtype=self.torch.int64)
        rows = self._one_hot(table)[0]
        scores = logits(
            lambda: layer(tokens, everything, relative_pos=distances, rel_embeddings=rows)
        )
        return scores[0].to(tokens.dtype)


def _sizes(q: Array) -> dict[str, Any]:
    heads, _length, head_dim = q.shape
    return {
        "hidden_size": heads * head_dim,
        "num_attention_heads": heads,
        "relative_attention": True,
    }


def _by_channel(heads: Array) -> Tensor:
    """Return weights that make heads of one-hot rows: [heads, head_dim, n]."""
    return to_torch(heads).transpose(1, 2)
