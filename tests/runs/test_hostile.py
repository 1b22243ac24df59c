"""Adapters, claims and options that cannot be judged: one message with a hint, before any check."""

import itertools
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from posenc_conformance.adapters.find import load_adapter
from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.checks.at_once import at_once
from posenc_conformance.checks.smoke import require_computable
from posenc_conformance.commands.badge import badges
from posenc_conformance.errors import UserError
from posenc_conformance.pytest_run import run
from posenc_conformance.report import difference, document, known
from posenc_conformance.report.machine import applies
from posenc_lab.judging import schemes
from tests.mischief import CLAIMS, CLASS, HEAD, ROPE

pytestmark = pytest.mark.remembered(shipped=True)

NUMBER = itertools.count()


Accept = Callable[..., list[str]]


@pytest.fixture
def accept(tmp_path: Path) -> Accept:
    """Return a function that loads an adapter as a run does, and returns the calls it claims."""

    def accepted(source: str, name: str = "") -> list[str]:
        path = tmp_path / f"mine{next(NUMBER)}.py"  # modules are cached by name
        path.write_text(source, encoding="utf-8")
        claimed = subjects(load_adapter(f"{path}{name}").adapter, schemes())
        for subject in claimed:
            require_computable(subject)
        return [f"{subject.call.name} {subject.label}" for subject in claimed]

    return accepted


