import numpy as np


def longrope_frequencies(factors, *, base=10000.0):
    pairs = len(factors)
    return (base ** (-np.arange(pairs) / pairs) / factors).astype(np.float32)
