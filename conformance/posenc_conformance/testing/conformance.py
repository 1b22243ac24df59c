"""The kit's checks as tests of somebody's own test file."""

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike, fspath


@dataclass(frozen=True, eq=False)
class Conformance:
    """What a test file asks to be judged; pytest makes tests of it."""

    adapter: object
    """An adapter's class, the adapter itself, or a name that ``--impl`` takes."""
    schemes: tuple[str, ...] | None = None
    """Ids of the schemes to judge; None for all that are claimed."""
    known: str = ""
    """The file of known failures, seen from the test file; empty if there is none."""


def conformance(
    adapter: object,
    *,
    schemes: str | Sequence[str] | None = None,
    known: str | PathLike[str] = "",
) -> Conformance:
    """Make tests of all checks that an adapter's claims call for.

    Give it a name that pytest takes for a test: ``test_rope = conformance(Adapter)``. Plain
    ``pytest`` collects the checks then, each as a test of its own.

    Parameters
    ----------
    adapter : class, object or str
        The adapter: its class, an instance, a module, or a name that ``--impl`` takes, such as
        ``"mylib.testing:Adapter"``. The path of a file is that from the test file's folder.
    schemes : str or sequence of str, optional
        Ids of the schemes that are judged; all that the adapter claims if left out.
    known : path, optional
        A file of known failures, as ``posenc known`` writes it, seen from the test file's folder.
    """
    chosen = (schemes,) if isinstance(schemes, str) else schemes
    return Conformance(adapter, None if chosen is None else tuple(chosen), fspath(known))
