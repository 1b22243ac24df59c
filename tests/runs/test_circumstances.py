"""Whole runs of an adapter that crashes, hangs and exits, under adverse circumstances."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

pytestmark = pytest.mark.remembered(shipped=True)

BREAKS = """
import os, sys, time
import numpy as np
from posenc_conformance import claims

class Adapter:
    @claims("half", base=10000.0)
    def rope(self, x, positions):
        print(f"turning {x.shape}", file=sys.stderr)
        if x.shape[-1] == 80:
            os.kill(os.getpid(), 11)
        if x.shape[-1] == 256:
            time.sleep(600)
        if x.ndim == 4:
            os._exit(0)
        if x.shape[0] == 3:
            sys.exit("enough")
        half = x.shape[-1] // 2
        angles = np.outer(positions, 10000.0 ** (-np.arange(half) / half))
        a, b = x[..., :half], x[..., half:]
        c, s = np.cos(angles), np.sin(angles)
        return np.concatenate([a * c - b * s, a * s + b * c], -1).astype(x.dtype)
"""
LOSES_ITS_GPU = """
import numpy as np
import torch
from posenc_conformance import claims

lost = []


def synchronize():
    if lost:
        raise RuntimeError("CUDA error: an illegal memory access was encountered")


torch.cuda.is_initialized = lambda: True
torch.cuda.synchronize = synchronize


class Adapter:
    @claims("half", base=10000.0)
    def rope(self, x, positions):
        if x.shape[-1] == 80 or len(positions) != x.shape[-2]:
            lost.append(x)
        synchronize()
        half = x.shape[-1] // 2
        angles = np.outer(positions, 10000.0 ** (-np.arange(half) / half))
        a, b = x[..., :half], x[..., half:]
        c, s = np.cos(angles), np.sin(angles)
        return np.concatenate([a * c - b * s, a * s + b * c], -1).astype(x.dtype)
