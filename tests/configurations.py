"""A small configuration of every type of model that is known."""

from typing import Any

from posenc_conformance.models.architectures import GRIDS, LEARNED, ROTARY
from posenc_conformance.models.configuration import OTHERS

Fields = dict[str, Any]

COMMON: Fields = {
    "hidden_size": 256,
    "num_hidden_layers": 8,
    "num_attention_heads": 4,
    "max_position_embeddings": 4096,
}
SECTIONS: Fields = {"rope_scaling": {"type": "mrope", "mrope_section": [8, 12, 12]}}
OF_QWEN_3_5: Fields = {
    "rope_parameters": {
        "rope_theta": 10000000,
        "mrope_section": [11, 11, 10],
        "mrope_interleaved": True,
        "partial_rotary_factor": 0.25,
    }
}

OWN: dict[str, Fields] = {
    "deberta": {"relative_attention": True},
    "deberta-v2": {"relative_attention": True, "position_buckets": 256},
    "deit": {"image_size": 224, "patch_size": 16},
    "dinov2": {"image_size": 224, "patch_size": 14},
    "gemma2": {"sliding_window": 512},
    "gemma3_text": {"sliding_window": 512},
    "gemma4_text": {
        "sliding_window": 512,
        "layer_types": (["sliding_attention"] * 3 + ["full_attention"]) * 2,
        "rope_parameters": {
            "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
            "full_attention": {
                "rope_type": "proportional",
                "partial_rotary_factor": 0.25,
                "rope_theta": 1000000.0,
            },
        },
    },
    "qwen2_5_vl": SECTIONS,
    "qwen2_5_vl_text": SECTIONS,
    "qwen2_vl": SECTIONS,
    "qwen2_vl_text": SECTIONS,
    "qwen3_5_moe_text": OF_QWEN_3_5,
    "qwen3_5_text": OF_QWEN_3_5,
    "qwen3_vl_moe_text": SECTIONS,
    "qwen3_vl_text": {"rope_scaling": {"type": "mrope", "mrope_section": [24, 20, 20]}},
    "roberta": {"pad_token_id": 1},
    "siglip_vision_model": {"image_size": 224, "patch_size": 16},
    "vit": {"image_size": 224, "patch_size": 16},
    "whisper": {"max_source_positions": 1500, "max_target_positions": 448},
    "xlm-roberta": {"pad_token_id": 1},
}
"""What a type needs beside what most have."""

TYPES = (*ROTARY, *LEARNED, *GRIDS, *OTHERS)


def small(type: str) -> Fields:
    """The least that is read of a model of a type."""
    found = {"model_type": type, **COMMON, **OWN.get(type, {})}
    if type in GRIDS:
        del found["max_position_embeddings"]
    return found
