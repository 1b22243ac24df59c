import numpy as np


def fope(x, positions, sin_coef, cos_coef, *, original_max_position_embeddings, base=10000.0):
    half, mixed = x.shape[-1] // 2, sin_coef.shape[1]
    frequencies = base ** (-np.arange(half) / half)
    turning = frequencies[frequencies * original_max_position_embeddings > 2 * np.pi]
    angles = positions[:, None] * turning
    cos, sin = np.ones((2, len(positions), half))  # also of the pairs that are not mixed
    cos[:, :mixed] = np.cos(angles) @ cos_coef
    sin[:, :mixed] = np.sin(angles) @ sin_coef
    first, second = np.split(x, 2, axis=-1)
    turned = [first * cos - second * sin, first * sin + second * cos]
    return np.concatenate(turned, axis=-1).astype(x.dtype)
