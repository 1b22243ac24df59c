"""Exporting vectors into a folder, and finding what in such a folder is not as it would be now."""

import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from posenc_conformance.commands.describe import guess, scheme_named
from posenc_conformance.commands.export.difference import differences
from posenc_conformance.commands.export.forms import FORMS, Form
from posenc_conformance.commands.export.make import vectors_of
from posenc_conformance.commands.export.vectors import FORMAT, MARK, Vectors
from posenc_conformance.door import (
    LARGEST_CONFIGURATION,
    LARGEST_DOCUMENT,
    read_bytes,
    read_json,
)
from posenc_conformance.errors import UserError, describe_exception
from posenc_conformance.judge.arrays import DTYPES
from posenc_conformance.judge.form import EXACT
from posenc_conformance.judge.knowledge import KnownScheme
from posenc_conformance.registry import require_complete
from posenc_conformance.scheme_file.read import spec_folder

INDEX = "posenc-vectors.json"
SCHEMA = "vectors.schema.json"
HINT = "give a folder that is new or empty, or one that an export has written"


@dataclass(frozen=True)
class Order:
    """What is to be exported."""

    schemes: tuple[str, ...]
    dtypes: tuple[str, ...]
    forms: tuple[str, ...]


def ordered(
    schemes: Sequence[str],
    dtypes: Sequence[str],
    forms: Sequence[str],
    known: Sequence[KnownScheme],
) -> Order:
    """Make an order of names as they were given, each one or several with commas.

    Raises UserError for a name that nothing has.
    """
    asked = [scheme_named(name, known).id for name in _apart(schemes)]
    everything = [scheme.id for scheme in known]
    return Order(
        tuple(dict.fromkeys(asked or everything)),
        _require_known(dtypes or ["float32"], list(DTYPES), "dtype"),
        _require_known(forms or list(FORMS), list(FORMS), "form"),
    )


def _apart(names: Sequence[str]) -> list[str]:
    return [each.strip() for name in names for each in name.split(",")]


def _require_known(names: Sequence[str], known: Sequence[str], what: str) -> tuple[str, ...]:
    found = _apart(names)
    for name in found:
        if name in EXACT:
            raise UserError(
                f"{name} cannot be chosen as a dtype", "such results are always exported"
            )
        if name not in known:
            raise UserError(f"there is no {what} {name!r}", guess(name, known, f"{what}s"))
    return tuple(dict.fromkeys(found))


def export(order: Order, name: str, known: Sequence[KnownScheme]) -> Iterator[str]:
    """Write what is ordered into a folder, all of it or nothing, and yield what was written.

    Raises UserError before any work for a folder that cannot be written or holds something else.
    """
    place = _place(name)
    found: list[Vectors] = []
    for scheme in _schemes(order, known):
        for vectors in vectors_of(scheme, order.dtypes):
            found.append(vectors)
            yield _summary(vectors)
    files = files_of(order, found)
    _replace(place, files)
    size = sum(map(len, files.values()))
    yield f"wrote {len(files)} files, {size / 1e6:.2f} MB, into {place}"


def files_of(order: Order, found: Sequence[Vectors]) -> dict[str, bytes]:
    """Make the files of an export: vectors in each form, their schema, and what was ordered."""
    files = {
        f"{vectors.name}.{FORMS[form].ending}": FORMS[form].encode(vectors)
        for vectors in found
        for form in order.forms
    }
    files[SCHEMA] = (spec_folder() / SCHEMA).read_bytes()
    return files | {INDEX: _index(order, sorted(files))}


def _schemes(order: Order, known: Sequence[KnownScheme]) -> list[KnownScheme]:
    found = [scheme_named(name, known) for name in order.schemes]
    for scheme in found:
        require_complete(scheme)
    return found


def _summary(vectors: Vectors) -> str:
    killed = {name for case in vectors.cases for name in (*case.kills, *case.kills_some)}
    return f"{vectors.name}: {len(vectors.cases)} cases, which reject {len(killed)} known mistakes"


def _index(order: Order, files: Sequence[str]) -> bytes:
    content = {MARK: FORMAT, "license": "MIT", **asdict(order), "files": list(files)}
    return f"{json.dumps(content, indent=1)}\n".encode()


