import torch


def half(places, dim, base):
    frequencies = base ** (-torch.arange(0, dim, 2) / dim)
    angles = places[:, None] * frequencies
    return torch.cat([torch.sin(angles), torch.cos(angles)], dim=-1)


def sincos_2d(height, width, dim, *, base=10000.0):
    cell = torch.arange(height * width)
    rows, columns = cell // width, cell % width
    halves = [half(columns, dim // 2, base), half(rows, dim // 2, base)]  # the column comes first
    return torch.cat(halves, dim=-1)
