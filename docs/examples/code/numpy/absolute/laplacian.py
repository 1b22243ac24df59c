import numpy as np


def laplacian_vectors(adjacency, count):
    weights = adjacency * (1 - np.eye(len(adjacency)))  # no edge from a node to itself
    root = np.sqrt(weights.sum(axis=-1))
    matrix = np.eye(len(weights)) - weights / (root[:, None] * root)
    _, vectors = np.linalg.eigh(matrix)  # the slowest wave first; it says the degree alone
    return vectors[:, 1 : count + 1]


def laplacian(adjacency, count):
    vectors = laplacian_vectors(adjacency, count)
    return (vectors @ vectors.T).astype(adjacency.dtype)  # which the signs leave as it is
