"""Whether a miniature was judged before, with all that the verdict hangs on as it is now."""

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
    """Hold something that raises if it is not so, unless it was so before under this key."""
    if STORE.text(key) != PASSED:
        hold()
        STORE.keep_text(key, PASSED)


def key_of(adapter: object, name: str, *modules: str) -> str:
    """What the verdict about an adapter hangs on, which is made and asked for in these modules."""
    claimed = {subject.scheme.id for subject in subjects(adapter, schemes())}
    return key_of_schemes((each for each in schemes() if each.id in claimed), name, *modules)


def key_of_schemes(some: Iterable[Scheme], name: str, *modules: str) -> str:
    """The same of whatever asks for schemes."""
    return digest((JUDGE, *modules), tuple(some), name)


def modules_of_miniatures(scheme: Scheme) -> set[str]:
    """The modules that make right and wrong implementations of a scheme."""
    made = {each.__module__ for each in (*WRONG, *STEPS) if each.call in scheme.calls}
    return made | modules_of_right()[scheme.id]


@cache
def modules_of_right() -> Mapping[str, set[str]]:
    """The modules that make right implementations, by the scheme that they claim."""
    found: dict[str, set[str]] = {scheme.id: set() for scheme in schemes()}
    for make in RIGHT:
        for subject in subjects(make(), schemes()):
            found[subject.scheme.id].add(make.__module__)
    return found
