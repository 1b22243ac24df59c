import numpy as np


def axial_rope(x, positions, widths, *, base=10000.0):
    angles = np.concatenate(
        [
            place[:, None] * base ** (-np.arange(0, width, 2) / width)  # anew on every axis
            for place, width in zip(positions, widths, strict=True)
        ],
        axis=-1,
    )
    cos, sin = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
    first, second = x[..., 0::2], x[..., 1::2]
    turned = [first * cos - second * sin, first * sin + second * cos]
    return np.stack(turned, axis=-1).reshape(x.shape)
