import torch


def rope(x, positions, base):
    frequencies = base ** (-torch.arange(0, x.shape[-1], 2).float() / x.shape[-1])
    angles = positions[..., None].float() * frequencies
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1)


def dual_chunk_scores(q, k, *, chunk_size, local_size, base=10000.0):
    q_len, k_len = q.shape[1], k.shape[1]
    query, key = torch.arange(k_len - q_len, k_len), torch.arange(k_len)
    size = chunk_size - local_size
    keys = rope(k, key % size, base).swapaxes(-1, -2)  # the same for all three
    inside = rope(q, query % size, base) @ keys
    before = rope(q, (query % size + size).clamp(max=chunk_size), base) @ keys
    far = rope(q, torch.full((q_len,), min(2 * size - 1, chunk_size)), base) @ keys
    apart = query[:, None] // size - key // size
    scores = torch.where(apart == 0, inside, torch.where(apart == 1, before, far))
    return torch.where(key <= query[:, None], scores / q.shape[-1] ** 0.5, -torch.inf)
