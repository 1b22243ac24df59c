"""``posenc plot``: what it draws, and what it refuses."""

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from posenc_conformance import expected
from posenc_conformance.commands.main import main
from posenc_conformance.commands.plot import plot
from posenc_conformance.registry import load_all

CALLS = [call for scheme in load_all() for call in scheme.calls]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.draws
@pytest.mark.parametrize("call", CALLS)
def test_every_call_can_be_drawn(call: str, here: Path) -> None:
    *told, last = plot(call, [], None, None, force=False)
    assert told
    assert last == f"wrote {call}.svg"
    root = ElementTree.fromstring((here / f"{call}.svg").read_text(encoding="utf-8"))
    assert len(root.findall("{*}svg")) == len(told)


def test_a_parameter_and_a_combination_change_what_is_drawn(here: Path) -> None:
    pictures = set()
    for parameters in ([], ["base=500"], ["dim=32"], ["combination=tensor2tensor"]):
        [*plot("sinusoidal", parameters, None, "p.svg", force=False)]
        pictures.add((here / "p.svg").read_text(encoding="utf-8"))
    assert len(pictures) == 4


def test_a_saved_table_is_drawn_beside_it(here: Path) -> None:
    table = expected("sinusoidal", positions=np.arange(64), dim=64, base=10000.0, dtype="float32")
    np.save(here / "right.npy", table)
    table[5] = table[4]
    np.save(here / "stale.npy", table)
    told = {
        name: [*plot("sinusoidal", [], f"{name}.npy", None, force=False)]
        for name in ("right", "stale")
    }
    assert any("no cell is wrong" in line for line in told["right"])
    assert any("in 1 rows" in line for line in told["stale"])
    np.save(here / "short.npy", table[:3])
    assert main(["plot", "sinusoidal", "short.npy"]) == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["no-such"], "no call 'no-such'"),
        (["rope", "--param=base"], "has no value"),
        (["rope", "--param=nothing=1"], "it takes no nothing"),
        (["alibi"], "has several calls"),
        (["rope", "missing.npy"], "missing.npy"),
    ],
)
def test_a_mistake_is_told_in_a_sentence(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plot", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_no_file_is_lost(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "rope.svg").write_text("<svg/>", encoding="utf-8")
    assert main(["plot", "rope"]) == 2
    assert "is no plot of posenc" in capsys.readouterr().err
    assert main(["plot", "rope", "--force"]) == 0
    assert main(["plot", "rope"]) == 0
