"""What one check found, and where it stands."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from posenc_conformance.checks import Check
from posenc_conformance.checks.execution import Execution
from posenc_conformance.judge.verdict import Outcome


@dataclass(frozen=True)
class Place:
    """Where a check stands in the scorecard."""

    level: str
    scheme: str
    """Or the model."""
    call: str
    combination: str
    """Or the group of a model's layers."""
    dtype: str | None
    """None where a check speaks about all claimed dtypes at once."""

    @classmethod
    def of(cls, check: Check) -> "Place":
        """That of a check."""
        subject = check.subject
        return cls(check.level, subject.home, subject.name, subject.label, check.dtype)


@dataclass(frozen=True)
class Result:
    """What one check found."""

    id: str
    verdict: str
    place: Place
    outcome: Outcome
    message: str

    @classmethod
    def of(cls, id: str, place: Place, found: Execution) -> "Result":
        """What came of the check of this id."""
        return cls(id, str(found.verdict), place, found.outcome, found.text)

    @property
    def sent(self) -> dict[str, Any]:
        """As one level of plain data, which goes from process to process and into the report."""
        outcome = {name: _listed(value) for name, value in vars(self.outcome).items()}
        return {
            "id": self.id,
            "verdict": self.verdict,
            **vars(self.place),
            **outcome,
            "message": self.message,
        }

    @classmethod
    def received(cls, sent: Mapping[str, Any]) -> "Result":
        """The result that was sent as plain data."""
        place = Place(**{each.name: sent[each.name] for each in fields(Place)})
        outcome = Outcome(**{each.name: sent[each.name] for each in fields(Outcome)})
        return cls(sent["id"], sent["verdict"], place, outcome, sent["message"])


def _listed(value: Any) -> Any:
    """Tuples as lists, which is what JSON makes of them."""
    return [_listed(each) for each in value] if isinstance(value, tuple | list) else value
