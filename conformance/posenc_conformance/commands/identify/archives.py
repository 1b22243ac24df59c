"""Files of several arrays, read without the libraries that wrote them and without running anything.

``.safetensors`` is a header in JSON and bytes. ``.pt`` is an archive with a pickle that describes
tensors, and their bytes beside it; `pickles` reads the description.
"""

import json
import math
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from posenc_conformance.commands.identify.pickles import StoredTensor, read_pickle
from posenc_conformance.errors import UserError
from posenc_conformance.judge.arrays import Array

LARGEST_ARCHIVE = 2**30
"""Bytes of the largest array that is read."""
LARGEST_HEADER = 2**26
"""Bytes of the largest description of tensors."""
LARGEST_PICKLE = 2**24
"""Bytes of the largest pickle that is read: some 100,000 tensors."""
DEEPEST = 16
"""How far dictionaries and lists may be nested."""
MOST_PLACES = 2**20
"""Entries of dictionaries and lists that are looked at."""
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


def demand_small(path: Path, size: int, largest: int = LARGEST_ARCHIVE) -> None:
    """Raise UserError if there are more bytes than are read."""
    if size > largest:
        raise UserError(
            f"{path} has {size / 2**20:,.0f} MiB; at most {largest / 2**20:,.0f} are read",
            "save some of it: a thousand rows are enough to tell what it is",
        )


Arrays = dict[str, Callable[[], Array]]
"""Arrays by name, each read when it is asked for."""


def numpy_archive(path: Path) -> Arrays:
    """List the arrays of an .npz file, each to be read when it is asked for."""

    def read(name: str) -> Callable[[], Array]:
        def load() -> Array:
            with zipfile.ZipFile(path) as archive:
                demand_small(path, archive.getinfo(f"{name}.npy").file_size)
            with np.load(path) as arrays:
                return np.asarray(arrays[name])

        return load

    with zipfile.ZipFile(path) as archive:
        names = [each.removesuffix(".npy") for each in archive.namelist() if each.endswith(".npy")]
    return {name: read(name) for name in names}


def safetensors(path: Path) -> Arrays:
    """List the arrays of a .safetensors file, of the dtypes that NumPy can hold."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if not 2 <= length <= LARGEST_HEADER:
            raise ValueError(f"a header of {length} bytes is impossible")
        header = json.loads(file.read(length))

    def read(entry: Mapping[str, Any]) -> Callable[[], Array]:
        def load() -> Array:
            begin, end = entry["data_offsets"]
            dtype, shape = STORED[entry["dtype"]], tuple(map(int, entry["shape"]))
            if begin < 0 or end - begin != math.prod(shape) * dtype.itemsize:
                raise ValueError(f"{end - begin} bytes cannot hold {shape} of {entry['dtype']}")
            demand_small(path, end - begin)
            with path.open("rb") as file:
                file.seek(8 + length + begin)
                return np.frombuffer(file.read(end - begin), dtype).reshape(shape)

        return load

    if not isinstance(header, dict):
        raise ValueError("its header is not a dictionary")
    tensors = {name: each for name, each in header.items() if name != "__metadata__"}
    return {name: read(each) for name, each in tensors.items() if each["dtype"] in STORED}


def torch_archive(path: Path) -> Arrays:
    """List the tensors of a .pt file, whichever dictionaries and lists they are in."""
    if not zipfile.is_zipfile(path):
        raise UserError(
            f"{path} is in the form that torch wrote before version 1.6, or it is damaged",
            "load it with weights_only=True and save it again",
        )
    with zipfile.ZipFile(path) as archive:
        pickles = [name for name in archive.namelist() if name.endswith("/data.pkl")]
        if len(pickles) != 1:
            raise ValueError(f"it has {len(pickles)} files data.pkl, not one")
        demand_small(path, archive.getinfo(pickles[0]).file_size, LARGEST_PICKLE)
        try:
            tensors = _name_tensors(read_pickle(archive.read(pickles[0])))
        except UserError as error:
            raise UserError(f"{path}: {error.cause}", error.hint) from None
    folder = pickles[0].removesuffix("data.pkl")

    def read(tensor: StoredTensor) -> Callable[[], Array]:
        def load() -> Array:
            with zipfile.ZipFile(path) as archive:
                name = f"{folder}data/{tensor.storage.key}"
                demand_small(path, archive.getinfo(name).file_size)
                numbers = np.frombuffer(archive.read(name), TORCH[tensor.storage.kind])
                return _strided(numbers, tensor)

        return load

    return {name: read(tensor) for name, tensor in tensors.items()}


def _strided(storage: Array, tensor: StoredTensor) -> Array:
    """Take the numbers of a tensor out of those of its storage.

    Raises ValueError for a tensor that reaches beyond its storage, or would be too large.
    """
    reach = [(n - 1) * step for n, step in zip(tensor.shape, tensor.strides, strict=True)]
    empty = 0 in tensor.shape
    last = tensor.offset + sum(reach)
    if min([tensor.offset, *tensor.strides]) < 0 or not (empty or last < len(storage)):
        raise ValueError("a tensor reaches beyond its storage")
    size = math.prod(tensor.shape) * storage.itemsize
    if size > LARGEST_ARCHIVE:
        raise ValueError(f"a tensor would take {size / 2**20:,.0f} MiB")
    steps = [step * storage.itemsize for step in tensor.strides]
    view = np.lib.stride_tricks.as_strided(storage[tensor.offset :], tensor.shape, steps)
    return np.array(view)


def _name_tensors(content: Any) -> dict[str, StoredTensor]:
    """Name the tensors of a description by the keys that lead to each.

    Raises UserError for a storage of no numbers, and for too many places: a list that holds a list
    twice, which holds one twice, is short to write and takes for ever to walk.
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
                raise UserError(
                    f"{name or 'its tensor'} is in a torch.{part.storage.kind}, which is not read",
                    f"save it as one of these: {', '.join(TORCH)}",
                )
            tensors[name] = part
    return tensors


def _places(content: Any, name: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield all that a description holds, with the keys that lead there."""
    yield name, content
    if depth < DEEPEST and isinstance(content, dict | list | tuple):
        items = content.items() if isinstance(content, dict) else enumerate(content)
        for key, part in items:
            yield from _places(part, f"{name}.{key}" if name else str(key), depth + 1)
