"""``posenc badge``: badges of whole reports; others are refused."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from posenc_conformance.commands.badge import badges
from posenc_conformance.commands.main import main
from posenc_conformance.errors import UserError


def check(verdict: str, **more: Any) -> dict[str, Any]:
    plain = {"scheme": "rope", "combination": "half", "horizon": None}
    return {**plain, "verdict": verdict, **more}


def said(*checks: dict[str, Any]) -> list[str]:
    report = {"checks": checks, "summary": {"not_selected": 0}}
    return [f"{badge.label}: {badge.message}" for badge in badges(report)]


def test_a_passing_badge_shows_the_worst_horizon() -> None:
    sweeps = [check("passed", horizon=2**17), check("passed", horizon=2**12)]
    assert said(check("passed"), *sweeps) == ["rope half: conforms, 2^12"]
    assert said(check("passed")) == ["rope half: conforms"]


def test_failures_come_first() -> None:
    others = check("passed"), check("known")
    assert said(*others, check("failed")) == ["rope half: 1 of 3 fail"]
    assert said(*others, check("blocked")) == ["rope half: 1 blocked"]
    both = check("failed"), check("blocked")
    assert said(*others, *both) == ["rope half: 1 of 4 fail, 1 blocked"]


def test_known_failures_are_not_hidden() -> None:
    assert said(check("passed"), check("known")) == ["rope half: 1 known failure"]


def test_each_scheme_has_a_badge_which_does_not_list_many_combinations() -> None:
    three = [check("passed", combination=name) for name in ("a", "b", "c")]
    other = check("failed", scheme="alibi", combination="standard")
    assert said(*three, other) == ["rope: conforms", "alibi: 1 of 1 fail"]


@pytest.mark.parametrize(
    "change",
    [{"interrupted": "KeyboardInterrupt"}, {"summary": {"not_selected": 1}}, {"checks": []}],
)
def test_a_partial_report_has_no_badge(change: dict[str, Any]) -> None:
    report = {"checks": [check("passed")], "summary": {"not_selected": 0}, **change}
    with pytest.raises(UserError):
        badges(report)


@pytest.mark.slow
def test_the_command_writes_what_shields_and_browsers_read(
    pytester: pytest.Pytester, capsys: pytest.CaptureFixture[str]
) -> None:
    pytester.runpytest_subprocess("--impl=reference", "--posenc-report=r.json", "binary.yaml")
    path = Path(pytester.path)
    report = json.loads((path / "r.json").read_text(encoding="utf-8"))
    # A file's name selects checks, which makes a report partial; there are no others here.
    report["summary"]["not_selected"] = 0
    (path / "r.json").write_text(json.dumps(report), encoding="utf-8")
    assert main(["badge", str(path / "r.json"), "--to", str(path / "made")]) == 0
    shown = capsys.readouterr().out
    endpoint = json.loads((path / "made" / "binary.json").read_text(encoding="utf-8"))
    assert endpoint["schemaVersion"] == 1
    assert f"{endpoint['label']}: {endpoint['message']}" in shown
    picture = ElementTree.parse(path / "made" / "binary.svg").getroot()
    assert picture.get("aria-label") == f"{endpoint['label']}: {endpoint['message']}"


def test_an_invalid_report_is_refused(tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text("{}", encoding="utf-8")
    assert main(["badge", str(tmp_path / "r.json"), "--to", str(tmp_path)]) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["r.json"]
