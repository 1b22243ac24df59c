"""Values at the wrong place: at another head, row, key or channel, read from results."""

from collections.abc import Iterator, Sequence

import numpy as np

from posenc_conformance.judge.arrays import Flags, Floats, Ints
from posenc_conformance.judge.call_kinds import KINDS
from posenc_conformance.judge.case import Case

LARGEST = 64
"""Longest axis along which places are compared with each other."""
FEWEST = 2
"""Fewest values that identify a place."""
COMPARED_FIRST = 8
"""Places along a long axis that are compared first."""
SHOWN = 4
"""Maximum number of places that are shown."""
LEADING = "leading index"
PLURALS = {"query": "queries", LEADING: "leading indices"}


def describe_places(answers: Sequence[tuple[Case, Floats]]) -> str:
    """Say in words which places of wrong results contain the values of others; empty if none do.

    That may be so in some channels only: those with an error.
    """
    if not answers:
        return ""
    names = KINDS[answers[0][0].call.kind].axes
    axes = [(-1 - back, name) for back, name in enumerate(reversed(names))]
    axes = [*reversed(axes), (-len(names) - 1, LEADING)]
    for in_some in (False, True):
        for axis, name in axes[:-2] + axes[-1:] if in_some else axes:
            read = [read_places(case, output, axis, in_some) for case, output in answers]
            readings = [places for places in read if places is not None]
            if readings and len(readings) == len(read):
                return f"{'in some channels, ' * in_some}{_words(name, max(readings, key=len))}"
    return ""


def read_places(
    case: Case, output: Floats, axis: int, in_some_channels: bool = False
) -> Ints | None:
    """Find for each place along an axis the place whose values it contains.

    None unless every place has one, at least one place has another's values, and no such place has
    equal values only. With ``in_some_channels``, channels without errors are left out.
    """
    if output.shape != case.shape or output.ndim < -axis or not output.size:
        return None
    # Merge leading axes: a head that replaces another does so in every sequence.
    named = len(KINDS[case.call.kind].axes)
    shape = (-1, *case.shape[output.ndim - named :]) if -axis > named else case.shape
    count = output.reshape(shape).shape[axis]
    if count < 2 or output.size < FEWEST * count:
        return None
    looked_at = np.broadcast_to(case.judged, case.shape)
    if in_some_channels:
        with np.errstate(invalid="ignore"):
            wrong = looked_at & ~(np.abs(output - case.truth) <= case.bound)
        looked_at = looked_at & wrong.any(axis=tuple(range(output.ndim - 1)))
    got, truth, bound, judged = (
        np.moveaxis(np.broadcast_to(array, case.shape).reshape(shape), axis, 0).reshape(count, -1)
        for array in (output, case.truth, case.bound, looked_at)
    )
    if count > LARGEST:
        return _whole_rule(got, truth, bound, judged)
    result = np.arange(count)
    for place in range(count):
        seen = judged[place]
        allowed = np.maximum(bound[:, seen], bound[place, seen])
        with np.errstate(invalid="ignore"):  # masked elements are infinite
            fits = (np.abs(truth[:, seen] - got[place, seen]) <= allowed).all(axis=1)
        if fits[place]:
            continue
        if not fits.any() or np.ptp(got[place, seen]) == 0:
            return None
        others = np.flatnonzero(fits)
        result[place] = others[np.abs(others - place).argmin()]
    return result if (result != np.arange(count)).any() else None


def _whole_rule(got: Floats, truth: Floats, bound: Floats, judged: Flags) -> Ints | None:
    """Find the rule by which every place of a long axis contains the values of another one.

    Of many places a few are compared first.
    """
    if not judged.any() or not np.ptp(got[judged]):
        return None

    def fits(places: Ints, sources: Ints) -> bool:
        with np.errstate(invalid="ignore"):  # masked elements are infinite
            error = np.abs(got[places] - truth[sources])
        return bool((error <= np.maximum(bound[places], bound[sources]))[judged[places]].all())

    every = np.arange(len(got))
    few = np.unique([*every[:: len(got) // COMPARED_FIRST + 1], 1, len(got) - 1])
    for _, rule in _rules_of_all(len(got)):
        if fits(few, rule[few]) and fits(every, rule):
            return rule
    return None


def _words(name: str, found: Ints) -> str:
    """Say which places contain the values of others."""
    for words, rule in _rules(len(found)):
        if np.array_equal(found, rule):
            every = "head or other leading index" if name == LEADING else name
            return words.format(every=every, name=name)
    other = np.flatnonzero(found != np.arange(len(found)))
    if not other[1:].size:
        return f"{name} {other[0]} has the values of {name} {found[other[0]]}"
    here, sources = (", ".join(map(str, places[:SHOWN])) for places in (other, found[other]))
    more = ", …" if len(other) > SHOWN else ""
    names = PLURALS.get(name, f"{name}s")
    return f"{names} {here}{more} have the values of {names} {sources}{more}"


def _rules_of_all(count: int) -> Sequence[tuple[str, Ints]]:
    """List rules that hold for every place, with words for the place that replaces it."""
    places = np.arange(count)
    return (
        ("the first one", np.zeros_like(places)),
        ("the last one", np.full_like(places, count - 1)),
        ("the next one", np.roll(places, -1)),
        ("the one before it", np.roll(places, 1)),
        ("the one before it", np.maximum(places - 1, 0)),
        ("its mirror image from the end", places[::-1]),
    )


def _rules(count: int) -> Iterator[tuple[str, Ints]]:
    """Yield rules that replace each place by another, with words.

    In the words, ``{name}`` is what a place is called, ``{every}`` the same at more length.
    """
    for words, rule in _rules_of_all(count):
        yield f"every {{every}} has the values of {words}", rule
    if count > LARGEST:
        return
    places = np.arange(count)
    for size in range(2, count):
        words = f"every {{every}} has the values of the first one in its group of {size}"
        yield words, places // size * size
        yield f"{{name}} i has the values of {{name}} i // {size}", places // size
        yield f"{{name}} i has the values of {{name}} i % {size}", places % size
