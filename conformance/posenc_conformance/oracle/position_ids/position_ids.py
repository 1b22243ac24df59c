"""Position ids by counting the tokens before each token."""

from typing import Any

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element


def before(mask: Any, index: tuple[int, ...]) -> int | None:
    """Count the real tokens before a token; return None for padding."""
    row, place = index
    return sum(int(mask[row][i]) for i in range(place)) if mask[row][place] else None


def padded_position_ids(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the position at (sequence, token)."""
    padding = 1 if conventions["padded"] == "one" else 0

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        count = before(arguments["attention_mask"], index)
        return mpmath.mpf(padding if count is None else count)

    return value


def fairseq_position_ids(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the row of the table at (sequence, token)."""
    padding = int(arguments["padding_index"])

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        count = before(arguments["attention_mask"], index)
        return mpmath.mpf(padding if count is None else padding + 1 + count)

    return value


def token_position_ids(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the row of the table at (sequence, token)."""
    padding, past = int(arguments["padding_index"]), int(arguments["past_length"])
    tokens = [[int(token) != padding for token in row] for row in arguments["input_ids"]]

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        count = before(tokens, index)
        return mpmath.mpf(padding if count is None else padding + past + 1 + count)

    return value


def packed_position_ids(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the position at (token,)."""
    numbers = [place for length in arguments["lengths"] for place in range(int(length))]
    return lambda index: mpmath.mpf(numbers[index[0]])


def cached_position_ids(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the position at (token,)."""
    return lambda index: mpmath.mpf(int(arguments["past_length"])) + index[0]


VALUES = {
    "padded_position_ids": padded_position_ids,
    "fairseq_position_ids": fairseq_position_ids,
    "token_position_ids": token_position_ids,
    "packed_position_ids": packed_position_ids,
    "cached_position_ids": cached_position_ids,
}
