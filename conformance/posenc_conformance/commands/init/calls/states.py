"""Objects that keep the place of the next row, or earlier keys, from call to call."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from posenc_conformance.commands.init.draft import IN_RUNS, Draft
from posenc_conformance.commands.init.probes import SAMPLE, sample
from posenc_conformance.judge.arrays import to_numpy

MADE = "module = "
"""The beginning of the line that makes an object."""
TURN = "def turn(rows):"
"""The beginning of a function that turns a sequence."""
CACHED = re.compile(r"^(\w+) = lru_cache\(maxsize=\d+\)\((\w+)\)$")
LAST = re.compile(
    r"^return in_sequence\((?:lambda rows: (?P<call>.*)|turn), (?P<x>.*), positions\)$"
)
BOTH = re.compile(r"(of_queries\(lambda q, k: )(.*)(, \S+, shape=.*)$")
"""A call of queries and keys; keys are left out that stand for earlier rows, too."""
KEEPS = (
    "it keeps its place between calls, so the adapter makes an object for each run of rows, and "
    "gives it the rows before in a call of their own"
)
AT_ONCE = "not judged: a call that goes on from an earlier one, since keys of both come back"
KEYS_AT_ONCE = "not judged: keys of a later call; the adapter gives whole sequences at once"
FORM = SAMPLE["x"].shape
ROWS, FAR = 4, 256
"""Rows of a call that is repeated, and those among which its later answers are looked for."""


def continued(drafts: Iterable[Draft]) -> Iterator[Draft]:
    """Yield drafts, with a new object for each run of rows where an object keeps its place.

    A kept object would go on from the rows of another call of the adapter.
    """
    for draft in drafts:
        anew = _restarted(draft)
        yield anew if anew is not None and _keeps_place(draft, anew) else draft


def _restarted(draft: Draft) -> Draft | None:
    """Return a draft with a new object for each run of rows, or else for each sequence.

    Returns None if its object is not kept, or neither gives an array like x.
    """
    if not (LAST.match(draft.body[-1]) and CACHED.match("".join(draft.setup))):
        return None
    setup = tuple(CACHED.sub(r"\1 = \2", line) for line in draft.setup)
    both = _anew(draft.both)
    going_on = KEEPS, IN_RUNS, *(KEYS_AT_ONCE,) * bool(both)
    ways = (
        (_gone_on(draft.body), going_on),
        (_gone_on([BOTH.sub(r"\1(\2[0], k)\3", line) for line in draft.body]), going_on),
        (_anew(draft.body), (AT_ONCE,)),
    )
    for body, notes in ways:
        anew = replace(draft, body=body, both=both, setup=setup, notes=(*draft.notes, *notes))
        if getattr(anew.value(sample(draft.keywords)), "shape", None) == FORM:
            return anew
    return None


def _keeps_place(draft: Draft, anew: Draft) -> bool:
    """Return whether a kept object answers rows that it had before as if they came later.

    One that answers them in a way that no place has is wrong, and its draft shows that.
    """
    apart = replace(draft, what=f"{draft.what}, asked twice")  # its object is another one
    first, later = (_of_alike(apart, ROWS) for _ in range(2))
    if first is None or later is None:
        return first is not None  # the second answer may have had earlier keys, too
    if np.array_equal(first, later):
        return False
    every = _of_alike(anew, FAR)
    return every is not None and any(
        np.allclose(every[:, at : at + ROWS], later, atol=1e-3) for at in range(1, FAR - ROWS)
    )


def _of_alike(draft: Draft, count: int) -> np.ndarray | None:
    """Return the answer to rows from 0 on that are all the same; None if there is none."""
    rows = np.repeat(SAMPLE["x"][:, :1], count, axis=1)
    given = {**sample(draft.keywords), "x": rows, "positions": np.arange(count)}
    value = draft.value(given)
    return None if value is None else to_numpy(value)


def _gone_on(body: Sequence[str]) -> tuple[str, ...]:
    """Return the lines of a method whose object is given the rows before a run, and then these."""
    (made,) = [line for line in body if line.startswith(MADE)]
    last = LAST.match(body[-1])
    assert last is not None
    inner = _of_turn(body) or [f"return {last['call']}"]
    end = body.index(TURN) if TURN in body else len(body) - 1
    return (
        *(line for line in body[:end] if line != made),
        "def turn(rows, first):",
        f"    {made}",
        "    def run(rows):",
        *(f"        {line}" for line in inner),
        "    if first:",
        "        run(rows[..., [0] * first, :])",
        "    return run(rows)",
        f"return in_stretches(turn, {last['x']}, positions)",
    )


def _of_turn(body: Sequence[str]) -> list[str]:
    """Return the lines of the function that turns a sequence; none if it has no name."""
    if TURN not in body:
        return []
    start = body.index(TURN)
    return [line.removeprefix("    ") for line in body[start + 1 : -1]]


def _anew(body: Sequence[str]) -> tuple[str, ...]:
    """Return the lines of a method with an object for each sequence."""
    made = [line for line in body if line.startswith(MADE)]
    others = [line for line in body if line not in made]
    return tuple(
        part
        for line in others
        for part in (line, *(f"    {each}" for each in made if line == TURN))
    )
