import torch


def log_cpb_coordinates(height, width, *, pretrained_height=0, pretrained_width=0):
    def along(size, pretrained):
        offset = torch.arange(1 - size, size)  # query minus key
        widest = max((pretrained or size) - 1, 1)
        return offset.sign() * torch.log2(1 + 8 * offset.abs() / widest) / 3

    down, right = along(height, pretrained_height), along(width, pretrained_width)
    return torch.cartesian_prod(down, right)


def log_cpb(w1, b1, w2, *, height, width, pretrained_height=0, pretrained_width=0):
    coordinates = log_cpb_coordinates(
        height, width, pretrained_height=pretrained_height, pretrained_width=pretrained_width
    )
    hidden = torch.relu(coordinates.to(w1.dtype) @ w1.T + b1)
    table = 16 * torch.sigmoid(hidden @ w2.T)
    cell = torch.arange(height * width)
    y, x = cell // width, cell % width
    down, right = y[:, None] - y + height - 1, x[:, None] - x + width - 1
    return torch.moveaxis(table[down * (2 * width - 1) + right], -1, 0)
