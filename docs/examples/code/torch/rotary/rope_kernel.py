import torch


def rope(x, positions, base):
    frequencies = base ** (-torch.arange(0, x.shape[-1], 2).float() / x.shape[-1])
    angles = positions[..., None].float() * frequencies
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1)


def rope_batched(x, positions, *, base=10000.0):
    return rope(x, positions[:, None], base)  # the same for all heads of a sequence


def rope_offsets(x, offsets, *, base=10000.0):
    return rope_batched(x, offsets[:, None] + torch.arange(x.shape[2]), base=base)


def rope_packed(x, cu_seqlens, offsets, *, base=10000.0):
    shift = torch.repeat_interleave(offsets - cu_seqlens[:-1], cu_seqlens.diff())
    return rope(x, torch.arange(x.shape[1]) + shift, base)


def rope_query_key(q, k, positions, *, base=10000.0):
    return rope(torch.cat([q, k]), positions, base)


def rope_in_place(x, positions, *, base=10000.0):
    x.copy_(rope(x, positions, base))


def rope_qkv(qkv, positions, heads, key_heads, *, base=10000.0):
    turned, every = heads + key_heads, heads + 2 * key_heads
    by_head = qkv.reshape(len(qkv), every, qkv.shape[1] // every).swapaxes(0, 1)
    out = torch.cat([rope(by_head[:turned], positions, base), by_head[turned:]])
    return out.swapaxes(0, 1).reshape(qkv.shape)
