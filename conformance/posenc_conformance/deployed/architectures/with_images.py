"""Families of models that read images too, and whose text part is loaded with the whole model.

Their probes have a part for images as well. It has no layers, and only zeros: a probe is a text.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from posenc_conformance.deployed.architectures.tensor_layout import (
    EXPERTS,
    GATED,
    INTERMEDIATE,
    Around,
    Family,
    Names,
    Normed,
    Shaped,
)
from posenc_conformance.models.configuration import Fields

OF_IMAGES = 64
"""Channels of the part for images."""
MERGED = 4 * OF_IMAGES
"""Channels of the four patches that become one token."""
COLOURS, FRAMES = 3, 2
PLACES = 4
"""Rows of a table of places of patches."""
VISION: Fields = {
    "depth": 0,
    "hidden_size": OF_IMAGES,
    "intermediate_size": INTERMEDIATE,
    "num_heads": 2,
    "in_channels": COLOURS,
    "spatial_merge_size": 2,
    "temporal_patch_size": FRAMES,
}
INSIDE = Names(
    embeddings="model.language_model.embed_tokens",
    layer="model.language_model.layers.{}",
    last_norm="model.language_model.norm",
)


def _patches(place: str, size: int) -> Iterator[Shaped]:
    """Yield the projection of patches of ``size`` by ``size`` pixels."""
    yield f"{place}.patch_embed.proj.weight", (OF_IMAGES, COLOURS, FRAMES, size, size)


def _merged(place: str, hidden: int) -> Iterator[Shaped]:
    """Yield the merger of patches in Qwen 2.5's part for images."""
    yield from _patches(place, 14)
    yield f"{place}.merger.ln_q.weight", (OF_IMAGES,)
    yield f"{place}.merger.mlp.0.weight", (MERGED, MERGED)
    yield f"{place}.merger.mlp.0.bias", (MERGED,)
    yield f"{place}.merger.mlp.2.weight", (hidden, MERGED)
    yield f"{place}.merger.mlp.2.bias", (hidden,)


def _of_qwen_2(hidden: int) -> Iterator[Shaped]:
    """Yield the part for images of Qwen 2.5 VL, under the names of its checkpoints."""
    yield from _merged("visual", hidden)


def _of_exaone(hidden: int) -> Iterator[Shaped]:
    """Yield the part for images of EXAONE 4.5."""
    yield from _merged("model.visual", hidden)


def _of_qwen_3(hidden: int) -> Iterator[Shaped]:
    """Yield the part for images of Qwen 3 VL."""
    place = "model.visual"
    yield from _patches(place, 16)
    yield f"{place}.patch_embed.proj.bias", (OF_IMAGES,)
    yield f"{place}.pos_embed.weight", (PLACES, OF_IMAGES)
    yield f"{place}.merger.norm.weight", (OF_IMAGES,)
    yield f"{place}.merger.norm.bias", (OF_IMAGES,)
    yield f"{place}.merger.linear_fc1.weight", (MERGED, MERGED)
    yield f"{place}.merger.linear_fc1.bias", (MERGED,)
    yield f"{place}.merger.linear_fc2.weight", (hidden, MERGED)
    yield f"{place}.merger.linear_fc2.bias", (hidden,)


def _experts(hidden: int) -> Iterator[Shaped]:
    """Yield experts as one tensor, [experts, in, out], as Qwen 3 VL stores them."""
    yield "mlp.gate.weight", (EXPERTS, hidden)
    yield "mlp.experts.gate_up_proj", (EXPERTS, hidden, 2 * INTERMEDIATE)
    yield "mlp.experts.down_proj", (EXPERTS, INTERMEDIATE, hidden)


IMAGE_TOKENS: Fields = {
    "image_token_id": 0,
    "video_token_id": 0,
    "vision_start_token_id": 0,
    "vision_end_token_id": 0,
}
"""Tokens that stand for images: the one for padding, which no text has."""
OF_QWEN_2: Fields = {
    **VISION,
    "patch_size": 14,
    "window_size": 112,
    "fullatt_block_indexes": [],
}
QWEN_2_5_VL = Family(
    "Qwen2_5_VLForConditionalGeneration",
    biased=frozenset({"projections"}),
    fields=GATED,
    around=Around(
        "qwen2_5_vl",
        {**OF_QWEN_2, "model_type": "qwen2_5_vl_vision", "tokens_per_second": 2},
        _of_qwen_2,
        IMAGE_TOKENS,
    ),
)
OF_QWEN_3: Fields = {
    **VISION,
    "model_type": "qwen3_vl_vision",
    "patch_size": 16,
    "num_position_embeddings": PLACES,
    "deepstack_visual_indexes": [],
}
QWEN_3_VL = Family(
    "Qwen3VLForConditionalGeneration",
    names=INSIDE,
    normed=Normed.BY_HEAD,
    fields=GATED,
    around=Around("qwen3_vl", OF_QWEN_3, _of_qwen_3, IMAGE_TOKENS),
)


