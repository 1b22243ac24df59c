"""The encoding of messages: one JSON object per message, with arrays.

There are two transports. A line encodes arrays in base64, which programs in any language can read.
A frame contains the bytes of its arrays after the JSON text, without encoding. Neither runs code of
the sender, as unpickling would.

The worker imports this module too, in an interpreter that may have only NumPy and ml_dtypes.
"""

import base64
import binascii
import json
import math
import struct
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

import ml_dtypes
import numpy as np
import numpy.typing as npt

from posenc_conformance.errors import in_line

Array = npt.NDArray[Any]
Message = dict[str, Any]

INTEGERS = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (64, 32, 16, 8))
WIRE_DTYPES: dict[str, np.dtype[Any]] = {
    "float64": np.dtype("<f8"),
    "float32": np.dtype("<f4"),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
    "float16": np.dtype("<f2"),
    **{name: np.dtype(name).newbyteorder("<") for name in INTEGERS},
    "bool": np.dtype(np.bool_),
}
NAMES = {dtype: name for name, dtype in WIRE_DTYPES.items()}
LONGEST = 2**28
"""The largest length of a line, in bytes."""
MOST_AXES = 32
LARGEST = 2**62
"""A number of elements that no array reaches."""
SHOWN = 160
"""The number of characters of a line that are shown."""
ALIGNED = 16
"""Parts of a frame begin at multiples of this many bytes."""
HEAD = struct.Struct("<QQ")


class Malformed(Exception):
    """A message that breaks the protocol, with the reason and the line."""

    def __init__(self, why: str, said: str = "") -> None:
        super().__init__(why)
        self.why = why
        self.said = said


@dataclass(frozen=True)
class Received:
    """A message, and the beginning of its text, to be shown if it is malformed."""

    message: Message
    text: str


class Transport(Protocol):
    """An encoding of messages."""

    def encode(self, message: Message) -> bytes:
        """Return the bytes of a message."""

    def take(self, buffer: bytearray) -> Received | None:
        """Take the first message out of ``buffer``; return None if it is incomplete.

        Raises Malformed for a message that breaks the protocol.
        """


class Lines:
    """Messages as lines of JSON."""

    def __init__(self) -> None:
        self._searched = 0

    def encode(self, message: Message) -> bytes:
        """Return the line of a message."""
        return json.dumps(message, default=_in_base64, allow_nan=False).encode() + b"\n"

    def take(self, buffer: bytearray) -> Received | None:
        """Take the first line; return None if it is incomplete.

        Its arrays are still in base64, see :func:`value`. Raises Malformed for a line that is no
        JSON object, or too long.
        """
        end = buffer.find(b"\n", self._searched)
        if end < 0 and len(buffer) <= LONGEST:
            self._searched = len(buffer)
            return None
        self._searched = 0
        line = bytes(buffer if end < 0 else buffer[:end])
        del buffer[: len(line) + 1]
        text = shortened(line)
        if end < 0:
            raise Malformed(f"a line is longer than {LONGEST:,} bytes", text)
        try:
            message = json.loads(line.decode(), parse_constant=_refuse)
        except UnicodeDecodeError as error:
            raise Malformed(f"the line is not UTF-8 ({error})", text) from None
        except (ValueError, RecursionError) as error:
            raise Malformed(f"the line is not JSON ({error})", text) from None
        if not isinstance(message, dict):
            raise Malformed("the line is no JSON object", text)
        return Received(message, text)


class Frames:
    """Messages as frames: lengths, JSON, and the bytes of the arrays.

    All arrays of a message are in ``arrays``, by name. They keep their memory layout.
    """

    def encode(self, message: Message) -> bytes:
        """Return the frame of a message."""
        arrays = message.get("arrays", {})
        head = {**message, "arrays": [_laid_out(name, array) for name, array in arrays.items()]}
        text = _pad(_ENCODER.encode(head).encode(), b" ")
        parts = [_pad(_bytes(array)) for array in arrays.values()]
        return b"".join([HEAD.pack(len(text), sum(map(len, parts))), text, *parts])

    def take(self, buffer: bytearray) -> Received | None:
        """Take the first frame; return None if it is incomplete.

        Its arrays own their memory.
        """
        if len(buffer) < HEAD.size:
            return None
        length, more = HEAD.unpack_from(buffer)
        at = HEAD.size + length
        if len(buffer) < at + more:
            return None
        message = json.loads(buffer[HEAD.size : at])
        arrays = {}
        for name, dtype, shape, strides, writeable in message["arrays"]:
            arrays[name] = array = _make_array(WIRE_DTYPES[dtype], shape, strides, buffer, at)
            array.flags.writeable = writeable
            at += array.nbytes + -array.nbytes % ALIGNED
        message["arrays"] = arrays
        del buffer[:at]
        return Received(message, "")