REFUSED = {
    "claims-without-parentheses": (CLASS + "    @claims\n" + ROPE, "parentheses"),
    "claims-of-a-list": (CLASS + "    @claims(['half'])\n" + ROPE, "parentheses"),
    "property": (
        CLASS + "    @claims('half')\n    @property\n    def rope(self): return 1\n",
        "property",
    ),
    "class-as-method": (CLASS + "    @claims('half')\n    class rope: pass\n", "not a function"),
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
    "base-that-is-nothing": (CLASS + "    @claims('half', base=0)\n" + ROPE, "base=0"),
    "base-beyond-all": (
        CLASS + "    @claims('half', base=10**400)\n" + ROPE,
        "a number of at most",
    ),
    "base-near-the-largest": (CLASS + "    @claims('half', base=1e308)\n" + ROPE, "1e+308"),
    "base-that-is-true": (CLASS + "    @claims('half', base=True)\n" + ROPE, "base=True"),
    "base-complex": (CLASS + "    @claims('half', base=1j)\n" + ROPE, "base=1j"),
    "base-of-lists": (CLASS + "    @claims('half', base=[[1e4]])\n" + ROPE, "base=[10000.0]"),
    "base-of-a-dictionary": (CLASS + "    @claims('half', base={'a': 1})\n" + ROPE, "base='a'"),
    "base-of-an-object": (CLASS + "    @claims('half', base=object())\n" + ROPE, "<object object"),
    "no-head-dim": (CLASS + "    @claims('half', head_dim=[])\n" + ROPE, "no head_dim"),
    "head-dim-as-text": (CLASS + "    @claims('half', head_dim='64')\n" + ROPE, "head_dim='64'"),
    "head-dim-that-is-none": (CLASS + "    @claims('half', head_dim=None)\n" + ROPE, "=None"),
    "head-dim-that-is-true": (CLASS + "    @claims('half', head_dim=True)\n" + ROPE, "=True"),
    "head-dim-of-nothing": (CLASS + "    @claims('half', head_dim=0)\n" + ROPE, "head_dim=0"),
    "head-dim-not-finite": (
        CLASS + "    @claims('half', head_dim=float('nan'))\n" + ROPE,
        "head_dim=nan",
    ),
    "head-dim-beyond-all": (CLASS + "    @claims('half', head_dim=10**30)\n" + ROPE, "at most"),
    "max-position-that-is-true": (
        CLASS + "    @claims('half', max_position=True)\n" + ROPE,
        "=True",
    ),
    "max-position-not-finite": (
        CLASS + "    @claims('half', max_position=float('nan'))\n" + ROPE,
        "=nan",
    ),
    "max-position-infinite": (
        CLASS + "    @claims('half', max_position=float('inf'))\n" + ROPE,
        "=inf",
    ),
    "max-position-of-a-list": (
        CLASS + "    @claims('half', max_position=[1, 2])\n" + ROPE,
        "=[1, 2]",
    ),
    "dtype-of-no-letters": (CLASS + "    @claims('half', dtype='')\n" + ROPE, "dtype ''"),
    "dtype-of-a-dictionary": (CLASS + "    @claims('half', dtype={})\n" + ROPE, "no dtype"),
    "dtype-of-bytes": (CLASS + "    @claims('half', dtype=b'float32')\n" + ROPE, "b'float32'"),
    "dtype-in-capitals": (CLASS + "    @claims('half', dtype='Float32')\n" + ROPE, "'Float32'"),
    "dtype-object-of-numpy": (
        CLASS + "    @claims('half', dtype=np.dtype('float32'))\n" + ROPE,
        "dtype('float32')",
    ),
    "dtype-complex": (CLASS + "    @claims('half', dtype='complex64')\n" + ROPE, "'complex64'"),
    "dtype-of-eight-bits": (
        CLASS + "    @claims('half', dtype='float8_e4m3fn')\n" + ROPE,
        "'float8_e4m3fn'",
    ),
    "name-that-is-a-number": (CLASS + "    @claims(3)\n" + ROPE, "no name of a combination"),
    "name-that-is-none": (CLASS + "    @claims(None)\n" + ROPE, "no name of a combination"),
    "name-of-bytes": (CLASS + "    @claims(b'half')\n" + ROPE, "no name of a combination"),
    "name-of-no-letters": (CLASS + "    @claims('')\n" + ROPE, "claims '', an unknown"),
    "name-with-a-blank": (CLASS + "    @claims(' half')\n" + ROPE, "' half'"),
    "name-of-half-a-letter": (CLASS + "    @claims('\\ud800')\n" + ROPE, "\\ud800"),
    "convention-that-is-none": (CLASS + "    @claims(layout=None)\n" + ROPE, "layout=None"),
    "convention-of-bytes": (CLASS + "    @claims(layout=b'half')\n" + ROPE, "layout=b'half'"),
    "no-convention": (CLASS + "    @claims(layout=[])\n" + ROPE, "no layout"),
    "parameter-of-another-call": (CLASS + "    @claims('half', heads=8)\n" + ROPE, "'heads'"),
    "when-that-is-true": (CLASS + "    @claims('half', when=True)\n" + ROPE, "no function"),
    "when-that-is-a-class": (CLASS + "    @claims('half', when=int)\n" + ROPE, "no function"),
    "masked-as-text": (CLASS + "    @claims('half', masked='yes')\n" + ROPE, "masked='yes'"),
    "masked-where-nothing-is": (CLASS + "    @claims('half', masked=True)\n" + ROPE, "no mask"),
    "claims-of-a-class": (
        HEAD + CLAIMS + "@claims('half')\nclass Adapter:\n" + ROPE,
        "something that is not a function",
    ),
    "claims-of-a-number": (
        HEAD + CLAIMS + "class Adapter:\n    rope = claims('half')(3)\n",
        "something that is not a function",
    ),
    "claims-of-a-function-in-c": (
        HEAD + CLAIMS + "class Adapter:\n    rope = claims('half')(len)\n",
        "len: @claims stands above something that keeps no attributes",
    ),
    "cached-property": (
        CLASS
        + "    @claims('half')\n    @functools.cached_property\n    def rope(self): return 1\n",
        "property",
    ),
    "behind-a-dispatch": (
        CLASS + "    @functools.singledispatchmethod\n    @claims('half')\n" + ROPE,
        "lost",
    ),
    "claims-given-when-it-is-made": (
        HEAD
        + CLAIMS
        + "class Adapter:\n    def __init__(self):\n"
        + "        self.rope = claims('half')(lambda x, positions, *, base: x)\n",
        "claims nothing",
    ),
    "abstract": (
        HEAD
        + CLAIMS
        + "import abc\nclass Adapter(abc.ABC):\n    @claims('half')\n"
        + ROPE
        + "    @abc.abstractmethod\n    def other(self): ...\n",
        "abstract",
    ),
    "needs-arguments": (
        CLASS + "    def __init__(self, path): pass\n    @claims('half')\n" + ROPE,
        "missing 1 required positional argument: 'path'",
    ),
    "made-of-nothing": (
        CLASS + "    def __new__(cls): return None\n    @claims('half')\n" + ROPE,
        "claims nothing",
    ),
    "refuses-attributes": (
        CLASS
        + "    def __getattribute__(self, name): raise OSError('no')\n    @claims('half')\n"
        + ROPE,
        "OSError: no",
    ),
    "descriptor-that-raises": (
        HEAD
        + CLAIMS
        + "class Given:\n    def __get__(self, owner, kind): raise OSError('no device')\n"
        + "given = claims('half')(lambda x, positions, *, base: x)\n"
        + "Given.__posenc_claims__ = given.__posenc_claims__\ndel given\n"
        + "class Adapter:\n    rope = Given()\n",
        "OSError: no device",
    ),
    "empty-file": ("", "claims nothing"),
    "file-with-nulls": ("x = 1\0\n", "null bytes"),
    "file-of-tabs-and-blanks": ("class A:\n\tx = 1\n        y = 2\n", "TabError"),
    "file-in-an-unknown-coding": ("# -*- coding: klingon -*-\n", "klingon"),
    "file-nested-too-deep": (f"x = {'(' * 500}{')' * 500}\n", "too many nested"),
    "imports-what-is-not-there": ("import no_such_torch\n", "no_such_torch"),
    "imports-from-its-package": ("from . import x\n", "relative import"),
    "warns-where-warnings-are-errors": (
        "import warnings\nwarnings.simplefilter('error')\nwarnings.warn('old')\n",
        "UserWarning: old",
    ),
    "stop-iteration-at-import": ("raise StopIteration\n", "StopIteration"),
    "generator-exit-at-import": ("raise GeneratorExit\n", "GeneratorExit"),
    "text-of-megabytes": ("raise ValueError('x' * 10**7)\n", "(10,000,012 characters)"),
    "text-of-odd-letters": ("raise ValueError('\\ud800\\x1b[2J')\n", "\\ud800\\x1b[2J"),
}


