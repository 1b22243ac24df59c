"""Known types of models that are refused, each with the reason."""

from collections.abc import Mapping

_REASONS: Mapping[str, str] = {
    "its indexer turns queries and keys a second time, which no scheme here does yet": ""
    "axk2 glm_moe_dsa",
    "its indexer turns queries and keys a second time, with pairs of channels t and t + r/2 where "
    "attention has 2t and 2t + 1, which no scheme here does yet": "deepseek_v32",
    "it turns the last channels of a head, and keys that stand for several positions, which no "
    "scheme here does yet": "deepseek_ref deepseek_v4",
    "it chooses keys by an index that is turned as well, which no scheme here does yet": ""
    "dots3_note_text hy_v4 hy_v4_vl_text minimax_m3 minimax_m3_vl minimax_m3_vl_text "
    "mistral_large4_text qwen4_exp_text",
    "it chooses the keys of a query by what they hold, which no scheme here does yet": ""
    "doge glm5_next_text",
    "some models of this type turn queries and keys, and others have ALiBi": "baichuan",
    "its first layers and the others have patterns of their own": "cohere2_moe",
    "it shares pairs out among four axes, which no scheme here does yet": "hunyuan_vl_text",
    "it shares pairs out between rows and columns, which is read of no configuration here yet": ""
    "neomme",
    "each of its layers attends twice": "longcat_flash",
    "its window is counted in two ways, with the query and without": "mimo_v2_flash",
    "the share of a head that is turned is said in two ways": "mistral4",
    "scaling is for some of its layers alone, which it lists": "molmo2_text",
    "it turns the other way round than all that is specified here": "nanochat",
    "each of its layers may have an attention of its own, or none": "nemotron-nas",
    "its base grows with the length of the text, and so do its logits, in steps of its own": "qwen",
    "which of its layers attend, and what they turn, is said in fields that are not read here": ""
    "recurrent_gemma zamba2",
    "heads of its sliding layers differ in number from those of its full ones": "step3p5 step3p7",
    "queries of its unrotated layers are multiplied by a power of their position, which no scheme "
    "here does yet": "beam",
    "it adds a bias that it computes from the text for each distance, which no scheme here does "
    "yet": "inkling2_text",
    "its base is said in attn_config, and transformers 5 takes another one": "dbrx",
    "one half of it sees a text in one direction, and the other a canvas in both": ""
    "diffusion_gemma_text",
    "its layers run several times, and are counted in two ways": "hrm_text",
    "its YaRN has bounds that are not rounded, which no scheme here has for pairs of neighbours": ""
    "openai_privacy_filter",
    "its window limits what is kept of a text, and hides nothing within what is read at once": ""
    "kyutai_speech_to_text moshi pocket_tts",
    "its window moves along what is generated, and all that was read before stays in sight": ""
    "unlimited_ocr_text",
    "its queries see the states of another model": "muse_glimmer_assistant",
    "it consists of several stacks of layers, each with a configuration of its own": ""
    "blt blt_global_transformer blt_local_decoder blt_local_encoder blt_patcher clvp clvp_decoder "
    "clvp_encoder dia dia_decoder dia_encoder moonshine moonshine_streaming "
    "moonshine_streaming_encoder moshi_depth t5_gemma_module t5gemma t5gemma2 t5gemma2_decoder "
    "t5gemma2_encoder t5gemma2_text",
    "it turns atoms by their places in space, which no scheme here does yet": "esmfold2",
    "its frequencies are in its code alone, and no field says them": "roformer",
    "it is of images, which it turns by rows and columns or by places in them": ""
    "dinov3_vit edgetam_video efficientloftr eomt_dinov3 lightglue mlcd mlcd_vision_model pixtral "
    "sam2_video sam3_tracker_video sapiens2 vjepa2",
    "it is of sound, and no text is read in it": "lasr_ctc lasr_encoder mimi mimi_decoder "
    "mimi_encoder nemotron3_5_transcribe nemotron3_diarization neucodec "
    "pocket_tts_audio_tokenizer seamless_m4t wav2vec2-bert wav2vec2-conformer xcodec2",
}
NOT_SPECIFIED: Mapping[str, str] = {
    type: reason for reason, types in _REASONS.items() for type in types.split()
}
"""Known types whose positions no scheme here describes yet, each with the reason."""
