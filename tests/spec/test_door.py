"""Files from outside: one message that names the file, whatever its content and its reader.

Next to files that must be refused there are similar ones that are right, and are read.
"""

import gzip
import io
import json
import math
import os
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import posenc
from posenc_conformance import door
from posenc_conformance.checks.golden import require_small
from posenc_conformance.commands.identify import archives, parts
from posenc_conformance.commands.identify.archives import Allowance, numpy_file
from posenc_conformance.commands.identify.parts import parts_of
from posenc_conformance.commands.main import main
from posenc_conformance.door import (
    BYTES_OF_A_VALUE,
    MOST_MEMBERS,
    MOST_VALUES,
    PIECE,
    parse_json,
    read_bytes,
    read_json,
    unpack,
)
from posenc_conformance.errors import UserError
from posenc_conformance.judge.arrays import Array
from posenc_conformance.models.file import model_file, with_configuration
from posenc_conformance.registry import load_scheme
from posenc_conformance.remote.command_line import amount_of, manifest_of
from posenc_conformance.remote.load import How, load
from posenc_conformance.report.difference import read_report
from posenc_conformance.report.document import place, write
from posenc_conformance.report.known import read_known
from posenc_conformance.scheme_file.read import (
    is_scheme_file,
    paths_by_name,
    read_scheme,
    scheme_files,
)
from posenc_conformance.scheme_file.strict_yaml import find_line, load_yaml
from posenc_lab.fuzzing.kinds import reports
from tests.reporting import summary_of

pytestmark = pytest.mark.remembered(shipped=True)

READERS: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "identify": ("a.txt", lambda path: main(["identify", str(path)])),
    "identify, an array": ("a.npy", lambda path: main(["identify", str(path)])),
    "identify, tensors": ("a.pt", lambda path: main(["identify", str(path)])),
    "diff": ("a.json", lambda path: main(["diff", str(path), str(path)])),
    "badge": ("a.json", lambda path: main(["badge", str(path), "--to", str(path.parent)])),
    "known": ("a.json", lambda path: main(["known", str(path), str(path) + ".yaml"])),
    "model": ("config.json", lambda path: main(["model", str(path)])),
    "model, GGUF": ("a.gguf", lambda path: main(["model", str(path)])),
    "known failures": ("known.yaml", lambda path: read_known(path, lambda _: [])),
    "manifest": ("a.toml", lambda path: manifest_of(str(path))),
    "scheme": ("a.yaml", read_scheme),
}


