"""Shares of the tests: what a share leaves out or must run, and how much a test may cost."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import costs, shares
from tests.building import CHECKOUT

TESTS = """
import time
import pytest

@pytest.mark.parametrize("scheme", ["rope", "alibi"])
@pytest.mark.parametrize("number", range(100))
@pytest.mark.draws
def test_long(scheme, number):
    pass

@pytest.mark.parametrize("number", range(200))
@pytest.mark.slow
def test_slow(number):
    pass

@pytest.mark.parametrize("number", range(20))
def test_always(number):
    pass

@pytest.mark.xdist_group("together")
@pytest.mark.parametrize("number", range(20))
@pytest.mark.draws
def test_group(number):
    pass
"""


Run = Callable[..., dict[str, int]]


@pytest.fixture
def ran(pytester: pytest.Pytester) -> Run:
    """Return a function that runs tests with a share and a draw, and counts them by function."""

    def run(share: int, draw: str, changed: frozenset[str] = frozenset()) -> dict[str, int]:
        pytester.makepyfile(test_it=TESTS)
        marks = ("slow", "draws", "xdist_group")
        pytester.makeini("[pytest]\nmarkers =\n" + "".join(f"    {entry}\n" for entry in marks))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(shares, "SHARE", share)
            patch.setattr(shares, "draw", lambda: draw)
            patch.setattr(shares, "changed", lambda: changed)
            result = pytester.inline_run("-p", "no:xdist", "-p", "no:posenc", plugins=[shares])
        passed = [entry.nodeid for entry in result.listoutcomes()[0]]
        names = ("long", "slow", "always", "group")
        counts = {name: sum(f"test_{name}[" in entry for entry in passed) for name in names}
        return counts | {"rope": sum("rope" in entry for entry in passed)}

    return run


@pytest.mark.always  # each runs hundreds of tests
def test_without_a_share_everything_runs(ran: Run) -> None:
    assert ran(1, "a") == {"long": 200, "slow": 200, "always": 20, "group": 20, "rope": 100}


@pytest.mark.always  # each runs hundreds of tests
def test_a_share_runs_one_test_in_share(ran: Run) -> None:
    counts = ran(8, "a")
    assert counts["always"] == 20
    assert 5 < counts["long"] < 50  # 25 are expected, with a deviation of 4.7
    assert 0 < counts["slow"] < 30  # 12.5, with one of 3.4
    assert counts["group"] in (0, 20)
    assert ran(8, "a") == counts


@pytest.mark.always  # each runs hundreds of tests
def test_all_tests_of_a_changed_scheme_run(ran: Run) -> None:
    counts = ran(8, "a", frozenset({"rope"}))
    assert counts["rope"] == 100
    assert counts["long"] - counts["rope"] < 30


@pytest.mark.parametrize("name", ["rope 1", "a", "test_it[x]"])
def test_every_test_is_drawn_in_time(name: str) -> None:
    """There are many commits, and each draws each name with the same probability."""
    drawn = [shares.is_drawn(name, 8, f"commit {number}") for number in range(8_000)]
    assert 850 < sum(drawn) < 1_150  # 1,000 with a deviation of 30


def test_a_fault_in_fifty_tests_is_seldom_missed() -> None:
    """As CONTRIBUTING says: (7/8)^50 = 0.13 %, that is about 25 of 20,000 draws."""
    names = [f"miniature {number}" for number in range(50)]
    missed = sum(
        not any(shares.is_drawn(name, 8, f"commit {number}") for name in names)
        for number in range(20_000)
    )
    assert missed < 50


def test_drawn_returns_all_of_a_changed_scheme(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "LISTED", 8)
    monkeypatch.setattr(shares, "changed", lambda: frozenset({"rope"}))
    assert shares.drawn(range(100), str, "rope") == [*range(100)]
    assert 0 < len(shares.drawn(range(100), str, "alibi")) < 40


def test_a_scheme_without_a_known_use_is_drawn_when_it_has_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shares, "changed", lambda: frozenset())
    monkeypatch.setattr(shares, "LISTED", 1)
    assert shares.drawn(range(100), str, "fire") == [*range(100)]
    monkeypatch.setattr(shares, "LISTED", 8)
    assert shares.drawn(range(100), str, "fire") == []
    monkeypatch.setattr(shares, "changed", lambda: frozenset({"fire"}))
    assert shares.drawn(range(100), str, "fire") == [*range(100)]


def test_each_file_of_a_scheme_is_part_of_its_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = ["spec/rotary/xpos.yaml", *(f"{home}/rotary/xpos.py" for home in shares.HOMES)]
    for file in files:
        path = tmp_path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((CHECKOUT / file).read_bytes())
    expected = shares.digests()["xpos"]
    monkeypatch.setattr(shares, "CHECKOUT", tmp_path)
    assert shares.digests()["xpos"] == expected
    for file in files:
        path = tmp_path / file
        content = path.read_bytes()
        path.write_bytes(content + b"\nx: 1\n")
        assert shares.digests()["xpos"] != expected, file
        if file.endswith(".py"):
            path.write_bytes(b"# A comment is no code.\n" + content)
            assert shares.digests()["xpos"] == expected, file
        path.write_bytes(content)


@pytest.mark.always  # each runs hundreds of tests
def test_all_tests_of_a_changed_door_run(ran: Run) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shares, "DOORS", {"remote": "other it", "report": "other"})
        assert ran(8, "a", frozenset({"remote"}))["slow"] == 200
        assert ran(8, "a", frozenset({"report"}))["slow"] < 30


def test_doors_and_their_tests_exist() -> None:
    rooms = {path.name for path in (CHECKOUT / shares.KIT).glob("[a-z]*") if path.is_dir()}
    judging = {"checks", "diagnose", "families", "implementations", "judge", "oracle", "schemes"}
    assert rooms - judging <= shares.DOORS.keys()
    assert all((CHECKOUT / shares.KIT / door).exists() for door in shares.DOORS)
    tried = {name for names in shares.DOORS.values() for name in names.split()}
    assert [test for test in tried if not [*CHECKOUT.glob(f"tests/*/test_{test}.py")]] == []


def test_a_door_has_its_files_without_those_of_doors_within() -> None:
    commands = shares._files_of_door("commands")
    assert commands
    assert not {*commands} & {*shares._files_of_door("commands/init")}


def test_everything_was_judged_once() -> None:
    judged = json.loads(shares.JUDGED.read_text("utf-8"))
    assert judged.keys() == shares.digests().keys()


SLOW = """
import time
import pytest

