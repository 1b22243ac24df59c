"""Metadata of GGUF files, as the configuration that they were made from.

The format is that of llama.cpp, described in docs/gguf.md of ggml-org/ggml: a header, pairs of key
and value, the list of tensors, and the tensors. Only the few tensors that divide frequencies are
read.
"""

import struct
from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

from posenc_conformance.door import POINTER, opened
from posenc_conformance.errors import in_line
from posenc_conformance.models.configuration import Configuration, FieldDict, configuration
from posenc_conformance.models.defaults import LLAMA_CPP
from posenc_conformance.models.keys.of_gguf import TABLES, keys_of
from posenc_conformance.models.keys.spelled import spelled_errors
from posenc_conformance.models.loader import OF_OLLAMA, TOWERS
from posenc_conformance.models.metadata import to_config

NUMBERS = {
    0: "<B",
    1: "<b",
    2: "<H",
    3: "<h",
    4: "<I",
    5: "<i",
    6: "<f",
    7: "<?",
    10: "<Q",
    11: "<q",
    12: "<d",
}
"""The ``struct`` form of numbers, by the format's type of value."""
STRING, ARRAY = 8, 9
LARGEST_METADATA = 2**26
"""Largest size of the data before the tensors in bytes; most of it is the vocabulary."""
MOST_VALUES = 2**22
LONGEST_KEY = 2**16
"""Bytes of the longest key that the format permits."""
GENERAL = "general.architecture"
ALIGNMENT = "general.alignment"
FLOAT32 = 0
FARTHEST = 1 << 48
"""Byte offset that no file reaches."""
MOST_PAIRS = 1 << 12
"""Length of the longest table of divisors that is read."""
Place = tuple[list[int], int, int]
"""Sizes of a tensor's axes, its type, and its offset."""


@dataclass(frozen=True)
class Contents:
    """What a GGUF file says before its tensors."""

    metadata: FieldDict
    places: Mapping[str, Place]
    """Each tensor's sizes, type and offset, by name."""
    start: int
    """The byte at which offsets begin."""
    marks: Set[str]
    """Keys, and beginnings of names of tensors, that only files of Ollama have."""


def contents_of(path: Path) -> Contents:
    """Read the metadata of a GGUF file, and where its tensors are.

    Raises UserError if the file cannot be read.
    """
    with opened(path, "give a GGUF file", "cannot be read as GGUF") as stream:
        return _Reader(stream).contents()


@dataclass(frozen=True)
class Said:
    """What a GGUF file says about positions."""

    metadata: FieldDict
    tables: Mapping[str, list[float]]
    """The tensors that divide frequencies, by name."""
    marks: Set[str]


def understood(said: Said, where: str) -> Configuration:
    """Return the configuration that a GGUF file stands for.

    Raises UserError, in the keys of the file, for metadata that are not understood.
    """
    fields, layout, taken = to_config(said.metadata, said.tables, where, said.marks)
    keys = keys_of(said.metadata)
    with spelled_errors(where, keys):
        config = configuration(fields, where)
        length = "max_position_embeddings"
        if length not in fields and config.get(length) is not None:  # llama.cpp has none for it
            raise config.wrong(length, "it is missing", "positions cannot be derived without it")
    taken += tuple(replace(default, owner=LLAMA_CPP) for default in config.taken)
    return replace(config, stored=layout, taken=taken, format="GGUF", keys=keys)


def read_gguf(path: Path) -> Said:
    """Read the metadata of a GGUF file, and its tables of divisors.

    Raises UserError if the file cannot be read.
    """
    with opened(path, "give a GGUF file", "cannot be read as GGUF") as stream:
        reader = _Reader(stream)
        metadata, tables = reader.read()
    return Said(metadata, tables, reader.marks)


