"""The commands that are not pytest."""

import subprocess
import sys
from pathlib import Path

import pytest

from posenc_conformance.cli import main


def test_list_shows_what_is_installed_and_claimed(capsys) -> None:
    assert main(["list"]) == 0
    shown = capsys.readouterr().out
    for words in ("reference: installed", "transformers: ", "rope  half", "sinusoidal  fairseq"):
        assert words in shown


def test_list_does_not_import_the_libraries() -> None:
    code = (
        "import sys; from posenc_conformance.cli import main; main(['list']); "
        "assert not {'torch', 'transformers', 'onnx'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_init_writes_an_adapter_that_passes(pytester: pytest.Pytester, monkeypatch, capsys) -> None:
    monkeypatch.chdir(pytester.path)
    assert main(["init", "mylib"]) == 0
    assert "mylib_adapter.py" in capsys.readouterr().out
    result = pytester.runpytest_subprocess("--impl=mylib_adapter.py", "-q")
    assert result.ret == pytest.ExitCode.OK


def test_init_overwrites_nothing(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mylib_adapter.py").write_text("mine", encoding="utf-8")
    assert main(["init", "mylib"]) == 2
    assert Path("mylib_adapter.py").read_text(encoding="utf-8") == "mine"
    assert "hint" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["my lib", "../up", "1st", ""])
def test_init_refuses_names_that_are_none(tmp_path: Path, monkeypatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["init", name]) == 2
    assert list(tmp_path.iterdir()) == []


def test_goldens_of_a_file_that_is_not_there(capsys) -> None:
    assert main(["goldens", "--check", "no-such.yaml"]) == 2
    assert "no-such.yaml" in capsys.readouterr().err
