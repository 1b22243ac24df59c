"""``posenc judge`` starts an engine with a probe, judges it, and ends it whatever happens."""

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import monotonic, sleep

import pytest

from posenc_conformance.checks.deployed import CONTEXT
from posenc_conformance.commands.judge import judge_command, running
from posenc_conformance.commands.judge.arguments import FLAGS, HANDED_ON, SHORT
from posenc_conformance.commands.judge.plan import Line
from posenc_conformance.commands.judge.run_options import ITS_OWN, OTHERS
from posenc_conformance.commands.main import main
from posenc_lab.deployed.judging import folder_of

pytestmark = pytest.mark.remembered(shipped=True)

ENGINE = """
import os
import signal
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

kind, folder, port, *options = sys.argv[1:]
notes = Path(__file__).parent


def serve(handler):
    ThreadingHTTPServer(("127.0.0.1", int(port)), handler).serve_forever()


class Answers(BaseHTTPRequestHandler):
    def do_GET(self):
        listed = b"" if kind == "lists-nothing" else b'{"id": "probe"}'
        self.reply(b'{"data": [' + listed + b"]}", 200)

    def do_POST(self):
        self.reply(b'{"error": "the cache is on fire"}', 500)

    def reply(self, body, code):
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if kind == "parent":  # its child does not end by itself
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(99)"
    child = subprocess.Popen([sys.executable, "-c", code])
    Path(notes, "child").write_text(str(child.pid))
if kind == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
Path(notes, "draft").write_text(str(os.getpid()))
Path(notes, "draft").rename(Path(notes, "pid"))
Path(notes, "arguments").write_text(" ".join(sys.argv[2:]))
if kind == "dies":
    sys.exit("ValueError: rope_scaling is new to me")
if kind == "talks":
    for number in range(20_000):
        print("a line of no use", number, file=sys.stderr)
    sys.exit("KeyError: 'rope_type'")
if kind == "silent":
    print("loading", flush=True)
    time.sleep(99)
if kind in ("Plain", "NoScaling", "Breaks"):
    from posenc_lab.deployed import right, wrong
    from posenc_lab.deployed.engine import read_checkpoint
    from posenc_lab.deployed.server import Handler

    if kind == "Breaks":  # before the fifth answer
        asked, kind = [], "Plain"
        answer = Handler.do_POST

        def do_POST(handler):
            asked.append(handler)
            if len(asked) > 4:
                print("CUDA error: an illegal memory access was encountered", flush=True)
                os._exit(17)
            return answer(handler)

        Handler.do_POST = do_POST
    Handler.engine = {**vars(wrong), **vars(right)}[kind](*read_checkpoint(Path(folder)))
    serve(Handler)
serve(Answers)
"""
"""An engine that starts rightly or does not, and notes its process."""
MODEL = str(folder_of("llama") / "config.json")


@pytest.fixture(autouse=True)
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to an empty folder, and end an engine soon that does not end by itself."""
    folder = tmp_path / "empty"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setattr(running, "ENDING", 0.5)
    return folder


@pytest.fixture
def engine(tmp_path: Path) -> Callable[[str], str]:
    """Return a function that gives the command of an engine of some kind."""
    path = tmp_path / "engine.py"
    path.write_text(ENGINE, encoding="utf-8")
    return lambda kind: f"{sys.executable} {path} {kind} {{folder}} {{port}}"


@pytest.fixture
def unjudged(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Judge nothing: keep the lines, and say that all is right."""
    lines: list[str] = []

    def passed(line: Line, _: object) -> int:
        lines.append(str(line))
        return 0

    monkeypatch.setattr(judge_command, "_judged", passed)
    return lines


def lives(note: Path) -> bool:
    """Return whether the process of a note runs; one that nobody has waited for does not."""
    status = Path("/proc", note.read_text(), "stat")
    try:
        return status.read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


# From the probe to the verdict.


