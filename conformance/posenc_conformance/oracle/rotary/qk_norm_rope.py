"""Rotary embedding of normalised queries and keys, element by element."""

from typing import Any

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element


def qk_norm_rope(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the channel at (head, row, channel), queries before keys."""
    base, eps = (mpmath.mpf(float(arguments[name])) for name in ("base", "eps"))
    heads = len(arguments["q"])

    def normed(row: Any, weight: Any, channel: int) -> mpmath.mpf:
        numbers = [mpmath.mpf(float(entry)) for entry in row]
        squares = mpmath.fsum(entry * entry for entry in numbers)
        root = mpmath.sqrt(squares / len(numbers) + eps)
        factor = mpmath.mpf(float(weight[channel]))
        return numbers[channel] * (factor + (conventions["norm_weight"] == "one-plus")) / root

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        head, place, channel = index
        which, number = ("q", head) if head < heads else ("k", head - heads)
        row, weight = arguments[which][number][place], arguments[f"{which}_weight"]
        pairs = int(arguments.get("rotary_dim") or len(row)) // 2
        if channel >= 2 * pairs:
            return normed(row, weight, channel)
        if conventions["layout"] == "half":
            pair, is_second = channel % pairs, channel >= pairs
            members = pair, pair + pairs
        else:
            pair, is_second = channel // 2, channel % 2 == 1
            members = 2 * pair, 2 * pair + 1
        angle = int(arguments["positions"][place]) * mpmath.power(base, -mpmath.mpf(pair) / pairs)
        real, imaginary = (normed(row, weight, entry) for entry in members)
        if is_second:
            return real * mpmath.sin(angle) + imaginary * mpmath.cos(angle)
        return real * mpmath.cos(angle) - imaginary * mpmath.sin(angle)

    return value


VALUES = {"qk_norm_rope": qk_norm_rope}
