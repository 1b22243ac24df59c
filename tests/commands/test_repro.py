"""posenc repro: a snippet that shows one failure in a fresh process, in an empty folder."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from posenc_conformance.commands.main import main

pytestmark = pytest.mark.remembered(shipped=True)

HEAD = """
import numpy as np
from posenc_conformance import claims

def turned(x, positions, base):
    half = x.shape[-1] // 2
    angles = np.outer(positions, base ** (-np.arange(half) / half))
    a, b = x[..., :half], x[..., half:]
    both = a * np.cos(angles) - b * np.sin(angles), a * np.sin(angles) + b * np.cos(angles)
    return np.concatenate(both, axis=-1).astype(x.dtype)

"""
ROPE = """
@claims("half", dtype={dtype})
def rope(x, positions, *, base):
{body}
"""
MISTAKES = {
    "smoke::callable[rope-half-float32]": (
        "raise ValueError('no such kernel')",
        "return None",
        "return turned(x, positions, base)[:1]",
        "return turned(x, positions, base).astype(np.float64)",
        "return turned(x, positions, base) / 0",
    ),
    "golden::half-d4-start[float32]": (
        "return x * 2",
        "return turned(x, positions + (x.shape[-1] == 4), base)",
    ),
    "invariant::isometry[rope-half]": (
        "return x * (1 + (x.shape[-2] > 1))",
        "if x.shape[-1] > 8: raise ValueError('too wide')\nreturn turned(x, positions, base)",
    ),
    "invariant::definition[rope-half]": ("return turned(x, positions + 1, base)",),
    "precision::sweep[rope-half-float32]": (
        "return turned(x, positions.astype(np.float16), base)",
    ),
    "behaviour::inputs-untouched[rope-half]": (
        "out = turned(x, positions, base)\nx += 1\nreturn out",
    ),
    "behaviour::read-only-inputs[rope-half]": ("x += 0\nreturn turned(x, positions, base)",),
    "behaviour::strided-inputs[rope-half]": (
        "return turned(x, positions + (x.strides[-1] != x.itemsize), base)",
        "if positions.strides[0] != 8: positions = positions + 1\n"
        "return turned(x, positions, base)",
    ),
    "behaviour::column-major-inputs[rope-half]": (
        "return turned(x if x.flags.c_contiguous else -x, positions, base)",
    ),
    "behaviour::cut-inputs[rope-half]": (
        "if x.strides[-2] != x.shape[-1] * x.itemsize: raise ValueError('no')\n"
        "return turned(x, positions, base)",
        "return turned(x, positions + (x.strides[-2] == 3 * x.shape[-1] * x.itemsize), base)",
    ),
    "behaviour::transposed-inputs[rope-half]": (
        "return turned(x, positions + (x.ndim > 2 and x.strides[-3] < x.strides[-2]), base)",
    ),
    "behaviour::expanded-inputs[rope-half]": (
        "return turned(x, positions + (0 in x.strides), base)",
    ),
    "behaviour::int32-inputs[rope-half]": (
        "return turned(x, positions + (positions.dtype != np.int64), base)",
    ),
    "behaviour::unsorted-positions[rope-half]": (
        "return turned(x, np.sort(positions, axis=-1), base)",
    ),
    "behaviour::batch-axes[rope-half]": (
        "return turned(x, positions + (x.shape[:-2] == (2, 33)), base)",
        "if x.ndim == 2: x = x[None]\nreturn turned(x, positions, base)",
    ),
    "behaviour::no-positions[rope-half]": (
        "return turned(x, positions, base) + positions.min().astype(x.dtype) * 0",
    ),
    "behaviour::second-call[rope-half]": (
        "turned.n = getattr(turned, 'n', 0) + 1\n"
        "return turned(x, positions + (turned.n > 2), base)",
    ),
    "behaviour::no-alias[rope-half]": (
        "return x if not positions.any() else turned(x, positions, base)",
        "key = x.tobytes(), positions.tobytes(), base\n"
        "cache = turned.__dict__\n"
        "if key not in cache: cache[key] = turned(x, positions, base)\nreturn cache[key]",
    ),
    "behaviour::results-last[rope-half]": (
        "out = turned(x, positions, base)\nbuffers = turned.__dict__\n"
        "buffer = buffers.setdefault(x.shape, out)\nbuffer[...] = out\nreturn buffer",
    ),
    "behaviour::no-leak[rope-half]": (
        "first = turned.__dict__.setdefault('bases', [])\nfirst.append(base)\n"
        "return turned(x, positions, max(first))",
    ),
    "behaviour::after-others[rope-half]": (
        "first = turned.__dict__.setdefault(f'large {base > 9e3}', base)\n"
        "return turned(x, positions, first)",
    ),
    "robust::odd-head-dim[rope-half]": (
        "return turned(x, positions, base) if x.shape[-1] % 2 == 0 else x",
    ),
}
ALLOWED = re.compile(r"error (\S+), but only (\S+) is allowed")
COUNTED = re.compile(r"(\d+) of \d+ values")
WORDS = ("\nValueError: ", "expected shape", "not an array", "instead of an exception")


def snippet(capsys: pytest.CaptureFixture[str], id: str, implementation: str) -> str:
    capsys.readouterr()
    code = main(["repro", id, f"--impl={implementation}"])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    return printed.out


def ran(text: str, folder: Path) -> str:
    """Run a snippet in a fresh process; return its output."""
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", text], cwd=folder, capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


def shows_a_failure(said: str) -> bool:
    """Return whether a snippet's output reports a failure."""
    too_large = any(not float(e) <= float(allowed) for e, allowed in ALLOWED.findall(said))
    differing = any(int(count) > 0 for count in COUNTED.findall(said))
    return too_large or differing or any(words in said for words in WORDS)


