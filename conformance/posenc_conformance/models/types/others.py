"""Types of models with position tables, and types of the texts of multimodal models."""

from collections.abc import Mapping

LEARNED: Mapping[str, str] = {
    "albert": "plain",
    "bert": "plain",
    "biogpt": "two",
    "camembert": "after-padding",
    "clip_text_model": "plain",
    "distilbert": "plain",
    "electra": "plain",
    "ernie": "plain",
    "gpt2": "plain",
    "gpt_bigcode": "plain",
    "openai-gpt": "plain",
    "opt": "two",
    "roberta": "after-padding",
    "xlm-roberta": "after-padding",
    "xlm-roberta-xl": "after-padding",
}
"""Types with a position table, each with the combination of ``learned`` that says which row the
first position reads."""

GRIDS: Mapping[str, tuple[str, int]] = {
    "clip_vision_model": ("vit", 1),
    "deit": ("deit", 2),
    "dinov2": ("dinov2", 1),
    "siglip_vision_model": ("siglip", 0),
    "vit": ("vit", 1),
}
"""Types with a table for the patches of an image: combination of ``learned_grid``, class tokens."""

_TEXTS: Mapping[str, str] = {
    "bert": "grounding-dino mm-grounding-dino vision-text-dual-encoder",
    "clip_text_model": "clip omdet-turbo sam3",
    "cohere2": "aya_vision cohere2_vision",
    "deepseek_v3": "kimi_k25",
    "emu3_text_model": "emu3",
    "gemma": "paligemma",
    "gemma3_text": "shieldgemma2",
    "gemma4_unified_text": "gemma4_unified_assistant",
    "glm4v_text": "glm46v glmga",
    "granite": "granite_speech granite_speech_plus",
    "hyperclovax": "hyperclovax_vision_v2",
    "lfm2": "lfm2_vl",
    "lfm3": "lfm3_vl",
    "llama": "deepseek_vl deepseek_vl_hybrid glmasr idefics3 janus llava llava_next "
    "llava_next_video omniasr perception_lm smolvlm video_llava vipllava voxtral",
    "mistral": "idefics2 mistral3",
    "mllama_text_model": "mllama",
    "modernbert": "modernvbert pe_audio pe_audio_video pe_video",
    "nemotron_h": "nemo_speechlm nemotron_h_omni",
    "opt": "blip-2 instructblip instructblipvideo",
    "persimmon": "fuyu",
    "qwen2": "audioflamingo3 fast_vlm got_ocr2 internvl llava_onevision musicflamingo ovis2 "
    "pp_chart2table qwen2_audio vibevoice vibevoice_asr video_llama_3",
    "qwen2_5_omni_text": "qwen2_5_omni_thinker",
    "qwen3": "lighton_ocr moss_transcribe_diarize qianfan_ocr qwen3_asr qwen3_asr_thinker",
    "qwen3_5_text": "jev minicpm_ocr minicpmv4_6 minicpmv4_7",
    "qwen3_omni_moe_text": "qwen3_omni_moe_thinker",
    "qwen3_vl_text": "cosmos3_omni",
    "step3p5": "step3p7",
}
TEXTS: Mapping[str, str] = {name: text for text, names in _TEXTS.items() for name in names.split()}
"""The type of a text_config without ``model_type``, by the type of the multimodal model, unless it
is that type with ``_text`` appended. transformers assigns it to an empty text_config."""
