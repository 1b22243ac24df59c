import numpy as np


def data_dependent_alibi_bias(gates, q_len):
    k_len = gates.shape[-1]
    query, key = np.arange(k_len - q_len, k_len)[:, None], np.arange(k_len)
    sums = np.cumsum(-np.logaddexp(0, -gates), axis=-1)  # of the logarithms of the sigmoid
    bias = sums[:, k_len - q_len :, None] - sums[:, None, :]
    return np.where(key <= query, bias, -np.inf)
