"""An adapter in a worker: whatever it does fails its own check and nothing else."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.checks.smoke import smallest_case
from posenc_conformance.errors import UserError
from posenc_conformance.judge.calling import ask
from posenc_conformance.judge.misbehaviour import Breakdown, Escape, Misbehaviour, Refusal
from posenc_conformance.judge.verdict import NO_VERDICT, TookTooLong
from posenc_conformance.remote.load import How, Isolation, load
from posenc_lab.judging import schemes
from tests.building import CHECKOUT
from tests.mischief import (
    CLAIMS,
    CLASS,
    ESCAPES,
    FORMS,
    HEAD,
    LIAR,
    REFUSALS,
    ROPE,
    SLOPES,
    ask_smallest,
)

pytestmark = pytest.mark.remembered(shipped=True)

LIMITS = How(Isolation.APART, seconds=2, memory=250_000_000)

Provoke = Callable[[str], np.ndarray]


@pytest.fixture(scope="module")
def provoke(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Provoke]:
    """Yield a function that runs mischief in a call and checks that the next call is right."""
    folder = tmp_path_factory.mktemp("apart")
    shutil.copy(CHECKOUT / "tests" / "programs" / "culprit_adapter.py", folder)
    loaded = load(str(folder / "culprit_adapter.py"), LIMITS, schemes())
    (subject,) = subjects(loaded.adapter, schemes())

    def provoked(mischief: str) -> np.ndarray:
        (folder / "mischief.py").write_text(mischief)
        try:
            return ask_smallest(subject)
        finally:
            assert not (folder / "mischief.py").exists()
            assert np.array_equal(ask_smallest(subject), SLOPES)

    yield provoked
    loaded.end()


LOST = {
    "exits-at-once": ("import os; os._exit(0)", "exited with status 0"),
    "exits-at-once-with-5": ("import os; os._exit(5)", "exited with status 5"),
    "reads-at-zero": ("import ctypes; ctypes.string_at(0)", "signal 11 (SIGSEGV)"),
    "aborts": ("import os; os.abort()", "signal 6 (SIGABRT)"),
    "is-killed": ("import os; os.kill(os.getpid(), 9)", "signal 9 (SIGKILL)"),
    "is-terminated": ("import os; os.kill(os.getpid(), 15)", "signal 15 (SIGTERM)"),
    "divides-by-zero-in-c": ("import os; os.kill(os.getpid(), 8)", "signal 8 (SIGFPE)"),
    "eats-memory": (
        "import numpy, time; x = numpy.ones(5 * 10**7); time.sleep(60)",
        "of memory; 250 MB are allowed",
    ),
    "eats-memory-bit-by-bit": (
        "x = []\nwhile True: x.append(bytes(10**6) + b'1')",
        "of memory; 250 MB are allowed",
    ),
    "closes-everything": (
        "import os, time; os.closerange(0, 100); time.sleep(60)",
        "closed its standard streams",
    ),
    "says-why": (
        "import os, sys; print('no device', file=sys.stderr, flush=True); os._exit(1)",
        "status 1; it had printed\n  no device",
    ),
}


TOO_LONG = {
    "is-stopped": "import os; os.kill(os.getpid(), 19)",
    "hangs": "while True: pass",
    "sleeps": "import time; time.sleep(3600)",
    "waits-for-itself": "import threading; a = threading.Lock(); a.acquire(); a.acquire()",
    "prints-without-end": "while True: print('again')",
    "ignores-signals": "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(60)",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TOO_LONG)
def test_a_call_that_takes_too_long_is_ended_without_a_verdict(provoke: Provoke, name: str) -> None:
    with pytest.raises(TookTooLong) as raised:
        provoke(TOO_LONG[name])
    assert str(raised.value).startswith(f"{NO_VERDICT}alibi_slopes() gave no answer within 2 s")
    assert "see --posenc-timeout" in str(raised.value)
    assert "call       alibi_slopes(heads=8" in str(raised.value)
    assert ("it had printed" in str(raised.value)) == (name == "prints-without-end")


@pytest.mark.slow
@pytest.mark.parametrize("name", LOST)
def test_a_lost_process_fails_one_check(provoke: Provoke, name: str) -> None:
    mischief, words = LOST[name]
    with pytest.raises(Breakdown) as raised:
        provoke(mischief)
    assert words in str(raised.value)
    assert str(raised.value).startswith("alibi_slopes() ")
    assert "call       alibi_slopes(heads=8" in str(raised.value)


@pytest.mark.parametrize("name", ESCAPES)
def test_leaving_the_check_fails_it(provoke: Provoke, name: str) -> None:
    mischief, words = ESCAPES[name]
    with pytest.raises(Escape) as raised:
        provoke(mischief)
    assert type(raised.value) is Escape
    assert f"alibi_slopes() raised {words}" in str(raised.value)


@pytest.mark.parametrize("name", REFUSALS)
def test_an_exception_is_a_refusal(provoke: Provoke, name: str) -> None:
    mischief, words = REFUSALS[name]
    with pytest.raises(Refusal) as raised:
        provoke(mischief)
    assert words in str(raised.value)
    assert "mischief" in str(raised.value)  # the line that raised it


@pytest.mark.parametrize("name", FORMS)
def test_a_result_of_a_wrong_form_is_reported(provoke: Provoke, name: str) -> None:
    result, words = FORMS[name]
    with pytest.raises(Misbehaviour) as raised:
        provoke(f"result = {result}")
    assert type(raised.value) is Misbehaviour
    assert words in str(raised.value)


def test_an_array_subclass_is_judged_by_its_values(provoke: Provoke) -> None:
    result = provoke(LIAR)
    assert type(result) is np.ndarray
    assert np.array_equal(result, np.zeros(8))


HARMLESS = {
    "closes-stdout": "import sys; sys.stdout.close()",
    "closes-stderr": "import sys; sys.stderr.close()",
    "no-stdout": "import sys; sys.stdout = None",
    "no-stderr": "import sys; sys.stderr = None",
    "closes-descriptor-0": "import os; os.close(0)",
    "closes-descriptor-1": "import os; os.close(1)",
    "prints": "print('x' * 10**6)",
    "prints-odd-letters": "import os; os.write(1, b'\\xff\\xfe\\n')",
    "writes-to-the-descriptor": "import os; os.write(1, b'{\"id\": 1}\\n')",
    "goes-elsewhere": "import os; os.chdir('/')",
    "forgets-the-environment": "import os; os.environ.clear()",
    "strict-numpy": "import numpy; numpy.seterr(all='raise')",
    "strict-warnings": "import warnings; warnings.simplefilter('error')",
    "warns": "import warnings; warnings.warn('slow')",
    "no-garbage-collection": "import gc; gc.disable()",
    "another-print": "import builtins; builtins.print = None",
    "another-abs": "import numpy; numpy.abs = numpy.zeros_like",
    "another-array-equal": "import numpy; numpy.array_equal = lambda *a, **k: True",
    "another-pytest": "import _pytest.runner as r; r.call_and_report = r.runtestprotocol = None",
    "no-path": "import sys; sys.path.clear()",
    "a-trace": "import sys; sys.settrace(lambda *a: None)",
    "a-thread": "import threading, time\nthreading.Thread(target=time.sleep, args=(3,)).start()",
    "a-fork": "import os; os.fork()",
    "a-child": "import subprocess; subprocess.Popen(['sleep', '30'])",
    "an-alarm-that-is-ignored": "import signal; signal.signal(14, signal.SIG_IGN); signal.alarm(1)",
    "a-late-exit": "import atexit, time; atexit.register(time.sleep, 60)",
    "a-hook": "import sys; sys.excepthook = None; sys.unraisablehook = None",
    "catches-the-import": "try: import posenc\nexcept ImportError: pass",
    "a-masked-array": "import numpy; result = numpy.ma.array(right)",
    "a-list": "result = right.tolist()",
    "big-endian": "result = right.astype('>f8')",
    "strided": "import numpy; result = numpy.repeat(right, 2)[::2]",
    "backwards": "result = right[::-1].copy()[::-1]",
    "read-only": "right.flags.writeable = False; result = right",
    "a-buffer": "result = memoryview(right)",
    "a-matrix-row": "import numpy; result = numpy.asmatrix(right).A1",
}


@pytest.mark.draws
@pytest.mark.parametrize("name", HARMLESS)
def test_changes_to_the_process_of_a_worker_are_harmless(provoke: Provoke, name: str) -> None:
    assert np.array_equal(provoke(HARMLESS[name]), SLOPES)
    with pytest.raises(Breakdown):
        provoke("import os; os._exit(0)")  # so that the next test finds a new process


AT_LOAD = {
    "ends": ("import os; os._exit(0)\n", "the process exited with status 0"),
    "crashes": ("import ctypes; ctypes.string_at(0)\n", "signal 11 (SIGSEGV)"),
    "hangs": ("import time; time.sleep(60)\n", "no answer within 6 s"),
    "exits": ("import sys; sys.exit(0)\n", "SystemExit: 0"),
    "skips": ("import pytest; pytest.importorskip('no_such_module')\n", "no_such_module"),
    "claims-nothing": ("class Adapter: pass\n", "claims nothing"),
    "reference": ("import posenc\n", "contains the right answers"),
    "lost-claims": (
        HEAD
        + CLAIMS
        + "def timed(f): return lambda *a, **k: f(*a, **k)\nclass Adapter:\n    @timed\n"
        + "    @claims('half')\n"
        + ROPE,
        "lost",
    ),
    "dtype-of-numpy": (CLASS + "    @claims('half', dtype=np.float32)\n" + ROPE, "numpy.float32"),
    "base-of-nothing": (CLASS + "    @claims('half', base=None)\n" + ROPE, "base=None"),
    "base-not-finite": (CLASS + "    @claims('half', base=float('nan'))\n" + ROPE, "base=nan"),
    "lists-of-lists": (CLASS + "    @claims(layout=[['half']])\n" + ROPE, "unknown convention"),
    "max-position-as-text": (CLASS + "    @claims('half', max_position='8k')\n" + ROPE, "'8k'"),
    "a-keyword-that-is-not-passed": (
        CLASS
        + "    @claims('half')\n    def rope(self, x, positions, *, base, device): return x\n",
        "requires 'device'",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", AT_LOAD)
def test_an_adapter_that_cannot_be_judged_is_one_message(name: str, tmp_path: Path) -> None:
    source, words = AT_LOAD[name]
    path = tmp_path / "mine.py"
    path.write_text(source)
    seconds = 1.2 if name == "hangs" else 60
    with pytest.raises(UserError) as raised:
        loaded = load(str(path), How(Isolation.APART, seconds=seconds), schemes())
        subjects(loaded.adapter, schemes())
    assert words in raised.value.cause
    assert raised.value.hint
    if "@claims" in source:
        assert str(path) in raised.value.cause


@pytest.mark.slow
def test_an_unknown_name_is_reported_as_usual() -> None:
    with pytest.raises(UserError, match="no implementation is called 'nothing'"):
        load("nothing", How(Isolation.APART), schemes())


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a virtual environment with NumPy and ml-dtypes, but without the kit and pytest."""
    home = tmp_path_factory.mktemp("elsewhere") / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home], check=True)
    (packages,) = home.glob("lib/python*/site-packages")
    for package in (np, ml_dtypes):
        for entry in Path(str(package.__file__)).parents[1].glob(f"{package.__name__}*"):
            (packages / entry.name).symlink_to(entry)
    return home


