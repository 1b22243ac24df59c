"""Running the checks of model adapters."""

from functools import cache

from posenc_conformance.checks import Options
from posenc_conformance.checks.execution import Execution, execute
from posenc_conformance.checks.model_adapter import checks, subjects_of
from posenc_conformance.models.file import Model, load_all


@cache
def models() -> list[Model]:
    """Load every model of the spec."""
    return load_all()


def judged(adapter: object, *names: str) -> list[tuple[str, Execution]]:
    """Run each check that an adapter's claims require; return outcomes by id."""
    claimed = subjects_of(adapter, models())
    return [
        (f"{model.id} {check.id}", execute(check, Options(1)))
        for model in models()
        if not names or model.id in names
        for check in checks(model, claimed.get(model.id, []))
    ]


def failures(adapter: object, *names: str) -> list[tuple[str, Execution]]:
    """Return the outcomes that have not passed, by id."""
    return [outcome for outcome in judged(adapter, *names) if outcome[1].verdict != "passed"]
