"""Encode vectors as array files, with everything else as a JSON document in the same file.

Safetensors files are written in the published layout, without a dependency: eight bytes with the
length of a header, the header as JSON, then the arrays.
"""

import io
import json
import math
import struct
import zipfile
from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np

from posenc_conformance.commands.export.vector_document import (
    argument_of,
    compact,
    document_of,
    of_document,
)
from posenc_conformance.commands.export.vectors import MARK, WHOLE, Tensor, Vectors
from posenc_conformance.door import LARGEST_DOCUMENT
from posenc_conformance.judge.arrays import DTYPES, Array

SAFE = {"float64": "F64", "float32": "F32", "bfloat16": "BF16", "float16": "F16", "int64": "I64"}
"""Names of dtypes in safetensors."""


def _apart(vectors: Vectors) -> tuple[str, dict[str, Array]]:
    """Split vectors into the document without its arrays, and these arrays by name."""
    document, arrays = document_of(vectors), {}
    for case, vector in zip(document["cases"], vectors.cases, strict=True):
        for name, value in vector.arguments.items():
            if isinstance(value, Tensor):
                arrays[f"{vector.id}/argument/{name}"] = value.array
                case["arguments"][name] = {"dtype": value.dtype, "shape": list(value.shape)}
        arrays[f"{vector.id}/elements"] = np.array(vector.elements, dtype=np.float64)
        del case["elements"]
    return compact(document), arrays


def _together(text: str, arrays: Mapping[str, Array]) -> Vectors:
    document = json.loads(text)
    number = int if document["dtype"] in WHOLE else float
    for case in document["cases"]:
        for name, value in case["arguments"].items():
            if isinstance(value, dict):
                case["arguments"][name] = argument_of(
                    Tensor.of(arrays[f"{case['id']}/argument/{name}"])
                )
        case["elements"] = [
            (int(index), number(expected), number(allowed))
            for index, expected, allowed in arrays[f"{case['id']}/elements"].tolist()
        ]
    return of_document(document)


def to_npz(vectors: Vectors) -> bytes:
    """Encode vectors as a NumPy archive.

    Such an archive has no bfloat16: its bits are stored as unsigned integers.
    """
    text, arrays = _apart(vectors)
    plain = {
        name: array.view(np.uint16) if array.dtype == ml_dtypes.bfloat16 else array
        for name, array in arrays.items()
    }
    stream = io.BytesIO()
    np.savez_compressed(stream, allow_pickle=False, **{MARK: np.array(text)}, **plain)
    return stream.getvalue()


def of_npz(content: bytes) -> Vectors:
    """Decode the vectors of a NumPy archive.

    Raises ValueError for an invalid or too large archive.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            if sum(entry.file_size for entry in packed.infolist()) > LARGEST_DOCUMENT:
                raise ValueError(f"unpacked it has more than {LARGEST_DOCUMENT:,} bytes")
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            arrays = dict(archive)
    except (zipfile.BadZipFile, OSError) as error:
        raise ValueError(f"it is not an archive: {error}") from None
    whole = {
        name: array.view(ml_dtypes.bfloat16) if array.dtype == np.uint16 else array
        for name, array in arrays.items()
    }
    return _together(str(whole.pop(MARK)), whole)


def to_safetensors(vectors: Vectors) -> bytes:
    """Encode vectors as a safetensors file: a header with the arrays' offsets, then the arrays."""
    text, arrays = _apart(vectors)
    header: dict[str, Any] = {"__metadata__": {MARK: text}}
    body = b""
    for name, array in sorted(arrays.items(), key=lambda item: -item[1].dtype.itemsize):
        content = array.astype(array.dtype.newbyteorder("<")).tobytes()
        kind = SAFE[Tensor.of(array[:0]).dtype]
        place = [len(body), len(body) + len(content)]
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": place}
        body += content
    head = compact(header).encode()
    head += b" " * (-len(head) % 8)  # so that the arrays are aligned
    return struct.pack("<Q", len(head)) + head + body


def of_safetensors(content: bytes) -> Vectors:
    """Decode the vectors of a safetensors file.

    Raises ValueError for one that is too short or does not fit its header.
    """
    if len(content) < 8:
        raise ValueError("it ends before its header")
    start = 8 + struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8:start])
    text = header.pop("__metadata__")[MARK]
    return _together(text, {name: _tensor(item, content[start:]) for name, item in header.items()})


def _tensor(entry: Mapping[str, Any], body: bytes) -> Array:
    dtype = next(name for name, kind in SAFE.items() if kind == entry["dtype"])
    kind = DTYPES.get(dtype, np.dtype(np.int64))
    start, end = entry["data_offsets"]
    if end - start != kind.itemsize * math.prod(entry["shape"]) or end > len(body):
        raise ValueError("the length of an array does not match its shape")
    return np.frombuffer(body[start:end], dtype=kind).reshape(entry["shape"])