def _place(name: str) -> Path:
    """Find the folder to write, which may replace what an earlier export wrote there.

    Raises UserError if that cannot be.
    """
    try:
        place = Path(name).resolve()
        if not name or (place.exists() and not place.is_dir()):
            raise UserError(f"--out={name} is no folder", HINT)
        parent = place.parent
        if not parent.is_dir():
            raise UserError(f"--out={name}: there is no folder {parent}", "make it first")
        for each in (parent, place):
            if each.exists() and not os.access(each, os.W_OK | os.X_OK):
                raise UserError(f"--out={name}: {each} cannot be written into", HINT)
        others = sorted(_others(place)) if place.exists() else []
    except (OSError, ValueError) as error:  # a name that no file can have
        raise UserError(f"--out={name} cannot be written: {error}", HINT) from None
    if others:
        raise UserError(
            f"--out={name}: this folder holds {others[0]}"
            + (f" and {len(others) - 1} more" if others[1:] else "")
            + "; no export wrote that, and it would be lost",
            HINT,
        )
    return place


def _others(place: Path) -> set[str]:
    """Find what is in a folder that no export has put there."""
    found = {each.name for each in place.iterdir()}
    if INDEX not in found:
        return found
    try:
        written = {INDEX, *_read_index(place)["files"]}
    except UserError:
        return found
    return found - written


def _replace(place: Path, files: Mapping[str, bytes]) -> None:
    """Put files into a folder of this name, all or none."""
    suffix = secrets.token_hex(4)
    draft = place.with_name(f".{place.name[:64]}.{suffix}.part")
    old = place.with_name(f".{place.name[:64]}.{suffix}.old")
    try:
        draft.mkdir()
        for name, content in files.items():
            (draft / name).write_bytes(content)
        if place.exists():
            place.rename(old)
        try:
            draft.rename(place)
        except OSError:
            if old.exists():
                old.rename(place)
            raise
    except OSError as error:
        raise UserError(
            f"{place} could not be written: {error}", "nothing was changed; check space and rights"
        ) from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)


def check(name: str, known: Sequence[KnownScheme]) -> list[str]:
    """Say in words what in an exported folder is not as it would be now.

    Raises UserError for a folder that no export has written.
    """
    place = Path(name)
    index = _read_index(place)
    gone = [each for each in index["schemes"] if each not in {scheme.id for scheme in known}]
    found = [f"{each}: there is no such scheme any more" for each in gone]
    staying = [each for each in index["schemes"] if each not in gone]
    order = Order(tuple(staying), tuple(index["dtypes"]), tuple(index["forms"]))
    expected = {INDEX, SCHEMA}
    for scheme in _schemes(order, known):
        for vectors in vectors_of(scheme, order.dtypes):
            for form in (FORMS[each] for each in order.forms):
                expected.add(f"{vectors.name}.{form.ending}")
                found += _differences(place / f"{vectors.name}.{form.ending}", form, vectors)
    if not _same_schema(place / SCHEMA):
        found.append(f"{SCHEMA}: is not that of this version")
    for each in sorted({each.name for each in place.iterdir()} - expected):
        found.append(f"{each}: is no longer exported, or never was")
    return found


def _same_schema(path: Path) -> bool:
    try:
        kept = read_json(path, LARGEST_CONFIGURATION, HINT)
    except UserError:
        return False
    return bool(kept == json.loads((spec_folder() / SCHEMA).read_bytes()))


def _differences(path: Path, form: Form, now: Vectors) -> list[str]:
    """Say how a file differs from the vectors of now, in what its form can say."""
    try:
        content = read_bytes(path, LARGEST_DOCUMENT, HINT)
    except UserError as error:
        return [error.cause]
    try:
        kept = form.decode(content)
    except Exception as error:  # whatever a reader may say of bytes that are something else
        return [f"{path.name}: is damaged: {describe_exception(error)}"]
    return [f"{path.name}: {each}" for each in differences(kept, form.decode(form.encode(now)))]


def _read_index(place: Path) -> dict[str, Any]:
    """Read what a folder says of its export.

    Raises UserError if the folder holds no exported vectors, or those of another version.
    """
    path = place / INDEX
    hint = "name the folder that posenc export --out wrote"
    index = read_json(path, LARGEST_CONFIGURATION, hint, "holds no exported vectors")
    try:
        names = [each for key in ("schemes", "dtypes", "forms", "files") for each in index[key]]
        right = index[MARK] == FORMAT and all(isinstance(each, str) for each in names)
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
