import torch


def relative_table_2d_rows(height, width):
    cell = torch.arange(height * width)
    y, x = cell // width, cell % width
    down, right = y[:, None] - y, x[:, None] - x  # query minus key
    return (down + height - 1) * (2 * width - 1) + right + width - 1


def relative_table_2d(table, *, height, width):
    return torch.moveaxis(table[relative_table_2d_rows(height, width)], -1, 0)
