import torch


def resized_relative_table(table, *, rows):
    place = ((torch.arange(rows) + 0.5) * len(table) / rows - 0.5).clamp(0, len(table) - 1)
    below, above = place.floor().long(), place.ceil().long()
    share = (place - below)[:, None].to(table.dtype)
    return (1 - share) * table[below] + share * table[above]


def vectors(table, q_size, k_size):
    """The vector of each row of queries and each row of keys."""
    finer = max(q_size, k_size)
    table = resized_relative_table(table, rows=2 * finer - 1)
    query = torch.arange(q_size)[:, None] * (finer // q_size)
    key = torch.arange(k_size) * (finer // k_size)
    return table[query - key + finer - finer // k_size]


def decomposed_relative_bias(q, table_h, table_w, *, q_height, q_width, k_height, k_width):
    grid = q.reshape(len(q), q_height, q_width, -1)
    by_row = torch.einsum("hyxc,yvc->hyxv", grid, vectors(table_h, q_height, k_height))
    by_column = torch.einsum("hyxc,xuc->hyxu", grid, vectors(table_w, q_width, k_width))
    both = by_row[..., :, None] + by_column[..., None, :]
    return both.reshape(len(q), q_height * q_width, k_height * k_width)
