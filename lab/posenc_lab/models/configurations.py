"""A small configuration of every supported model type."""

from collections.abc import Mapping
from typing import Any

from posenc_conformance.models.architectures import ROTARY
from posenc_conformance.models.configuration import OTHERS
from posenc_conformance.models.types.others import GRIDS, LEARNED

Fields = dict[str, Any]

COMMON: Fields = {
    "hidden_size": 256,
    "num_hidden_layers": 8,
    "num_attention_heads": 4,
    "max_position_embeddings": 4096,
}
SECTIONS: Fields = {"rope_scaling": {"type": "mrope", "mrope_section": [8, 12, 12]}}
IN_ORDER: Fields = {"rope_scaling": {"rope_type": "default", "mrope_section": [8, 12, 12]}}
IN_TURN: Fields = {"rope_scaling": {"rope_type": "default", "mrope_section": [12, 10, 10]}}
OF_QWEN_3_5: Fields = {
    "rope_parameters": {
        "rope_theta": 10000000,
        "mrope_section": [11, 11, 10],
        "mrope_interleaved": True,
        "partial_rotary_factor": 0.25,
    }
}

LISTED: Fields = {"layer_types": (["linear_attention"] * 3 + ["full_attention"]) * 2}
YARN: Fields = {
    "rope_scaling": {
        "rope_type": "yarn",
        "factor": 4.0,
        "original_max_position_embeddings": 1024,
    }
}
LLAMA_3: Fields = {
    "rope_scaling": {
        "rope_type": "llama3",
        "factor": 4.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 1024,
    }
}
BY_KIND: Fields = {
    "sliding_window": 512,
    "layer_types": (["sliding_attention"] * 3 + ["full_attention"]) * 2,
    "rope_parameters": {
        "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
        "full_attention": {"rope_type": "default", "rope_theta": 500000.0},
    },
}

GEMMA_4: Fields = {
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
}

SLIDING: Fields = {
    "sliding_window": 512,
    "layer_types": (["sliding_attention"] * 3 + ["full_attention"]) * 2,
}
BASES: Fields = {"sliding_window": 512, "rope_parameters": BY_KIND["rope_parameters"]}
COMPASS: Fields = {
    **SLIDING,
    "rope_parameters": {
        "sliding_attention": {"rope_theta": 50000.0, "mrope_section": [12, 10, 10]},
        "full_attention": None,
    },
}
LFM_3: Fields = {
    **GEMMA_4,
    "layer_types": ["conv", "sliding_attention", "full_attention", "conv"] * 2,
}
ZAYA: Fields = {
    "sliding_window": 512,
    "layer_types": (["hybrid_sliding"] * 3 + ["hybrid"]) * 2,
    "rope_parameters": {
        "hybrid_sliding": {"rope_theta": 10000.0, "partial_rotary_factor": 0.5},
        "hybrid": {"rope_theta": 5000000.0, "partial_rotary_factor": 0.5},
    },
}

