"""The tutorial's programs in C++: built, judged, and wrong in the ways that it warns of."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import posenc
from posenc_lab.judging import diagnoses, failed
from tests.building import CHECKOUT
from tests.languages.harnesses import judged

EXAMPLES = CHECKOUT / "docs" / "examples" / "cpp"
PAGE = CHECKOUT / "docs" / "tutorials" / "cpp.md"
LEVELS = ("smoke", "golden", "invariant", "behaviour", "robust")
MISTAKES = {
    "degrees": ("t] = std::pow(base,", "t] = 180 / M_PI * std::pow(base,"),
    "positions-shifted": ("(position * w)", "((position + 1) * w)"),
    "sign-flipped": ("positions[n] * omega[t]", "-positions[n] * omega[t]"),
    "scale-wrong": ("product / std::sqrt(double(query.size()))", "product"),
    "epsilon-in-sum": ("each /= sum;", "each /= sum + 1e-12;"),
}
"""Mistakes that the page warns of: the right text, and the wrong one in its place."""


def built(folder: Path, program: str, wrong: tuple[str, str] | None = None) -> Path:
    """Build a program of the page by its command, with a mistake in its header if ``wrong``."""
    for source in (*EXAMPLES.iterdir(), CHECKOUT / "harness/cpp/posenc_harness.hpp"):
        shutil.copy(source, folder)
    if wrong:
        header = folder / "encodings.hpp"
        text = header.read_text(encoding="utf-8")
        assert wrong[0] in text
        header.write_text(text.replace(*wrong), encoding="utf-8")
    (command,) = re.findall(rf"\$ (g\+\+ .* {program}\.cpp)$", PAGE.read_text("utf-8"), re.M)
    strict = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    subprocess.run([*shlex.split(command), *strict], cwd=folder, check=True)
    return folder / program


def test_the_programs_are_right(tmp_path: Path) -> None:
    verdicts = judged(str(built(tmp_path, "adapter")), LEVELS)
    assert not failed(verdicts), failed(verdicts)[0].text
    assert {verdict.check.subject.call.name for verdict in verdicts} == {
        "attention_weights",
        "embedding_sum",
        "rope",
        "sinusoidal",
    }


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_that_the_page_warns_of_are_named(mistake: str, tmp_path: Path) -> None:
    adapter = built(tmp_path, "adapter", MISTAKES[mistake])
    assert diagnoses(failed(judged(str(adapter), ("golden", "invariant"))))[0] == mistake
    assert mistake in PAGE.read_text("utf-8")


def test_the_page_shows_what_the_program_prints(tmp_path: Path) -> None:
    printed = subprocess.run([built(tmp_path, "order")], capture_output=True, text=True, check=True)
    assert f"\n{printed.stdout}" in PAGE.read_text("utf-8")
    blocks = [
        np.array([line.split() for line in lines], dtype=float)
        for lines in re.findall(r"(?:^ *-?\d\.\d+.*\n)+", printed.stdout, re.M)
        for lines in [lines.splitlines()]
    ]
    table, *weights = blocks
    assert np.abs(table - posenc.sinusoidal(np.arange(10), 8)).max() <= 0.5e-6
    plain, added, turned, *reversed_ = weights
    for without, other in zip((plain, added, turned), reversed_, strict=True):
        same = bool((without[::-1, ::-1] == other).all())
        assert same == (without is plain)
