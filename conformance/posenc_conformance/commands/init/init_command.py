"""The command ``posenc init``, from a name to a file."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from posenc_conformance.commands.init import languages, template, write
from posenc_conformance.commands.init.calls.patience import patience
from posenc_conformance.commands.init.candidates import Library, library
from posenc_conformance.commands.init.guess import Guess, examine
from posenc_conformance.errors import UserError, in_line
from posenc_conformance.files import Writer
from posenc_conformance.remote.command_line import seconds_of


def init(
    name: str,
    schemes: Sequence[str] = (),
    language: str | None = None,
    *,
    force: bool = False,
    seconds: float | None = None,
) -> Iterator[str]:
    """Write an adapter for a library into the current folder, and yield lines on it.

    For a language other than Python, the library is not examined: the adapter is one to start from.
    A call of the library that takes longer than ``seconds`` is ended.

    Raises UserError for a name that no module can have, a library that cannot be imported, a scheme
    that does not exist, and, unless ``force`` is given, for a file that exists.
    """
    if language is not None:
        if schemes:
            raise UserError(
                f"posenc init --language={language} takes no schemes",
                "leave them out: with --language, the library is not looked at",
            )
        yield from languages.start(_stem(name), language, force=force)
        return
    seconds = None if seconds is None else seconds_of(seconds, "--posenc-timeout")
    stem = _stem(name)
    path = Path(f"{stem}_adapter.py")
    hint = (
        f"judge it with pytest --impl={path}, and what would be written with pytest "
        f"--impl={in_line(name)}; "
        "for another file move it away, or have it overwritten by --force"
    )
    writer = Writer(force=force, hint=hint)
    writer.demand([path])
    blank = template.text(stem, schemes)
    guessed = Guess()
    with patience(seconds):
        source = library(name)
        if source:
            source, guessed = examine(source, schemes)
    if source and guessed.claims:
        missing = [scheme for scheme in schemes if scheme not in _schemes_of(guessed)]
        writer.write({path: write.adapter(source, guessed, Path.cwd()) + template.blocks(missing)})
        yield from write.words(source, guessed)
        yield from write.of_others(source, guessed, name, schemes)
        yield f"wrote {path}; judge it with: pytest --impl={path}"
        yield from write.unfit(source, guessed)
    elif source:
        seen = [part.path for part in source.found]
        writer.write({path: template.unfilled(stem, source.module.__name__, seen, schemes)})
        yield from _nothing(source, seen)
        yield from write.of_others(source, guessed, name, schemes)
        if guessed.late:
            yield f"  {guessed.late}"
        yield f"wrote {path}; nothing is judged until it is filled in"
        yield from write.unfit(source, guessed)
    else:
        writer.write({path: blank})
        yield f"no module called {name} can be imported here: the adapter claims nothing yet"
        yield f"wrote {path}; nothing is judged until it is filled in"


def _stem(name: str) -> str:
    """Return the stem of the adapter's name: the attribute, the module's last name, or the file.

    Raises UserError for a name that no module can have.
    """
    last = re.sub(r"\.py$", "", Path(name.partition(":")[0]).name)
    stem = name.partition(":")[2].replace(".", "_") or last.rpartition(".")[2]
    stem = stem.replace("-", "_")
    if not re.fullmatch(r"[A-Za-z_]\w*", stem) or (name != stem and not _is_target(name)):
        raise UserError(f"{name!r} cannot name a library", "use letters, digits and underscores")
    return stem


def _is_target(name: str) -> bool:
    return name.partition(":")[0].endswith(".py") or bool(re.fullmatch(r"[\w.:-]+", name))


def _schemes_of(guessed: Guess) -> set[str]:
    return {claim.fit.scheme.id for claim in guessed.claims.values()}


def _nothing(found: Library, seen: Sequence[str]) -> Iterator[str]:
    yield (
        f"nothing in {found.module.__name__} behaves like a scheme "
        f"(looked at: {', '.join(seen) or 'none'}): the adapter claims nothing yet"
    )
    yield from write.unread(found)
