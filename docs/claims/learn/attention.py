from posenc_conformance.models.file import model_named


def layers() -> str:
    """Layers in the released configuration of the smallest GPT-2."""
    return f"has {model_named('gpt2').config['n_layer']} layers"


def heads() -> tuple[str, str]:
    """Heads and their width, from the released configuration of the smallest GPT-2."""
    config = model_named("gpt2").config
    width = config["n_embd"] // config["n_head"]
    return f"has {config['n_head']} heads", f"of {width} channels"
