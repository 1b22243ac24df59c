import torch
import torch.nn.functional as F


def dynamic_position_bias(w_in, b_in, w_mid, b_mid, w_out, b_out, q_len, k_len):
    distance = torch.arange(1 - q_len, k_len).to(w_in.dtype)  # each once: query minus key
    hidden = F.silu(distance[:, None] * w_in + b_in)
    for weight, bias in zip(w_mid, b_mid, strict=True):
        hidden = F.silu(F.linear(hidden, weight, bias))
    by_distance = F.linear(hidden, w_out, b_out).T
    query, key = torch.arange(k_len - q_len, k_len)[:, None], torch.arange(k_len)
    return by_distance[:, query - key + q_len - 1]
