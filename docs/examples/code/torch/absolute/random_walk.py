import torch


def random_walk(adjacency, steps):
    degree = adjacency.sum(dim=-1, keepdim=True)
    step = adjacency / torch.where(degree > 0, degree, 1)  # a node without edges goes nowhere
    powers = [step]
    for _ in range(steps - 1):
        powers.append(powers[-1] @ step)
    return torch.stack([power.diagonal() for power in powers], dim=-1)
