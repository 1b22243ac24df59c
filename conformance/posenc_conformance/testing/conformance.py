"""The kit's checks as tests in a user's own test file."""

import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os import PathLike

from posenc_conformance.errors import UserError, in_line


@dataclass(frozen=True, eq=False)
class Conformance:
    """The request of a test file to judge an adapter; pytest makes tests of it."""

    adapter: object
    """An adapter's class, the adapter itself, or a name that ``--impl`` takes."""
    given_schemes: object = None
    """The argument ``schemes``, not validated yet; likewise ``known``."""
    given_known: object = ""

    @property
    def schemes(self) -> tuple[str, ...] | None:
        """Ids of the schemes to judge; None for all that are claimed.

        Raises UserError for invalid ids: here and not in the constructor, so that pytest shows the
        error without lines of the kit.
        """
        given = self.given_schemes
        if given is None:
            return None
        ids = (given,) if isinstance(given, str) or not isinstance(given, Iterable) else (*given,)
        if not ids or not all(isinstance(each, str) for each in ids):
            raise UserError(
                f"conformance() is asked for schemes={in_line(repr(given))}",
                'give ids of schemes, schemes=["rope"], or leave it out for all that are claimed',
            )
        return ids

    @property
    def known(self) -> str:
        """The file of known failures, relative to the test file; empty if there is none.

        Raises UserError for an invalid path.
        """
        given = self.given_known
        path = given.__fspath__() if isinstance(given, PathLike) else given
        if not isinstance(path, str) or "\0" in path:
            raise UserError(
                f"conformance() is given known={in_line(repr(given))}",
                'give the path of a file of known failures, known="known.yaml"',
            )
        return path


def conformance(
    adapter: object,
    *,
    schemes: str | Sequence[str] | None = None,
    known: str | PathLike[str] = "",
) -> Conformance:
    """Make tests of all checks that an adapter's claims call for.

    Assign the result to a name that pytest takes for a test: ``test_rope = conformance(Adapter)``.
    Plain ``pytest`` then collects each check as a test of its own. Raises UserError within a test,
    where nothing would collect them.

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
    caller = sys._getframe(1).f_code.co_name
    if caller.startswith("test_") and "PYTEST_CURRENT_TEST" in os.environ:
        raise UserError(
            f"conformance(...) makes tests, and {caller}() is one already: it would judge nothing",
            "write test_rope = conformance(Adapter) outside of functions; within a test, "
            "check(result, 'rope', ...) judges one result",
        )
    return Conformance(adapter, schemes, known)