@pytest.mark.slow
def test_a_right_engine_passes(
    engine: Callable[[str], str], empty: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    options = ["--posenc-context=512", "-k", "distance-7", "--dtype=float32"]
    assert main(["judge", engine("Plain"), MODEL, *options]) == 0
    output = capfd.readouterr().out
    assert "1 passed, 0 failed" in output
    typed = [line[2:] for line in output.splitlines() if line.startswith("$ ")]
    assert [line.split()[0] for line in typed] == ["posenc", sys.executable, "pytest"]
    assert "--posenc-dtype=float32" in typed[-1]
    assert not lives(tmp_path / "pid")
    assert not [*empty.iterdir()]


@pytest.mark.slow
def test_a_wrong_engine_fails_by_name(
    engine: Callable[[str], str], capfd: pytest.CaptureFixture[str]
) -> None:
    options = ["--posenc-context=512", "-k", "distance-7", "--dtype=float32"]
    assert main(["judge", engine("NoScaling"), MODEL, *options, "--", "--seed", "1"]) == 1
    out, error = capfd.readouterr()
    assert "scaling-ignored" in out
    (line,) = [line[2:] for line in error.splitlines() if line.startswith("$ ")]
    again = ["posenc", "judge", engine("NoScaling"), MODEL, *options]
    assert shlex.split(line) == [*again, "-k", "distance-7", "--", "--seed", "1"]


@pytest.mark.slow
def test_an_engine_that_dies_while_it_is_judged_gets_no_verdict(
    engine: Callable[[str], str], capfd: pytest.CaptureFixture[str]
) -> None:
    options = ["--posenc-context=512", "-k", "distance-1 or distance-2 or prefill"]
    assert main(["judge", engine("Breaks"), MODEL, *options, "--dtype=float32"]) == 2
    error = capfd.readouterr().err
    assert re.search(r"the engine ended \(code 17\) after [1-9]\d* of \d+ questions", error)
    assert "its last lines:\n  CUDA error: an illegal memory access" in error
    assert "for one check alone" not in error


@pytest.mark.slow
def test_an_engine_that_answers_with_errors_has_no_verdict(
    engine: Callable[[str], str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["judge", engine("errors"), MODEL, "--posenc-context=512"]) == 2
    output = "".join(capfd.readouterr())
    assert "the cache is on fire" in output
    assert "there is no verdict" in output
    assert not lives(tmp_path / "pid")


def test_a_run_is_given_its_options(
    engine: Callable[[str], str], tmp_path: Path, unjudged: list[str]
) -> None:
    options = ["--posenc-dtype=tf32", "--posenc-cache=int8", "-k", "one two", "-x", "--name=it"]
    assert main(["judge", engine("errors"), MODEL, *options, "--", "--seed", "1"]) == 0
    (line,) = unjudged
    assert line.endswith("--posenc-dtype=tf32 --posenc-cache=int8 -k 'one two' -x")
    assert "/v1#it" in line
    assert line.count("--posenc-dtype") == 1
    assert (tmp_path / "arguments").read_text().endswith(" --seed 1")


def test_any_option_of_the_kit_is_handed_on(
    engine: Callable[[str], str], tmp_path: Path, unjudged: list[str]
) -> None:
    options = ["--posenc-robust", "--posenc-seed=3", "--posenc-context", "640"]
    of_engine = ["--", "--posenc-seed=4", "--", "5"]
    assert main(["judge", engine("errors"), *options, MODEL, *of_engine]) == 0
    assert unjudged[0].endswith(" --posenc-context=640 --posenc-robust --posenc-seed=3")
    assert (tmp_path / "arguments").read_text().endswith(" --posenc-seed=4 -- 5")


@pytest.mark.parametrize("option", ["--wait=0", "--wait=inf", "--wait=nan", "--wait=x", "--wiat=3"])
def test_a_mistyped_option_is_refused(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["judge", "llama.cpp", "llama-2-7b", option])
    assert option.partition("=")[0] in capsys.readouterr().err


def test_options_of_the_run_are_those_of_the_plugin(pytestconfig: pytest.Config) -> None:
    names = pytestconfig._parser.optparser._option_string_actions
    for name in (*HANDED_ON, *SHORT, *FLAGS):
        assert name in names, name
    known = {*HANDED_ON, *OTHERS, *ITS_OWN} - {"--junitxml", "--impl"}
    assert known == {name for name in names if name.startswith("--posenc-")}


def test_an_engine_is_started_for_the_longest_text(
    engine: Callable[[str], str], tmp_path: Path, unjudged: list[str]
) -> None:
    lengths = []
    for context in (CONTEXT, 20_000):
        command = f"{engine('errors')} {{tokens}}"
        assert main(["judge", command, "llama-3.1-8b", f"--posenc-context={context}"]) == 0
        lengths.append(int((tmp_path / "arguments").read_text().split()[-1]))
    assert CONTEXT < lengths[0] < 20_000 < lengths[1]


# Engines that do not start, and what is left of them.


@pytest.mark.parametrize("kind", ["dies", "talks"])
def test_the_last_words_of_an_engine_that_dies_are_shown(
    kind: str, engine: Callable[[str], str], capfd: pytest.CaptureFixture[str], unjudged: list[str]
) -> None:
    assert main(["judge", engine(kind), MODEL]) == 2
    error = capfd.readouterr().err
    words = {"dies": "ValueError: rope_scaling is new to me", "talks": "KeyError: 'rope_type'"}
    assert words[kind] in error
    assert "ended with status 1" in error
    assert len(error) < 4000
    assert "Traceback" not in error
    assert not unjudged


def test_an_engine_that_never_answers_is_ended(
    engine: Callable[[str], str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["judge", engine("silent"), MODEL, "--wait=4"]) == 2
    error = capfd.readouterr().err
    assert "within 4 s" in error
    assert "loading" in error
    assert "--wait" in error
    assert not lives(tmp_path / "pid")


def test_one_that_is_waited_for_is_told(
    engine: Callable[[str], str],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(running, "TELLING", 0.1)
    assert main(["judge", engine("silent"), MODEL, "--wait=1"]) == 2
    assert "waiting for" in capfd.readouterr().err


@pytest.mark.parametrize("kind", ["parent", "stubborn"])
def test_no_process_is_left(
    kind: str, engine: Callable[[str], str], tmp_path: Path, unjudged: list[str]
) -> None:
    assert main(["judge", engine(kind), MODEL]) == 0
    assert len(unjudged) == 1
    notes = [tmp_path / "pid", *tmp_path.glob("child")]
    assert len(notes) == 1 + (kind == "parent")
    assert not [note for note in notes if lives(note)]


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interruption_ends_the_engine(
    number: signal.Signals, code: int, engine: Callable[[str], str], tmp_path: Path
) -> None:
    run = "import sys; from posenc_conformance.commands.main import main; sys.exit(main())"
    command = [sys.executable, "-c", run, "judge", engine("silent"), MODEL]
    environ = {**os.environ, "TMPDIR": str(tmp_path)}
    process = subprocess.Popen(command, env=environ, stderr=subprocess.PIPE, text=True)
    until = monotonic() + 60
    while not (tmp_path / "pid").exists() and monotonic() < until:
        sleep(0.05)
    process.send_signal(number)
    _, error = process.communicate(timeout=60)
    assert process.returncode == code, error
    assert "Traceback" not in error
    assert not lives(tmp_path / "pid")
    assert not [*tmp_path.glob("posenc-judge-*")]


def killing(folder: Path, code: int) -> Callable[..., int]:
    """Return a function that kills the engine, and returns the exit code of a run."""

    def killed(*_: object) -> int:
        os.kill(int((folder / "pid").read_text()), signal.SIGKILL)
        sleep(0.3)
        return code

    return killed


def test_an_engine_that_dies_while_it_is_judged_is_named(
    engine: Callable[[str], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(judge_command, "_judged", killing(tmp_path, 1))
    assert main(["judge", engine("errors"), MODEL]) == 2
    assert "the engine ended (signal 9) while it was judged" in capfd.readouterr().err


def test_one_that_dies_after_it_was_judged_is_told(
    engine: Callable[[str], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(judge_command, "_judged", killing(tmp_path, 0))
    assert main(["judge", engine("errors"), MODEL]) == 0
    assert "was ended by signal 9 after it was judged" in capfd.readouterr().err


def test_an_engine_that_lists_no_probe_is_told_how_to_name_it(
    engine: Callable[[str], str], capfd: pytest.CaptureFixture[str], unjudged: list[str]
) -> None:
    assert main(["judge", engine("lists-nothing"), MODEL]) == 2
    error = capfd.readouterr().err
    assert "--name=NAME" in error
    assert "--impl" not in error
    assert not unjudged
    assert main(["judge", engine("lists-nothing"), MODEL, "--name=it"]) == 0


# What cannot be judged.


def test_a_port_that_is_taken_is_refused(
    engine: Callable[[str], str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        assert main(["judge", engine("errors"), MODEL, f"--port={port}"]) == 2
    assert f"--port={port}" in capsys.readouterr().err
    assert not (tmp_path / "pid").exists()


REFUSED = {
    "an engine that is not there": ("vlm llama-2-7b", "vllm"),
    "one that the kit cannot start": ("ollama llama-2-7b", "--impl=http://localhost:11434"),
    "one that is not installed": ("mlx-lm llama-2-7b", "pip install mlx-lm"),
    "a model that is not there": ("llama.cpp llama-3.1-8", "llama-3.1-8b"),
    "an encoder and a server": ("llama.cpp bert-base", "posenc judge transformers bert-base"),
    "a dtype that it does not have": ("ctranslate2 llama-2-7b --dtype=float16", "float32"),
    "no environment": ("mlx-lm llama-2-7b --environment=nowhere", "--environment=nowhere"),
    "no table": ("mlx-lm llama-2-7b --engines=nowhere.yaml", "nowhere.yaml"),
    "options for no command": ("transformers llama-2-7b -- --seed 1", "--seed 1"),
    "a GGUF file where none is loaded": ("mlx-lm llama-2-7b --gguf", "--gguf"),
    "a model before its engine": ("smollm-135m transformers", "judge transformers smollm-135m"),
    "a model before an engine by its title": ("smollm-135m vLLM", "they are exchanged"),
    "no model before an engine": ("nonsense transformers", "no model 'transformers'"),
    "a spelling that is not there": ("mlx-lm llama-2-7b --spelling=foo", "--spelling=foo"),
    "no folder": ("mlx-lm llama-2-7b --out=", "--out="),
    **{
        option: (f"transformers llama-2-7b {option}", words)
        for option, words in {
            "--posenc-context=511": "give 512 or more",
            "--posenc-context=100": "--posenc-context=100",
            "--posenc-context=-1": "give 512 or more",
            "--posenc-context=many": "no number of tokens",
            "--posenc-shift=511": "give 512 or more",
            "--posenc-dtype=float": "bfloat16",
            "--posenc-cache=int2": "int4",
            "--posenc-timeout=0": "give more than 0",
            "--posenc-timeout=soon": "no number of seconds",
            "--posenc-known=nowhere.yaml": "no such file",
            "--posenc-report=nowhere/r.json": "its folder is not there",
            "--posenc-html=nowhere/r.html": "its folder is not there",
            "--junitxml=nowhere/r.xml": "its folder is not there",
            "--posenc-contxt=512": "did you mean --posenc-context?",
            "--posenc-model=llama-2-7b": "is given the model",
            "--impl=http://localhost:1/v1": "starts the engine itself",
            "--port=99999": "--port=99999 is out of range",
            "--port=0": "give a port from 1 to 65535",
            "--port=-1": "is out of range",
        }.items()
    },
}


@pytest.mark.parametrize(("line", "words"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_judged_is_refused(
    line: str, words: str, empty: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["judge", *line.split()]) == 2
    assert words in capsys.readouterr().err
    assert not [*empty.iterdir()]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("serve {folder}", "no {port}"),
        ("serve {port}", "no {folder}"),
        ("serve {folder} {port} {model}", "{model} is not known"),
        ("serve {folder} {port} {", "a brace"),
        ("serve '{folder} {port}", "close what is quoted"),
        ("no-such-program {folder} {port}", "the program no-such-program is missing"),
        (" ", "no {folder}"),
    ],
)
def test_a_mistake_in_an_own_command_is_told(
    command: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["judge", command, MODEL]) == 2
    assert words in capsys.readouterr().err


def test_an_own_command_may_have_its_folder_and_port_given(
    engine: Callable[[str], str], unjudged: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    port = running.free_port(None)
    command = engine("errors").format(folder="here/probe", port=port)
    assert main(["judge", command, MODEL, "--out=here", f"--port={port}"]) == 0
    assert f":{port}/v1" in unjudged[0]
    assert Path("here/probe/config.json").is_file()
    assert "--out here/probe " in capsys.readouterr().out


# The folder.


def test_a_folder_of_the_user_is_kept_and_written_again(
    engine: Callable[[str], str], unjudged: list[str]
) -> None:
    for dtype in ("float32", "float16"):
        assert main(["judge", engine("errors"), MODEL, "--out=a/b", f"--dtype={dtype}"]) == 0
        assert dtype in Path("a/b/probe/config.json").read_text()


@pytest.mark.parametrize("name", ["notes.txt", "converted", "probe/config.json", "probe/notes"])
def test_nothing_of_the_user_is_overwritten(
    name: str, engine: Callable[[str], str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = Path("mine", name)
    path.parent.mkdir(parents=True)
    path.write_text("mine", encoding="utf-8")
    assert main(["judge", engine("errors"), MODEL, "--out=mine"]) == 2
    assert path.name in capsys.readouterr().err
    assert path.read_text() == "mine"
    assert [item for item in Path("mine").rglob("*") if item.is_file()] == [path]
    assert not (tmp_path / "pid").exists()


@pytest.mark.parametrize("make", [Path.touch, lambda path: path.symlink_to(path.parent)])
def test_what_is_no_folder_is_refused(
    make: Callable[[Path], None], engine: Callable[[str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    make(Path("mine"))
    assert main(["judge", engine("errors"), MODEL, "--out=mine"]) == 2
    assert "mine" in capsys.readouterr().err


def test_a_place_is_tried_before_the_engine(
    empty: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("file").write_text("mine", encoding="utf-8")
    for out, words in (("file/x", "file/x cannot be written"), ("a/b", "is not installed")):
        assert main(["judge", "mlx-lm", "llama-2-7b", f"--out={out}"]) == 2
        assert words in capsys.readouterr().err
    assert [*empty.iterdir()] == [Path("file").absolute()]


# A plan runs nothing.


def test_a_plan_is_printed_and_not_run(empty: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["judge", "ctranslate2", "llama-2-7b", "--plan"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [word for line in lines for word in ("probe", "convert", "server") if word in line]
    assert len(lines) == 4
    assert not [*empty.iterdir()]


@pytest.mark.parametrize(
    ("dtype", "claim"), [("float32", "float16"), ("float16", "float16"), ("bfloat16", "bfloat16")]
)
def test_the_claim_is_the_shortest_of_dtype_and_cache(
    dtype: str, claim: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["judge", "llama.cpp", "llama-2-7b", "--plan", f"--dtype={dtype}"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert f"--dtype {dtype} --gguf" in lines[0]
    assert f"--posenc-dtype={claim}" in lines[-1]


@pytest.mark.parametrize("engine", ["llama.cpp", "vllm"])
def test_the_probe_has_all_heads_if_asked(engine: str, capsys: pytest.CaptureFixture[str]) -> None:
    for more, heads in (((), False), (("--all-heads",), True)):
        assert main(["judge", engine, "llama-2-7b", "--plan", *more]) == 0
        line = capsys.readouterr().out.splitlines()[0]
        assert "posenc probe llama-2-7b" in line
        assert line.endswith(" --all-heads") is heads


def test_variables_that_are_set_stay(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("VLLM_CPU_KVCACHE_SPACE", raising=False)
    for expected in (True, False):
        assert main(["judge", "vllm-cpu", "llama-2-7b", "--plan"]) == 0
        assert ("VLLM_CPU_KVCACHE_SPACE=1 " in capsys.readouterr().out) == expected
        monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "4")


# The lines of posenc probe.


@pytest.mark.parametrize(
    ("options", "serve", "judge"),
    [
        ("", "vllm serve probe", "--impl=http://localhost:8000/v1"),
        (
            "--dtype=float32",
            "vllm serve probe --dtype float32",
            "--impl=http://localhost:8000/v1 --posenc-dtype=float32",
        ),
        (
            "--dtype=float16",
            "vllm serve probe",
            "--impl=http://localhost:8000/v1 --posenc-dtype=float16",
        ),
        ("--gguf", "llama-server -m probe", "--impl=http://localhost:8080/v1"),
        (
            "--gguf --dtype=float32",
            "llama-server -m probe",
            "--impl=http://localhost:8080/v1 --posenc-dtype=float16",
        ),
    ],
)
def test_the_lines_of_a_probe_fit_what_was_written(
    options: str, serve: str, judge: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["probe", "llama-2-7b", "--out=probe", *options.split()]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].endswith(f": {serve}")
    assert lines[2].endswith(f" {judge}")
    assert lines[3].endswith(" posenc judge ENGINE llama-2-7b")


def test_the_lines_of_an_encoders_probe_name_its_dtype(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["probe", "bert-base", "--out=a b", "--dtype=float32"]) == 0
    assert "pytest --impl='a b' --posenc-dtype=float32\n" in capsys.readouterr().out