@pytest.mark.draws
@pytest.mark.parametrize("name", REFUSED)
def test_an_adapter_that_cannot_be_judged_is_refused_with_a_hint(accept: Accept, name: str) -> None:
    source, words = REFUSED[name]
    with pytest.raises(UserError) as raised:
        accept(source)
    assert words in str(raised.value)
    assert raised.value.hint


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
    "bases-of-numpy": (
        CLASS + "    @claims('half', base=np.array([1e4, 5e5]))\n" + ROPE,
        ["rope half"],
    ),
    "bases-of-a-generator": (
        CLASS + "    @claims('half', base=(each for each in [1e4]))\n" + ROPE,
        ["rope half"],
    ),
    "one-name-twice": (CLASS + "    @claims('half', 'half')\n" + ROPE, ["rope half"]),
    "head-dims-of-a-range": (
        CLASS + "    @claims('half', head_dim=range(2, 10, 2))\n" + ROPE,
        ["rope half"],
    ),
    "one-position": (CLASS + "    @claims('half', max_position=0)\n" + ROPE, ["rope half"]),
    "lambda": (
        HEAD + CLAIMS + "class Adapter:\n"
        "    rope = claims('half')(lambda self, x, positions, *, base: x)\n",
        ["rope half"],
    ),
    "partial": (
        HEAD + CLAIMS + "def f(k, x, positions, *, base): return x\n"
        "class Adapter:\n    rope = claims('half')(functools.partial(f, 1))\n",
        ["rope half"],
    ),
    "object-that-can-be-called": (
        HEAD + CLAIMS + "class Call:\n    def __call__(self, x, positions, *, base): return x\n"
        "class Adapter:\n    rope = claims('half')(Call())\n",
        ["rope half"],
    ),
    "cached": (CLASS + "    @claims('half')\n    @functools.lru_cache\n" + ROPE, ["rope half"]),
    "cached-above": (
        CLASS + "    @functools.lru_cache\n    @claims('half')\n" + ROPE,
        ["rope half"],
    ),
    "slots": (CLASS + "    __slots__ = ()\n    @claims('half')\n" + ROPE, ["rope half"]),
    "answers-to-every-name": (
        CLASS
        + "    def __getattr__(self, name): return lambda *a, **k: 0\n    @claims('half')\n"
        + ROPE,
        ["rope half"],
    ),
    "signature-that-is-none": (
        CLASS + "    @claims('half')\n" + ROPE + "    rope.__signature__ = 3\n",
        ["rope half"],
    ),
    "wraps-itself": (
        CLASS + "    @claims('half')\n" + ROPE + "    rope.__wrapped__ = rope\n",
        ["rope half"],
    ),
    "cannot-be-shown": (
        CLASS + "    def __repr__(self): raise OSError\n    @claims('half')\n" + ROPE,
        ["rope half"],
    ),
    "cannot-be-compared": (
        CLASS + "    def __eq__(self, other): raise OSError\n    @claims('half')\n" + ROPE,
        ["rope half"],
    ),
    "is-neither-true-nor-false": (
        CLASS + "    def __bool__(self): raise OSError\n    @claims('half')\n" + ROPE,
        ["rope half"],
    ),
    "byte-order-mark": ("\ufeff" + CLASS + "    @claims('half')\n" + ROPE, ["rope half"]),
    "goes-elsewhere": (
        "import os\nhere = os.getcwd()\nos.chdir('/')\nos.chdir(here)\n"
        + CLASS
        + "    @claims('half')\n"
        + ROPE,
        ["rope half"],
    ),
    "forgets-its-module": (
        "import sys\ndel sys.modules[__name__]\n" + CLASS + "    @claims('half')\n" + ROPE,
        ["rope half"],
    ),
    "module-that-raises": (
        CLASS + "    @claims('half')\n" + ROPE + "def __getattr__(name): raise OSError\n",
        ["rope half"],
    ),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_an_unusual_adapter_is_accepted(accept: Accept, name: str) -> None:
    source, claimed = ACCEPTED[name]
    assert accept(source) == claimed


