"""The fields of a report, typed; ``report.schema.json`` explains them."""

from typing import Any, Literal, NotRequired, TypedDict

Worst = float | Literal["infinite"] | None
"""The largest error in units of the bound; JSON has no infinity. None where nothing is measured."""


class Counts(TypedDict):
    """The number of checks per verdict."""

    passed: int
    failed: int
    known: int
    blocked: int
    silent: int


class SummaryEntry(Counts):
    """The counts of a whole run."""

    checks: int
    not_selected: int
    not_claimed: int


class ImplementationEntry(TypedDict):
    """The judged implementation."""

    name: str
    versions: dict[str, str]


class RowEntry(Counts):
    """One row of the scorecard."""

    scheme: str
    call: str
    combination: str
    dtype: str | None
    worst: Worst
    exact_angles: bool | None
    horizon: int | None
    horizon_is_claim: bool | None


class ExplanationEntry(TypedDict):
    """A deviation, and how many failures it explains."""

    deviation: str
    explanation: str
    failures: int


class DiagnosisEntry(TypedDict):
    """The diagnosis of a call under a combination."""

    scheme: str
    call: str
    combination: str
    failed: int
    explained_by: list[ExplanationEntry]
    recovered: NotRequired[str]


class CheckEntry(TypedDict):
    """The result of one check."""

    id: str
    verdict: str
    level: str
    scheme: str
    call: str
    combination: str
    dtype: str | None
    worst: Worst
    exact_angles: bool | None
    horizon: int | None
    horizon_is_claim: bool | None
    curve: list[list[float]]
    left_out: str
    explanations: list[list[str]]
    recovered: NotRequired[str]
    pictures: NotRequired[list[dict[str, Any]]]
    message: str


Report = TypedDict(
    "Report",
    {
        "posenc-report": int,
        "kit": str,
        "implementation": ImplementationEntry,
        "notes": NotRequired[list[str]],
        "interrupted": NotRequired[str],
        "alone": NotRequired[list[str]],
        "schemes": list[str],
        "models": NotRequired[list[str]],
        "models_not_claimed": NotRequired[list[str]],
        "summary": SummaryEntry,
        "rows": list[RowEntry],
        "diagnoses": list[DiagnosisEntry],
        "checks": list[CheckEntry],
        "not_claimed": list[str],
        "not_asked": dict[str, str],
        "combinations_not_claimed": dict[str, list[str]],
    },
)
"""All findings of a run."""