def _of_llama(hidden: int) -> Iterator[Shaped]:
    """Yield the part for images of Llama 3.2, and the projection of its output."""
    place = "vision_model"
    yield f"{place}.class_embedding", (OF_IMAGES,)
    yield f"{place}.patch_embedding.weight", (OF_IMAGES, COLOURS, 14, 14)
    yield f"{place}.gated_positional_embedding.gate", (1,)
    yield f"{place}.gated_positional_embedding.embedding", (2, OF_IMAGES)
    yield f"{place}.gated_positional_embedding.tile_embedding.weight", (2, 2 * OF_IMAGES)
    for name in ("pre_tile", "post_tile"):
        yield f"{place}.{name}_positional_embedding.gate", (1,)
        yield f"{place}.{name}_positional_embedding.embedding.weight", (2, OF_IMAGES)
    for name in ("layernorm_pre", "layernorm_post"):
        yield f"{place}.{name}.weight", (OF_IMAGES,)
        yield f"{place}.{name}.bias", (OF_IMAGES,)
    yield "multi_modal_projector.weight", (hidden, OF_IMAGES)
    yield "multi_modal_projector.bias", (hidden,)


def _crossed(config: Fields, layer: int) -> Iterator[Shaped]:
    """Yield the attention of Llama 3.2 to an image, with gates that pass nothing."""
    hidden, heads = config["hidden_size"], config["num_attention_heads"]
    size = hidden // heads
    kv_heads = config.get("num_key_value_heads", heads)
    yield "cross_attn_attn_gate", (1,)
    yield "cross_attn_mlp_gate", (1,)
    yield "cross_attn.q_proj.weight", (hidden, hidden)
    yield "cross_attn.k_proj.weight", (kv_heads * size, hidden)
    yield "cross_attn.v_proj.weight", (kv_heads * size, hidden)
    yield "cross_attn.o_proj.weight", (hidden, hidden)
    yield "cross_attn.q_norm.weight", (size,)
    yield "cross_attn.k_norm.weight", (size,)


WITH_IMAGES: Mapping[str, Family] = {
    "exaone4_5_text": Family(
        "Exaone4_5_ForConditionalGeneration",
        names=replace(
            INSIDE,
            norms=("post_feedforward_layernorm",),
            norm_behind="post_attention_layernorm",
        ),
        normed=Normed.BY_HEAD,
        bare=True,
        fields=GATED,
        around=Around(
            "exaone4_5",
            {**OF_QWEN_2, "model_type": "exaone4_5_vision", "num_key_value_heads": 2},
            _of_exaone,
            {"image_token_id": 0, "video_token_id": 0},
        ),
    ),
    "mllama_text_model": Family(
        "MllamaForConditionalGeneration",
        names=Names(
            embeddings="language_model.model.embed_tokens",
            layer="language_model.model.layers.{}",
            last_norm="language_model.model.norm",
            logits="language_model.lm_head",
        ),
        silent=_crossed,
        rows_of_images=8,
        fields={"intermediate_size": INTERMEDIATE, "hidden_act": "silu"},
        around=Around(
            "mllama",
            {
                "model_type": "mllama_vision_model",
                "hidden_size": OF_IMAGES,
                "intermediate_size": INTERMEDIATE,
                "num_hidden_layers": 0,
                "num_global_layers": 0,
                "attention_heads": 2,
                "vision_output_dim": OF_IMAGES,
                "image_size": 14,
                "patch_size": 14,
                "max_num_tiles": 1,
                "intermediate_layers_indices": [],
                "supported_aspect_ratios": [[1, 1]],
            },
            _of_llama,
            {"image_token_index": 0},
        ),
    ),
    "qwen2_5_vl": QWEN_2_5_VL,
    "qwen2_5_vl_text": QWEN_2_5_VL,
    "qwen3_vl_moe_text": replace(
        QWEN_3_VL,
        architecture="Qwen3VLMoeForConditionalGeneration",
        feed_forward=_experts,
        fields={
            **GATED,
            "num_experts": EXPERTS,
            "num_experts_per_tok": 2,
            "moe_intermediate_size": INTERMEDIATE,
            "decoder_sparse_step": 1,
            "mlp_only_layers": [],
            "norm_topk_prob": True,
        },
        around=Around(
            "qwen3_vl_moe",
            {**OF_QWEN_3, "model_type": "qwen3_vl_moe_vision"},
            _of_qwen_3,
            IMAGE_TOKENS,
        ),
    ),
    "qwen3_vl_text": QWEN_3_VL,
}
"""The families that can have a probe, by the type of their text part."""
