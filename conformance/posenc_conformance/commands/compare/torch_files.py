"""Tensors of Meta's checkpoints, ``consolidated.NN.pth``, without running what they pickle."""

import math
import mmap
import zipfile
from pathlib import Path

from posenc_conformance.commands.compare.stored import Tensors, joined, mapped, plain
from posenc_conformance.commands.identify.pickles import StoredTensor, read_pickle
from posenc_conformance.errors import UserError, in_line

KINDS = {
    "DoubleStorage": "F64",
    "FloatStorage": "F32",
    "HalfStorage": "F16",
    "BFloat16Storage": "BF16",
}
HEADER = 30
"""Bytes of the header of a file in an archive, before its name."""
LARGEST_PICKLE = 2**24
"""Bytes of the largest description of tensors."""
REPAIR = "load it with weights_only=True and save it again with torch.save"


def tensors_in(folder: Path) -> Tensors:
    """List the tensors of a folder's checkpoint; what is cut by rows for several cards is joined.

    Raises UserError for a file that is damaged, and for one that names more than tensors.
    """
    parts = [_tensors(path) for path in sorted(folder.glob("consolidated.*.pth"))]
    return {name: joined([part[name] for part in parts if name in part]) for name in parts[0]}


def _tensors(path: Path) -> Tensors:
    with mapped(path) as area:
        if not zipfile.is_zipfile(path):
            raise UserError(f"{path}: it is in torch's form before version 1.6", REPAIR)
        with zipfile.ZipFile(path) as archive:
            entries = {entry.filename: entry for entry in archive.infolist()}
        (pickle,) = [name for name in entries if name.endswith("/data.pkl")]
        begin, size = _place(area, entries[pickle])
        if size > LARGEST_PICKLE:
            raise ValueError(f"its description has {size:,} bytes")
        content = read_pickle(area[begin : begin + size])
        folder = pickle.removesuffix("data.pkl")
        tensors: Tensors = {}
        for name, tensor in content.items():
            if isinstance(tensor, StoredTensor) and tensor.storage.kind in KINDS:
                _demand_in_order(str(name), tensor)
                begin, _ = _place(area, entries[f"{folder}data/{tensor.storage.key}"])
                kind = KINDS[tensor.storage.kind]
                begin += tensor.offset * {"F64": 8, "F32": 4}.get(kind, 2)
                tensors[str(name)] = plain(area, begin, tensor.shape, kind, str(name), path)
        return tensors


def _place(area: mmap.mmap, entry: zipfile.ZipInfo) -> tuple[int, int]:
    """Return where the bytes of a file in an archive begin, and their number.

    Raises ValueError for one that is packed.
    """
    if entry.compress_type != zipfile.ZIP_STORED:
        raise ValueError(f"{in_line(entry.filename)} is packed, which torch does not do")
    at = entry.header_offset
    name, extra = (int.from_bytes(area[at + n : at + n + 2], "little") for n in (26, 28))
    return at + HEADER + name + extra, entry.file_size


def _demand_in_order(name: str, tensor: StoredTensor) -> None:
    """Raise ValueError for a tensor whose rows do not stand one after the other."""
    steps = tuple(math.prod(tensor.shape[axis + 1 :]) for axis in range(len(tensor.shape)))
    if tensor.strides != steps and math.prod(tensor.shape) > 1:
        raise ValueError(f"{in_line(name)}: it is a view of another tensor")
