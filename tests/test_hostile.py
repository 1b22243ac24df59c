"""Adapters, claims and options that cannot be judged: one message with a hint, before any check."""

import itertools
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from posenc_conformance.adapters.find import load
from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.checks.smoke import demand_sense
from posenc_conformance.errors import UserError
from posenc_conformance.report import document, known
from posenc_conformance.report.machine import applies
from tests.judging import schemes

NUMBER = itertools.count()
HEAD = "import functools, sys\nimport numpy as np\nimport pytest\n"
CLAIMS = "from posenc_conformance import claims\n"
CLASS = HEAD + CLAIMS + "class Adapter:\n"
ROPE = "    def rope(self, x, positions, *, base=10000.0): return x\n"


Accept = Callable[..., list[str]]


@pytest.fixture
def accept(tmp_path: Path) -> Accept:
    """Do with an adapter file what a run does before its first check; the calls it claims."""

    def accepted(source: str, name: str = "") -> list[str]:
        path = tmp_path / f"mine{next(NUMBER)}.py"  # a module is known by its name
        path.write_text(source, encoding="utf-8")
        found = subjects(load(f"{path}{name}").adapter, schemes())
        for subject in found:
            demand_sense(subject)
        return [f"{subject.call.name} {subject.label}" for subject in found]

    return accepted


