"""Find the known mistake that explains one wrong result, which may be large.

Every model of a mistake costs as much as the call itself, and there are many models, so they are
tried on a few rows of a large result. A single mistake is named only if it explains all of it.
"""

from collections.abc import Sequence

import numpy as np

from posenc_conformance.diagnose.constants import describe_other_number
from posenc_conformance.diagnose.diagnosis import (
    AS_NEAR,
    LARGEST_PAIRED,
    NONE,
    Diagnosis,
    Fit,
    find_fits,
    first_fit,
    is_result_of,
    residual_of,
    to_diagnosis,
)
from posenc_conformance.diagnose.given import describe_viewed
from posenc_conformance.diagnose.inexact import unless_larger
from posenc_conformance.diagnose.moved_axes import describe_places_on_axes
from posenc_conformance.diagnose.part_of_head import describe_part_of_head, describe_unturned
from posenc_conformance.diagnose.recover import (
    CAUSES,
    LAST,
    OF_MODELS,
    PLACES,
    describe_reading,
    recover,
)
from posenc_conformance.diagnose.rows import (
    describe_only_row,
    describe_rows,
    find_rule,
    holds_everywhere,
)
from posenc_conformance.diagnose.rules_of_rows import RULES, Rule
from posenc_conformance.diagnose.sample import (
    Answer,
    at_leading_index,
    can_be_taken_apart,
    joined_arguments,
    neighbours,
    sample,
    whole_rows,
)
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.error_model import right_rows

ROWS = 32
"""Rows of a large result on which models of mistakes are tried."""
ROWS_OF_PAIRS = 4
"""Rows of one head on which pairs of mistakes are tried, since there are many pairs."""
LARGEST_WHOLE = 2**15
"""Largest result, in values, of which all rows are looked at where a few have no name."""
UNLIKELY = 0.5
"""Residual that is more than rounding leaves, if another mistake leaves less than half of it."""
QUICK = ("bias", "sparse")
"""Families whose models take little time, so that pairs of them are tried on whole results."""
LARGEST_QUICK = 2**17
"""Largest whole result, in values, on which they are."""
INDICES = 4
"""Leading indices that are looked at, and listed, where no known mistake explains a result."""
FEWEST_STEPS = 3
"""Fewest right leading indices that show a step."""
MOST_ROWS = 1024
"""Most rows whose rule is read where that of a part of them does not hold."""
NUMBERED = ("sequence", "head")
"""What the leading axes usually number."""
ROWS_OF_ALL = 512
"""Rows that a pair of mistakes must explain besides those few; a single mistake must explain the
whole result."""


def name_mistake(case: Case, output: Floats, index: tuple[int, ...]) -> Diagnosis:
    """Find the mistake that explains a wrong result, whose largest error is at ``index``.

    Mistakes that come from state left by earlier calls are ignored: one result cannot show them.
    """
    few, part = sample(case, output, index, ROWS)
    fits = _of_call(find_fits(few, part))
    all_rows = whole_rows(case, output, index, LARGEST_WHOLE)
    if not fits and few is not case and all_rows is not None:
        fits = _of_call(find_fits(*all_rows, largest_paired=0))
    if not fits and part.size > LARGEST_PAIRED:
        fewer = sample(case, output, index, ROWS_OF_PAIRS, heads=1)
        is_part = fewer[1].size < part.size
        is_quick = case.scheme.family in QUICK and part.size <= LARGEST_QUICK
        if is_part or is_quick:
            fits = _of_call(find_fits(*fewer, largest_paired=np.inf, is_pair=is_part))
    if few is not case:
        many = sample(case, output, index, ROWS_OF_ALL)
        ids = dict.fromkeys(fit.deviation for fit in fits)
        fits = [fit for id in ids for fit in _fits_of_whole(id, (case, output), many)]
    is_odd = bool(fits) and all(map(_has_odd_base, fits))  # another number may have made it
    if is_odd and (words := describe_other_number([(few, part)])):
        return to_diagnosis([], NONE, words)
    is_pair = bool(fits) and all("+" in fit.deviation for fit in fits)
    # One cause is likelier than two. It is tried on a few rows first.
    whole = [(case, output)]
    if is_pair and describe_reading([(few, part)]) and (words := describe_reading(whole)):
        return to_diagnosis([], NONE, words)
    is_single = bool(fits) and not is_pair
    if (is_odd or not is_single) and (words := _describe_one_cause(case, output, index)):
        return to_diagnosis([], NONE, words)
    if is_single:
        return to_diagnosis(_likeliest_first(fits))
    return to_diagnosis(fits, NONE, "" if fits else _describe(case, output, index))


