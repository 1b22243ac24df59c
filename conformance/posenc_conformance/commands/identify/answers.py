"""Identify a saved array: find the call whose result it is, maybe with a known mistake."""

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from posenc_conformance.commands.identify.beginnings import beginnings
from posenc_conformance.commands.identify.frequency_rules import is_usual
from posenc_conformance.commands.identify.parts import parts_of
from posenc_conformance.commands.identify.rotary_cache import Cache, caches, dtype_of
from posenc_conformance.commands.identify.saved_arrays import Table, read_tables
from posenc_conformance.commands.progress import Tell, silent
from posenc_conformance.diagnose.diagnosis import diagnose
from posenc_conformance.diagnose.pattern import pattern
from posenc_conformance.errors import UserError, in_line
from posenc_conformance.judge.arrays import DTYPES, Array, Floats, dtype_name
from posenc_conformance.judge.call_kinds import KINDS
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.error_model import Comparison, compare
from posenc_conformance.judge.invocation import round_arguments
from posenc_conformance.judge.knowledge import KnownScheme
from posenc_conformance.registry import load_all

DOUBT = "a base that no released model here has: perhaps they are a part of a longer list"
LEFT_OUT = "values are left out, and nothing usual has those that are shown"
HIDDEN_FROM = -1e4
"""The largest number whose addition to a score hides a key."""


FARTHEST = 0.25
"""An array that is off by more than this part of the largest value is near no call."""


MOST = 3
"""Most explanations of one array that are shown unless all are asked for."""
AS_IN = "\n  as in "
"""What stands before the models that have an explanation's numbers."""
NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
ROUND = 6
"""Most significant digits of a number that a person may have chosen."""


@dataclass(frozen=True)
class Match:
    """A call whose result is the array, with or without a known mistake."""

    case: Case
    combination: str
    deviation: str | None
    """Ids of the mistakes between the call's result and the array; None if there are none."""
    explanation: str
    difference: float
    """Largest difference from the result of the call, or of the call with the mistake."""
    ratio: float
    """The largest difference in units of its bound."""

    @property
    def text(self) -> str:
        """The match as lines of text."""
        case = self.case
        shown = {**case.conventions, **_numbers(case)}
        settings = ", ".join(f"{name} {value}" for name, value in shown.items())
        but = f"\n  but {self.explanation} [{self.deviation}]" if self.deviation else ""
        return (
            f"{case.scheme.id}: {case.call.name}, {self.combination} ({settings}){but}\n"
            f"  worst difference {self.difference:.2g}, {self.ratio:.2g} of what "
            f"{case.dtype} {'and the printed digits allow' if case.grain else 'allows'}"
        )


def answers(
    table: Table, known: Sequence[KnownScheme], progress: Tell = silent
) -> tuple[list[str], str]:
    """Return explanations of an array in words, the simplest first.

    If there are none, the second result gives the reason, or the nearest call. ``progress`` gets a
    line before each scheme whose mistakes are tried.
    """
    array = table.array.reshape([n for n in table.array.shape if n != 1] or [1])
    if np.all(array == array.flat[0]):
        return [], f"every value is {array.flat[0]}, which says nothing"
    dtype = dtype_of(array, table.grain)
    if table.gap:
        return beginnings(array, dtype, table.gap.grains, table.gap.after), LEFT_OUT
    readings = caches(array, dtype, table.grain)
    right = [cache for cache in readings if not cache.mistake]
    own = own_dtype(array, table.grain)
    if right and own != dtype:
        wide = caches(array, own, table.grain)
        right = [cache for cache in wide if not cache.mistake] or right
    known_ones = [cache.text for cache in right if cache.simple or cache.rule.models]
    if array.dtype.kind == "c":
        words = "not a complex cache of RoPE, the only complex array that posenc knows"
        return [cache.text for cache in readings], words
    doubtful = not any(is_usual(cache.rule) for cache in right)
    if doubtful and (parts := beginnings(array, dtype, table.grain, 0)):
        return [*parts, *map(_doubted, right)], ""
    surely_rotary = bool(right) and not (doubtful and array.ndim == 1)
    matches, otherwise = identify(
        array, known, table.grain, only_right=surely_rotary, progress=progress
    )
    if right and doubtful and (slopes := _mistaken_slopes(matches)):
        least = min(match.difference for match in slopes.values())
        near = [cache for cache in right if least or not cache.difference]
        return [*(match.text for match in slopes.values()), *map(_doubted, near)], ""
    rotary = [match for match in matches if match.case.call.kind == "frequencies"]
    others = [match for match in matches if match.case.call.kind != "frequencies"]
    ways = (
        known_ones + [match.text for match in others if not match.deviation],
        [cache.text for cache in right],
        [match.text for match in rotary if not match.deviation],
        [cache.text for cache in readings] + [match.text for match in matches],
    )
    return next(filter(None, ways), []), otherwise