def test_an_overriding_method_is_judged(tmp_path: Path) -> None:
    path = tmp_path / "overriding.py"
    path.write_text(ACCEPTED["overridden"][0], encoding="utf-8")
    (subject,) = subjects(load_adapter(str(path)).adapter, schemes())
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
    """Return a function that judges a file in a folder of its own."""

    def run(*options: str, source: str = MINE, impl: str = "mine.py") -> pytest.RunResult:
        Path(pytester.path, "mine.py").write_text(source, encoding="utf-8")
        return pytester.runpytest_subprocess(f"--impl={impl}", "-p", "no:cacheprovider", *options)

    return run


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize("selection", [["-m", "alibi"], ["alibi.yaml"], ["-k", "no-such-check"]])
def test_an_empty_selection_fails_and_says_so(
    judge: Judge, pytester: pytest.Pytester, selection: list[str]
) -> None:
    old = '{"posenc-report": 1, "old": true}'
    Path(pytester.path, "r.json").write_text(old, encoding="utf-8")
    result = judge(*selection, "--posenc-report=r.json")
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    result.stdout.fnmatch_lines(["posenc: nothing of *"])
    assert json.loads(Path(pytester.path, "r.json").read_text())["checks"] == []


@pytest.mark.slow
def test_a_foreign_file_of_a_schemes_name_does_not_hide_the_scheme(
    judge: Judge, pytester: pytest.Pytester
) -> None:
    Path(pytester.path, "rope.yaml").write_text("my: rope\n", encoding="utf-8")
    result = judge("rope.yaml::smoke")
    assert result.parseoutcomes()["passed"] == 1


@pytest.mark.slow
def test_every_broken_check_is_counted(judge: Judge, pytester: pytest.Pytester) -> None:
    """The adapter exits in calls with one position."""
    body = "        if len(positions) == 1: sys.exit(3)\n        return x\n"
    result = judge("--posenc-report=r.json", source=MINE.replace(" return x\n", "\n" + body))
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    summary = json.loads(Path(pytester.path, "r.json").read_text())["summary"]
    assert summary["not_selected"] == 0
    assert summary["failed"] == result.parseoutcomes()["failed"] > 1


@pytest.mark.slow
def test_only_the_check_that_takes_all_memory_fails(
    judge: Judge, pytester: pytest.Pytester
) -> None:
    """It fails alone even if the kit's own arithmetic runs out of memory."""
    pytester.makeconftest(
        """
        from posenc_conformance.pytest_run import items
        execute = items.execute

        def without_memory(check, options):
            if check.id.startswith("half-d4-start"):
                raise MemoryError
            return execute(check, options)

        items.execute = without_memory
        """
    )
    result = judge("--posenc-report=r.json", "rope.yaml")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    report = json.loads(Path(pytester.path, "r.json").read_text())
    assert report["summary"]["not_selected"] == 0
    (broken,) = (candidate for candidate in report["checks"] if "broke off" in candidate["message"])
    assert "half-d4-start" in broken["id"]
    assert "MemoryError" in broken["message"]


