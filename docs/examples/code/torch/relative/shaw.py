import torch


def vectors(table, q_len, k_len):
    """The vector of every pair of query and key: [q_len, k_len, head_dim]."""
    reach = len(table) // 2
    query, key = torch.arange(k_len - q_len, k_len)[:, None], torch.arange(k_len)
    return table[(key - query).clamp(-reach, reach) + reach]


def shaw_scores(q, k, table):
    relative = torch.einsum("hid,ijd->hij", q, vectors(table, q.shape[1], k.shape[1]))
    return (q @ k.transpose(-1, -2) + relative) / q.shape[-1] ** 0.5


def shaw_values(weights, v, table):
    relative = torch.einsum("hij,ijd->hid", weights, vectors(table, *weights.shape[1:]))
    return weights @ v + relative
