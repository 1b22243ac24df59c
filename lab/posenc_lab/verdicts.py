"""A cache of passed judgements of miniatures, keyed by everything that a verdict depends on."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache

from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.scheme_file.scheme import Scheme
from posenc_lab.dependencies import digest
from posenc_lab.judging import schemes
from posenc_lab.miniatures import right, wrong
from posenc_lab.miniatures.base import STEPS, WRONG
from posenc_lab.miniatures.styles import RIGHT
from posenc_lab.store import STORE

JUDGE = "posenc_lab.judging"
PASSED = "passed"

assert right.__path__, wrong.__path__  # importing them fills the lists


def once(key: str, hold: Callable[[], None]) -> None:
    """Run ``hold``, which raises on failure, unless it already passed under this key."""
    if STORE.text(key) != PASSED:
        hold()
        STORE.keep_text(key, PASSED)


def key_of(adapter: object, name: str, *modules: str) -> str:
    """Return a digest of all that an adapter's verdict depends on, including ``modules``."""
    claimed = {subject.scheme.id for subject in subjects(adapter, schemes())}
    return key_of_schemes((scheme for scheme in schemes() if scheme.id in claimed), name, *modules)


def key_of_schemes(some: Iterable[Scheme], name: str, *modules: str) -> str:
    """Return a digest of all that a verdict on the schemes ``some`` depends on."""
    return digest((JUDGE, *modules), tuple(some), name)


def modules_of_miniatures(scheme: Scheme) -> set[str]:
    """Return the modules with right and wrong implementations of a scheme."""
    made = {
        miniature.__module__ for miniature in (*WRONG, *STEPS) if miniature.call in scheme.calls
    }
    return made | modules_of_right()[scheme.id]


@cache
def modules_of_right() -> Mapping[str, set[str]]:
    """Return the modules with right implementations, by the id of the claimed scheme."""
    modules: dict[str, set[str]] = {scheme.id: set() for scheme in schemes()}
    for make in RIGHT:
        for subject in subjects(make(), schemes()):
            modules[subject.scheme.id].add(make.__module__)
    return modules