@pytest.mark.slow
@pytest.mark.parametrize("what", ["sys.stdout.close()", "sys.stdout = None", "os.chdir('/')"])
def test_changes_to_the_process_do_not_end_the_run(
    judge: Judge, pytester: pytest.Pytester, what: str
) -> None:
    source = MINE.replace("return x", f"import os; {what}; return x")
    result = judge("--posenc-report=r.json", "-m", "smoke", source=source)
    assert result.parseoutcomes()["passed"] == 1
    assert json.loads(Path(pytester.path, "r.json").read_text())["summary"]["passed"] == 1


@pytest.mark.slow
def test_a_report_is_written_when_the_first_check_stops_the_run(
    judge: Judge, pytester: pytest.Pytester
) -> None:
    wrong = MINE.replace("return x", "return None")
    for options in (["-x"], ["-x", "-p", "no:terminal"]):
        Path(pytester.path, "r.json").unlink(missing_ok=True)
        judge("--posenc-report=r.json", *options, source=wrong)
        assert json.loads(Path(pytester.path, "r.json").read_text())["summary"]["failed"] == 1


OLD = '{"posenc-report": 1, "old": true}'


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "is_kept"),
    [
        (["--impl=nowhere.py"], False),
        (["--impl=mine.py", "--posenc-examples=many"], False),
        (["--impl=mine.py", "--not-an-option"], False),
        (["--impl=mine.py", "--posenc-report", "r.json"], False),
        (["--impl=mine.py", "-c", "set.ini"], False),
        (["--impl=mine.py", "--collect-only"], True),
        (["--help"], True),
    ],
)
def test_a_run_that_fails_to_start_leaves_no_old_report(
    pytester: pytest.Pytester, options: list[str], is_kept: bool
) -> None:
    pytester.makeconftest("import not_there")
    Path(pytester.path, "set.ini").write_text("[pytest]\naddopts = --posenc-report=r.json\n")
    for name, text in (("mine.py", MINE), ("r.json", OLD), ("other.json", "{}")):
        Path(pytester.path, name).write_text(text, encoding="utf-8")
    named = [] if "r.json" in options or "set.ini" in options else ["--posenc-report=r.json"]
    pytester.runpytest_subprocess(*options, *named)
    assert Path(pytester.path, "r.json").exists() == is_kept
    document.remove_old(str(pytester.path / "other.json"))
    assert Path(pytester.path, "other.json").exists()


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["-n", "2"]], ids=["here", "xdist"])
def test_verdicts_are_kept_when_the_process_is_killed(
    judge: Judge, pytester: pytest.Pytester, options: list[str]
) -> None:
    kill = (
        "exec(\"while not os.path.exists('r.json'): pass\") or "
        "os.kill(int(os.environ['ITS_ID']), 9) or __import__('time').sleep(9)"
    )
    body = f"import os; {kill} if x.shape[-1] == 80 else 0; return x"
    pytester.makeconftest(
        "import os\n"
        "def pytest_configure(config):\n"
        "    os.environ.setdefault('ITS_ID', str(os.getpid()))\n"
    )
    source = MINE.replace("return x", body)
    result = judge("--posenc-report=r.json", "rope.yaml", *options, source=source)
    assert result.ret == -signal.SIGKILL
    report = difference.read_report(Path(pytester.path, "r.json"))
    assert report["checks"]
    assert report["interrupted"]
    with pytest.raises(UserError, match="did not finish"):
        badges(report)


@pytest.mark.slow
def test_a_long_report_is_not_written_for_every_check(
    pytester: pytest.Pytester, judge: Judge
) -> None:
    pytester.makeconftest(
        "from posenc_conformance.pytest_run import run\n"
        "from posenc_conformance.report import document\n"
        "run.PAUSE = 1e9\n"
        "write = document.write\n"
        "def counted(report, path):\n"
        "    print('written:', 'interrupted' in report)\n"
        "    return write(report, path)\n"
        "document.write = counted\n"
    )
    result = judge("--posenc-report=r.json", "-s", "rope.yaml::smoke", "rope.yaml::golden")
    written = [line for line in result.outlines if "written: " in line]
    assert len(written) == 2
    assert written[0].endswith("True")
    assert written[1].endswith("False")


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Reset SIGINT and SIGHUP, which a process started in a shell's background ignores."""
    key = signal.signal(signal.SIGINT, signal.default_int_handler)
    terminal = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGINT, key)
    signal.signal(signal.SIGHUP, terminal)


