"""Whether a miniature was judged before, with all that the verdict hangs on as it is now."""

from collections.abc import Callable, Iterable

from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.scheme_file.model import Scheme
from posenc_lab.dependencies import digest
from posenc_lab.judging import schemes
from posenc_lab.store import STORE

JUDGE = "posenc_lab.judging"
PASSED = "passed"


def once(key: str, hold: Callable[[], None]) -> None:
    """Hold something that raises if it is not so, unless it was so before under this key."""
    if STORE.text(key) != PASSED:
        hold()
        STORE.keep_text(key, PASSED)


def key_of(adapter: object, name: str, *modules: str) -> str:
    """What the verdict about an adapter hangs on, which is made in these modules."""
    claimed = {subject.scheme.id for subject in subjects(adapter, schemes())}
    return key_of_schemes((each for each in schemes() if each.id in claimed), name, *modules)


def key_of_schemes(some: Iterable[Scheme], name: str, *modules: str) -> str:
    """The same of whatever claims schemes."""
    return digest((JUDGE, *modules), tuple(some), name)
