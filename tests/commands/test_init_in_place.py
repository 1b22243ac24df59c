"""``posenc init`` on functions that write over one array and return nothing."""

from pathlib import Path

import pytest

from posenc_conformance.adapters.find import load_adapter
from posenc_lab.judging import failed, judge, schemes
from tests.commands.initialised import written
from tests.libraries import keys, right

pytestmark = pytest.mark.remembered(shipped=True)
FORMS = {
    "positions": "\ndef rope_(x, positions):\n    x[...] = halves(x, AT)\n",
    "offset": "\ndef rotate_in_place(x, start_pos):\n"
    "    positions = start_pos + np.arange(x.shape[-2])\n    x[...] = halves(x, AT)\n",
    "sequence": "\nclass Rope:\n    def __init__(self, dim):\n        self.dim = dim\n\n"
    "    def rotate(self, x):\n"
    "        positions = np.arange(x.shape[-2])\n        x[...] = halves(x, AT)\n",
}
COPY = "it writes over x, so the adapter gives it a copy"


@pytest.mark.parametrize("form", FORMS)
def test_an_array_that_is_written_over_is_judged(
    folder: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    among = [each for each in schemes() if each.id == "rope"]
    for name, at in (("right", "positions"), ("wrong", "-positions")):
        source = keys.ROTATIONS + FORMS[form].replace("AT", at)
        path = written(folder, f"{name}_{form}", source)
        assert COPY in capsys.readouterr().out
        adapter = load_adapter(str(path)).adapter
        failures = failed(judge(adapter, ("smoke", "golden"), examples=1, among=among))
        assert bool(failures) == (name == "wrong")


def test_a_function_that_returns_nothing_and_changes_nothing_is_not_said_to_rotate_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = "def rope_of(x, positions):\n    x = x + positions[:, None]\n"
    written(folder, "of_nothing", source)
    said = capsys.readouterr().out
    assert "nothing in of_nothing behaves like a scheme (looked at: rope_of)" in said


def test_a_function_that_returns_its_result_is_not_given_a_copy(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = keys.ROTATIONS + "\ndef rope(x, offset=0):\n    return halves(x, AT)\n"
    at = "-(offset + np.arange(x.shape[-2]))"
    written(folder, "of_results", source.replace("AT", at))
    said = capsys.readouterr().out
    assert COPY not in said
    assert "angles of the opposite sign" in said


def test_a_function_of_queries_and_keys_is_not_taken_to_write_over_them(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = right.WITH_CACHE.replace("positions = start_pos + ", "positions = ")
    written(folder, "from_0", source)
    said = capsys.readouterr().out
    assert "without any rotation" not in said
    assert "are ignored" in said
