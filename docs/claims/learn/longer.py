from posenc_conformance.models.file import model_named


def llama_2() -> tuple[str, str]:
    """Context and width of a head in the model file of Llama 2 7B."""
    meaning = model_named("llama-2-7b").meaning
    (group,) = meaning.groups
    return (
        f"for {meaning.context.extended:,} tokens",
        f"have {group.parameters['head_dim']} channels",
    )


def llama_3() -> str:
    """The base in the released configuration."""
    return f"{int(model_named('llama-3-8b').config['rope_theta']):,}"


def window() -> str:
    """How many keys a query of Mistral 7B v0.1 sees."""
    (group,) = model_named("mistral-7b-v0.1").meaning.groups
    return f"window of {group.window:,}"
