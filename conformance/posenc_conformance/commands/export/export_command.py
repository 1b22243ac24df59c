"""Export vectors into a folder, and compare such a folder with a new export."""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from posenc_conformance.commands.describe import guess, scheme_named
from posenc_conformance.commands.export.formats import FORMS, Form
from posenc_conformance.commands.export.make import vectors_of
from posenc_conformance.commands.export.vector_differences import differences
from posenc_conformance.commands.export.vectors import FORMAT, MARK, Vectors
from posenc_conformance.door import (
    LARGEST_CONFIGURATION,
    LARGEST_DOCUMENT,
    named,
    read_bytes,
    read_json,
)
from posenc_conformance.errors import UserError, describe_exception, in_line
from posenc_conformance.files import Writer, demand_folder, is_draft, make_folder, shown
from posenc_conformance.judge.arrays import DTYPES
from posenc_conformance.judge.form import EXACT
from posenc_conformance.judge.knowledge import KnownScheme
from posenc_conformance.registry import require_complete
from posenc_conformance.scheme_file.read import spec_folder

INDEX = "posenc-vectors.json"
SCHEMA = "vectors.schema.json"
DIGESTS = "sha256"
"""The index's field with a digest of each file."""
HINT = "give a folder that is new or empty, or one that an export has written"


@dataclass(frozen=True)
class Order:
    """The schemes, dtypes and forms to export."""

    schemes: tuple[str, ...]
    dtypes: tuple[str, ...]
    forms: tuple[str, ...]


def ordered(
    schemes: Sequence[str],
    dtypes: Sequence[str],
    forms: Sequence[str],
    known: Sequence[KnownScheme],
) -> Order:
    """Make an order from the given names, of which one text may contain several with commas.

    Raises UserError for an unknown name.
    """
    ids = [scheme_named(name, known).id for name in _apart(schemes)]
    everything = [scheme.id for scheme in known]
    return Order(
        tuple(dict.fromkeys(ids or everything)),
        _require_known(dtypes or ["float32"], list(DTYPES), "dtype"),
        _require_known(forms or list(FORMS), list(FORMS), "form"),
    )


def _apart(names: Sequence[str]) -> list[str]:
    return [part.strip() for name in names for part in name.split(",")]


def _require_known(names: Sequence[str], known: Sequence[str], what: str) -> tuple[str, ...]:
    chosen = _apart(names)
    for name in chosen:
        if name in EXACT:
            raise UserError(
                f"{name} cannot be chosen as a dtype", "such results are always exported"
            )
        if name not in known:
            raise UserError(f"there is no {what} {name!r}", guess(name, known, f"{what}s"))
    return tuple(dict.fromkeys(chosen))


def export(
    order: Order, name: str, known: Sequence[KnownScheme], *, force: bool = False
) -> Iterator[str]:
    """Write the ordered vectors into a folder, all or nothing, and yield lines on what is written.

    Raises UserError, before any work, for a folder that cannot be written, or has other files; with
    ``force``, overwrites files with the names of an export's, and leaves all others.
    """
    place = _place(name, force=force)
    exported: list[Vectors] = []
    for scheme in _schemes(order, known):
        for vectors in vectors_of(scheme, order.dtypes):
            exported.append(vectors)
            yield _summary(vectors)
    files = files_of(order, exported)
    _write(place, files, force=force)
    size = sum(map(len, files.values()))
    yield f"wrote {len(files)} files, {size / 1e6:.2f} MB, into {shown(place)}"


def files_of(order: Order, found: Sequence[Vectors]) -> dict[str, bytes]:
    """Make the files of an export: vectors in each form, their schema, and the index."""
    files = {
        f"{vectors.name}.{FORMS[form].ending}": FORMS[form].encode(vectors)
        for vectors in found
        for form in order.forms
    }
    files[SCHEMA] = (spec_folder() / SCHEMA).read_bytes()
    digests = {name: _digest(files[name]) for name in sorted(files)}
    return files | {INDEX: _index(order, digests)}


def _schemes(order: Order, known: Sequence[KnownScheme]) -> list[KnownScheme]:
    schemes = [scheme_named(name, known) for name in order.schemes]
    for scheme in schemes:
        require_complete(scheme)
    return schemes


def _summary(vectors: Vectors) -> str:
    killed = {name for case in vectors.cases for name in (*case.kills, *case.kills_some)}
    return f"{vectors.name}: {len(vectors.cases)} cases, which reject {len(killed)} known mistakes"


def _index(order: Order, digests: Mapping[str, str]) -> bytes:
    content = {MARK: FORMAT, "license": "MIT", **asdict(order), "files": sorted(digests)}
    return f"{json.dumps({**content, DIGESTS: digests}, indent=1)}\n".encode()


def _place(name: str, *, force: bool) -> Path:
    """Return the folder to write, which may contain an earlier export.

    Raises UserError if it cannot be written, or contains other files.
    """
    place = Path(name)
    with named(f"--out={name}", HINT, "cannot be written"):
        demand_folder(place)
        parent = place.parent
        if not name or not parent.is_dir():
            raise UserError(
                f"--out={shown(name)}: there is no folder {shown(parent)}", "make it first"
            )
        for path in (parent, place):
            if path.exists() and not os.access(path, os.W_OK | os.X_OK):
                raise UserError(f"--out={shown(name)}: {shown(path)} cannot be written into", HINT)
        if not force:
            _demand_ours(place)
    return place


