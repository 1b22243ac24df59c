import torch.nn.functional as F


def conv_peg(x, weight, bias, height, width):
    picture = x.reshape(-1, height, width, x.shape[-1]).movedim(-1, 1)
    kernels = weight[:, None]  # one for each channel
    result = picture + F.conv2d(picture, kernels, bias, padding="same", groups=len(weight))
    return result.movedim(1, -1).reshape(x.shape)
