import numpy as np

import posenc
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


def never_pointed() -> str:
    """Of the pairs of Llama 2 that make no full turn in 4,096 positions, those new at 5,000.

    A pair is new there if it has turned by less than a full turn: it has not come back to an angle
    that it had in training.
    """
    turns = 10000.0 ** (-np.arange(0, 128, 2) / 128) / (2 * np.pi)
    slow = turns * 4096 < 1
    assert slow.sum() == 18
    new = slow & (turns * 5000 < 1)
    assert new.sum() == 17
    assert (turns[new] * 5000 > turns[new] * 4096).all()
    return f"seventeen of the {slow.sum()}"


def last_bucket() -> str:
    """The first distance in bucket 31 of T5's decoder, up to a distance of a million."""
    buckets = posenc.t5_bucket(-np.arange(1_000_001), direction="causal")
    first = int(np.argmax(buckets == 31))
    assert (buckets[first:] == 31).all()
    return f"from {first} on"
