"""Programs in any language: their answers are judged, and protocol violations reported."""

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.checks.smoke import smallest_case
from posenc_conformance.commands.main import main
from posenc_conformance.errors import UserError
from posenc_conformance.judge.calling import ask
from posenc_conformance.judge.misbehaviour import Breakdown, Misbehaviour, Refusal
from posenc_conformance.judge.subject import Subject
from posenc_conformance.judge.verdict import TookTooLong
from posenc_conformance.remote import wire
from posenc_conformance.remote.command_line import amount_of, manifest_of
from posenc_conformance.remote.load import How, Isolation, load
from posenc_lab.judging import failed, judge, schemes
from tests.building import CHECKOUT

pytestmark = pytest.mark.remembered(shipped=True)

CULPRIT = f"{sys.executable} {CHECKOUT / 'tests' / 'programs' / 'culprit.py'}"
ROTATE = f"{sys.executable} {CHECKOUT / 'docs' / 'examples' / 'rotate.py'}"

Provoke = Callable[..., str]


@pytest.fixture(scope="module")
def provoke(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Provoke]:
    """Yield a function that runs mischief in one call and returns the kit's message."""
    folder = tmp_path_factory.mktemp("culprit")
    manifest = folder / "culprit.toml"
    manifest.write_text(
        f"posenc-program = 1\ncommand = '{CULPRIT}'\n"
        "limits = {seconds = 2, starting = 60, memory = '120MB'}\n"
    )
    loaded = load(str(manifest), How(), schemes())
    (subject,) = subjects(loaded.adapter, schemes())

    def provoked(mischief: str, kind: type[Exception] = Breakdown) -> str:
        (folder / "mischief.py").write_text(mischief)
        with pytest.raises((Misbehaviour, TookTooLong)) as raised:
            ask_smallest(subject)
        assert type(raised.value) is kind
        if (folder / "mischief.py").exists():
            raise AssertionError("the mischief was not done")
        assert ask_smallest(subject).shape == (8,)  # the next call is unaffected
        return str(raised.value)

    yield provoked
    loaded.end()


def ask_smallest(subject: Subject) -> wire.Array:
    return ask(subject, smallest_case(subject, "float64"))


