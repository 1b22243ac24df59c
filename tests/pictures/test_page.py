"""The page of a run: whole, safe and small."""

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from posenc_conformance.commands.main import main
from posenc_conformance.files import sealed
from posenc_conformance.report.difference import read_report
from posenc_conformance.report.page import BEGINNING, LARGEST_OF_PICTURES, headline, page, verdict

ADAPTER = """
import posenc
from posenc_conformance import claims

class Mine:
    @claims(layout=["interleaved"], dtype=["float32"])
    def rope(self, x, positions, *, base, **options):
        return posenc.rope(x, positions, base=2 * base, layout="interleaved").astype(x.dtype)

    @claims(dtype=["float32"])
    def sinusoidal(self, positions, dim, *, base=10000.0, **options):
        return posenc.sinusoidal(positions, dim, base=base).astype("float32")
"""


class Texts(HTMLParser):
    """All tags and attributes of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.outside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.outside += [name for name, _ in attrs if name in ("src", "href", "onload", "onclick")]


def make_run(folder: Path) -> Path:
    """Judge an adapter with one mistake in a folder; return it with the page and the report."""
    (folder / "mine.py").write_text(ADAPTER, encoding="utf-8")
    options = ("--impl=mine.py:Mine", "-m", "rope or sinusoidal", "--posenc-html=p.html")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    result = subprocess.run(
        [*command, "--posenc-report=r.json"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 1
    assert f"report: {folder / 'p.html'}" in result.stdout
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("page"))


def test_a_page_tells_cause_picture_place_and_what_passed(run: Path) -> None:
    content = (run / "p.html").read_text(encoding="utf-8")
    assert content.startswith(BEGINNING)
    for words in (
        "matches base 20000; 10000 was asked for",
        "rope: error in units of its bound",
        "posenc repro &#x27;rope.yaml::",
        "where      position",
        "<td>sinusoidal</td>",
        "sinusoidal paper float32: precision",
        "Not asked",
        "Versions",
    ):
        assert words in content
    assert (
        content.index("Failed: 1 of 2 claims") < content.index("10 failed") < content.index("<svg")
    )
    texts = Texts()
    texts.feed(content)
    assert not texts.outside
    assert texts.tags.count("script") == 1
    outside = content.replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert not re.search(r"https?://|@import|url\(", outside)
    assert len(content) < 1_000_000


def test_the_page_of_a_report_is_that_of_its_run(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(run)
    assert main(["report", "r.json", "--html", "again.html"]) == 0
    assert capsys.readouterr().out == "wrote again.html\n"
    assert (run / "again.html").read_bytes() == (run / "p.html").read_bytes()
    (run / "notes.html").write_text("<p>mine", encoding="utf-8")
    assert main(["report", "r.json", "--html", "notes.html"]) == 2
    assert "is no page of posenc" in capsys.readouterr().err
    assert (run / "notes.html").read_text(encoding="utf-8") == "<p>mine"


def test_a_page_repeats_the_options_of_its_run(run: Path) -> None:
    report = read_report(run / "r.json")
    assert report["alone"] == ["posenc", "repro", "{id}", "--impl=mine.py:Mine"]
    words = ["pytest", "tests/a b.py::{id}", "--posenc-seed=3", "--posenc-timeout=2"]
    content = page({**report, "alone": words})
    assert re.search(r"<code>pytest &#x27;tests/a b.py::rope.yaml::.*--posenc-timeout=2</", content)
    del report["alone"]  # as one of an older kit
    assert "--impl=mine.py:Mine</code>" in page(report)


def test_the_head_of_a_page_counts_claims_and_causes(run: Path) -> None:
    report = read_report(run / "r.json")
    head = page(report).partition("<form")[0]
    assert "<title>Failed: 1 of 2 claims: mine.py:Mine</title>" in head
    assert re.search(r"<li>\d+ failed: matches base 20000; 10000 was asked for</li>", head)
    right = [check for check in report["checks"] if check["scheme"] == "sinusoidal"]
    passed: Any = {**report, "checks": right}
    assert headline(passed) == "Passed: 1 claim"
    assert "did not finish" in headline({**report, "interrupted": "Ctrl-C"})


def test_a_page_that_somebody_changed_is_kept(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(run)
    own = (run / "p.html").read_text(encoding="utf-8")
    for text in (own.replace("</h1>", "</h1><p>mine"), own + "mine"):
        (run / "noted.html").write_text(text, encoding="utf-8")
        assert main(["report", "r.json", "--html", "noted.html"]) == 2
        assert "was changed" in capsys.readouterr().err
        assert (run / "noted.html").read_text(encoding="utf-8") == text
    assert main(["report", "r.json", "--html", "noted.html", "--force"]) == 0
    assert (run / "noted.html").read_bytes() == (run / "p.html").read_bytes()


def test_a_report_whose_summary_was_changed_is_no_report(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(run)
    report = json.loads((run / "r.json").read_text(encoding="utf-8"))
    report["summary"] |= {"failed": 0, "blocked": 0}
    (run / "changed.json").write_text(json.dumps(report), encoding="utf-8")
    assert main(["report", "changed.json", "--html", "changed.html"]) == 2
    assert "its summary has 0 failed checks, and" in capsys.readouterr().err
    assert not (run / "changed.html").exists()


def test_a_page_stays_small_whatever_is_in_a_report(run: Path) -> None:
    report = read_report(run / "r.json")
    failed = next(check for check in report["checks"] if check["verdict"] == "failed")
    checks = [
        {**failed, "call": f"call_{number}", "message": "bad " * 6000} for number in range(3000)
    ]
    rows = [{**report["rows"][0], "call": "long" * 9999} for _ in range(3000)]
    many: Any = {**report, "checks": [*checks, *report["checks"]], "rows": rows}
    many["implementation"] = {"name": "library" * 300_000, "versions": {"long" * 9999: "1"}}
    many["not_asked"] = {f"{number}" * 400: "long" * 400 for number in range(3000)}
    content = page(many)
    assert len(content.encode()) < 1_000_000
    assert "more, in the report" in content


@pytest.mark.slow
def test_a_page_is_not_left_by_a_run_that_does_not_start(pytester: pytest.Pytester) -> None:
    old, mine = pytester.path / "p.html", pytester.path / "mine.html"
    old.write_text(sealed(BEGINNING), encoding="utf-8")
    assert pytester.runpytest_subprocess("--impl=no_such", "--posenc-html=p.html").ret == 4
    assert not old.exists()
    mine.write_text("<p>mine", encoding="utf-8")
    for words, options in (
        ("is no page of posenc", ["--posenc-html=mine.html"]),
        ("name the same file", ["--posenc-html=r", "--posenc-report=r"]),
    ):
        result = pytester.runpytest_subprocess("--impl=reference", "-m", "smoke", *options)
        assert result.ret == 4
        result.stderr.fnmatch_lines([f"*{words}*"])
    assert mine.read_text(encoding="utf-8") == "<p>mine"


def edited(run: Path, **fields: Any) -> Any:
    """Read the run's report with its first failure changed, as somebody may have changed it."""
    report = json.loads((run / "r.json").read_text(encoding="utf-8"))
    failed = next(check for check in report["checks"] if check["verdict"] == "failed")
    failed.update(fields)
    (run / "edited.json").write_text(json.dumps(report), encoding="utf-8")
    return read_report(run / "edited.json")