def _mistaken_slopes(matches: Sequence[Match]) -> dict[str, Match]:
    """Return slopes with a mistake, by its words: once for rules that lead to the same numbers."""
    found: dict[str, Match] = {}
    for match in matches:
        if match.case.call.kind == "slopes" and match.deviation:
            found.setdefault(match.explanation, match)
    return found


def _doubted(cache: Cache) -> str:
    return f"{cache.text}\n  {DOUBT}"


def identify(
    array: Array,
    known: Sequence[KnownScheme],
    grain: float = 0.0,
    *,
    only_right: bool = False,
    progress: Tell = silent,
) -> tuple[list[Match], str]:
    """Return the calls that explain an array: those without a mistake, else those with one.

    If no call explains it without a mistake, the second result describes the nearest call in words.

    Only calls with an ``identify`` function in the kit's knowledge are tried. It yields arguments
    that would give an array of this shape, each with the part of the array that they give.
    ``grain`` is the error that printing may have added to each value. With ``only_right``, mistakes
    are not tried.
    """
    squeezed = _as_mask(array.reshape([n for n in array.shape if n != 1] or [1]))
    own, narrow = own_dtype(squeezed, grain), dtype_of(squeezed, grain)
    exact, wrong = _compared(squeezed, known, grain, own)
    if not exact and narrow != own:
        exact, wrong = _compared(squeezed, known, grain, narrow)
    if exact or only_right:
        return exact, ""
    mistaken: list[Match] = []
    nothing = "nothing known comes near it" if wrong else "no call gives an array of this shape"
    nearest: tuple[float, str] = (np.inf, nothing)
    for case, combination, output, comparison in wrong:
        progress(f"trying known mistakes of {case.scheme.id}")
        with np.errstate(invalid="ignore"):
            off = _off(case, output)
            # Printed digits also blur the size of a mistake, so they count twice.
            diagnosis = diagnose(replace(case, grain=2 * case.grain), output)
        if diagnosis.deviation is not None and diagnosis.residual <= 1:
            words = diagnosis.explanations[0][1]
            left = diagnosis.residual * comparison.bound
            shown = replace(case, dtype=own) if not left and case.dtype == narrow else case
            mistaken.append(
                Match(shown, combination, diagnosis.deviation, words, left, diagnosis.residual)
            )
        if off < min(nearest[0], FARTHEST):
            nearest = off, _nearest_text(case, combination, output, off)
    alone = [match for match in mistaken if "+" not in str(match.deviation)]
    return alone or mistaken, nearest[1]


def own_dtype(array: Array, grain: float) -> str:
    """Return the dtype of a saved array; of a printed one, or of whole numbers, the narrowest."""
    name = dtype_name(array)
    return name if name in DTYPES and not grain else dtype_of(array, grain)


def _compared(
    array: Array, known: Sequence[KnownScheme], grain: float, dtype: str
) -> tuple[list[Match], list[tuple[Case, str, Floats, Comparison]]]:
    """Return the calls that give an array of this dtype, and those that give another one."""
    exact: list[Match] = []
    wrong: list[tuple[Case, str, Floats, Comparison]] = []
    for case, combination, part in _candidates(array, known, grain, dtype):
        output = part.astype(np.float64)
        with np.errstate(invalid="ignore"):  # a bias may be infinite where it hides a key
            comparison = compare(case, output)
        if ((np.abs(output) <= case.bound) | ~case.judged).all():
            continue  # an array of zeros would match as well
        if comparison.judged and comparison.passes:
            difference = abs(comparison.got - comparison.expected)
            exact.append(Match(case, combination, None, "", difference, comparison.worst))
        elif comparison.judged:
            wrong.append((case, combination, output, comparison))
    return exact, wrong


def _as_mask(array: Array) -> Array:
    """Convert an additive mask to booleans: true where a key is attended to.

    Any other array is returned as it is.
    """
    if array.ndim < 2 or array.dtype.kind in "bc":
        return array
    values = array.astype(np.float64)
    hidden = values <= HIDDEN_FROM
    if not hidden.any() or (values[~hidden] != 0).any():
        return array
    return np.asarray(~hidden)


