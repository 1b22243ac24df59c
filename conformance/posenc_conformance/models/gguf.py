"""Metadata of GGUF files, as the configuration that they were made from.

The format is that of llama.cpp, described in docs/gguf.md of ggml-org/ggml: a header, pairs of key
and value, then what tensors there are, and the tensors. Of these none is read but the few that
divide frequencies.
"""

import struct
from pathlib import Path
from typing import Any, BinaryIO

from posenc_conformance.errors import UserError
from posenc_conformance.models.configuration import FieldDict
from posenc_conformance.models.metadata import TABLES, to_config

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
"""Types of values that are numbers, in the order of the format."""
STRING, ARRAY = 8, 9
LONGEST = 1 << 27


def fields_of(path: Path) -> tuple[FieldDict, str]:
    """Read the fields of config.json that a GGUF file's metadata hold, and its layout.

    Raises UserError if the file cannot be read or its metadata do not decide.
    """
    try:
        with path.open("rb") as stream:
            metadata, tensors = _read_metadata(stream)
    except (OSError, ValueError, struct.error, MemoryError) as error:
        raise UserError(f"{path} cannot be read as GGUF: {error}", "give a GGUF file") from None
    return to_config(metadata, tensors, str(path))


ALIGNMENT = "general.alignment"
FLOAT32 = 0
FARTHEST = 1 << 48
"""A byte beyond this is in no file."""
MOST_PAIRS = 1 << 12
"""Numbers of the longest table of divisors that is read."""


def _read_metadata(stream: BinaryIO) -> tuple[FieldDict, dict[str, list[float]]]:
    if stream.read(4) != b"GGUF":
        raise ValueError("it does not begin with GGUF")
    version = _number(stream, "<I")
    if version not in (2, 3):
        raise ValueError(f"its version is {version}; 2 and 3 are known")
    count, pairs = _number(stream, "<Q"), _number(stream, "<Q")
    metadata = {}
    for _ in range(pairs):
        key = _string(stream)
        metadata[key] = _value(stream, _number(stream, "<I"))
    places = {}
    for _ in range(count):
        name = _string(stream)
        sizes = [_number(stream, "<Q") for _ in range(_number(stream, "<I"))]
        type, offset = _number(stream, "<I"), _number(stream, "<Q")
        if name in TABLES:
            places[name] = sizes, type, offset
    step = metadata.get(ALIGNMENT, 32)
    if not isinstance(step, int) or not 0 < step <= FARTHEST:
        raise ValueError(f"{ALIGNMENT} is {step!r}, no number of bytes")
    start = -(-stream.tell() // step) * step
    return metadata, {name: _table(stream, start, name, *place) for name, place in places.items()}


def _table(
    stream: BinaryIO, start: int, name: str, sizes: list[int], type: int, offset: int
) -> list[float]:
    """Read a tensor of divisors."""
    if offset > FARTHEST:
        raise ValueError(f"{name} stands beyond the end of the file")
    if type != FLOAT32 or len(sizes) != 1 or not 0 < sizes[0] <= MOST_PAIRS:
        raise ValueError(f"{name} is no list of up to {MOST_PAIRS:,} numbers in float32")
    stream.seek(start + offset)
    content = stream.read(4 * sizes[0])
    if len(content) < 4 * sizes[0]:
        raise ValueError(f"{name}: the file breaks off within it")
    return list(struct.unpack(f"<{sizes[0]}f", content))


def _number(stream: BinaryIO, form: str) -> Any:
    (value,) = struct.unpack(form, stream.read(struct.calcsize(form)))
    return value


def _string(stream: BinaryIO) -> str:
    length = _number(stream, "<Q")
    if length > LONGEST:
        raise ValueError(f"a text of {length:,} bytes is too long is too long")
    return stream.read(length).decode("utf-8", errors="replace")


def _value(stream: BinaryIO, type: int) -> Any:
    if type in NUMBERS:
        return _number(stream, NUMBERS[type])
    if type == STRING:
        return _string(stream)
    if type == ARRAY:
        inner, length = _number(stream, "<I"), _number(stream, "<Q")
        if length > LONGEST:
            raise ValueError(f"a list of {length:,} values is too long is too long")
        return [_value(stream, inner) for _ in range(length)]
    raise ValueError(f"a value has the unknown type {type}")
