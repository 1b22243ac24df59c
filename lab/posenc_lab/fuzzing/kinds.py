"""The kinds of external input: valid examples, how to change them, and their reader."""

import contextlib
import io
import json
import os
import socket
import struct
import tempfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import yaml

import posenc
from posenc_conformance.commands.badge import write as write_badges
from posenc_conformance.commands.identify.answers import told_of_file
from posenc_conformance.commands.identify.saved_arrays import read_tables
from posenc_conformance.commands.model import describe_model
from posenc_conformance.commands.new.new_command import new
from posenc_conformance.deployed.http.client import Client
from posenc_conformance.deployed.http.endpoint import Endpoint, connect
from posenc_conformance.errors import UserError
from posenc_conformance.judge.arrays import to_numpy
from posenc_conformance.judge.misbehaviour import Misbehaviour
from posenc_conformance.models.block import IN_A_BLOCK
from posenc_conformance.models.file import load_all
from posenc_conformance.models.understood import read_by_any
from posenc_conformance.registry import load_scheme
from posenc_conformance.remote.command_line import manifest_of
from posenc_conformance.remote.wire import Lines, Malformed, value
from posenc_conformance.report.difference import difference, read_report
from posenc_conformance.report.document import VERDICTS
from posenc_conformance.report.known import read_known
from posenc_conformance.scheme_file.read import paths_by_name, read_scheme
from posenc_lab.deployed.server import talking
from posenc_lab.fuzzing.calls import make_call, mutated_call, right_call
from posenc_lab.fuzzing.mutators import mutated, mutated_document

Make = Callable[[Random], bytes]


@dataclass(frozen=True)
class Kind:
    """A kind of input."""

    name: str
    """The name of the file that the reader gets."""
    make: Make
    read: Callable[[Path], object]
    refusals: tuple[type[Exception], ...] = (UserError,)
    """The exceptions with which the reader refuses an input; any other is a finding."""


def _read_arrays(path: Path) -> None:
    for _ in read_tables(path):
        pass


def _tell_arrays(path: Path) -> str:
    """Identify the arrays of a file, as the command does, which takes much longer than reading."""
    return "".join(text for text, _ in told_of_file(path, []))


def _bytes_of(seeds: Callable[[], Sequence[bytes]]) -> Make:
    def make(random: Random) -> bytes:
        examples = seeds()
        return mutated(random, random.choice(examples), examples)

    return make


def _documents_of(
    seeds: Callable[[], Sequence[Any]], names: Sequence[str], write: Callable[[Any], bytes]
) -> Make:
    def make(random: Random) -> bytes:
        seed = random.choice(seeds())
        content = write(seed)
        with contextlib.suppress(RecursionError):  # the document is too deep to write
            if random.random() < 0.9:
                content = write(mutated_document(random, seed, names))
        return mutated(random, content) if random.random() < 0.2 else content

    return make


def _json(document: Any) -> bytes:
    return json.dumps(document).encode()


# Arrays.

TABLE = posenc.sinusoidal(np.arange(8), 8, dtype=np.float32)


