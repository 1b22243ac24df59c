from fractions import Fraction

import torch


def p_rope_frequencies(rotary_dim, *, base=10000.0, proportion):
    pair = torch.arange(rotary_dim // 2)
    turning = int(Fraction(str(proportion)) * (rotary_dim // 2))  # 0.7 of 10 is 7, not 6
    frequencies = base ** (-2 * pair / rotary_dim)
    return torch.where(pair < turning, frequencies, 0)
