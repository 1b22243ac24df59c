import numpy as np


def conv_peg(x, weight, bias, height, width):
    kernel = weight.shape[-1]
    picture = x.reshape(*x.shape[:-2], height, width, x.shape[-1])
    edge = (kernel // 2, kernel // 2)
    padded = np.pad(picture, [(0, 0)] * (x.ndim - 2) + [edge, edge, (0, 0)])
    result = picture + bias
    for row, column in np.ndindex(kernel, kernel):  # a correlation: the kernel is not turned round
        part = padded[..., row : row + height, column : column + width, :]
        result = result + part * weight[:, row, column]
    return result.reshape(x.shape)
