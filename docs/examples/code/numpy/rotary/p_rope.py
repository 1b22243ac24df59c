from fractions import Fraction

import numpy as np


def p_rope_frequencies(rotary_dim, *, base=10000.0, proportion):
    pair = np.arange(rotary_dim // 2)
    turning = int(Fraction(str(proportion)) * (rotary_dim // 2))  # 0.7 of 10 is 7, not 6
    frequencies = base ** (-2 * pair / rotary_dim)
    return np.where(pair < turning, frequencies, 0).astype(np.float32)
