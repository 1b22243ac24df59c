"""Read files of arrays without the libraries that wrote them and without running any code.

A ``.safetensors`` file is a header in JSON, and bytes. A ``.pt`` file is an archive with a pickle
that describes tensors, and their bytes next to it; `pickles` reads the description. Every reader
takes an open file and an allowance, which limits the bytes that are read and unpacked from one
file.
"""

import io
import math
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import IO, Any, BinaryIO

import ml_dtypes
import numpy as np

from posenc_conformance.commands.identify.pickles import StoredTensor, read_pickle
from posenc_conformance.door import demand_small, parse_json, size_of
from posenc_conformance.errors import UserError, in_line
from posenc_conformance.judge.arrays import Array

LARGEST_ARCHIVE = 2**30
"""The most bytes that are read for all arrays of one file together."""
LARGEST_HEADER = 2**26
"""Bytes of the largest description of tensors."""
LARGEST_PICKLE = 2**24
"""Bytes of the largest pickle that is read: some 100,000 tensors."""
LARGEST_DIRECTORY = 2**24
"""Bytes of the largest directory of an archive."""
LONGEST_FORM = 10_000
"""Bytes of the longest description of one array."""
MOST_ARRAYS = 100_000
MOST_AXES = 32
DEEPEST = 16
"""The deepest nesting of dictionaries and lists."""
LONGEST_KEY = 500
MOST_PLACES = 2**20
"""The most entries of dictionaries and lists that are visited."""
SMALLER = "save some of it: a thousand rows are enough to tell what it is"
STORED: dict[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "BF16": np.dtype(ml_dtypes.bfloat16),
    "C64": np.dtype("<c8"),
    "I64": np.dtype("<i8"),
    "I32": np.dtype("<i4"),
    "I16": np.dtype("<i2"),
    "I8": np.dtype("i1"),
    "U8": np.dtype("u1"),
    "BOOL": np.dtype(np.bool_),
}
TORCH: dict[str, np.dtype[Any]] = {
    "DoubleStorage": np.dtype("<f8"),
    "FloatStorage": np.dtype("<f4"),
    "HalfStorage": np.dtype("<f2"),
    "BFloat16Storage": np.dtype(ml_dtypes.bfloat16),
    "ComplexFloatStorage": np.dtype("<c8"),
    "ComplexDoubleStorage": np.dtype("<c16"),
    "LongStorage": np.dtype("<i8"),
    "IntStorage": np.dtype("<i4"),
    "ShortStorage": np.dtype("<i2"),
    "CharStorage": np.dtype("i1"),
    "ByteStorage": np.dtype("u1"),
    "BoolStorage": np.dtype(np.bool_),
}


@dataclass
class Allowance:
    """The number of bytes of a file's arrays that may still be read."""

    left: int = LARGEST_ARCHIVE

    def take(self, size: int) -> None:
        """Take ``size`` bytes for an array.

        Raises UserError if fewer are left.
        """
        if size > self.left:
            many = self.left < LARGEST_ARCHIVE
            demand_small("it", size, LARGEST_ARCHIVE, SMALLER)
            raise UserError(
                f"it is not read: at most {LARGEST_ARCHIVE >> 20:,} MiB of a file are, all "
                "arrays together",
                "give its name after that of the file" if many else SMALLER,
            )
        self.left -= size


Arrays = dict[str, Callable[[], Array]]
"""Arrays by name, each read on demand."""


# NumPy's own files.

MAGIC = b"\x93NUMPY"
LENGTHS = {1: 2, 2: 4, 3: 4}
"""The size of the header's length field in bytes, by version of the format."""
KIND = re.compile(r"""['"]descr['"]\s?:\s?['"]([<>|=]?[a-zA-Z]\d{0,4})['"]""")
ORDER = re.compile(r"""['"]fortran_order['"]\s?:\s?(True|False)""")
SHAPE = re.compile(r"""['"]shape['"]\s?:\s?\(([\d, L]{0,999})\)""")
BETWEEN = re.compile(r"[{},\s]")


