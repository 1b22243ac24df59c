"""A verdict is cached exactly as long as nothing changes that it depends on."""

import re
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis.internal import constants_ast

from posenc_lab import dependencies, verdicts
from posenc_lab.dependencies import closure, files, modules_of, source
from posenc_lab.judging import judge, schemes
from posenc_lab.miniatures import wrong
from posenc_lab.miniatures.base import WRONG, Mistake
from posenc_lab.store import Store
from posenc_lab.verdicts import JUDGE, key_of, once
from tests import building, remembered
from tests.building import CHECKOUT
from tests.running import files_that_run

assert wrong.__path__  # importing it fills the list

FIRST = {miniature.call: miniature for miniature in reversed(WRONG)}
"""A wrong miniature of each call."""
SOME = sorted(FIRST)[::12]


@pytest.mark.slow
@pytest.mark.parametrize("call", SOME)
def test_a_verdict_depends_on_all_code_that_runs(call: str) -> None:
    mistake = FIRST[call]
    scheme = next(candidate for candidate in schemes() if call in candidate.calls)
    modules = closure([JUDGE, mistake.__module__, *modules_of(scheme)])
    assert files_that_run(lambda: judge(mistake())) <= {files()[module] for module in modules}


@pytest.fixture
def own_store(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use an empty store."""
    monkeypatch.setattr(verdicts, "STORE", Store(None))


@pytest.mark.usefixtures("own_store")
def test_a_success_is_checked_once_and_a_failure_again() -> None:
    counted = iter(range(9))

    def fail() -> None:
        next(counted)
        raise AssertionError

    once("a", lambda: None)
    once("a", fail)
    for _ in range(2):
        with pytest.raises(AssertionError):
            once("b", fail)
    assert next(counted) == 2


@pytest.fixture
def changed(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that changes the digest of a module during the test."""

    def change(module: str) -> None:
        before = source(module)

        def other(name: str) -> dependencies.Source:
            return source(name) if name != module else replace(before, digest="")

        monkeypatch.setattr(dependencies, "source", other)

    return change


@pytest.mark.parametrize(
    ("module", "matters"),
    [
        ("posenc_conformance.judge.measured_frequencies", True),
        ("posenc_conformance.checks.behaviour", True),
        ("posenc_conformance.judge.case", True),
        ("posenc_conformance.families.rotary", True),
        ("posenc.rotation", True),
        ("posenc.schemes.rotary.rope", True),
        ("posenc_conformance.schemes.rotary.rope", True),
        ("posenc_lab.miniatures.base", True),
        ("posenc_lab.miniatures.wrong.rotary.rope", True),
        ("posenc_lab.miniatures.wrong.bias.alibi", False),
        ("posenc.schemes.bias.alibi", False),
        ("posenc_conformance.schemes.bias.alibi", False),
        ("posenc_conformance.report.scorecard", False),
        ("posenc_conformance.commands.main", False),
    ],
)
def test_dependencies_of_a_verdict(changed: Any, module: str, matters: bool) -> None:
    mistake: type[Mistake] = FIRST["rope"]
    before = key_of(mistake(), "name", mistake.__module__)
    changed(module)
    assert (key_of(mistake(), "name", mistake.__module__) != before) == matters


@pytest.mark.parametrize(("scheme", "matters"), [("rotary.rope", True), ("bias.alibi", False)])
def test_a_remembered_test_of_a_scheme_depends_on_its_oracle(
    changed: Any, scheme: str, matters: bool
) -> None:
    item: Any = SimpleNamespace(
        module=SimpleNamespace(__name__="tests.spec.test_reference"),
        nodeid="tests/spec/test_reference.py::test_every_call_at_most_one_ulp[rope]",
        callspec=SimpleNamespace(params={"call": "rope"}),
    )
    before = remembered._key(item)
    changed(f"posenc_conformance.oracle.{scheme}")
    assert (remembered._key(item) != before) == matters


def digest_of(text: str) -> str:
    return dependencies._parsed("posenc.exact", text.encode()).digest


def test_comments_and_docstrings_change_nothing() -> None:
    plain = digest_of("def f(x):\n    return x\n")
    assert digest_of('"""Text."""\ndef f(x):\n    """Text."""\n    return x  # why\n') == plain
    assert digest_of("def f(x):\n    return -x\n") != plain


LOCALS = """
def f(x, *rest, scale=1):
    a = [b * scale for b in rest if b != x]
    try:
        match a:
            case [c, *d]:
                return sorted(d, key=lambda e: e - c)
    except ValueError as g:
        raise h from g
"""


@pytest.mark.parametrize("name", "abcdeg")
def test_names_of_local_variables_change_nothing(name: str) -> None:
    assert digest_of(re.sub(rf"\b{name}\b", "other", LOCALS)) == digest_of(LOCALS)


@pytest.mark.parametrize("name", ["f", "x", "rest", "scale", "h", "sorted", "ValueError"])
def test_other_names_do(name: str) -> None:
    assert digest_of(re.sub(rf"\b{name}\b", "other", LOCALS)) != digest_of(LOCALS)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("def f():\n    a = b = 1\n    return a", "def f():\n    a = b = 1\n    return b"),
        ("def f():\n    a = 1\n    return a", "def f():\n    b = 1\n    return a"),
        ("def f():\n    global a\n    a = 1", "def f():\n    global b\n    b = 1"),
        ("x = [a for b in c for a in b]", "x = [b for b in c for a in b]"),
        ("f = lambda a, b: a", "f = lambda a, b: b"),
    ],
)
def test_variables_that_change_places_are_other_code(one: str, other: str) -> None:
    assert digest_of(one) != digest_of(other)


def test_a_damaged_store_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "store"
    path.write_bytes(b"nothing of the kind" * 99)
    store = Store(path)
    store.keep_text("a", "b")
    assert store.text("a") == "b"


def test_a_locked_store_is_no_hindrance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "store"
    Store(path).keep_text("a", "b")
    monkeypatch.setattr("posenc_lab.store.PATIENCE", 0.01)
    store = Store(path)
    assert store.text("a") == "b"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        store.keep_text("a", "c")
    assert store.text("a") == "b"
    store.keep_text("a", "c")
    assert store.text("a") == "c"


def test_processes_share_a_store(tmp_path: Path) -> None:
    Store(tmp_path / "store").keep_text("a", "b")
    assert Store(tmp_path / "store").text("a") == "b"
    assert Store(None).text("a") is None


def test_modules_of_other_tests_read_by_hypothesis_are_not_noticed() -> None:
    with remembered.files_read() as files_opened:
        constants_ast.constants_from_module.__wrapped__(building)
    assert files_opened == set()


def test_a_file_that_a_remembered_test_does_not_name_is_noticed() -> None:
    with remembered.files_read() as files_opened:
        (CHECKOUT / "LICENSE").read_text(encoding="utf-8")
        (CHECKOUT / "spec" / "rotary" / "rope.yaml").read_text(encoding="utf-8")
        Path("/etc/passwd").read_text(encoding="utf-8")
    assert files_opened == {"LICENSE", "spec/rotary/rope.yaml"}
    for hanging, left in (
        ({"shipped": True}, {"LICENSE"}),
        ({"tools": True}, {"LICENSE", "spec/rotary/rope.yaml"}),
        ({"shipped": True, "also": ("LICENSE",)}, set()),
    ):
        assert files_opened - remembered.known(__name__, files_opened, hanging) == left
