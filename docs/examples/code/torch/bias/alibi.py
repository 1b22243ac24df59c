import torch


def alibi_slopes(heads):
    power = 1 << (heads.bit_length() - 1)  # the power of two at or below
    slopes = 2.0 ** (-8 * torch.arange(1, power + 1) / power)
    between = 2.0 ** (-4 * torch.arange(1, 2 * heads - 2 * power + 1, 2) / power)
    return torch.cat([slopes, between])


def alibi_bias(heads, q_len, k_len):
    query, key = torch.arange(k_len - q_len, k_len)[:, None], torch.arange(k_len)
    return alibi_slopes(heads)[:, None, None] * (key - query)