def _candidates(
    array: Array, known: Sequence[KnownScheme], grain: float, dtype: str
) -> Iterator[tuple[Case, str, Array]]:
    is_mask = array.dtype.kind == "b" or bool(np.isin(array, (0, 1)).all())
    for scheme in known:
        for name, known_of_call in scheme.knowledge.items():
            call = scheme.calls[name]
            if known_of_call.identify is None or is_mask != (call.dtype == "boolean"):
                continue
            exact = call.dtype in ("integer", "boolean")
            kind = call.dtype if exact else dtype
            for arguments, part in known_of_call.identify(array):
                options = {key: arguments.pop(key) for key in call.options if key in arguments}
                for combination in call.combinations.values():
                    point = {**combination.conventions, **options}
                    rounded = round_arguments(call, arguments, kind)
                    case = Case(scheme, call, point, rounded, kind, grain=0 if exact else grain)
                    if _answers(case, part):
                        yield case, combination.name, part


def _answers(case: Case, part: Array) -> bool:
    """Return whether the case has a result, of the right shape."""
    try:
        return case.truth.shape == part.shape
    except ValueError:
        return False


def _numbers(case: Case) -> dict[str, Any]:
    numbers = {
        name: value for name, value in case.arguments.items() if not isinstance(value, np.ndarray)
    }
    positions = case.arguments.get("positions")
    if isinstance(positions, np.ndarray) and positions.ndim == 1 and positions[:1].any():
        numbers["positions"] = f"{positions[0]} to {positions[-1]}"
    return numbers


def _off(case: Case, output: Floats) -> float:
    """Compute the largest difference relative to the largest value."""
    truth = np.where(case.shown, case.truth, 0.0)
    difference = np.where(case.shown, np.abs(output - truth), 0.0)
    return float(difference.max() / max(np.abs(truth).max(), 1e-300))


def _nearest_text(case: Case, combination: str, output: Floats, off: float) -> str:
    looks = pattern(case, output, KINDS[case.call.kind].axes)
    return (
        f"nothing known; the nearest is {case.scheme.id}: {case.call.name}, {combination}, off by "
        f"{off:.2g} of its largest value\n  wrong there: {looks}"
    )


def told_of_file(
    path: Path,
    names: Sequence[str],
    folders: Sequence[str] = (),
    progress: Tell = silent,
    *,
    most: int | None = None,
) -> Iterator[tuple[str, bool]]:
    """Yield lines that identify each array of a file, each with whether it is identified.

    Each array is dropped before the next one is read. ``progress`` gets a line before each. Of
    explanations that fit alike, ``most`` are shown, or all if it is None.
    """
    tables = read_tables(path, names)
    first = next(tables)  # an unreadable file is reported without loading any scheme
    schemes = load_all(folders)
    for table in chain([first], tables):
        if isinstance(table, UserError):
            yield table.cause, False
            continue
        number, count = table.place
        progress(f"{path}: array {number:,} of {count:,}")
        text, is_known = _told(table, schemes, progress, most)
        if table.name:
            shape = " × ".join(map(str, table.array.shape))
            yield f"{in_line(table.name)} ({shape}, {dtype_name(table.array)})", False
            text = textwrap.indent(text, "  ")
        yield text, is_known


def _told(
    table: Table, known: Sequence[KnownScheme], progress: Tell, most: int | None
) -> tuple[str, bool]:
    """Return a text that identifies an array by parts of it, and whether one is identified."""
    texts = []
    for part in parts_of(table.array):
        explanations, otherwise = answers(replace(table, array=part.array), known, progress)
        several = [f"{len(explanations)} explanations fit alike:"] if len(explanations) > 1 else []
        looked_at = [f"looked at: {part.words}"] if part.words else []
        shown = sorted(explanations, key=_likelihood)[:most] if several else explanations
        left = len(explanations) - len(shown)
        more = [f"and {left} more: --all"] if left else []
        texts.append("\n".join([*looked_at, *several, *(shown or [otherwise]), *more]))
        if explanations:
            return texts[-1], True
    large = f"an array of shape {in_line(table.array.shape)} is too large to be looked at"
    return next(iter(texts), large), False


def _likelihood(explanation: str) -> tuple[bool, bool, int]:
    """Rank explanations that fit alike: numbers of released models first, then round numbers."""
    line, _, _ = explanation.partition("\n")
    numbers = [each.replace(".", "").strip("0") for each in NUMBER.findall(line)]
    is_odd = any(len(digits) > ROUND for digits in numbers)
    return AS_IN not in explanation, is_odd, sum(map(len, numbers))
