"""Position ids for serving, token by token."""

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element
from posenc_conformance.oracle.rotary.m_rope import VALUES as OF_IMAGES


def of_list(numbers: list[int]) -> Element:
    """Return the function that gives the number at (token,)."""
    return lambda index: mpmath.mpf(numbers[index[0]])


def shard_position_ids(arguments: Arguments, conventions: Conventions) -> Element:
    """Assign the tokens to the ranks one by one, and return the function for those of one rank."""
    ranks, length = int(arguments["ranks"]), int(arguments["length"])
    held: list[list[int]] = [[] for _ in range(ranks)]
    for token in range(length):
        if conventions["share"] == "round-robin":
            rank = token % ranks
        elif conventions["share"] == "contiguous":
            rank = token * ranks // length
        else:
            piece = token * 2 * ranks // length
            rank = piece if piece < ranks else 2 * ranks - 1 - piece
        held[rank].append(token)
    return of_list(held[int(arguments["rank"])])


def tree_position_ids(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the position at (token,), by counting its predecessors."""

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        above, row = 0, int(arguments["parents"][index[0]])
        while row >= 0:
            above, row = above + 1, int(arguments["parents"][row])
        return mpmath.mpf(int(arguments["past_length"]) + above)

    return value


def length_position_ids(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the position at (sequence, column)."""

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        sequence, column = index
        if conventions["padded"] == "one" and column >= arguments["lengths"][sequence]:
            return mpmath.mpf(1)
        return mpmath.mpf(int(arguments["past_lengths"][sequence])) + column

    return value


def segment_position_ids(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the position at (sequence, column), by counting back."""

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        row, column = arguments["segments"][index[0]], index[1]
        count = 0
        while row[column] and column - count > 0 and row[column - count - 1] == row[column]:
            count += 1
        return mpmath.mpf(count)

    return value


def session_position_ids(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the position at (token,), by replaying the events."""
    cache: dict[int, int] = {}
    appended: list[int] = []
    for kind, first, second in arguments["events"]:
        if kind == 0:
            for _ in range(int(first)):
                appended.append(1 + max(cache.values(), default=-1))
                cache[len(appended)] = appended[-1]
        for token, position in list(cache.items()):
            if kind == 1 and first <= position < second:
                del cache[token]
            if kind == 2 and position >= first:
                cache[token] = position + int(second)
    return of_list(appended)


def m_rope_window_position_ids(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the id at (axis, token of the window)."""
    prompt = OF_IMAGES["m_rope_position_ids"](arguments, {"next_position": "largest"})
    merged = int(arguments.get("merge_size", 1)) ** 2
    tokens = sum(
        int(size) * max(int(height) * int(width) // merged, 1)
        for size, height, width in arguments["segments"]
    )
    every = [prompt((axis, token)) for axis in range(3) for token in range(tokens)]
    last = max(every, default=mpmath.mpf(-1))

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        axis, token = index[0], index[1] + int(arguments["start"])
        return prompt((axis, token)) if token < tokens else last + 1 + token - tokens

    return value


VALUES = {
    "shard_position_ids": shard_position_ids,
    "tree_position_ids": tree_position_ids,
    "length_position_ids": length_position_ids,
    "segment_position_ids": segment_position_ids,
    "session_position_ids": session_position_ids,
    "m_rope_window_position_ids": m_rope_window_position_ids,
}