def npy(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


@cache
def _arrays() -> list[bytes]:
    small = (1e4 ** -(np.arange(8) / 8)).astype(np.float16)
    masks = np.tril(np.ones((6, 6), np.bool_))
    return [npy(array) for array in (TABLE, small, masks, np.asfortranarray(TABLE), TABLE[:0])]


def zipped(files: Mapping[str, bytes], method: int) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return stream.getvalue()


def _archive(name: str, seeds: Callable[[], Sequence[bytes]], **beside: bytes) -> Make:
    """Return a maker that changes a file inside an archive, or the archive."""

    def make(random: Random) -> bytes:
        inner = random.choice(seeds())
        whole = random.random() < 0.5
        if not whole:
            inner = mutated(random, inner, seeds())
        method = random.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
        files = {name: inner, **{key.replace("__", "/"): beside[key] for key in beside}}
        packed = zipped(files, method)
        return mutated(random, packed) if whole else packed

    return make


@cache
def _pickles() -> list[bytes]:
    tensor = (
        "ctorch._utils\n_rebuild_tensor_v2\n((S'storage'\nctorch\nFloatStorage\nS'0'\nS'cpu'\n"
        "I64\ntQI0\n(I8\nI8\nt(I8\nI1\ntI00\nccollections\nOrderedDict\n(tRtR"
    )
    return [
        f"(dp0\nS'freq'\n{tensor}s.".encode(),
        f"(lp0\n{tensor}a(dp1\nS'a'\nh\x00s{tensor}a.".encode(),
        b"\x80\x02}q\x00(X\x01\x00\x00\x00aK\x01X\x01\x00\x00\x00bh\x00u.",
    ]


@cache
def _headers() -> list[Any]:
    place = {"dtype": "F32", "shape": [8, 8], "data_offsets": [0, 256]}
    return [{"freq": place, "__metadata__": {"format": "pt"}}, {"a": place, "cos": place}]


def _safetensors(document: Any) -> bytes:
    header = _json(document)
    return len(header).to_bytes(8, "little") + header + TABLE.tobytes()


@cache
def _texts() -> list[bytes]:
    rows = [" ".join(map(repr, row)) for row in TABLE.tolist()]
    return [
        "\n".join(rows).encode(),
        "\n".join(row.replace(" ", ", ") for row in rows).encode(),
        b",0,1\n0,1.0,0.5\n1,0.5,0.25\n",
        f"tensor({TABLE.tolist()}, dtype=float32)".encode(),
        str(TABLE).encode(),
    ]


# Models.


@cache
def _configurations() -> list[Any]:
    return [dict(model.config) for model in load_all()]


def _tell_model(path: Path) -> str:
    return "".join(describe_model(str(path)))


def _packed(text: str) -> bytes:
    content = text.encode("utf-8", "replace")
    return struct.pack("<Q", len(content)) + content


def gguf(metadata: Any) -> bytes:
    pairs = [_pair(name, field) for name, field in metadata.items()]
    head = b"GGUF" + struct.pack("<IQQ", 3, 1, len(pairs))
    return head + b"".join(pairs) + _packed("output.weight") + struct.pack("<IQIQ", 1, 64, 0, 0)


def _pair(name: str, given: Any) -> bytes:
    return _packed(name) + _typed(given)


def _typed(given: Any) -> bytes:
    if isinstance(given, bool) or given is None:
        return struct.pack("<I?", 7, bool(given))
    if isinstance(given, int):
        return struct.pack("<IQ", 10, given % 2**64)
    if isinstance(given, float):
        return struct.pack("<Id", 12, given)
    if isinstance(given, str):
        return struct.pack("<I", 8) + _packed(given)
    items = [_typed(item) for item in given]
    inner = items[0][:4] if items else struct.pack("<I", 4)
    return (
        struct.pack("<I", 9)
        + inner
        + struct.pack("<Q", len(items))
        + b"".join(item[4:] for item in items)
    )


def _metadata() -> list[Any]:
    plain = {
        "general.architecture": "qwen2",
        "tokenizer.ggml.tokens": ["a", "b"],
        "qwen2.block_count": 24,
        "qwen2.context_length": 32768,
        "qwen2.embedding_length": 896,
        "qwen2.attention.head_count": 14,
        "qwen2.rope.freq_base": 1000000.0,
    }
    scaled = {
        **plain,
        "qwen2.rope.scaling.type": "yarn",
        "qwen2.rope.scaling.factor": 4.0,
        "qwen2.rope.scaling.original_context_length": 8192,
    }
    return [plain, scaled]


# Manifests, known failures, schemes.

MANIFESTS = [
    b"posenc-program = 1\ncommand = 'a b'\n",
    b"posenc-program = 1\ncommand = ['a', 'b']\nfolder = '.'\n[environment]\nA = 'b'\n"
    b"[limits]\nseconds = 2\nstarting = 60.5\nmemory = '120MB'\n",
]
KNOWN: Mapping[str, Any] = {
    "posenc-known-failures": 1,
    "failures": [
        {"id": "a.yaml::golden::a*", "reason": "because", "link": "https://example.org"},
        {"ids": ["a.yaml::golden::b"], "reason": "because", "when": {"cpu": "avx2"}},
    ],
}


def _read_known(path: Path) -> None:
    read_known(path, lambda _: ["a.yaml::golden::a", "a.yaml::golden::b"])


@cache
def schemes() -> list[bytes]:
    return [paths_by_name()["alibi"].read_bytes(), paths_by_name()["nope"].read_bytes()]


# Reports.


@cache
def reports() -> list[Any]:
    place = {"scheme": "rope", "call": "rope", "combination": "half", "dtype": "float32"}
    measured = {"worst": 0.5, "exact_angles": True, "horizon": 4096, "horizon_is_claim": False}
    check = {
        **{"id": "rope.yaml::golden::a", "verdict": "passed", "level": "golden"},
        **place,
        **measured,
        **{"curve": [[1, 0.1, 0.2]], "left_out": "", "explanations": [["degrees", "in degrees"]]},
        "message": "wrong: by far",
    }
    counts, both = dict.fromkeys(VERDICTS, 0), {"passed": 1, "failed": 1}
    return [
        {
            "posenc-report": 1,
            "kit": "0",
            "implementation": {"name": "mine", "versions": {"mine": "1"}},
            "schemes": ["rope"],
            "summary": {**counts, **both, "checks": 2, "not_selected": 0, "not_claimed": 0},
            "rows": [{**place, **counts, **measured}],
            "diagnoses": [],
            "checks": [check, {**check, "id": "rope.yaml::golden::b", "verdict": "failed"}],
            "not_claimed": [],
            "not_asked": {},
            "combinations_not_claimed": {},
        }
    ]


def _compare(path: Path) -> None:
    right = path.with_name("right.json")
    right.write_bytes(_json(reports()[0]))
    for first, other in ((path, right), (right, path)):
        "".join(difference(read_report(first), read_report(other)).lines()).encode()


def _badges(path: Path) -> None:
    "".join(write_badges(path, path.parent / "badges")).encode()


# Replies of programs.

REPLIES = [
    _json({"id": 1, "result": {"dtype": "float32", "shape": [2], "data": "AACAPwAAgD8="}}),
    _json({"id": 1, "result": [[0.5, 1.0], [1, 2]]}),
    _json({"id": 1, "error": {"type": "ValueError", "message": "no"}}),
]


def _read_reply(path: Path) -> None:
    line = Lines().take(bytearray(path.read_bytes() + b"\n"))
    if line is None or "result" not in line.message:
        return
    result = value(line.message["result"])
    try:
        to_numpy(result)
    except (TypeError, ValueError):  # reported as a bad result of the program
        return


# Answers of engines over HTTP.


@cache
def _answers() -> list[bytes]:
    words = {" key": -0.5, " zero": -9.0}
    listed = [{"token": word, "logprob": value} for word, value in words.items()]
    bodies = [
        {"data": [{"id": "served", "max_model_len": 4096}]},
        {"choices": [{"index": 0, "logprobs": {"content": [{"top_logprobs": listed}]}}]},
        {"choices": [{"index": 0, "logprobs": {"top_logprobs": [words]}}]},
    ]
    answers = []
    for body in map(_json, bodies):
        length = b"Content-Length: %d\r\n\r\n" % len(body)
        pieces = b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
        answers += [b"HTTP/1.1 200 OK\r\n" + length + body, b"HTTP/1.1 200 OK\r\n" + pieces]
        answers.append(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n" + length + body)
        answers.append(b"HTTP/1.1 400 Bad Request\r\n" + length + body)
    return answers


def _read_answer(path: Path) -> None:
    """Ask a server that answers with a file's bytes for its models; if that fails, for words."""
    content = path.read_bytes()

    def speak(connection: socket.socket, _: bytes) -> None:
        connection.sendall(content)

    with talking(speak) as url:
        client = Client.of(url, 2.0)
        with contextlib.suppress(UserError):
            connect(client)
            return
        Endpoint(client, "served", None).read([0], 1)


# Calls of check and expected, and a user's own schemes.


def _calls(random: Random) -> bytes:
    return _json(mutated_call(random, right_call(random)))


def _call(path: Path) -> None:
    try:
        make_call(json.loads(path.read_bytes()))
    except AssertionError as verdict:
        if not verdict.args:  # an assertion inside the kit
            raise


OWN = "zz-own"


@cache
def own_scheme() -> Mapping[str, bytes]:
    """Return the files of a new scheme, as ``posenc new`` writes them."""
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(io.StringIO()):
        list(new(OWN, "bias", folder))
        return {file.name: file.read_bytes() for file in Path(folder).iterdir() if file.is_file()}


@cache
def _own_documents() -> list[Any]:
    return [yaml.safe_load(own_scheme()[f"{OWN}.yaml"])]


def _own_schemes(random: Random) -> bytes:
    """Change the bytes of a scheme or, more often, its fields, which keeps more files valid."""
    make = _bytes_of(lambda: [own_scheme()[f"{OWN}.yaml"]])
    if random.random() < 0.7:
        make = _documents_of(_own_documents, ["options", "dtype", "when"], _yaml)
    return make(random)


def _yaml(document: Any) -> bytes:
    text: str = yaml.safe_dump(document, sort_keys=False)
    return text.encode()


def _collect_own(path: Path) -> None:
    """Collect the checks of a scheme as the plugin does.

    Raises UserError if the plugin refuses the scheme, and RuntimeError for a bug of the kit.
    """
    for name, content in own_scheme().items():
        if name != path.name:
            path.with_name(name).write_bytes(content)
    load_scheme.cache_clear()
    output = io.StringIO()
    with redirect_stdout(output), redirect_stderr(output):
        options = ["--impl=reference", f"--posenc-schemes={path.parent}", "--collect-only", "-q"]
        status = pytest.main([*options, "-p", "no:cacheprovider", "-c", os.devnull, str(path)])
    if status == pytest.ExitCode.INTERNAL_ERROR or "Traceback" in output.getvalue():
        raise RuntimeError(output.getvalue()[-300:])
    if status != pytest.ExitCode.OK:
        raise UserError(f"pytest ended with {status}")


BLOCK_NAMES = sorted({*read_by_any(), *(name for names in IN_A_BLOCK.values() for name in names)})
CONFIGURATION = _documents_of(_configurations, BLOCK_NAMES, _json)
GGUF = _documents_of(_metadata, ["qwen2.rope.dimension_count", "qwen2.odd"], gguf)
REPORT = _documents_of(reports, ["interrupted", "models"], _json)
KINDS: Mapping[str, Kind] = {
    "array": Kind("a.npy", _bytes_of(_arrays), _read_arrays),
    "arrays": Kind("a.npz", _archive("freq.npy", _arrays), _read_arrays),
    "tensors": Kind("a.safetensors", _documents_of(_headers, ["freq"], _safetensors), _read_arrays),
    "checkpoint": Kind(
        "a.pt", _archive("a/data.pkl", _pickles, a__data__0=TABLE.tobytes()), _read_arrays
    ),
    "text": Kind("a.txt", _bytes_of(_texts), _read_arrays),
    "identify": Kind("a.npy", _bytes_of(_arrays), _tell_arrays),
    "model": Kind("config.json", CONFIGURATION, _tell_model),
    "gguf": Kind("a.gguf", GGUF, _tell_model),
    "manifest": Kind("a.toml", _bytes_of(lambda: MANIFESTS), lambda path: manifest_of(str(path))),
    "known": Kind("known.yaml", _documents_of(lambda: [KNOWN], ["id", "ids"], _json), _read_known),
    "scheme": Kind("alibi.yaml", _bytes_of(schemes), read_scheme),
    "diff": Kind("a.json", REPORT, _compare),
    "badge": Kind("a.json", REPORT, _badges),
    "answer": Kind("a.http", _bytes_of(_answers), _read_answer, (UserError, Misbehaviour)),
    "call": Kind("call.json", _calls, _call),
    "own scheme": Kind(f"{OWN}.yaml", _own_schemes, _collect_own),
    "reply": Kind("a.json", _bytes_of(lambda: REPLIES), _read_reply, (UserError, Malformed)),
}


def read_quietly(kind: Kind, path: Path) -> None:
    """Read an input of a kind as the kit does, without its printed output."""
    with redirect_stdout(io.StringIO()):
        kind.read(path)