def spend():
    begin = time.process_time()
    while time.process_time() - begin < 0.3:
        pass

def test_it():
    spend()

@pytest.mark.slow
def test_it_is_known():
    spend()
"""


def test_a_slow_test_without_a_mark_fails(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(SLOW)
    pytester.makeini("[pytest]\nmarkers =\n    slow\n")
    options = ("-p", "no:xdist", "-p", "no:posenc", "-p", "no:cacheprovider")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(costs, "SHARE", 8)
        patch.setattr(costs, "MOST", 0.1)
        patch.setattr(costs, "_sample", lambda: costs.USUAL)
        patch.setattr(costs, "FOUND", {})
        patch.setenv("POSENC_COSTS", str(pytester.path / "costs.json"))
        patch.delenv("PYTEST_XDIST_WORKER", raising=False)
        _, _, failed = pytester.inline_run(*options, plugins=[costs]).listoutcomes()
    assert [report.nodeid.partition("::")[2] for report in failed] == ["test_it"]
    assert "mark it as slow" in str(failed[0].longrepr)
    recorded = json.loads((pytester.path / "costs.json").read_text("utf-8"))
    assert recorded.pop(costs.SAMPLE) > 0
    assert [cost >= 0.3 for cost in recorded.values()] == [True, True]


def test_a_slow_machine_has_a_higher_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = costs.limit(costs.USUAL)
    assert usual == costs.limit(costs.USUAL / 2) == costs.MOST * costs.NOISE
    assert costs.limit(3 * costs.USUAL) == 3 * usual


@pytest.mark.parametrize("given", ["0", "-8", "x", "1.5"])
def test_a_share_is_a_whole_number(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_SHARE", given)
    with pytest.raises(pytest.UsageError, match=r"SOME_SHARE=.* is no whole number above zero"):
        shares._whole_number("SOME_SHARE")


def test_without_a_commit_the_day_decides(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("POSENC_DRAW", raising=False)
    monkeypatch.setattr(shares, "CHECKOUT", tmp_path)
    shares.draw.cache_clear()
    with_git = shares.draw()
    monkeypatch.setenv("PATH", "")
    shares.draw.cache_clear()
    assert shares.draw() == with_git
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", with_git)
    shares.draw.cache_clear()


def test_a_folder_over_its_budget_is_listed() -> None:
    """A machine that is twice as slow may take twice the seconds."""
    run = {"tests/a/test_x.py::test_y[1]": 6.0, "tests/b/test_z.py::test_z": 6.0}
    slow = run | {costs.SAMPLE: 2 * costs.USUAL}
    assert costs.over_budget(slow, {"tests/a": 3, "tests/b": 3}) == []
    over = costs.over_budget(run | {costs.SAMPLE: costs.USUAL}, {"tests/a": 5, "tests/b": 6})
    assert over == ["tests/a: 6 s, and its budget is 5 s"]
