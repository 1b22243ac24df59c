"""Files of several arrays, read without the libraries that wrote them and without running anything.

``.safetensors`` is a header in JSON and bytes. ``.pt`` is an archive with a pickle that names
tensors, and their bytes beside it; of the pickle only what describes a tensor is understood.
"""

import io
import json
import math
import pickle
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from posenc_conformance.errors import UserError
from posenc_conformance.judge.arrays import Array

LARGEST = 2**30
"""Bytes of the largest array that is read."""
LARGEST_HEADER = 2**26
"""Bytes of the largest description of tensors."""
DEEPEST = 16
"""How far dictionaries and lists may be nested."""
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


def demand_small(path: Path, size: int, largest: int = LARGEST) -> None:
    """Raise UserError for more bytes than are read."""
    if size > largest:
        raise UserError(
            f"{path} has {size / 2**20:,.0f} MiB; at most {largest / 2**20:,.0f} are read",
            "save some of it: a thousand rows are enough to tell what it is",
        )


Arrays = dict[str, Callable[[], Array]]
"""Arrays by name, each read when it is asked for."""


def numpy_archive(path: Path) -> Arrays:
    """The arrays of an .npz file."""

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
    """The arrays of a .safetensors file, of the dtypes that NumPy can hold."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if not 2 <= length <= LARGEST_HEADER:
            raise ValueError(f"a header of {length} bytes cannot be")
        header = json.loads(file.read(length))

    def read(entry: Mapping[str, Any]) -> Callable[[], Array]:
        def load() -> Array:
            begin, end = entry["data_offsets"]
            dtype, shape = STORED[entry["dtype"]], tuple(map(int, entry["shape"]))
            if begin < 0 or end - begin != math.prod(shape) * dtype.itemsize:
                raise ValueError(f"{end - begin} bytes are not {shape} of {entry['dtype']}")
            demand_small(path, end - begin)
            with path.open("rb") as file:
                file.seek(8 + length + begin)
                return np.frombuffer(file.read(end - begin), dtype).reshape(shape)

        return load

    if not isinstance(header, dict):
        raise ValueError("its header is no dictionary")
    tensors = {name: each for name, each in header.items() if name != "__metadata__"}
    return {name: read(each) for name, each in tensors.items() if each["dtype"] in STORED}


@dataclass(frozen=True)
class _Tensor:
    """Where the numbers of a tensor are."""

    key: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int


def _tensor(storage: Any, offset: int, shape: Any, strides: Any, *_: Any) -> _Tensor:
    dtype, key = storage
    return _Tensor(key, dtype, tuple(shape), tuple(strides), int(offset))


def _of_type(rebuild: Any, _type: Any, arguments: Any, _state: Any) -> Any:
    """A tensor that carries attributes, or is a parameter or buffer by its type."""
    return rebuild(*arguments)


def _first(data: Any, *_: Any) -> Any:
    return data


class _Description(pickle.Unpickler):
    """Reads which tensors there are; every other object is refused."""

    def find_class(self, module: str, name: str) -> Any:
        known = {
            ("torch._utils", "_rebuild_tensor_v2"): _tensor,
            ("torch._utils", "_rebuild_parameter"): _first,
            ("torch._tensor", "_rebuild_from_type_v2"): _of_type,
            ("torch", "Tensor"): _Tensor,
            ("torch.nn.parameter", "Parameter"): _Tensor,
            ("torch.nn.parameter", "Buffer"): _Tensor,
            ("collections", "OrderedDict"): OrderedDict,
            ("torch", "Size"): tuple,
        }
        if module == "torch" and name in TORCH:
            return TORCH[name]
        if (module, name) not in known:
            raise UserError(
                f"it holds more than tensors: {module}.{name}, which is not loaded",
                "save module.state_dict(), or the tensor alone",
            )
        return known[module, name]

    def persistent_load(self, pid: Any) -> Any:
        kind, dtype, key, *_ = pid
        if kind != "storage" or not isinstance(dtype, np.dtype):
            raise ValueError(f"{kind} is no storage of numbers")
        return dtype, str(key)


def torch_archive(path: Path) -> Arrays:
    """The tensors of a .pt file, whichever dictionaries and lists they are in."""
    if not zipfile.is_zipfile(path):
        raise UserError(
            f"{path} is in the form that torch wrote before version 1.6, or it is damaged",
            "load it with weights_only=True and save it again",
        )
    with zipfile.ZipFile(path) as archive:
        (pickled,) = [name for name in archive.namelist() if name.endswith("/data.pkl")]
        demand_small(path, archive.getinfo(pickled).file_size, LARGEST_HEADER)
        try:
            content = _Description(io.BytesIO(archive.read(pickled))).load()
        except UserError as error:
            raise UserError(f"{path}: {error.cause}", error.hint) from None
        except (TypeError, AttributeError, IndexError) as error:
            raise ValueError(f"its description of tensors is damaged ({error})") from None
    folder = pickled.removesuffix("data.pkl")

    def read(tensor: _Tensor) -> Callable[[], Array]:
        def load() -> Array:
            with zipfile.ZipFile(path) as archive:
                name = f"{folder}data/{tensor.key}"
                demand_small(path, archive.getinfo(name).file_size)
                return _strided(np.frombuffer(archive.read(name), tensor.dtype), tensor)

        return load

    return {name: read(tensor) for name, tensor in _named(content)}


def _strided(storage: Array, tensor: _Tensor) -> Array:
    """The numbers of a tensor out of those of its storage."""
    reach = [(n - 1) * step for n, step in zip(tensor.shape, tensor.strides, strict=True)]
    empty = 0 in tensor.shape
    last = tensor.offset + sum(reach)
    if min([tensor.offset, *tensor.strides]) < 0 or not (empty or last < len(storage)):
        raise ValueError("a tensor reaches beyond its numbers")
    size = math.prod(tensor.shape) * tensor.dtype.itemsize
    if size > LARGEST:
        raise ValueError(f"a tensor would take {size / 2**20:,.0f} MiB")
    steps = [step * tensor.dtype.itemsize for step in tensor.strides]
    view = np.lib.stride_tricks.as_strided(storage[tensor.offset :], tensor.shape, steps)
    return np.array(view)


def _named(content: Any, before: str = "", depth: int = 0) -> Iterator[tuple[str, _Tensor]]:
    if isinstance(content, _Tensor):
        yield before, content
    elif depth < DEEPEST and isinstance(content, dict | list | tuple):
        items = content.items() if isinstance(content, dict) else enumerate(content)
        for name, part in items:
            yield from _named(part, f"{before}.{name}" if before else str(name), depth + 1)
