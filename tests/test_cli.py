"""The commands that are not pytest."""

import json
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


WRONG = """
import numpy as np
from posenc_conformance import claims

@claims("half", dtype=["float32", "bfloat16"])
def rope(x, positions, *, base):
    return np.asarray(x) * 2

@claims("interpolated")
def alibi_slopes(heads):
    return np.float32(2.0) ** (-8 * np.arange(1, heads + 1, dtype=np.float32) / heads)
"""


@pytest.mark.parametrize(
    "id",
    [
        "rope.yaml::golden::half-d4-start[float32]",
        "rope.yaml::golden::half-d4-start[bfloat16]",
        "rope.yaml::invariant::isometry[rope-half]",
        "rope.yaml::precision::sweep[rope-half-float32]",
        "rope.yaml::behaviour::batch-axes[rope-half]",
        "alibi.yaml::golden::slopes-12[float32]",
    ],
)
def test_repro_prints_a_snippet_that_shows_the_failure(
    tmp_path: Path, monkeypatch, capsys, id: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("lib_adapter.py").write_text(WRONG, encoding="utf-8")
    if "behaviour" in id:  # the plain call is wrong already, so this one does not run
        assert main(["repro", id, "--impl=lib_adapter.py"]) == 2
        assert "does not run" in capsys.readouterr().err
        return
    assert main(["repro", id, "--impl=lib_adapter.py"]) == 0
    snippet = capsys.readouterr().out
    imported = [line for line in snippet.splitlines() if line.startswith(("import", "from"))]
    assert not any("posenc" in line for line in imported)
    done = subprocess.run(
        [sys.executable, "-c", snippet], check=True, capture_output=True, text=True
    )
    assert "expected" in done.stdout
    assert "allowed" in done.stdout


@pytest.mark.parametrize("id", ["rope.yaml::golden::no-such[float32]", "nonsense", "::"])
def test_repro_of_no_check(id: str, capsys) -> None:
    assert main(["repro", id, "--impl=reference"]) == 2
    assert "hint" in capsys.readouterr().err


def test_repro_of_what_passes(capsys) -> None:
    assert main(["repro", "rope.yaml::golden::half-d2[float32]", "--impl=reference"]) == 2
    assert "passes" in capsys.readouterr().err


def report(verdicts: dict[str, str], worst: float = 0.5, horizon: int = 1024) -> str:
    return json.dumps(
        {
            "posenc-report": 1,
            "checks": [
                {"id": id, "verdict": verdict, "worst": worst, "explanations": []}
                for id, verdict in verdicts.items()
            ],
            "rows": [
                {
                    "scheme": "rope",
                    "call": "rope",
                    "combination": "half",
                    "dtype": "float32",
                    "horizon": horizon,
                }
            ],
        }
    )


@pytest.mark.parametrize(
    ("before", "after", "code", "word"),
    [
        (report({"a": "failed"}), report({"a": "passed"}), 0, "better"),
        (report({"a": "passed"}), report({"a": "failed"}), 1, "worse"),
        (report({"a": "passed"}), report({}), 1, "worse"),
        (report({}), report({"a": "passed"}), 0, "better"),
        (report({"a": "passed"}), report({"a": "silent"}), 1, "worse"),
        (report({"a": "failed"}), report({"a": "known"}), 0, "better"),
        (report({"a": "passed"}), report({"a": "passed"}, worst=0.6), 0, "no difference"),
        (report({"a": "passed"}), report({"a": "passed"}, worst=0.05), 0, "better"),
        (report({"a": "passed"}), report({"a": "passed"}, horizon=512), 1, "worse"),
    ],
)
def test_diff(tmp_path: Path, capsys, before: str, after: str, code: int, word: str) -> None:
    Path(tmp_path, "a.json").write_text(before, encoding="utf-8")
    Path(tmp_path, "b.json").write_text(after, encoding="utf-8")
    assert main(["diff", str(tmp_path / "a.json"), str(tmp_path / "b.json")]) == code
    assert capsys.readouterr().out.startswith(word)


def test_diff_of_what_is_no_report(tmp_path: Path, capsys) -> None:
    Path(tmp_path, "a.json").write_text("[]", encoding="utf-8")
    assert main(["diff", str(tmp_path / "a.json"), str(tmp_path / "a.json")]) == 2
    assert "a.json" in capsys.readouterr().err


def test_schemes_lists_calls_and_combinations(capsys) -> None:
    assert main(["schemes"]) == 0
    shown = capsys.readouterr().out
    for words in ("rotary: rope", "rope(x, positions): interleaved, half", "t5_bucket"):
        assert words in shown


def test_init_writes_the_calls_of_schemes_as_comments(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["init", "mylib", "alibi", "sinusoidal"]) == 0
    text = Path("mylib_adapter.py").read_text(encoding="utf-8")
    assert "# def alibi_bias(self, heads, q_len, k_len, *, form, head_rule, dtype):" in text
    before, after = text.split("turned.astype(x.dtype)\n")
    stubs = after.replace("    # ", "    ")
    compile(f"{before}turned.astype(x.dtype)\n{stubs}", "mylib_adapter.py", "exec")


def test_init_of_an_unknown_scheme_writes_nothing(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["init", "mylib", "ropes"]) == 2
    assert "rope" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
