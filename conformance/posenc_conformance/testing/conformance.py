"""The kit's checks as tests in a user's own test file."""

import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os import PathLike

from posenc_conformance.errors import UserError, in_line


@dataclass(frozen=True, eq=False)
class Conformance:
    """A test file's request to judge an adapter, from which pytest makes tests."""

    adapter: object
    """An adapter's class, the adapter itself, or a name that ``--impl`` takes."""
    given_schemes: object = None
    """The argument ``schemes`` before validation; likewise ``given_known``."""
    given_known: object = ""

    @property
    def schemes(self) -> tuple[str, ...] | None:
        """Ids of the schemes to judge; None for all that are claimed.

        Raises UserError for invalid ids: here and not in the constructor, so that pytest shows no
        traceback through the kit.
        """
        value = self.given_schemes
        if value is None:
            return None
        ids = (value,) if isinstance(value, str) or not isinstance(value, Iterable) else (*value,)
        if not ids or not all(isinstance(scheme, str) for scheme in ids):
            raise UserError(
                f"conformance() is asked for schemes={in_line(repr(value))}",
                'give ids of schemes, schemes=["rope"], or leave it out for all that are claimed',
            )
        return ids

    @property
    def known(self) -> str:
        """The file of known failures, relative to the test file; empty if there is none.

        Raises UserError for an invalid path.
        """
        file = self.given_known
        path = file.__fspath__() if isinstance(file, PathLike) else file
        if not isinstance(path, str) or "\0" in path:
            raise UserError(
                f"conformance() is given known={in_line(repr(file))}",
                'give the path of a file of known failures, known="known.yaml"',
            )
        return path


def conformance(
    adapter: object,
    *,
    schemes: str | Sequence[str] | None = None,
    known: str | PathLike[str] = "",
) -> Conformance:
    """Make one test per check that an adapter's claims call for.

    Assign the result to a name that pytest collects: ``test_rope = conformance(Adapter)``. Plain
    ``pytest`` then collects each check as a test of its own. Raises UserError if called within a
    test, where pytest could not collect the checks.

    Parameters
    ----------
    adapter : class, object or str
        The adapter: its class, an instance, a module, or a name that ``--impl`` takes, such as
        ``"mylib.testing:Adapter"``. A file's path is relative to the test file's folder.
    schemes : str or sequence of str, optional
        Ids of the schemes to judge; if left out, all that the adapter claims.
    known : path, optional
        A file of known failures, as ``posenc known`` writes it, relative to the test file's folder.
    """
    __tracebackhide__ = True
    caller = sys._getframe(1).f_code.co_name
    if caller.startswith("test_") and "PYTEST_CURRENT_TEST" in os.environ:
        raise UserError(
            f"conformance(...) makes tests, and {caller}() is one already: it would judge nothing",
            "write test_rope = conformance(Adapter) outside of functions; within a test, "
            "check(result, 'rope', ...) judges one result",
        )
    return Conformance(adapter, schemes, known)