@pytest.mark.slow
@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("how", ["SIGINT", "SIGTERM", "SIGHUP", "SIGINT twice"])
@pytest.mark.parametrize("options", [[], ["--posenc-apart"]], ids=["here", "apart"])
def test_an_interrupted_run_reports_what_it_judged_and_is_not_green(
    judge: Judge, pytester: pytest.Pytester, how: str, options: list[str]
) -> None:
    name, _, twice = how.partition(" ")
    pid = "os.getppid()" if options else "os.getpid()"
    kill = f"os.kill({pid}, signal.{name})"
    if twice:
        later = f"import threading; threading.Timer(0.05, os.kill, ({pid}, signal.{name})).start()"
        kill = f"exec('{later}') or {kill}"
    if options:
        kill = f"{kill} or __import__('time').sleep(2)"
    body = f"import os, signal; {kill} if x.shape[-1] == 80 else 0; return x"
    source = MINE.replace("return x", body)
    result = judge("--posenc-report=r.json", *options, source=source)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["posenc: no verdict: the run was interrupted*checks did not run"])
    report = json.loads(Path(pytester.path, "r.json").read_text())
    assert report["interrupted"].startswith("KeyboardInterrupt")
    assert report["checks"]
    assert report["summary"]["not_selected"] > 0


@pytest.mark.slow
@pytest.mark.usefixtures("interruptible")
def test_an_interrupted_run_of_two_processes_says_so_too(
    judge: Judge, pytester: pytest.Pytester
) -> None:
    """One of the two processes interrupts the run, once."""
    once = (
        "if x.shape[-1] == 80:\n"
        "            import os, signal, time\n"
        "            os.mkdir('once')\n"
        "            os.kill(os.getppid(), signal.SIGINT)\n"
        "            time.sleep(9)\n"
        "        return x"
    )
    source = MINE.replace(" return x", f"\n        {once}")
    result = judge("--posenc-report=r.json", "-n", "2", "rope.yaml", source=source)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["posenc: no verdict: the run was interrupted*checks did not run"])
    result.stdout.no_fnmatch_line("*nothing was judged*")
    report = json.loads(Path(pytester.path, "r.json").read_text())
    assert report["interrupted"].startswith("KeyboardInterrupt")


def test_ctrl_c_interrupts_until_pytest_handles_it() -> None:
    key = run._Key()
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            key(signal.SIGINT, None)
    later = run._Key()
    later.is_dealt_with = True
    later(signal.SIGINT, None)
    later(signal.SIGINT, None)


@pytest.mark.slow
@pytest.mark.usefixtures("interruptible")
def test_a_third_ctrl_c_ends_a_summary_that_hangs(tmp_path: Path) -> None:
    """The summary calls hooks of any plugin, and one of them may never return."""
    (tmp_path / "mine.py").write_text(MINE, encoding="utf-8")
    (tmp_path / "conftest.py").write_text(
        "import os, signal, time\n"
        "def pytest_terminal_summary():\n"
        "    for _ in range(3):\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "    time.sleep(999)\n"
    )
    command = [sys.executable, "-m", "pytest", "--impl=mine.py", "rope.yaml::smoke"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False, timeout=300)
    assert done.returncode == -signal.SIGINT