@pytest.mark.slow
def test_a_library_may_have_its_own_environment(
    elsewhere: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    path = tmp_path / "mine.py"
    path.write_text(
        "import importlib.util, sys\nimport numpy as np\nfrom posenc_conformance import claims\n"
        "class Adapter:\n    @claims(dtype='float64')\n    def alibi_slopes(self, heads):\n"
        f"        assert sys.prefix == {str(elsewhere)!r}\n"
        "        assert importlib.util.find_spec('pytest') is None\n"
        "        return 2.0 ** (-8 * np.arange(1, heads + 1) / heads)\n"
    )
    for python in (elsewhere, elsewhere / "bin" / "python"):
        loaded = load(str(path), How(Isolation.APART, python=str(python)), schemes())
        (subject,) = subjects(loaded.adapter, schemes())
        assert np.array_equal(ask_smallest(subject), SLOPES)
        loaded.end()


def test_an_unsuitable_interpreter_is_one_message(elsewhere: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    shutil.copytree(elsewhere, bare, symlinks=True, ignore=shutil.ignore_patterns("ml_dtypes*"))
    source = str(CHECKOUT / "tests" / "programs" / "culprit_adapter.py")
    for python, words in {
        str(tmp_path / "no-such-python"): "no program that can be executed",
        str(bare): "No module named 'ml_dtypes'",
        "/bin/false": "exited with status 1",
    }.items():
        with pytest.raises(UserError) as raised:
            load(source, How(Isolation.APART, python=python), schemes())
        assert words in raised.value.cause
        assert raised.value.hint


@pytest.mark.slow
def test_a_process_ends_with_the_judge(tmp_path: Path) -> None:
    """It ends even if the judge is killed while the worker is in a call that never returns."""
    shutil.copy(CHECKOUT / "tests" / "programs" / "culprit_adapter.py", tmp_path)
    (tmp_path / "mischief.py").write_text(
        f"import os, time; open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\n"
        "time.sleep(600)"
    )
    judge = subprocess.Popen(
        [
            *(sys.executable, "-m", "pytest", "--impl=culprit_adapter.py", "--posenc-apart"),
            *("-p", "no:cacheprovider", "alibi.yaml::smoke"),
        ],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
    )
    pid = tmp_path / "pid"
    _until(lambda: pid.exists() and pid.read_text() != "")
    judge.kill()
    judge.wait()
    _until(lambda: not _lives(int(pid.read_text())))


def _until(done: Callable[[], bool]) -> None:
    end = time.monotonic() + 120
    while not done():
        assert time.monotonic() < end
        time.sleep(0.1)


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.slow
def test_a_worker_does_not_receive_ctrl_c() -> None:
    loaded = load("reference", How(Isolation.APART), schemes())
    method = next(iter(vars(loaded.adapter).values()))
    process = method._peer._process._process
    assert os.getpgid(process.pid) != os.getpgid(0)
    loaded.end()
    assert process.poll() is not None


IN_PLACE = """
import numpy as np
from posenc_conformance import claims

class Adapter:
    @claims("in-place-half", dtype="float64")
    def rope_in_place(self, x, positions, *, base):
        half = x.shape[-1] // 2
        angles = positions[:, None] * base ** -(np.arange(half) / half)
        first, second = x[..., :half].copy(), x[..., half:].copy()
        x[..., :half] = first * np.cos(angles) - second * np.sin(angles)
        x[..., half:] = first * np.sin(angles) + second * np.cos(angles)
"""
BESIDE = "        x.base.view(np.float64)[1] = 5\n"


@pytest.mark.parametrize("beside", [False, True], ids=["right", "beside"])
def test_changes_in_place_come_back(beside: bool, tmp_path: Path) -> None:
    file = tmp_path / "kernel.py"
    file.write_text(IN_PLACE + BESIDE * beside)
    loaded = load(str(file), LIMITS, schemes())
    try:
        (subject,) = subjects(loaded.adapter, schemes())
        case = smallest_case(subject, "float64")
        inputs = case.inputs
        inputs["x"] = np.repeat(inputs["x"], 2, axis=-1)[..., ::2]
        if beside:
            with pytest.raises(Misbehaviour, match="memory between the elements of an input"):
                ask(subject, case, inputs)
        else:
            assert np.allclose(ask(subject, case, inputs), case.truth)
            assert np.allclose(inputs["x"], case.truth)
    finally:
        loaded.end()
