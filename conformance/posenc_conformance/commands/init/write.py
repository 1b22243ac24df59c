"""The text of an adapter, and the report on it."""

import json
import os
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path
from textwrap import wrap

from posenc_conformance.commands.init.beside import is_of_own_tables, left_makers
from posenc_conformance.commands.init.calls.other_schemes import scheme_told
from posenc_conformance.commands.init.calls.scaled import scaling_told
from posenc_conformance.commands.init.candidates import Library
from posenc_conformance.commands.init.draft import Draft, header
from posenc_conformance.commands.init.fit import Claimed, Fit
from posenc_conformance.commands.init.guess import Guess
from posenc_conformance.commands.init.probes import BASE

WIDTH = 100
KEYS = "rope_query_key"
MOST_UP = 2
"""Folders above that of an adapter in which, or below which, a library is near it."""
SHOWN = 6
"""The number of modules that are listed with the reason why they cannot be imported."""


def adapter(library: Library, guess: Guess, place: Path | None = None) -> str:
    """Return the text of the adapter, which is written into the folder ``place`` if into any."""
    name = library.module.__name__
    claims = [guess.claims[call] for call in guess.claims]
    drafts = [claim.fit.draft for claim in claims]
    lines = [
        f'"""Connects {name} to the posenc conformance kit; written by posenc init."""',
        "",
        *_folder(library, place),
        *_bare(library, drafts),
        *header(drafts),
        *_setup(drafts),
        "",
        "",
        "class Adapter:",
        f'    """What {name} implements."""',
        "",
    ]
    requires = _requires(library)
    if requires:
        lines += [f"    requires = ({', '.join(map(_quoted, requires))},)", ""]
    for claim in claims:
        lines += [*_method(claim), ""]
    lines += [f"    # {line}" if line else "" for line in _leftovers(guess)]
    return "\n".join(lines).rstrip() + "\n"


def _setup(drafts: list[Draft]) -> list[str]:
    """Return the lines that make cached objects, and the functions, each once."""
    lines = dict.fromkeys(line for draft in drafts for line in draft.setup if len(draft.setup) == 1)
    blocks = dict.fromkeys("\n".join(draft.setup) for draft in drafts if len(draft.setup) > 1)
    return [*(["", *lines] if lines else []), *(f"\n\n{block}" for block in blocks)]


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _folder(library: Library, place: Path | None) -> list[str]:
    """Return the lines that find a library in a file, from any working directory.

    A path near the adapter is relative to it, so that both can be moved or cloned together.
    """
    folder = library.folder
    if folder is None or folder == (place or Path.cwd()):
        return []
    steps = Path(os.path.relpath(folder, place)).parts if place else ()
    up = steps.count("..")
    if not steps or up > MOST_UP:
        return ["import sys", "", f"sys.path.insert(0, {str(folder)!r})"]
    near = " / ".join([f"Path(__file__).resolve().parents[{up}]", *map(_quoted, steps[up:])])
    return [
        "import sys",
        "from pathlib import Path",
        "",
        f"sys.path.insert(0, str({near}))",
    ]


def _bare(library: Library, drafts: list[Draft]) -> list[str]:
    """Return the lines that put packages in place whose own code fails."""
    used = {part.module for draft in drafts for part in draft.parts}
    lines = [
        f'bare_package("{name}")  # its own code raises {reason}'[:WIDTH]
        for name, reason in library.bare.items()
        if any(f"{module}.".startswith(f"{name}.") for module in used)
    ]
    return ["from posenc_conformance.adapters import bare_package", "", *lines, ""] if lines else []


def _requires(library: Library) -> tuple[str, ...]:
    root = library.module.__name__.partition(".")[0]
    return tuple(dict.fromkeys(metadata.packages_distributions().get(root, ())))


def _method(claimed: Claimed) -> Iterator[str]:
    fit = claimed.fit
    if fit.mistake:
        yield f"    # It comes nearest to {fit.combination.name}: {fit.mistake}."
    for note in claimed.notes:
        yield f"    # {note}"
    for line in "\n".join(claimed.lines).split("\n"):
        yield f"    {line}"
    for line in fit.draft.source().rstrip("\n").split("\n"):
        yield wrapped(line)


