import torch


def nope_layer(x, w_q, w_k, w_v):
    scores = (x @ w_q) @ (x @ w_k).swapaxes(-1, -2) / w_q.shape[-1] ** 0.5
    position = torch.arange(x.shape[-2])
    hidden = position > position[:, None]
    return scores.masked_fill(hidden, -torch.inf).softmax(-1) @ (x @ w_v)
