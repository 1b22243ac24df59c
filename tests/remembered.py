"""Tests that have passed are left out while all that they hang on stays as it is.

``@pytest.mark.remembered`` is for a test of one scheme, which is among its parameters as
``scheme``, as ``subject`` or by the name of a ``call``. It hangs on the code that the test's module
imports and on what is found by the scheme's name; with ``miniatures=True`` on its right and wrong
implementations, too. With ``shipped=True`` a test hangs on every file of kit and laboratory, and
``tools=True`` is for one that has nothing to do with them. Both hang on every package that is
installed, and on the files and folders of ``also``. ``POSENC_LAB_STORE=fresh`` runs everything.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from posenc_conformance.scheme_file.model import Scheme

BESIDE = ("docs/examples", "tests/known", "tests/libraries", "tests/programs")
"""What tests of the kit read beside it."""
KEY = pytest.StashKey[str]()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> object:
    """Leave out what is known to pass: for pytest it is called, and returns."""
    mark = pyfuncitem.get_closest_marker("remembered")
    if mark is None:
        return None
    from posenc_lab.store import STORE
    from posenc_lab.verdicts import PASSED

    key = pyfuncitem.stash[KEY] = _key(pyfuncitem, **mark.kwargs)
    return True if STORE.text(key) == PASSED else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    """Remember what has passed."""
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
    also: tuple[str, ...] = (),
) -> str:
    # Here and not above: `pytest --impl=…` in the checkout loads this, too, and needs none of it.
    from posenc_lab import dependencies
    from posenc_lab.verdicts import JUDGE, modules_of_miniatures

    module = item.module.__name__
    if shipped or tools:
        kit = (*dependencies.SHIPPED, dependencies.LABORATORY, *BESIDE) if shipped else ()
        there = (dependencies.installed(), dependencies.digest_of_files((*kit, *also)))
        return dependencies.digest([module], [], item.nodeid, *there)
    scheme = _scheme(item.callspec.params)
    oracle = f"posenc_conformance.oracle.{scheme.module_name}"
    more = modules_of_miniatures(scheme) if miniatures else ()
    return dependencies.digest([module, JUDGE, oracle, *more], [scheme], item.nodeid)


def _scheme(parameters: Mapping[str, Any]) -> "Scheme":
    from posenc_lab.judging import schemes

    if "subject" in parameters:
        return parameters["subject"].scheme  # type: ignore[no-any-return]
    if "scheme" in parameters:
        return parameters["scheme"]  # type: ignore[no-any-return]
    return next(each for each in schemes() if parameters["call"] in each.calls)