SAID = {
    "broken-json": ("print('{\"id\": 1,', flush=True)", "not JSON", '{"id": 1,'),
    "no-object": ("say([1])", "no JSON object", "[1]"),
    "a-banner": ("print('Loading weights', flush=True)", "not JSON", "Loading weights"),
    "an-empty-line": ("print(flush=True)", "not JSON", "(empty)"),
    "nan": (
        "print('{\"id\": %d, \"result\": NaN}' % asked['id'], flush=True)",
        "NaN is not a number",
        "NaN",
    ),
    "not-utf-8": (
        "sys.stdout.buffer.write(b'\\xff\\xfe\\n'); sys.stdout.flush()",
        "not UTF-8",
        "\\xff",
    ),
    "nested-too-deep": ("print('[' * 100000, flush=True)", "not JSON", "100,000 bytes"),
    "a-control-character": ("print('\\x1b[2J{}', flush=True)", "not JSON", "\\x1b[2J"),
    "megabytes-of-noise": ("print('x' * 5_000_000, flush=True)", "not JSON", "5,000,000 bytes"),
    "another-id": (
        "say({'id': 10**6, 'result': right(1)})",
        "got an answer with the id 1000000",
        '"id": 1000000',
    ),
    "an-id-of-text": (
        "say({'id': '2', 'result': right(1)})",
        "got an answer with the id '2'",
        '"2"',
    ),
    "no-id": ("say({'result': right(1)})", "got an answer with the id None", "result"),
    "neither": ("say({'id': asked['id']})", "no result and no error", '{"id"'),
    "both": (
        "say({'id': asked['id'], 'result': 1, 'error': {'type': 'E', 'message': ''}})",
        "both a result and an error",
        "error",
    ),
    "an-error-of-text": ("say({'id': asked['id'], 'error': 'bad'})", "no type and message", "bad"),
    "an-error-without-type": (
        "say({'id': asked['id'], 'error': {'message': 'bad'}})",
        "no type and message",
        "bad",
    ),
    "a-hundred-axes": (
        "say({'id': asked['id'], 'result': {'dtype': 'float64', 'shape': [1] * 100, "
        "'data': 'AAAAAAAAAAA='}})",
        "no array has the shape",
        "",
    ),
    "a-shape-beyond-all": (
        "say({'id': asked['id'], 'result': {'dtype': 'float64', 'shape': [0, 10**30], "
        "'data': ''}})",
        "no array has the shape",
        "",
    ),
    "lists-in-lists": (
        "x = 1.0\nfor _ in range(100): x = [x]\nsay({'id': asked['id'], 'result': x})",
        "nested more deeply",
        "",
    ),
    "keys-with-escapes": (
        "say({'id': asked['id'], 'result': {'\\x1b[2J\\n': 1, 'k' * 10**6: 2}})",
        "\\x1b[2J\\n",
        "",
    ),
    "a-result-of-text": ("say({'id': asked['id'], 'result': '0.5'})", "no array, number", ""),
    "wrong-base64": (
        "say({'id': asked['id'], 'result': {**right(1), 'data': 'AAC-Pw=='}})",
        "not base64",
        "data",
    ),
    "base64-with-line-breaks": (
        "say({'id': asked['id'], 'result': {**right(1), 'data': 'AAAA\\nAAAAAAA='}})",
        "not base64",
        "data",
    ),
    "base64-without-padding": (
        "say({'id': asked['id'], 'result': {**right(1), 'data': 'AAAAAAAA8D8'}})",
        "not base64",
        "data",
    ),
    "data-that-is-a-number": (
        "say({'id': asked['id'], 'result': {**right(1), 'data': 3}})",
        "not base64",
        "data",
    ),
    "too-few-bytes": (
        "say({'id': asked['id'], 'result': {**right(1), 'shape': [2]}})",
        "has 8 bytes; float64 of shape [2] has 16",
        "",
    ),
    "too-many-bytes": (
        "say({'id': asked['id'], 'result': {**right(2), 'shape': [1]}})",
        "has 16 bytes; float64 of shape [1] has 8",
        "",
    ),
    "a-negative-shape": (
        "say({'id': asked['id'], 'result': {**right(1), 'shape': [-1]}})",
        "[-1] is no shape",
        "",
    ),
    "a-shape-of-floats": (
        "say({'id': asked['id'], 'result': {**right(1), 'shape': [1.0]}})",
        "[1.0] is no shape",
        "",
    ),
    "a-shape-that-is-a-number": (
        "say({'id': asked['id'], 'result': {**right(1), 'shape': 1}})",
        "1 is no shape",
        "",
    ),
    "an-unknown-dtype": (
        "say({'id': asked['id'], 'result': {**right(1), 'dtype': 'float8'}})",
        "'float8' is no dtype",
        "",
    ),
    "no-dtype": (
        "say({'id': asked['id'], 'result': {'shape': [1], 'data': ''}})",
        "not shape, data",
        "",
    ),
}


@pytest.mark.parametrize("name", SAID)
def test_a_breach_of_the_protocol_is_shown(provoke: Provoke, name: str) -> None:
    mischief, words, line = SAID[name]
    text = provoke(mischief)
    assert text.startswith("alibi_slopes() broke the protocol: ")
    assert words in text
    assert line in next(row for row in text.splitlines() if row.startswith("line "))
    assert "call       alibi_slopes(heads=8" in text