def test_a_report_that_was_edited_makes_a_page_that_is_safe(run: Path) -> None:
    cells = {
        **{"title": "<script>", "down": "<b>", "across": "", "rows": ["1", "1z. ."]},
        **{"ends_down": ["", ""], "ends_across": ["", ""], "shape": [1, 1], "measure": "value"},
        **{"low": 10**400, "high": -1, "group": "g", "groups": 3},
    }
    series = [{"name": "</svg>", "points": [[10**400, 1], [0, 0], [-1, 2]]}] * 3
    lines = {"title": "", "across": "", "up": "", "series": series, "logarithmic": "xy"}
    content = page(edited(run, pictures=[cells, lines], message="<script>", worst=10**400))
    texts = Texts()
    texts.feed(content)
    assert texts.tags.count("script") == 1
    assert "b" not in texts.tags


def test_a_page_with_too_many_pictures_says_which_are_left_out(run: Path) -> None:
    report = edited(run)
    failed = [check for check in report["checks"] if check["verdict"] == "failed"]
    rows = ["1.z." * 16, ".1.z" * 16] * 32
    large = {**failed[0]["pictures"][0], "rows": rows, "shape": [64, 64]}
    report["checks"] = [
        {**failed[0], "combination": str(number), "pictures": [large]} for number in range(300)
    ]
    content = page(report)
    assert "the page has too many pictures" in content
    assert LARGEST_OF_PICTURES < len(content) < 1_000_000


def test_the_verdict_is_one_sentence(run: Path) -> None:
    report: Any = edited(run)
    told: Any = verdict
    assert told(report) == "10 failed, 19 blocked of 84 checks"
    assert "did not finish: Ctrl-C" in told({**report, "interrupted": "Ctrl-C"})
    none = dict.fromkeys(report["summary"], 0)
    assert told({**report, "summary": none}) == "No verdict: no check ran"
    right: Any = {**none, "passed": 4, "not_selected": 2}
    passed = "Passed: 4 checks; 2 claimed checks were not selected"
    assert told({**report, "summary": right}) == passed