def wrapped(line: str) -> str:
    """Return a line of code, with its outermost call on several lines if it is too long."""
    start, end = line.find("("), line.rfind(")")
    if len(line) <= WIDTH or start < 0 or end < start:
        return line
    indent = line[: len(line) - len(line.lstrip())]
    inner, depth = "", 0
    for character in line[start + 1 : end]:
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(character, 0)
        if depth < 0:  # the first bracket closes early: the line is left as it is
            return line
        inner += f",\n{indent}   " if character == "," and depth == 0 else character
    return f"{line[: start + 1]}\n{indent}    {inner},\n{indent}{line[end:]}"


def _leftovers(guess: Guess) -> Iterator[str]:
    for each in _unpaired(guess):
        yield from wrap(each, 90)
    for fit in guess.others:
        of = ", its keys unseen" if fit.draft.both else ""
        yield f"not judged: {_name_of(fit)}, which fits too: {fit.combination.name}{of}"
    for fit in guess.near:
        yield f"not judged: {_nearest(fit)}"
    yield from (
        line for each in _unjudged(guess) for line in wrap(each, 90, break_on_hyphens=False)
    )


def _nearest(fit: Fit) -> str:
    return f"{_name_of(fit)} fits nothing; nearest is {fit.combination.name}: {fit.mistake}"


def _unjudged(guess: Guess) -> Iterator[str]:
    """Yield lines on what is not judged: methods beside the claimed ones, and what fits nothing."""
    if guess.unjudged:
        yield f"not judged: {', '.join(guess.unjudged)}"
    if guess.late:
        yield f"not judged, or not whole: {guess.late}"
    if guess.unknown:
        names = ", ".join(part.path for part in guess.unknown)
        yield f"not judged, since no way tried to call it fits a scheme: {names}"


def _name_of(fit: Fit) -> str:
    return f"{fit.draft.call.name}: {fit.draft.what}"


def words(library: Library, guess: Guess) -> Iterator[str]:
    """Yield lines that report the findings, to be printed."""
    name = library.module.__name__
    count = len(library.found)
    phrase = "thing looks like a positional encoding"
    yield f"{name}: {count} {phrase if count == 1 else 'things look like positional encodings'}"
    yield from unread(library)
    yield from _unpaired(guess)
    for fit in guess.near:
        yield f"not judged: {_nearest(fit)}"
    yield from _unjudged(guess)
    for each in guess.claims.values():
        yield from _claim_lines(each)
    for fit in guess.others:
        part = fit.draft.parts[0]
        yield (
            f"not judged: {_name_of(fit)}, which behaves like {fit.combination.name} too"
            f"{', and its keys were not looked at' if fit.draft.both else ''}; "
            f"to write one for it: posenc init {part.module}:{part.path}"
        )


def unfit(library: Library, guess: Guess) -> Iterator[str]:
    """Yield a line on the parts that fit no scheme, if there are any, to be printed last."""
    wrong = [claim.fit for claim in guess.claims.values() if claim.fit.mistake]
    parts = [*(fit.draft.what for fit in (*wrong, *guess.near))]
    names = dict.fromkeys([*parts, *(part.path for part in guess.unknown)])
    if names:
        many = f"{len(names)} of {max(len(names), len(library.found))}"
        ends = "each is wrong, or has a form that is not tried"
        yield f"FITS NOTHING: {many}, {', '.join(names)}; {ends}"


def of_others(
    library: Library, guess: Guess, name: str, asked: Sequence[str] = ()
) -> Iterator[str]:
    """Yield lines on parts named after schemes by which they are not judged.

    Schemes that are ``asked`` for by name have their methods in the adapter already.
    """
    named: dict[str, list[str]] = {}
    for part in (*guess.unknown, *library.listed):
        scheme = scheme_told(part.named)
        if scheme and scheme not in asked:
            named.setdefault(scheme, []).append(part.path)
    for scheme, paths in named.items():
        yield (
            f"not judged: {', '.join(paths)}: named after {scheme}, whose calls are not tried; "
            f"posenc init {name} {scheme} writes its methods to fill in"
        )
    yield from _of_scalings(guess)


