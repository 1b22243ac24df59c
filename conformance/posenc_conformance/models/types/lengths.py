"""What transformers' classes have for lengths that files leave out, and where they refuse null."""

from collections.abc import Mapping

_LENGTHS: Mapping[int, str] = {
    33: "csm_depth_decoder_model",
    1026: "esm",
    2048: "aria_text bitnet csm deepseek_ocr2_text deepseek_v2 diffllama dots1 esmc exaone4 "
    "exaone_moe falcon gpt_neox gpt_neox_japanese granite granite4_vision_text granitemoe "
    "granitemoe_swa granitemoehybrid granitemoeshared higgs_audio_v2 hunyuan_v1_dense "
    "hunyuan_v1_moe hyperclovax idefics llama nomic_bert olmo olmo2 olmo3 phi",
    4096: "arcee chameleon deepseek_v3 exaone flex_olmo helium jetmoe nemotron olmoe phi3 "
    "sarvam_mla stablelm starcoder2",
    8192: "cohere cohere2 cohere_compass_text dory eurobert evolla falcon_h1 gemma gemma2 "
    "gradium_phonon_tts granite_swa gte jais2 modernbert modernbert-decoder vaultgemma",
    8194: "jina_embeddings_v3",
    9216: "emu3_text_model",
    16384: "afmoe persimmon timesfm2_5",
    32768: "axk1 gemma3n_text glm4v_text granite_docling_text internlm3 minicpm3 qwen2 "
    "qwen2_5_omni_text qwen2_5_vl_text qwen2_moe qwen2_vl_text qwen3 qwen3_5_moe_text "
    "qwen3_5_text qwen3_moe qwen3_next qwen3_omni_moe_text smollm3 ultrabert",
    65536: "apertus apertus1p5_text glm4v_moe_text olmo_hybrid",
    128000: "lfm2 lfm2_moe lfm3 qwen3_vl_moe_text qwen3_vl_text",
    131072: "cosmos3_edge_text cwm ernie4_5 ernie4_5_moe ernie4_5_vl_moe_text gemma3_text "
    "gemma4_text glm glm4 glm4_moe glm_image_text glm_ocr_text gpt_oss hy_v3 iquestcoder "
    "laguna lara_mini llama4_text mellum minimax ministral mistral mixtral "
    "mllama_text_model muse_glimmer_text paddleocr_vl_text phi4_multimodal phimoe "
    "sarvam_moe solar_open voxtral_realtime_text youtu zaya",
    196608: "minimax_m2",
    202752: "glm4_moe_lite",
    262144: "bailing_hybrid bamba embedding_gemma2_text flint gemma4_unified_text kolibri1 "
    "ministral3",
    524288: "seed_oss",
    1048576: "muse_spark_text",
}
LENGTHS: Mapping[str, int] = {
    type: length for length, types in _LENGTHS.items() for type in types.split()
}
"""The context length that the class of a type takes if a file has none; it fails with null."""

_NOT_NULL: Mapping[str, str] = {
    "num_key_value_heads": "axk1 cwm dory embedding_gemma2_text exaone4 exaone_moe flint gemma "
    "gemma2 gemma3_text gemma3n_text gemma4_text gemma4_unified_text glm4 glm4_moe glm4_moe_lite "
    "glm4v_moe_text glm_ocr_text gpt_oss helium higgs_audio_v2 hy_v3 jetmoe kolibri1 "
    "laguna lara_mini lfm2 lfm2_moe lfm3 llama4_text mellum minimax minimax_m2 ministral "
    "ministral3 mistral mixtral mllama_text_model muse_glimmer_text muse_spark_text "
    "phimoe qwen3_5_moe_text qwen3_5_text qwen3_moe qwen3_next qwen3_omni_moe_text "
    "qwen3_vl_moe_text sarvam_moe solar_open stablelm starcoder2 timesfm2_5 vaultgemma "
    "voxtral_realtime_text youtu zaya",
    "sliding_window": "cwm dory embedding_gemma2_text exaone_moe flint gemma3n_text gemma4_text "
    "gemma4_unified_text laguna lara_mini modernbert ultrabert",
}
NOT_NULL: Mapping[str, frozenset[str]] = {
    "max_position_embeddings": frozenset(LENGTHS),
    **{name: frozenset(types.split()) for name, types in _NOT_NULL.items()},
}
"""Types whose class fails with null, by the field that may not be null."""
