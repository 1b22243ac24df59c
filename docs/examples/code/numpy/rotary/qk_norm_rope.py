import numpy as np


def rope(x, positions, base):
    frequencies = base ** (-np.arange(0, x.shape[-1], 2) / x.shape[-1])
    angles = positions[:, None] * frequencies
    cos, sin = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
    first, second = np.split(x, 2, axis=-1)
    return np.concatenate([first * cos - second * sin, first * sin + second * cos], axis=-1)


def normed(x, weight, eps):
    mean = np.mean(x * x, axis=-1, keepdims=True)
    return x / np.sqrt(mean + x.dtype.type(eps)) * weight  # before the rotation


def qk_norm_rope(q, k, q_weight, k_weight, positions, *, eps=1e-6, base=10000.0):
    both = np.concatenate([normed(q, q_weight, eps), normed(k, k_weight, eps)])
    return rope(both, positions, base)
