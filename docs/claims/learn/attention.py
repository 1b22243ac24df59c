from posenc_conformance.models.file import model_named


def heads() -> tuple[str, str]:
    """Heads and their width, from the released configuration of the smallest GPT-2."""
    config = model_named("gpt2").config
    width = config["n_embd"] // config["n_head"]
    return f"has {config['n_head']} heads", f"of {width} channels"
