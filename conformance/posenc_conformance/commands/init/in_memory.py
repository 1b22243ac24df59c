"""What ``posenc init`` would write for a library, judged without a file."""

import linecache
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

from posenc_conformance.adapters.claims import claims_on
from posenc_conformance.adapters.find import (
    Implementation,
    implementation_of,
    load_adapter,
    lying_by,
    registered,
    target,
    versions,
)
from posenc_conformance.commands.init import write
from posenc_conformance.commands.init.calls.patience import (
    LATE_IMPORT,
    NotReturned,
    patience,
    starting,
)
from posenc_conformance.commands.init.candidates import library
from posenc_conformance.commands.init.guess import examine
from posenc_conformance.errors import UserError
from posenc_conformance.files import write_whole
from posenc_conformance.judge.process_state import preventing_exit
from posenc_conformance.remote.command_line import manifest_of
from posenc_conformance.remote.load import How, Isolation, load
from posenc_conformance.scheme_file.scheme import Scheme

PART = re.compile(r"\.py(:|$)|:")
"""What the name of a file or an attribute has: it may be an unfinished adapter."""


def load_or_guess(name: str, how: How, schemes: Sequence[Scheme]) -> Implementation:
    """Load the implementation that ``name`` means, or make an adapter for a library without one.

    The adapter is made in this process, also if it is to run in one of its own. Raises UserError if
    there is no implementation.
    """
    if name in registered() or manifest_of(name) is not None:
        return load(name, how, schemes)
    if how.place is Isolation.APART:
        return _load_apart(name, how, schemes)
    with preventing_exit(), patience(how.seconds):
        return load_here(name)


def _load_apart(name: str, how: How, schemes: Sequence[Scheme]) -> Implementation:
    """Load an adapter into a process of its own, or write one for a library to a temporary file.

    Raises UserError if there is neither, or nothing in the library behaves like a scheme.
    """
    problem = None
    try:
        loaded = load(name, how, schemes)
    except UserError as error:
        problem = error
    else:
        if claims_on(loaded.adapter):
            return loaded
        loaded.end()
    with preventing_exit(), patience(how.seconds):
        written = _written_or_none(name) if problem else _written_if_any(name)
    if written is None:
        if problem:
            raise problem
        return loaded
    text, notes = written
    folder = TemporaryDirectory(prefix="posenc-init-")
    path = Path(folder.name, "adapter.py")
    write_whole(path, f"import sys\n\nsys.path.append({str(Path.cwd())!r})\n{text}")
    made = load(str(path), how, schemes)

    def end() -> None:
        made.end()
        folder.cleanup()

    return replace(made, name=name, end=end, notes=notes, text=text)


def load_here(name: str) -> Implementation:
    """Load an implementation in Python into this process, or make an adapter for a library.

    Raises UserError if there is neither, or nothing in the library behaves like a scheme.
    """
    if name in registered():
        return load_adapter(name)
    try:
        with starting():
            named = target(name)
    except NotReturned as error:
        raise UserError(f"{name} cannot be imported: {error}", LATE_IMPORT) from None
    except UserError as error:
        # Where a package's own code fails, its modules may still work; so may a file in a package,
        # and a distribution whose module has another name.
        missing = error.__cause__ is not None or re.fullmatch(r"[\w-]+", name)
        made = _made_or_none(name) if missing else None
        if made is None:
            raise
        return made
    if claims_on(named):
        return implementation_of(name, named)
    made = _of_text(name, _written_if_any(name))
    return made or implementation_of(name, named)


def _made_or_none(name: str) -> Implementation | None:
    return _of_text(name, _written_or_none(name))


def _written_or_none(name: str) -> tuple[str, tuple[str, ...]] | None:
    try:
        return _written(name)
    except UserError:
        return None


def _written_if_any(name: str) -> tuple[str, tuple[str, ...]] | None:
    """Return the text of an adapter; None for a file, or a part of a module, that may be one.

    Raises UserError if something in it looks like an encoding, and nothing behaves like a scheme.
    """
    try:
        return _written(name)
    except NothingFits:
        raise
    except UserError:
        if PART.search(name):
            return None
        raise


def _of_text(name: str, written: tuple[str, tuple[str, ...]] | None) -> Implementation | None:
    """Return the implementation of an adapter's text, which is in no file."""
    if written is None:
        return None
    text, notes = written
    adapter = _adapter(name, text)
    return Implementation(name, adapter, versions(type(adapter)), notes=notes, text=text)


TEMPLATE = "Adapter"
"""The class of an adapter of ``posenc init``, which claims nothing before it is filled in."""


class NothingFits(UserError):
    """Nothing behaves like a scheme, of what looks like encodings."""


@lru_cache(maxsize=4)
def _written(name: str) -> tuple[str, tuple[str, ...]] | None:
    """Return the text of the adapter, and lines on it."""
    source = library(name)
    if source is None:
        return None
    source, found = examine(source)
    here = lying_by(name)
    if not found.claims:
        seen = ", ".join(part.path for part in source.found) or "none"
        late = f"; {found.late}" if found.late else ""
        named = [*write.of_others(source, found, name)]
        own = [part for part in source.found if part.path != TEMPLATE]
        kind = NothingFits if own or named else UserError
        raise kind(
            f"{name} has no adapter, and nothing in it behaves like a scheme "
            f"(looked at: {seen}){late}{''.join(f'; {line}' for line in named)}",
            f"pytest --impl={here} judges the adapter that lies here"
            if here
            else f"posenc init {name} writes a template to fill in; in an adapter, put "
            "@claims(...) above each method",
        )
    first = (
        f"{name} itself is judged, as what posenc init claims for it; {here}, which lies here, is "
        f"not: for that, pytest --impl={here}"
        if here
        else f"{name} has no adapter, so what posenc init claims for it is judged; "
        f"to write that down: posenc init {name}"
    )
    others = write.of_others(source, found, name)
    return write.adapter(source, found), (first, *write.words(source, found), *others)


def _adapter(name: str, text: str) -> object:
    file = f"<posenc init {name}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    names: dict[str, object] = {}
    exec(compile(text, file, "exec"), names)
    made = names["Adapter"]
    assert isinstance(made, type)
    return made()
