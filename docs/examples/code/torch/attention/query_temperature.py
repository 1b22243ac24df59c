import math

import torch


def query_temperature(x, positions, *, length, beta):
    factor = 1 + beta * torch.log(1 + (positions + 1) // length)  # counted from 1, as in Llama 4
    return (x * factor[:, None]).to(x.dtype)


def query_log_scale(x, positions, *, length):
    factor = (torch.log(positions + 1) / math.log(length)).clamp(min=1)
    return (x * factor[:, None]).to(x.dtype)
