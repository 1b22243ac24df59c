"""Read external files: only regular ones, opened once and read no further than a limit.

A reader passes its limits on packed and unpacked bytes. Any exception that it raises becomes a
UserError that names the file.
"""

import hashlib
import json
import os
import re
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from posenc_conformance.errors import UserError, in_line
from posenc_conformance.files import shown

LARGEST_DOCUMENT = 2**27
"""Limit on the bytes of a report, packed or unpacked."""
LARGEST_CONFIGURATION = 2**24
"""Limit on the bytes of a configuration, manifest, scheme or list of known failures."""
MOST_VALUES = 2**22
"""Limit on the number of values in a document: each takes up to a hundred bytes of memory. A large
document may have one value per ``BYTES_OF_A_VALUE`` bytes."""
BYTES_OF_A_VALUE = 16
"""Bytes of file per value. In the kit's own reports, a value takes at least 22 bytes."""
GZIP = b"\x1f\x8b"
GZIP_STREAM = 31
"""The ``wbits`` of zlib for its largest window and a gzip header."""
PIECE = 2**14
"""Bytes read or unpacked at a time."""
MOST_MEMBERS = 2**13
"""Limit on the members of a packed file. bgzip, which makes the most, makes one per 64 KiB: 2,048
for the largest document."""
PADDING = re.compile(rb"\0*")
"""Zero bytes that may follow a gzip member, as on tapes."""
NO_FILES = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


@contextmanager
def opened(path: Path, hint: str, what: str = "cannot be read") -> Iterator[BinaryIO]:
    """Open a regular file to read its bytes; turn exceptions in the block into a UserError.

    Raises UserError for anything but a regular file: reading a pipe would wait, and a device has no
    end.
    """
    with named(path, hint, what):
        # Without O_NONBLOCK, opening a pipe blocks until a writer opens it.
        number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(number, "rb") as stream:
            mode = os.fstat(stream.fileno()).st_mode
            if not stat.S_ISREG(mode):
                kind = NO_FILES.get(stat.S_IFMT(mode), "something else")
                raise UserError(
                    f"{shown(path)} {what}: it is {kind}, not a regular file",
                    "save what it gives into a file, and name that",
                )
            yield stream


@contextmanager
def named(where: object, hint: str, what: str = "cannot be read") -> Iterator[None]:
    """Turn any exception of a reader into a UserError that names ``where``."""
    where = shown(where)
    try:
        yield
    except UserError:
        raise
    except RecursionError as error:
        raise UserError(f"{where} {what}: it is nested too deeply", hint) from error
    except MemoryError as error:
        raise UserError(f"{where} {what}: it asks for more memory than there is", hint) from error
    except Exception as error:
        raise UserError(f"{where} {what}: {_reason(error)}", hint) from error


def _reason(error: Exception) -> str:
    """Describe an exception in a short phrase."""
    if isinstance(error, UnicodeDecodeError):
        return f"it is not UTF-8 text ({error.reason} at byte {error.start:,})"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, KeyError):
        return f"{in_line(repr(error.args[0]) if error.args else '')} is missing"
    text = str(error).strip()
    return in_line(text.splitlines()[0] if text else type(error).__name__)


def size_of(stream: BinaryIO) -> int:
    """Return the size of an open file, in bytes."""
    return os.fstat(stream.fileno()).st_size


def digest_of(stream: BinaryIO) -> str:
    """Compute the SHA-256 digest of an open file, from the current position on."""
    digest = hashlib.sha256()
    while piece := stream.read(PIECE):
        digest.update(piece)
    return digest.hexdigest()


def demand_small(where: object, size: int, largest: int, hint: str) -> None:
    """Raise UserError if ``size`` exceeds ``largest``."""
    if size > largest:
        raise UserError(
            f"{shown(where)} has {_mebibytes(size)}; at most {_mebibytes(largest)} are read", hint
        )


