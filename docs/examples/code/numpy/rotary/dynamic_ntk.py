import numpy as np


def dynamic_ntk_frequencies(
    rotary_dim, *, base=10000.0, factor, original_max_position_embeddings, length
):
    grown = max(length / original_max_position_embeddings, 1)
    stretch = factor * grown - (factor - 1)
    base = base * stretch ** (rotary_dim / (rotary_dim - 2))
    return (base ** (-np.arange(0, rotary_dim, 2) / rotary_dim)).astype(np.float32)