def _of_scalings(guess: Guess) -> Iterator[str]:
    """Yield lines on parts named after a scaling whose factor is none of their parameters."""
    for part in guess.unknown:
        if scheme := scaling_told(part):
            yield (
                f"NOT JUDGED: {part.path}: it is named after {scheme}, and none of its parameters "
                "is known to be the factor; with its defaults it is no plain rope"
            )


def _unpaired(guess: Guess) -> Iterator[str]:
    """Yield a line on tables that are not judged: those of makers that do not fit, or of none."""
    parts = [*guess.unknown, *(part for fit in guess.near for part in fit.draft.parts)]
    for claim in guess.claims.values():
        makers = dict.fromkeys(part.path for part in left_makers(claim.fit, parts))
        if makers:
            yield (
                f"NOT JUDGED: {', '.join(makers)}: {claim.fit.draft.what} fits with right tables, "
                "which the adapter makes itself, and with no others that were tried"
            )
            return
        if is_of_own_tables(claim.fit):
            yield (
                f"  not judged: what makes the tables of {claim.fit.draft.what}, which gets right "
                "ones from the adapter"
            )
            return


def unread(library: Library) -> Iterator[str]:
    """Yield lines on what was not searched, or not called, and why."""
    names = [part.path for part in library.listed]
    if names:
        others = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
        shown = ", ".join(names[:SHOWN])
        yield f"  not judged, since no call that is tried has their form: {shown}{others}"
    for name, reason in library.bare.items():
        yield f"  {name} cannot be imported ({reason}), so only its modules are looked at"
    for name, reason in list(library.failed.items())[:SHOWN]:
        yield f"  {name} was not looked at: {reason}"
    more = len(library.failed) - SHOWN
    if more > 0:
        yield f"  {more} more of its modules were not looked at, since importing them fails"
    if library.left_out:
        yield (
            f"  {library.left_out} of its modules were not looked at, to save time; "
            f"name one to see it alone: posenc init {library.module.__name__}.…"
        )


def _claim_lines(claimed: Claimed) -> Iterator[str]:
    fit = claimed.fit
    taken = [name for name in fit.draft.call.combinations if f'"{name}"' in claimed.lines[0]]
    like = " and ".join(taken)
    if fit.mistake:
        be = "are" if len(taken) > 1 else "is"
        yield f"{_name_of(fit)} fits nothing; {like} {be} claimed, the nearest: {fit.mistake}"
    else:
        right = " and ".join(name for name in taken if name not in claimed.wrong)
        yield (
            f"{_name_of(fit)} behaves like {right} (worst error {fit.worst:.2g} of the bound)"
            f"{_otherwise(fit, taken)}"
        )
        yield from _unusual_base(fit)
        for name, error in claimed.wrong.items():
            off = f"wrong ({error:.2g} times the bound)"
            yield f"  {name}, which it takes too, is {off}; it is claimed"
    for note in claimed.notes:
        yield f"  {note}"


def _unusual_base(fit: Fit) -> Iterator[str]:
    """Yield a line on a base that the code does not name, unless it is the usual one."""
    if fit.base not in (BASE, fit.draft.default_base):
        halved = ", and 10000 with halved exponents gives the same numbers" * (fit.base**2 == BASE)
        yield f"  with the base {fit.base:g}; the usual one is {BASE:g}{halved}"


def _otherwise(fit: Fit, taken: Sequence[str]) -> str:
    others = [name for name in fit.draft.call.combinations if name not in taken]
    if (
        not others or len(taken) > 1 or fit.draft.call.name == KEYS
    ):  # keys follow the convention of queries
        return ""
    return f"; if you meant {others[0]}, claim that to see how it fails"