def _demand_ours(place: Path) -> None:
    """Raise UserError for a folder with files that no export wrote, or that have been changed."""
    if not place.exists():
        return
    digests = _digests(place)
    names = sorted(path.name for path in place.iterdir() if not is_draft(path.name))
    others = [name for name in names if name not in digests]
    if others:
        raise UserError(
            f"{shown(place)} holds {in_line(others[0])}"
            + (f" and {len(others) - 1} more" if others[1:] else "")
            + "; no export wrote that",
            f"{HINT}; --force overwrites files that an export has, and leaves the rest",
        )
    _writer(digests, force=False).demand(place / name for name in names)


def _writer(digests: Mapping[str, str], *, force: bool) -> Writer:
    """Return a writer that, without ``force``, overwrites only files with digests in the index."""
    return Writer(
        lambda path: (
            digests.get(path.name) in _digests_of(read_bytes(path, LARGEST_DOCUMENT, HINT))
        ),
        "is not as posenc export wrote it, and would be lost",
        force,
    )


def _digests(place: Path) -> Mapping[str, str]:
    """Return the digests of an export's files in a folder, by name; empty without an export."""
    try:
        index = _read_index(place)
    except UserError:
        return {}
    digests = index.get(DIGESTS)
    if not isinstance(digests, dict):
        return {}
    order = Order(*(tuple(index[key]) for key in ("schemes", "dtypes", "forms")))
    return {**digests, INDEX: _digest(_index(order, digests))}


def _digests_of(content: bytes) -> tuple[str, str]:
    """Return the digests of a file as it is, and with the line ends that it had before Git."""
    return _digest(content), _digest(content.replace(b"\r\n", b"\n"))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _write(place: Path, files: Mapping[str, bytes], *, force: bool) -> None:
    """Write the files of an export, the index last, and remove those of an earlier one."""
    if not force:
        _demand_ours(place)  # checked again, since computing takes minutes
    writer = _writer(_digests(place), force=force)
    make_folder(place)
    writer.write({place / name: content for name, content in files.items()})
    writer.remove(path for path in place.iterdir() if path.name not in files)


def check(name: str, known: Sequence[KnownScheme]) -> list[str]:
    """Return lines on the differences between an exported folder and a new export.

    Raises UserError for a folder that no export has written.
    """
    place = Path(name)
    index = _read_index(place)
    gone = [entry for entry in index["schemes"] if entry not in {scheme.id for scheme in known}]
    lines = [f"{entry}: there is no such scheme any more" for entry in gone]
    staying = [entry for entry in index["schemes"] if entry not in gone]
    order = Order(tuple(staying), tuple(index["dtypes"]), tuple(index["forms"]))
    expected = {INDEX, SCHEMA}
    for scheme in _schemes(order, known):
        for vectors in vectors_of(scheme, order.dtypes):
            for form in (FORMS[entry] for entry in order.forms):
                expected.add(f"{vectors.name}.{form.ending}")
                lines += _differences(place / f"{vectors.name}.{form.ending}", form, vectors)
    if not _same_schema(place / SCHEMA):
        lines.append(f"{SCHEMA}: is not that of this version")
    for entry in sorted({entry.name for entry in place.iterdir()} - expected):
        lines.append(f"{entry}: is no longer exported, or never was")
    return lines


def _same_schema(path: Path) -> bool:
    try:
        saved = read_json(path, LARGEST_CONFIGURATION, HINT)
    except UserError:
        return False
    return bool(saved == json.loads((spec_folder() / SCHEMA).read_bytes()))


def _differences(path: Path, form: Form, now: Vectors) -> list[str]:
    """Return lines on how a file differs from the vectors ``now``, as far as its form shows it."""
    try:
        content = read_bytes(path, LARGEST_DOCUMENT, HINT)
    except UserError as error:
        return [error.cause]
    try:
        saved = form.decode(content)
    except Exception as error:  # a reader may raise anything for other bytes
        return [f"{path.name}: is damaged: {describe_exception(error)}"]
    return [f"{path.name}: {line}" for line in differences(saved, form.decode(form.encode(now)))]


def _read_index(place: Path) -> dict[str, Any]:
    """Read the index of an exported folder.

    Raises UserError if the folder has no exported vectors, or those of another version.
    """
    path = place / INDEX
    hint = "name the folder that posenc export --out wrote"
    index = read_json(path, LARGEST_CONFIGURATION, hint, "holds no exported vectors")
    try:
        names = [name for key in ("schemes", "dtypes", "forms", "files") for name in index[key]]
        right = index[MARK] == FORMAT and all(isinstance(name, str) for name in names)
        right = (
            right and set(index["dtypes"]) <= DTYPES.keys() and set(index["forms"]) <= FORMS.keys()
        )
    except (KeyError, TypeError):
        right = False
    if not right:
        raise UserError(
            f"{path} was not written by this version of posenc export",
            "export anew, into a new folder",
        )
    return dict(index)