def refusal(read: Callable[[Path], Any], path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Return the message of a reader that refuses a file."""
    try:
        code = read(path)
        text = capsys.readouterr().err
    except UserError as error:
        code, text = 2, str(error)
    assert code == 2
    message, _, hint = text.partition("hint: ")
    assert hint
    return message


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("kind", ["device", "pipe", "folder", "missing", "binary"])
def test_a_file_of_another_kind_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], reader: str, kind: str
) -> None:
    name, read = READERS[reader]
    path = tmp_path / name
    if kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "binary":
        path.write_bytes(bytes(range(256)) * 9)
    assert name in refusal(read, path, capsys)


def test_a_file_that_is_too_large_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"[1, 2, 3]")
    assert read_bytes(path, 9, "hint") == b"[1, 2, 3]"
    assert read_json(path, 9, "hint") == [1, 2, 3]
    with pytest.raises(UserError, match=r"a\.json"):
        read_bytes(path, 8, "hint")
    with path.open("wb") as stream:
        stream.truncate(2**40)  # takes no room on the disk, nor must it in memory
    with pytest.raises(UserError, match=r"a\.json"):
        read_bytes(path, 2**27, "hint")


def test_packed_documents_are_unpacked_up_to_a_limit() -> None:
    packed = gzip.compress(b"0" * 500) + gzip.compress(b"0" * 500)
    assert unpack(packed, 1000) == b"0" * 1000
    assert unpack(packed + bytes(10), 1000) == b"0" * 1000
    for wrong, largest in [(packed, 999), (packed[:-9], 1000), (packed + b"more", 1000)]:
        with pytest.raises((ValueError, EOFError, zlib.error)):
            unpack(wrong, largest)


def test_a_packed_document_may_have_many_members_but_not_without_end() -> None:
    members = [gzip.compress(bytes([n])) + bytes(n) for n in range(200)]
    assert unpack(b"".join(members), 200) == bytes(range(200))
    noise = np.random.default_rng(1).bytes(3 * PIECE)  # members that are larger than a piece
    assert unpack(gzip.compress(noise) * 3, 9 * PIECE) == noise * 3
    empty = gzip.compress(b"")
    assert unpack(empty * MOST_MEMBERS + bytes(2**20), 0) == b""
    with pytest.raises(ValueError, match="members"):
        unpack(empty * 10**6, 2**20)


def test_documents_of_too_many_or_too_deep_values_are_refused() -> None:
    assert len(parse_json(b"[" + b"{}," * 999 + b"{}]")) == 1000
    with pytest.raises(ValueError, match="values"):
        parse_json(b"[" + b"{}," * MOST_VALUES + b"{}]")
    with pytest.raises(RecursionError):
        parse_json(b"[" * 10**6)


@pytest.mark.parametrize(
    "text", [",[{" * 9, '"' + ",[" * 9, "\\", '\\"', "\n" + "\\" * 3 + '"' + "," * 9, "\x00,\u20ac"]
)
def test_characters_in_texts_count_as_no_values(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The messages of a report have more commas than the report has values."""
    monkeypatch.setattr(door, "MOST_VALUES", 9)
    monkeypatch.setattr(door, "BYTES_OF_A_VALUE", 2**20)
    for size in (1, 2, 3, 2**14):
        monkeypatch.setattr(door, "PIECE", size)
        document = {"message": text, text: [1, {"a": text}]}
        assert parse_json(json.dumps(document, ensure_ascii=False).encode()) == document
        with pytest.raises(ValueError, match="more than 9 values"):
            parse_json(json.dumps([text] * 10).encode())


def test_a_report_has_room_for_its_values_however_long_it_is(tmp_path: Path) -> None:
    """Messages, which are optional, would only make more room."""
    (report,) = reports()
    check = {**report["checks"][0], "message": "", "explanations": []}
    checks = [{**check, "id": f"a::b::{number}"} for number in range(500)]
    long = {**report, "checks": checks, "summary": summary_of(checks)}
    path = tmp_path / "a.json"
    assert write(long, path) == ""
    assert read_report(path)["checks"][499]["id"] == "a::b::499"
    content = path.read_bytes()
    assert door._count_values(content) < len(content) / BYTES_OF_A_VALUE


# identify.


def npy(array: Array) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def safetensors(header: bytes, body: bytes = b"") -> bytes:
    return len(header).to_bytes(8, "little") + header + body


def zipped(files: dict[str, bytes], flags: int = 0) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    marked = bytearray(stream.getvalue())
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = marked.find(mark)
        while at >= 0:
            marked[at + offset] |= flags
            at = marked.find(mark, at + 4)
    return bytes(marked)


TABLE = posenc.sinusoidal(np.arange(40), 16, dtype=np.float32)
PLAIN = npy(TABLE)
LOOP = b"]q\x00(" + b"h\x00" * 30 + b"e."
TENFOLD = b"]q\x00" + b"".join(b"](" + b"h%c" % n * 10 + b"eq%c" % (n + 1) for n in range(60))


def header(text: bytes) -> bytes:
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


SHAPED = b"{'descr': '<f4', 'fortran_order': False, 'shape': (%s,), }"
REFUSED: dict[str, tuple[str, bytes]] = {
    "blanks before a comma": ("a.txt", b" " * 200_000 + b",1"),
    "blanks": ("a.txt", b" " * 200_000),
    "blank lines": ("a.txt", b"\n" * 200_000 + b"("),
    "a name and blanks": ("a.txt", b"tensor" + b" " * 200_000),
    "a number beyond float64": ("a.txt", b"1.5e400 1"),
    "a number with a long exponent": ("a.txt", b"1.5e" + b"9" * 5000),
    "a long word": ("a.txt", b"x" * 10**6),
    "brackets without end": ("a.txt", b"[" * 10**6),
    "brackets nested in brackets": ("a.txt", b"[" * 100 + b"1" + b"]" * 100),
    "a number beside a row": ("a.txt", b"[1, [2]]"),
    "a row beside a number": ("a.txt", b"[[1], 2]"),
    "two lists": ("a.txt", b"[1, 2] [3]"),
    "a row of no row": ("a.txt", b"[[[]], [1]]"),
    "more numbers than are read": ("a.txt", b"1 " * (2**21 + 1)),
    "a header that is a sum": ("a.npy", header(b"1" + b"+1" * 4000)),
    "a header that is a sign": ("a.npy", header(b"-" * 9000 + b"1")),
    "a header without its first brace": ("a.npy", PLAIN.replace(b"'descr'", b"'descq'")),
    "a header with a letter less": ("a.npy", PLAIN.replace(b"False", b"\x07alse")),
    "a header of 4 GB": ("a.npy", b"\x93NUMPY\x02\x00\xff\xff\xff\xff"),
    "no dtype": ("a.npy", PLAIN.replace(b"'<f4'", b"'<f3'")),
    "sizes beyond all": ("a.npy", header(SHAPED % (b"9" * 900))),
    "a hundred axes": ("a.npy", header(SHAPED % b",".join([b"1"] * 100))),
    "an array that breaks off": ("a.npy", PLAIN[:-1]),
    "an encrypted archive": ("a.npz", zipped({"a.npy": PLAIN}, flags=1)),
    "an infinite shape": (
        "a.safetensors",
        safetensors(
            b'{"a": {"dtype": "F32", "shape": [Infinity], "data_offsets": [0, 4]}}', bytes(4)
        ),
    ),
    "a shape beyond float64": (
        "a.safetensors",
        safetensors(b'{"a": {"dtype": "F32", "shape": [1e400], "data_offsets": [0, 4]}}', bytes(4)),
    ),
    "a deep header": ("a.safetensors", safetensors(b'{"a": ' + b"[" * 10**5)),
    "a tensor that is a list": ("a.safetensors", safetensors(b'{"a": [1]}')),
    "a list that holds itself": ("a.pt", zipped({"a/data.pkl": LOOP})),
    "lists tenfold": ("a.pt", zipped({"a/data.pkl": TENFOLD + b"."})),
    "a key without end": (
        "a.pt",
        zipped({"a/data.pkl": b"}X\x40\x42\x0f\x00" + b"k" * 10**6 + b"Ns."}),
    ),
}
READ: dict[str, tuple[str, bytes]] = {
    "an array": ("a.npy", PLAIN),
    "an archive that is called an array": ("a.npy", zipped({"a.npy": PLAIN})),
    "an array that is called an archive": ("a.npz", PLAIN),
    "columns first": ("a.npy", npy(np.asfortranarray(TABLE))),
    "a header of other writers": (
        "a.npy",
        header(b'{"descr":"<f4","fortran_order":False,"shape":(40,16)}') + TABLE.tobytes(),
    ),
    "blanks around commas": (
        "a.txt",
        "\n".join(" \t , \t ".join(map(repr, row.tolist())) for row in TABLE).encode(),
    ),
    "tabs": ("a.txt", "\n".join("\t".join(map(repr, row.tolist())) for row in TABLE).encode()),
    "a list": ("a.txt", (" \n" * 9 + "array( [" + str(TABLE.tolist())[1:] + ")").encode()),
}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "content"), REFUSED.values(), ids=REFUSED)
def test_a_file_that_hurts_a_reader_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, content: bytes
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    message = refusal(READERS["identify"][1], path, capsys)
    assert name in message
    assert len(message) < 1000


