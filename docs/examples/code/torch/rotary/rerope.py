import torch


def rope(x, positions, base):
    frequencies = base ** (-torch.arange(0, x.shape[-1], 2).float() / x.shape[-1])
    angles = positions[..., None].float() * frequencies
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1)


def rerope_scores(q, k, *, window, base=10000.0):
    return leaky_rerope_scores(q, k, window=window, factor=torch.inf, base=base)


def leaky_rerope_scores(q, k, *, window, factor, base=10000.0):
    q_len, k_len = q.shape[1], k.shape[1]
    query, key = torch.arange(k_len - q_len, k_len), torch.arange(k_len)
    near = rope(q, query, base) @ rope(k, key, base).swapaxes(-1, -2)
    slowed = window + (query - window) / factor  # as far from key / factor as it should be
    far = rope(q, slowed, base) @ rope(k, key / factor, base).swapaxes(-1, -2)
    scores = torch.where(query[:, None] - key < window, near, far) / q.shape[-1] ** 0.5
    return torch.where(key <= query[:, None], scores, -torch.inf)
