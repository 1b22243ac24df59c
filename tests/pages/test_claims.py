"""Claims and Python code on the site's pages are executed."""

import os
import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import claims
import numpy as np
import pytest
from mkdocs.exceptions import PluginError

from tests.building import CHECKOUT, with_torch

pytestmark = pytest.mark.remembered(shipped=True, also=("docs",))

DOCS = CHECKOUT / "docs"
CLAIMS = list(claims.all_claims())
FENCE = re.compile(r"^( *)```(.*?)\n(.*?)^\1```$", re.S | re.M)
QUIET = re.compile(r"```.*?```|`[^`\n]*`|<!--.*?-->|\]\([^)]*\)|\[@[^\]]*\]|arXiv \S+", re.S)
DECIMAL = re.compile(r"(?<![\w.,])\d+\.\d+(?![\d.]*\.\d)")
PAGES = sorted(DOCS.rglob("*.md"))


def name_of(path: Path) -> str:
    return path.relative_to(DOCS).with_suffix("").as_posix()


@pytest.mark.always
@pytest.mark.parametrize("claim", CLAIMS, ids=[f"{c.page[:-3]}::{c.id}" for c in CLAIMS])
def test_claim_holds(claim: claims.Claim) -> None:
    claim.verify()


@pytest.mark.nightly
def test_claims_hold_whatever_the_processor_can() -> None:
    """Without wide registers, NumPy's functions in float32 round differently."""
    simd = np.show_config(mode="dicts")["SIMD Extensions"]
    plain = {**os.environ, "NPY_DISABLE_CPU_FEATURES": " ".join(simd.get("found", []))}
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-k", "test_claim_holds", __file__]
    done = subprocess.run(command, cwd=CHECKOUT, env=plain, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def blocks(path: Path) -> list[tuple[str, str]]:
    fences = FENCE.findall(path.read_text(encoding="utf-8"))
    return [(kind, dedent(text)) for _, kind, text in fences]


WITH_CODE = [page for page in PAGES if "```python" in page.read_text(encoding="utf-8")]


@pytest.mark.always
@pytest.mark.parametrize(
    "page", with_torch(WITH_CODE, lambda page: page.read_text(encoding="utf-8")), ids=name_of
)
def test_python_on_a_page_runs(
    page: Path,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Blocks run in order, in one namespace; a block of text after one shows its output."""
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    printed = None
    for kind, text in blocks(page):
        if kind == "python":
            exec(compile(text, str(page), "exec"), namespace)
            printed = capsys.readouterr().out
        elif kind == "text" and printed is not None:
            assert printed.strip() == text.strip(), f"{page.name} shows other output"


def test_printed_decimals_belong_to_a_claim() -> None:
    assert [f"{name_of(page)}: {number}" for page in PAGES for number in loose_decimals(page)] == []


def loose_decimals(page: Path) -> list[str]:
    """Return the decimals in sentences without a claim or a source."""
    text = re.sub(r"\A---.*?---", "", page.read_text(encoding="utf-8"), flags=re.S)
    return [
        f"{match[0]} in: {block.strip()[:60]}"
        for block in re.split(r"\n\n", FENCE.sub("", text))
        if "<!-- claim:" not in block and "[@" not in block
        for match in DECIMAL.finditer(QUIET.sub("", block))
    ]


def test_claims_are_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong_number() -> str:
        """It computes another number than the paragraph prints."""
        return "43"

    claim = claims.Claim("page.md", "wrong-number", 1, "It rises at 44. ", wrong_number)
    with pytest.raises(AssertionError, match="43"):
        claim.verify()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Nobody checks this. <!-- claim:nobody -->", "nobody"),
        ("The checks of sinusoidal.md without their marks.", "longest-wavelength"),
        ("A. <!-- claim:dot-product -->\n\nB. <!-- claim:dot-product -->", "2 times"),
    ],
)
def test_claims_and_checks_belong_together(text: str, found: str) -> None:
    with pytest.raises(PluginError, match=found):
        claims.claims_of("schemes/sinusoidal.md", text)


def said_by_its_name() -> None:
    """One plus one."""
    assert 1 + 1 == 2


def said_at_length() -> None:
    """One plus one.

    In whole numbers.
    """
    assert 1 + 1 == 2


@pytest.mark.parametrize(
    ("check", "kept"), [(said_by_its_name, False), (said_at_length, True)], ids=["line", "more"]
)
def test_the_code_of_a_check_does_not_repeat_its_summary(
    check: claims.Check, *, kept: bool
) -> None:
    claim = claims.Claim("schemes/rope.md", "sum", 1, "", check)
    source = claims.source_of(claim)
    assert "assert 1 + 1 == 2" in source
    assert ("One plus one" in source) is kept
