import torch


def time2vec(x, w, b):
    angles = x @ w + b
    return torch.cat([angles[..., :1], torch.sin(angles[..., 1:])], dim=-1)
