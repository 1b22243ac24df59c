"""Odd files, each with a word that its refusal must contain, and right files for comparison."""

import gzip
import io
import json
import struct
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from posenc_conformance.models.block import IN_A_BLOCK
from posenc_lab.fuzzing.kinds import KNOWN, TABLE, gguf, npy, reports, schemes, zipped

Content = bytes | Callable[[], bytes]


@dataclass(frozen=True)
class File:
    """A file, and the expected outcome of reading it."""

    kind: str
    """The kind of input, which selects the reader."""
    name: str
    content: Content
    says: str | None
    """A word that the refusal must contain: the field, the array, the line. None if right."""
    file: str
    """The name under which it is written and read."""

    @property
    def written(self) -> bytes:
        """The bytes of the file."""
        return self.content if isinstance(self.content, bytes) else self.content()


Cases = Mapping[str, tuple[Content, str | None]]
FILES = {
    "array": "a.npy",
    "arrays": "a.npz",
    "tensors": "a.safetensors",
    "checkpoint": "a.pt",
    "text": "a.txt",
    "model": "config.json",
    "gguf": "a.gguf",
    "diff": "a.json",
    "badge": "a.json",
    "known": "known.yaml",
    "manifest": "a.toml",
    "scheme": "alibi.yaml",
}
NAN, INFINITE = float("nan"), float("inf")


def files() -> Iterator[File]:
    """Yield all cases."""
    by_kind: Mapping[str, Cases] = {
        "array": _arrays(),
        "arrays": _archives(),
        "tensors": _tensors(),
        "checkpoint": _checkpoints(),
        "text": _texts(),
        "model": _models(),
        "gguf": _ggufs(),
        "diff": _reports(_DIFFERENT),
        "badge": _reports({}),
        "known": _known(),
        "manifest": _manifests(),
        "scheme": _schemes(),
    }
    for kind, cases in by_kind.items():
        for name, (content, says) in cases.items():
            yield File(kind, name, content, says, FILES[kind])


def _json(document: Any) -> bytes:
    return json.dumps(document).encode()


def _deep(levels: int) -> bytes:
    return b"[" * levels + b"]" * levels


# Arrays.


def _header(text: str, data: bytes = TABLE.tobytes(), version: int = 1) -> bytes:
    head = text.encode() + b"\n"
    size = struct.pack("<H" if version == 1 else "<I", len(head))
    return b"\x93NUMPY" + bytes([version, 0]) + size + head + data


def _described(**changed: Any) -> str:
    return repr({"descr": "<f4", "fortran_order": False, "shape": (8, 8), **changed})


def _arrays() -> Cases:
    right = npy(TABLE)
    dtypes = ("f2", "f4", "f8", ">f4", ">f8")
    odd_shapes = {
        "negative": (-1, 8),
        "wrapping": (2**63, 2),
        "far-too-large": (2**40,),
        "more-than-there-is": (9, 8),
        "of-floats": (8.0, 8),
        "of-booleans": (True, 64),
        "of-text": ("8", 8),
        "a-list": [8, 8],
        "a-number": 64,
        "none": None,
        "of-65-axes": (1,) * 65,
        "of-10-to-30": (0, 10**30),
    }
    odd_dtypes: Mapping[str, Sequence[Any]] = {
        "descr": ("float8", "<M8[s]", "", 4, [("a", "<f4")]),
        "dtype": ("<f3",),
        "it holds": ("|O", "O8", "|S5", "<U3", "|V8"),
    }
    return {
        **{f"right-{dtype}": (npy(TABLE.astype(dtype)), None) for dtype in dtypes},
        "right-fortran": (npy(np.asfortranarray(TABLE)), None),
        "right-mask": (npy(np.tril(np.ones((8, 8), np.bool_))), None),
        "right-flat": (npy(1e4 ** -(np.arange(8) / 8)), None),
        "right-version-2": (_header(_described(), version=2), None),
        "right-version-3": (_header(_described(), version=3), None),
        **{
            f"shape-{name}": (_header(_described(shape=shape)), "shape")
            for name, shape in odd_shapes.items()
        },
        **{
            f"dtype-{dtype}": (_header(_described(descr=dtype)), says)
            for says, group in odd_dtypes.items()
            for dtype in group
        },
        "order-of-text": (_header(_described(fortran_order="no")), "fortran_order"),
        **{
            f"without-{name}": (
                _header(_described().replace(repr(name), repr(name[:-1]))),
                name,
            )
            for name in ("descr", "fortran_order", "shape")
        },
        "with-more": (_header(_described(more=1)), "more"),
        "header-a-list": (_header("[1, 2]"), "header"),
        "header-a-call": (_header("__import__('os').getcwd()"), "header"),
        "header-deep": (_header("(" * 9000 + ")" * 9000), "header"),
        "header-minus": (_header("-" * 9000 + "1"), "header"),
        "header-plus": (_header("1" + "+1" * 9000), "header"),
        "header-open": (_header("{'descr': '<f4"), "header"),
        "header-empty": (_header(""), "header"),
        "header-not-text": (right.replace(b"descr", b"de\xffcr"), "header"),
        "header-longer-than-file": (right[:8] + b"\xff\xff" + right[10:], ""),
        "header-of-4-gigabytes": (b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + b" " * 64, ""),
        "version-9": (b"\x93NUMPY\x09\x00" + right[8:], "version"),
        "without-mark": (b"PK" + right[2:], ""),
        "data-cut": (right[:-1], ""),
        "data-missing": (right[: -TABLE.nbytes], ""),
        "one-bit-flipped": (right.replace(b"'shape'", b"'shapd'"), "shape"),
        "empty": (b"", ""),
        "an-npz": (zipped({"freq.npy": right}, 0), None),
        "a-text": (b"1.0 0.5\n", ""),
    }


