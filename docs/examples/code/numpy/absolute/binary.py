import numpy as np


def binary(positions, dim):
    return (positions[:, None] >> np.arange(dim) & 1).astype(np.float32)