def _mebibytes(size: int) -> str:
    whole = -(-size // 2**20)
    return f"{whole:,} MiB"


def read_bytes(path: Path, largest: int, hint: str, what: str = "cannot be read") -> bytes:
    """Read a whole regular file.

    Raises UserError for anything but a regular file, for one that cannot be read, and for one with
    more than ``largest`` bytes.
    """
    with opened(path, hint, what) as stream:
        demand_small(path, size_of(stream), largest, hint)
        content = stream.read(largest + 1)  # it may have grown, and some files report no size
        demand_small(path, len(content), largest, hint)
        return content


def read_text(path: Path, hint: str, largest: int = LARGEST_CONFIGURATION) -> str:
    """Read a whole regular file as text.

    Raises UserError for what ``read_bytes`` refuses, and for anything but UTF-8.
    """
    content = read_bytes(path, largest, hint)
    with named(path, hint):
        return content.decode("utf-8-sig")


def read_json(
    path: Path, largest: int, hint: str, what: str = "cannot be read", *, packed: bool = False
) -> Any:
    """Read a JSON document, which may be packed by gzip if ``packed``.

    Raises UserError for what ``read_bytes`` refuses, for invalid JSON, and for a document with too
    many values or more than ``largest`` unpacked bytes.
    """
    content = read_bytes(path, largest, hint, what)
    with named(path, hint, what):
        if packed and content[:2] == GZIP:
            content = unpack(content, largest)
        return parse_json(content)


def unpack(content: bytes, largest: int) -> bytes:
    """Unpack gzip data of one or several members, up to ``largest`` bytes.

    Raises ValueError for more bytes or too many members, EOFError for truncated data, and
    zlib.error for damaged data.
    """
    parts, left, place = [], largest, 0
    for _ in range(MOST_MEMBERS):
        machine = zlib.decompressobj(GZIP_STREAM)
        # In pieces: zlib copies all input beyond the end of a member.
        while not machine.eof:
            piece = content[place : place + PIECE]
            if not piece:
                raise EOFError("what is packed breaks off")
            part = machine.decompress(piece, left + 1)
            left -= len(part)
            if left < 0:
                raise ValueError(f"unpacked it has more than {_mebibytes(largest)}")
            parts.append(part)
            place += len(piece) - len(machine.unused_data)
        if padding := PADDING.match(content, place):
            place = padding.end()
        if place == len(content):
            return b"".join(parts)
    raise ValueError(f"it is packed in more than {MOST_MEMBERS:,} members")


def parse_json(content: bytes) -> Any:
    """Parse a JSON document in UTF-8.

    Raises ValueError for invalid JSON and for too many values, and RecursionError for a document
    that is nested too deeply.
    """
    most = max(MOST_VALUES, len(content) // BYTES_OF_A_VALUE)
    marks = sum(content.count(mark) for mark in (b",", b"[", b"{"))
    if marks > most and _count_values(content) > most:
        raise ValueError(f"it has more than {most:,} values")
    if not content.strip():
        raise ValueError("it is empty")
    if content.startswith(POINTER):
        raise ValueError("it is a pointer of Git LFS, and the file itself is not here")
    return json.loads(content.decode("utf-8-sig"), object_pairs_hook=_once)


NO_MARKS = bytes(set(range(256)) - {*b',[{"'})


def _count_values(content: bytes) -> int:
    """Count commas, brackets and braces outside of strings, to bound the number of values."""
    marks = content.replace(b"\\\\", b"").replace(b'\\"', b"").translate(None, NO_MARKS)
    count = inside = 0
    for start in range(0, len(marks), PIECE):
        parts = marks[start : start + PIECE].split(b'"')
        count += sum(map(len, parts[inside::2]))
        inside ^= len(parts) % 2 == 0
    return count


POINTER = b"version https://git-lfs"
"""First bytes of a Git LFS pointer, which replaces a file that was not fetched."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object, refusing duplicate keys.

    Raises ValueError for a duplicate key: readers differ on which of the two values counts.
    """
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{in_line(twice)} is given twice")
    return fields