"""
"""Adapter that reads foreign memory in one call, after which the GPU answers no more."""
Usual = tuple[str, dict[str, str]]
SELECTED = ("rope.yaml::smoke", "rope.yaml::golden", "rope.yaml::robust")
FAILED = {
    "half-head80": "rope() was ended by signal 11 (SIGSEGV)",
    "half-batch-unsorted": "rope() exited with status 0",
    "half-d4-start": "rope() raised SystemExit: enough",
}


def command(folder: Path, *options: str) -> list[str]:
    return [
        *(sys.executable, "-m", "pytest", f"--impl={folder / 'mine.py'}", "--posenc-timeout=5"),
        *(f"--posenc-report={folder / 'r.json'}", "-p", "no:cacheprovider", *options, *SELECTED),
    ]


def run(
    folder: Path,
    *options: str,
    where: Path | None = None,
    environment: Mapping[str, str | None] | None = None,
    code: str = BREAKS,
) -> "subprocess.CompletedProcess[bytes]":
    (folder / "mine.py").write_text(code, encoding="utf-8")
    changed = environment or {}
    variables = {name: value for name, value in os.environ.items() if name not in changed}
    variables |= {name: value for name, value in changed.items() if value is not None}
    return subprocess.run(
        command(folder, *options), cwd=where or folder, env=variables, capture_output=True
    )


def verdicts(folder: Path) -> dict[str, str]:
    report = json.loads((folder / "r.json").read_text(encoding="utf-8"))
    return {check["id"]: check["verdict"] for check in report["checks"]}


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> Usual:
    """Return the output and the verdicts of a run under ordinary circumstances."""
    folder = tmp_path_factory.mktemp("usual")
    done = run(folder)
    assert done.returncode == pytest.ExitCode.TESTS_FAILED
    return done.stdout.decode(), verdicts(folder)


def test_every_breakdown_fails_its_check_and_the_run_goes_on(usual: Usual) -> None:
    output, by_check = usual
    names = {id: id.split("::")[2].partition("[")[0] for id in by_check}
    failed = {names[id] for id, verdict in by_check.items() if verdict == "failed"}
    assert failed == {*FAILED, "too-few-positions"}  # with three rows, it exits
    blocked = {names[id] for id, verdict in by_check.items() if verdict == "blocked"}
    assert blocked == {"gemma-head256"}  # it may be slow but right
    assert "no verdict: rope() gave no answer within 5 s" in output
    assert list(by_check.values()).count("passed") > 3
    for words in FAILED.values():
        assert words in output
    assert "call       rope(x=array" in output
    assert "INTERNALERROR" not in output
    assert "Traceback" not in output


@pytest.mark.torch
def test_losing_the_gpu_fails_the_check_and_the_run_goes_on(tmp_path: Path) -> None:
    output = run(tmp_path, code=LOSES_ITS_GPU).stdout.decode()
    by_check = verdicts(tmp_path)
    failed = {
        id.split("::")[2].partition("[")[0] for id, end in by_check.items() if end != "passed"
    }
    assert failed == {"half-head80", "too-few-positions"}  # losing the GPU is no refusal
    assert "left the GPU in a state in which it does nothing more" in output


def test_printed_text_is_shown_with_its_check(usual: Usual) -> None:
    blocks = re.split(r"^_+ (?=rope)", usual[0], flags=re.M)
    (block,) = (text for text in blocks if text.startswith("rope.yaml::golden::half-d4-start"))
    assert "turning (3, 4)" in block
    assert "turning (2, 2)" not in block


ASCII: dict[str, str | None] = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
CIRCUMSTANCES: dict[str, dict[str, str | None]] = {
    "no-home-forty-columns-of-ascii": ASCII
    | {"HOME": None, "XDG_CACHE_HOME": None, "COLUMNS": "40", "PYTHONHASHSEED": "7"},
    "a-home-that-is-not-there-and-no-assertions": {
        "HOME": "/no/such/home",
        "XDG_CACHE_HOME": "/dev/null",
        "PYTHONOPTIMIZE": "2",
        "PYTHONHASHSEED": "8",
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CIRCUMSTANCES)
def test_the_verdicts_are_the_same(name: str, usual: Usual, tmp_path: Path) -> None:
    done = run(tmp_path, environment=CIRCUMSTANCES[name])
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stderr
    assert verdicts(tmp_path) == usual[1]
    assert b"INTERNALERROR" not in done.stdout


@pytest.mark.slow
def test_two_processes_give_the_same_verdicts(usual: Usual, tmp_path: Path) -> None:
    done = run(tmp_path, "-n", "2")
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stderr
    assert verdicts(tmp_path) == usual[1]


@pytest.mark.slow
def test_a_read_only_folder_changes_no_verdict(usual: Usual, tmp_path: Path) -> None:
    done = run(tmp_path, where=Path("/proc"))
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stderr
    assert verdicts(tmp_path) == usual[1]


@pytest.mark.slow
def test_two_simultaneous_runs_in_one_folder_lose_nothing(usual: Usual, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(BREAKS, encoding="utf-8")
    runs = [
        subprocess.Popen(command(tmp_path), cwd=tmp_path, stdout=subprocess.PIPE) for _ in range(2)
    ]
    for process in runs:
        output, _ = process.communicate()
        assert process.returncode == pytest.ExitCode.TESTS_FAILED, output
    assert verdicts(tmp_path) == usual[1]
    assert sorted(path.name for path in tmp_path.glob("*r.json*")) == ["r.json"]


@pytest.mark.slow
def test_a_full_disk_under_the_report_is_one_message(tmp_path: Path) -> None:
    done = run(tmp_path, "--posenc-report=/dev/full", "-k", "smoke")
    assert done.returncode == pytest.ExitCode.TESTS_FAILED
    assert b"posenc: the report could not be written" in done.stdout
    assert b"scorecard" in done.stdout
    assert b"Traceback" not in done.stdout + done.stderr
