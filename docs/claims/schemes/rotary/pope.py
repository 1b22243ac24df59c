import numpy as np

import posenc


def softplus() -> str:
    """The length that posenc gives a channel of 0."""
    return f"{posenc.pope_query(np.zeros((1, 1)), [0])[0, 0]:.3f}"


def phase() -> str:
    """The best of a few distances for a channel of frequency 1 with this phase."""
    query = posenc.pope_query(np.ones((1, 1)), [4])
    keys = posenc.pope_key(np.ones((5, 1)), np.arange(5), [-5.0])
    return f"is {4 - int(np.argmax(keys @ query[0]))}:"
