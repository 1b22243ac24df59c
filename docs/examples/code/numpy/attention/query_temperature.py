import numpy as np


def query_temperature(x, positions, *, length, beta):
    factor = 1 + beta * np.log(1 + (positions + 1) // length)  # counted from 1, as in Llama 4
    return (x * factor[:, None]).astype(x.dtype)


def query_log_scale(x, positions, *, length):
    factor = np.maximum(1, np.log(positions + 1) / np.log(length))
    return (x * factor[:, None]).astype(x.dtype)
