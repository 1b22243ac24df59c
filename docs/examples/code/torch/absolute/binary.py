import torch


def binary(positions, dim):
    return (positions[:, None] >> torch.arange(dim) & 1).float()