def test_parallel_calls_return_their_results() -> None:
    assert at_once([lambda: 1, lambda: 2]) == [1, 2]
    with pytest.raises(ZeroDivisionError):
        at_once([lambda: 1, lambda: 1 // 0])


@pytest.mark.usefixtures("interruptible")
def test_a_thread_that_hangs_is_not_waited_for() -> None:
    code = (
        "import os, signal, threading, time\n"
        "from posenc_conformance.checks.at_once import at_once\n"
        "def hang():\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    time.sleep(999)\n"
        "at_once([hang, hang])\n"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, check=False, timeout=300)
    assert done.returncode == -signal.SIGINT
    assert done.stderr.rstrip().endswith(b"KeyboardInterrupt")


@pytest.mark.slow
def test_a_run_with_a_full_output_device_reports_that_it_broke_off(
    pytester: pytest.Pytester,
) -> None:
    Path(pytester.path, "mine.py").write_text(MINE, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "--impl=mine.py", "--posenc-report=r.json"]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, cwd=pytester.path, check=False
        )
    assert done.returncode != 0
    assert json.loads(Path(pytester.path, "r.json").read_text())["interrupted"]


def test_a_report_replaces_nothing_but_a_report(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("x = 1\n")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name in (
        "mine.py",
        "folder",
        "pipe",
        "mine.py/r.json",
        "mine.py/no/r.json",
        "r" * 300,
        "nul\0",
    ):
        with pytest.raises(UserError, match="posenc-report"):
            document.place(str(tmp_path / name))
    assert (tmp_path / "mine.py").read_text() == "x = 1\n"


def test_a_report_goes_into_devices_and_through_no_link(tmp_path: Path) -> None:
    link, device = tmp_path / "link.json", tmp_path / "device"
    link.symlink_to(tmp_path / "target.json")
    with pytest.raises(UserError, match=r"--posenc-report=.*link\.json is a link"):
        document.place(str(link))
    device.symlink_to("/dev/null")
    for place in (str(device), "/dev/null"):
        assert document.write({"posenc-report": 1}, document.place(place)) == ""
    assert Path("/dev/null").is_char_device()
    assert sorted(tmp_path.iterdir()) == [device, link]


def test_a_report_that_cannot_be_written_is_reported_and_leaves_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    place = document.place(str(folder / "r.json"))
    folder.rmdir()
    assert document.write({}, place) == ""
    assert place.read_text() == "{}\n"
    (tmp_path / "file").write_text("somebody's")
    assert "could not be written" in document.write({}, tmp_path / "file" / "r.json")
    assert "could not be written" in document.write({}, Path("/dev/full"))


MANY = {
    "llama-head128-4k": ("x.shape[-1] == 128", "pytest.skip('no GPU')", "Skipped: no GPU"),
    "gemma-head256": (
        "x.shape[-1] == 256",
        "pytest.exit('enough', returncode=0)",
        "Exit: enough",
    ),
    "half-head80": ("x.shape[-1] == 80", "os._exit(0)", "SystemExit: os._exit(0)"),
    "half-batch-unsorted": (
        "x.ndim == 4",
        "raise ValueError('\\ud800\\x1b[2J' + 'x' * 10**7)",
        "ValueError: \\ud800\\x1b[2Jxxx",
    ),
    "half-d4-start": ("x.shape[0] == 3", "pytest.xfail('known')", "XFailed: known"),
    "half-d2": (
        "x.shape[-1] == 2",
        "raise ValueError(os.fsdecode(b'\\xff'))",
        "ValueError: \\udcff",
    ),
}
"""The actions of an adapter in its calls: when, what, and how they are reported."""


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["-n", "2"], ["--posenc-apart"]], ids=" ".join)
def test_everything_that_an_adapter_can_raise_fails_only_its_check(
    judge: Judge, pytester: pytest.Pytester, options: list[str]
) -> None:
    lines = [f"        if {when}: {action}\n" for when, action, _ in reversed(MANY.values())]
    right = (
        "        half = x.shape[-1] // 2\n"
        "        angles = np.outer(positions, 10000.0 ** (-np.arange(half) / half))\n"
        "        a, b, c, s = x[..., :half], x[..., half:], np.cos(angles), np.sin(angles)\n"
        "        return np.concatenate([a * c - b * s, a * s + b * c], -1).astype(x.dtype)\n"
    )
    source = MINE.replace(" return x\n", f"\n        import os\n{''.join(lines)}{right}")
    options = [*options, "--posenc-report=r.json"]
    result = judge("rope.yaml::smoke", "rope.yaml::golden", *options, source=source)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    report = json.loads(Path(pytester.path, "r.json").read_text())
    failed = {check["id"]: check for check in report["checks"] if check["verdict"] == "failed"}
    for name, (_, _, words) in MANY.items():
        message = failed.pop(f"rope.yaml::golden::{name}[float32]")["message"]
        if not (name == "half-head80" and "--posenc-apart" in options):  # its process has ended
            assert f"rope() raised {words}" in message
        assert len(message) < 10_000
    assert not failed
    assert report["summary"]["passed"] > 0
    shown = result.stdout.str()
    assert "INTERNALERROR" not in shown
    assert len(shown) < 50_000


@pytest.mark.slow
def test_a_run_ended_by_another_thread_fails(judge: Judge) -> None:
    body = "import os, threading; threading.Thread(target=os._exit, args=(0,)).start(); "
    source = MINE.replace("return x", f"{body}import time; time.sleep(1); return x")
    result = judge("-s", "rope.yaml::smoke", source=source)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stderr.fnmatch_lines(["os._exit(0) in a thread ended the run"])


