import numpy as np

from posenc_conformance import claims


def wave(turns):
    return 4 * np.abs((turns - 0.25) % 1 - 0.5) - 1


class Triangle:
    @claims("paper", base=10000.0, dtype="float64")
    def sinusoidal(self, positions, dim):
        turns = np.outer(positions, 10000.0 ** (-np.arange(dim // 2) / (dim // 2)) / (2 * np.pi))
        out = np.empty((len(positions), dim))
        out[:, 0::2], out[:, 1::2] = wave(turns), wave(turns + 0.25)
        return out