DONE = {
    "exits": ("sys.exit(3)", "exited with status 3"),
    "exits-as-if-all-were-well": ("sys.exit(0)", "exited with status 0"),
    "raises": ("{}['weights']", "status 1; it had printed"),
    "segmentation-fault": ("import os; os.kill(os.getpid(), 11)", "signal 11 (SIGSEGV)"),
    "abort": ("import os; os.abort()", "signal 6 (SIGABRT)"),
    "killed": ("import os; os.kill(os.getpid(), 9)", "signal 9 (SIGKILL)"),
    "closes-its-output": (
        "import os, time; os.close(1); time.sleep(60)",
        "closed its standard streams",
    ),
    "eats-memory": (
        "import time; x = b'x' * 300_000_000; time.sleep(60)",
        "of memory; 120 MB are allowed",
    ),
}


@pytest.mark.parametrize("name", DONE)
def test_the_end_of_a_program_is_reported(provoke: Provoke, name: str) -> None:
    mischief, words = DONE[name]
    text = provoke(mischief)
    assert words in text
    assert "call       alibi_slopes(heads=8" in text


@pytest.mark.slow
@pytest.mark.parametrize(
    "mischief",
    ["import time; time.sleep(60)", "while True: print('working', file=sys.stderr)"],
)
def test_a_call_that_takes_too_long_is_ended_without_a_verdict(provoke: Any, mischief: str) -> None:
    text = provoke(mischief, TookTooLong)
    assert "no answer within 2 s, see --posenc-timeout" in text
    assert ("it had printed" in text) == ("print" in mischief)
    assert "call       alibi_slopes(heads=8" in text


def test_an_endless_line_is_given_up(provoke: Provoke, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "LONGEST", 2**20)
    assert "longer than 1,048,576 bytes" in provoke("while True: sys.stdout.write('x' * 65536)")


def test_the_last_words_are_shown(provoke: Provoke) -> None:
    text = provoke("raise KeyError('weights')")
    assert "KeyError: 'weights'" in text


def test_a_second_answer_is_noticed_with_the_next_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    loaded = load(CULPRIT, How(), schemes())
    (subject,) = subjects(loaded.adapter, schemes())
    Path("mischief.py").write_text("for _ in 'ab': say({'id': asked['id'], 'result': right(8)})")
    assert ask_smallest(subject).shape == (8,)
    time.sleep(0.3)
    with pytest.raises(Breakdown, match="it sent an unrequested line") as raised:
        ask_smallest(subject)
    loaded.end()
    assert 'line       {"id": 2, "result": {"dtype"' in str(raised.value)


ORDINARY = {
    "another-shape": ("right(2)", "returned shape (2,); expected (8,)"),
    "another-dtype": ("{**right(4), 'dtype': 'float32', 'shape': [8]}", "returned float32"),
    "a-number": ("0.5", "returned shape (); expected (8,)"),
    "a-list-of-arrays": ("[right(1)]", "returned shape (1, 1); expected (8,)"),
    "arrays-that-do-not-fit": ("[right(1), right(2)]", "cannot be made an array"),
    "nothing": ("None", "returned None"),
    "not-finite": (
        "{**right(8), 'data': base64.b64encode(b'\\xff' * 64).decode()}",
        "nan at index (0,)",
    ),
}


@pytest.mark.parametrize("name", ORDINARY)
def test_a_wrong_result_is_reported_as_for_any_adapter(provoke: Provoke, name: str) -> None:
    result, words = ORDINARY[name]
    text = provoke(f"say({{'id': asked['id'], 'result': {result}}})", Misbehaviour)
    assert words in text


def test_an_error_is_a_refusal(provoke: Provoke) -> None:
    error = "{'type': 'std::domain_error', 'message': 'no heads'}"
    text = provoke(f"say({{'id': asked['id'], 'error': {error}}})", Refusal)
    assert "alibi_slopes() failed with std::domain_error: no heads" in text


