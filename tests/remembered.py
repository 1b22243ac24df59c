"""Skip tests that passed before with the same cache key.

``@pytest.mark.remembered`` marks a test of one scheme, given by its parameter ``scheme``,
``subject`` or ``call``. Its key covers the code that the test's module imports and the scheme's
files; with ``miniatures=True`` also the scheme's right and wrong implementations. With
``shipped=True`` the key covers all files of kit and laboratory; ``site=(…)`` lists patterns of
files of the built site, and ``tools=True`` covers neither. Each key covers all installed packages,
and the files and folders of ``also``. ``POSENC_LAB_STORE=fresh`` runs everything.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.building import CHECKOUT, SITE

if TYPE_CHECKING:
    from posenc_conformance.scheme_file.scheme import Scheme

BESIDE = ("docs/examples", "tests/known", "tests/libraries", "tests/programs")
"""Folders outside of the kit that its tests read."""
HOOKED: list[bool] = []
OURS = {"__pycache__", ".git", ".hypothesis", ".pytest_cache"}
"""Generated folders without information of their own."""
KEY = pytest.StashKey[str]()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> object:
    """Skip the call of a test that is known to pass; pytest counts it as passed."""
    if KEY not in pyfuncitem.stash:
        return None
    from posenc_lab.store import STORE
    from posenc_lab.verdicts import PASSED

    return True if STORE.text(pyfuncitem.stash[KEY]) == PASSED else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Any:
    """Compute a test's key; unless it is a scheme's, fail on files read that it does not cover."""
    mark = item.get_closest_marker("remembered")
    if mark is None or not isinstance(item, pytest.Function):
        return (yield)
    item.stash[KEY] = _key(item, **mark.kwargs)
    with files_read() as files:
        result = yield
    if {"shipped", "site", "tools"} & mark.kwargs.keys():
        unknown = sorted(files - known(item.module.__name__, files, mark.kwargs))
        assert not unknown, f"name them in also=(…): {', '.join(unknown)}"
    return result


assert np  # loaded before pytester drops the imports of a test: it can be loaded only once

READERS: list[set[str]] = []
"""Sets that collect the names of opened files, one per active :func:`files_read`."""


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if not READERS or event != "open" or not isinstance(arguments[0], str):
        return
    if not _is_read_for_constants(arguments[0]):
        READERS[-1].add(arguments[0])


def _is_read_for_constants(path: str) -> bool:
    """Return whether Hypothesis reads a module, as it does with all that a test has imported."""
    frame = sys._getframe(2) if path.endswith(".py") else None
    while frame is not None:
        if frame.f_globals.get("__name__") == "hypothesis.internal.constants_ast":
            return True
        frame = frame.f_back
    return False


@contextmanager
def files_read() -> Iterator[set[str]]:
    """Collect the repository-relative paths of the repository's files that this process reads."""
    if not HOOKED:
        sys.addaudithook(_note)  # for good: a hook cannot be removed
        HOOKED.append(True)
    opened: set[str] = set()
    READERS.append(opened)
    files: set[str] = set()
    try:
        yield files
    finally:
        READERS.remove(opened)
        paths = (Path(name).absolute() for name in opened)
        files |= {
            path.relative_to(CHECKOUT).as_posix()
            for path in paths
            if path.is_relative_to(CHECKOUT)
            and path.is_file()
            and _is_told(path.relative_to(CHECKOUT))
        }


def _is_told(path: Path) -> bool:
    built = path.parts[0] == "site"
    return not built and not any(
        part in OURS or part.startswith(".venv") for part in path.parts[:-1]
    )


def known(module: str, found: Iterable[str], kwargs: Mapping[str, Any]) -> set[str]:
    """Return the files among ``found`` that the key of a test covers."""
    from posenc_lab import dependencies

    kit = (*dependencies.SHIPPED, dependencies.LABORATORY, *BESIDE) if "shipped" in kwargs else ()
    folders = (*kit, *kwargs.get("also", ()))
    modules = {
        dependencies.files()[name].relative_to(CHECKOUT).as_posix()
        for name in dependencies.closure([module])
    }
    return {
        file
        for file in found
        if file in modules or any(Path(file).is_relative_to(name) for name in folders)
    }


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    """Remember tests that have passed."""
    report: pytest.TestReport = yield
    if report.when == "call" and report.passed and KEY in item.stash:
        from posenc_lab.store import STORE
        from posenc_lab.verdicts import PASSED

        STORE.keep_text(item.stash[KEY], PASSED)
    return report


def _key(
    item: pytest.Function,
    *,
    miniatures: bool = False,
    shipped: bool = False,
    tools: bool = False,
    site: tuple[str, ...] = (),
    also: tuple[str, ...] = (),
) -> str:
    # Imported here: `pytest --impl=…` in the checkout loads this module, too, and needs none of it.
    from posenc_lab import dependencies
    from posenc_lab.verdicts import JUDGE, modules_of_miniatures

    module = item.module.__name__
    if shipped or tools or site:
        kit = (*dependencies.SHIPPED, dependencies.LABORATORY, *BESIDE) if shipped else ()
        inputs = (dependencies.installed(), dependencies.digest_of_files((*kit, *also)))
        shown = dependencies.digest_of_site(item.config.stash[SITE], site) if site else ""
        return dependencies.digest([module], [], item.nodeid, *inputs, shown)
    scheme = _scheme(item.callspec.params)
    beside = (dependencies.digest_of_files(also),) if also else ()
    oracle = f"posenc_conformance.oracle.{scheme.package_name}.{scheme.module_name}"
    more = modules_of_miniatures(scheme) if miniatures else ()
    return dependencies.digest([module, JUDGE, oracle, *more], [scheme], item.nodeid, *beside)


def _scheme(parameters: Mapping[str, Any]) -> "Scheme":
    from posenc_lab.judging import schemes

    if "subject" in parameters:
        return parameters["subject"].scheme  # type: ignore[no-any-return]
    if "scheme" in parameters:
        return parameters["scheme"]  # type: ignore[no-any-return]
    return next(scheme for scheme in schemes() if parameters["call"] in scheme.calls)
