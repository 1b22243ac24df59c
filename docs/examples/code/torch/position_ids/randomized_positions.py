import torch


def randomized_positions(order, n):
    return order[:n].sort().values


def alibi_slopes(heads):
    power = 1 << (heads.bit_length() - 1)  # the power of two at or below
    slopes = 2.0 ** (-8 * torch.arange(1, power + 1) / power)
    between = 2.0 ** (-4 * torch.arange(1, 2 * heads - 2 * power + 1, 2) / power)
    return torch.cat([slopes, between])


def randomized_alibi_bias(heads, q_len, k_len, before, after):
    before, after = before[: k_len - 1].sort().values, after[: k_len - 1].sort().values
    # Of the farthest key before the query, …, the query's own, …, the farthest one after it.
    distances = torch.cat([before.flip(0) - 0.5, torch.zeros(1), after])
    query, key = torch.arange(k_len - q_len, k_len)[:, None], torch.arange(k_len)
    return -alibi_slopes(heads)[:, None, None] * distances[key - query + k_len - 1]