@pytest.mark.slow
@pytest.mark.parametrize("where", ["folder", "addopts"])
def test_a_run_of_own_tests_only_is_no_verdict(
    judge: Judge, pytester: pytest.Pytester, where: str
) -> None:
    pytester.mkdir("tests")
    Path(pytester.path, "tests", "test_own.py").write_text("def test_it(): pass\n")
    if where == "addopts":
        pytester.makeini("[pytest]\naddopts = tests\n")
    result = judge(*(["tests"] if where == "folder" else []))
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: no scheme file is in tests*", "hint: *"])


@pytest.mark.slow
def test_checks_blocked_by_an_unselected_smoke_check_do_not_pass(
    judge: Judge, pytester: pytest.Pytester
) -> None:
    wrong = MINE.replace("return x", "return None")
    blocked = judge("rope.yaml::golden", source=wrong)
    assert blocked.ret == pytest.ExitCode.TESTS_FAILED
    assert blocked.parseoutcomes().keys() == {"blocked"}
    blocked.stdout.fnmatch_lines(["*the smoke check fails: rope() returned None*"])
    id = "rope.yaml::smoke::callable[rope-half-float32]"
    entry = f"posenc-known-failures: 1\nfailures:\n- {{id: '{id}', reason: not written yet}}\n"
    Path(pytester.path, "known.yaml").write_text(entry, encoding="utf-8")
    result = judge("rope.yaml::golden", "--posenc-known=known.yaml", source=wrong)
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED  # nothing was judged


@pytest.mark.slow
def test_known_failures_of_two_schemes_apply_to_a_run_of_one(
    judge: Judge, pytester: pytest.Pytester
) -> None:
    slopes = "    @claims()\n    def alibi_slopes(self, heads): return None\n"
    ids = (
        "rope.yaml::smoke::callable[rope-half-float32]",
        "alibi.yaml::smoke::callable[alibi_slopes-interpolated-float32]",
    )
    entry = f"posenc-known-failures: 1\nfailures:\n- {{ids: {list(ids)}, reason: unwritten}}\n"
    Path(pytester.path, "known.yaml").write_text(entry, encoding="utf-8")
    both = MINE.replace("return x", "return None") + slopes
    result = judge("rope.yaml", "--posenc-known=known.yaml", source=both)
    assert result.ret == pytest.ExitCode.OK, result.stderr.str()
    assert result.parseoutcomes()["known"] == 1


@pytest.mark.slow
def test_printed_ids_can_be_selected(judge: Judge) -> None:
    slow = CLASS + "    @claims()\n    def t5_bucket(self, relative_position, **_): return 0\n"
    shown = judge("-v", "t5-bias.yaml::smoke", source=slow).stdout.str()
    (id,) = {line.split(" ")[0] for line in shown.splitlines() if " FAILED " in line}
    assert judge(id, source=slow).parseoutcomes() == {"failed": 1}


@pytest.mark.slow
def test_a_call_uses_the_terminal_if_nothing_is_captured(
    judge: Judge, pytester: pytest.Pytester
) -> None:
    source = MINE.replace("return x", "print('turning', x.shape); breakpoint(); return x")
    Path(pytester.path, "mine.py").write_text(source, encoding="utf-8")
    result = pytester.run(
        *(sys.executable, "-m", "pytest", "--impl=mine.py", "-s", "rope.yaml::smoke"),
        stdin=b"p x.ndim + 40\nc\n",
    )
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["*turning (2, 6, 8)*", "*(Pdb) 43*"])


IDS = [f"rope.yaml::golden::half-d{size}[float32]" for size in (2, 4, 8)]


def known_of(tmp_path: Path, *entries: str) -> dict[str, known.KnownFailure]:
    path = tmp_path / "known.yaml"
    path.write_text("posenc-known-failures: 1\nfailures:\n" + "".join(entries), encoding="utf-8")
    return known.read_known(path, lambda name: IDS if name == "rope.yaml" else [])


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
def test_invalid_entries_are_refused(tmp_path: Path, entry: str) -> None:
    with pytest.raises(UserError) as raised:
        known_of(tmp_path, entry)
    assert "known.yaml" in raised.value.cause
    assert raised.value.hint
