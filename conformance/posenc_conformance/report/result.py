"""The result of one check, and its place in the scorecard."""

from dataclasses import dataclass
from typing import cast

from posenc_conformance.checks import Check
from posenc_conformance.checks.execution import Execution
from posenc_conformance.judge.verdict import Outcome
from posenc_conformance.pictures.picture import from_plain, to_plain
from posenc_conformance.report.layout import CheckEntry


@dataclass(frozen=True)
class Place:
    """The place of a check in the scorecard."""

    level: str
    scheme: str
    """The scheme, or the model."""
    call: str
    combination: str
    """The combination, or the group of a model's layers."""
    dtype: str | None
    """None for a check about all claimed dtypes."""

    @classmethod
    def of(cls, check: Check) -> "Place":
        """Return the place of a check."""
        subject = check.subject
        return cls(check.level, subject.home, subject.name, subject.label, check.dtype)


@dataclass(frozen=True)
class Result:
    """The result of one check."""

    id: str
    verdict: str
    place: Place
    outcome: Outcome
    message: str

    @classmethod
    def of(cls, id: str, place: Place, found: Execution) -> "Result":
        """Make the result of a check from its execution."""
        return cls(id, str(found.verdict), place, found.outcome, found.text)

    @property
    def sent(self) -> CheckEntry:
        """The result as flat plain data, which processes exchange and the report contains."""
        fields = dict(vars(self.outcome))
        if pictures := fields.pop("pictures"):
            fields["pictures"] = [to_plain(picture) for picture in pictures]
        outcome = {name: _listed(value) for name, value in fields.items()}
        place = vars(self.place)
        sent = {"id": self.id, "verdict": self.verdict, **place, **outcome, "message": self.message}
        return cast(CheckEntry, sent)

    @classmethod
    def received(cls, sent: CheckEntry) -> "Result":
        """Make a result from the plain data that another process sent."""
        place = Place(
            sent["level"], sent["scheme"], sent["call"], sent["combination"], sent["dtype"]
        )
        worst = sent["worst"]
        assert not isinstance(worst, str)  # the text 'infinite' is only in reports
        outcome = Outcome(
            worst=worst,
            exact_angles=sent["exact_angles"],
            horizon=sent["horizon"],
            horizon_is_claim=sent["horizon_is_claim"],
            curve=tuple((int(at), error, allowed) for at, error, allowed in sent["curve"]),
            left_out=sent["left_out"],
            explanations=tuple((id, words) for id, words in sent["explanations"]),
            recovered=sent["recovered"],
            pictures=tuple(map(from_plain, sent.get("pictures", ()))),
        )
        return cls(sent["id"], sent["verdict"], place, outcome, sent["message"])


def _listed(value: object) -> object:
    """Replace tuples by lists, as JSON does."""
    if isinstance(value, dict):
        return {name: _listed(item) for name, item in value.items()}
    return [_listed(item) for item in value] if isinstance(value, tuple | list) else value
