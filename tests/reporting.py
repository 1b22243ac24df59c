"""Parts of reports, for tests of their processing."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from posenc_conformance.report.document import VERDICTS

NOTHING: dict[str, Any] = {
    "checks": [],
    "diagnoses": [],
    "not_asked": {},
    "combinations_not_claimed": {},
    "summary": {**dict.fromkeys(VERDICTS, 0), "checks": 0, "not_selected": 0, "not_claimed": 0},
}


def summary_of(checks: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Count the checks of a report by verdict."""
    counts = Counter(check["verdict"] for check in checks)
    return {**NOTHING["summary"], "checks": len(checks), **counts}


def row(**found: Any) -> dict[str, Any]:
    """Return a row of a report with the fields ``found``."""
    return {
        "scheme": "rope",
        "call": "rope",
        "combination": "half",
        "dtype": "float32",
        **dict.fromkeys(VERDICTS, 0),
        "worst": None,
        "exact_angles": None,
        "horizon": None,
        "horizon_is_claim": None,
        **found,
    }
