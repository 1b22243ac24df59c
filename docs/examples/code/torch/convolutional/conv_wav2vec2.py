import torch.nn.functional as F


def conv_wav2vec2(x, weight_v, weight_g, bias, *, groups):
    kernel = weight_v.shape[-1]
    norm = weight_v.square().sum((0, 1)).sqrt()  # of a tap, over both axes of channels
    frames = x.reshape(-1, *x.shape[-2:]).transpose(1, 2)
    weight = weight_g * weight_v / norm
    z = F.conv1d(frames, weight, bias, padding=kernel // 2, groups=groups)
    z = z[..., : x.shape[-2]]  # an even kernel makes one frame too many
    return x + F.gelu(z).transpose(1, 2).reshape(x.shape)