def numpy_file(stream: IO[bytes], size: int, allowance: Allowance) -> Array:
    """Read the array of an .npy file.

    Its header is a Python expression, which is not evaluated but searched for three fields.

    Raises ValueError for a file that is damaged, or holds anything but numbers.
    """
    if stream.read(len(MAGIC)) != MAGIC:
        raise ValueError("it does not begin as an .npy file does")
    version = stream.read(2)[:1]
    if not version or version[0] not in LENGTHS:
        raise ValueError("its version is not known")
    length = int.from_bytes(stream.read(LENGTHS[version[0]]), "little")
    if length > LONGEST_FORM:
        raise ValueError(f"a header of {length:,} bytes is impossible")
    header = stream.read(length).decode("latin-1")
    kind, order, shape = (_found(part, header) for part in (KIND, ORDER, SHAPE))
    if unknown := BETWEEN.sub("", SHAPE.sub("", ORDER.sub("", KIND.sub("", header)))):
        raise ValueError(f"its header also says {in_line(unknown)}, which is not understood")
    dtype = _dtype(kind)
    sizes = _sizes([int(part.rstrip("L")) for part in shape.replace(",", " ").split()])
    needed = math.prod(sizes) * dtype.itemsize
    if needed > size - stream.tell():
        raise ValueError(f"it ends before the last number of an array of shape {sizes}")
    allowance.take(needed)
    numbers = np.frombuffer(stream.read(needed), dtype)
    return numbers.reshape(sizes, order="F" if order == "True" else "C")


def _found(field: re.Pattern[str], header: str) -> str:
    values = field.findall(header)
    if len(values) != 1:
        name = field.pattern.split("]")[1].partition("[")[0]
        raise ValueError(f"its header does not say {name} as an array of numbers does")
    return str(values[0])


def _dtype(kind: str) -> np.dtype[Any]:
    if "O" in kind:
        raise ValueError("it holds pickled objects, which could run code and are not loaded")
    try:
        dtype = np.dtype(kind)
    except TypeError:
        raise ValueError(f"{kind!r} is no dtype") from None
    if dtype.kind == "V" and dtype.itemsize == 2:  # as NumPy itself saves and reads it
        dtype = np.dtype(ml_dtypes.bfloat16)
    if dtype.kind not in "fiubc" and dtype != ml_dtypes.bfloat16:
        raise ValueError(f"it holds {dtype}, not numbers")
    return dtype


def _sizes(shape: object) -> tuple[int, ...]:
    """Return ``shape`` as a tuple.

    Raises ValueError for a shape that no array can have.
    """
    if not isinstance(shape, list) or not all(type(n) is int and n >= 0 for n in shape):
        raise ValueError(f"{in_line(shape)} is no shape")
    if len(shape) > MOST_AXES or math.prod(filter(None, shape)) >= 2**62:
        raise ValueError(f"no array has the shape {in_line(shape)}")
    return tuple(shape)


# Archives.