def _archives() -> Cases:
    right = npy(TABLE)
    packed = zipped({"freq.npy": right}, 8)
    encrypted = packed.replace(b"PK\x03\x04\x14\x00\x00", b"PK\x03\x04\x14\x00\x01").replace(
        b"PK\x01\x02\x14\x03\x14\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x01"
    )

    def bomb() -> bytes:
        stream = io.BytesIO()
        with (
            zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
            archive.open("freq.npy", "w", force_zip64=True) as member,
        ):
            member.write(_header(_described(shape=(5 * 2**26,)), b""))
            for _ in range(5 * 2**8):
                member.write(bytes(2**20))
        return stream.getvalue()

    def many() -> bytes:
        return zipped({f"freq{n}.npy": b"" for n in range(100_000)}, 0)

    return {
        "right-stored": (zipped({"freq.npy": right}, 0), None),
        "right-deflated": (packed, None),
        "right-two": (zipped({"freq.npy": right, "cos.npy": right}, 8), None),
        "cut": (packed[:-30], ""),
        "cut-in-the-middle": (packed[: len(packed) // 2], ""),
        "encrypted": (encrypted, ""),
        "method-99": (packed.replace(b"\x08\x00", b"\x63\x00"), ""),
        "checksum": (packed.replace(packed[14:18], b"\0\0\0\0"), "freq"),
        "no-array": (zipped({"freq.npy": b"no array"}, 0), "freq"),
        "pickled": (zipped({"freq.npy": _header(_described(descr="|O"))}, 0), "freq"),
        "without-arrays": (zipped({"readme": b"hello"}, 0), ""),
        "nothing": (zipped({}, 0), ""),
        "a-bomb": (bomb, ""),
        "a-hundred-thousand": (many, ""),
        "name-of-escapes": (zipped({"a\x1b[2J\r\nposenc: ok.npy": b"x"}, 0), "\\x1b"),
        "name-of-a-megabyte": (zipped({"x" * 60_000 + ".npy": b"x"}, 0), "xxx"),
        "name-up-and-away": (zipped({"../../freq.npy": right}, 0), None),
        "directory-that-lies": (packed.replace(b"freq.npy", b"freq.npz", 1), "freq"),
        "inner-cut": (zipped({"freq.npy": right[:-7]}, 8), "freq"),
        "empty": (b"", ""),
        "a-folder-in-it": (zipped({"freq/": b"", "freq/a.npy": right}, 0), None),
    }


def _tensors() -> Cases:
    place = {"dtype": "F32", "shape": [8, 8], "data_offsets": [0, 256]}

    def of(header: Any, data: bytes = TABLE.tobytes()) -> bytes:
        text = header if isinstance(header, bytes) else _json(header)
        return len(text).to_bytes(8, "little") + text + data

    odd: Mapping[str, Sequence[Any]] = {
        "dtype": ("F99", None, 4, ["F32"], "", "f32"),
        "shape": ([-8, -8], [2**62, 4], ["8", 8], 64, None, [8.0, 8], [True, 64], [9, 8], "8"),
        "data_offsets": (
            [0],
            [0, 10**30],
            [256, 0],
            [-256, 0],
            "0-256",
            None,
            [0, 255],
            [0.0, 256.0],
            [0, 256, 512],
            [4, 260],
        ),
    }
    return {
        "right": (of({"freq": place}), None),
        "right-metadata": (of({"freq": place, "__metadata__": {"format": "pt"}}), None),
        "right-blanks-behind": (of(_json({"freq": place}) + b"  "), None),
        **{
            f"{field}-{number}": (of({"freq": {**place, field: value}}), "freq")
            for field, values in odd.items()
            for number, value in enumerate(values)
        },
        **{
            f"without-{field}": (
                of({"freq": {n: v for n, v in place.items() if n != field}}),
                field,
            )
            for field in place
        },
        "shape-infinite": (of(_json({"freq": place}).replace(b"[8, 8]", b"[Infinity]")), "freq"),
        "shape-of-400-digits": (
            of(_json({"freq": place}).replace(b"[8, 8]", b"[%s]" % (b"9" * 400))),
            "freq",
        ),
        "shape-of-5000-digits": (
            of(_json({"freq": place}).replace(b"[8, 8]", b"[%s]" % (b"9" * 5000))),
            "",
        ),
        "entry-a-list": (of({"freq": [1]}), "freq"),
        "entry-null": (of({"freq": None}), "freq"),
        "header-a-list": (of([place]), "header"),
        "header-deep": (of(_deep(10**5)), ""),
        "header-cut": (of({"freq": place})[:40], ""),
        "header-of-2-to-64": (b"\xff" * 8 + b"{}", ""),
        "header-not-json": (of(b"{'freq': 1}"), ""),
        "header-not-text": (of(b'{"fr\xffeq": 1}'), ""),
        "name-of-surrogates": (of({"\ud800": {**place, "dtype": "F99"}}), "ud800"),
        "name-of-escapes": (of({"\x1b[2J\n": {**place, "dtype": "F99"}}), "\\x1b"),
        "name-of-a-megabyte": (of({"x" * 10**6: {**place, "dtype": "F99"}}), "xxx"),
        "many-names": (lambda: of({f"freq{n}": place for n in range(60_000)}), "60,000"),
        "two-on-one-place": (of({"freq": place, "cos": place}), None),
        "nothing": (of({}), ""),
        "empty": (b"", ""),
        "eight-bytes": (b"\x02\0\0\0\0\0\0\0", ""),
    }


_STORAGE = b"(S'storage'\nctorch\nFloatStorage\nS'0'\nS'cpu'\nI64\ntQ"
_TENSOR = (
    b"ctorch._utils\n_rebuild_tensor_v2\n("
    + _STORAGE
    + b"I0\n(I8\nI8\nt(I8\nI1\ntI00\nccollections\nOrderedDict\n(tRtR"
)


def _checkpoints() -> Cases:
    def of(tensor: bytes, data: bytes = TABLE.tobytes(), name: bytes = b"freq") -> bytes:
        pickled = b"(dp0\nS'" + name + b"'\n" + tensor + b"s."
        return zipped({"a/data.pkl": pickled, "a/data/0": data}, 0)

    def changed(old: bytes, new: bytes, data: bytes = TABLE.tobytes()) -> bytes:
        assert old in _TENSOR
        return of(_TENSOR.replace(old, new), data)

    called: tuple[str, ...] = ("os\nsystem", "posix\nsystem", "builtins\neval", "builtins\ngetattr")
    called += ("subprocess\nPopen", "functools\npartial", "torch.hub\nload", "numpy\nload")
    called += ("pydoc\nlocate", "importlib\nimport_module", "builtins\nexec", "nt\nsystem")
    lists = b"(lp1\n" + b"".join(
        b"(l" + b"".join(b"g%d\na" % number for _ in range(10)) + b"p%d\n" % (number + 1)
        for number in range(1, 17)
    )
    return {
        "right": (of(_TENSOR), None),
        "right-half": (
            changed(b"FloatStorage", b"HalfStorage", TABLE.astype(np.float16).tobytes()),
            None,
        ),
        **{
            f"calls-{name.replace(chr(10), '.')}": (
                of(b"c" + name.encode() + b"\n(S'echo hurt'\ntR"),
                name.split("\n")[1],
            )
            for name in called
        },
        "builds": (of(_TENSOR + b"(dS'a'\nI1\nsb"), ""),
        "builds-a-dtype": (
            of(b"ctorch\nBFloat16Storage\n(I3\nS'<'\nNNNI1\nI1\nI0\ntb"),
            "",
        ),
        "instance": (of(b"(S'echo hurt'\nios\nsystem\n"), "INST"),
        "extension": (of(b"\x82\x01"), ""),
        "unknown-opcode": (of(b"\xfe"), ""),
        "storage-unknown": (changed(b"FloatStorage", b"QuintStorage"), "QuintStorage"),
        "storage-missing": (changed(b"S'0'", b"S'7'"), "7"),
        "storage-a-number": (changed(b"S'0'", b"I0"), ""),
        "offset-negative": (changed(b"tQI0\n", b"tQI-1\n"), "freq"),
        "offset-beyond": (changed(b"tQI0\n", b"tQI99999999999\n"), "freq"),
        "stride-negative": (changed(b"(I8\nI1\nt", b"(I-8\nI1\nt"), "freq"),
        "stride-beyond": (changed(b"(I8\nI1\nt", b"(I4611686018427387904\nI1\nt"), "freq"),
        "shape-negative": (changed(b"(I8\nI8\nt", b"(I-8\nI8\nt"), "freq"),
        "shape-beyond": (changed(b"(I8\nI8\nt", b"(I4611686018427387904\nI8\nt"), "freq"),
        "shape-of-text": (changed(b"(I8\nI8\nt", b"(S'8'\nI8\nt"), "shape"),
        "shape-without-strides": (changed(b"(I8\nI1\nt", b"(I8\nt"), "freq"),
        "shape-a-number": (changed(b"(I8\nI8\nt", b"I64\n"), "shape"),
        "data-short": (of(_TENSOR, TABLE.tobytes()[:-4]), "freq"),
        "data-missing": (zipped({"a/data.pkl": b"(dS'freq'\n" + _TENSOR + b"s."}, 0), "0"),
        "name-of-escapes": (of(b"c\x1b[2J\nsystem\n(tR"), "\\x1b"),
        "lists-of-lists": (of(lists), ""),
        "dictionary-in-itself": (of(b"g0\n"), ""),
        "deep": (of(b"(l" * 50_000 + b"a" * 49_999), ""),
        "memo-beyond": (of(b"g99\n"), ""),
        "stack-empty": (zipped({"a/data.pkl": b"0."}, 0), ""),
        "ends-early": (zipped({"a/data.pkl": b"(dp0\nS'freq"}, 0), ""),
        "number-of-10000-digits": (of(b"I" + b"9" * 10_000 + b"\n"), ""),
        "text-of-2-gigabytes": (of(b"X\xff\xff\xff\x7f"), ""),
        "without-pickle": (zipped({"a/data/0": b""}, 0), ""),
        "old-form": (b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.", ""),
        "a-raw-pickle": (b"cos\nsystem\n(S'echo hurt'\ntR.", ""),
        "a-script": (b"#!/bin/sh\necho hurt\n", ""),
        "empty": (b"", ""),
    }


def _texts() -> Cases:
    rows = [" ".join(map(repr, row)) for row in TABLE.tolist()]
    lines = "\n".join(rows)
    odd = ("abc", "0x1F", "1,5,", "--1", "1e", "NaN1", "1_0.", "½", "\x1b[31m", "½½", "1.2.3", "é")
    return {
        "right": (lines.encode(), None),
        "right-commas": (lines.replace(" ", ",").encode(), None),
        "right-semicolons": (lines.replace(" ", ";").encode(), None),
        "right-windows": (lines.replace("\n", "\r\n").encode(), None),
        "right-mark": (b"\xef\xbb\xbf" + lines.encode(), None),
        "right-list": (str(TABLE.tolist()).encode(), None),
        "right-tensor": (f"tensor({TABLE.tolist()}, dtype=torch.float32)".encode(), None),
        "right-numpy": (repr(TABLE).encode(), None),
        "right-blank-lines": (lines.replace("\n", "\n\n").encode(), None),
        "right-header": (("a b c d e f g h\n" + lines).encode(), None),
        **{
            f"word-{number}": (f"{lines}\n{word} 0 0 0 0 0 0 0".encode(), "a.txt:9")
            for number, word in enumerate(odd)
        },
        "row-short": ((lines + "\n1 2 3").encode(), "a.txt:9"),
        "row-long": ((lines + "\n" + "1 " * 9).encode(), "a.txt:9"),
        "number-beyond": ((lines + "\n1.5e400" + " 0" * 7).encode(), "a.txt:9"),
        "number-of-5000-digits": ((lines + "\n" + "9" * 5000 + " 0" * 7).encode(), "a.txt:9"),
        "blanks": (b" " * 200_000 + b",1", ""),
        "blanks-between": (b"1" + b" " * 200_000 + b"x", "a.txt:1"),
        "blank-lines": (b"\n" * 200_000 + b"x", ""),
        "commas": (b"," * 200_000, ""),
        "a-line-of-20-megabytes": (lambda: b"1 " * 10**7, "a.txt:1"),
        "very-many-numbers": (lambda: b"1 2\n" * 2**21, "numbers"),
        "brackets-open": (b"[" * 100_000, "brackets"),
        "brackets-close": (b"]" * 1000, ""),
        "brackets-do-not-match": (b"[[1, 2], [3, 4]", "brackets"),
        "brackets-ragged": (b"[[1, 2], [3]]", "length"),
        "brackets-mixed": (b"[1, [2, 3]]", "brackets"),
        "brackets-left-out": (b"[0. 1. ... 0.5 0.25]", "left out"),
        "brackets-word": (b"[0.5, abc]", "abc"),
        "brackets-nothing": (b"[]", ""),
        "utf-16": (lines.encode("utf-16"), ""),
        "latin-1": ("é".encode("latin-1"), ""),
        "binary": (bytes(range(256)) * 10, ""),
        "zeros": (b"\0" * 1000, ""),
        "empty": (b"", ""),
        "words": (b"Call me Ishmael. Some years ago", ""),
        "html": (b"<!doctype html><title>404</title>", ""),
        "pointer": (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n", ""),
    }


# Configurations.

LLAMA = {
    **{"model_type": "llama", "hidden_size": 1024, "num_attention_heads": 16},
    **{"num_hidden_layers": 2, "max_position_embeddings": 8192, "rope_theta": 500000.0},
}
SCALINGS = {
    "linear": {"rope_type": "linear", "factor": 4.0},
    "dynamic": {"rope_type": "dynamic", "factor": 4.0},
    "yarn": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 2048},
    "llama3": {
        **{"rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": 2048},
        **{"low_freq_factor": 1.0, "high_freq_factor": 4.0},
    },
}
OTHERS: Mapping[str, Mapping[str, Any]] = {
    "bloom": {"model_type": "bloom", "n_embed": 64, "n_layer": 2, "n_head": 8},
    "t5": {"model_type": "t5", "d_model": 64, "num_layers": 2, "num_heads": 8},
    "gemma": {**LLAMA, "model_type": "gemma3_text", "sliding_window": 512},
    "phi": {**LLAMA, "model_type": "phi", "partial_rotary_factor": 0.5},
}
ODD = ("x", [1], {"a": 1}, -1, 10**400, INFINITE, NAN, True, "\x1b[2J\n" * 40)


def _models() -> Cases:
    def field(fields: Mapping[str, Any], name: str, value: Any) -> bytes:
        return _json({**fields, name: value})

    numbers = ("hidden_size", "num_attention_heads", "num_hidden_layers", "rope_theta")
    cases: dict[str, tuple[Content, str | None]] = {
        "right": (_json(LLAMA), None),
        "right-null": (_json({**LLAMA, "rope_scaling": None, "sliding_window": None}), None),
        "right-mark": (b"\xef\xbb\xbf" + _json(LLAMA), None),
        **{f"right-{n}": (_json({**LLAMA, "rope_scaling": b}), None) for n, b in SCALINGS.items()},
        **{f"right-{name}": (_json(fields), None) for name, fields in OTHERS.items()},
    }
    for name in (*numbers, "max_position_embeddings", "head_dim"):
        for number, value in enumerate(ODD):
            cases[f"{name}-{number}"] = (field(LLAMA, name, value), name)
    for name in ("rope_scaling", "rope_parameters"):
        for number, value in enumerate(("linear", [1, 2], 4, True)):
            cases[f"{name}-{number}"] = (field(LLAMA, name, value), name)
    for kind, block in SCALINGS.items():
        for name in ("factor", *(n for n in block if n in IN_A_BLOCK and n != "factor")):
            for number, value in enumerate(("x", -1, 0, NAN, [4.0])):
                changed = {**LLAMA, "rope_scaling": {**block, name: value}}
                cases[f"{kind}-{name}-{number}"] = (_json(changed), name)
    more: Mapping[str, tuple[str, str, Sequence[Any]]] = {
        "bloom": ("bloom", "n_head", (10**9, 0, "8", 2.5)),
        "t5-buckets": ("t5", "relative_attention_num_buckets", ("x", 0, 10**9, -4)),
        "t5-distance": ("t5", "relative_attention_max_distance", (1, "x", 10**30)),
        "window": ("gemma", "sliding_window", ("abc", -1, 12.5, True, 0, [512])),
        "pattern": ("gemma", "sliding_window_pattern", ([6], 0, -1)),
        "kinds": ("gemma", "layer_types", (5, [["full_attention"]], "f", ["odd", "odd"])),
        "part": ("phi", "partial_rotary_factor", ("a", INFINITE, NAN, -0.5, 2, [0.5])),
    }
    for label, (base, name, values) in more.items():
        for number, value in enumerate(values):
            cases[f"{label}-{number}"] = (field(OTHERS[base], name, value), name)
    whole: Cases = {
        "type-missing": (
            _json({n: v for n, v in LLAMA.items() if n != "model_type"}),
            "model_type",
        ),
        "type-a-list": (field(LLAMA, "model_type", ["llama"]), "model_type"),
        "type-unknown": (field(LLAMA, "model_type", "frobnicator"), "frobnicator"),
        "type-of-a-megabyte": (field(LLAMA, "model_type", "l" * 10**6), "model_type"),
        "type-of-escapes": (field(LLAMA, "model_type", "\x1b[2J"), "\\x1b"),
        "scaling-unknown": (field(LLAMA, "rope_scaling", {"rope_type": "odd"}), "odd"),
        "layers-of-10-to-12": (field(LLAMA, "num_hidden_layers", 10**12), "num_hidden_layers"),
        "hidden-of-4e9": (field(LLAMA, "hidden_size", 4 * 10**9), "hidden_size"),
        "head-of-1e8": (field(LLAMA, "head_dim", 10**8), "head_dim"),
        "half-a-position": (
            field(LLAMA, "max_position_embeddings", 2048.5),
            "max_position_embeddings",
        ),
        "digits-5000": (b'{"model_type": ' + b"9" * 5000 + b"}", ""),
        "deep": (b'{"model_type": ' + _deep(10**5) + b"}", ""),
        "very-many-values": (lambda: b'{"a": [' + b"1," * 5_000_000 + b"1]}", "values"),
        "a-list": (b"[]", ""),
        "a-number": (b"4", ""),
        "cut": (_json(LLAMA)[:-9], ""),
        "not-text": (b'{"model_type": "\xff"}', ""),
        "utf-16": (json.dumps(LLAMA).encode("utf-16"), ""),
        "html": (b"<!doctype html><title>404</title>", ""),
        "empty": (b"", ""),
    }
    return {**cases, **whole}


QWEN = {
    **{"general.architecture": "qwen2", "tokenizer.ggml.tokens": ["a", "b"]},
    **{"qwen2.block_count": 24, "qwen2.context_length": 32768, "qwen2.embedding_length": 896},
    **{"qwen2.attention.head_count": 14, "qwen2.rope.freq_base": 1000000.0},
}
QWEN_YARN = {
    **QWEN,
    **{"qwen2.rope.scaling.type": "yarn", "qwen2.rope.scaling.factor": 4.0},
    "qwen2.rope.scaling.original_context_length": 8192,
}


def _ggufs() -> Cases:
    right = gguf(QWEN)
    odd: Mapping[str, Sequence[Any]] = {
        "qwen2.block_count": (2**32 - 1, "24", 0, [24], -1.0, 24.5),
        "qwen2.context_length": ("x", 0, 2**62, [1.0]),
        "qwen2.embedding_length": (2**40, "x", 0),
        "qwen2.attention.head_count": (0, "x", 2**40),
        "qwen2.rope.freq_base": ("x", NAN, INFINITE, -1.0, [1.0], True),
        "qwen2.rope.scaling.factor": ("x", NAN, 0.0, -4.0, [4.0], True),
        "qwen2.rope.scaling.type": (4, [1.0], "odd"),
    }
    own = {
        "qwen2.rope.freq_base": "freq_base",
        "qwen2.rope.scaling.factor": "factor",
        "qwen2.rope.scaling.type": "rope",
    }
    named = {
        "qwen2.context_length": "max_position_embeddings",
        "qwen2.embedding_length": "hidden_size",
        "qwen2.attention.head_count": "num_attention_heads",
        "qwen2.block_count": "",
    }
    return {
        "right": (right, None),
        "right-yarn": (gguf(QWEN_YARN), None),
        **{
            f"{key}-{number}": (gguf({**QWEN_YARN, key: value}), {**own, **named}[key])
            for key, values in odd.items()
            for number, value in enumerate(values)
        },
        "architecture-unknown": (gguf({**QWEN, "general.architecture": "odd"}), "odd"),
        "architecture-a-number": (gguf({**QWEN, "general.architecture": 4}), "architecture"),
        "architecture-of-escapes": (gguf({**QWEN, "general.architecture": "\x1b[2J"}), "\\x1b"),
        "key-unknown": (gguf({**QWEN, "qwen2.rope.odd": 1}), "rope.odd"),
        "version-99": (right[:4] + struct.pack("<I", 99) + right[8:], "version"),
        "tensors-2-to-62": (right[:8] + struct.pack("<Q", 2**62) + right[16:], ""),
        "keys-2-to-62": (right[:16] + struct.pack("<Q", 2**62) + right[24:], ""),
        "text-of-2-to-62": (right[:24] + struct.pack("<Q", 2**62) + right[32:], ""),
        "list-of-2-to-62": (
            b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 1) + b"a" + struct.pack("<IIQ", 9, 4, 2**62),
            "",
        ),
        "list-in-list-in-list": (
            b"GGUF"
            + struct.pack("<IQQQ", 3, 0, 1, 1)
            + b"a"
            + struct.pack("<I", 9)
            + struct.pack("<IQ", 9, 1) * 5000,
            "",
        ),
        "type-99": (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 1) + b"a" + b"\x63\0\0\0", "type"),
        "key-not-text": (right.replace(b"qwen2.block", b"qwen2.\xffloc"), ""),
        "cut": (right[:60], ""),
        "without-mark": (b"GGML" + right[4:], ""),
        "only-mark": (b"GGUF", ""),
        "empty": (b"", ""),
    }


# Reports, known failures, manifests, schemes.

_DIFFERENT: Mapping[str, tuple[Content, str | None]] = {
    "right-itself": (_json(reports()[0]), None),
}


def _reports(more: Cases) -> Cases:
    (whole,) = reports()

    def check(**changed: Any) -> bytes:
        return _json({**whole, "checks": [{**whole["checks"][0], **changed}, whole["checks"][1]]})

    def row(**changed: Any) -> bytes:
        return _json({**whole, "rows": [{**whole["rows"][0], **changed}]})

    def part(**changed: Any) -> bytes:
        return _json({**whole, **changed})

    packed = gzip.compress(_json(whole))
    return {
        "right": (_json(whole), None),
        "right-packed": (packed, None),
        "right-padded": (packed + b"\0" * 100, None),
        "right-worst-infinite": (check(worst="infinite"), None),
        "right-dtype-null": (row(dtype=None), None),
        "right-message-of-escapes": (check(message="\x1b[2J\x00\ud800<script>"), None),
        "right-id-of-escapes": (check(id="\x1b[2J\r\nposenc: all is well"), None),
        "right-name-of-escapes": (
            part(implementation={"name": "\x1b]0;\x07", "versions": {}}),
            None,
        ),
        "right-name-of-a-megabyte": (
            part(implementation={"name": "n" * 10**6, "versions": {}}),
            None,
        ),
        "verdict": (check(verdict="fine"), "verdict"),
        "verdict-a-list": (check(verdict=["passed"]), "verdict"),
        "worst-a-word": (check(worst="far"), "worst"),
        "worst-a-list": (check(worst=[1]), "worst"),
        "id-a-number": (check(id=4), "id"),
        "explanations-of-numbers": (check(explanations=[1]), "explanations"),
        "horizon-a-word": (row(horizon="far"), "horizon"),
        "counts-of-text": (row(passed="many"), "passed"),
        "rows-a-number": (part(rows=4), "rows"),
        "checks-null": (part(checks=None), "checks"),
        "summary-a-list": (part(summary=[]), "summary"),
        "implementation-a-text": (part(implementation="mine"), "implementation"),
        "versions-of-numbers": (
            part(implementation={"name": "a", "versions": {"a": 1}}),
            "versions",
        ),
        "schemes-of-numbers": (part(schemes=[1]), "schemes"),
        "format-99": (part(**{"posenc-report": 99}), "format"),
        "format-true": (part(**{"posenc-report": True}), "posenc-report"),
        "interrupted-a-number": (part(interrupted=4), "interrupted"),
        "not-a-report": (b"{}", ""),
        "a-list": (b"[]", ""),
        "cut": (_json(whole)[:-9], ""),
        "packed-cut": (packed[:-9], ""),
        "packed-bomb": (lambda: gzip.compress(b" " * 2**28), ""),
        "packed-twice": (gzip.compress(packed), ""),
        "deep": (_deep(10**5), ""),
        "digits-5000": (b'{"posenc-report": ' + b"9" * 5000 + b"}", ""),
        "nan": (_json({**whole, "kit": NAN}), "kit"),
        "not-text": (b'{"posenc-report": "\xff"}', ""),
        "very-many-values": (lambda: b"[" + b"1," * 5_000_000 + b"1]", "values"),
        "empty": (b"", ""),
        **more,
    }


def _known() -> Cases:
    (first, second) = KNOWN["failures"]

    def entry(**changed: Any) -> bytes:
        return _json({**KNOWN, "failures": [{**first, **changed}, second]})

    laughs = "a: &a [x]\n" + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join([f'*{chr(97 + n)}'] * 9)}]\n" for n in range(12)
    )
    return {
        "right": (_json(KNOWN), None),
        "right-yaml": (
            b"posenc-known-failures: 1\nfailures:\n- id: a.yaml::golden::a\n  reason: because\n",
            None,
        ),
        "stars": (entry(id="a.yaml::golden::" + "*a" * 40 + "*b"), "failures.0"),
        "mark-true": (_json({**KNOWN, "posenc-known-failures": True}), "posenc-known-failures"),
        "mark-99": (_json({**KNOWN, "posenc-known-failures": 99}), "posenc-known-failures"),
        "mark-missing": (b"failures: []\n", "posenc-known-failures"),
        "failures-a-number": (_json({**KNOWN, "failures": 4}), "failures"),
        "failures-null": (_json({**KNOWN, "failures": None}), "failures"),
        "entry-a-text": (_json({**KNOWN, "failures": ["a"]}), "failures.0"),
        "id-a-number": (entry(id=4), "failures.0"),
        "id-empty": (entry(id=""), "failures.0"),
        "id-unknown": (entry(id="a.yaml::golden::z"), "failures.0"),
        "id-and-ids": (entry(ids=["a.yaml::golden::a"]), "failures.0"),
        "id-twice": (_json({**KNOWN, "failures": [second, second]}), "twice"),
        "id-of-escapes": (entry(id="\x1b[2J\n"), "failures.0"),
        "id-of-a-megabyte": (entry(id="i" * 10**6), "failures.0"),
        "reason-missing": (_json({**KNOWN, "failures": [{"id": first["id"]}]}), "failures.0"),
        "reason-a-list": (entry(reason=["because"]), "failures.0"),
        "reason-of-blanks": (entry(reason="  "), "failures.0"),
        "link-a-number": (entry(link=4), "failures.0"),
        "when-a-text": (entry(when="today"), "failures.0"),
        "when-unknown": (entry(when={"moon": "full"}), "moon"),
        "more": (entry(more=1), "failures.0"),
        "tag": (b"!!python/object/apply:os.system ['echo hurt']\n", ""),
        "tag-in-it": (b"posenc-known-failures: 1\nfailures: !!python/name:os.system\n", ""),
        "laughs": (laughs.encode(), ""),
        "merge": (b"a: &a {b: 1}\nposenc-known-failures: 1\n<<: *a\nfailures: 1\n", ""),
        "key-twice": (b"posenc-known-failures: 1\nposenc-known-failures: 1\n", "twice"),
        "unhashable-key": (b"? [a]\n: 1\n", ""),
        "two-documents": (b"a: 1\n---\nb: 1\n", ""),
        "tabs": (b"a:\n\t- b\n", ""),
        "deep": (_deep(50_000), ""),
        "digits-5000": (b"posenc-known-failures: " + b"9" * 5000 + b"\n", ""),
        "not-text": (b"posenc-known-failures: \xff\n", ""),
        "zeros": (b"\0" * 100, ""),
        "empty": (b"", ""),
    }


