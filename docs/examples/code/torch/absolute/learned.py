import torch.nn.functional as F


def learned(positions, table):
    return F.embedding(positions, table)  # refuses positions that have no row