@pytest.mark.parametrize(("name", "content"), READ.values(), ids=READ)
def test_a_similar_right_file_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, content: bytes
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert main(["identify", str(path)]) == 0, capsys.readouterr().err
    assert "sinusoidal, paper" in capsys.readouterr().out


def test_no_more_of_a_file_is_read_than_its_allowance() -> None:
    allowance = Allowance(1000)
    size = TABLE[:5].nbytes + 128
    content = npy(TABLE[:5])
    for _ in range(3):
        assert np.array_equal(numpy_file(io.BytesIO(content), size, allowance), TABLE[:5])
    with pytest.raises(UserError, match="all arrays together"):
        numpy_file(io.BytesIO(content), size, allowance)


def test_an_archive_that_lists_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.npz"
    path.write_bytes(zipped({f"freq{n}.npy": PLAIN for n in range(20)}))
    assert main(["identify", str(path)]) == 0
    capsys.readouterr()
    for limit, least in (("LARGEST_DIRECTORY", 100), ("MOST_ARRAYS", 19)):
        with monkeypatch.context() as patch:
            patch.setattr(archives, limit, least)
            assert "a.npz" in refusal(READERS["identify"][1], path, capsys)


def test_a_slow_command_reports_its_progress(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.npz"
    path.write_bytes(zipped({f"freq{n}.npy": PLAIN for n in range(30)}))
    for patience, lines in ((math.inf, 0), (-1.0, 30)):
        monkeypatch.setattr("posenc_conformance.commands.progress.PATIENCE", patience)
        assert main(["identify", str(path)]) == 0
        captured = capsys.readouterr()
        assert len(captured.err.splitlines()) == lines
        assert "of 30" not in captured.out
    assert "array 7 of 30" in captured.err


ANGLES = np.outer(np.arange(900), 1e4 ** -(np.arange(8) / 8))


@pytest.mark.parametrize(
    ("array", "known"),
    [
        (posenc.sinusoidal(np.arange(400), 16), "sinusoidal, paper"),
        (np.tril(np.ones((90, 90), np.bool_)), "causal"),
        (posenc.alibi_bias(4, 60, 60, form="symmetric"), "symmetric"),
        (np.stack([np.cos(ANGLES), np.sin(ANGLES)]), "base 10000"),
    ],
)
def test_a_part_of_a_large_array_is_identified(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    array: Array,
    known: str,
) -> None:
    path = tmp_path / "a.npy"
    path.write_bytes(npy(array))
    for limit, partial in ((array.size, False), (array.size // 3, True)):
        monkeypatch.setattr(parts, "LOOKED_AT", limit)
        assert main(["identify", str(path)]) == 0
        out = capsys.readouterr().out
        assert known in out
        assert ("looked at: the first" in out) == partial


def test_parts_are_no_larger_than_their_limit() -> None:
    for shape in [(2**23,), (2**12, 2**12), (2, 2**22), (3, 5, 2**20), (2**20, 2, 8), (1, 2**24)]:
        array = np.broadcast_to(np.float32(1), shape)
        for part in parts_of(array):
            assert 0 < part.array.size <= parts.LOOKED_AT


def test_the_smallest_numbers_are_not_identified(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.npy"
    path.write_bytes(npy(5e-324 * np.arange(16.0)))
    assert main(["identify", str(path)]) == 1
    assert "wrong-scale" not in capsys.readouterr().out


def test_names_of_arrays_stay_within_their_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.safetensors"
    odd = "b\r\nposenc: all is well\x1b[31m\u202e"
    place = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}
    names = [odd, "\ud800", "long" * 10**5]
    path.write_bytes(safetensors(json.dumps(dict.fromkeys(names, place)).encode(), bytes(4)))
    assert main(["identify", str(path)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert not any(line.startswith("posenc") for line in lines)
    assert all(line.isprintable() and len(line) < 500 for line in lines)


# Reports, manifests, known failures, schemes.


def test_amounts_of_memory_beyond_all_are_refused() -> None:
    assert amount_of("4GB", "memory") == 4 * 10**9
    assert amount_of("0", "memory") == 0
    for text in ("9" * 400 + "GB", "9" * 5000, "1e9", "-1GB"):
        with pytest.raises(UserError, match="memory size"):
            amount_of(text, "memory")


@pytest.mark.parametrize(
    "text",
    [
        "posenc-program = true\ncommand = 'a'",
        f"posenc-program = 1\ncommand = 'a'\nlimits.seconds = {'9' * 5000}",
        f"posenc-program = 1\ncommand = 'a'\nlimits.memory = '{'9' * 400}GB'",
        "posenc-program = 1\ncommand = " + "[" * 10**5,
    ],
)
def test_a_manifest_that_hurts_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=r"a\.toml"):
        manifest_of(str(path))
    path.write_text("posenc-program = 1\ncommand = 'a'\nlimits.memory = '1GB'", encoding="utf-8")
    manifest = manifest_of(str(path))
    assert manifest is not None
    assert manifest.memory == 10**9


MERGED = "posenc-known-failures: 1\nx0: &x0 {a: 1}\n" + "".join(
    f"x{n}: &x{n}\n  <<: [{', '.join([f'*x{n - 1}'] * 10)}]\n" for n in range(1, 30)
)


@pytest.mark.parametrize(
    "text",
    [
        "posenc-known-failures: true\nfailures: []",
        "posenc-known-failures: 1\nfailures: " + "[" * 10**5,
        "posenc-known-failures: 1\nfailures: 1" + ":1" * 10**6,
        MERGED,
    ],
    ids=["true", "deep", "a number of minutes", "merged"],
)
def test_known_failures_that_hurt_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "known.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=r"known\.yaml"):
        read_known(path, lambda _: [])


# Nine lists of nine, nine deep: 600 bytes that expand to four hundred million values.
TENFOLD_TEXT = "a: &a [1,1,1,1,1,1,1,1,1]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{of}'] * 9)}]\n"
    for of, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize("value", ["{machine: *i}", "{cpu: *i}", "{versions: {numpy: *i}}", "*i"])
def test_known_failures_whose_aliases_grow_are_refused(tmp_path: Path, value: str) -> None:
    path = tmp_path / "known.yaml"
    text = f"posenc-known-failures: 1\n{TENFOLD_TEXT}"
    text += f"failures: [{{id: 'a', reason: x, when: {value}}}]\n"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match="aliases expand"):
        read_known(path, lambda _: ["a"])


MISFITS = [
    "!!bool abc",
    "!!int ''",
    "!!int '-'",
    "!!int '_'",
    "!!float ''",
    "!!float '_'",
    "!!timestamp abc",
    "2020-01-01",
    "!!map [1]",
    "!!seq {a: 1}",
    "!!str [1]",
    "!!set {a, b}",
    "!!omap [a: 1]",
    "!!pairs [a: 1]",
    "!!binary aGVsbG8=",
    "!!python/object/apply:os.system [ls]",
    "!mine 3",
    "<<",
    "{1: x}",
    "{yes: x}",
    "{<<: {a: 1}}",
    "{[a]: 1}",
]


@pytest.mark.parametrize("value", MISFITS)
@pytest.mark.parametrize("reader", ["known failures", "scheme"])
def test_yaml_that_is_no_plain_data_is_refused_with_its_line(
    tmp_path: Path, reader: str, value: str
) -> None:
    name, read = READERS[reader]
    path = tmp_path / name
    path.write_text(f"posenc-known-failures: 1\nfailures: []\na: {value}\n", encoding="utf-8")
    with pytest.raises(UserError, match=rf"{name}:3: ") as raised:
        read(path)
    assert len(raised.value.cause) < 500
    assert raised.value.__cause__ is None


def test_yaml_that_is_plain_data_is_read(tmp_path: Path) -> None:
    text = "{a: !!int 1_000, b: !!float 1, c: !!str 2, d: !!null , e: [.inf, yes, '2020-01-01']}"
    assert load_yaml("a.yaml", text) == {
        **{"a": 1000, "b": 1.0, "c": "2", "d": None},
        "e": [math.inf, True, "2020-01-01"],
    }


def test_a_line_is_found_in_a_file_however_deep_it_is() -> None:
    text = f"a: 1\nb: {'[' * 700}{']' * 700}\n"
    assert find_line(text, ["b"]) in (1, 2)


def test_a_folder_of_schemes_may_hold_anything_else(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "device.yaml").symlink_to("/dev/zero")
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "gone.yaml").symlink_to("nowhere")
    (tmp_path / "mine.yaml").write_text("# a comment\n\nposenc-scheme: 2\n", encoding="utf-8")
    assert [file.name for file in scheme_files(tmp_path)] == ["mine.yaml"]
    assert not is_scheme_file(tmp_path / "pipe.yaml")


@pytest.mark.slow
def test_a_golden_that_is_too_large_is_refused(tmp_path: Path) -> None:
    assert main(["new", "zz-top", "--family", "bias", "--to", str(tmp_path)]) == 0
    path = tmp_path / "zz-top.yaml"
    require_small(load_scheme(path))
    text = path.read_text(encoding="utf-8")
    small = "q_len: 2, k_len: 5}"
    assert small in text
    path.write_text(text.replace(small, "q_len: 300000, k_len: 400000}"), encoding="utf-8")
    load_scheme.cache_clear()
    with pytest.raises(UserError, match="1 x 300000 x 400000"):
        require_small(load_scheme(path))


# Written files, and names of files.


@pytest.mark.slow
def test_a_read_only_folder_is_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir("/proc")
    for command in (
        ["init", "no_such_library"],
        ["init", "no_such_library", "--language", "rust"],
        ["new", "zz-top", "--family", "bias", "--to", "."],
    ):
        assert main(command) == 2
        assert "cannot be written" in capsys.readouterr().err


def test_a_link_to_itself_is_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("loop.py", "loop.json", "loop.toml", "loop.yaml", "loop.npy"):
        (tmp_path / name).symlink_to(name)
    for name in ("loop.py", "loop.toml"):
        with pytest.raises(UserError, match=name):
            load(str(tmp_path / name), How(), [])
    with pytest.raises(UserError, match=r"loop\.json"):
        with_configuration(model_file(str(tmp_path / "loop.json")))
    with pytest.raises(UserError, match=r"loop\.json"):
        place(str(tmp_path / "loop.json"))
    assert scheme_files(tmp_path) == []
    assert main(["identify", str(tmp_path / "loop.npy")]) == 2
    assert main(["goldens", "--check", str(tmp_path / "loop.yaml")]) == 2
    assert "loop.yaml" in capsys.readouterr().err


ODD_NAMES = ["x" * 5000, "y" * 5000 + ".yaml", "z" * 5000 + ".py", "a/" * 3000, "\x1b[31m\nred", ""]
COMMANDS = [
    ["schemes", "{}"],
    ["schemes", "--posenc-schemes", "{}"],
    ["explain", "{}"],
    ["explain", "rope", "{}"],
    ["goldens", "--check", "{}"],
    ["export", "--check", "{}"],
    ["known", "{}", "known.yaml"],
    ["repro", "{}", "--impl", "reference"],
    ["repro", "rope.yaml::golden::x", "--impl", "{}"],
    ["repro", "rope.yaml::golden::x", "--impl", "reference", "--posenc-model", "{}"],
    ["identify", "{}"],
    ["model", "{}"],
    ["badge", "{}"],
    ["diff", "{}", "{}"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: "-".join(command))
def test_impossible_names_of_files_are_refused_briefly(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ODD_NAMES:
        if name or command[0] not in ("schemes", "explain", "identify", "model"):
            status = main([word.format(name) for word in command])
            out, err = capsys.readouterr()
            assert status in (1, 2)
            assert "\x1b" not in out + err
            assert len(err) < 16_000


@pytest.mark.slow
def test_a_golden_of_an_own_scheme_that_describes_no_call_is_reported(tmp_path: Path) -> None:
    assert main(["new", "zz-top", "--family", "bias", "--to", str(tmp_path)]) == 0
    path = tmp_path / "zz-top.yaml"
    text = path.read_text(encoding="utf-8")
    for old, new in (
        ("q_len: 2, k_len: 5}", "q_len: [[1], [2, 3]], k_len: 5}"),
        ("q_len: 2, k_len: 5}", "q_len: 2, k_len: 6}"),
    ):
        assert old in text
        path.write_text(text.replace(old, new), encoding="utf-8")
        load_scheme.cache_clear()
        with pytest.raises(UserError, match=r"zz-top\.yaml"):
            require_small(load_scheme(path))


def test_a_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "rope.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + paths_by_name()["rope"].read_bytes())
    assert is_scheme_file(path)
    assert load_scheme(path).id == "rope"
