"""The position of each row of a result, read from the result.

The formula may be right and the positions wrong: a cache is not counted, ids are not read, a table
ends, a row is rotated by the number of its head.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from posenc_conformance.diagnose.rules_of_rows import OF_RANKS, RULES, Rule, lengths_of
from posenc_conformance.diagnose.sample import (
    at_leading_index,
    can_be_taken_apart,
    is_at_any,
)
from posenc_conformance.judge.arrays import PRECISE, UNIT_ROUNDOFF, Flags, Floats, Ints
from posenc_conformance.judge.call_kinds import IDS
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.error_model import right_rows
from posenc_conformance.scheme_file.axis_names import form_of, forms_of

BY_ROWS = ("encode", "rotary", "in-place", "gradient", "layer")
"""Kinds of calls in which each row has a position of its own."""
TURNED = ("rotary", "in-place", "layer")
"""Kinds of calls in which a row at position 0 is returned unchanged."""
TABLES = frozenset({"table", "cos", "cache"})
"""Arguments whose rows belong to positions, and may be equal."""
LENGTHS = np.unique([*2 ** np.arange(4, 18), *np.arange(1, 10) * 100, *np.arange(1, 34) * 1000])
"""Lengths of tables that people write."""
FEWEST = 3
"""Fewest rows, or requested positions, that allow a statement about positions."""
MOST = 640
"""Maximum number of positions that are tried."""
NEAR = 9
"""Exclusive limit on the distance of tried positions from the first and the last one."""
CHANNELS_OF_SHORT_DTYPES = 16
"""Fewest channels of a row that tell positions apart in a short dtype, whose bounds are wide."""
ROUNDS = 5
"""Number of powers of 2 that are tried as lengths after which positions begin at 0 again."""
SEQUENCES = "every sequence"
"""How the words of a rule about several sequences begin."""
NONE_LIKELY = np.array([], dtype=np.int64)
MULTIPLES = (2, 3, 4)
"""Numbers of times that a row may have been rotated."""
AT_ONCE = 128
"""About as many positions of one row are tried in one call."""
SHORTEST = 16
"""Least length of a table, read where all rows are beyond its end."""
ROUND = 50
"""A divisor of lengths that people write."""
SHOWN = 6
"""Maximum number of rows that are shown."""


NOTHING: "tuple[str, Rule | None]" = ("", None)


@dataclass(frozen=True)
class Reading:
    """The positions of rows, as requested and as read from a result."""

    asked: Ints
    found: Ints
    equal: Mapping[int, frozenset[int]]
    """Other positions whose rows are equal, by found position; empty unless a table repeats."""

    def may_be(self, places: Ints) -> bool:
        """Return whether rows may be those of ``places``: found there, or equal to what is."""
        return all(
            place == found or place in self.equal.get(found, ())
            for place, found in zip(
                places.ravel().tolist(), self.found.ravel().tolist(), strict=True
            )
        )


def describe_rows(
    answers: Sequence[tuple[Case, Floats]], right: Sequence[tuple[Case, Floats]] = ()
) -> str:
    """Say in words at which positions the rows of wrong results are; empty if that is unclear.

    Results that are position ids are compared with the right ids. A rule that would make right
    answers wrong is reported for some calls only.
    """
    return find_rule(answers, right)[0]


def holds_everywhere(rule: Rule | None, case: Case, output: Floats) -> bool:
    """Return whether a rule that was read from a part of a result gives all of it.

    At some leading indices the result may be right. True if no call tells.
    """
    asked = asked_rows(case)
    if rule is None or asked is None or case.call.kind == IDS:
        return True
    found = rule(asked).reshape(-1, asked.shape[-1])
    given = case.arguments.get("positions")
    if given is None or given.ndim != 1 or (found != found[:1]).any():
        return True
    moved = case.with_arguments(positions=found[0])
    if not moved.has_result:
        return True
    at_rule, as_asked = (_agrees(case, output, each).all(axis=-1) for each in (moved, case))
    return bool((at_rule | as_asked).all())


def find_rule(
    answers: Sequence[tuple[Case, Floats]], right: Sequence[tuple[Case, Floats]] = ()
) -> tuple[str, Rule | None]:
    """Return the words of :func:`describe_rows`, and the rule they are about, or None."""
    if not answers:
        return NOTHING
    if all(is_unturned(*answer) for answer in answers):
        return "nothing is rotated: every row is as it was given", np.zeros_like
    both = []
    for case, output in answers:
        requested, rows = asked_rows(case), read_rows(case, output)
        if requested is None or rows is None or np.array_equal(requested, rows):
            return NOTHING  # also if it is wrong in another way
        both.append(Reading(requested, rows, equal_rows(case, requested, rows)))
    is_read = all(case.call.kind == IDS for case, _ in answers)
    few = _distinct([reading.asked for reading in both]) < FEWEST
    if few and not is_read and any(reading.found.any() for reading in both):
        return _at_one_place(both)
    for words, rule in RULES.items():
        if is_read and words in OF_RANKS:  # ids are made before they are sharded
            continue
        if words.startswith(SEQUENCES) and any(map(_rows_are_axes, (case for case, _ in answers))):
            continue
        if all(reading.may_be(rule(reading.asked)) for reading in both):
            others = sum(_would_show(rule, case) for case, _ in right)
            prefix = f"in {len(both)} of {len(both) + others} small calls, "
            told = f"{prefix}{words}; others are right" if others else words
            wraps = _alike(both)[0] if words in OF_RANKS else ""
            return (f"{wraps}, or {told}" if wraps else told), rule
    # Multiplied frequencies would look the same.
    if not is_read and all(_is_multiple(reading.asked, reading.found) for reading in both):
        return NOTHING
    if (alike := _alike(both))[0]:
        return alike
    if all(reading.may_be(reading.asked + lengths_of(reading.asked)) for reading in both):
        words = "each stretch has the positions of the one after it: rows are counted too early"
        return words, lambda asked: asked + lengths_of(asked)
    certain = [reading for reading in both if not reading.equal]
    if not certain:
        return NOTHING
    if (late := _late_from(certain))[0]:
        return late
    most = max(certain, key=lambda reading: reading.found.size)
    return _each(most.asked, most.found), None


def _at_one_place(both: Sequence[Reading]) -> "tuple[str, Rule | None]":
    """Say that the few rows of a result stand at one place, although several are asked for."""
    if len(both) > 1 or both[0].equal or np.ptp(both[0].found) or not np.ptp(both[0].asked):
        return NOTHING
    places, asked = both[0].found.reshape(-1), both[0].asked.reshape(-1)
    if places[0] in asked:  # the first row may be right
        return NOTHING
    shown = ", ".join(map(str, np.unique(asked).tolist()))
    return f"rows at {shown} all stand at {places[0]}", lambda asked: np.full_like(asked, places[0])


def _late_from(readings: Sequence[Reading]) -> "tuple[str, Rule | None]":
    """Say from which position on rows stand later, or earlier, by one number.

    It may grow by itself each time as many positions on. NOTHING if rows before are wrong as well.
    """
    most = max(readings, key=lambda reading: reading.found.size)
    asked, off = (
        each.reshape(-1, most.asked.shape[-1])[0] for each in (most.asked, most.found - most.asked)
    )
    wrong = np.flatnonzero(off)
    if not wrong.size or not wrong[0] or len(asked) < wrong[0] + FEWEST:
        return NOTHING
    if asked[wrong[0]] != asked[wrong[0] - 1] + 1:  # a row between them may be wrong, too
        return NOTHING
    first, by = int(asked[wrong[0]]), int(off[wrong[0]])
    way = f"{abs(by)} {'later' if by > 0 else 'earlier'} than"
    once, each = f"every row stands {way} it should", f"rows stand {way} those before do"
    rules: list[tuple[str, Rule]] = [
        (f"from position {first} on, {once}", lambda asked: asked + by * (asked >= first)),
        (f"from each multiple of {first} on, {each}", lambda asked: asked + by * (asked // first)),
    ]
    for words, rule in rules:
        if all(np.array_equal(rule(reading.asked), reading.found) for reading in readings):
            return words, rule
    return NOTHING


def _rows_are_axes(case: Case) -> bool:
    """Return whether the rows of a result are axes of one sequence, whose number is fixed."""
    form = form_of(case.call.returns)
    return case.call.kind == IDS and form is not None and form.axes[0].isdigit()


def _distinct(asked: Sequence[Ints]) -> int:
    """Count the requested positions: the distinct ones, or the rows of the longest sequence."""
    every = np.unique(np.concatenate([rows.reshape(-1) for rows in asked]))
    return max([len(every), *(int(rows.shape[-1]) for rows in asked)])


def _would_show(rule: Callable[[Ints], Ints], case: Case) -> bool:
    """Return whether a rule moves rows of a call away from their requested positions."""
    requested = asked_rows(case)
    if requested is None:
        return False
    moved = rule(requested) != requested
    if case.call.kind == IDS:  # padding may have any id
        moved = moved & case.judged
    return bool(moved.any())


def is_unturned(case: Case, output: Floats) -> bool:
    """Return whether a call that rotates rows returned them unchanged."""
    x = case.arguments.get("x")
    if case.call.kind != "rotary" or x is None or x.shape != output.shape:
        return False
    return bool(np.all(np.abs(output - x) <= UNIT_ROUNDOFF[case.dtype] * np.abs(x)))


def _is_multiple(asked: Ints, found: Ints) -> bool:
    """Return whether all found positions are the same multiple of the requested ones."""
    asked, found = asked.reshape(-1), found.reshape(-1)
    largest = int(np.abs(asked).argmax())
    return bool((asked * found[largest] == found * asked[largest]).all())


def asked_rows(case: Case) -> Ints | None:
    """Return the requested position of each row: the shape of the result, without channels.

    None if rows have no position of their own, or positions are not integers.
    """
    if case.call.kind == IDS:
        return case.truth.astype(np.int64) if case.truth.ndim and case.truth.size else None
    places, positions = case.knowledge.places, case.arguments.get("positions")
    if case.call.kind not in BY_ROWS or len(case.shape) < 2:
        return None
    requested = positions if places is None else places(case)
    if requested is None or requested.dtype.kind != "i" or not requested.size:
        return None
    if places is None and requested.ndim != 1:  # with several axes
        return None
    try:
        return np.broadcast_to(requested, case.shape[:-1])
    except ValueError:
        return None


def read_rows(case: Case, output: Floats, likely: Ints = NONE_LIKELY) -> Ints | None:
    """Find the position of each row; None unless there is one for every row.

    If several positions fit a row, the requested one is preferred. ``likely`` are further positions
    to try.
    """
    requested = asked_rows(case)
    if requested is None or output.shape != case.shape:
        return None
    if case.call.kind == IDS:
        return output.astype(np.int64)
    if case.dtype not in PRECISE and output.shape[-1] < CHANNELS_OF_SHORT_DTYPES:
        return None
    rows = requested.copy()
    left = ~_agrees(case, output, case)
    tried = [*likely.tolist(), *_tried(requested)]
    if not _may_be_read(case, output, left, tried):
        return None
    if _is_by_position(case) and left.any():
        place = _place_of_one(case, output, left, np.array(tried))
        by = 0 if place is None else int(place - requested[left][0])
        for rule in (lambda asked: asked + by, *RULES.values()):
            if (found := _all_by_rule(case, output, rule)) is not None:
                return np.where(left, found, requested)
    for place in tried:
        if not left.any():
            break
        moved = _moved(case, place)
        if moved is None:  # as for a table without that row
            continue
        fits = left & _agrees(case, output, moved)
        rows[fits] = place
        left &= ~fits
    return None if left.any() else rows


def _may_be_read(case: Case, output: Floats, left: Flags, places: Sequence[int]) -> bool:
    """Return False if the first wrong row is at none of these places, tried in as few calls.

    A scaling may differ from some length on, so that one call may only have places of one size.
    """
    if not left.any():
        return True
    index = np.argwhere(left)[0].tolist()
    if (at_one := case.knowledge.at_one) is not None:  # the same rows by a call with positions
        requested = asked_rows(case)
        alone = None if requested is None else at_one(case, int(requested[(*index,)]))
        case = case if alone is None else alone
    if not can_be_taken_apart(case) or case.arguments["positions"].ndim != 1:
        return True
    if (fits := is_at_any(case, output, index, places)) is not None:
        return fits
    sizes = {place.bit_length() for place in places}
    alike = [[place for place in places if place.bit_length() == size] for size in sizes]
    told = [is_at_any(case, output, index, near) for near in alike]
    if None in told:  # a row depends on others, so that each place needs a call of that row alone
        wrong = np.argwhere(left)
        few = [at_leading_index(case, output, (*at[:-1],), at[-1:]) for at in wrong[[0, -1]]]
        return all(any(_may_stand_at(*row, place) for place in places) for row in few)
    return any(told)


def _may_stand_at(row: Case, output: Floats, place: int) -> bool:
    """Return whether the only row of a result may stand at a place."""
    moved = _moved(row, place)
    return moved is not None and bool(_agrees(row, output, moved).any())


def _is_by_position(case: Case) -> bool:
    """Return whether rows of a call can be repeated, and moved by its positions alone."""
    positions, forms = case.arguments.get("positions"), forms_of(case.call)
    of_rows = [name for name, form in forms.items() if form.has_rows]
    if case.knowledge.at_one is not None or positions is None or positions.ndim != 1:
        return False
    return bool(of_rows) and all(forms[name].axes[-2] == "n" for name in of_rows)


def _place_of_one(case: Case, output: Floats, left: Flags, tried: Ints) -> int | None:
    """Return the position of the first row that is left, among those tried; None if it has none.

    One call has that row many times, once at each position.
    """
    *leading, row = map(int, np.argwhere(left)[0])
    for part in np.array_split(tried, max(1, len(tried) // AT_ONCE)):
        fits = fits_at_places(case, output, row, part)[(*leading,)]
        if fits.any():
            return int(part[fits.argmax()])
    return None


def fits_at_places(case: Case, output: Floats, row: int, places: Ints) -> Flags:
    """Return at which of many places, its last axis, a row of a result may stand.

    One call has that row many times, once at each place: [..., places], all False without a result.
    """
    count = places.shape[-1]
    of_rows = [name for name, form in forms_of(case.call).items() if form.has_rows]
    many = {name: case.arguments[name][..., [row] * count, :] for name in of_rows}
    other = case.with_arguments(**many, positions=places)
    if not other.has_result:
        return np.zeros((*output.shape[:-2], count), dtype=np.bool_)
    bound = np.maximum(case.bound[..., [row], :], other.bound)
    return right_rows(output[..., [row], :], other.truth, bound) & _tells(case, other, [row])


def _tells(case: Case, other: Case, rows: slice | list[int]) -> Flags:
    """Return in which rows another call can tell what the case can.

    At a place so far that its bound is as large as the values, any row would fit.
    """
    return np.asarray((other.judged | ~case.judged[..., rows, :]).all(axis=-1))


def _all_by_rule(case: Case, output: Floats, rule: Rule) -> Ints | None:
    """Return the positions that a rule gives all rows, if each is there or right; else None."""
    asked = np.broadcast_to(case.arguments["positions"], case.shape[:-1])
    found = rule(asked)
    if np.array_equal(found, asked) or (found != found[(0,) * (found.ndim - 1)]).any():
        return None
    moved = case.with_arguments(positions=found[(0,) * (found.ndim - 1)])
    both = _agrees(case, output, moved) | _agrees(case, output, case)
    return found if moved.has_result and both.all() else None


def equal_rows(case: Case, asked: Ints, found: Ints) -> dict[int, frozenset[int]]:
    """Return other positions that give the same row, by misread position.

    Empty unless the call has a table whose rows repeat.
    """
    if not TABLES & case.arguments.keys():
        return {}
    places = {
        place: moved.truth for place in _tried(asked) if (moved := _moved_defined(case, place))
    }
    misread = {place for place in np.unique(found[found != asked]).tolist() if place in places}
    return {
        place: equal
        for place in misread
        if (
            equal := frozenset(
                other
                for other, row in places.items()
                if other != place and np.array_equal(row, places[place])
            )
        )
    }


def _moved_defined(case: Case, place: int) -> Case | None:
    moved = _moved(case, place)
    return moved if moved is not None and moved.has_result else None


def _moved(case: Case, place: int) -> Case | None:
    """Return the call with every row at position ``place``; None if there is none."""
    if (at_one := case.knowledge.at_one) is not None:
        return at_one(case, place)
    return case.with_arguments(positions=np.full_like(case.arguments["positions"], place))


def _agrees(case: Case, output: Floats, other: Case) -> Flags:
    """Return which rows of a result agree with another call."""
    try:
        right = right_rows(output, other.truth, np.maximum(case.bound, other.bound))
        return right & _tells(case, other, slice(None))
    except ValueError:  # the other call has no result
        return np.zeros(output.shape[:-1], dtype=np.bool_)


def _tried(asked: Ints) -> Iterator[int]:
    """Yield possible positions of rows, the likeliest first, each once."""
    more = [rule(asked).reshape(-1) for rule in RULES.values()]
    more.append((asked + lengths_of(asked)).reshape(-1))
    ends = 2 ** np.arange(int(np.abs(asked).max()).bit_length())
    flat = asked.reshape(-1)
    again = np.unique(flat[:, None] % ends[-ROUNDS:])
    near = np.concatenate([[step, -step] for step in range(1, NEAR)])
    ends_of = np.unique(asked[..., [0, -1]])
    around = [end + near for end in ends_of]
    many = [factor * flat for factor in MULTIPLES]
    others = np.concatenate(
        [flat, flat + 1, flat - 1, *around, again, *more, *many, ends - 1, flat // 2]
    )
    yield from list(dict.fromkeys(others.tolist()))[:MOST]


def _alike(both: Sequence[Reading]) -> tuple[str, Rule | None]:
    """Describe a wrap, a limit or a shift of positions shared by all results; NOTHING if none is.

    If it may be a wrap or a limit, the rule is that of the wrap.
    """
    requested = np.concatenate([reading.asked.reshape(-1) for reading in both])
    actual = np.concatenate([reading.found.reshape(-1) for reading in both])
    last, off = actual.max(), actual - requested
    lengths = 2 ** np.arange(int(last).bit_length(), int(requested.max()).bit_length())
    readings: list[tuple[str, Rule]] = [
        (f"positions restart at 0 after every {length}", _remainder(int(length)))
        for length in lengths
        if all(reading.may_be(reading.asked % length) for reading in both)
    ][:1]
    is_limit = _is_length(int(last) + 1) or bool((requested <= last).any())
    if is_limit and np.array_equal(actual, np.minimum(requested, last)):
        words = f"positions beyond {last} are taken for {last}"
        readings.append((words, lambda asked: np.minimum(asked, last)))
    if readings:
        return ", or ".join(words for words, _ in readings), readings[0][1]
    if (off == off[0]).all() and not any(reading.equal for reading in both):
        way = "later" if off[0] > 0 else "earlier"
        words = f"every row stands {abs(int(off[0]))} {way} than it should"
        return words, lambda asked: asked + off[0]
    return NOTHING


def describe_limit(
    wrong: Sequence[tuple[Case, Floats]], right: Sequence[tuple[Case, Floats]]
) -> str:
    """Say beyond which position rows of all wrong results have the last one.

    A single row may have any other position. So several that are asked for must be found there, and
    no right result may have a row beyond it. Empty if there is no such position.
    """
    asked = [asked_rows(case) for case, _ in wrong]
    if any(each is None for each in asked):
        return ""
    read = [read_rows(*answer, LENGTHS - 1) for answer in wrong]
    places = [each for each in read if each is not None]
    if not places or len(places) < len(read):
        return ""
    last = max(int(each.max()) for each in places)
    requested = [each for each in asked if each is not None]
    if any(
        not np.array_equal(found, np.minimum(each, last))
        for found, each in zip(places, requested, strict=True)
    ):
        return ""
    beyond = np.unique(np.concatenate([each[each > last] for each in requested]))
    if len(beyond) < 2 or any(
        _would_show(lambda each: np.minimum(each, last), c) for c, _ in right
    ):
        return ""
    return f"positions beyond {last} are taken for {last}"


def _is_length(number: int) -> bool:
    """Return whether somebody may have written a number as the length of a table."""
    return number >= SHORTEST and (number & (number - 1) == 0 or number % ROUND == 0)


def _remainder(length: int) -> Rule:
    return lambda asked: asked % length


def describe_only_row(case: Case, output: Floats) -> str:
    """Say at which position the only row of a result is turned; empty if several would fit."""
    positions = case.arguments.get("positions")
    if positions is None or positions.shape != (1,) or case.call.kind not in BY_ROWS:
        return ""
    rows = read_rows(case, output)
    if rows is None or (rows != rows.reshape(-1)[0]).any() or rows.reshape(-1)[0] == positions[0]:
        return ""
    place = int(rows.reshape(-1)[0])
    for near in (place - 1, place + 1):  # a wide bound may hold for several
        if (moved := _moved_defined(case, near)) is None or _agrees(case, output, moved).all():
            return ""
    return f"the row is turned as at position {place}; asked for {positions[0]}"


def _each(asked: Ints, found: Ints) -> str:
    """List the found and the requested positions of the first misplaced rows."""
    off = found - asked
    leading = tuple(int(index) for index in np.argwhere(off)[0][:-1])
    where = f"at leading index {leading}, " if leading and (found != found[:1]).any() else ""
    first = np.flatnonzero(off[leading])[:SHOWN]
    shown = (", ".join(map(str, rows[leading][first])) for rows in (found, asked))
    return where + "rows stand at {}; asked for {}".format(*shown)
