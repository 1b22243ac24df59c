"""``pytest --impl`` on a library without an adapter: what ``posenc init`` claims is judged."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from posenc_conformance.report.difference import read_report
from tests.libraries import keys, mistaken

pytestmark = [pytest.mark.remembered(shipped=True), pytest.mark.slow]
RIGHT = keys.MODULE.replace("KEYS", keys.OF_HALVES)
WRONG = keys.MODULE.replace("KEYS", "k")
CHECKS = ("rope.yaml", "rope-kernel.yaml", "-m", "smoke or golden", "-p", "no:cacheprovider")
POSENC = (
    sys.executable,
    "-c",
    "import sys; from posenc_conformance.commands.main import main; sys.exit(main())",
)
FAILED = "rope-kernel.yaml::golden::query-key-half-grouped[float32]"
Judge = Callable[..., pytest.RunResult]


@pytest.fixture
def judge(pytester: pytest.Pytester) -> Judge:
    """Return a function that writes a library to plain.py and judges it."""

    def run(source: str, impl: str, *options: str) -> pytest.RunResult:
        Path(pytester.path, "plain.py").write_text(source, encoding="utf-8")
        return pytester.runpytest_subprocess(f"--impl={impl}", *CHECKS, *options)

    return run


@pytest.mark.parametrize("impl", ["plain", "plain.py", "plain:RotaryEmbedding"])
def test_a_right_library_passes_and_the_header_says_how(judge: Judge, impl: str) -> None:
    result = judge(RIGHT, impl)
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(
        [
            f"posenc: {impl} has no adapter, so what posenc init claims*: posenc init {impl}",
            "posenc: rope: RotaryEmbedding behaves like half*",
            "*scorecard*",
            "rope-kernel*rope_query_key*query-key-half*",
        ]
    )
    assert not Path("plain_adapter.py").exists()


APPLIES = """
import numpy as np

def apply_rotary_pos_emb(q, k, cos, sin):
    def turned(x):
        a, b = np.split(x.astype(float), 2, -1)
        return (x * cos + np.concatenate([-b, a], -1) * sin).astype(x.dtype)
    return turned(q), turned(k)
"""


def test_what_is_not_judged_stands_in_report_and_page(judge: Judge) -> None:
    told = "not judged: what makes the tables of apply_rotary_pos_emb"
    assert judge(APPLIES, "plain.py", "--posenc-html=p.html", "--posenc-report=r.json").ret == 0
    report = read_report(Path("r.json"))
    assert any(told in note for note in report["notes"])
    assert f"<li>{told}" in Path("p.html").read_text(encoding="utf-8")


def test_wrong_keys_fail_and_the_failure_can_be_repeated(judge: Judge) -> None:
    result = judge(WRONG, "plain", "-q")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*keys-unrotated*", "posenc: plain has no adapter*"])
    for more in ([], ["--posenc-apart"]):
        repro = [*POSENC, "repro", FAILED, "--impl=plain", *more]
        script = subprocess.run(repro, capture_output=True, text=True, check=True).stdout
        Path("script.py").write_text(script, encoding="utf-8")
        run = [sys.executable, "script.py"]
        assert "but only" in subprocess.run(run, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("name", ["tables_base", "tables_exchanged", "place_ignored", "one_sign"])
def test_a_mistake_fails_by_its_name(judge: Judge, name: str) -> None:
    mistake = next(each for each in mistaken.MISTAKES if each.name == name)
    result = judge(mistake.source, "plain.py")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines([f"posenc: rope: *claimed, the nearest: *{mistake.says}*"])


@pytest.mark.parametrize(
    ("source", "impl", "options", "words"),
    [
        ("def add(a, b): return a + b", "plain", [], ["*nothing in it behaves*", "*posenc init*"]),
        ("def add(a, b): return a + b", "plain.py", [], ["*claims nothing*", "*posenc init*"]),
        (
            "raise RuntimeError('no licence')",
            "plain",
            [],
            ["*RuntimeError: no licence*plain.py:1*"],
        ),
        ("import numpyy", "plain", [], ["*No module named 'numpyy'*", "*hint: install*"]),
    ],
)
def test_a_library_that_cannot_be_judged_is_one_message(
    judge: Judge, source: str, impl: str, options: list[str], words: list[str]
) -> None:
    result = judge(source, impl, *options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(words)


@pytest.mark.parametrize("option", ["--posenc-apart", "--posenc-timeout=20"])
def test_a_library_is_judged_in_a_process_of_its_own(judge: Judge, option: str) -> None:
    result = judge(RIGHT, "plain", option)
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(
        ["posenc: plain has no adapter*", "posenc: in a process of its own*", "*rope_query_key*"]
    )
    assert judge(WRONG, "plain.py", option).ret == pytest.ExitCode.TESTS_FAILED
    assert judge("def add(a, b): return a + b", "plain", option).ret == 4


def test_an_adapter_in_a_module_is_found_by_the_name_of_the_module(judge: Judge) -> None:
    source = (
        "from posenc_conformance import claims\n"
        "from posenc_conformance.adapters import of_queries\n"
        "class Adapter:\n"
        '    @claims("half")\n'
        "    def rope(self, x, positions, *, base):\n"
        "        return of_queries(lambda q, k: (halves(q, positions, base), k), x)\n"
    )
    result = judge(keys.ROTATIONS + source, "plain")
    assert result.ret == pytest.ExitCode.OK
    assert "no adapter" not in result.stdout.str()
