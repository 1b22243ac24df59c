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
    """Return a key of all that an adapter's verdict depends on, including these modules."""
    claimed = {subject.scheme.id for subject in subjects(adapter, schemes())}
    return key_of_schemes((each for each in schemes() if each.id in claimed), name, *modules)


def key_of_schemes(some: Iterable[Scheme], name: str, *modules: str) -> str:
    """Return the same key for given schemes."""
    return digest((JUDGE, *modules), tuple(some), name)


def modules_of_miniatures(scheme: Scheme) -> set[str]:
    """Return the modules with right and wrong implementations of a scheme."""
    made = {each.__module__ for each in (*WRONG, *STEPS) if each.call in scheme.calls}
    return made | modules_of_right()[scheme.id]


@cache
def modules_of_right() -> Mapping[str, set[str]]:
    """Return the modules with right implementations, by the scheme that they claim."""
    found: dict[str, set[str]] = {scheme.id: set() for scheme in schemes()}
    for make in RIGHT:
        for subject in subjects(make(), schemes()):
            found[subject.scheme.id].add(make.__module__)
    return found
