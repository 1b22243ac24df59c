"""Failures with the same cause, shown once."""

import json
from collections.abc import Mapping, Sequence
from copy import copy
from typing import cast

import pytest

from posenc_conformance.report.document import explained
from posenc_conformance.report.layout import CheckEntry

Cause = tuple[str, ...]
PROPERTY = "posenc"
"""The property of a pytest report that contains a check's result as JSON."""


def first_of_each(failed: Sequence[pytest.TestReport]) -> list[pytest.TestReport]:
    """Return one report per cause, with the number of further ones; keep those of other tests.

    Reports of the kit's checks carry their result as a property. Failures of different judgements
    never share a cause.
    """
    entries = {each.nodeid: found_by(each) for each in failed}
    ranked = {
        judged: _ranked(
            [each for id, each in entries.items() if _judged(id, each) == judged if each]
        )
        for judged in {_judged(id, each) for id, each in entries.items() if each}
    }
    grouped: dict[Cause, list[pytest.TestReport]] = {}
    for report in failed:
        each = entries[report.nodeid]
        judged = _judged(report.nodeid, each)
        cause: Cause = (report.nodeid,)
        if each is not None and each["verdict"] == "failed":  # else a strict xfail passed
            cause = (judged, *_cause(each, ranked[judged]))
        grouped.setdefault(cause, []).append(report)
    shown = []
    for cause, reports in grouped.items():
        naming = [each for each in reports if _names(entries[each.nodeid], cause[-1])]
        shown.append(_with_count((naming or reports)[0], len(reports) - 1))
    return shown


def found_by(report: pytest.TestReport) -> CheckEntry | None:
    """Return the result of a check of the kit; None for any other test."""
    text = dict(report.user_properties).get(PROPERTY)
    return cast(CheckEntry, json.loads(text)) if isinstance(text, str) else None


def _judged(id: str, found: CheckEntry | None) -> str:
    """Return the prefix of a check's id, which all checks of one judgement share."""
    return id.removesuffix(found["id"]) if found else id


def _ranked(found: Sequence[CheckEntry]) -> dict[Cause, list[str]]:
    """Rank the mistakes that explain failures, for each scheme and call, as the scorecard does."""
    explanations: dict[Cause, list[Sequence[Sequence[str]]]] = {}
    for entry in found:
        explanations.setdefault((entry["scheme"], entry["call"]), []).append(entry["explanations"])
    return {place: [id for id, _, _ in explained(lists)] for place, lists in explanations.items()}


def _cause(found: CheckEntry, ranked: Mapping[Cause, Sequence[str]]) -> Cause:
    """Return the cause of a failure; failures with the same cause are shown as one.

    A mistake that explains several failures of a call is one cause. Without a named mistake,
    numerically wrong results are one cause per combination and level; calls that all raise or
    return the same are one cause too.
    """
    place = found["scheme"], found["call"]
    ids = {id for id, _ in found["explanations"]}
    for id in ranked[place]:
        if id in ids:
            return *place, id
    if found["worst"] is not None:
        return *place, found["combination"], found["level"]
    return *place, str(found["message"]).partition(": ")[2].partition("\n")[0]


def _names(found: CheckEntry | None, id: str) -> bool:
    """Return whether this mistake is the first explanation of a failure."""
    return found is not None and [pair[0] for pair in found["explanations"][:1]] == [id]


def _with_count(report: pytest.TestReport, more: int) -> pytest.TestReport:
    """Return a copy of a report that ends with the number of further reports with its cause."""
    shown = copy(report)
    if more:
        shown.longrepr = (
            f"{shown.longrepr}\nalso       {more} more check{'s' * (more > 1)} with this cause; "
            "-v shows each"
        )
    return shown
