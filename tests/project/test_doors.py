"""Each way to judge, right and wrong, and each command, once, as a user runs it."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from posenc_conformance import check
from posenc_conformance.commands.main import main
from posenc_lab.deployed.cases import Case
from posenc_lab.deployed.engine import Engine
from posenc_lab.deployed.judging import folder_of, made
from posenc_lab.deployed.server import serving
from posenc_lab.deployed.wrong import NoScaling
from tests.building import CHECKOUT

pytestmark = pytest.mark.always

ADAPTER = """
import numpy as np
from posenc_conformance import claims


class Adapter:
    @claims({layout!r}, dtype="float32", base=10000.0)
    def rope(self, x, positions):
        half = x.shape[-1] // 2
        angles = np.outer(positions, 10000.0 ** (-np.arange(half) / half))
        a, b = x[..., :half], x[..., half:]
        c, s = np.cos(angles), np.sin(angles)
        return np.concatenate([a * c - b * s, a * s + b * c], -1).astype(x.dtype)
"""
LAYOUTS = [("half", 0, ""), ("interleaved", 1, "layout-swapped")]
"""Claimed layouts, exit status of the run, and the name of the mistake."""
FAILED = "rope.yaml::golden::interleaved-d4-start[float32]"
TEST = """
from mine import Adapter
from posenc_conformance import conformance

test_rope = conformance(Adapter)
"""


def judged(folder: Path, *options: str) -> tuple[int, str]:
    """Run pytest in a folder; return its exit status and output."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(("layout", "code", "mistake"), LAYOUTS)
def test_adapter(layout: str, code: int, mistake: str, tmp_path: Path) -> None:
    Path(tmp_path, "mine.py").write_text(ADAPTER.format(layout=layout), encoding="utf-8")
    exit, output = judged(tmp_path, "--impl=mine.py", "rope.yaml")
    assert exit == code, output
    assert mistake in output


@pytest.mark.parametrize(("layout", "code", "mistake"), LAYOUTS)
def test_own_test_file(layout: str, code: int, mistake: str, tmp_path: Path) -> None:
    Path(tmp_path, "mine.py").write_text(ADAPTER.format(layout=layout), encoding="utf-8")
    Path(tmp_path, "test_mine.py").write_text(TEST, encoding="utf-8")
    exit, output = judged(tmp_path)
    assert exit == code, output
    assert mistake in output


@pytest.mark.parametrize(("layout", "code", "mistake"), LAYOUTS)
def test_check(layout: str, code: int, mistake: str) -> None:
    scope: dict[str, type] = {}
    exec(ADAPTER.format(layout=layout), scope)
    x = np.random.default_rng(0).standard_normal((2, 8, 64, 32)).astype(np.float32)
    out = scope["Adapter"]().rope(x, np.arange(64))
    call: dict[str, Any] = {"x": x, "positions": np.arange(64), "base": 10_000.0, "layout": layout}
    if code == 0:
        check(out, "rope", **call)
    else:
        with pytest.raises(AssertionError, match=mistake):
            check(out, "rope", **call)


@pytest.mark.parametrize(("claimed", "code"), [("half", 0), ("interleaved", 1)])
def test_program(claimed: str, code: int, tmp_path: Path) -> None:
    source = (CHECKOUT / "tests/programs/turning.py").read_text("utf-8")
    harness = repr(str(CHECKOUT / "harness" / "python"))
    source = source.replace('str(Path(__file__).parents[2] / "harness" / "python")', harness)
    changed = source.replace('@claims("half"', f'@claims("{claimed}"')
    Path(tmp_path, "turning.py").write_text(changed, encoding="utf-8")
    exit, output = judged(tmp_path, f"--impl={sys.executable} turning.py", "rope.yaml")
    assert exit == code, output
    assert ("layout-swapped" in output) == bool(code)


@pytest.mark.parametrize(
    ("engine", "code", "mistake"), [(Engine, 0, ""), (NoScaling, 1, "scaling-ignored")]
)
def test_engine_over_http(engine: type, code: int, mistake: str, tmp_path: Path) -> None:
    model = folder_of("llama") / "config.json"
    options = (f"--posenc-model={model}", "--posenc-dtype=float32", "--posenc-context=512")
    with serving(made(Case(engine, "llama", mistake))) as url:
        exit, output = judged(tmp_path, f"--impl={url}", *options)
    assert exit == code, output
    assert mistake in output


COMMANDS = {
    "list": "reference",
    "schemes rope": "interleaved",
    "explain rope layout-swapped": "layout-swapped",
    "init made rope": "made_adapter.py",
    "new log-bias --family bias --to schemes": "log-bias.yaml",
    "goldens --check ROPE": "rope.yaml",
    "export --scheme rope --form json --out vectors": "",
    "known report.json known.yaml": "known.yaml",
    f"repro {FAILED} --impl=mine.py": "import numpy",
    "identify table.npy": "sinusoidal",
    "model llama-3.1-8b": "base 500,000",
    "probe llama-3.1-8b --out probe": "probe",
    "judge ctranslate2 llama-3.1-8b --plan": "ct2-transformers-converter",
    "engines vllm-cpu": "torchvision",
    "compare probe probe": "nothing differs",
    "badge report.json": "",
    "plot rope --param=base=500": "rope: table",
    "report report.json --html report.html": "wrote report.html",
    "diff report.json report.json": "no difference",
    "completion bash": "complete -o default",
}
"""Commands of ``posenc``, and words that they must print."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a wrong adapter, the report of its run, and a table."""
    place = tmp_path_factory.mktemp("commands")
    place.joinpath("mine.py").write_text(ADAPTER.format(layout="interleaved"), encoding="utf-8")
    judged(place, "--impl=mine.py", "--posenc-report=report.json")
    angles = np.arange(32)[:, None] * 10_000.0 ** (-np.arange(0, 16, 2) / 16)
    table = np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(32, 16)
    np.save(place / "table.npy", table)
    place.joinpath("schemes").mkdir()
    return place


@pytest.mark.parametrize("typed", COMMANDS, ids=lambda typed: typed.partition(" ")[0])
def test_command(
    typed: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    before = {path: path.read_bytes() for path in folder.glob("*.*")}
    words = [
        str(CHECKOUT / "spec/rotary/rope.yaml") if word == "ROPE" else word
        for word in typed.split()
    ]
    assert main(words) == 0
    assert COMMANDS[typed] in capsys.readouterr().out
    assert all(path.read_bytes() == content for path, content in before.items())


def test_each_command_is_tried(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    listed = [
        line.split()[0]
        for line in capsys.readouterr().out.partition("COMMAND\n")[2].splitlines()
        if line.startswith("    ") and line[4] != " "
    ]
    assert sorted(listed) == sorted(typed.partition(" ")[0] for typed in COMMANDS)


def test_a_report_names_the_mistake(folder: Path) -> None:
    report = json.loads(folder.joinpath("report.json").read_text("utf-8"))
    assert report["summary"]["failed"] > 0
    assert report["diagnoses"][0]["explained_by"][0]["deviation"] == "layout-swapped"
