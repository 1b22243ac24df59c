"""Families of encoders that can have a probe, by type: BERT and its descendants."""

from collections.abc import Mapping
from dataclasses import replace

from posenc_conformance.deployed.architectures.tensor_layout import (
    APART,
    INTERMEDIATE,
    Family,
    Names,
    Shaped,
    apart_as,
    fused_as,
    plain,
)

BERT = Family(
    "BertForMaskedLM",
    attention=apart_as("self.query", "self.key", "self.value"),
    feed_forward=lambda hidden: (
        ("intermediate.dense.weight", (INTERMEDIATE, hidden)),
        ("intermediate.dense.bias", (INTERMEDIATE,)),
        ("output.dense.weight", (hidden, INTERMEDIATE)),
        ("output.dense.bias", (hidden,)),
    ),
    names=Names(
        embeddings="bert.embeddings.word_embeddings",
        layer="bert.encoder.layer.{}",
        attention="attention",
        out="output.dense",
        norms=("attention.output.LayerNorm", "output.LayerNorm"),
        last_norm="",
        norm_of_embeddings="bert.embeddings.LayerNorm",
        positions="bert.embeddings.position_embeddings",
        types="bert.embeddings.token_type_embeddings",
        head=(
            "cls.predictions.transform.dense",
            "cls.predictions.transform.LayerNorm",
            "cls.predictions.bias",
        ),
    ),
    biased=frozenset({"projections", "out", "norms", "head"}),
    bare=True,
    encoder=True,
    centred=True,
    eps="layer_norm_eps",
    fields={"intermediate_size": INTERMEDIATE, "hidden_act": "gelu"},
)


def _inside(names: Names, prefix: str) -> Names:
    """Return BERT's names of tensors, with the prefix of another class."""

    def moved(name: str) -> str:
        return name.replace("bert.", prefix, 1)

    return replace(
        names,
        embeddings=moved(names.embeddings),
        layer=moved(names.layer),
        norm_of_embeddings=moved(names.norm_of_embeddings),
        positions=moved(names.positions),
        types=moved(names.types),
    )


ROBERTA = replace(
    BERT,
    architecture="RobertaForMaskedLM",
    names=replace(
        _inside(BERT.names, "roberta."),
        head=("lm_head.dense", "lm_head.layer_norm", "lm_head.bias"),
    ),
    # Positions are counted from the table's padding row.
    fields={**BERT.fields, "pad_token_id": 1},
)


def _gated_as_one(hidden: int) -> tuple[Shaped, ...]:
    """Return the feed-forward layer of ModernBERT."""
    return (
        ("mlp.Wi.weight", (2 * INTERMEDIATE, hidden)),
        ("mlp.Wo.weight", (hidden, INTERMEDIATE)),
    )


ENCODERS: Mapping[str, Family] = {
    "bert": BERT,
    "distilbert": replace(
        BERT,
        architecture="DistilBertForMaskedLM",
        attention=apart_as("q_lin", "k_lin", "v_lin"),
        feed_forward=plain("lin1", "lin2", within="ffn."),
        names=Names(
            embeddings="distilbert.embeddings.word_embeddings",
            layer="distilbert.transformer.layer.{}",
            attention="attention",
            out="out_lin",
            norms=("sa_layer_norm", "output_layer_norm"),
            last_norm="",
            norm_of_embeddings="distilbert.embeddings.LayerNorm",
            positions="distilbert.embeddings.position_embeddings",
            head=("vocab_transform", "vocab_layer_norm", "vocab_projector.bias"),
        ),
        eps="",
        fields={"hidden_dim": INTERMEDIATE, "activation": "gelu", "sinusoidal_pos_embds": False},
        spelt={"hidden_size": "dim"},
    ),
    "modernbert": Family(
        "ModernBertForMaskedLM",
        attention=fused_as("Wqkv"),
        feed_forward=_gated_as_one,
        names=Names(
            embeddings="model.embeddings.tok_embeddings",
            attention="attn",
            out="Wo",
            norms=("attn_norm", "mlp_norm"),
            last_norm="model.final_norm",
            norm_of_embeddings="model.embeddings.norm",
            head=("head.dense", "head.norm", "decoder.bias"),
            not_in_first="attn_norm",
        ),
        encoder=True,
        centred=True,
        eps="norm_eps",
        fields={
            "intermediate_size": INTERMEDIATE,
            "hidden_activation": "gelu",
            "classifier_activation": "gelu",
            "attention_bias": False,
            "mlp_bias": False,
            "norm_bias": False,
            "classifier_bias": False,
            "decoder_bias": True,
            "cls_token_id": 1,
            "sep_token_id": 2,
        },
    ),
    "nomic_bert": replace(
        BERT,
        architecture="NomicBertForMaskedLM",
        attention=APART,
        feed_forward=lambda hidden: (
            ("mlp.gate_proj.weight", (INTERMEDIATE, hidden)),
            ("mlp.up_proj.weight", (INTERMEDIATE, hidden)),
            ("mlp.down_proj.weight", (hidden, INTERMEDIATE)),
        ),
        names=replace(
            _inside(BERT.names, "nomic_bert."),
            layer="nomic_bert.layers.{}",
            attention="self_attn",
            out="o_proj",
            norms=("post_attention_layernorm", "post_mlp_layernorm"),
            positions="",
            head=(
                "cls.predictions.transform.dense",
                "cls.predictions.transform.layer_norm",
                "cls.predictions.bias",
            ),
        ),
        biased=frozenset({"norms", "head"}),
        fields={"intermediate_size": INTERMEDIATE, "hidden_act": "silu"},
    ),
    "roberta": ROBERTA,
    "xlm-roberta": replace(ROBERTA, architecture="XLMRobertaForMaskedLM"),
}
"""The encoders that can have a probe, by ``model_type``."""