class _Reader:
    """The data before the tensors of a file, read up to limits of bytes and values."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream
        self.bytes = LARGEST_METADATA
        self.values = MOST_VALUES
        self.marks = set[str]()
        """Keys, and beginnings of names of tensors, that only files of Ollama have."""

    def read(self) -> tuple[FieldDict, dict[str, list[float]]]:
        """Read keys with their values, and the tensors of divisors by name."""
        whole = self.contents()
        places = {name: at for name, at in whole.places.items() if name in TABLES}
        return whole.metadata, {
            name: self._table(whole.start, name, *at) for name, at in places.items()
        }

    def contents(self) -> Contents:
        """Read keys with their values, and the place of each tensor."""
        metadata, places = self._metadata()
        step = metadata.get(ALIGNMENT, 32)
        if not isinstance(step, int) or not 0 < step <= FARTHEST:
            raise ValueError(f"{ALIGNMENT} is {in_line(repr(step))}, no number of bytes")
        return Contents(metadata, places, -(-self.stream.tell() // step) * step, self.marks)

    def _metadata(self) -> tuple[FieldDict, dict[str, Place]]:
        start = self._take(4)
        if start == POINTER[:4]:
            raise ValueError("it is a pointer of Git LFS, and the file itself is not here")
        if start != b"GGUF":
            raise ValueError("it does not begin with GGUF")
        version = self._number("<I")
        if version not in (2, 3):
            raise ValueError(f"its version is {version}; 2 and 3 are known")
        count, pairs = self._number("<Q"), self._number("<Q")
        metadata = {}
        for _ in range(pairs):
            key = self._string(LONGEST_KEY)
            value = self._value(self._number("<I"))
            self.marks |= {key} & {*OF_OLLAMA}
            # The vocabulary does not affect positions.
            if key in (GENERAL, ALIGNMENT) or not key.startswith(("tokenizer.", "general.")):
                metadata[key] = value
        places = dict[str, Place]()
        for _ in range(count):
            name, axes = self._string(LONGEST_KEY), self._number("<I")
            sizes = struct.iter_unpack("<Q", self._take(8 * axes))
            kind, offset = self._number("<I"), self._number("<Q")
            self.marks |= {start for start in TOWERS if name.startswith(start)}
            places[name] = [size for (size,) in sizes], kind, offset
        return metadata, places

    def _table(
        self, start: int, name: str, sizes: list[int], kind: int, offset: int
    ) -> list[float]:
        """Read a tensor of divisors."""
        if offset > FARTHEST:
            raise ValueError(f"{name} stands beyond the end of the file")
        if kind != FLOAT32 or len(sizes) != 1 or not 0 < sizes[0] <= MOST_PAIRS:
            raise ValueError(f"{name} is no list of up to {MOST_PAIRS:,} numbers in float32")
        self.stream.seek(start + offset)
        content = self.stream.read(4 * sizes[0])
        if len(content) < 4 * sizes[0]:
            raise EOFError(f"{name}: the file breaks off within it")
        return list(struct.unpack(f"<{sizes[0]}f", content))

    def _take(self, size: int) -> bytes:
        if size > self.bytes:
            raise ValueError(f"its metadata have more than {LARGEST_METADATA:,} bytes")
        self.bytes -= size
        content = self.stream.read(size)
        if len(content) < size:
            raise EOFError("it breaks off within its metadata")
        return content

    def _number(self, form: str) -> Any:
        (value,) = struct.unpack(form, self._take(struct.calcsize(form)))
        return value

    def _string(self, longest: int = LARGEST_METADATA) -> str:
        length = self._number("<Q")
        if length > longest:
            raise ValueError(f"a text of {length:,} bytes is too long")
        return self._take(length).decode("utf-8", errors="replace")

    def _value(self, type: int) -> Any:
        if type in NUMBERS:
            return self._number(NUMBERS[type])
        if type == STRING:
            return self._string()
        if type == ARRAY:
            inner, length = self._number("<I"), self._number("<Q")
            self.values -= length
            if self.values < 0:
                raise ValueError(f"its lists have more than {MOST_VALUES:,} values")
            if inner in NUMBERS:
                form = NUMBERS[inner]
                content = self._take(struct.calcsize(form) * length)
                return [value for (value,) in struct.iter_unpack(form, content)]
            return [self._value(inner) for _ in range(length)]
        raise ValueError(f"a value has the unknown type {type}")
