import torch


def fope(x, positions, sin_coef, cos_coef, *, original_max_position_embeddings, base=10000.0):
    half, mixed = x.shape[-1] // 2, sin_coef.shape[1]
    frequencies = base ** (-torch.arange(half) / half)
    turning = frequencies[frequencies * original_max_position_embeddings > 2 * torch.pi]
    angles = positions[:, None] * turning
    cos, sin = torch.ones(2, len(positions), half)  # also of the pairs that are not mixed
    cos[:, :mixed] = angles.cos() @ cos_coef.float()
    sin[:, :mixed] = angles.sin() @ sin_coef.float()
    first, second = x.chunk(2, dim=-1)
    turned = [first * cos - second * sin, first * sin + second * cos]
    return torch.cat(turned, dim=-1).to(x.dtype)
