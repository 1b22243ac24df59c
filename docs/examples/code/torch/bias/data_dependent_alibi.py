import torch
import torch.nn.functional as F


def data_dependent_alibi_bias(gates, q_len):
    k_len = gates.shape[-1]
    query, key = torch.arange(k_len - q_len, k_len)[:, None], torch.arange(k_len)
    sums = F.logsigmoid(gates).cumsum(dim=-1)
    bias = sums[:, k_len - q_len :, None] - sums[:, None, :]
    return torch.where(key <= query, bias, -torch.inf)
