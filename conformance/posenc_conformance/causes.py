"""Failures of one cause, shown once."""

from collections.abc import Sequence
from copy import copy
from typing import Any

import pytest


def first_of_each(failed: Sequence[pytest.TestReport], key: str) -> list[pytest.TestReport]:
    """The first report of each cause, which says how many more there are; others as they are.

    Reports of the kit's checks carry what was found among their properties, under the key.
    """
    causes: dict[Any, list[pytest.TestReport]] = {}
    for place, report in enumerate(failed):
        found: Any = dict(report.user_properties).get(key)
        causes.setdefault(cause(found) if isinstance(found, dict) else place, []).append(report)
    return [_counted(reports) for reports in causes.values()]


def cause(found: dict[str, Any]) -> tuple[str, ...]:
    """Failures alike in this are shown as one.

    A named mistake is one cause wherever it shows in a call. Without a name, results that are wrong
    in numbers are one cause per level; and so are calls that all raise or return the same.
    """
    place = found["scheme"], found["call"]
    if found["explanations"]:
        return *place, found["explanations"][0][0]
    if found["worst"] is not None:
        return *place, found["combination"], found["level"]
    return *place, str(found["message"]).partition(": ")[2].partition("\n")[0]


def _counted(reports: Sequence[pytest.TestReport]) -> pytest.TestReport:
    first = reports[0]
    if len(reports) > 1:
        first = copy(first)
        more = len(reports) - 1
        first.longrepr = (
            f"{first.longrepr}\nalso       {more} more check{'s' * (more > 1)} with this cause; "
            "-v shows each"
        )
    return first
