import numpy as np


def rope(x, positions, base):
    frequencies = base ** (-np.arange(0, x.shape[-1], 2) / x.shape[-1])
    angles = positions[..., None] * frequencies
    cos, sin = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
    first, second = np.split(x, 2, axis=-1)
    return np.concatenate([first * cos - second * sin, first * sin + second * cos], axis=-1)


def rope_batched(x, positions, *, base=10000.0):
    return rope(x, positions[:, None], base)  # the same for all heads of a sequence


def rope_offsets(x, offsets, *, base=10000.0):
    return rope_batched(x, offsets[:, None] + np.arange(x.shape[2]), base=base)


def rope_packed(x, cu_seqlens, offsets, *, base=10000.0):
    shift = np.repeat(offsets - cu_seqlens[:-1], np.diff(cu_seqlens))
    return rope(x, np.arange(x.shape[1]) + shift, base)


def rope_query_key(q, k, positions, *, base=10000.0):
    return rope(np.concatenate([q, k]), positions, base)


def rope_in_place(x, positions, *, base=10000.0):
    x[...] = rope(x, positions, base)


def rope_qkv(qkv, positions, heads, key_heads, *, base=10000.0):
    turned, every = heads + key_heads, heads + 2 * key_heads
    by_head = qkv.reshape(len(qkv), every, qkv.shape[1] // every).swapaxes(0, 1)
    out = np.concatenate([rope(by_head[:turned], positions, base), by_head[turned:]])
    return out.swapaxes(0, 1).reshape(qkv.shape)