class _Capped(io.RawIOBase):
    """An open file that limits how much its reader may read."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream
        self.largest: int | None = LARGEST_DIRECTORY

    def read(self, size: int = -1) -> bytes:
        if self.largest is None:  # reading allocates ``size`` bytes, even if fewer are left
            left = size_of(self.stream) - self.stream.tell()
            return self.stream.read(min(size, left) if size >= 0 else left)
        content = self.stream.read(self.largest + 1 if size < 0 else min(size, self.largest + 1))
        if len(content) > self.largest:
            raise ValueError(f"its directory has more than {self.largest:,} bytes")
        return content

    def seek(self, offset: int, whence: int = 0) -> int:
        return self.stream.seek(offset, whence)

    def tell(self) -> int:
        return self.stream.tell()

    def seekable(self) -> bool:
        return True


def _open_archive(stream: BinaryIO) -> zipfile.ZipFile:
    """Open an archive, and read only its directory.

    Raises ValueError for one that lists too much, and BadZipFile for any other file.
    """
    capped = _Capped(stream)
    archive = zipfile.ZipFile(capped)  # ZipFile needs only these methods
    capped.largest = None
    if len(archive.infolist()) > MOST_ARRAYS:
        raise ValueError(f"it lists {len(archive.infolist()):,} files")
    return archive


def _entry(archive: zipfile.ZipFile, name: str, largest: int) -> zipfile.ZipInfo:
    """Return the entry of a file in an archive.

    Raises ValueError for one that is encrypted or packed in an unusual way, and UserError for one
    that is too large.
    """
    if name not in archive.NameToInfo:
        raise ValueError(f"it has no file {in_line(name)}")
    entry = archive.getinfo(name)
    if entry.flag_bits & 1:
        raise ValueError(f"{in_line(name)} is encrypted")
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"{in_line(name)} is packed in a way that no writer of arrays uses")
    demand_small("it", entry.file_size, largest, SMALLER)
    return entry


def numpy_archive(stream: BinaryIO, allowance: Allowance) -> Arrays:
    """List the arrays of an .npz file, each read on demand."""
    archive = _open_archive(stream)

    def read(name: str) -> Callable[[], Array]:
        def load() -> Array:
            entry = _entry(archive, f"{name}.npy", LARGEST_ARCHIVE)
            with archive.open(entry) as member:
                return numpy_file(member, entry.file_size, allowance)

        return load

    names = [file.removesuffix(".npy") for file in archive.namelist() if file.endswith(".npy")]
    return {name: read(name) for name in names}


def safetensors(stream: BinaryIO, allowance: Allowance) -> Arrays:
    """List the arrays of a .safetensors file whose dtypes NumPy can hold."""
    length = int.from_bytes(stream.read(8), "little")
    if not 2 <= length <= min(LARGEST_HEADER, size_of(stream)):
        raise ValueError(f"a header of {length} bytes is impossible")
    header = parse_json(stream.read(length))

    def read(name: str, entry: Mapping[str, Any]) -> Callable[[], Array]:
        def load() -> Array:
            begin, size, dtype, shape = _placed(name, entry)
            allowance.take(size)
            begin += 8 + length
            if begin + size > size_of(stream):
                raise ValueError(f"tensor {in_line(name)}: data_offsets: the file ends before")
            stream.seek(begin)
            return np.frombuffer(stream.read(size), dtype).reshape(shape)

        return load

    if not isinstance(header, dict):
        raise ValueError("its header is not a dictionary")
    tensors = {name: spec for name, spec in header.items() if name != "__metadata__"}
    for name, spec in tensors.items():
        if not isinstance(spec, dict) or not isinstance(spec.get("dtype"), str):
            raise ValueError(f"tensor {in_line(name)}: its dtype is missing")
    arrays = {name: read(name, spec) for name, spec in tensors.items() if spec["dtype"] in STORED}
    if tensors and not arrays:
        name, spec = next(iter(tensors.items()))
        raise ValueError(f"tensor {in_line(name)}: its dtype {in_line(spec['dtype'])} is not read")
    return arrays


def _placed(name: str, entry: Mapping[str, Any]) -> tuple[int, int, np.dtype[Any], tuple[int, ...]]:
    """Return the offset of a tensor's numbers, their size in bytes, dtype and shape.

    Raises ValueError naming tensor and field if they contradict each other.
    """
    where = f"tensor {in_line(name)}"
    offsets = entry.get("data_offsets")
    if not isinstance(offsets, list) or [type(offset) for offset in offsets] != [int, int]:
        raise ValueError(f"{where}: data_offsets: {in_line(offsets)} are not two whole numbers")
    begin, end = offsets
    try:
        shape = _sizes(entry.get("shape"))
    except ValueError as error:
        raise ValueError(f"{where}: shape: {error}") from None
    dtype = STORED[entry["dtype"]]
    if not 0 <= begin <= end < 2**62 or end - begin != math.prod(shape) * dtype.itemsize:
        raise ValueError(
            f"{where}: data_offsets: {end - begin} bytes cannot hold {shape} of {entry['dtype']}"
        )
    return begin, end - begin, dtype, shape


def torch_archive(stream: BinaryIO, allowance: Allowance) -> Arrays:
    """List the tensors of a .pt file, in whatever dictionaries and lists they are nested."""
    if not zipfile.is_zipfile(stream):
        raise UserError(
            "it is in the form that torch wrote before version 1.6, or it is damaged",
            "load it with weights_only=True and save it again",
        )
    archive = _open_archive(stream)
    pickles = [name for name in archive.namelist() if name.endswith("/data.pkl")]
    if len(pickles) != 1:
        raise ValueError(f"it has {len(pickles)} files data.pkl, not one")
    described = archive.read(_entry(archive, pickles[0], LARGEST_PICKLE))
    tensors = _name_tensors(read_pickle(described))
    folder = pickles[0].removesuffix("data.pkl")

    @lru_cache(maxsize=1)  # tensors that share their numbers come one after the other
    def numbers(key: str) -> bytes:
        entry = _entry(archive, f"{folder}data/{key}", LARGEST_ARCHIVE)
        allowance.take(entry.file_size)
        return archive.read(entry)

    def read(tensor: StoredTensor) -> Callable[[], Array]:
        def load() -> Array:
            content = np.frombuffer(numbers(tensor.storage.key), TORCH[tensor.storage.kind])
            return _strided(content, tensor)

        return load

    return {name: read(tensor) for name, tensor in tensors.items()}


def _strided(storage: Array, tensor: StoredTensor) -> Array:
    """Return a view of a tensor's numbers in its storage.

    Raises ValueError for a tensor that reaches beyond its storage, or would be too large.
    """
    shape = _sizes(list(tensor.shape))
    reach = [(n - 1) * step for n, step in zip(shape, tensor.strides, strict=True)]
    empty = 0 in shape
    last = tensor.offset + sum(reach)
    if min([tensor.offset, *tensor.strides]) < 0 or not (empty or last < len(storage)):
        raise ValueError("a tensor reaches beyond its storage")
    size = math.prod(shape) * storage.itemsize
    if size > LARGEST_ARCHIVE:
        raise ValueError(f"a tensor would take {size / 2**20:,.0f} MiB")
    steps = [step * storage.itemsize for step in tensor.strides]
    return np.lib.stride_tricks.as_strided(storage[tensor.offset :], shape, steps, writeable=False)


def _name_tensors(content: Any) -> dict[str, StoredTensor]:
    """Return the tensors of a description by the keys that lead to each.

    Raises UserError for a storage of anything but numbers, and for too many places: a list that
    holds a list twice, which holds one twice, is short to write and takes forever to walk.
    """
    tensors: dict[str, StoredTensor] = {}
    for count, (name, part) in enumerate(_places(content)):
        if count == MOST_PLACES:
            raise UserError(
                f"it has more than {MOST_PLACES:,} places where a tensor could be",
                "save module.state_dict(), or the tensor alone",
            )
        if isinstance(part, StoredTensor):
            if part.storage.kind not in TORCH:
                kind = in_line(part.storage.kind)
                raise UserError(
                    f"{in_line(name) or 'its tensor'} is in a torch.{kind}, which is not read",
                    f"save it as one of these: {', '.join(TORCH)}",
                )
            tensors[name] = part
    return tensors


def _places(content: Any, name: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield every part of a description, with the keys that lead there."""
    yield name, content
    if depth < DEEPEST and isinstance(content, dict | list | tuple):
        items = content.items() if isinstance(content, dict) else enumerate(content)
        for key, part in items:
            text = str(key)
            if len(text) > LONGEST_KEY:  # it would be repeated in the name of each place below
                raise UserError(
                    f"a key of {len(text):,} characters is not read: {in_line(text)}",
                    "save module.state_dict(), or the tensor alone",
                )
            yield from _places(part, f"{name}.{text}" if name else text, depth + 1)