def test_a_slow_repetition_says_what_it_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    body = ROPE.format(dtype='"float32"', body="    return x")
    Path("slow_lib.py").write_text(HEAD + body, encoding="utf-8")
    id = "rope.yaml::golden::half-d4-start[float32]"
    for patience, is_told in ((60.0, False), (0.0, True)):
        monkeypatch.setattr("posenc_conformance.commands.progress.PATIENCE", patience)
        assert main(["repro", id, "--impl=slow_lib.py"]) == 0
        said = capsys.readouterr()
        assert ("posenc: loading slow_lib.py" in said.err) is is_told
        assert (f"posenc: running {id}" in said.err) is is_told
        assert "posenc:" not in said.out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("id", "body"), [(id, body) for id, bodies in MISTAKES.items() for body in bodies]
)
def test_a_snippet_shows_the_failure(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    id: str,
    body: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    dtype = '["float32", "bfloat16"]' if id.startswith("golden") else '"float32"'
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    Path("my-lib.py").write_text(HEAD + ROPE.format(dtype=dtype, body=lines), encoding="utf-8")
    text = snippet(capsys, f"rope.yaml::{id}", "my-lib.py")
    assert "posenc" not in "".join(line for line in text.splitlines() if "import" in line)
    output = ran(text, tmp_path / "elsewhere")
    assert shows_a_failure(output), f"{text}\n\n{output}"


TORCH = """
import torch
from posenc_conformance import claims
from posenc_conformance import to_torch

class Fused:
    @claims("half", dtype=["float32", "bfloat16"])
    def rope(self, x, positions, *, base):
        half = x.shape[-1] // 2
        angles = to_torch(positions)[:, None] * base ** (-torch.arange(half) / (half + 1))
        a, b = to_torch(x).float().requires_grad_().chunk(2, dim=-1)
        cos, sin = angles.cos(), angles.sin()
        return torch.cat([a * cos - b * sin, a * sin + b * cos], -1).to(to_torch(x).dtype)
"""


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_tensors_that_require_grad(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], dtype: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("kernels").mkdir()
    Path("kernels/fused.py").write_text(TORCH, encoding="utf-8")
    text = snippet(capsys, f"rope.yaml::golden::half-d4-start[{dtype}]", "kernels/fused.py")
    assert shows_a_failure(ran(text, tmp_path / "elsewhere"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "implementation"),
    [
        ("my-lib.py", "my-lib:made"),
        ("pack/inner.py", "pack.inner:Adapter"),
        ("pack/inner.py", "pack/inner.py:Adapter"),
        ("pack/inner.py", "pack/inner.py:made"),
        ("pack/inner.py", "pack/inner.py"),
    ],
)
def test_a_snippet_loads_what_impl_names(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    implementation: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path(name)
    path.parent.mkdir(exist_ok=True)
    path.with_name("beside.py").write_text("FACTOR = 2\n", encoding="utf-8")
    text = (
        f"import sys\nsys.path.append({str(path.parent.resolve())!r})\n"
        "from beside import FACTOR\nfrom posenc_conformance import claims\n"
        "class Adapter:\n    @claims('half')\n"
        "    def rope(self, x, positions, *, base):\n        return FACTOR * x\n"
        "made = Adapter()\n"
    )
    path.write_text(text, encoding="utf-8")
    text = snippet(capsys, "rope.yaml::golden::half-d4-start[float32]", implementation)
    assert shows_a_failure(ran(text, tmp_path / "elsewhere"))
    monkeypatch.setattr(sys, "path", [folder for folder in sys.path if str(tmp_path) not in folder])
    for module in ("pack", "pack.inner", "my-lib", "beside"):
        sys.modules.pop(module, None)


@pytest.mark.slow
def test_a_check_that_fails_only_after_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A snippet repeats the earlier calls if the failing one is right by itself."""
    monkeypatch.chdir(tmp_path)
    body = (
        "    width = turned.__dict__.setdefault('width', x.shape[-2])\n"
        "    return turned(x, np.minimum(positions, 5) if width == 6 else positions, base)"
    )
    Path("lib.py").write_text(HEAD + ROPE.format(dtype='"float32"', body=body), encoding="utf-8")
    text = snippet(capsys, "rope.yaml::behaviour::offset-positions[rope-half]", "lib.py")
    assert shows_a_failure(ran(text, tmp_path / "elsewhere"))


@pytest.mark.slow
def test_calls_without_arrays_and_with_a_dtype(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    body = (
        "import numpy as np\nfrom posenc_conformance import claims\n"
        '@claims("interpolated", dtype=["float32", "float64"])\n'
        "def alibi_slopes(heads, *, dtype):\n"
        "    return (2.0 ** (-8 * np.arange(1, heads + 1) / heads)).astype(dtype)\n"
    )
    Path("lib.py").write_text(body, encoding="utf-8")
    text = snippet(capsys, "alibi.yaml::golden::slopes-12[float64]", "lib.py")
    assert shows_a_failure(ran(text, tmp_path / "elsewhere"))


def test_blocked_and_passing_checks_have_no_snippet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, body in (("right", "return turned(x, positions, base)"), ("wrong", "return x * 2")):
        text = HEAD + ROPE.format(dtype='"float32"', body=f"    {body}")
        Path(f"{name}.py").write_text(text, encoding="utf-8")
    id = "rope.yaml::behaviour::batch-axes[rope-half]"
    assert main(["repro", id, "--impl=wrong.py"]) == 2
    assert "does not run" in capsys.readouterr().err
    assert main(["repro", id, "--impl=right.py"]) == 2
    assert "passes" in capsys.readouterr().err


def project(folder: Path, monkeypatch: pytest.MonkeyPatch, *, library: str) -> None:
    """Write a project whose wrong library is on pytest's search path only."""
    monkeypatch.chdir(folder)
    Path("src").mkdir()
    Path("src", f"{library}.py").write_text("FACTOR = 2\n", encoding="utf-8")
    Path("adapter.py").write_text(
        f"import {library}\nfrom posenc_conformance import claims\n"
        "class Adapter:\n    @claims('half')\n"
        f"    def rope(self, x, positions, *, base):\n        return {library}.FACTOR * x\n",
        encoding="utf-8",
    )


def repeated(folder: Path, *options: str) -> list[str]:
    """Run pytest in a project; return the words of the command that its failure prints."""
    arguments = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--impl=adapter.py"]
    asked = ["rope.yaml", "-k", "half-d4-start", *options]
    done = subprocess.run([*arguments, *asked], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 1, done.stdout + done.stderr
    command = next(line for line in done.stdout.splitlines() if line.startswith("alone"))
    return shlex.split(command.removeprefix("alone"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "settings"),
    [
        ("pyproject.toml", '[tool.pytest.ini_options]\npythonpath = ["src"]\n'),
        ("pytest.ini", "[pytest]\npythonpath = src\naddopts = --posenc-report=report.json\n"),
    ],
)
def test_the_search_path_of_pytest_is_that_of_a_snippet(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    file: str,
    settings: str,
) -> None:
    library = f"lib_of_{file.partition('.')[0]}"
    project(tmp_path, monkeypatch, library=library)
    Path(file).write_text(settings, encoding="utf-8")
    program, *arguments = repeated(tmp_path)
    assert program == "posenc"
    report = Path("report.json")
    before = report.read_bytes() if report.exists() else b""
    monkeypatch.setattr(sys, "path", [*sys.path])
    assert main(arguments) == 0
    assert shows_a_failure(ran(capsys.readouterr().out, tmp_path / "elsewhere"))
    assert (report.read_bytes() if report.exists() else b"") == before


@pytest.mark.slow
def test_options_of_the_run_are_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project(tmp_path, monkeypatch, library="lib_apart")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "src"), prepend=os.pathsep)
    options = ["--posenc-examples=2", "--posenc-seed=3", "--posenc-timeout=30.0"]
    options += ["--posenc-memory=8GB", f"--posenc-python={sys.executable}", "--posenc-largest=64"]
    arguments = repeated(tmp_path, *options)[1:]
    assert sorted(arguments[3:]) == sorted(options)
    assert "lib_apart" not in sys.modules
    assert main(arguments) == 0  # the library is found by the other interpreter alone
    assert shows_a_failure(ran(capsys.readouterr().out, tmp_path / "elsewhere"))
    assert repeated(tmp_path, "--posenc-here")[4:] == ["--posenc-here"]
