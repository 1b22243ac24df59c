"""Rotary embedding in the forms of kernels: each row is a row of plain rotary embedding."""

from collections.abc import Callable
from typing import Any

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element

Found = tuple[Any, int, int | None]
"""A row before rotation, the channel, and the position: None if the row is not rotated."""
Find = Callable[[tuple[int, ...]], Found]


def by_rows(
    finds: Callable[[Arguments], Find],
) -> Callable[[Arguments, Arguments], Element]:
    """Make a call from a function that finds the row of an element and its position."""

    def values(arguments: Arguments, conventions: Conventions) -> Element:
        find, base = finds(arguments), mpmath.mpf(float(arguments.get("base", 10000)))

        def value(index: tuple[int, ...]) -> mpmath.mpf:
            row, channel, position = find(index)
            if position is None:
                return mpmath.mpf(float(row[channel]))
            pairs = len(row) // 2
            if conventions["layout"] == "interleaved":
                pair, member = divmod(channel, 2)
                places = 2 * pair, 2 * pair + 1
            else:
                member, pair = divmod(channel, pairs)
                places = pair, pair + pairs
            real, imaginary = (mpmath.mpf(float(row[place])) for place in places)
            angle = position * mpmath.power(base, -mpmath.mpf(pair) / pairs)
            product = mpmath.mpc(real, imaginary) * mpmath.expj(angle)
            return product.imag if member else product.real

        return value

    return values


def of_batched(arguments: Arguments) -> Find:
    """Make the finder for elements (sequence, head, row, channel).

    ``positions`` contains the position of every row of a sequence.
    """

    def find(index: tuple[int, ...]) -> Found:
        sequence, head, row, channel = index
        position = int(arguments["positions"][sequence][row])
        return arguments["x"][sequence][head][row], channel, position

    return find


def of_offsets(arguments: Arguments) -> Find:
    """Make the finder for elements (sequence, head, row, channel).

    ``offsets`` contains the position of the first row of a sequence.
    """

    def find(index: tuple[int, ...]) -> Found:
        sequence, head, row, channel = index
        position = int(arguments["offsets"][sequence]) + row
        return arguments["x"][sequence][head][row], channel, position

    return find


def of_packed(arguments: Arguments) -> Find:
    """Make the finder for elements (head, row, channel) of packed sequences."""
    edges = [int(edge) for edge in arguments["cu_seqlens"]]

    def find(index: tuple[int, ...]) -> Found:
        head, row, channel = index
        sequence = sum(edge <= row for edge in edges) - 1
        position = row - edges[sequence] + int(arguments["offsets"][sequence])
        return arguments["x"][head][row], channel, position

    return find


def of_query_key(arguments: Arguments) -> Find:
    """Make the finder for elements (head, row, channel), heads of queries before heads of keys."""
    q, k = arguments["q"], arguments["k"]

    def find(index: tuple[int, ...]) -> Found:
        head, row, channel = index
        source = q[head] if head < len(q) else k[head - len(q)]
        return source[row], channel, int(arguments["positions"][row])

    return find


def of_x(arguments: Arguments) -> Find:
    """Make the finder for elements (..., row, channel)."""

    def find(index: tuple[int, ...]) -> Found:
        *row, channel = index
        return arguments["x"][tuple(row)], channel, int(arguments["positions"][row[-1]])

    return find


def of_qkv(arguments: Arguments) -> Find:
    """Make the finder for elements (row, channel of any head)."""
    heads, key_heads = arguments["heads"], arguments["key_heads"]
    return _of_projection(arguments, lambda head: head < heads + key_heads)


def of_qkv_by_group(arguments: Arguments) -> Find:
    """Make the finder for heads packed by group, where the last head of each group is a value."""
    group = arguments["heads"] // arguments["key_heads"] + 2
    return _of_projection(arguments, lambda head: (head + 1) % group != 0)


def _of_projection(arguments: Arguments, turns: Callable[[int], bool]) -> Find:
    every = arguments["heads"] + 2 * arguments["key_heads"]
    width = arguments["qkv"].shape[1] // every

    def find(index: tuple[int, ...]) -> Found:
        row, place = index
        head, channel = divmod(place, width)
        position = int(arguments["positions"][row]) if turns(head) else None
        return arguments["qkv"][row][head * width : (head + 1) * width], channel, position

    return find


def of_packing(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives an element of a projection, in the convention's packing."""
    by_group = conventions.get("packing") == "by-group"
    return by_rows(of_qkv_by_group if by_group else of_qkv)(arguments, conventions)


VALUES = {
    "rope_batched": by_rows(of_batched),
    "rope_offsets": by_rows(of_offsets),
    "rope_packed": by_rows(of_packed),
    "rope_query_key": by_rows(of_query_key),
    "rope_in_place": by_rows(of_x),
    "rope_qkv": of_packing,
}
