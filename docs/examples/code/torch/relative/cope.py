import torch


def cope_scores(q, k, table):
    q_len, k_len = q.shape[1], k.shape[1]
    scores = q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5
    query, key = torch.arange(k_len - q_len, k_len)[:, None], torch.arange(k_len)
    gates = torch.where(key <= query, torch.sigmoid(scores), 0)
    counted = gates.flip(-1).cumsum(-1).flip(-1)  # from the key to the query
    place = counted.clamp(max=len(table) - 1)
    below, above = place.floor().long(), place.ceil().long()
    products = q @ table.T
    low = torch.take_along_dim(products, below, dim=-1)
    high = torch.take_along_dim(products, above, dim=-1)
    return (scores + low + (place - below) * (high - low)).to(q.dtype)
