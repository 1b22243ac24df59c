"""Text from outside is shown escaped and cut, whatever its source and destination."""

import json
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from posenc_conformance.commands.main import main
from posenc_conformance.errors import LONGEST_WORD, UserError, in_line, printable
from tests.reporting import NOTHING, row, summary_of

pytestmark = pytest.mark.remembered(shipped=True)

ODD = "a\x1b[31m\r\nposenc: all is well\u202e\ud800\x00" + "long" * 10**5


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("half", "half"),
        ("größe, 幅, 🙂", "größe, 幅, 🙂"),
        ("a\nb\tc", "a\\nb\\tc"),
        ("\x1b[31m", "\\x1b[31m"),
        ("\u202e\u2028\ufeff", "\\u202e\\u2028\\ufeff"),
        ("\ud800", "\\ud800"),
        (7, "7"),
    ],
)
def test_a_word_stays_within_its_line(text: object, shown: str) -> None:
    assert in_line(text) == shown


def test_a_long_word_is_visibly_cut() -> None:
    assert in_line("x" * LONGEST_WORD) == "x" * LONGEST_WORD
    assert in_line("x" * 10**6) == "x" * LONGEST_WORD + "… (1,000,000 characters)"
    assert len(str(UserError(ODD, ODD))) < 30_000
    assert printable("a\nb\tc") == "a\nb\tc"


def is_tame(text: str) -> bool:
    return all(
        line.isprintable() and len(line) < 3000 for line in text.replace("\t", "").split("\n")
    )


def check(**changed: Any) -> dict[str, Any]:
    plain = {
        **{"id": "rope.yaml::golden::a", "verdict": "passed", "level": "golden"},
        **{"scheme": "rope", "call": "rope", "combination": "half", "dtype": "float32"},
        **{"worst": 0.5, "exact_angles": None, "horizon": None, "horizon_is_claim": None},
        **{"curve": [], "left_out": "", "explanations": [], "message": ""},
    }
    return {**plain, **changed}


def report(path: Path, *checks: dict[str, Any], **changed: Any) -> str:
    whole = {
        "posenc-report": 1,
        "kit": "0",
        "implementation": {"name": ODD, "versions": {ODD: ODD}},
        "schemes": ["rope"],
        "not_claimed": [],
        "rows": [],
        **NOTHING,
        "summary": summary_of(checks),
        "checks": checks,
        **changed,
    }
    path.write_text(json.dumps(whole), encoding="utf-8")
    return str(path)


def test_edited_reports_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = report(
        tmp_path / "a.json",
        check(id=ODD),
        check(id="b", worst=1),
        check(id="c", worst=10**400),
        rows=[row(dtype=None, horizon=5, combination=ODD)],
    )
    after = report(
        tmp_path / "b.json",
        check(id=ODD, verdict="failed", explanations=[[ODD, ODD]]),
        check(id="b", worst="infinite"),
        check(id="c", worst=1),
        rows=[row(dtype=None, horizon=7.0, combination=ODD)],
    )
    assert main(["diff", before, after]) == 1
    out = capsys.readouterr().out
    assert "b: worst error 1 of its bound, now inf" in out
    assert "precision horizon 5, now 7" in out
    assert is_tame(out)


@pytest.mark.parametrize("horizon", [5.0, -5, None, 10**300])
def test_a_badge_is_xml_whatever_the_report_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], horizon: Any
) -> None:
    odd = "<b>&\x1b\x00\ud800\ufffe" + "long" * 10**4
    path = report(tmp_path / "a.json", check(combination=odd, horizon=horizon))
    assert main(["badge", path, "--to", str(tmp_path)]) == 0
    ElementTree.parse(tmp_path / "rope.svg")
    assert is_tame(capsys.readouterr().out)


def test_a_badge_of_a_run_that_did_not_finish_says_why_in_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = report(tmp_path / "a.json", check(), interrupted=ODD)
    assert main(["badge", path, "--to", str(tmp_path)]) == 2
    assert is_tame(capsys.readouterr().err)


PROGRAM = """
import json, sys
ODD = {odd!r}
for line in sys.stdin:
    asked = json.loads(line)
    answer = {{"id": asked["id"]}}
    if asked["request"] == "describe":
        answer[{how!r}] = {said!r}
    elif asked["request"] == "goodbye":
        break
    else:
        print(ODD.replace("\\n", ""), file=sys.stderr, flush=True)
        answer["error"] = {{"type": ODD, "message": ODD}}
    print(json.dumps(answer), flush=True)
"""
DESCRIBED = {
    **{"protocol": 1, "name": ODD, "version": ODD, "language": ODD},
    "claims": [{"call": "alibi_slopes", "combinations": ["interpolated"]}],
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "said"),
    [("result", DESCRIBED), ("error", {"type": ODD, "message": ODD}), ("result", {ODD: ODD})],
    ids=["a description", "an error", "no description"],
)
def test_text_from_a_program_does_nothing_to_the_terminal(
    pytester: pytest.Pytester, how: str, said: Any
) -> None:
    program = pytester.path / "odd.py"
    program.write_text(PROGRAM.format(odd=ODD, how=how, said=said), encoding="utf-8")
    written = pytester.path / "report.json"
    result = pytester.runpytest_subprocess(
        f"--impl={sys.executable} {program}", f"--posenc-report={written}", "-p", "no:cacheprovider"
    )
    assert result.ret != 0
    for lines in (result.outlines, result.errlines):
        assert all(is_tame(line) for line in lines), [line for line in lines if not is_tame(line)]
        assert not any(line.startswith("posenc: all is well") for line in lines)
    assert "INTERNALERROR" not in str(result.stdout)
    if how == "result" and said is DESCRIBED:
        content = json.loads(written.read_text(encoding="utf-8"))
        (name,) = content["implementation"]["versions"]
        assert is_tame(name)
