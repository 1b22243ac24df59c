"""Properties of all models of a type that their configurations do not state.

Taken from the configuration and modelling code of transformers 5.24.0, where the layout is that of
``apply_rotary_pos_emb`` or ``rotate_half``, and the defaults are those of the configuration class.
``lab/real/test_types_in_transformers.py`` runs and measures a small model of each type, and lists
the types that were taken from elsewhere.
"""

from collections.abc import Mapping
from dataclasses import replace

from posenc_conformance.models.types.rotary import INTERLEAVED, Rotary, Sections

QWEN = "sliding_window use_sliding_window max_window_layers use_mrope"
"""Fields about positions that all Qwen models have."""
WINDOW = "sliding_window"
OF_PHI = ("default", "longrope")
OF_GEMMA_3 = (
    "sliding_window sliding_window_pattern rope_local_base_freq use_bidirectional_attention"
)
SWITCHED = {"sliding_window": 4096, "max_window_layers": 28}
OF_QWEN_2_VL = Rotary(
    base=1000000,
    sections=Sections((16, 24, 24)),
    layers="switched",
    reads=QWEN,
    defaults={"sliding_window": 4096, "max_window_layers": 80},
)
OF_QWEN_3_5 = Rotary(
    partial=0.25,
    head_dim=256,
    sections=Sections((11, 11, 10), interleaved=True),
    layers="switched",
    pattern=4,
    reads=f"{QWEN} full_attention_interval",
)
LATENT = Rotary(
    INTERLEAVED, latent=True, reads="qk_rope_head_dim", defaults={"qk_rope_head_dim": 64}
)
OF_DEEPSEEK_3 = replace(LATENT, chooses=True)
OF_MUSE = Rotary(
    base=500000,
    layers="backwards",
    pattern=4,
    base_of_layers="switch",
    reads="sliding_window layer_rope_theta",
    defaults={"sliding_window": 2048},
)
OF_GEMMA_4 = Rotary(
    blocks=True,
    base=None,
    head_dim=256,
    global_dim=512,
    ends_full=True,
    pattern=6,
    reads="sliding_window global_head_dim use_bidirectional_attention",
    defaults={"sliding_window": 512},
)
OF_GRANITE_SWA = Rotary(
    pattern=4,
    offset=0,
    base_of_layers="base",
    reads="sliding_window layer_rope_theta",
    defaults={"sliding_window": 128},
)
OF_MODERNBERT = Rotary(
    blocks=True,
    base=160000,
    local_base=10000,
    divides=True,
    pattern=3,
    offset=0,
    base_fields=("global_rope_theta", "local_rope_theta"),
    local_attention=128,
    reads="global_attn_every_n_layers global_rope_theta local_attention local_rope_theta "
    "position_embedding_type",
)
EXAONE_4 = Rotary(
    pattern=4,
    unrotated="full",
    turns_without_window=True,
    reads="sliding_window sliding_window_pattern",
    defaults={"sliding_window": 4096},
)
GRANITE = Rotary()
OF_GPT_J = Rotary(
    INTERLEAVED,
    fixed=True,
    cuts=True,
    divides=True,
    reads="rotary_dim",
    defaults={"rotary_dim": 64},
)

