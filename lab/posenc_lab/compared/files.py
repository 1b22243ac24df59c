"""Write small checkpoints: safetensors, GGUF and torch's archives, from arrays alone."""

import json
import pickle
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, Any]
Arrays = dict[str, Array]
Fields = dict[str, Any]

STORED = {
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "BF16": np.dtype(ml_dtypes.bfloat16),
    "F8_E4M3": np.dtype(ml_dtypes.float8_e4m3fn),
    "U32": np.dtype("<u4"),
    "I32": np.dtype("<i4"),
    "U8": np.dtype("u1"),
    "I8": np.dtype("i1"),
}
NAMES = {dtype: name for name, dtype in STORED.items()}
GGUF_TYPES = {"F32": 0, "F16": 1, "BF16": 30, "Q8_0": 8}


def write_json(path: Path, fields: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(fields), encoding="utf-8")


def write_safetensors(path: Path, arrays: Arrays) -> None:
    header, begin = {}, 0
    for name, array in arrays.items():
        end = begin + array.nbytes
        header[name] = {
            "dtype": NAMES[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [begin, end],
        }
        begin = end
    text = json.dumps(header).encode()
    parts = [np.ascontiguousarray(array).tobytes() for array in arrays.values()]
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(parts))


def write_split(folder: Path, arrays: Arrays) -> None:
    """Write two files and their index, as large models are released."""
    names = [*arrays]
    half = len(names) // 2
    files = {"model-00001-of-00002": names[:half], "model-00002-of-00002": names[half:]}
    for file, part in files.items():
        write_safetensors(folder / f"{file}.safetensors", {name: arrays[name] for name in part})
    listed = {name: f"{file}.safetensors" for file, part in files.items() for name in part}
    write_json(folder / "model.safetensors.index.json", {"weight_map": listed})


def write_gguf(path: Path, metadata: Fields, arrays: Arrays, kind: str = "F32") -> None:
    """Write a GGUF file; vectors are in float32, as llama.cpp's converter writes them."""
    head = [struct.pack("<4sIQQ", b"GGUF", 3, len(arrays), len(metadata))]
    head += [_text(name) + _value(value) for name, value in metadata.items()]
    parts, begin = [], 0
    for name, array in arrays.items():
        own = kind if array.ndim > 1 else "F32"
        content = eights(array) if own == "Q8_0" else array.astype(STORED[own]).tobytes()
        content += bytes(-len(content) % 32)
        sizes = struct.pack(f"<{array.ndim}Q", *reversed(array.shape))
        place = struct.pack("<IQ", GGUF_TYPES[own], begin)
        head.append(_text(name) + struct.pack("<I", array.ndim) + sizes + place)
        parts.append(content)
        begin += len(content)
    before = b"".join(head)
    path.write_bytes(before + bytes(-len(before) % 32) + b"".join(parts))


def eights(array: Array) -> bytes:
    """Quantise a matrix to the blocks of Q8_0: a scale in float16, and 32 whole numbers."""
    blocks = array.reshape(-1, 32).astype(np.float64)
    scale = (np.abs(blocks).max(axis=1) / 127).astype(np.float16)
    codes = np.rint(blocks / scale[:, None].astype(np.float64)).astype(np.int8)
    return b"".join(step.tobytes() + row.tobytes() for step, row in zip(scale, codes, strict=True))


def _text(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def _value(value: Any) -> bytes:
    if isinstance(value, bool):
        return struct.pack("<I?", 7, value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, list):
        inner, form = (7, "?") if isinstance(value[0], bool) else (4, "I")
        return struct.pack(f"<IIQ{len(value)}{form}", 9, inner, len(value), *value)
    return struct.pack("<I", 8) + _text(value)


# Torch's archives.


def _pickled(value: object) -> bytes:
    """Return the opcodes for a text, a whole number, a flag or a tuple of them."""
    if isinstance(value, bool):
        return pickle.NEWTRUE if value else pickle.NEWFALSE
    if isinstance(value, int):
        return pickle.BININT + struct.pack("<i", value)
    if isinstance(value, tuple):
        return pickle.MARK + b"".join(map(_pickled, value)) + pickle.TUPLE
    text = str(value).encode()
    return pickle.BINUNICODE + struct.pack("<I", len(text)) + text


def _global(module: str, name: str) -> bytes:
    return pickle.GLOBAL + f"{module}\n{name}\n".encode()


def _described(key: str, array: Array) -> bytes:
    """Return the opcodes for a tensor, as torch.save describes it."""
    steps = tuple(int(np.prod(array.shape[axis + 1 :])) for axis in range(array.ndim))
    storage = b"".join(map(_pickled, (key, "cpu", array.size)))
    place = b"".join(map(_pickled, (0, array.shape, steps, False)))
    hooks = _global("collections", "OrderedDict") + pickle.EMPTY_TUPLE + pickle.REDUCE
    kind = _pickled("storage") + _global("torch", "BFloat16Storage")
    return (
        _global("torch._utils", "_rebuild_tensor_v2")
        + pickle.MARK
        + (pickle.MARK + kind + storage + pickle.TUPLE + pickle.BINPERSID)
        + (place + hooks + pickle.TUPLE + pickle.REDUCE)
    )


def write_torch(path: Path, arrays: Arrays) -> None:
    """Write an archive as torch.save makes it, in bfloat16."""
    stored = {name: array.astype(STORED["BF16"]) for name, array in arrays.items()}
    items = b"".join(
        _pickled(name) + _described(str(number), array)
        for number, (name, array) in enumerate(stored.items())
    )
    content = pickle.PROTO + b"\2" + pickle.EMPTY_DICT + pickle.MARK + items
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("archive/data.pkl", content + pickle.SETITEMS + pickle.STOP)
        for number, array in enumerate(stored.values()):
            archive.writestr(f"archive/data/{number}", array.tobytes())
