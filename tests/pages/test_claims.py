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
from blocks import site_blocks
from mkdocs.exceptions import PluginError

import pages
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


def test_a_claim_leads_to_its_check_in_the_published_copy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(claims, "repository", lambda: "")
    copies = claims.published()
    for claim in CLAIMS:
        place, _, name = claims.check_place(claim).partition("#:~:text=def%20")
        path = copies[place.removeprefix(pages.root_of(claim.page))]
        assert re.search(rf"^def {name}\b", path.read_text("utf-8"), re.M), claim.test


def test_a_claim_leads_to_its_lines_in_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "repository", lambda: "https://example.org/it")
    monkeypatch.setattr(site_blocks, "repository", lambda: "https://example.org/it")
    for claim in CLAIMS[::50]:
        place = claims.check_place(claim)
        match = re.fullmatch(r"https://example\.org/it/blob/main/(.*)#L(\d+)-L(\d+)", place)
        assert match, place
        lines = (CHECKOUT / match[1]).read_text("utf-8").splitlines()
        assert lines[int(match[2]) - 1].startswith(f"def {claim.check.__name__}("), place
        assert not "".join(lines[int(match[3]) :][:1]).strip(), "the check is longer"