def value(node: Any) -> Any:
    """Decode the arrays and numbers of a result that was received as JSON.

    Raises Malformed for anything else, and for lists nested more deeply than an array.
    """
    return _value(node, 0)


def _value(node: Any, depth: int) -> Any:
    if isinstance(node, list):
        if depth == MOST_AXES:
            raise Malformed("lists are nested more deeply than an array has axes")
        return [_value(item, depth + 1) for item in node]
    if isinstance(node, bool | int | float) or node is None:
        return node
    if not isinstance(node, dict):
        raise Malformed("the result is no array, number or list of these")
    if set(node) != {"dtype", "shape", "data"}:
        raise Malformed(
            "an array has the fields dtype, shape and data, not "
            f"{in_line(', '.join(node)) or 'none'}"
        )
    dtype, shape = WIRE_DTYPES.get(str(node["dtype"])), node["shape"]
    if dtype is None:
        shown = in_line(repr(node["dtype"]))
        raise Malformed(f"{shown} is no dtype; there are {', '.join(WIRE_DTYPES)}")
    if not isinstance(shape, list) or not all(type(n) is int and n >= 0 for n in shape):
        raise Malformed(f"{in_line(json.dumps(shape))} is no shape")
    if len(shape) > MOST_AXES or math.prod(filter(None, shape)) >= LARGEST:
        raise Malformed(f"no array has the shape {in_line(json.dumps(shape))}")
    try:
        data = base64.b64decode(node["data"], validate=True)
    except (binascii.Error, TypeError, ValueError) as error:
        raise Malformed(f"the data is not base64 ({error})") from None
    if len(data) != math.prod(shape) * dtype.itemsize:
        raise Malformed(
            f"the data has {len(data):,} bytes; {node['dtype']} of shape {in_line(shape)} has "
            f"{math.prod(shape) * dtype.itemsize:,}"
        )
    return np.frombuffer(bytearray(data), dtype).reshape(shape)


def shortened(said: bytes | str) -> str:
    """Return ``said`` in printable characters.

    A long text is cut, with its full length appended.
    """
    start = said[: 4 * SHOWN]
    text = start.decode("utf-8", "backslashreplace") if isinstance(start, bytes) else start
    text = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)
    if len(text) <= SHOWN and len(start) == len(said):
        return text
    return f"{text[:SHOWN]}… ({len(said):,} {'bytes' if isinstance(said, bytes) else 'characters'})"


def is_serialisable(array: Array) -> bool:
    """Return whether an array has a dtype that can be sent."""
    return array.dtype.newbyteorder("<") in NAMES


def _bytes(array: Array) -> bytes:
    if sys.byteorder == "big" or not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("<"))
    return array.tobytes()


def _in_base64(thing: Any) -> Any:
    if not isinstance(thing, np.ndarray):
        return _number(thing)
    data = base64.b64encode(_bytes(thing)).decode()
    return {"dtype": _name(thing), "shape": thing.shape, "data": data}


def _number(thing: Any) -> Any:
    if isinstance(thing, np.generic):
        return thing.item()
    raise TypeError(f"a {type(thing).__name__} cannot be sent")


_ENCODER = json.JSONEncoder(default=_number)


def _name(array: Array) -> str:
    return NAMES.get(array.dtype) or NAMES[array.dtype.newbyteorder("<")]


def _pad(data: bytes, filler: bytes = b"\0") -> bytes:
    return data + filler * (-len(data) % ALIGNED)


def _laid_out(name: str, array: Array) -> tuple[str, str, Any, Any, bool]:
    strides = None if array.flags.c_contiguous else array.strides
    return name, _name(array), array.shape, strides, array.flags.writeable


def _make_array(
    dtype: np.dtype[Any],
    shape: Sequence[int],
    strides: Sequence[int] | None,
    data: bytearray,
    start: int,
) -> Array:
    """Make an array that owns its memory from the bytes that begin at ``start``."""
    count = math.prod(shape)
    plain = (
        np.frombuffer(data, dtype, count, start).reshape(shape) if count else np.zeros(shape, dtype)
    )
    if strides is None or not count:
        return plain.copy()
    last = sum((n - 1) * stride for n, stride in zip(shape, strides, strict=True))
    room = np.zeros(last + dtype.itemsize, np.uint8)
    array: Array = np.ndarray(tuple(shape), dtype, room, strides=tuple(strides))
    array[...] = plain
    return array


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a number in JSON")
