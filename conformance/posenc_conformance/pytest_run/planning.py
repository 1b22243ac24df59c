"""Make the plan of a run for the command line, a test file, or a deployed engine."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path

import pytest

from posenc_conformance.adapters.find import Implementation, made_of
from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.checks import LEVELS
from posenc_conformance.checks.model_adapter import engines, require_engine
from posenc_conformance.deployed.engine import find_deployed, is_deployed
from posenc_conformance.errors import UserError
from posenc_conformance.implementations.reference import FromReference, reference_for
from posenc_conformance.judge.knowledge import KnownScheme
from posenc_conformance.models.file import Model, model_file
from posenc_conformance.pytest_run.of_models import ModelChecks, of_adapter, of_deployed
from posenc_conformance.pytest_run.options import (
    Request,
    read_cache,
    read_context,
    read_dtype,
    read_how,
    read_running,
    read_seconds_of_deployed,
    read_shift,
)
from posenc_conformance.pytest_run.plan import Plan
from posenc_conformance.pytest_run.sources import (
    Sources,
    find_sources,
    read_model,
    read_models,
    read_schemes,
    where_known,
)
from posenc_conformance.registry import load_all
from posenc_conformance.remote.load import How, load
from posenc_conformance.testing.conformance import Conformance

Load = Callable[[str, How, Sequence[KnownScheme]], Implementation]
"""Loads the implementation that a name means."""


def plan_run(config: pytest.Config, load_named: Load, *, beside_tests: bool = False) -> Plan:
    """Make the plan of a run from the command line, and have pytest collect its files.

    With ``beside_tests``, pytest's arguments may also name other tests, which are kept unchanged.

    Raises UserError if no plan can be made.
    """
    if is_deployed(config.getoption("impl")):
        return _plan_deployed(config)
    sources = find_sources(config, beside_tests=beside_tests)
    config.args = [*sources.arguments]
    schemes = read_schemes(sources)
    _register_markers(config, schemes.known)
    request = Request.of(config)
    implementation = _named_implementation(config, load_named, schemes.known)
    models, chosen_models = _models_of_run(config, implementation.adapter, sources)
    memory = request.memory_of_a_call
    model_checks = of_adapter(implementation.adapter, models, memory)
    if models:
        _register_level(config, model_checks, "of how an engine treats models")
    return Plan(
        implementation,
        request,
        schemes.known,
        schemes.chosen,
        subjects(implementation.adapter, schemes.known, memory),
        model_checks,
        unreadable=schemes.unreadable,
        models=models,
        chosen_models=chosen_models,
    )


def plan_test(asked: Conformance, config: pytest.Config, folder: Path) -> Plan:
    """Make the plan of a ``conformance(...)`` in a test file in ``folder``.

    Raises UserError if it names an unknown scheme or implementation, or claims nothing.
    """
    schemes = load_all()
    request, named = Request.of(config), asked.schemes
    if asked.known:
        request = replace(request, known_file=folder / asked.known)
    implementation = _implementation_of_test(asked, config, folder, schemes)
    _register_markers(config, schemes)
    memory = request.memory_of_a_call
    own_subjects = subjects(implementation.adapter, schemes, memory)
    chosen = named or {subject.scheme.id for subject in own_subjects}
    _demand_known(named or (), [scheme.id for scheme in schemes])
    return Plan(
        implementation,
        request,
        schemes,
        [scheme for scheme in schemes if scheme.id in chosen],
        own_subjects,
        of_adapter(implementation.adapter, {}, memory),
    )


def _plan_deployed(config: pytest.Config) -> Plan:
    """Make the plan for an engine that serves a probe.

    Raises UserError if it serves none, and for options that do not apply to such an engine.
    """
    paths = [model_file(name) for name in config.getoption("posenc_model")]
    seconds = read_seconds_of_deployed(config)
    dtype, length, cache = read_dtype(config), read_context(config), read_cache(config)
    models = [read_model(path) for path in paths]
    name, running = config.getoption("impl"), read_running(config)
    deployed = find_deployed(name, seconds, models, dtype, cache, running)
    engine = replace(deployed, shifts=read_shift(config))
    path = engine.model.path.resolve()
    if config.args_source is pytest.Config.ArgsSource.ARGS:
        config.args = [where_known(argument, [path]) for argument in config.args]
    else:
        config.args = [str(path)]
    checks = of_deployed(engine, dtype, length)
    _register_level(config, checks, "of a deployed engine")
    for group in engine.model.meaning.groups:
        marker = group.scheme.replace("-", "_")
        config.addinivalue_line("markers", f"{marker}: checks of this scheme")
    about = {"serving": engine.source.name, **({"cache": cache} if cache else {})}
    implementation = Implementation(engine.title, engine, about)
    return Plan(
        implementation,
        Request.of(config),
        schemes=[],
        chosen=[],
        subjects=[],
        model_checks=checks,
        models={path: engine.model},
        chosen_models=[engine.model],
    )


def _named_implementation(
    config: pytest.Config, load_named: Load, schemes: Sequence[KnownScheme]
) -> Implementation:
    """Load the implementation of --impl; the reference gets all schemes, installed or not."""
    implementation = load_named(config.getoption("impl"), read_how(config), schemes)
    if isinstance(implementation.adapter, FromReference):
        return replace(implementation, adapter=reference_for(schemes)())
    return implementation


def _models_of_run(
    config: pytest.Config, adapter: object, sources: Sources
) -> tuple[dict[Path, Model], list[Model]]:
    """Return all models on which a model adapter can be judged, and the chosen ones.

    If the command line names no files, pytest collects all of them.

    Raises UserError if models are named, but the adapter reads no configuration.
    """
    if sources.models:
        require_engine(adapter)
    if not engines(adapter):
        return {}, []
    models = read_models(sources)
    chosen = sources.models
    if not sources.are_given and not sources.are_models_asked:
        config.args += [str(path) for path in models]
        chosen = tuple(models)
    return models, [models[path] for path in dict.fromkeys(chosen)]


def _demand_known(named: Sequence[str], known: Sequence[str]) -> None:
    """Raise UserError for the first name that is not a known scheme."""
    for id in named:
        if id not in known:
            near = get_close_matches(id, known, n=1)
            raise UserError(
                f"conformance() is asked for the scheme {id!r}, which there is not",
                f"did you mean {near[0]!r}?" if near else "'posenc schemes' lists them",
            )


def _register_markers(config: pytest.Config, schemes: Sequence[KnownScheme]) -> None:
    """Let ``-m`` name schemes and levels."""
    for scheme in schemes:
        config.addinivalue_line("markers", f"{scheme.module_name}: checks of {scheme.title}")
    for level in LEVELS:
        config.addinivalue_line("markers", f"{level}: checks of this level")


def _register_level(config: pytest.Config, checks: ModelChecks, of: str) -> None:
    """Let ``-m`` name the level of model checks."""
    config.addinivalue_line("markers", f"{checks.level}: checks {of}")


def _implementation_of_test(
    asked: Conformance, config: pytest.Config, folder: Path, schemes: Sequence[KnownScheme]
) -> Implementation:
    """Return the implementation that a ``conformance(...)`` names or contains.

    The path of a file is relative to the folder of the test file.
    """
    if not isinstance(asked.adapter, str):
        return made_of(asked.adapter)
    file, colon, attribute = asked.adapter.partition(".py")
    path = folder / f"{file}.py"
    name = f"{path}{attribute}" if colon and path.is_file() else asked.adapter
    return load(name, read_how(config), schemes)
