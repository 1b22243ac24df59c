"""Axial rotary embedding by its definition, channel by channel; its ids token by token."""

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element


def place_of(channel: int, widths: list[int], layout: str) -> tuple[int, int, int, bool]:
    """Find a channel's axis, its pair on that axis, its partner, and whether it is the second.

    The partner is the other channel of the pair.
    """
    if layout == "half-per-axis":
        axis = 0
        while channel >= sum(widths[: axis + 1]):
            axis += 1
        half = widths[axis] // 2
        number = channel - sum(widths[:axis])
        second = number >= half
        return axis, number % half, channel - half if second else channel + half, second
    if layout == "half":
        half = sum(widths) // 2
        second = channel >= half
        pair, partner = channel % half, channel - half if second else channel + half
    else:
        second = channel % 2 == 1
        pair, partner = channel // 2, channel - 1 if second else channel + 1
    axis = 0
    while pair >= widths[axis] // 2:
        pair -= widths[axis] // 2
        axis += 1
    return axis, pair, partner, second


def axial_rope(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the rotated x at (..., row, channel)."""
    x, positions = arguments["x"], arguments["positions"]
    widths = [int(width) for width in arguments["widths"]]
    base = mpmath.mpf(float(arguments.get("base", 10000)))

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        *row, channel = index
        axis, pair, partner, second = place_of(channel, widths, conventions["layout"])
        angle = int(positions[axis][row[-1]]) / mpmath.root(base, widths[axis]) ** (2 * pair)
        here, other = mpmath.mpf(float(x[index])), mpmath.mpf(float(x[(*row, partner)]))
        return here * mpmath.cos(angle) + (1 if second else -1) * other * mpmath.sin(angle)

    return value


def axial_rope_tiled(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives x, rotated by tiled waves, at (..., row, channel)."""
    x, positions = arguments["x"], arguments["positions"]
    width = x.shape[-1] // 3 // 2 * 2

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        *row, channel = index
        here = mpmath.mpf(float(x[index]))
        if channel >= 3 * width:
            return here
        axis, number = divmod(channel, width)
        wave = number if number < width // 2 else number - width // 2
        angle = int(positions[axis][row[-1]]) * mpmath.mpf(10) ** (mpmath.mpf(-8 * wave) / width)
        partner = channel + 1 if channel % 2 == 0 else channel - 1
        other = mpmath.mpf(float(x[(*row, partner)]))
        return here * mpmath.cos(angle) + (channel - partner) * other * mpmath.sin(angle)

    return value


def axial_rope_widths(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the number of channels at (axis,)."""
    channels = int(arguments["head_dim"])

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        if conventions["allocation"] == "eighths":
            return mpmath.mpf(channels * (2 if index == (0,) else 3)) / 8
        pairs = channels // 6
        return mpmath.mpf(channels - 4 * pairs if index == (0,) else 2 * pairs)

    return value


def axial_rope_position_ids(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the position at (axis, token)."""
    grid, tokens = conventions["grid"], int(arguments.get("tokens", 0))
    images = [[int(size) for size in image] for image in arguments["images"]]

    def text(axis: int, token: int) -> int:
        if grid == "qwen-image":
            return token + max([0, *(max(height, width) // 2 for _, height, width in images)])
        if grid == "z-image":
            return token + 1 if axis == 0 else 0
        return token if axis == 3 else 0

    def patch(axis: int, number: int, place: tuple[int, ...], image: list[int]) -> int:
        if axis == 0 and grid == "flux-2":
            return 10 * number
        if axis == 0:
            return place[0] + (tokens + 1 if grid == "z-image" else number)
        if axis == 3:
            return 0
        middle = (image[axis] + 1) // 2 if grid == "qwen-image" else 0
        return place[axis] - middle

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        axis, token = index
        if token < tokens:
            return mpmath.mpf(text(axis, token))
        token -= tokens
        for number, image in enumerate(images):
            frames, height, width = image
            if token < frames * height * width:
                place = token // (height * width), token // width % height, token % width
                return mpmath.mpf(patch(axis, number, place, image))
            token -= frames * height * width
        raise IndexError(index)

    return value


VALUES = {
    "axial_rope": axial_rope,
    "axial_rope_tiled": axial_rope_tiled,
    "axial_rope_widths": axial_rope_widths,
    "axial_rope_position_ids": axial_rope_position_ids,
}
