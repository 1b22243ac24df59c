"""The verdict and its largest cause, in a line below pytest's list of failures."""

from posenc_conformance.report.layout import Report
from posenc_conformance.report.scorecard import causes

MANY = 10
"""Failures from which on pytest's list of them hides the scorecard of a small terminal."""


def last_words(report: Report, of: str) -> str:
    """Return the number of failures of an implementation, with the largest of their causes.

    ``of`` is added to its name. The text is empty if there are few.
    """
    failed = report["summary"]["failed"]
    if failed < MANY:
        return ""
    told = f"posenc: {failed:,} checks of {report['implementation']['name']}{of} failed"
    found = [*causes(report)]
    if not found:
        return f"{told}; what they say is above the scorecard"
    _, largest = max(found, key=lambda entry: entry[0])
    return f"{told}, of {len(found)} causes: {largest}" if found[1:] else f"{told}: {largest}"
