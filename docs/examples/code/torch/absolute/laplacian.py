import torch


def laplacian_vectors(adjacency, count):
    eye = torch.eye(len(adjacency), dtype=adjacency.dtype)
    weights = adjacency * (1 - eye)  # no edge from a node to itself
    root = weights.sum(dim=-1).sqrt()
    matrix = eye - weights / (root[:, None] * root)
    _, vectors = torch.linalg.eigh(matrix)  # the slowest wave first; it says the degree alone
    return vectors[:, 1 : count + 1]


def laplacian(adjacency, count):
    vectors = laplacian_vectors(adjacency, count)
    return vectors @ vectors.T  # which the signs leave as it is
