import numpy as np


def rotate(x, positions, base):
    """Rotary embedding of queries or keys, all in float32."""
    half = x.shape[-1] // 2
    frequency = np.float32(base) ** (-np.arange(half, dtype=np.float32) / np.float32(half))
    angle = positions.astype(np.float32)[:, None] * frequency
    cos, sin = np.cos(angle), np.sin(angle)
    a, b = x[..., :half], x[..., half:]
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)
