import numpy as np


def ntk_aware_frequencies(rotary_dim, *, base=10000.0, factor):
    base = base * factor ** (rotary_dim / (rotary_dim - 2))
    return (base ** (-np.arange(0, rotary_dim, 2) / rotary_dim)).astype(np.float32)
