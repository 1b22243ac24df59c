"""Tensors of safetensors files: plain numbers, float8 with scales, and MLX's groups."""

import math
import mmap
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from posenc_conformance.commands.compare.stored import (
    DTYPES,
    HINT,
    LARGEST_HEADER,
    SLACK,
    Stored,
    Tensors,
    error_of_groups,
    mapped,
    plain,
)
from posenc_conformance.door import LARGEST_DOCUMENT, parse_json, read_json
from posenc_conformance.errors import UserError, in_line
from posenc_conformance.files import shown
from posenc_conformance.judge.arrays import Array, Floats
from posenc_conformance.models.configuration import Fields

INDEX, SINGLE = "model.safetensors.index.json", "model.safetensors"
SPLIT = re.compile(r"-\d{5}-of-(\d{5})\.safetensors$")
SCALES = ("_scale_inv", "_scale")
"""Endings of the tensors by which float8 weights are multiplied."""


def tensors_in(folder: Path, config: Fields) -> Tensors:
    """List the tensors of all safetensors files of a folder; there may be none.

    Raises UserError if one is damaged, or missing.
    """
    tensors: Tensors = {}
    for path in files_of(folder):
        tensors |= _tensors(path)
    groups = config.get("quantization")
    if isinstance(groups, Mapping):
        return _ungrouped(tensors, groups, folder)
    return _scaled(tensors)


def files_of(folder: Path) -> list[Path]:
    """Find the files with a model's tensors: those of the index, or all if there is none.

    Raises UserError if one is missing, or if the index does not say which of two models is meant.
    """
    index, single = folder / INDEX, folder / SINGLE
    if not index.is_file():
        files = sorted(folder.glob("*.safetensors"))
        # Mistral's own files may stand beside those of transformers.
        own = [path for path in files if not path.name.startswith("consolidated")]
        _demand_parts(own)
        return own or files
    listed = read_json(index, LARGEST_DOCUMENT, HINT)
    names = listed.get("weight_map") if isinstance(listed, dict) else None
    if not isinstance(names, dict) or not all(type(name) is str for name in names.values()):
        raise UserError(f"{index}: weight_map: it does not name files", HINT)
    files = sorted({folder / Path(name).name for name in names.values()})
    if single.is_file() and single not in files:
        raise UserError(
            f"{shown(folder)} has {SINGLE} and an index of other files",
            "some code reads one, and some the other: remove what is left over",
        )
    for path in files:
        if not path.is_file():
            raise UserError(
                f"{index} names {in_line(path.name)}, which is not there", "copy that file, too"
            )
    return files


def _demand_parts(files: Sequence[Path]) -> None:
    """Raise UserError if a model was split, and one of its files is missing."""
    for path in files:
        match = SPLIT.search(path.name)
        if match is not None and len(files) < int(match[1]):
            raise UserError(
                f"{shown(path.parent)}: not all of its {int(match[1])} files are there",
                "copy all of them, and the index",
            )


def _tensors(path: Path) -> Tensors:
    with mapped(path) as area:
        header, start = _header(area)
        tensors: Tensors = {}
        for name, entry in header.items():
            if name != "__metadata__" and entry.get("dtype") in DTYPES:
                begin, shape = _place(name, entry)
                tensors[name] = plain(area, start + begin, shape, entry["dtype"], name, path)
        return tensors


def _header(area: mmap.mmap) -> tuple[Mapping[str, Any], int]:
    """Return the description of a file's tensors, and the byte at which offsets begin."""
    length = int.from_bytes(area[:8], "little")
    if not 2 <= length <= min(LARGEST_HEADER, len(area) - 8):
        raise ValueError(f"a header of {length:,} bytes is impossible")
    header = parse_json(area[8 : 8 + length])
    if not isinstance(header, dict):
        raise ValueError("its header is not a dictionary")
    return header, 8 + length


def is_of_mlx(folder: Path) -> bool:
    """Return whether MLX wrote the tensors of a folder, as its files say also of plain numbers."""
    for path in files_of(folder)[:1]:
        with mapped(path) as area:
            said = _header(area)[0].get("__metadata__")
            return isinstance(said, dict) and said.get("format") == "mlx"
    return False


def _place(name: str, entry: Mapping[str, Any]) -> tuple[int, list[int]]:
    """Return the offset and the shape of a tensor.

    Raises ValueError if they do not fit together.
    """
    shape, (begin, end) = entry["shape"], entry["data_offsets"]
    if not all(type(number) is int and number >= 0 for number in (*shape, begin, end)):
        raise ValueError(f"{in_line(name)}: its shape or place are not whole numbers")
    if end - begin != math.prod(shape) * DTYPES[entry["dtype"]].itemsize:
        raise ValueError(f"{in_line(name)}: {end - begin:,} bytes cannot hold {shape}")
    return begin, shape


# Float8.


