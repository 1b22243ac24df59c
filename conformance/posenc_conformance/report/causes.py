"""Failures of one cause, shown once."""

import json
from collections.abc import Mapping, Sequence
from copy import copy
from typing import cast

import pytest

from posenc_conformance.report.document import explained
from posenc_conformance.report.layout import CheckEntry

Cause = tuple[str, ...]
PROPERTY = "posenc"
"""The property of a pytest report that says, as JSON, what a check found."""


def first_of_each(failed: Sequence[pytest.TestReport]) -> list[pytest.TestReport]:
    """Return one report for each cause, which says how many more there are; others as they are.

    Reports of the kit's checks carry what was found among their properties. What is judged in
    several places is never of one cause.
    """
    found = {each.nodeid: found_by(each) for each in failed}
    ranked = {
        judged: _ranked([each for id, each in found.items() if _judged(id, each) == judged if each])
        for judged in {_judged(id, each) for id, each in found.items() if each}
    }
    grouped: dict[Cause, list[pytest.TestReport]] = {}
    for report in failed:
        each = found[report.nodeid]
        judged = _judged(report.nodeid, each)
        cause: Cause = (report.nodeid,)
        if each is not None and each["verdict"] == "failed":  # else a strict xfail was missed
            cause = (judged, *_cause(each, ranked[judged]))
        grouped.setdefault(cause, []).append(report)
    shown = []
    for cause, reports in grouped.items():
        naming = [each for each in reports if _names(found[each.nodeid], cause[-1])]
        shown.append(_with_count((naming or reports)[0], len(reports) - 1))
    return shown


def found_by(report: pytest.TestReport) -> CheckEntry | None:
    """Return what a check of the kit found, or None for a test that is not the kit's."""
    found = dict(report.user_properties).get(PROPERTY)
    return cast(CheckEntry, json.loads(found)) if isinstance(found, str) else None


def _judged(id: str, found: CheckEntry | None) -> str:
    """Return what stands before the id of a check: the same for all checks of one judgement."""
    return id.removesuffix(found["id"]) if found else id


def _ranked(found: Sequence[CheckEntry]) -> dict[Cause, list[str]]:
    """Rank the mistakes that explain failures, for each scheme and call, as the scorecard does."""
    explanations: dict[Cause, list[Sequence[Sequence[str]]]] = {}
    for each in found:
        explanations.setdefault((each["scheme"], each["call"]), []).append(each["explanations"])
    return {place: [id for id, _, _ in explained(some)] for place, some in explanations.items()}


def _cause(found: CheckEntry, ranked: Mapping[Cause, Sequence[str]]) -> Cause:
    """Return the cause of a failure: failures alike in it are shown as one.

    A mistake that explains several failures of a call is one cause. Without a named mistake,
    results that are wrong in numbers are one cause per combination and level; calls that all raise
    or return the same are one cause too.
    """
    place = found["scheme"], found["call"]
    known = {id for id, _ in found["explanations"]}
    for id in ranked[place]:
        if id in known:
            return *place, id
    if found["worst"] is not None:
        return *place, found["combination"], found["level"]
    return *place, str(found["message"]).partition(": ")[2].partition("\n")[0]


def _names(found: CheckEntry | None, id: str) -> bool:
    """Return whether a failure has this mistake as the first of its explanations."""
    return found is not None and [each[0] for each in found["explanations"][:1]] == [id]


def _with_count(report: pytest.TestReport, more: int) -> pytest.TestReport:
    """Return a copy of a report that tells how many more there are with its cause."""
    shown = copy(report)
    if more:
        shown.longrepr = (
            f"{shown.longrepr}\nalso       {more} more check{'s' * (more > 1)} with this cause; "
            "-v shows each"
        )
    return shown
