"""The test vectors that the site offers, generated when it is built and stored nowhere else."""

import io
import re
import zipfile
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path

from blocks.scheme_blocks import schemes
from markup import code, fenced, table
from posenc_conformance.commands.export.export_command import INDEX, Order, files_of
from posenc_conformance.commands.export.formats import FORMS
from posenc_conformance.commands.export.make import vectors_of
from posenc_conformance.commands.export.vectors import Vectors

PAGE = "vectors"
DTYPES = ("float32", "bfloat16")
"""Dtypes of archives to download; the first dtype also as single files."""


@lru_cache
def exported(dtype: str) -> tuple[Vectors, ...]:
    """Make the vectors of all schemes in one dtype, and of calls that have no floating dtype."""
    return tuple(file for scheme in schemes().values() for file in vectors_of(scheme, [dtype]))


@lru_cache
def files(dtype: str) -> Mapping[str, bytes]:
    """Make the files that ``posenc export`` writes for all schemes in one dtype."""
    return files_of(Order(tuple(schemes()), (dtype,), tuple(FORMS)), exported(dtype))


@lru_cache
def archive(dtype: str) -> bytes:
    """Pack the files of one dtype into a reproducible archive."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in files(dtype).items():
            entry = zipfile.ZipInfo(f"posenc-vectors/{name}")
            entry.compress_type = zipfile.ZIP_DEFLATED
            packed.writestr(entry, content)
    return stream.getvalue()


def write(site: Path) -> None:
    """Write archives and files to where the page links to them."""
    folder = site / PAGE
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files(DTYPES[0]).items():
        if name != INDEX:
            (folder / name).write_bytes(content)
    for dtype in DTYPES:
        (folder / _archive_name(dtype)).write_bytes(archive(dtype))


def _archive_name(dtype: str) -> str:
    return f"posenc-vectors-{dtype}.zip"


def archives() -> str:
    """Tabulate the archives with their numbers of cases and sizes."""
    rows = []
    for dtype in DTYPES:
        count = sum(len(vectors.cases) for vectors in exported(dtype))
        size = f"{len(archive(dtype)) / 1e6:.1f} MB"
        rows.append([_link(_archive_name(dtype)), code(dtype), f"{count:,}", size])
    return table(["archive", "dtype", "cases", "size"], rows)


def downloads() -> str:
    """Tabulate the files of each scheme in the first dtype."""
    rows = []
    for vectors in exported(DTYPES[0]):
        names = [f"{vectors.name}.{form.ending}" for form in FORMS.values()]
        cells = [f"{_link(name, form)}" for name, form in zip(names, FORMS, strict=True)]
        noted = {id for case in vectors.cases for id in (*case.kills, *case.kills_some)}
        numbers = [str(len(vectors.cases)), str(len(noted))]
        rows.append([code(vectors.name), *numbers, ", ".join(cells)])
    head = ["scheme and dtype", "cases", "known mistakes that they reject", "files"]
    return table(head, rows)


def sample() -> str:
    """Show one case in the text format."""
    text = files(DTYPES[0])[f"rope.{DTYPES[0]}.txt"].decode()
    match = re.search(r"^case interleaved-d2\n.*?^end$", text, re.M | re.S)
    assert match is not None
    return fenced(match[0], title=f"rope.{DTYPES[0]}.txt")


def _link(name: str, words: str = "") -> str:
    """Link to a file next to the page, which MkDocs does not know during the build."""
    return f'<a href="{name}" download>{words or name}</a>'


BLOCKS: dict[str, Callable[[], str]] = {
    "vectors:archives": archives,
    "vectors:downloads": downloads,
    "vectors:sample": sample,
}
