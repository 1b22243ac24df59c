"""Writing a probe: configuration, weights and tokenizers, in the files of a released model.

Every saved model has files with these names. So the weights contain a digest of each file, which
tells a probe that may be overwritten from a model that a user would lose.
"""

import hashlib
import json
import struct
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import ml_dtypes
import numpy as np

from posenc_conformance.deployed.checkpoint.probe_weights import tensors
from posenc_conformance.deployed.checkpoint.spelling import as_saved_by_transformers_5
from posenc_conformance.deployed.instrument import BEGIN, SPECIAL, STOP, UNKNOWN
from posenc_conformance.deployed.probe_checkpoint import Probe
from posenc_conformance.door import (
    LARGEST_CONFIGURATION,
    demand_small,
    digest_of,
    named,
    opened,
    parse_json,
    size_of,
)
from posenc_conformance.errors import UserError, in_line
from posenc_conformance.files import Writer, demand_folder, is_draft, make_folder, shown
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.models.configuration import Fields

STORED: Mapping[str, tuple[str, Any]] = {
    "bfloat16": ("BF16", ml_dtypes.bfloat16),
    "float16": ("F16", np.float16),
    "float32": ("F32", np.float32),
}
"""Name of a dtype in safetensors, and its NumPy type."""
PIECE_KINDS = {UNKNOWN: 2, BEGIN: 3, STOP: 3}
"""Kinds of SentencePiece pieces: unknown, control; all others are normal, which is 1."""
NORMAL = 1
WEIGHTS = "model.safetensors"
MARK = "posenc:"
"""Prefix of the keys for the digests of a probe's files in the weights, before a file's name."""
HINT = "give a folder that posenc probe has written"


def write_checkpoint(
    probe: Probe,
    dtype: str,
    folder: Path,
    spelt: Callable[[Fields], Fields] = dict,
    *,
    force: bool = False,
) -> int:
    """Write a probe into a folder, and return its size in bytes.

    The bytes of the files depend only on the probe, the dtype and the spelling. Raises UserError
    for a folder with other contents, or with a probe that was changed; ``force`` overwrites files
    of these names, and leaves all others.
    """
    contents = files_of(probe, dtype, spelt)
    demand_folder(folder)
    strangers = () if force else _strangers(folder, contents)
    if strangers:
        raise UserError(
            f"{shown(folder)} holds {in_line(strangers[0])}, which does not belong to a probe",
            "give a new folder, or one with a probe that may be overwritten; --force overwrites "
            f"{', '.join(contents)} and leaves the rest",
        )
    digests = _digests(folder / WEIGHTS)

    def is_ours(path: Path) -> bool:
        return _is(path, contents[path.name]) or _digest(path) in digests.get(path.name, ())

    writer = Writer(is_ours, "is not as posenc probe writes it, and would be lost", force)
    make_folder(folder)
    writer.write({folder / name: content for name, content in contents.items()})
    return sum(map(len, contents.values()))


def _strangers(folder: Path, names: Container[str]) -> Sequence[str]:
    """List the entries of a folder that are not files of these names."""
    if not folder.exists():
        return ()
    with named(shown(folder), "give another folder", "cannot be written"):
        entries = sorted(entry.name for entry in folder.iterdir())
    return [name for name in entries if name not in names and not is_draft(name)]


def _digests(path: Path) -> Mapping[str, Sequence[str]]:
    """Return the digests of a probe's files, by name, from its weights; empty for other files."""
    try:
        with opened(path, HINT) as stream:
            header = _header(stream)
    except UserError:
        return {}
    metadata = header.get("__metadata__") if isinstance(header, dict) else None
    if not isinstance(metadata, dict):
        return {}
    return {
        name.removeprefix(MARK): str(digests).split()
        for name, digests in metadata.items()
        if name.startswith(MARK)
    }


def _header(stream: BinaryIO) -> Any:
    """Read the header of weights, and stop before their values."""
    length = int.from_bytes(stream.read(8), "little")
    demand_small("the header", length, LARGEST_CONFIGURATION, HINT)
    return parse_json(stream.read(length))


def _digest(path: Path) -> str:
    """Compute the digest of a probe's file; for weights, the digest of the values only."""
    with opened(path, HINT) as stream:
        if path.name == WEIGHTS:
            _header(stream)
        return digest_of(stream)


def _is(path: Path, content: bytes) -> bool:
    """Return whether a file has exactly this content."""
    with opened(path, HINT) as stream:
        return size_of(stream) == len(content) and stream.read() == content


