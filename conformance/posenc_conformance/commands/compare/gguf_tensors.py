"""Tensors of GGUF files, of which the quantised ones are read through the package ``gguf``."""

import math
import re
from pathlib import Path
from typing import Any

import numpy as np

from posenc_conformance.commands.compare.stored import (
    HINT,
    UNRELATED,
    Stored,
    Tensors,
    bytes_of,
    error_of_groups,
    mapped,
    needed,
    plain,
)
from posenc_conformance.door import named
from posenc_conformance.errors import UserError, in_line
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.models.gguf import Place, contents_of

PLAIN = {0: "F32", 1: "F16", 28: "F64", 30: "BF16"}
"""Types of plain numbers, by their numbers in the format."""
SPLIT = re.compile(r"-\d{5}-of-(\d{5})\.gguf$")
BITS = re.compile(r"(?:I?Q|TQ|FP)(\d)")
"""The number of bits in the name of a type."""
MISSING = 'install it: pip install "posenc[gguf]"'


def tensors_of(path: Path) -> Tensors:
    """List the tensors of a GGUF file, and of the files that it was split into.

    Raises UserError for files that are damaged.
    """
    tensors: Tensors = {}
    for part in _parts(path):
        contents = contents_of(part)
        with mapped(part) as area:
            for name, place in contents.places.items():
                tensors[name] = _stored(area, contents.start, name, place, part)
    return tensors


def _parts(path: Path) -> list[Path]:
    """Return the files of a model.

    Raises UserError if one of them is missing.
    """
    match = SPLIT.search(path.name)
    if match is None:
        return [path]
    begin, count = path.name[: match.start()], int(match[1])
    if count > len(list(path.parent.glob("*.gguf"))):
        raise UserError(f"{path}: not all of its {count} files are there", HINT)
    return [path.with_name(f"{begin}-{n:05}-of-{count:05}.gguf") for n in range(1, count + 1)]


def _stored(area: Any, start: int, name: str, place: Place, path: Path) -> Stored:
    """Return a tensor; the file lists the sizes of its axes from the innermost outwards."""
    sizes, kind, offset = place
    shape = tuple(reversed(sizes)) or (1,)
    if kind in PLAIN:
        return plain(area, start + offset, shape, PLAIN[kind], name, path)

    def load(columns: int) -> Floats:
        package = _package(path)
        with named(f"{path}: {in_line(name)}", HINT):
            type = package.GGMLQuantizationType(kind)
            block, size = package.GGML_QUANT_SIZES[type]
            width = math.prod(shape[1:]) // block * size
            content = bytes_of(area, start + offset, shape[0], width, name)
            with needed(area, start + offset, content.nbytes):
                part = np.ascontiguousarray(content[:, : -(-columns // block) * size])
            numbers = package.quants.dequantize(part, type)
            return np.asarray(numbers[:, :columns], dtype=np.float64)

    return Stored(shape, kind_name(kind), _bound(kind_name(kind)), load)


def _package(path: Path) -> Any:
    """Import the package ``gguf``.

    Raises UserError if it is not installed.
    """
    try:
        import gguf
        import gguf.quants
    except ImportError:
        raise UserError(
            f"{path}: its weights are quantised, and reading them needs the package gguf", MISSING
        ) from None
    return gguf


NAMES = {
    2: "Q4_0",
    3: "Q4_1",
    6: "Q5_0",
    7: "Q5_1",
    8: "Q8_0",
    10: "Q2_K",
    11: "Q3_K",
    12: "Q4_K",
    13: "Q5_K",
    14: "Q6_K",
    16: "IQ2_XXS",
    17: "IQ2_XS",
    18: "IQ3_XXS",
    19: "IQ1_S",
    20: "IQ4_NL",
    21: "IQ3_S",
    22: "IQ2_S",
    23: "IQ4_XS",
    29: "IQ1_M",
    34: "TQ1_0",
    35: "TQ2_0",
    39: "MXFP4",
}
"""Quantised types, by their numbers in the format."""
SMALL_GROUPS = ("Q2_K", "Q3_K", "Q6_K")
"""Types with a scale for 16 numbers; all others have one for 32 at most."""


def kind_name(kind: int) -> str:
    """Return the name of a type."""
    return NAMES.get(kind, f"type {kind}")


def _bound(name: str) -> float:
    match = BITS.search(name)
    if match is None:
        return UNRELATED
    return error_of_groups(int(match[1]), 16 if name in SMALL_GROUPS else 32)
