"""The checks of models, for adapters that read configurations and for deployed engines."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from posenc_conformance.checks import Check, deployed, model_adapter
from posenc_conformance.deployed.engine import Deployed
from posenc_conformance.judge.call_kinds import ENGINE
from posenc_conformance.models.file import Model


@dataclass(frozen=True)
class ModelChecks:
    """The checks of models in a run, and the models that claims cover."""

    level: str
    claimed: Sequence[str]
    """Ids of the models that claims cover."""
    checks: Callable[[Model], Iterable[Check]]
    """Lists the claimed checks of a model."""
    ids: Callable[[Model], Iterable[str]]
    """Lists the ids of all checks of a model, claimed or not."""


def of_adapter(adapter: object, models: Mapping[Path, Model], memory: int) -> ModelChecks:
    """Return the checks that an adapter's claims about models call for.

    Raises UserError for a claim about an unknown model, and for a method that cannot be called.
    """
    shipped = [entry for path, entry in models.items() if path.suffix == ".yaml"]
    own = [entry for path, entry in models.items() if path.suffix != ".yaml"]
    subjects = model_adapter.subjects_of(adapter, shipped, memory, own=own)
    dtypes = {call: ["float32"] for call in ENGINE}
    for call, claims in model_adapter.engines(adapter).items():
        dtypes[call] = [*dict.fromkeys(dtype for claim in claims for dtype in claim.dtypes)]
    return ModelChecks(
        model_adapter.LEVEL,
        [*subjects],
        lambda model: model_adapter.checks(model, subjects.get(model.id, [])),
        lambda model: model_adapter.ids_of(model, dtypes),
    )


def of_deployed(engine: Deployed, dtype: str, length: int) -> ModelChecks:
    """Return the checks of an engine that serves a probe; all of them are claimed."""
    checks = [*deployed.checks(engine, deployed.subjects_of(engine, dtype), length)]
    return ModelChecks(
        deployed.LEVEL,
        [engine.model.id],
        lambda model: checks,
        lambda model: [check.id for check in checks],
    )