def _describe_one_cause(case: Case, output: Floats, index: tuple[int, ...]) -> str:
    """Describe a mistake without an id that is simpler than any two; empty if none fits."""
    few = sample(case, output, index, ROWS)
    if describe_part_of_head([few]) and (words := describe_part_of_head([(case, output)])):
        return words
    if words := describe_viewed([(case, output)]) or describe_places_on_axes(case, output):
        return words
    positions = case.arguments.get("positions")
    if positions is None or positions.dtype.kind != "i":
        return ""
    one = neighbours(case, output, index) if can_be_taken_apart(case) else (case, output)
    words = describe_rows([one])
    if words not in RULES:
        return ""
    moved = case.with_arguments(positions=RULES[words](positions))
    return words if is_result_of(case, output, moved) else ""


def _describe(case: Case, output: Floats, index: tuple[int, ...]) -> str:
    """Describe in words what no known mistake explains; empty if nothing can be read.

    Of a result that can be taken apart, the words are about leading indices that are wrong.
    """
    whole = [(case, output)]
    if not can_be_taken_apart(case):
        unturned = describe_unturned(case, output)
        return unturned if unturned and find_rule(whole)[1] is None else recover(whole)
    if words := _describe_numbers(case, output):
        return words
    wrong, count = _wrong_indices(case, output)
    indices = [index[:-2], *(each for each in wrong if each != index[:-2])][:INDICES]
    read = _rules_of(case, output, [(*each, *index[-2:]) for each in indices])
    words, rule = read.popitem()
    if joined_arguments(case) and rule is None:  # queries and keys may differ in what is wrong
        words = ""
    if not (read or holds_everywhere(rule, case, output)):
        words, rule = _rule_of_all_rows(case, output, index)
    words = "" if read else words
    if (rule is None or not words) and (unturned := describe_unturned(case, output)):
        return unturned
    few = [sample(case, output, index, ROWS, heads=1)]
    words = words or recover(few, readers=CAUSES)
    words = words or recover([neighbours(case, output, index)], readers=OF_MODELS)
    is_part = len(wrong) < count and not _are_all_of_one(case, wrong)
    step = _step_of_right(wrong, count)
    others = f"only one in {step}, from the first on, is right" if step else "all others are right"
    listed = ", ".join(str(each) for each in wrong[:INDICES]) + ", …" * (len(wrong) > INDICES)
    if words and is_part:
        noun = "index" if len(wrong) == 1 else "indices"
        return f"at leading {noun} {listed} {words}; {others}"
    words = words or recover(whole, readers=PLACES) or describe_only_row(case, output)
    words = words or unless_larger(recover(few, readers=LAST), whole)
    return words or f"leading indices {listed} are wrong; {others}" * (is_part and step > 0)


def _rule_of_all_rows(
    case: Case, output: Floats, index: tuple[int, ...]
) -> tuple[str, Rule | None]:
    """Read the rule of all rows at one leading index; no words if there are too many."""
    if output.shape[-2] > MOST_ROWS:
        return "", None
    every = np.arange(output.shape[-2])
    words, rule = find_rule([at_leading_index(case, output, index[:-2], every)])
    return (words, rule) if rule and holds_everywhere(rule, case, output) else ("", None)


