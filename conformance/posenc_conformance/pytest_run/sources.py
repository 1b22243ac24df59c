"""The scheme and model files that the command line names, and their contents."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

import pytest

from posenc_conformance.errors import UserError
from posenc_conformance.judge.knowledge import KnownScheme
from posenc_conformance.models.file import (
    Model,
    is_model_file,
    load_model,
    model_file,
    with_configuration,
)
from posenc_conformance.models.file import paths as model_paths
from posenc_conformance.registry import load_scheme
from posenc_conformance.scheme_file.read import is_scheme_file, scheme_files_in, scheme_paths


@dataclass(frozen=True)
class Sources:
    """Known scheme files, and the scheme and model files that the command line names."""

    arguments: tuple[str, ...]
    """Pytest's arguments: other tests, and files or ids of the spec."""
    known: tuple[Path, ...]
    schemes: tuple[Path, ...]
    """Scheme files that the command line names."""
    models: tuple[Path, ...]
    """Model files and configurations that the command line names."""
    are_given: bool
    """Whether the command line names files; if not, everything is judged."""
    are_models_asked: bool
    """Whether --posenc-model is given."""


@dataclass(frozen=True)
class Schemes:
    """The schemes of a run."""

    known: tuple[KnownScheme, ...]
    chosen: tuple[KnownScheme, ...]
    unreadable: Mapping[Path, UserError]


def find_sources(config: pytest.Config, *, beside_tests: bool) -> Sources:
    """Find the files that pytest's arguments and --posenc-model name.

    With ``beside_tests``, arguments may also name other tests, which are kept unchanged.

    Raises UserError for missing files, and if the arguments name no scheme or model file.
    """
    named = config.args_source is pytest.Config.ArgsSource.ARGS
    files = [*scheme_paths(), *scheme_files_in(config.getoption("posenc_schemes"))]
    model_files = [model_file(name) for name in config.getoption("posenc_model")]
    tests = [entry for entry in config.args if beside_tests and not is_yaml(entry)]
    places = [*files, *model_files, *model_paths()] if named else []
    if named:
        mine = [where_known(entry, places) for entry in config.args if entry not in tests]
        parts = {argument.partition("::")[0] for argument in mine}
        mine += [str(path) for path in model_files if str(path) not in parts]
    else:
        mine = [str(path) for path in model_files or files]
    schemes = _files_named_by(mine, is_scheme_file)
    models = [*_files_named_by(mine, is_model_file), *model_files]
    arguments = (*tests, *mine)
    if named and not schemes and not models:
        raise UserError(
            f"no scheme file is in {', '.join(arguments)}, so --impl would judge nothing",
            _meant_instead(mine, places)
            or "leave the paths out to check everything, or name schemes, such as rope.yaml; "
            "run your own tests without --impl",
        )
    return Sources(arguments, tuple(files), tuple(schemes), tuple(models), named, bool(model_files))


def read_schemes(sources: Sources) -> Schemes:
    """Read all known schemes.

    Raises UserError for a named file that cannot be read, and for a call that two schemes share.
    """
    unreadable: dict[Path, UserError] = {}
    schemes: dict[str, KnownScheme] = {}
    for path in dict.fromkeys([*sources.known, *sources.schemes]):
        try:
            scheme = load_scheme(path)
        except UserError as error:
            if sources.are_given and path in sources.schemes:
                raise
            unreadable[path] = error
        else:
            schemes[scheme.id] = scheme
    _demand_calls_of_their_own(list(schemes.values()))
    chosen = (load_scheme(path) for path in sources.schemes if path not in unreadable)
    return Schemes(tuple(schemes.values()), tuple(chosen), unreadable)


def read_models(sources: Sources) -> dict[Path, Model]:
    """Read all models of the spec, and the named ones."""
    return {path: read_model(path) for path in (*model_paths(), *sources.models)}


def read_model(path: Path) -> Model:
    """Read a model file, or a configuration."""
    return load_model(path) if path.suffix == ".yaml" else with_configuration(path)


def where_known(argument: str, known: Sequence[Path]) -> str:
    """Resolve an id such as rope.yaml::golden, in any folder, to the known file of that name.

    Returns the id unchanged if it names a folder, or an existing scheme or model file, or if no
    known file has its name. Other existing files of its name are ignored.
    """
    name, colons, inner = argument.partition("::")
    # Pytest shows ids relative to the current folder, such as ../../rope.yaml::golden.
    meant = next((path for path in known if path.name == Path(name).name), None)
    here = Path(name)
    # Path.is_dir raises for a name that is too long.
    own = os.path.isdir(name) or (
        os.path.isfile(name) and (is_scheme_file(here) or is_model_file(here))
    )
    return argument if own or meant is None else f"{meant}{colons}{inner}"


def is_yaml(argument: str) -> bool:
    """Return whether an argument of pytest names a YAML file, or a node in one."""
    return argument.partition("::")[0].endswith(".yaml")


def _meant_instead(arguments: Sequence[str], known: Sequence[Path]) -> str:
    """Return a hint at known files whose names are similar; empty if there are none."""
    names = [path.name for path in known]
    near = [
        name
        for argument in arguments
        for name in get_close_matches(argument.partition("::")[0], names, n=1)
    ]
    return f"did you mean {' and '.join(near)}?" if near else ""


def _files_named_by(arguments: Sequence[str], meant: Callable[[Path], bool]) -> list[Path]:
    files: list[Path] = []
    for argument in arguments:
        path = Path(argument.partition("::")[0])
        candidates = sorted(path.rglob("*.yaml")) if os.path.isdir(path) else [path]
        files += [
            file.resolve()
            for file in candidates
            if file.suffix == ".yaml" and os.path.isfile(file) and meant(file)
        ]
    return list(dict.fromkeys(files))


def _demand_calls_of_their_own(schemes: Sequence[KnownScheme]) -> None:
    """Raise UserError for a call that two schemes share: an adapter could not tell them apart."""
    home: dict[str, KnownScheme] = {}
    for scheme in schemes:
        for name in scheme.calls:
            other = home.setdefault(name, scheme)
            if other is not scheme:
                raise UserError(
                    f"{scheme.path}: {other.id} has a call {name!r} already", "give it another name"
                )
