"""The one door for files from outside: regular, opened once, and read no further than their limit.

A reader says how many bytes it takes, packed and unpacked. Whatever it then raises becomes one
message that names the file.
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
"""Bytes of the largest report; an unpacked one takes as much."""
LARGEST_CONFIGURATION = 2**24
"""Bytes of the largest configuration, manifest, scheme or list of known failures."""
MOST_VALUES = 2**22
"""Values of a document, which take up to a hundred bytes of memory each. A larger one may have one
for each ``BYTES_OF_A_VALUE``."""
BYTES_OF_A_VALUE = 16
"""In reports, as the kit writes them, a value takes 22 bytes of the file and more."""
GZIP = b"\x1f\x8b"
GZIP_STREAM = 31
"""What zlib calls its largest window with a header of gzip."""
PIECE = 2**14
"""Bytes that are read or unpacked at a time, where not all of them are kept."""
MOST_MEMBERS = 2**13
"""Members of a packed file. bgzip, which makes the most, makes one of each 64 KiB: 2,048 of the
largest document."""
PADDING = re.compile(rb"\0*")
"""What may stand behind a member: tapes pad what they hold."""
NO_FILES = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


@contextmanager
def opened(path: Path, hint: str, what: str = "cannot be read") -> Iterator[BinaryIO]:
    """Open a regular file to read its bytes; what the block raises becomes a UserError.

    Raises UserError for what is no regular file: nobody waits for a pipe, and a device has no end.
    """
    with named(path, hint, what):
        # Without O_NONBLOCK, opening a pipe waits until somebody writes into it.
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
    """Turn whatever a reader raises into a UserError that names what is read."""
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
    """Return what went wrong, in the words of whoever found it."""
    if isinstance(error, UnicodeDecodeError):
        return f"it is not UTF-8 text ({error.reason} at byte {error.start:,})"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, KeyError):
        return f"{in_line(repr(error.args[0]) if error.args else '')} is missing"
    text = str(error).strip()
    return in_line(text.splitlines()[0] if text else type(error).__name__)


def size_of(stream: BinaryIO) -> int:
    """Return how many bytes an open file has."""
    return os.fstat(stream.fileno()).st_size


def digest_of(stream: BinaryIO) -> str:
    """Compute the digest, SHA-256, of what is left of an open file."""
    found = hashlib.sha256()
    while piece := stream.read(PIECE):
        found.update(piece)
    return found.hexdigest()


def demand_small(where: object, size: int, largest: int, hint: str) -> None:
    """Raise UserError if there are more bytes than are read."""
    if size > largest:
        raise UserError(
            f"{shown(where)} has {_mebibytes(size)}; at most {_mebibytes(largest)} are read", hint
        )


def _mebibytes(size: int) -> str:
    whole = -(-size // 2**20)
    return f"{whole:,} MiB"


def read_bytes(path: Path, largest: int, hint: str, what: str = "cannot be read") -> bytes:
    """Read all of a regular file.

    Raises UserError for what is no regular file, cannot be read or has more bytes than ``largest``.
    """
    with opened(path, hint, what) as stream:
        demand_small(path, size_of(stream), largest, hint)
        content = stream.read(largest + 1)  # it may have grown, and some files do not say how long
        demand_small(path, len(content), largest, hint)
        return content


def read_text(path: Path, hint: str, largest: int = LARGEST_CONFIGURATION) -> str:
    """Read all of a regular file as text.

    Raises UserError for what ``read_bytes`` refuses, and for what is not UTF-8.
    """
    content = read_bytes(path, largest, hint)
    with named(path, hint):
        return content.decode("utf-8-sig")


def read_json(
    path: Path, largest: int, hint: str, what: str = "cannot be read", *, packed: bool = False
) -> Any:
    """Read a document of JSON, which may be packed by gzip.

    Raises UserError for what ``read_bytes`` refuses, for what is not JSON, and for a document with
    more bytes, unpacked, or more values than are read.
    """
    content = read_bytes(path, largest, hint, what)
    with named(path, hint, what):
        if packed and content[:2] == GZIP:
            content = unpack(content, largest)
        return parse_json(content)


def unpack(content: bytes, largest: int) -> bytes:
    """Unpack what gzip has packed, in one member or in several, up to a number of bytes.

    Raises ValueError for more bytes or members, EOFError for what breaks off, and zlib.error for
    what is damaged.
    """
    parts, left, place = [], largest, 0
    for _ in range(MOST_MEMBERS):
        machine = zlib.decompressobj(GZIP_STREAM)
        # In pieces: zlib copies what it has been given beyond the end of a member.
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
    """Parse a document of JSON in UTF-8.

    Raises ValueError for what is not JSON or has more values than are read, and RecursionError for
    one that is nested too deeply.
    """
    most = max(MOST_VALUES, len(content) // BYTES_OF_A_VALUE)
    marks = sum(content.count(each) for each in (b",", b"[", b"{"))
    if marks > most and _count_values(content) > most:
        raise ValueError(f"it has more than {most:,} values")
    if not content.strip():
        raise ValueError("it is empty")
    if content.startswith(POINTER):
        raise ValueError("it is a pointer of Git LFS, and the file itself is not here")
    return json.loads(content.decode("utf-8-sig"), object_pairs_hook=_once)


NO_MARKS = bytes(set(range(256)) - {*b',[{"'})


def _count_values(content: bytes) -> int:
    """Count commas, brackets and braces outside of texts: no document has more values."""
    marks = content.replace(b"\\\\", b"").replace(b'\\"', b"").translate(None, NO_MARKS)
    count = inside = 0
    for start in range(0, len(marks), PIECE):
        parts = marks[start : start + PIECE].split(b'"')
        count += sum(map(len, parts[inside::2]))
        inside ^= len(parts) % 2 == 0
    return count


POINTER = b"version https://git-lfs"
"""How a file begins that stands for one that Git LFS has not fetched."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON, of whose fields none is given twice.

    Raises ValueError if one is: readers differ on which of the two counts.
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{in_line(twice)} is given twice")
    return found