def _scaled(tensors: Tensors) -> Tensors:
    """Multiply weights by their scales: one for all, for each row, or for each block."""
    made: Tensors = {}
    for name, tensor in tensors.items():
        scales = [tensors[name + end] for end in SCALES if name + end in tensors]
        made[name] = _times(tensor, scales[0]) if scales else tensor
    return made


def _times(tensor: Stored, scale: Stored) -> Stored:
    def load(columns: int) -> Floats:
        factors = scale.load(scale.columns)
        high, wide = factors.shape
        rows = np.minimum(np.arange(tensor.rows) // -(-tensor.rows // high), high - 1)
        across = np.minimum(np.arange(columns) // -(-tensor.columns // wide), wide - 1)
        return np.asarray(tensor.load(columns) * factors[rows][:, across], dtype=np.float64)

    return replace(tensor, load=load)


# MLX.


def _ungrouped(tensors: Tensors, settings: Fields, folder: Path) -> Tensors:
    """Return tensors with the packed ones as the numbers that they stand for."""
    made: Tensors = {}
    for name, tensor in tensors.items():
        module = name.removesuffix(".weight")
        scales, least = (tensors.get(f"{module}.{end}") for end in ("scales", "biases"))
        if name.endswith((".scales", ".biases")) and f"{name.rpartition('.')[0]}.weight" in tensors:
            continue
        if tensor.kind != "U32" or not name.endswith(".weight"):
            made[name] = tensor
            continue
        if scales is None:
            made[name] = replace(tensor, lacks=f"{module}.scales")
            continue
        own = settings.get(module)
        block = {**settings, **own} if isinstance(own, Mapping) else settings
        made[name] = _group(tensor, scales, least, block, f"{folder}: {in_line(module)}")
    return made


def _group(
    tensor: Stored, scales: Stored, least: Stored | None, settings: Fields, where: str
) -> Stored:
    """Return the numbers of a packed tensor; the tensor itself if they are not known."""
    bits, size = settings.get("bits"), settings.get("group_size")
    if type(bits) is not int or type(size) is not int or not 1 < bits <= 8 or size < 1:
        raise UserError(f"{where}: quantization: bits and group_size are missing", HINT)
    mode = MODES.get(str(settings.get("mode", "affine")))
    if least is None and settings.get("mode", "affine") == "affine":
        return replace(tensor, lacks=f"{where.rpartition(': ')[2]}.biases")
    if (least is None) == (mode is None):
        return tensor
    if scales.columns * size * bits != tensor.columns * 32:
        raise UserError(f"{where}: groups of {size} with {bits} bits do not fill its rows", HINT)

    def load(columns: int) -> Floats:
        groups = -(-columns // size)
        packed = np.asarray(tensor.load(-(-groups * size * bits // 32)), dtype="<u4")
        codes = unpacked(packed, bits)[:, : groups * size].reshape(len(packed), groups, size)
        factor = scales.load(groups)[..., None]
        if least is not None:
            numbers = codes * factor + least.load(groups)[..., None]
        else:
            assert mode is not None
            numbers = _as(mode.number, codes) * _as(mode.scale, factor)
        return np.asarray(numbers.reshape(len(packed), -1)[:, :columns], dtype=np.float64)

    shape = (tensor.rows, scales.columns * size)
    bound = error_of_groups(bits, size) if mode is None else SLACK * mode.error
    return Stored(shape, f"{bits} bits in groups of {size}", bound, load)


@dataclass(frozen=True)
class Mode:
    """Groups of small floating numbers: their type, and that of their scale."""

    number: np.dtype[Any]
    scale: np.dtype[Any]
    error: float
    """Largest relative error of a number, by rounding or because it is clipped."""


MODES = {
    "mxfp4": Mode(np.dtype(ml_dtypes.float4_e2m1fn), np.dtype(ml_dtypes.float8_e8m0fnu), 1 / 4),
    "mxfp8": Mode(np.dtype(ml_dtypes.float8_e4m3fn), np.dtype(ml_dtypes.float8_e8m0fnu), 1 / 8),
    "nvfp4": Mode(np.dtype(ml_dtypes.float4_e2m1fn), np.dtype(ml_dtypes.float8_e4m3fn), 1 / 4),
}
"""MLX's modes beside ``affine``, whose codes are whole numbers."""


def _as(dtype: np.dtype[Any], codes: Floats) -> Floats:
    """Return the numbers that codes of a type stand for."""
    return np.asarray(codes.astype(np.uint8).view(dtype), dtype=np.float64)


def unpacked(words: Array, bits: int) -> Floats:
    """Return the numbers of ``bits`` bits each that rows of bytes contain, lowest bits first."""
    content = np.ascontiguousarray(words).view(np.uint8)
    flags = np.unpackbits(content, axis=-1, bitorder="little")
    count = flags.shape[-1] // bits
    grouped = flags[:, : count * bits].reshape(len(words), count, bits)
    return np.asarray(grouped @ (1 << np.arange(bits)), dtype=np.float64)
