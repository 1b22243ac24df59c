import math

import numpy as np


def conv_wav2vec2(x, weight_v, weight_g, bias, *, groups):
    n, (dim, per_group, kernel) = x.shape[-2], weight_v.shape
    norm = np.sqrt((weight_v**2).sum((0, 1)))  # of a tap, over both axes of channels
    weight = (weight_g * weight_v / norm).reshape(groups, dim // groups, per_group, kernel)
    edge = (kernel // 2, kernel // 2)
    padded = np.pad(x, [(0, 0)] * (x.ndim - 2) + [edge, (0, 0)])
    padded = padded.reshape(*padded.shape[:-1], groups, per_group)
    taps = np.stack([padded[..., t : t + n, :, :] for t in range(kernel)], axis=-1)
    z = np.einsum("gock,...gck->...go", weight, taps).reshape(x.shape) + bias
    gelu = z * (1 + np.vectorize(math.erf)(z / 2**0.5)) / 2
    return (x + gelu).astype(x.dtype)