@pytest.fixture
def described(tmp_path: Path) -> Callable[[str], None]:
    """Return a function that starts a program, which runs code before it describes itself."""

    def start(code: str) -> None:
        (tmp_path / "description.py").write_text(code)
        (tmp_path / "it.toml").write_text(
            f"posenc-program = 1\ncommand = '{CULPRIT}'\n[limits]\nstarting = 20\n"
        )
        loaded = load(str(tmp_path / "it.toml"), How(), schemes())
        try:
            subjects(loaded.adapter, schemes())
        finally:
            loaded.end()

    return start


DESCRIBED = {
    "ends": ("sys.exit(4)", "exited with status 4"),
    "raises": ("import no_such_module", "No module named 'no_such_module'"),
    "prints-first": ("print('hello', flush=True)", "line       hello"),
    # Only for the first request, since True equals 1 in Python.
    "an-id-that-is-true": (
        "say({'id': True, 'result': DESCRIPTION}); asked['id'] = 2",
        "request 1 got an answer with the id True",
    ),
    "refuses": (
        "say({'id': 1, 'error': {'type': 'Old', 'message': 'protocol 2 only'}}); sys.exit()",
        "Old: protocol 2 only",
    ),
    "claims-nothing": ("DESCRIPTION['claims'] = []", "result of describe.claims"),
    "another-protocol": ("DESCRIPTION['protocol'] = 2", "result of describe.protocol"),
    "no-name": ("del DESCRIPTION['name']", "'name'"),
    "an-unknown-field": ("DESCRIPTION['dtypes'] = []", "dtypes"),
    "an-unknown-dtype": ("DESCRIPTION['claims'][0]['dtype'] = 'float8'", "claims[0].dtype"),
    "is-a-list": ("DESCRIPTION = []", "must be object"),
    "an-unknown-call": ("DESCRIPTION['claims'][0]['call'] = 'rotate'", "no scheme has a call"),
    "an-unknown-combination": (
        "DESCRIPTION['claims'][0]['combinations'] = ['swapped']",
        "unknown combination",
    ),
    "an-unknown-restriction": (
        "DESCRIPTION['claims'][0]['restrictions'] = {'layout': 'half'}",
        "an unknown convention or parameter",
    ),
}


@pytest.mark.parametrize("name", DESCRIBED)
def test_a_program_that_does_not_describe_itself_is_one_message(
    described: Callable[[str], None], name: str
) -> None:
    code, words = DESCRIBED[name]
    with pytest.raises(UserError) as raised:
        described(code)
    assert words in raised.value.cause
    assert raised.value.hint


def test_a_slow_start_is_one_message() -> None:
    with pytest.raises(UserError, match="no answer within 1 s"):
        load("sleep 60", How(seconds=0.2), schemes())


