"""Writing a probe: configuration, weights and tokenizers, as a released model has them."""

import json
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from posenc_conformance.deployed.instrument import BEGIN, SPECIAL, STOP, UNKNOWN
from posenc_conformance.deployed.probe import Probe
from posenc_conformance.deployed.weights import tensors
from posenc_conformance.errors import UserError
from posenc_conformance.files import write_whole
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.models.configuration import Fields

STORED: Mapping[str, tuple[str, Any]] = {
    "bfloat16": ("BF16", ml_dtypes.bfloat16),
    "float16": ("F16", np.float16),
    "float32": ("F32", np.float32),
}
"""What safetensors calls a dtype, and NumPy's own."""
PIECE_KINDS = {UNKNOWN: 2, BEGIN: 3, STOP: 3}
"""Kinds of pieces of SentencePiece: unknown, control; all others are normal, which is 1."""
NORMAL = 1


def write_checkpoint(
    probe: Probe, dtype: str, folder: Path, spelt: Callable[[Fields], Fields] = dict
) -> int:
    """Write a probe into a folder, and return how many bytes it takes.

    The bytes of the files hang on the probe and the dtype alone. Raises UserError for a folder
    that has something else in it.
    """
    contents = files_of(probe, dtype, spelt)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        strangers = sorted({each.name for each in folder.iterdir()} - contents.keys())
        if strangers:
            raise UserError(
                f"{folder} holds {strangers[0]}, which does not belong to a probe",
                "give a new folder, or one with a probe that may be overwritten",
            )
        for name, content in contents.items():
            write_whole(folder / name, content)
    except OSError as error:
        raise UserError(f"{folder} cannot be written: {error}", "give another folder") from None
    return sum(map(len, contents.values()))


def files_of(
    probe: Probe, dtype: str, spelt: Callable[[Fields], Fields] = dict
) -> dict[str, bytes]:
    """Return the content of each file of a probe, by name; ``spelt`` spells the configuration."""
    return {
        "config.json": _json(spelt({**probe.config, "torch_dtype": dtype})),
        "generation_config.json": _json({"bos_token_id": BEGIN, "eos_token_id": STOP}),
        "model.safetensors": safetensors(tensors(probe), dtype),
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


def _json(content: Mapping[str, Any]) -> bytes:
    return (json.dumps(content, indent=2) + "\n").encode()


def safetensors(named: Iterable[tuple[str, Floats]], dtype: str) -> bytes:
    """Return tensors in the format of safetensors: the length of a header, the header, the values.

    The format is described in the README of huggingface/safetensors.
    """
    name_of_dtype, stored = STORED[dtype]
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    parts, end = [], 0
    for name, values in named:
        part = values.astype(stored).tobytes()
        place = [end, end + len(part)]
        header[name] = {"dtype": name_of_dtype, "shape": values.shape, "data_offsets": place}
        parts.append(part)
        end += len(part)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return b"".join((struct.pack("<Q", len(text)), text, *parts))


def _tokenizer(words: Sequence[str]) -> dict[str, Any]:
    """Return what the package tokenizers reads: words, and blanks between them.

    All words are added ones as well. transformers takes the tokenizer of a family whatever the
    files say, and added words are the ones that it leaves whole. The decoder changes no word:
    mistral.rs loads no tokenizer without one.
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
    """Return a model of SentencePiece whose pieces are the words, for converters that want one.

    It is a message of protocol buffers: see sentencepiece_model.proto of google/sentencepiece.
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
    # The trainer's part says that pieces are found as in BPE (2), and how many there are.
    trainer = b"\x18\x02" + b"\x20" + _varint(len(words))
    return b"".join((*pieces, b"\x12", _varint(len(trainer)), trainer))


def _varint(number: int) -> bytes:
    parts = []
    while number > 127:
        parts.append(number & 127 | 128)
        number >>= 7
    return bytes((*parts, number))
