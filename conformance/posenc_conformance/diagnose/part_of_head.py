"""A part of a head, or of the rows, that is rotated while the rest is left, read from results."""

from collections.abc import Iterator, Sequence

import numpy as np

from posenc_conformance.diagnose.diagnosis import differs, residual_of
from posenc_conformance.diagnose.heads import wrong_parts
from posenc_conformance.diagnose.rotation_tables import TURNING
from posenc_conformance.diagnose.rows import TURNED
from posenc_conformance.judge.arrays import UNIT_ROUNDOFF, Floats
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.error_model import right_rows

SHARES = (2, 1, 3)
"""Quarters of a head of which the part may consist; a half is the likeliest."""
WIDTH = "rotary_dim"
"""The argument that says how many channels are turned."""


def describe_part_of_head(answers: Sequence[tuple[Case, Floats]]) -> str:
    """Say in words which part of each head is turned as a head of its own; empty if none is.

    If only queries, keys or values are wrong, the words begin with them.
    """
    wrong = [part for answer in answers for part in wrong_parts(*answer)]
    names = {name for name, *_ in wrong}
    told = [set(_fitting(case, output)) for _, case, output in wrong]
    common = sorted(set.intersection(*told)) if told else []
    if not common:
        return ""
    return f"{names.pop()}: {common[0]}" if len(names) == 1 and "" not in names else common[0]


def _fitting(case: Case, output: Floats) -> Iterator[str]:
    """Yield words for each part that explains a result."""
    x = case.arguments.get("x")
    turns = case.scheme.family == "rotary" and case.call.kind in TURNING
    if not turns or x is None or x.shape != case.shape or output.shape != case.shape:
        return
    channels = int(case.arguments.get(WIDTH) or x.shape[-1])
    for quarters in SHARES:
        width = channels * quarters // 4 // 2 * 2
        if 0 < width < channels:
            for words, start in (("first", 0), ("last", channels - width)):
                own = slice(start, start + width)
                if _is_turned_apart(case, output, own):
                    part = f"the {words} {width} channels of each head"
                    yield f"only {part} are turned, like a head of {width}"


def _is_turned_apart(case: Case, output: Floats, own: slice) -> bool:
    """Return whether channels of a result are those of a smaller head, and others unchanged."""
    x = case.arguments["x"]
    whole = {WIDTH: None} if WIDTH in case.arguments else {}
    smaller = case.with_arguments(x=x[..., own], **whole)
    model, bound = x.astype(np.float64), np.zeros(x.shape)
    try:
        model[..., own], bound[..., own] = smaller.truth, smaller.bound
    except (ValueError, KeyError, IndexError):  # such as sections that do not fit
        return False
    if not differs(case, model) or residual_of(case, x, model, bound) <= 1:  # or nothing is turned
        return False
    return residual_of(case, output, model, bound) <= 1


def describe_unturned(case: Case, output: Floats) -> str:
    """Say that the last rows of a result are left as they were given, and all others are right.

    Empty if that is not so.
    """
    x = case.arguments.get("x")
    if case.call.kind not in TURNED or x is None or x.shape != output.shape or x.ndim < 2:
        return ""
    wrong = ~right_rows(output, case.truth, case.bound)
    as_given = np.abs(output - x) <= UNIT_ROUNDOFF[case.dtype] * np.abs(x)
    number = np.flatnonzero(wrong.reshape(-1, wrong.shape[-1]).any(axis=0))
    if not number.size or not number[0] or not as_given[..., number[0] :, :].all():
        return ""
    return f"the last rows are left as they were given, here from row {number[0]} on"
