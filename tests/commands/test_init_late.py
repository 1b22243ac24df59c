"""``posenc init`` on libraries whose functions, or whose import, do not end."""

import time
from pathlib import Path

import pytest

from posenc_conformance.adapters.find import load_adapter
from posenc_conformance.commands.init.in_memory import load_or_guess
from posenc_conformance.commands.main import main
from posenc_conformance.errors import UserError
from posenc_conformance.remote.load import How
from posenc_lab.judging import Verdict, failed, judge, schemes
from tests.libraries import right

SOON = 0.3
ENDLESS = {
    "loops": "while True: pass",
    "sleeps": "import time; time.sleep(1000)",
    "holds": "\n    while True:\n        try:\n            1 / 0\n        except Exception:\n"
    "            pass",
}
BESIDE = right.NUMPY_FUNCTION + "\n\ndef sinusoidal_encoding(positions, dim):\n    BODY\n"


def run(folder: Path, name: str, source: str) -> Path:
    """Let ``posenc init`` write an adapter for a library, with little time for each call."""
    (folder / f"{name}.py").write_text(source, encoding="utf-8")
    start = time.monotonic()
    assert main(["init", name, f"--posenc-timeout={SOON}"]) == 0
    assert time.monotonic() - start < 40 * SOON
    return folder / f"{name}_adapter.py"


@pytest.mark.parametrize("way", ENDLESS)
def test_a_function_that_does_not_return_is_named_and_the_others_are_judged(
    folder: Path, capsys: pytest.CaptureFixture[str], way: str
) -> None:
    source = BESIDE.replace("BODY", ENDLESS[way])
    path = run(folder, f"right_{way}", source)
    words = f"sinusoidal_encoding did not return within {SOON} s; --posenc-timeout=SECONDS"
    assert words in capsys.readouterr().out
    assert words in " ".join(path.read_text(encoding="utf-8").replace("#", "").split())
    assert not failed(_judged(path))
    assert failed(
        _judged(run(folder, f"wrong_{way}", source.replace("outer(positions", "outer(-positions")))
    )


def _judged(path: Path) -> list[Verdict]:
    adapter = load_adapter(str(path)).adapter
    return judge(adapter, ("golden",), among=[each for each in schemes() if each.id == "rope"])


def test_a_function_that_reads_input_gets_none(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(folder, "reading", BESIDE.replace("BODY", "return input()"))
    said = capsys.readouterr().out
    assert "did not return" not in said
    assert "sinusoidal_encoding" in said


def test_a_library_of_nothing_else_says_which_function_did_not_return(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = "def apply_rope(x, positions):\n    while True: pass\n"
    run(folder, "endless_alone", source)
    words = f"apply_rope did not return within {SOON} s"
    assert words in capsys.readouterr().out
    how = How.of(None, None, "", here=True, apart=False)
    with pytest.raises(UserError, match=f"{words}.*posenc-timeout"):
        load_or_guess("endless_alone", How(how.place, SOON), schemes())


def test_a_function_that_stops_at_some_sizes_alone_is_claimed_without_them(folder: Path) -> None:
    stop = "    while x.shape[-1] == 130: pass\n    half ="
    path = run(folder, "at_some_sizes", right.NUMPY_FUNCTION.replace("    half =", stop, 1))
    assert "head_dim 130 raises, so it is not claimed" in path.read_text(encoding="utf-8")
    assert not failed(_judged(path))


@pytest.mark.slow
def test_an_import_that_does_not_end_is_one_message(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("endless_import.py").write_text("while True: pass\n", encoding="utf-8")
    assert main(["init", "endless_import", f"--posenc-timeout={SOON}"]) == 2
    assert "its code did not end within 1.5 s" in capsys.readouterr().err
    with pytest.raises(UserError, match="its code did not end within 1"):
        load_or_guess("endless_import", How(seconds=SOON, place=How().place), schemes())
