"""``posenc plot``: what it draws, and what it refuses."""

import os
import subprocess
import sys
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
    assert any("in 1 row and" in line for line in told["stale"])


def test_a_saved_table_of_any_size_is_drawn(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = expected("sinusoidal", positions=np.arange(50), dim=96, base=10000.0, dtype="float32")
    np.save(here / "long.npy", table)
    np.savetxt(here / "printed.csv", table, delimiter=",")
    bias = expected("alibi_bias", heads=4, q_len=10, k_len=20, dtype="float32")
    np.save(here / "bias.npy", bias)
    np.save(here / "tutorial.npy", table[:, None])
    for arguments in (
        ["sinusoidal", "tutorial.npy"],
        ["sinusoidal", "long.npy"],
        ["sinusoidal", "printed.csv"],
        ["alibi_bias", "bias.npy"],
    ):
        assert main(["plot", *arguments]) == 0
        assert "no cell is wrong" in capsys.readouterr().out
    np.save(here / "odd.npy", table[:, :95])
    assert main(["plot", "sinusoidal", "odd.npy"]) == 2
    assert "\\n" not in capsys.readouterr().err
    assert main(["plot", "sinusoidal", "long.npy", "--param=positions=0,1,2"]) == 2
    assert "returned shape (50, 96); expected (3, 96)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["no-such"], "no call 'no-such'"),
        (["rope", "--param=base"], "has no value"),
        (["rope", "--param=nothing=1"], "it takes no nothing"),
        (["alibi"], "has several calls"),
        (["rope", "missing.npy"], "missing.npy"),
        (["alibi_bias", "--param=heads=100000"], "heads=100000 is too large to be drawn"),
        (["rope", "--param=layout=other"], "layout is one of"),
    ],
)
def test_a_mistake_is_told_in_a_sentence(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plot", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_words_of_other_code_are_understood(here: Path) -> None:
    [*plot("rope", ["theta=5e5", "layout=neox"], None, "a.svg", force=False)]
    [*plot("rope", ["base=5e5", "layout=half"], None, "b.svg", force=False)]
    assert (here / "a.svg").read_bytes() == (here / "b.svg").read_bytes()


def test_a_terminal_without_our_letters_gets_others(here: Path) -> None:
    """In a process of its own, since the encoding is the stream's."""
    command = [sys.executable, "-c", "from posenc_conformance.commands.main import main; main()"]
    done = subprocess.run(
        [*command, "plot", "rope"],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        cwd=here,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"wrote rope.svg" in done.stdout


def test_a_plot_that_somebody_changed_is_kept(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plot", "rope"]) == 0
    own = (here / "rope.svg").read_text(encoding="utf-8").replace("</desc>", ", mine</desc>", 1)
    (here / "rope.svg").write_text(own, encoding="utf-8")
    assert main(["plot", "rope"]) == 2
    assert "was changed" in capsys.readouterr().err
    assert (here / "rope.svg").read_text(encoding="utf-8") == own


def test_no_file_is_lost(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "rope.svg").write_text("<svg/>", encoding="utf-8")
    assert main(["plot", "rope"]) == 2
    assert "is no plot of posenc" in capsys.readouterr().err
    assert main(["plot", "rope", "--force"]) == 0
    assert main(["plot", "rope"]) == 0