def files_of(
    probe: Probe, dtype: str, spelt: Callable[[Fields], Fields] = dict
) -> dict[str, bytes]:
    """Return the content of each file of a probe, by name; ``spelt`` spells the configuration.

    The weights come last: they contain digests of all other files, and are the same in all
    spellings.
    """
    config = {**probe.config, "torch_dtype": dtype}
    others = {
        "config.json": _json(probe.whole(spelt(config))),
        "generation_config.json": _json({"bos_token_id": BEGIN, "eos_token_id": STOP}),
        "tokenizer.json": _json(_tokenizer(probe.plan.words)),
        "tokenizer.model": sentencepiece(probe.plan.words),
        "tokenizer_config.json": _json(
            {
                "tokenizer_class": "PreTrainedTokenizerFast",
                "unk_token": SPECIAL[UNKNOWN],
                "bos_token": SPECIAL[BEGIN],
                "eos_token": SPECIAL[STOP],
                "pad_token": SPECIAL[UNKNOWN],
                "add_bos_token": False,
                "clean_up_tokenization_spaces": False,
            }
        ),
    }
    marked = {name: [content] for name, content in others.items()}
    forms = (dict, as_saved_by_transformers_5)
    marked["config.json"] = [_json(probe.whole(form(config))) for form in forms]
    return {**others, WEIGHTS: safetensors(tensors(probe), dtype, marked)}


def _json(content: Mapping[str, Any]) -> bytes:
    return (json.dumps(content, indent=2) + "\n").encode()


def safetensors(
    named: Iterable[tuple[str, Floats]], dtype: str, marked: Mapping[str, Sequence[bytes]]
) -> bytes:
    """Return tensors in the safetensors format: the length of a header, the header, the values.

    The format is described in the README of huggingface/safetensors. Its metadata, which accept any
    text, contain digests of the values and of the permitted contents of the probe's other files.
    """
    name_of_dtype, stored = STORED[dtype]
    digests = {
        name: [hashlib.sha256(content) for content in contents] for name, contents in marked.items()
    }
    of_values = hashlib.sha256()
    digests[WEIGHTS] = [of_values]
    header: dict[str, Any] = {}
    parts, end = [], 0
    for name, values in named:
        part = values.astype(stored).tobytes()
        place = [end, end + len(part)]
        header[name] = {"dtype": name_of_dtype, "shape": values.shape, "data_offsets": place}
        parts.append(part)
        end += len(part)
        of_values.update(part)
    marks = {
        MARK + name: " ".join(h.hexdigest() for h in hashes) for name, hashes in digests.items()
    }
    header = {"__metadata__": {"format": "pt", **marks}, **header}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return b"".join((struct.pack("<Q", len(text)), text, *parts))


def _tokenizer(words: Sequence[str]) -> dict[str, Any]:
    """Return the data of a tokenizer for the package tokenizers: words, separated by blanks.

    All words are added tokens as well, because transformers uses a family's own tokenizer whatever
    the files say, and keeps only added tokens whole. The decoder changes no word: mistral.rs loads
    no tokenizer without one.
    """
    added = [
        {
            "id": token,
            "content": words[token],
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": token in PIECE_KINDS,
        }
        for token in range(len(words))
    ]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": None,
        "decoder": {"type": "Sequence", "decoders": [{"type": "ByteFallback"}]},
        "model": {
            "type": "WordLevel",
            "vocab": {word: token for token, word in enumerate(words)},
            "unk_token": words[UNKNOWN],
        },
    }


def sentencepiece(words: Sequence[str]) -> bytes:
    """Return a SentencePiece model whose pieces are the words, for converters that need one.

    It is a protocol buffers message: see sentencepiece_model.proto of google/sentencepiece.
    """
    pieces = []
    for token, word in enumerate(words):
        text = (word if token in PIECE_KINDS else f"▁{word}").encode()
        score = struct.pack("<f", -float(token))
        piece = b"\x0a" + _varint(len(text)) + text + b"\x15" + score
        kind = PIECE_KINDS.get(token, NORMAL)
        if kind != NORMAL:
            piece += b"\x18" + _varint(kind)
        pieces.append(b"\x0a" + _varint(len(piece)) + piece)
    # The trainer's part has the type of the model, BPE (2), and the number of pieces.
    trainer = b"\x18\x02" + b"\x20" + _varint(len(words))
    return b"".join((*pieces, b"\x12", _varint(len(trainer)), trainer))


def _varint(number: int) -> bytes:
    parts = []
    while number > 127:
        parts.append(number & 127 | 128)
        number >>= 7
    return bytes((*parts, number))