@pytest.mark.parametrize("name", ["./no-such-program", "./plain.txt", "./folder/"])
def test_a_program_that_cannot_be_started_is_one_message(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("plain.txt").write_text("no program")
    Path("folder").mkdir()
    with pytest.raises(UserError, match="cannot be started") as raised:
        load(name, How(), schemes())
    assert raised.value.hint


def test_options_for_adapters_in_python_are_refused() -> None:
    for how in (How(Isolation.HERE), How(python=sys.executable)):
        with pytest.raises(UserError, match="is a program"):
            load(CULPRIT, how, schemes())


def test_programs_and_adapters_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my adapter.py").touch()
    for name in ("reference", "mylib:Adapter", "my adapter.py", "no.py", "no/such.py:It", "typo"):
        assert manifest_of(name) is None, name
    for name in ("./adapter", "build/adapter", "node x.js", "python3 mine.py", "'my program' -v"):
        manifest = manifest_of(name)
        assert manifest is not None, name
        assert manifest.command.words == shlex.split(name)
    with pytest.raises(UserError, match="quot"):
        manifest_of("./adapter 'x")


MANIFESTS = {
    "no-toml": ("command", "no TOML"),
    "no-version": ("command = './x'", "posenc-program = 1"),
    "no-command": ("posenc-program = 1", "command is None"),
    "empty-command": ("posenc-program = 1\ncommand = ''", "command is ''"),
    "command-of-numbers": ("posenc-program = 1\ncommand = [1]", "command is [1]"),
    "unclosed-quotes": ('posenc-program = 1\ncommand = "./x \'y"', "command is"),
    "unknown-field": ("posenc-program = 1\ncommand = './x'\ntimeout = 3", "'timeout'"),
    "no-folder": ("posenc-program = 1\ncommand = './x'\nfolder = 'no'", "is no folder"),
    "folder-of-numbers": ("posenc-program = 1\ncommand = './x'\nfolder = 3", "no text"),
    "environment-of-numbers": (
        "posenc-program = 1\ncommand = './x'\nenvironment = {THREADS = 1}",
        "environment.THREADS is 1",
    ),
    "environment-of-text": ("posenc-program = 1\ncommand = './x'\nenvironment = 'A=1'", "no table"),
    "unknown-limit": ("posenc-program = 1\ncommand = './x'\nlimits = {time = 1}", "limits.time"),
    "limit-of-nothing": ("posenc-program = 1\ncommand = './x'\nlimits = {seconds = 0}", "seconds"),
    "limit-of-text": ("posenc-program = 1\ncommand = './x'\nlimits = {seconds = '1'}", "'1'"),
    "memory-of-text": ("posenc-program = 1\ncommand = './x'\nlimits = {memory = 'much'}", "'much'"),
    "memory-of-numbers": ("posenc-program = 1\ncommand = './x'\nlimits = {memory = 5}", "no text"),
}


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_wrong_manifest_is_one_message(name: str, tmp_path: Path) -> None:
    text, words = MANIFESTS[name]
    path = tmp_path / "it.toml"
    path.write_text(text)
    with pytest.raises(UserError) as raised:
        manifest_of(str(path))
    assert str(path) in raised.value.cause
    assert words in raised.value.cause
    assert raised.value.hint
    with pytest.raises(UserError, match="cannot be read"):
        manifest_of(str(tmp_path / "other.toml"))


def test_a_manifest_gives_folder_environment_and_limits(tmp_path: Path) -> None:
    (tmp_path / "build").mkdir()
    path = tmp_path / "it.toml"
    path.write_text(
        "posenc-program = 1\ncommand = ['./x', 'a b']\nfolder = 'build'\n"
        "environment = {THREADS = '1'}\nlimits = {seconds = 5, starting = 99, memory = '1.5 GB'}\n"
    )
    manifest = manifest_of(str(path))
    assert manifest is not None
    assert manifest.command.words == ["./x", "a b"]
    assert manifest.command.folder == tmp_path / "build"
    assert manifest.command.environment == {"THREADS": "1"}
    assert (manifest.seconds, manifest.starting, manifest.memory) == (5.0, 99.0, 1_500_000_000)


@pytest.mark.parametrize(
    ("text", "size"),
    [("500MB", 5e8), ("4 GB", 4e9), ("0", 0), ("12", 12), ("2k", 2000), ("1T", 1e12)],
)
def test_amounts_of_memory(text: str, size: float) -> None:
    assert amount_of(text, "it") == size


@pytest.mark.slow
def test_a_right_program_passes() -> None:
    loaded = load(ROTATE, How(), schemes())
    verdicts = judge(loaded.adapter)
    loaded.end()
    assert loaded.versions == {"rotate": "1.0 in Python"}
    assert not failed(verdicts), failed(verdicts)[0].text
    asked_of = {
        run.check.id.partition("[")[0] for run in verdicts if run.check.level == "behaviour"
    }
    assert {"second-call", "unsorted-positions", "no-leak"} <= asked_of
    assert not asked_of & {"no-alias", "strided-inputs", "inputs-untouched", "int32-inputs"}


def test_arrays_arrive_as_they_were_sent() -> None:
    for name, dtype in wire.WIRE_DTYPES.items():
        for shape in ((), (0,), (2, 0, 3), (3, 2)):
            count = int(np.prod(shape))
            array = np.arange(count).astype(dtype).reshape(shape)
            text = bytearray(wire.Lines().encode({"id": 1, "result": array}))
            taken = wire.Lines().take(text)
            assert taken is not None
            back = wire.value(taken.message["result"])
            assert back.dtype == dtype, name
            assert back.shape == shape
            assert back.tobytes() == array.tobytes()
    bits = np.array([0x7FC1, 0x8000, 0xFF80], np.uint16).view(wire.WIRE_DTYPES["bfloat16"])
    taken = wire.Lines().take(bytearray(wire.Lines().encode({"id": 1, "result": bits})))
    assert taken is not None
    assert taken.message["result"]["data"] == "wX8AgID/"
    assert wire.value(taken.message["result"]).tobytes() == bits.tobytes()


def test_frames_keep_the_layout_of_arrays() -> None:
    plain = np.arange(24, dtype=np.float32).reshape(4, 6)
    fixed = plain.copy()
    fixed.flags.writeable = False
    arrays = {"a": plain, "b": plain[::2, ::3], "c": np.asfortranarray(plain), "d": fixed}
    arrays |= {"e": plain[:0], "f": np.array(3, ">i4"), "g": plain.astype(">f8")}
    taken = wire.Frames().take(bytearray(wire.Frames().encode({"id": 1, "arrays": arrays})))
    assert taken is not None
    for name, back in taken.message["arrays"].items():
        assert np.array_equal(back, arrays[name]), name
        assert back.flags.writeable == (name != "d")
        if back.size > 1:
            assert back.strides == arrays[name].strides
            first, end = np.lib.array_utils.byte_bounds(arrays[name])
            assert np.asarray(back if back.base is None else back.base).nbytes == end - first
        assert back.dtype.isnative
    assert os.name == "posix"


@pytest.mark.slow
def test_the_harness_for_python_speaks_the_protocol(capfd: pytest.CaptureFixture[str]) -> None:
    loaded = load(f"{sys.executable} {CHECKOUT / 'tests/programs/turning.py'}", How(), schemes())
    verdicts = judge(loaded.adapter)
    loaded.end()
    assert {run.check.subject.call.name for run in verdicts} == {"rope", "t5_bucket"}
    assert {run.check.dtype for run in verdicts} >= {"float64", "float32", "bfloat16", "integer"}
    assert not failed(verdicts), failed(verdicts)[0].text
    assert "turning (" in capfd.readouterr().err  # printed to its standard output


@pytest.mark.slow
def test_a_failure_of_a_program_can_be_repeated_in_a_shell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = (CHECKOUT / "docs" / "examples" / "rotate.py").read_text(encoding="utf-8")
    (tmp_path / "wrong.py").write_text(source.replace("(first % dim)", "(first % dim + 2)"))
    (tmp_path / "it.toml").write_text(
        f"posenc-program = 1\ncommand = ['{sys.executable}', 'wrong.py']\n"
        "environment = {NAME = 'a b'}\n"
    )
    id = "rope.yaml::golden::interleaved-d4-start[float64]"
    assert main(["repro", id, f"--impl={tmp_path / 'it.toml'}"]) == 0
    script = capsys.readouterr().out
    assert f"# {id}" in script
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    described, answered, left = map(json.loads, done.stdout.splitlines())
    assert described["result"]["name"] == "rotate"
    assert answered["result"]["shape"] == [3, 4]
    assert left == {"id": 3, "result": None}


@pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan])
def test_a_number_that_json_lacks_is_sent_as_an_array(number: float) -> None:
    loaded = load(ROTATE, How(), schemes())
    (subject,) = subjects(loaded.adapter, schemes())
    case = smallest_case(subject, "float64")
    with pytest.raises(Refusal, match="failed with TypeError: unsupported operand"):
        ask(subject, case, {**case.inputs, "base": number})
    loaded.end()
