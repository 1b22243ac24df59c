from posenc_conformance.models.file import model_named


def gpt_2() -> str:
    """The width in the released configuration of the smallest GPT-2."""
    return f"vectors of {model_named('gpt2').config['n_embd']} channels"
