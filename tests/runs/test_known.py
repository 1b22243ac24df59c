"""Files of known failures: the meaning of entries, and the machines to which they apply."""

import platform
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from posenc_conformance.errors import UserError
from posenc_conformance.report import machine
from posenc_conformance.report.known import DRAFTED, UNSAID, KnownFailure, read_known
from posenc_conformance.report.machine import applies

IDS = {
    "rope.yaml": ["rope.yaml::golden::a[float32]", "rope.yaml::golden::b[float32]"],
    "alibi.yaml": ["alibi.yaml::golden::a"],
}


def read(tmp_path: Path, *entries: Any) -> dict[str, KnownFailure]:
    path = tmp_path / "known.yaml"
    path.write_text(
        yaml.safe_dump({"posenc-known-failures": 1, "failures": list(entries)}), encoding="utf-8"
    )
    return read_known(path, lambda name: IDS.get(name, []))


def entry(id: str = "alibi.yaml::golden::a", **more: Any) -> dict[str, Any]:
    return {"id": id, "reason": "because", **more}


def test_an_entry_gives_its_reason_to_each_of_its_checks(tmp_path: Path) -> None:
    several = {"ids": IDS["rope.yaml"], "reason": "both", "link": "https://x"}
    reasons = read(tmp_path, several, entry())
    assert set(reasons) == {*IDS["rope.yaml"], *IDS["alibi.yaml"]}
    assert str(reasons[IDS["rope.yaml"][1]]) == "both (https://x)"
    assert str(reasons["alibi.yaml::golden::a"]) == "because"


def test_a_reason_stays_within_a_line_and_does_nothing_to_a_terminal(tmp_path: Path) -> None:
    odd = entry(reason="a\x1b[31m\nposenc: all is well\u202e", link="\x07\n" + "x" * 500)
    reason = str(read(tmp_path, odd)["alibi.yaml::golden::a"])
    assert reason.isprintable()
    assert len(reason) < 300


def test_a_star_stands_for_anything_and_brackets_for_themselves(tmp_path: Path) -> None:
    assert len(read(tmp_path, entry("rope.yaml::golden::*"))) == 2
    assert set(read(tmp_path, entry("rope.yaml::*::a[*]"))) == {IDS["rope.yaml"][0]}
    for none in ("rope.yaml::golden", "rope.yaml::golden::[ab]*", "rope.yaml::golden::.*", "*"):
        with pytest.raises(UserError, match="matches no check"):
            read(tmp_path, entry(none))


@pytest.mark.parametrize(
    ("pattern", "meant"),
    [
        ("*a*b*", {"ab", "aab", "xaxbx", "aba"}),
        ("a*a", {"aa", "aba"}),
        ("a*ab", {"aab"}),
        ("ab", {"ab"}),
        ("*b", {"ab", "aab", "b"}),
        ("**", {"ab", "aab", "xaxbx", "aba", "aa", "a", "b"}),
    ],
)
def test_stars_match_any_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pattern: str, meant: set[str]
) -> None:
    texts = ("ab", "aab", "xaxbx", "aba", "aa", "a", "b")
    monkeypatch.setitem(IDS, "nope.yaml", [f"nope.yaml::{text}" for text in texts])
    reasons = read(tmp_path, entry(f"nope.yaml::{pattern}"))
    assert set(reasons) == {f"nope.yaml::{text}" for text in meant}


