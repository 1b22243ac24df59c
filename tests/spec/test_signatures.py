"""Type checkers see what `import posenc` offers."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.building import CHECKOUT
from tests.signatures import STUB, stub

SNIPPET = """\
import posenc
import posenc_conformance

right = posenc.rope([[1.0, 2.0]], [3], layout="half")
reveal_type(posenc.rope)
reveal_type(posenc_conformance.claims)
posenc.rope(1, 2, 3, nonsense=True)
posenc.nonsense
posenc_conformance.nonsense
"""


def test_the_stub_is_up_to_date() -> None:
    assert STUB.read_text(encoding="utf-8") == stub(), "run make records"


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[int, str]:
    """Run mypy on the snippet; return its messages by line."""
    path: Path = tmp_path_factory.mktemp("typing") / "snippet.py"
    path.write_text(SNIPPET, encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-m", "mypy", str(path)], cwd=CHECKOUT, capture_output=True, text=True
    )
    messages = re.findall(r"snippet\.py:(\d+): (.*)", run.stdout)
    assert messages, run.stdout + run.stderr
    said: dict[int, str] = {}
    for line, words in messages:
        said[int(line)] = f"{said.get(int(line), '')}{words}\n"
    return said


def test_a_right_call_passes(said: dict[int, str]) -> None:
    assert min(said) == 5


def test_parameters_have_their_names_and_types(said: dict[int, str]) -> None:
    rope, claims = said[5], said[6]
    for words in ("base: float =", "layout: str =", "rotary_dim: int | None =", "ndarray["):
        assert words in rope, rope
    assert "*combinations: str" in claims
    assert "max_position: int | None =" in claims


def test_an_unknown_parameter_is_an_error(said: dict[int, str]) -> None:
    assert "Too many positional arguments" in said[7]
    assert 'Unexpected keyword argument "nonsense"' in said[7]


def test_an_unknown_attribute_is_an_error(said: dict[int, str]) -> None:
    assert all("has no attribute" in said[line] for line in (8, 9))
