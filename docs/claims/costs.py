from typing import Any

from posenc_conformance.models.file import Model, load_all

MIB = 2**20


def _llama() -> tuple[Model, dict[str, Any]]:
    model = next(candidate for candidate in load_all() if candidate.id == "llama-3.1-8b")
    return model, dict(model.config)


def table_against_cache() -> tuple[str, str]:
    """Bytes of cosines and sines for 131,072 positions, and of the keys and values of one token."""
    model, config = _llama()
    head_dim = config["hidden_size"] // config["num_attention_heads"]
    length = model.meaning.context.extended
    assert length is not None
    table = 2 * length * head_dim * 4
    token = 2 * config["num_hidden_layers"] * config["num_key_value_heads"] * head_dim * 2
    return f"{table // MIB} MiB", f"{table // token:,} tokens"


def table_per_layer() -> str:
    """The number of layers of Llama 3.1 8B, all in one group."""
    model, _ = _llama()
    (group,) = model.meaning.groups
    return f"{len(group.layers)} of them"


def operations() -> tuple[str, str, str]:
    """Three operations per channel of queries and keys, against two per weight of projections."""
    _, config = _llama()
    width, heads = config["hidden_size"], config["num_attention_heads"]
    head_dim = width // heads
    keys = config["num_key_value_heads"] * head_dim
    turned = 3 * (width + keys)
    projected = 2 * width * (width + keys + keys + width)
    return f"{turned:,}", f"{projected / 1e6:.1f} million", f"{projected // turned:,}"
