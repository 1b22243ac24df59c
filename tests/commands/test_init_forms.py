"""``posenc init`` on functions whose parameters tell what they do, and whose names do not."""

from pathlib import Path

import pytest

from posenc_conformance.adapters.find import load_adapter
from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.commands.main import main
from posenc_lab.judging import failed, judge, schemes
from tests.commands.initialised import written
from tests.libraries import keys

BOTH = (
    "\ndef forward(q, k, offset=0):\n"
    "    places = offset + np.arange(q.shape[-2])\n"
    "    return halves(q, places), KEYS\n"
)
FORMS = {
    "queries and keys from an offset": BOTH.replace("KEYS", "halves(k, places)"),
    "queries and keys at positions": "\ndef run(q, k, positions):\n"
    "    return halves(q, positions), halves(k, positions)\n",
    "x at positions": "\ndef f(x, pos, theta=10000.0):\n    return halves(x, pos, theta)\n",
}
ACTING = """
def run(path, positions):
    raise SystemExit("run() was called")

def save(x, positions):
    raise SystemExit("save() was called")

def forward(x, positions, folder):
    raise SystemExit("forward() was called")

def call(x, y=0):
    raise SystemExit("call() was called")
"""


def claimed(path: Path) -> set[str]:
    return {each.call.name for each in subjects(load_adapter(str(path)).adapter, schemes())}


@pytest.mark.parametrize("form", FORMS)
def test_a_rotation_of_any_name_is_found_by_its_parameters(folder: Path, form: str) -> None:
    path = written(folder, form.replace(" ", "_"), keys.ROTATIONS + FORMS[form])
    expected = {"rope"} if form == "x at positions" else {"rope", "rope_query_key"}
    assert claimed(path) == expected


def test_keys_of_a_rotation_of_any_name_are_judged(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(folder, "of_left_keys", keys.ROTATIONS + BOTH.replace("KEYS", "k"))
    assert "rope_query_key: forward fits nothing" in capsys.readouterr().out
    of_keys = [scheme for scheme in schemes() if scheme.id == "rope-kernel"]
    adapter = load_adapter(str(path)).adapter
    assert failed(judge(adapter, ("smoke", "golden"), examples=1, among=of_keys))


def test_what_may_do_more_than_compute_is_not_called(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("acting.py").write_text(ACTING, encoding="utf-8")
    assert main(["init", "acting"]) == 0
    said = capsys.readouterr()
    assert "was called" not in said.out + said.err
    assert "nothing in acting behaves like a scheme" in said.out


def test_a_name_that_tells_goes_before_the_form(folder: Path) -> None:
    named = "\ndef apply_rope(x, positions):\n    return halves(x, positions)\n"
    other = "\ndef forward(x, positions):\n    raise SystemExit('forward() was called')\n"
    path = written(folder, "of_both_kinds", keys.ROTATIONS + other + named)
    assert "apply_rope(" in path.read_text(encoding="utf-8")


def test_another_function_of_this_form_is_not_claimed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = "import numpy as np\n\ndef forward(q, k, offset=0):\n    return q * 2, k - offset\n"
    written(folder, "of_products", source)
    assert "behaves like a scheme" in capsys.readouterr().out