REFUSED = {
    "claims-without-parentheses": (CLASS + "    @claims\n" + ROPE, "parentheses"),
    "claims-of-a-list": (CLASS + "    @claims(['half'])\n" + ROPE, "parentheses"),
    "property": (
        CLASS + "    @claims('half')\n    @property\n    def rope(self): return 1\n",
        "property",
    ),
    "class-as-method": (CLASS + "    @claims('half')\n    class rope: pass\n", "no function"),
    "private-name": (
        CLASS + "    @claims('half')\n" + ROPE.replace("rope", "_rope"),
        "private",
    ),
    "behind-a-decorator-without-wraps": (
        HEAD
        + CLAIMS
        + "def timed(f): return lambda *a, **k: f(*a, **k)\nclass Adapter:\n    @timed\n"
        + "    @claims('half')\n"
        + ROPE,
        "lost",
    ),
    "function-behind-a-decorator-without-wraps": (
        HEAD
        + CLAIMS
        + "def timed(f): return lambda *a, **k: f(*a, **k)\n@timed\n@claims('half')\n"
        + "def rope(x, positions, *, base): return x\n",
        "lost",
    ),
    "class-beside-functions": (
        CLASS
        + "    @claims('half')\n"
        + ROPE
        + "@claims()\ndef sinusoidal(positions, dim, *, base, dtype): return 1\n",
        "functions that claim",
    ),
    "no-dtype": (CLASS + "    @claims('half', dtype=[])\n" + ROPE, "empty"),
    "dtype-that-is-none": (CLASS + "    @claims('half', dtype=3)\n" + ROPE, "dtype 3"),
    "dtype-of-numpy": (CLASS + "    @claims('half', dtype=np.float32)\n" + ROPE, "dtype"),
    "negative-max-position": (CLASS + "    @claims('half', max_position=-1)\n" + ROPE, "-1"),
    "max-position-as-text": (CLASS + "    @claims('half', max_position='8k')\n" + ROPE, "8k"),
    "max-position-of-a-float": (CLASS + "    @claims('half', max_position=1e4)\n" + ROPE, "10000"),
    "max-position-beyond-all": (CLASS + "    @claims('half', max_position=10**30)\n" + ROPE, "53"),
    "no-base": (CLASS + "    @claims('half', base=[])\n" + ROPE, "empty"),
    "base-as-text": (CLASS + "    @claims('half', base='10000')\n" + ROPE, "not a number"),
    "base-of-nothing": (CLASS + "    @claims('half', base=None)\n" + ROPE, "not a number"),
    "base-not-finite": (CLASS + "    @claims('half', base=float('nan'))\n" + ROPE, "nan"),
    "base-infinite": (CLASS + "    @claims('half', base=float('inf'))\n" + ROPE, "inf"),
    "negative-base": (CLASS + "    @claims('half', base=-5.0)\n" + ROPE, "base=-5.0"),
    "second-base-negative": (CLASS + "    @claims('half', base=[1e4, -5.0])\n" + ROPE, "-5.0"),
    "head-dim-of-a-float": (CLASS + "    @claims('half', head_dim=64.0)\n" + ROPE, "whole number"),
    "odd-head-dim": (CLASS + "    @claims('half', head_dim=7)\n" + ROPE, "head_dim=7"),
    "negative-head-dim": (CLASS + "    @claims('half', head_dim=-8)\n" + ROPE, "head_dim=-8"),
    "huge-head-dim": (CLASS + "    @claims('half', head_dim=2**40)\n" + ROPE, "head_dim"),
    "huge-dim": (
        CLASS
        + "    @claims(dim=2**40, base=1e4, dtype='float32')\n"
        + "    def sinusoidal(self, positions, dim): return 1\n",
        "values",
    ),
    "convention-that-is-a-list-of-lists": (
        CLASS + "    @claims(layout=[['half']])\n" + ROPE,
        "unknown convention",
    ),
    "name-beside-another-convention": (
        CLASS + "    @claims('half', layout='interleaved')\n" + ROPE,
        "drop layout, or claim one of interleaved",
    ),
    "requires-is-a-number": (
        CLASS + "    requires = 3\n    @claims('half')\n" + ROPE,
        "requires",
    ),
    "requires-what-is-not-there": (
        CLASS + "    requires = 'no-such-package'\n    @claims('half')\n" + ROPE,
        "not installed: no-such-package",
    ),
    "exits-at-import": ("import sys\nsys.exit(0)\n", "SystemExit: 0"),
    "skips-at-import": ("import pytest\npytest.skip('x', allow_module_level=True)\n", "Skipped"),
    "importorskip": ("import pytest\npytest.importorskip('no_such_module')\n", "no_such_module"),
    "argparse-at-import": (
        "import argparse\nargparse.ArgumentParser().parse_args(['--no-such-option'])\n",
        "SystemExit",
    ),
    "base-exception-at-import": ("raise BaseException('gone')\n", "BaseException: gone"),
    "exception-that-cannot-be-shown": (
        "class E(Exception):\n    def __str__(self): raise OSError\nraise E\n",
        "cannot be shown",
    ),
    "recursion-at-import": ("def f(): f()\nf()\n", "RecursionError"),
    "exits-when-made": (
        CLASS + "    def __init__(self): sys.exit('no GPU')\n    @claims('half')\n" + ROPE,
        "SystemExit: no GPU",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_with_a_hint(accept: Accept, name: str) -> None:
    source, words = REFUSED[name]
    with pytest.raises(UserError) as found:
        accept(source)
    assert words in str(found.value)
    assert found.value.hint


ACCEPTED = {
    "static-method": (
        CLASS
        + "    @claims('half')\n    @staticmethod\n"
        + "    def rope(x, positions, *, base): return x\n",
        ["rope half"],
    ),
    "claims-within-a-static-method": (
        CLASS
        + "    @staticmethod\n    @claims('half')\n"
        + "    def rope(x, positions, *, base): return x\n",
        ["rope half"],
    ),
    "class-method": (
        CLASS
        + "    @claims('half')\n    @classmethod\n"
        + "    def rope(cls, x, positions, *, base): return x\n",
        ["rope half"],
    ),
    "behind-wraps": (
        HEAD
        + CLAIMS
        + "def timed(f): return functools.wraps(f)(lambda *a, **k: f(*a, **k))\n"
        + "class Adapter:\n    @timed\n    @claims('half')\n"
        + ROPE,
        ["rope half"],
    ),
    "overridden": (
        CLASS
        + "    @claims('half')\n"
        + ROPE
        + "class Own(Adapter):\n"
        + ROPE.replace("return x", "return x + 1"),
        ["rope half"],
    ),
    "withdrawn": (
        CLASS
        + "    @claims('half')\n"
        + ROPE
        + "    @claims()\n    def alibi_slopes(self, heads, *, dtype='float32'): return 1\n"
        + "class Own(Adapter):\n    rope = None\n",
        ["alibi_slopes interpolated"],
    ),
    "property-that-raises-nearby": (
        CLASS + "    @property\n    def device(self): raise OSError\n    @claims('half')\n" + ROPE,
        ["rope half"],
    ),
    "directory-that-raises": (
        CLASS + "    def __dir__(self): raise OSError\n    @claims('half')\n" + ROPE,
        ["rope half"],
    ),
    "class-that-has-no-hash": (
        HEAD
        + CLAIMS
        + "class Meta(type):\n    __hash__ = None\nclass Adapter(metaclass=Meta):\n"
        + "    @claims('half')\n"
        + ROPE,
        ["rope half"],
    ),
    "name-with-its-own-convention": (
        CLASS + "    @claims('half', layout='half')\n" + ROPE,
        ["rope half"],
    ),
    "requires-one-name": (
        CLASS + "    requires = 'numpy'\n    @claims('half')\n" + ROPE,
        ["rope half"],
    ),
    "object-that-answers-everything": (
        HEAD
        + "from unittest.mock import MagicMock\nthing = MagicMock()\n"
        + CLAIMS
        + "class Adapter:\n    helper = thing\n    @claims('half')\n"
        + ROPE,
        ["rope half"],
    ),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_it_works(accept: Accept, name: str) -> None:
    source, claimed = ACCEPTED[name]
    assert accept(source) == claimed


def test_an_overriding_method_is_the_one_that_is_judged(tmp_path: Path) -> None:
    path = tmp_path / "overriding.py"
    path.write_text(ACCEPTED["overridden"][0], encoding="utf-8")
    (subject,) = subjects(load(str(path)).adapter, schemes())
    assert subject.method(1, 0) == 2


def test_an_imported_class_is_an_adapter(
    accept: Accept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "lib_with_class.py").write_text(CLASS + "    @claims('half')\n" + ROPE)
    assert accept("from lib_with_class import Adapter as Mine\n") == ["rope half"]
    own = "from lib_with_class import Adapter\nclass Own(Adapter):\n    pass\n"
    assert accept(own) == ["rope half"]


MINE = CLASS + "    @claims('half', base=10000.0)\n" + ROPE


Judge = Callable[..., pytest.RunResult]


@pytest.fixture
def judge(pytester: pytest.Pytester) -> Judge:
    """Judge a file in a folder of its own."""

    def run(*options: str, source: str = MINE, impl: str = "mine.py") -> pytest.RunResult:
        Path(pytester.path, "mine.py").write_text(source, encoding="utf-8")
        return pytester.runpytest_subprocess(f"--impl={impl}", "-p", "no:cacheprovider", *options)

    return run


@pytest.mark.parametrize(
    ("options", "impl"),
    [(["."], "mine.py"), (["test_own.py"], "mine.py"), ([], ""), (["--posenc-report="], "mine.py")],
)
def test_options_that_would_judge_nothing_are_refused(
    judge: Judge, pytester: pytest.Pytester, options: list[str], impl: str
) -> None:
    Path(pytester.path, "test_own.py").write_text("def test_it(): pass\n", encoding="utf-8")
    result = judge(*options, impl=impl)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: *", "hint: *"])


@pytest.mark.parametrize("selection", [["-m", "alibi"], ["alibi.yaml"], ["-k", "no-such-check"]])
def test_a_selection_of_nothing_is_red_and_says_so(
    judge: Judge, pytester: pytest.Pytester, selection: list[str]
) -> None:
    old = '{"posenc-report": 1, "old": true}'
    Path(pytester.path, "r.json").write_text(old, encoding="utf-8")
    result = judge(*selection, "--posenc-report=r.json")
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    result.stdout.fnmatch_lines(["posenc: nothing was judged*"])
    assert json.loads(Path(pytester.path, "r.json").read_text())["checks"] == []


def test_a_foreign_file_of_a_schemes_name_does_not_hide_the_scheme(
    judge: Judge, pytester: pytest.Pytester
) -> None:
    Path(pytester.path, "rope.yaml").write_text("my: rope\n", encoding="utf-8")
    result = judge("rope.yaml::smoke")
    assert result.parseoutcomes()["passed"] == 1


def test_everything_that_breaks_is_counted(judge: Judge, pytester: pytest.Pytester) -> None:
    """A call that exits, only where it is called with one position."""
    body = "        if len(positions) == 1: sys.exit(3)\n        return x\n"
    result = judge("--posenc-report=r.json", source=MINE.replace(" return x\n", "\n" + body))
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    summary = json.loads(Path(pytester.path, "r.json").read_text())["summary"]
    assert summary["not_selected"] == 0
    assert summary["failed"] == result.parseoutcomes()["failed"] > 1


@pytest.mark.parametrize("what", ["sys.stdout.close()", "sys.stdout = None", "os.chdir('/')"])
def test_what_a_call_does_to_the_process_does_not_end_the_run(
    judge: Judge, pytester: pytest.Pytester, what: str
) -> None:
    source = MINE.replace("return x", f"import os; {what}; return x")
    result = judge("--posenc-report=r.json", "-m", "smoke", source=source)
    assert result.parseoutcomes()["passed"] == 1
    assert json.loads(Path(pytester.path, "r.json").read_text())["summary"]["passed"] == 1


def test_a_report_is_written_when_the_first_check_stops_the_run(
    judge: Judge, pytester: pytest.Pytester
) -> None:
    wrong = MINE.replace("return x", "return None")
    for options in (["-x"], ["-x", "-p", "no:terminal"]):
        Path(pytester.path, "r.json").unlink(missing_ok=True)
        judge("--posenc-report=r.json", *options, source=wrong)
        assert json.loads(Path(pytester.path, "r.json").read_text())["summary"]["failed"] == 1


def test_a_report_replaces_nothing_but_a_report(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("x = 1\n")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name in ("mine.py", "folder", "pipe", "no/r.json", "r" * 300, "nul\0"):
        with pytest.raises(UserError, match="posenc-report"):
            document.place(str(tmp_path / name))
    assert (tmp_path / "mine.py").read_text() == "x = 1\n"


def test_a_report_goes_through_links_and_into_devices(tmp_path: Path) -> None:
    target, link = tmp_path / "target.json", tmp_path / "link.json"
    target.write_text("")
    link.symlink_to(target)
    (tmp_path / "target.json.part").write_text("somebody's")
    assert document.write({"posenc-report": 1}, document.place(str(link))) == ""
    assert link.is_symlink()
    assert json.loads(target.read_text()) == {"posenc-report": 1}
    assert document.write({"posenc-report": 1}, document.place("/dev/null")) == ""
    assert Path("/dev/null").is_char_device()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "link.json",
        "target.json",
        "target.json.part",
    ]


def test_a_report_that_cannot_be_written_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    place = document.place(str(tmp_path / "r.json"))
    tmp_path.rmdir()
    assert "could not be written" in document.write({}, place)
    assert "could not be written" in document.write({}, Path("/dev/full"))


IDS = [f"rope.yaml::golden::half-d{size}[float32]" for size in (2, 4, 8)]


def known_of(tmp_path: Path, *entries: str) -> dict[str, known.Known]:
    path = tmp_path / "known.yaml"
    path.write_text("posenc-known-failures: 1\nfailures:\n" + "".join(entries), encoding="utf-8")
    return known.load(path, lambda name: IDS if name == "rope.yaml" else [])


def test_one_reason_serves_many_checks(tmp_path: Path) -> None:
    several = known_of(tmp_path, f"- {{ids: ['{IDS[0]}', '{IDS[2]}'], reason: x}}\n")
    assert list(several) == [IDS[0], IDS[2]]
    pattern = known_of(tmp_path, "- {ids: ['rope.yaml::golden::*'], reason: x}\n")
    assert list(pattern) == IDS


def test_an_entry_applies_where_its_condition_holds(tmp_path: Path) -> None:
    entry = f"- {{id: '{IDS[0]}', reason: x, when: {{cpu: no-such-feature}}}}\n"
    assert known_of(tmp_path, entry) == {}
    assert list(known_of(tmp_path, entry.replace("cpu:", "no-cpu:"))) == IDS[:1]
    assert applies("", {"versions": {"numpy": ">=1"}})
    assert not applies("", {"versions": {"numpy": "<1"}})
    assert not applies("", {"versions": {"no-such-package": ">=1"}})


@pytest.mark.parametrize(
    "entry",
    [
        "- {id: 'rope.yaml::golden::none', reason: x}\n",
        "- {ids: ['rope.yaml::golden::half*', 'rope.yaml::robust::*'], reason: x}\n",
        "- {ids: 'rope.yaml::golden::*', reason: x}\n",
        "- {ids: [], reason: x}\n",
        f"- {{id: '{IDS[0]}', reason: '  '}}\n",
        f"- {{id: '{IDS[0]}', reason: 'say why: it fails'}}\n",
        f"- {{id: '{IDS[0]}', reason: x, reason: y}}\n",
        f"- {{id: '{IDS[0]}', reason: x, when: {{moon: full}}}}\n",
        f"- {{id: '{IDS[0]}', reason: x, when: {{versions: {{numpy: new}}}}}}\n",
        f"- {{id: '{IDS[0]}', reason: x, when: always}}\n",
        "- {id: 2026-13-45, reason: x}\n",
        f"- {{id: {'9' * 5000}, reason: x}}\n",
        f"- {'[' * 5000}\n",
        "- {? [a, b] : c}\n",
        f"- {{id: '{IDS[0]}', reason: x}}\n- {{ids: ['rope.yaml::*'], reason: y}}\n",
    ],
)
def test_entries_that_say_nothing_or_too_much_are_refused(tmp_path: Path, entry: str) -> None:
    with pytest.raises(UserError) as found:
        known_of(tmp_path, entry)
    assert "known.yaml" in found.value.cause
    assert found.value.hint
