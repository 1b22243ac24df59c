"""Multimodal rotary embedding by its definition, and its position ids token by token."""

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element
from posenc_conformance.oracle.backward import transposed


def axis_of(pair: int, sections: list[int], allocation: str) -> int:
    """Return the axis whose position rotates a pair: 0 for time, 1 for height, 2 for width."""
    if allocation == "interleaved":
        turn, axis = divmod(pair, 3)
        return axis if turn < sections[axis] else 0
    if allocation == "alternating":
        return 0 if pair >= sections[1] + sections[2] else 1 + pair % 2
    return 0 if pair < sections[0] else 1 if pair < sections[0] + sections[1] else 2


def m_rope(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the rotated x at (..., row, channel)."""
    x, positions = arguments["x"], arguments["positions"]
    sections = [int(size) for size in arguments["sections"]]
    pairs = sum(sections)
    base = mpmath.mpf(float(arguments.get("base", 10000)))

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        *row, channel = index
        here = mpmath.mpf(float(x[index]))
        if channel >= 2 * pairs:
            return here
        if conventions["layout"] == "half":
            second, pair = divmod(channel, pairs)
            partner = channel - pairs if second else channel + pairs
        else:
            pair, second = divmod(channel, 2)
            partner = channel - 1 if second else channel + 1
        other = mpmath.mpf(float(x[(*row, partner)]))
        axis = axis_of(pair, sections, conventions["allocation"])
        angle = int(positions[axis][row[-1]]) / mpmath.root(base, pairs) ** pair
        sign = 1 if second else -1
        return here * mpmath.cos(angle) + sign * other * mpmath.sin(angle)

    return value


def m_rope_position_ids(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the position at (axis, token)."""
    merge = int(arguments.get("merge_size", 1))
    pace = mpmath.mpf(float(arguments.get("tokens_per_second") or 1))
    pace *= mpmath.mpf(float(arguments.get("second_per_grid") or 1))

    def time(frame: int) -> int:
        return int(mpmath.floor(frame * pace))

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        axis, token = index
        start = 0
        for segment in arguments["segments"]:
            frames, height, width = (int(size) for size in segment)
            rows, columns = height // merge, width // merge
            text = not height
            tokens = frames if text else frames * rows * columns
            if token < tokens and text:
                return mpmath.mpf(start + token)
            if token < tokens:
                place = time(token // (rows * columns)), token // columns % rows, token % columns
                return mpmath.mpf(start + place[axis])
            token -= tokens
            if text:
                start += frames
                continue
            longest = time(frames - 1) + 1 if conventions["next_position"] == "largest" else 0
            start += max(rows, columns, longest)
        raise IndexError(index)

    return value


VALUES = {
    "m_rope": m_rope,
    "m_rope_vjp": transposed(m_rope),
    "m_rope_position_ids": m_rope_position_ids,
}