OWN: dict[str, Fields] = {
    "apertus": LLAMA_3,
    "apertus1p5_text": LLAMA_3,
    "bamba": {"attn_layer_indices": [3, 7]},
    "esm": {"position_embedding_type": "rotary"},
    "cwm": LLAMA_3,
    "helium": {"head_dim": 64},
    "hunyuan_v1_dense": {"head_dim": 64},
    "hunyuan_v1_moe": {"head_dim": 64},
    "ministral": {"head_dim": 64},
    "deberta": {"relative_attention": True},
    "deberta-v2": {"relative_attention": True, "position_buckets": 256},
    "deit": {"image_size": 224, "patch_size": 16},
    "dinov2": {"image_size": 224, "patch_size": 14},
    "gemma4_text": GEMMA_4,
    "gemma4_unified_text": GEMMA_4,
    "glm4v_moe_text": {"rope_scaling": {"rope_type": "default", "mrope_section": [4, 6, 6]}},
    "gpt_oss": YARN,
    "granitemoehybrid": {**LISTED, "position_embedding_type": "rope"},
    "jamba": {},
    "kimi_linear": {
        "mla_use_nope": True,
        "linear_attn_config": {
            "full_attn_layers": [4, 8],
            "kda_layers": [1, 2, 3, 5, 6, 7],
        },
    },
    "laguna": BY_KIND,
    "lfm2": {"layer_types": ["conv", "full_attention"] * 4},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"] * 4},
    "mellum": BY_KIND,
    "olmo_hybrid": LISTED,
    "ministral3": {"rope_scaling": {**YARN["rope_scaling"], "llama_4_scaling_beta": 0.1}},
    "nemotron_h": {"hybrid_override_pattern": "MEM*-M*E"},
    "qwen2_5_omni_text": {"rope_scaling": {**SECTIONS["rope_scaling"], "type": "default"}},
    "qwen2_5_vl": SECTIONS,
    "qwen2_5_vl_text": SECTIONS,
    "qwen2_vl": SECTIONS,
    "qwen2_vl_text": SECTIONS,
    "qwen3_5_moe_text": OF_QWEN_3_5,
    "qwen3_5_text": OF_QWEN_3_5,
    "qwen3_omni_moe_text": IN_TURN,
    "qwen3_vl_moe_text": IN_TURN,
    "qwen3_vl_text": {"rope_scaling": {"rope_type": "default", "mrope_section": [24, 20, 20]}},
    "roberta": {"pad_token_id": 1},
    "siglip_vision_model": {"image_size": 224, "patch_size": 16},
    "vit": {"image_size": 224, "patch_size": 16},
    "clip_vision_model": {"image_size": 224, "patch_size": 16},
    "whisper": {"max_source_positions": 1500, "max_target_positions": 448},
    "xlm-roberta": {"pad_token_id": 1},
    "xlm-roberta-xl": {"pad_token_id": 1},
    "camembert": {"pad_token_id": 1},
    "cohere_compass_text": COMPASS,
    "cosmos3_edge_text": {"head_dim": 64, **IN_TURN},
    "dory": BY_KIND,
    "embedding_gemma2_text": BASES,
    "ernie4_5_vl_moe_text": {
        "rope_scaling": {"rope_type": "default", "mrope_section": [11, 11, 10]}
    },
    "flint": SLIDING,
    "glm4v_text": IN_ORDER,
    "glm_image_text": IN_ORDER,
    "glm_ocr_text": IN_ORDER,
    "granite_swa": {"layer_rope_theta": [10000, 5000, 0, 0, 20000, 10000, 0, 5000]},
    "granitemoe_swa": {"layer_rope_theta": [10000, 5000, 0, 0, 20000, 10000, 0, 5000]},
    "higgs_audio_v2": {"rope_parameters": {"rope_theta": 500000, **LLAMA_3["rope_scaling"]}},
    "lara_mini": {
        "layer_types": [
            "linear_attention",
            "sliding_attention",
            "full_attention",
            "sliding_attention",
        ]
        * 2
    },
    "lfm3": LFM_3,
    "paddleocr_vl_text": {"head_dim": 64, **IN_ORDER},
    "ultrabert": BASES,
    "zaya": ZAYA,
}
"""Fields that a type needs in addition to COMMON."""

ELSEWHERE: Mapping[str, str] = {
    "chameleon": "it is not made without what reads its images",
    "csm": "it is not made without what reads its sound",
    "evolla": "it is not made without what reads its proteins",
    "gradium_phonon_tts": "the sizes of its parts hang on each other",
    "idefics": "it does not run without images",
    "timesfm2_5": "it reads numbers, not tokens",
    "falcon": "its heads stand where others have the batch",
    "gptj": "it turns with sines of its own",
    "codegen": "it turns with sines of its own",
    "exaone": "transformers reads it as llama",
    "exaone4_5_text": "transformers reads it as exaone4",
    "iquestcoder": "transformers reads it as llama",
    "sarvam_mla": "transformers reads it as deepseek_v3",
    "sarvam_moe": "transformers reads it as glm4_moe",
    "chatglm": "transformers does not have it; read in engines that have it",
    "internlm3": "transformers does not have it; it is Llama by another name",
    "internlm2": "transformers does not have it; read in the code that it is released with",
    "minicpm": "transformers does not have it; read in the code that it is released with",
    "phi3_v": "transformers does not have it; read in the code that it is released with",
    "mimo": "transformers does not have it; it is Qwen2 by another name",
    "phi4_multimodal": "it is not made without what reads its images",
    "qwen2_5_vl": "its text has a type of its own",
    "qwen2_vl": "its text has a type of its own",
    "voxtral_realtime_text": "it does not run without how late its sound is",
    "kimi_k2": "transformers does not have it; it is DeepSeek-V3 by another name",
}
"""Types whose models don't run in transformers here, with the reason."""

TYPES = (*ROTARY, *LEARNED, *GRIDS, *OTHERS)


def small(type: str) -> Fields:
    """Return a minimal configuration of a type."""
    fields = {"model_type": type, **COMMON, **OWN.get(type, {})}
    if type in ROTARY and ROTARY[type].latent:
        fields["qk_rope_head_dim"] = 32
    if type in GRIDS:
        del fields["max_position_embeddings"]
    return fields
