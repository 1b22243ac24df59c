import numpy as np


def random_walk(adjacency, steps):
    degree = adjacency.sum(axis=-1, keepdims=True)
    step = adjacency / np.where(degree > 0, degree, 1)  # a node without edges goes nowhere
    powers = [step]
    for _ in range(steps - 1):
        powers.append(powers[-1] @ step)
    return np.stack([np.diagonal(power) for power in powers], axis=-1)
