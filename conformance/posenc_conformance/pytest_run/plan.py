"""What a run judges: an implementation, the schemes chosen, and the checks of its claims."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import cached_property, partial
from pathlib import Path

import pytest

from posenc_conformance.adapters.find import Implementation, made_of
from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.checks import LEVELS, Check, checks_of
from posenc_conformance.checks.execution import Execution
from posenc_conformance.checks.golden import require_small
from posenc_conformance.checks.model_adapter import engines, require_engine
from posenc_conformance.checks.smoke import require_computable
from posenc_conformance.deployed.engine import find_deployed, is_deployed
from posenc_conformance.errors import UserError
from posenc_conformance.implementations.reference import FromReference, reference_for
from posenc_conformance.judge.knowledge import KnownScheme
from posenc_conformance.judge.subject import Subject
from posenc_conformance.judge.verdict import Verdict
from posenc_conformance.models.file import (
    Model,
    is_model_file,
    load_model,
    model_file,
    with_configuration,
)
from posenc_conformance.models.file import paths as model_paths
from posenc_conformance.pytest_run.of_models import ModelChecks, of_adapter, of_deployed
from posenc_conformance.pytest_run.options import (
    Request,
    read_cache,
    read_context,
    read_dtype,
    read_how,
    read_seconds_of_deployed,
    read_shift,
)
from posenc_conformance.registry import load_all, load_scheme, require_complete
from posenc_conformance.remote.load import load
from posenc_conformance.report import known
from posenc_conformance.report.document import Frame, not_claimed_of
from posenc_conformance.scheme_file.read import (
    is_scheme_file,
    is_shipped,
    scheme_files_in,
    scheme_paths,
)
from posenc_conformance.testing.conformance import Conformance


class Plan:
    """What is judged, and by which checks."""

    def __init__(
        self,
        implementation: Implementation,
        schemes: Sequence[KnownScheme],
        chosen: Sequence[KnownScheme],
        unreadable: Mapping[Path, UserError],
        request: Request,
        models: Mapping[Path, Model],
        chosen_models: Sequence[Model],
        subjects: Sequence[Subject],
        model_checks: ModelChecks,
    ) -> None:
        self.implementation = implementation
        self.schemes = schemes
        self.chosen = chosen
        self.unreadable = unreadable
        self.request = request
        self.models = models
        self.chosen_models = chosen_models
        self.subjects = subjects
        self.model_checks = model_checks
        self._problems: dict[Path, UserError | None] = {}
        for subject in self.subjects:
            if self.problem(subject.scheme) is None:
                require_computable(subject)
        self._checks: dict[tuple[Path, str], list[Check]] = {}
        self._of_models: dict[str, list[Check]] = {}
        self._every: dict[str, list[str]] = {}
        file = request.known_file
        self.known = known.read_known(file, self._ids_of_file) if file else {}

    @classmethod
    def of(cls, config: pytest.Config, *, beside_tests: bool = False) -> "Plan":
        """Make the plan of what the command line asks for.

        With ``beside_tests`` pytest's arguments may name tests of others, which are left as they
        are.

        Raises UserError if that cannot be done.
        """
        if is_deployed(config.getoption("impl")):
            return cls._of_deployed(config)
        given = config.args_source is pytest.Config.ArgsSource.ARGS
        known = [*scheme_paths(), *scheme_files_in(config.getoption("posenc_schemes"))]
        asked = [model_file(name) for name in config.getoption("posenc_model")]
        tests = [each for each in config.args if beside_tests and not is_yaml(each)]
        if given:
            places = [*known, *asked, *model_paths()]
            mine = [_where_known(each, places) for each in config.args if each not in tests]
            parts = {argument.partition("::")[0] for argument in mine}
            mine += [str(path) for path in asked if str(path) not in parts]
        else:
            mine = [str(path) for path in asked or known]
        config.args = [*tests, *mine]
        named = _files_named_by(mine, is_scheme_file)
        named_models = [*_files_named_by(mine, is_model_file), *asked]
        if given and not named and not named_models:
            raise UserError(
                f"no scheme file is in {', '.join(config.args)}, so --impl would judge nothing",
                _meant_instead(mine, places)
                or "leave the paths out to check everything, or name schemes, such as rope.yaml; "
                "run your own tests without --impl",
            )
        unreadable: dict[Path, UserError] = {}
        schemes: dict[str, KnownScheme] = {}
        for path in dict.fromkeys([*known, *named]):
            try:
                scheme = load_scheme(path)
            except UserError as error:
                if given and path in named:
                    raise
                unreadable[path] = error
            else:
                schemes[scheme.id] = scheme
        _demand_calls_of_their_own(list(schemes.values()))
        chosen = [load_scheme(path) for path in named if path not in unreadable]
        _register_markers(config, list(schemes.values()))
        request = Request.of(config)
        implementation = load(config.getoption("impl"), read_how(config), list(schemes.values()))
        if isinstance(implementation.adapter, FromReference):
            # All schemes of this run, not only those that are installed.
            adapter = reference_for(list(schemes.values()))()
            implementation = replace(implementation, adapter=adapter)
        models: dict[Path, Model] = {}
        if named_models:
            require_engine(implementation.adapter)
        if engines(implementation.adapter):
            models = {path: _model(path) for path in (*model_paths(), *named_models)}
            if not given and not asked:
                config.args += [str(path) for path in models]
                named_models = list(models)
        memory = request.memory_of_a_call
        model_checks = of_adapter(implementation.adapter, models, memory)
        if models:
            line = f"{model_checks.level}: checks of how an engine treats models"
            config.addinivalue_line("markers", line)
        return cls(
            implementation,
            list(schemes.values()),
            chosen,
            unreadable,
            request,
            models,
            [models[path] for path in dict.fromkeys(named_models)],
            subjects(implementation.adapter, list(schemes.values()), memory),
            model_checks,
        )

    @classmethod
    def of_test(cls, asked: Conformance, config: pytest.Config, folder: Path) -> "Plan":
        """Make the plan of a ``conformance(...)`` in a test file of a folder.

        Raises UserError if it names what there is not, or claims nothing.
        """
        schemes = load_all()
        request, named = Request.of(config), asked.schemes
        if asked.known:
            request = replace(request, known_file=folder / asked.known)
        implementation = _implementation(asked, config, folder, schemes)
        _register_markers(config, schemes)
        found = subjects(implementation.adapter, schemes, request.memory_of_a_call)
        claimed = {subject.scheme.id for subject in found}
        chosen = [each for each in schemes if each.id in (named or claimed)]
        for id in named or ():
            if id not in [each.id for each in schemes]:
                near = get_close_matches(id, [each.id for each in schemes], n=1)
                raise UserError(
                    f"conformance() is asked for the scheme {id!r}, which there is not",
                    f"did you mean {near[0]!r}?" if near else "'posenc schemes' lists them",
                )
        checks = of_adapter(implementation.adapter, {}, request.memory_of_a_call)
        return cls(implementation, schemes, chosen, {}, request, {}, [], found, checks)

    @classmethod
    def _of_deployed(cls, config: pytest.Config) -> "Plan":
        """Make the plan of judging an engine that serves a probe.

        Raises UserError if it serves none, and for options that say nothing of such an engine.
        """
        name = config.getoption("impl")
        paths = [model_file(name) for name in config.getoption("posenc_model")]
        seconds = read_seconds_of_deployed(config)
        dtype, length, cache = read_dtype(config), read_context(config), read_cache(config)
        models = [_model(path) for path in paths]
        engine = find_deployed(name, seconds, models, dtype, cache)
        engine = replace(engine, shifts=read_shift(config))
        path = engine.model.path.resolve()
        if config.args_source is pytest.Config.ArgsSource.ARGS:
            config.args = [_where_known(argument, [path]) for argument in config.args]
        else:
            config.args = [str(path)]
        checks = of_deployed(engine, dtype, length)
        config.addinivalue_line("markers", f"{checks.level}: checks of a deployed engine")
        for group in engine.model.meaning.groups:
            marker = group.scheme.replace("-", "_")
            config.addinivalue_line("markers", f"{marker}: checks of this scheme")
        about = {"serving": engine.source.name, **({"cache": cache} if cache else {})}
        implementation = Implementation(engine.title, engine, about)
        asked = {path: engine.model}
        request = Request.of(config)
        return cls(implementation, [], [], {}, request, asked, [engine.model], [], checks)

    def scheme(self, path: Path) -> KnownScheme:
        """Return the scheme of a collected file.

        Raises UserError if it cannot be read, or is half-made.
        """
        if problem := self.unreadable.get(path.resolve()):
            raise problem
        scheme = load_scheme(path.resolve())
        if problem := self.problem(scheme):
            raise problem
        return scheme

    def problem(self, scheme: KnownScheme) -> UserError | None:
        """Return what a half-made scheme lacks, so that nothing of it can be checked.

        Returns None for a complete scheme.
        """
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
        """Drop what was found out about the implementations of a scheme, because it takes room."""
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
        """Return the ids of the claimed checks of a file, whether it is chosen or not."""
        models = [each for each in self.models.values() if each.path.name == name]
        schemes = [each for each in self.schemes if each.path.name == name]
        return [*_by_id(schemes, self.checks), *self._by_id_of_models(models)]

    def _by_id_of_models(self, models: Sequence[Model]) -> dict[str, Check]:
        return {
            f"{model.path.name}::{check.level}::{check.id}": check
            for model in models
            for check in self.checks_of_model(model)
        }

    @cached_property
    def claimed(self) -> dict[str, Check]:
        """The checks that the claims call for in the schemes and models chosen, by id."""
        return _by_id(self.chosen, self.checks) | self._by_id_of_models(self.chosen_models)

    def frame(self, schemes: Sequence[KnownScheme]) -> Frame:
        """Return what a report of some of the schemes, and of all chosen models, says of the run.

        All checks of a scheme are those that the reference's claims call for: it claims all there
        is.
        """
        models = self.chosen_models
        claimed = {each.id: _ids([each], self.checks) for each in schemes}
        claimed |= {each.id: [*self._by_id_of_models([each])] for each in models}
        return Frame(
            self.implementation.name,
            self.implementation.versions,
            [each.id for each in schemes],
            [each.id for each in models],
            claimed if self._is_reference else self._everything(schemes),
            claimed,
            {each.id: not_claimed_of(each, self.subjects) for each in schemes},
        )

    @property
    def _is_reference(self) -> bool:
        return isinstance(self.implementation.adapter, FromReference)

    def _everything(self, schemes: Sequence[KnownScheme]) -> dict[str, list[str]]:
        """Return the ids of all checks of the schemes and of the chosen models."""
        for each in schemes:
            if each.id not in self._every and self.problem(each) is None:
                every = subjects(reference_for([each])(), [each])
                listed = partial(checks_of, subjects=every)
                self._every[each.id] = _ids([each], listed)
        found = {each.id: self._every[each.id] for each in schemes if each.id in self._every}
        level = self.model_checks.level
        for model in self.chosen_models:
            ids = self.model_checks.ids(model)
            found[model.id] = [f"{model.path.name}::{level}::{id}" for id in ids]
        return found

    def apply_known(self, id: str, found: Execution) -> Execution:
        """Judge what a check found in the light of the known failures and of --posenc-robust."""
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


def _register_markers(config: pytest.Config, schemes: Sequence[KnownScheme]) -> None:
    """Let ``-m`` name schemes and levels."""
    for scheme in schemes:
        config.addinivalue_line("markers", f"{scheme.module_name}: checks of {scheme.title}")
    for level in LEVELS:
        config.addinivalue_line("markers", f"{level}: checks of this level")


def _implementation(
    asked: Conformance, config: pytest.Config, folder: Path, schemes: Sequence[KnownScheme]
) -> Implementation:
    """Return what a ``conformance(...)`` judges: an adapter, or what its name stands for.

    The path of a file is that from the folder of the test file.
    """
    if not isinstance(asked.adapter, str):
        return made_of(asked.adapter)
    file, colon, attribute = asked.adapter.partition(".py")
    path = folder / f"{file}.py"
    name = f"{path}{attribute}" if colon and path.is_file() else asked.adapter
    return load(name, read_how(config), schemes)


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


def _demand_calls_of_their_own(schemes: Sequence[KnownScheme]) -> None:
    """Raise UserError for a call that two schemes have: an adapter could not tell them apart."""
    home: dict[str, KnownScheme] = {}
    for scheme in schemes:
        for name in scheme.calls:
            other = home.setdefault(name, scheme)
            if other is not scheme:
                raise UserError(
                    f"{scheme.path}: {other.id} has a call {name!r} already", "give it another name"
                )


def _where_known(argument: str, known: Sequence[Path]) -> str:
    """Replace an id such as rope.yaml::golden, in any folder, by that of the scheme of this name.

    It stays as it is if the folder has a scheme or model file of this name, or no such scheme is
    known. Any other file of this name is not meant.
    """
    name, colons, rest = argument.partition("::")
    # Pytest shows an id as seen from the folder one is in, such as ../../rope.yaml::golden.
    meant = next((each for each in known if each.name == Path(name).name), None)
    here = Path(name)
    # Path.is_dir raises for a name that is too long.
    own = os.path.isdir(name) or (
        os.path.isfile(name) and (is_scheme_file(here) or is_model_file(here))
    )
    return argument if own or meant is None else f"{meant}{colons}{rest}"


def _model(path: Path) -> Model:
    return load_model(path) if path.suffix == ".yaml" else with_configuration(path)


def _meant_instead(arguments: Sequence[str], known: Sequence[Path]) -> str:
    """Ask whether files are meant that are called much like what was given; empty if none are."""
    names = [path.name for path in known]
    near = [
        each
        for argument in arguments
        for each in get_close_matches(argument.partition("::")[0], names, n=1)
    ]
    return f"did you mean {' and '.join(near)}?" if near else ""


def is_yaml(argument: str) -> bool:
    """Return whether an argument of pytest names a YAML file, or something in one."""
    return argument.partition("::")[0].endswith(".yaml")


def _files_named_by(arguments: Sequence[str], meant: Callable[[Path], bool]) -> list[Path]:
    files: list[Path] = []
    for argument in arguments:
        path = Path(argument.partition("::")[0])
        candidates = sorted(path.rglob("*.yaml")) if os.path.isdir(path) else [path]
        files += [
            each.resolve()
            for each in candidates
            if each.suffix == ".yaml" and os.path.isfile(each) and meant(each)
        ]
    return list(dict.fromkeys(files))
