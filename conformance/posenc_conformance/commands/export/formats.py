"""The forms in which vectors are exported: each encodes to bytes and decodes from them."""

from collections.abc import Callable
from dataclasses import dataclass

from posenc_conformance.commands.export.array_files import (
    of_npz,
    of_safetensors,
    to_npz,
    to_safetensors,
)
from posenc_conformance.commands.export.text_format import of_text, to_text
from posenc_conformance.commands.export.vector_document import of_json, to_json
from posenc_conformance.commands.export.vectors import Vectors


@dataclass(frozen=True)
class Form:
    """A file format of vectors."""

    ending: str
    encode: Callable[[Vectors], bytes]
    decode: Callable[[bytes], Vectors]
    """Raises ValueError, KeyError, IndexError or TypeError for any other file."""


FORMS = {
    "json": Form("json", to_json, of_json),
    "npz": Form("npz", to_npz, of_npz),
    "safetensors": Form("safetensors", to_safetensors, of_safetensors),
    "text": Form("txt", to_text, of_text),
}
