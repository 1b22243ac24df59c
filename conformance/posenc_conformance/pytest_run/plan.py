"""The plan of a run: an implementation, the chosen schemes, and the checks of its claims."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path

from posenc_conformance.adapters.find import Implementation
from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.checks import LEVELS, Check, checks_of
from posenc_conformance.checks.execution import Execution
from posenc_conformance.checks.golden import require_small
from posenc_conformance.checks.smoke import require_computable
from posenc_conformance.errors import UserError
from posenc_conformance.implementations.reference import FromReference, reference_for
from posenc_conformance.judge.knowledge import KnownScheme
from posenc_conformance.judge.subject import Subject
from posenc_conformance.judge.verdict import Verdict
from posenc_conformance.models.file import (
    Model,
)
from posenc_conformance.pytest_run.of_models import ModelChecks
from posenc_conformance.pytest_run.options import (
    Request,
)
from posenc_conformance.registry import load_scheme, require_complete
from posenc_conformance.report import known
from posenc_conformance.report.document import Frame, not_claimed_of
from posenc_conformance.scheme_file.read import (
    is_shipped,
)


@dataclass(eq=False)
class Plan:
    """The implementation, schemes and models that a run judges, and their checks."""

    implementation: Implementation
    request: Request
    schemes: Sequence[KnownScheme]
    chosen: Sequence[KnownScheme]
    subjects: Sequence[Subject]
    model_checks: ModelChecks
    unreadable: Mapping[Path, UserError] = field(default_factory=dict)
    models: Mapping[Path, Model] = field(default_factory=dict)
    chosen_models: Sequence[Model] = ()
    _problems: dict[Path, UserError | None] = field(default_factory=dict, init=False)
    _checks: dict[tuple[Path, str], list[Check]] = field(default_factory=dict, init=False)
    _of_models: dict[str, list[Check]] = field(default_factory=dict, init=False)
    _every: dict[str, list[str]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        """Raise UserError for a claim that cannot be computed, and for invalid known failures."""
        for subject in self.subjects:
            if self.problem(subject.scheme) is None:
                require_computable(subject)
        file = self.request.known_file
        self.known = known.read_known(file, self._ids_of_file) if file else {}

    def scheme(self, path: Path) -> KnownScheme:
        """Return the scheme of a collected file.

        Raises UserError if it cannot be read, or is unfinished.
        """
        if problem := self.unreadable.get(path.resolve()):
            raise problem
        scheme = load_scheme(path.resolve())
        if problem := self.problem(scheme):
            raise problem
        return scheme

    def problem(self, scheme: KnownScheme) -> UserError | None:
        """Return the error that keeps a scheme from being checked; None for a complete one."""
        if scheme.path not in self._problems:
            try:
                require_complete(scheme)
                if not is_shipped(scheme.path):
                    require_small(scheme)
                self._problems[scheme.path] = None
            except UserError as error:
                self._problems[scheme.path] = error
        return self._problems[scheme.path]

    def checks(self, scheme: KnownScheme, level: str) -> list[Check]:
        """Return the checks of a level that the implementation's claims call for."""
        if self.problem(scheme) is not None:
            return []
        place = (scheme.path, level)
        if place not in self._checks:
            self._checks[place] = checks_of(scheme, level, self.subjects)
        return self._checks[place]

    def forget(self, path: Path) -> None:
        """Drop the history of a scheme's subjects, which takes memory."""
        own = path.resolve()
        for subject in self.subjects:
            if subject.scheme.path == own:
                subject.history.forget()

    def checks_of_model(self, model: Model) -> list[Check]:
        """Return the checks of a model that the implementation's claims call for."""
        if model.id not in self._of_models:
            self._of_models[model.id] = [*self.model_checks.checks(model)]
        return self._of_models[model.id]

    def _ids_of_file(self, name: str) -> list[str]:
        """Return the ids of the claimed checks of a file, chosen or not."""
        models = [owner for owner in self.models.values() if owner.path.name == name]
        schemes = [owner for owner in self.schemes if owner.path.name == name]
        return [*_by_id(schemes, self.checks), *self._by_id_of_models(models)]

    def _by_id_of_models(self, models: Sequence[Model]) -> dict[str, Check]:
        return {
            f"{model.path.name}::{check.level}::{check.id}": check
            for model in models
            for check in self.checks_of_model(model)
        }

    @cached_property
    def claimed(self) -> dict[str, Check]:
        """The claimed checks of the chosen schemes and models, by id."""
        return _by_id(self.chosen, self.checks) | self._by_id_of_models(self.chosen_models)

    def frame(self, schemes: Sequence[KnownScheme]) -> Frame:
        """Return a report's frame for some schemes and all chosen models.

        Its list of all checks is that of the reference, which claims everything.
        """
        models = self.chosen_models
        claimed = {owner.id: _ids([owner], self.checks) for owner in schemes}
        claimed |= {owner.id: [*self._by_id_of_models([owner])] for owner in models}
        return Frame(
            self.implementation.name,
            self.implementation.versions,
            [owner.id for owner in schemes],
            [owner.id for owner in models],
            claimed if self._is_reference else self._everything(schemes),
            claimed,
            {owner.id: not_claimed_of(owner, self.subjects) for owner in schemes},
            self.implementation.notes,
        )

    @property
    def _is_reference(self) -> bool:
        return isinstance(self.implementation.adapter, FromReference)

    def _everything(self, schemes: Sequence[KnownScheme]) -> dict[str, list[str]]:
        """Return the ids of all checks of the schemes and of the chosen models."""
        for scheme in schemes:
            if scheme.id not in self._every and self.problem(scheme) is None:
                every = subjects(reference_for([scheme])(), [scheme])
                listed = partial(checks_of, subjects=every)
                self._every[scheme.id] = _ids([scheme], listed)
        full = {scheme.id: self._every[scheme.id] for scheme in schemes if scheme.id in self._every}
        level = self.model_checks.level
        for model in self.chosen_models:
            ids = self.model_checks.ids(model)
            full[model.id] = [f"{model.path.name}::{level}::{id}" for id in ids]
        return full

    def apply_known(self, id: str, found: Execution) -> Execution:
        """Adjust a check's verdict for known failures and --posenc-robust."""
        entry = self.known.get(id)
        if entry is None:
            if found.verdict is Verdict.SILENT and self.request.robust:
                return replace(found, verdict=Verdict.FAILED)
            return found
        if found.verdict in (Verdict.FAILED, Verdict.SILENT):
            return replace(found, verdict=Verdict.KNOWN, text=f"{entry}\n{found.text}")
        says = {Verdict.PASSED: "passes", Verdict.BLOCKED: "is blocked"}
        return Execution(
            Verdict.FAILED,
            text=f"this {says.get(found.verdict, 'is not claimed')}, but is known to fail: {entry}"
            f"\ndrop it from {self.request.known_file}",
        )


def _by_id(
    schemes: Sequence[KnownScheme], checks: Callable[[KnownScheme, str], list[Check]]
) -> dict[str, Check]:
    """Return the checks of some schemes by id, in the order in which they run."""
    return {
        f"{scheme.path.name}::{level}::{check.id}": check
        for scheme in schemes
        for level in LEVELS
        for check in checks(scheme, level)
    }


def _ids(
    schemes: Sequence[KnownScheme], checks: Callable[[KnownScheme, str], list[Check]]
) -> list[str]:
    """Return the ids of the checks of some schemes, in the order in which they run."""
    return list(_by_id(schemes, checks))
