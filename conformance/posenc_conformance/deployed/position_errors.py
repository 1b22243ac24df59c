"""Wrong positions of queries and keys."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from posenc_conformance.deployed.expected_scores import Scores, expected
from posenc_conformance.deployed.measure import Measured
from posenc_conformance.deployed.probe_checkpoint import Probe
from posenc_conformance.deployed.prompts import Prompt
from posenc_conformance.judge.arrays import Ints
from posenc_conformance.models.meaning import Context, Group
from posenc_conformance.models.misreadings import SHORT_TABLES, short_tables

Places = Callable[[Prompt], tuple[Sequence[int], int]]
"""Returns the positions of the queries of a prompt, and of its key."""
Named = tuple[str, str, Places]

MOST_MOVED = 64
"""Largest distance of a query from its position that is tried."""
SIZES = (32, 64, 128, 256, 512, 1024, 2048, 4096, 8192)
"""Sizes of the chunks in which engines may process a prompt."""


def wrong_places(context: Context, *, writes: bool) -> Iterator[Named]:
    """Yield the known mistakes of positions: an id, a description, and the positions.

    ``writes`` says whether the engine generates tokens, with positions of their own.
    """
    for id, words, wrong in WRITTEN if writes else ():
        yield id, f"positions that {words} after the prompt", partial(_written, wrong)
    if context.original:
        for words, read in short_tables(context.original):
            yield SHORT_TABLES, words, partial(_looked_up, read)
    for size in SIZES:
        words = f"positions that start anew every {size:,} tokens of a prompt"
        yield "chunks-restart", words, partial(_in_chunks, size)


WRITTEN: tuple[tuple[str, str, Callable[[int, int], int]], ...] = (
    ("positions-restart", "count from 0 again", lambda end, since: since - 1),
    ("positions-stand-still", "stay where they were", lambda end, since: end),
    ("positions-ahead", "are one too large", lambda end, since: end + since + 1),
    ("positions-behind", "are one too small", lambda end, since: end + since - 1),
    ("positions-doubled", "grow by two", lambda end, since: end + 2 * since),
)
"""Wrong positions of generated tokens: they depend on the last position of the prompt, and on the
number of tokens generated so far."""


def _written(wrong: Callable[[int, int], int], prompt: Prompt) -> tuple[list[int], int]:
    end = prompt.end
    places = [
        wrong(end, place - end) if place > end else place
        for place in (*prompt.positions, prompt.key)
    ]
    return places[:-1], places[-1]


def _looked_up(read: Callable[[Ints], Ints], prompt: Prompt) -> tuple[list[int], int]:
    *queries, key = map(int, read(np.array([*prompt.positions, prompt.key])))
    return queries, key


def _in_chunks(size: int, prompt: Prompt) -> tuple[list[int], int]:
    end = prompt.end
    places = [place if place > end else place % size for place in prompt.positions]
    return places, prompt.key % size


def drift(probe: Probe, group: Group, dtype: str, measured: Measured) -> str:
    """Say how far queries stand from their positions, if that grows along a text.

    Returns nothing if no such distances explain all scores, or if they change about as often as
    scores are wrong. Slow pairs have the same scores at several positions.
    """
    ratio = measured.ratio(expected(probe, group, measured.prompt, dtype))
    wrong = np.asarray((ratio > 1).any(axis=1))
    for sign in (1, -1):
        fitting = [
            (measured.ratio(_at_distance(probe, group, measured.prompt, dtype, sign * by)) <= 1)
            for by in range(MOST_MOVED + 1)
        ]
        fits, off = np.asarray(np.array(fitting).all(axis=2)), [0]
        for row in fits.T:
            later = np.flatnonzero(row[off[-1] :])
            if not later.size:
                break
            off.append(off[-1] + int(later[0]))
        jumps = np.count_nonzero(np.diff(off))
        if len(off) > len(wrong) and 0 < 2 * jumps <= np.count_nonzero(wrong):
            first = int(np.flatnonzero(off[1:])[0])
            by = "by 1" if off[-1] == 1 else f"by up to {off[-1]}"
            side = "ahead" if sign > 0 else "behind"
            return f"they stand {side} from {measured.prompt.positions[first]:,} on, {by}"
    return ""


def _at_distance(probe: Probe, group: Group, prompt: Prompt, dtype: str, by: int) -> Scores:
    return expected(probe, group, prompt, dtype, where=[place + by for place in prompt.positions])
