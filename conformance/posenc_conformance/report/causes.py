"""Failures of one cause, shown once."""

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any

import pytest

from posenc_conformance.report.document import explained

Cause = tuple[str, ...]


def first_of_each(failed: Sequence[pytest.TestReport], key: str) -> list[pytest.TestReport]:
    """One report for each cause, which says how many more there are; others as they are.

    Reports of the kit's checks carry what was found among their properties, under the key.
    """
    found: dict[str, Any] = {each.nodeid: dict(each.user_properties).get(key) for each in failed}
    ranked = _ranked([each for each in found.values() if isinstance(each, dict)])
    grouped: dict[Cause, list[pytest.TestReport]] = {}
    for report in failed:
        each = found[report.nodeid]
        cause = _cause(each, ranked) if isinstance(each, dict) else (report.nodeid,)
        grouped.setdefault(cause, []).append(report)
    shown = []
    for cause, reports in grouped.items():
        naming = [each for each in reports if _names(found[each.nodeid], cause[-1])]
        shown.append(_counted((naming or reports)[0], len(reports) - 1))
    return shown


def _ranked(found: Sequence[Mapping[str, Any]]) -> dict[Cause, list[str]]:
    """For each scheme and call the mistakes that explain its failures, as in the scorecard."""
    explanations: dict[Cause, list[Sequence[Sequence[str]]]] = {}
    for each in found:
        explanations.setdefault((each["scheme"], each["call"]), []).append(each["explanations"])
    return {place: [id for id, _, _ in explained(some)] for place, some in explanations.items()}


def _cause(found: Mapping[str, Any], ranked: Mapping[Cause, Sequence[str]]) -> Cause:
    """Failures alike in this are shown as one.

    A mistake that explains several failures of a call is one cause. Without a name, results that
    are wrong in numbers are one cause per level; and so are calls that all raise or return the
    same.
    """
    place = found["scheme"], found["call"]
    known = {id for id, _ in found["explanations"]}
    for id in ranked[place]:
        if id in known:
            return *place, id
    if found["worst"] is not None:
        return *place, found["combination"], found["level"]
    return *place, str(found["message"]).partition(": ")[2].partition("\n")[0]


def _names(found: Any, id: str) -> bool:
    """Whether a failure gives this mistake as the first of its explanations."""
    return isinstance(found, dict) and [each[0] for each in found["explanations"][:1]] == [id]


def _counted(report: pytest.TestReport, more: int) -> pytest.TestReport:
    """A report that tells how many more there are with its cause."""
    shown = copy(report)
    if more:
        shown.longrepr = (
            f"{shown.longrepr}\nalso       {more} more check{'s' * (more > 1)} with this cause; "
            "-v shows each"
        )
    return shown