def _manifests() -> Cases:
    def of(text: str, mark: str = "posenc-program = 1\n") -> bytes:
        return f"{mark}{text}\n".encode()

    limits = {
        "seconds": ("'x'", "0", "-1", "true", "inf", "nan", "1e300", "[1]"),
        "starting": ("'x'", "0", "-1", "false", "inf", "nan"),
        "memory": ("4", "'x'", "'-4GB'", "''", f"'{'9' * 400}GB'", "true", "'4 PB'", "[1]"),
    }
    return {
        "right": (of("command = 'a b'"), None),
        "right-list": (of("command = ['a', 'b']\nfolder = '.'\n[limits]\nmemory = '0'"), None),
        **{
            f"{name}-{number}": (of(f"command = 'a'\n[limits]\n{name} = {value}"), f"limits.{name}")
            for name, values in limits.items()
            for number, value in enumerate(values)
        },
        "limit-unknown": (of("command = 'a'\n[limits]\ndisk = 1"), "limits.disk"),
        "limits-a-number": (of("command = 'a'\nlimits = 4"), "limits"),
        "mark-missing": (of("command = 'a'", ""), "posenc-program"),
        "mark-true": (of("command = 'a'", "posenc-program = true\n"), "posenc-program"),
        "mark-2": (of("command = 'a'", "posenc-program = 2\n"), "posenc-program"),
        "mark-of-5000-digits": (of("command = 'a'", f"posenc-program = {'9' * 5000}\n"), ""),
        "command-missing": (of(""), "command"),
        "command-a-number": (of("command = 4"), "command"),
        "command-empty": (of("command = ''"), "command"),
        "command-of-empty": (of("command = ['']"), "command"),
        "command-of-numbers": (of("command = ['a', 1]"), "command"),
        "command-open-quote": (of('command = "a \'b"'), "command"),
        "folder-missing": (of("command = 'a'\nfolder = 'no-such'"), "folder"),
        "folder-a-number": (of("command = 'a'\nfolder = 4"), "folder"),
        "folder-of-a-megabyte": (of(f"command = 'a'\nfolder = '{'f' * 10**5}'"), "folder"),
        "folder-of-zeros": (of('command = "a"\nfolder = "a\\u0000b"'), "folder"),
        "environment-a-text": (of("command = 'a'\nenvironment = 'A=b'"), "environment"),
        "environment-of-numbers": (of("command = 'a'\n[environment]\nA = 1"), "environment.A"),
        "unknown": (of("command = 'a'\ncommands = 'b'"), "commands"),
        "unknown-of-escapes": (of('command = "a"\n"\\u001b[2J" = 1'), "\\x1b"),
        "twice": (of("command = 'a'\ncommand = 'b'"), ""),
        "not-toml": (b"command: a\n", ""),
        "deep": (of("command = " + "[" * 5000 + "]" * 5000), ""),
        "not-text": (b"command = '\xff'\n", ""),
        "empty": (b"", "posenc-program"),
    }


def _schemes() -> Cases:
    text = schemes()[0].decode()

    def changed(old: str, new: str) -> bytes:
        assert old in text, old
        return text.replace(old, new, 1).encode()

    first = next(line for line in text.splitlines() if line.startswith("title:"))
    return {
        "right": (text.encode(), None),
        "title-a-list": (changed(first, "title: [a]"), "title"),
        "title-missing": (changed(first + "\n", ""), "title"),
        "unknown": ((text + "\nodd: 1\n").encode(), "odd"),
        "twice": ((text + "\n" + first + "\n").encode(), "title"),
        "calls-null": (changed("\ncalls:", "\ncalls: null\nodd:"), ""),
        "tag": ((text + "\nodd: !!python/object/apply:os.system ['echo hurt']\n").encode(), ""),
        "a-list": (b"[]", ""),
        "a-text": (b"hello", ""),
        "deep": (_deep(50_000), ""),
        "digits-5000": (b"format: " + b"9" * 5000, ""),
        "cut": (text[: len(text) // 2].encode(), ""),
        "not-text": (b"title: \xff", ""),
        "zeros": (b"\0" * 100, ""),
        "empty": (b"", ""),
    }