def _describe_numbers(case: Case, output: Floats) -> str:
    """Say that rows stand at the number of their head, or of their sequence; empty if not."""
    positions, heads = case.arguments["positions"], output.shape[:-2]
    if joined_arguments(case) or positions.ndim != 1 or not 0 < len(heads) <= len(NUMBERED):
        return ""
    for axis, which in enumerate(NUMBERED[-len(heads) :]):
        if heads[axis] > 1 and all(
            _stands_at(case, output, index, index[axis]) for index in np.ndindex(heads)
        ):
            return f"every row stands at the number of its {which}"
    return ""


def _stands_at(case: Case, output: Floats, index: tuple[int, ...], place: int) -> bool:
    """Return whether all rows at a leading index stand at one place."""
    one, got = at_leading_index(case, output, index, np.arange(output.shape[-2]))
    moved = one.with_arguments(positions=np.full_like(one.arguments["positions"], place))
    return moved.has_result and residual_of(one, got, moved.truth, moved.bound) <= 1


def _rules_of(
    case: Case, output: Floats, indices: Sequence[tuple[int, ...]]
) -> dict[str, Rule | None]:
    """Read the rule of rows at each of some leading indices, up to the first that has none."""
    read: dict[str, Rule | None] = {}
    for index in indices:
        words, rule = find_rule([neighbours(case, output, index)])
        read[words] = rule
        if not words:
            break
    return read


def _step_of_right(wrong: Sequence[tuple[int, ...]], count: int) -> int:
    """Return the distance of right leading indices if they are equally far apart, else 0.

    They begin with the first one, like one head of each group that a kernel holds.
    """
    right = np.setdiff1d(np.arange(count), [each[0] for each in wrong if len(each) == 1])
    if len(right) + len(wrong) != count or len(right) < FEWEST_STEPS or right[0]:
        return 0
    step = int(right[1])
    return step if step > 1 and np.array_equal(right, np.arange(0, count, step)) else 0


def _are_all_of_one(case: Case, wrong: Sequence[tuple[int, ...]]) -> bool:
    """Return whether the wrong leading indices are all queries, or all keys."""
    before = 0
    for name in joined_arguments(case):
        heads = [(before + number,) for number in range(len(case.arguments[name]))]
        if heads == list(wrong):
            return True
        before += len(heads)
    return False


def _wrong_indices(case: Case, output: Floats) -> tuple[list[tuple[int, ...]], int]:
    """Return the leading indices at which any row is wrong, and the number of all."""
    right = right_rows(output, case.truth, case.bound).all(axis=-1)
    return [tuple(map(int, each)) for each in np.argwhere(~right)], right.size


def _likeliest_first(fits: Sequence[Fit]) -> list[Fit]:
    """Move fits that are farther from the result behind those that are near, else keep the order.

    In a short dtype, a special mistake may be as near to a result as the bound allows, and another
    one as near as rounding. Numbers that are fitted to the result are always near.
    """
    fixed = [fit for fit in fits if not any(fit.constants)]
    least = min((fit.residual for fit in fixed), default=1.0)
    nearest = min((fit.spread for fit in fixed), default=np.inf)

    def is_far(fit: Fit) -> bool:
        return fit.residual > max(UNLIKELY, 2 * least) or fit.spread > AS_NEAR * nearest

    return sorted(fits, key=is_far)


def _has_odd_base(fit: Fit) -> bool:
    """Return whether a fit has a base that nobody would write."""
    return any(
        number is not None and number[0] == "base" and number[1] != float(f"{number[1]:.2g}")
        for number in fit.constants
    )


def _of_call(fits: Sequence[Fit]) -> list[Fit]:
    return [fit for fit in fits if not fit.of_state]


def _fits_of_whole(deviation: str, whole: Answer, many: Answer) -> list[Fit]:
    """List the fits of a mistake to a whole result, or of a pair of mistakes to many rows of it."""
    ids = deviation.split("+")
    if len(ids) == 1:
        return [fit for fit in (first_fit(*whole, deviation),) if fit is not None]
    return [fit for fit in find_fits(*many, only=ids) if fit.deviation == deviation]