ROTARY: Mapping[str, Rotary] = {
    "afmoe": Rotary(
        pattern=4,
        unrotated="full",
        head_dim=128,
        reads="sliding_window global_attn_every_n_layers",
        defaults={"sliding_window": 1024},
    ),
    "apertus": Rotary(base=12000000, scaled_by_default=True),
    "apertus1p5_text": Rotary(base=12000000, scaled_by_default=True),
    "arcee": Rotary(),
    "aria_text": Rotary(),
    "axk1": OF_DEEPSEEK_3,
    "bailing_hybrid": replace(
        LATENT,
        base=6000000,
        heads_apart=True,
        layers="switched",
        pattern=6,
        length_field="model_max_length",
        reads="qk_rope_head_dim layer_group_size",
    ),
    "bamba": Rotary(
        partial=0.5, cuts=False, layers="listed", reads="attn_layer_indices layers_block_type"
    ),
    "bitnet": Rotary(base=500000),
    "chameleon": Rotary(divides=True),
    "chatglm": Rotary(INTERLEAVED, partial=0.5, cuts=False, reads="original_rope rope_ratio"),
    "codegen": OF_GPT_J,
    "cohere": Rotary(INTERLEAVED, base=500000),
    "cohere2": Rotary(
        INTERLEAVED,
        pattern=4,
        unrotated="full",
        reads="sliding_window sliding_window_pattern position_embedding_type",
        defaults={"sliding_window": 4096},
    ),
    "cohere_compass_text": Rotary(
        blocks=True,
        beside="rope_theta rope_type",
        base=None,
        divides=True,
        sections=Sections((24, 20, 20), interleaved=True),
        layers="listed",
        unrotated_by_null=True,
        reads=WINDOW,
        defaults={"sliding_window": 4096},
    ),
    "cosmos3_edge_text": Rotary(
        base=100000000,
        base_in_block=True,
        head_dim=128,
        sections=Sections((24, 20, 20), interleaved=True),
    ),
    "csm": Rotary(base=500000),
    "csm_depth_decoder_model": Rotary(base=500000),
    "cwm": Rotary(
        base=1000000,
        head_dim=128,
        pattern=4,
        offset=0,
        scaled_by_default=True,
        reads=WINDOW,
        defaults={"sliding_window": 8192},
    ),
    "deepseek_ocr2_text": Rotary(divides=True),
    "deepseek_v2": LATENT,
    "deepseek_v3": OF_DEEPSEEK_3,
    "diffllama": Rotary(),
    "dory": Rotary(
        blocks=True,
        base=None,
        head_dim=256,
        layers="listed",
        mlps_listed=True,
        reads=WINDOW,
        defaults={"sliding_window": 1024},
    ),
    "dots1": Rotary(
        layers="late",
        reads="sliding_window max_window_layers",
        defaults={"max_window_layers": 62, "sliding_window": 4096},
    ),
    "embedding_gemma2_text": replace(
        OF_GEMMA_4, two_sided=True, reads="sliding_window sliding_window_pattern global_head_dim"
    ),
    "emu3_text_model": Rotary(base=1000000),
    "ernie4_5": Rotary(INTERLEAVED, base=500000, head_dim=128),
    "ernie4_5_moe": Rotary(INTERLEAVED, base=500000),
    "ernie4_5_vl_moe_text": Rotary(
        INTERLEAVED, base=500000, sections=Sections((22, 22, 20), alternating=True)
    ),
    "esm": Rotary(divides=True, types=("default",), reads="position_embedding_type"),
    "esmc": Rotary(),
    "eurobert": Rotary(),
    "evolla": Rotary(base=500000),
    "exaone": Rotary(base=500000),
    "exaone4": EXAONE_4,
    "exaone4_5_text": EXAONE_4,
    "exaone_moe": EXAONE_4,
    "falcon": Rotary(divides=True, bias_field="alibi", reads="alibi"),
    "falcon_h1": Rotary(),
    "flex_olmo": Rotary(base=500000),
    "flint": Rotary(
        head_dim=128,
        layers="listed",
        linear=False,
        unrotated="full",
        reads=WINDOW,
        defaults={"sliding_window": 513},
    ),
    "gemma": Rotary(head_dim=256),
    "gemma2": Rotary(head_dim=256, pattern=2, reads=WINDOW, defaults={"sliding_window": 4096}),
    "gemma3_text": Rotary(
        blocks=True,
        base=1000000,
        local_base=10000,
        head_dim=256,
        pattern=6,
        scaled=("full",),
        reads=OF_GEMMA_3,
        defaults={"sliding_window": 4096},
    ),
    "gemma3n_text": Rotary(
        blocks=True,
        base=1000000,
        local_base=10000,
        head_dim=256,
        pattern=5,
        scaled=("full",),
        reads="sliding_window rope_local_base_freq",
        defaults={"sliding_window": 512},
    ),
    "gemma4_text": OF_GEMMA_4,
    "gemma4_unified_text": replace(OF_GEMMA_4, defaults={"sliding_window": 1024}),
    "glm": Rotary(INTERLEAVED, partial=0.5, head_dim=128),
    "glm4": Rotary(INTERLEAVED, partial=0.5, head_dim=128),
    "glm4_moe": Rotary(partial=0.5),
    "glm4_moe_lite": OF_DEEPSEEK_3,
    "glm4v_moe_text": Rotary(partial=0.5, sections=Sections((8, 12, 12))),
    "glm4v_text": Rotary(INTERLEAVED, cuts=True, divides=True, sections=Sections((8, 12, 12))),
    "glm_image_text": Rotary(cuts=True, sections=Sections((8, 12, 12))),
    "glm_ocr_text": Rotary(INTERLEAVED, cuts=True, sections=Sections((8, 12, 12))),
    "gpt_neox": Rotary(partial=0.25, divides=True),
    "gpt_neox_japanese": Rotary(cuts=True, divides=True),
    "gpt_oss": Rotary(
        base=150000,
        head_dim=64,
        pattern=2,
        scaled_by_default=True,
        reads=WINDOW,
        defaults={"sliding_window": 128},
    ),
    "gptj": OF_GPT_J,
    "gradium_phonon_tts": Rotary(),
    "granite": GRANITE,
    "granite4_vision_text": GRANITE,
    "granite_docling_text": GRANITE,
    "granite_swa": OF_GRANITE_SWA,
    "granitemoe": GRANITE,
    "granitemoe_swa": OF_GRANITE_SWA,
    "granitemoehybrid": Rotary(
        layers="listed",
        rotation_field="position_embedding_type",
        reads="position_embedding_type layers_block_type",
    ),
    "granitemoeshared": GRANITE,
    "gte": Rotary(base=160000, reads="position_embedding_type"),
    "helium": Rotary(INTERLEAVED, base=100000, head_dim=128),
    "higgs_audio_v2": Rotary(base=500000, base_in_block=True, head_dim=128, scaled_by_default=True),
    "hunyuan_v1_dense": Rotary(alpha=True),
    "hunyuan_v1_moe": Rotary(alpha=True),
    "hy_v3": Rotary(base=11158840, head_dim=128),
    "hyperclovax": Rotary(),
    "idefics": Rotary(divides=True),
    "internlm2": Rotary(),
    "internlm3": Rotary(),
    "iquestcoder": Rotary(head_dim=128),
    "jais2": Rotary(),
    "jetmoe": Rotary(head_dim=128),
    "jina_embeddings_v3": Rotary(base=20000, reads="position_embedding_type"),
    "kimi_k2": LATENT,
    "kolibri1": replace(
        EXAONE_4, head_dim=128, pattern=5, reads=WINDOW, defaults={"sliding_window": 513}
    ),
    "laguna": Rotary(
        base=None, head_dim=128, layers="listed", cuts=True, blocks=True, reads=WINDOW
    ),
    "lara_mini": Rotary(
        head_dim=128,
        layers="listed",
        unrotated="full",
        reads=WINDOW,
        defaults={"sliding_window": 512},
    ),
    "lfm2": Rotary(base=1000000, layers="listed", reads="full_attn_idxs"),
    "lfm2_moe": Rotary(base=1000000, layers="listed", reads="full_attn_idxs"),
    "lfm3": Rotary(
        blocks=True,
        base=None,
        head_dim=128,
        layers="listed",
        linear=True,
        reads=WINDOW,
        defaults={"sliding_window": 256},
    ),
    "llama": Rotary(),
    "llama4_text": Rotary(
        INTERLEAVED,
        base=500000,
        head_dim=128,
        layers="chunked",
        unrotated="full",
        tempered=True,
        reads="attention_chunk_size attn_scale attn_temperature_tuning floor_scale "
        "no_rope_layer_interval no_rope_layers",
        defaults={"attention_chunk_size": 8192},
    ),
    "mellum": Rotary(base=None, head_dim=128, layers="listed", blocks=True, reads=WINDOW),
    "mimo": Rotary(layers="switched", reads=QWEN, defaults=SWITCHED),
    "minicpm": Rotary(types=("default", "linear", "dynamic", "longrope"), follows=True),
    "minicpm3": Rotary(latent=True, reads="qk_rope_head_dim", defaults={"qk_rope_head_dim": 32}),
    "minimax": Rotary(base=1000000, layers="alternating"),
    "minimax_m2": Rotary(base=5000000, head_dim=128, cuts=True, reads="attn_type_list rotary_dim"),
    "ministral": Rotary(layers="windowed", reads=WINDOW, defaults={"sliding_window": 4096}),
    "ministral3": Rotary(head_dim=128, scaled_by_default=True, reads=WINDOW),
    "mistral": Rotary(reads=WINDOW, defaults={"sliding_window": 4096}),
    "mixtral": Rotary(base=1000000, reads=WINDOW),
    "mllama_text_model": Rotary(
        base=500000,
        divides=True,
        layers="crossed",
        reads="cross_attention_layers",
        defaults={"cross_attention_layers": [3, 8, 13, 18, 23, 28, 33, 38]},
    ),
    "modernbert": replace(OF_MODERNBERT, two_sided=True),
    "modernbert-decoder": replace(OF_MODERNBERT, reads=f"{OF_MODERNBERT.reads} sliding_window"),
    "muse_glimmer_text": replace(OF_MUSE, base=10000, head_dim=128),
    "muse_spark_text": replace(OF_MUSE, base_in_block=True, head_dim=64),
    "nemotron": Rotary(partial=0.5),
    "nomic_bert": Rotary(base=1000),
    "olmo": Rotary(),
    "olmo2": Rotary(),
    "olmo3": Rotary(
        blocks=True,
        base=500000,
        pattern=4,
        scaled=("full",),
        reads=WINDOW,
        defaults={"sliding_window": 4096},
    ),
    "olmo_hybrid": Rotary(layers="listed"),
    "olmoe": Rotary(),
    "paddleocr_vl_text": Rotary(base=500000, head_dim=128, sections=Sections((16, 24, 24))),
    "persimmon": Rotary(partial=0.5, divides=True),
    "phi": Rotary(partial=0.5),
    "phi3": Rotary(cuts=True, types=OF_PHI, original=4096, reads=WINDOW),
    "phi3_v": Rotary(types=OF_PHI, original=4096, follows=True, reads=WINDOW),
    "phi4_multimodal": Rotary(cuts=True, types=OF_PHI, original=4096, reads=WINDOW),
    "phimoe": Rotary(base=1000000, reads=WINDOW),
    "qwen2": Rotary(layers="switched", reads=QWEN, defaults=SWITCHED),
    "qwen2_5_omni_text": replace(
        OF_QWEN_2_VL, defaults={"sliding_window": 32768, "max_window_layers": 28}
    ),
    "qwen2_5_vl": OF_QWEN_2_VL,
    "qwen2_5_vl_text": OF_QWEN_2_VL,
    "qwen2_moe": Rotary(layers="unswitched", reads=QWEN),
    "qwen2_vl": OF_QWEN_2_VL,
    "qwen2_vl_text": OF_QWEN_2_VL,
    "qwen3": Rotary(head_dim=128, layers="switched", reads=QWEN, defaults=SWITCHED),
    "qwen3_5_moe_text": OF_QWEN_3_5,
    "qwen3_5_text": OF_QWEN_3_5,
    "qwen3_moe": Rotary(layers="unswitched", reads=QWEN),
    "qwen3_next": replace(OF_QWEN_3_5, sections=None),
    "qwen3_omni_moe_text": Rotary(
        base=1000000,
        sections=Sections((24, 20, 20), interleaved=True),
        layers="unswitched",
        reads=QWEN,
    ),
    "qwen3_vl_moe_text": Rotary(
        base=500000,
        sections=Sections((24, 20, 20), interleaved=True),
        layers="unswitched",
        reads=QWEN,
    ),
    "qwen3_vl_text": Rotary(
        base=500000,
        head_dim=128,
        sections=Sections((24, 20, 20), interleaved=True),
        layers="unswitched",
        reads=QWEN,
    ),
    "sarvam_mla": OF_DEEPSEEK_3,
    "sarvam_moe": Rotary(base=8000000),
    "seed_oss": Rotary(head_dim=128),
    "smollm3": Rotary(
        base=2000000,
        layers="unturned",
        unrotated="full",
        reads="no_rope_layer_interval no_rope_layers sliding_window use_sliding_window "
        "max_window_layers",
    ),
    "solar_open": Rotary(base=1000000, head_dim=128),
    "stablelm": Rotary(partial=0.25, divides=True),
    "starcoder2": Rotary(reads=WINDOW),
    "timesfm2_5": Rotary(head_dim=80, reads="context_length"),
    "ultrabert": Rotary(
        blocks=True,
        base=None,
        pattern=3,
        two_sided=True,
        reads=WINDOW,
        defaults={"sliding_window": 128},
    ),
    "vaultgemma": Rotary(head_dim=256, pattern=2, reads=WINDOW, defaults={"sliding_window": 4096}),
    "voxtral_realtime_text": Rotary(reads=WINDOW, defaults={"sliding_window": 4096}),
    "youtu": OF_DEEPSEEK_3,
    "zaya": Rotary(
        blocks=True,
        beside="rope_type",
        kind_names={"hybrid": "full", "hybrid_sliding": "sliding"},
        base=None,
        head_dim=128,
        cuts=True,
        layers="listed",
        reads=WINDOW,
    ),
}
"""Types of models with rotated queries and keys, by ``model_type``."""