def test_many_stars_are_matched_quickly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With backtracking, this would never end."""
    monkeypatch.setitem(IDS, "nope.yaml", ["nope.yaml::" + "a" * 10_000])
    with pytest.raises(UserError, match="matches no check"):
        read(tmp_path, entry("nope.yaml::" + "*a" * 40 + "*b"))


def test_the_ids_of_a_file_are_computed_once(tmp_path: Path) -> None:
    """A run may have thousands of failures, and ids of thousands of checks."""
    path = tmp_path / "known.yaml"
    entry = {"ids": IDS["rope.yaml"], "reason": "both"}
    path.write_text(yaml.safe_dump({"posenc-known-failures": 1, "failures": [entry]}), "utf-8")
    computed: list[str] = []

    def ids_of(name: str) -> list[str]:
        computed.append(name)
        return IDS[name]

    assert len(read_known(path, ids_of)) == 2
    assert computed == ["rope.yaml"]


@pytest.mark.parametrize(
    "wrong",
    [
        "text",
        {"reason": "because"},
        {"id": "alibi.yaml::golden::a"},
        {**entry(), "ids": ["alibi.yaml::golden::a"]},
        {"ids": "alibi.yaml::golden::a", "reason": "because"},
        {"ids": [], "reason": "because"},
        {"ids": [""], "reason": "because"},
        {"ids": [3], "reason": "because"},
        entry(reason=""),
        entry(reason="  "),
        entry(reason=3),
        entry(reason=UNSAID + "every position"),
        entry(reason=DRAFTED),
        entry(link=3),
        entry(note="x"),
        entry(when=["x"]),
        entry(when={"cpu": 3}),
        entry(when={"moon": "full"}),
        entry(when={"versions": {"numpy": "newest"}}),
        entry(when={"versions": {"numpy": ">=" + "1" * 5000}}),
        entry(when={"versions": {"numpy": [">=1"]}}),
        entry(when={"versions": {"": ">=1"}}),
    ],
)
def test_an_invalid_entry_is_reported_with_its_place(tmp_path: Path, wrong: Any) -> None:
    with pytest.raises(UserError, match=r"failures\.1"):
        read(tmp_path, entry("rope.yaml::golden::a[float32]"), wrong)


def test_no_check_is_listed_twice(tmp_path: Path) -> None:
    for again in (entry(), entry("alibi.yaml::*"), entry(when={"system": "Plan 9"})):
        with pytest.raises(UserError, match=r"failures\.1.*twice"):
            read(tmp_path, entry(), again)
    with pytest.raises(UserError, match="twice"):
        read(tmp_path, {"ids": ["rope.yaml::golden::a*", "rope.yaml::*"], "reason": "x"})


@pytest.mark.parametrize(
    "text", ["", "[]", "failures: []", "posenc-known-failures: 2\nfailures: []", "\x00", "[" * 5000]
)
def test_an_invalid_file_is_reported(tmp_path: Path, text: str) -> None:
    path = tmp_path / "known.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=r"known\.yaml"):
        read_known(path, lambda name: [])
    path.write_text("posenc-known-failures: 1\nfailures: {}", encoding="utf-8")
    with pytest.raises(UserError, match="no list"):
        read_known(path, lambda name: [])


def test_an_entry_for_other_machines_is_left_out(tmp_path: Path) -> None:
    assert read(tmp_path, entry(when={"system": "Plan 9"})) == {}
    assert len(read(tmp_path, entry(when={"system": platform.system()}))) == 1


@pytest.mark.parametrize(
    ("conditions", "holds"),
    [
        ({}, True),
        ({"cpu": "amx"}, True),
        ({"cpu": "sse9"}, False),
        ({"no-cpu": "amx"}, False),
        ({"no-cpu": "sse9"}, True),
        ({"machine": platform.machine()}, True),
        ({"machine": "vax"}, False),
        ({"system": platform.system(), "machine": "vax"}, False),
        ({"machine": "vax", "system": platform.system()}, False),
        ({"versions": {"numpy": f"=={np.__version__}"}}, True),
        ({"versions": {"numpy": ">=99"}}, False),
        ({"versions": {"numpy": ">=1", "no-such-package": ">=1"}}, False),
        ({"versions": {}}, True),
    ],
)
def test_all_conditions_must_hold(
    conditions: dict[str, Any], holds: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "cpu_features", lambda: frozenset({"amx", "avx"}))
    assert applies("here", conditions) == holds
