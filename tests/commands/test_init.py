"""``posenc init``: its claims for libraries in many styles, right and wrong."""

import importlib
import subprocess
import sys
from pathlib import Path
from textwrap import indent

import pytest

from posenc_conformance.adapters.find import load_adapter
from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.commands.main import main
from posenc_conformance.judge.subject import Subject
from posenc_conformance.registry import load_all
from tests.building import with_torch
from tests.commands.initialised import written
from tests.libraries import right, wrong

pytestmark = pytest.mark.remembered(shipped=True)


def judged(path: Path, checks: str) -> subprocess.CompletedProcess[str]:
    """Run pytest in a new process: pytester would import torch twice, which crashes it."""
    command = [sys.executable, "-m", "pytest", f"--impl={path}", checks, "-q"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def claimed(path: Path) -> dict[str, Subject]:
    """Return the subject of each call that an adapter claims; of several conventions, the first."""
    covered = subjects(load_adapter(str(path)).adapter, load_all())
    return {subject.call.name: subject for subject in reversed(covered)}


@pytest.mark.draws
@pytest.mark.parametrize(
    "library",
    with_torch(right.LIBRARIES, lambda library: library.source),
    ids=lambda library: library.name,
)
def test_a_right_library_is_claimed_as_what_it_is(folder: Path, library: right.Library) -> None:
    subject = claimed(written(folder, f"right_{library.name}", library.source))[library.call]
    assert subject.label == library.combination
    assert set(library.dtypes) <= set(subject.dtypes)
    for scope in subject.scopes:
        restricted = {k: v for k, v in scope.parameters.items() if k not in ("head_dim", "dim")}
        assert restricted == library.parameters
        assert scope.max_position == library.max_position


@pytest.mark.slow
@pytest.mark.parametrize(
    "library",
    with_torch(wrong.LIBRARIES, lambda library: library.source),
    ids=lambda library: library.name,
)
def test_a_wrong_library_is_claimed_as_the_nearest_and_fails(
    folder: Path, library: wrong.Library
) -> None:
    path = written(folder, f"wrong_{library.name}", library.source)
    subject = claimed(path)[library.call]
    assert subject.label == library.combination
    result = judged(path, f"{subject.scheme.path.name}::golden")
    assert result.returncode == pytest.ExitCode.TESTS_FAILED
    assert library.mistake in result.stdout


@pytest.mark.slow
def test_a_function_near_no_scheme_is_left_to_the_user(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = """
import numpy as np

def apply_rope(x, positions):
    return np.sort(x) * np.tanh(positions)[:, None] + 3

def sinusoidal_encoding(positions, dim):
    omega = 10000.0 ** (-np.arange(dim // 2) / (dim // 2))
    angles = np.outer(positions, omega)
    return np.concatenate([np.sin(angles), np.cos(angles)], -1)
"""
    path = written(folder, "half_known", source)
    assert claimed(path).keys() == {"sinusoidal"}
    assert "apply_rope" in path.read_text(encoding="utf-8")
    assert "apply_rope" in capsys.readouterr().out


@pytest.mark.torch
def test_a_class_whose_static_method_is_known_is_not_said_to_fit_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    imports, _, function = right.T5_BUCKET.partition("\n\n")
    method = indent(function, "    ")
    source = f"{imports}\n\nclass RelativePositionBias:\n    @staticmethod\n{method}\n"
    path = written(folder, "of_static_method", source)
    assert claimed(path).keys() == {"t5_bucket"}
    assert "nothing" not in capsys.readouterr().out


@pytest.mark.slow
def test_parameters_left_at_their_defaults_are_listed_as_not_judged(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = right.NUMPY_FUNCTION.replace("):", ", n_previous=0):", 1)
    path = written(folder, "of_defaults", source)
    words = "not judged: n_previous"
    assert words in capsys.readouterr().out
    assert words in path.read_text(encoding="utf-8")


@pytest.mark.slow
def test_an_adapter_of_a_library_runs_as_it_was_written(folder: Path) -> None:
    path = written(folder, "as_written", right.NUMPY_FUNCTION)
    assert judged(path, "rope.yaml").returncode == pytest.ExitCode.OK


def test_a_class_that_cannot_be_made_is_left_to_the_user(folder: Path) -> None:
    source = (
        "class PositionalEncoding:\n    def __init__(self, dim):\n        raise OSError('no GPU')\n"
    )
    path = written(folder, "that_cannot_be_made", source)
    assert "def rope(" in path.read_text(encoding="utf-8")


def test_a_library_without_encodings_gives_the_template(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(folder, "of_no_kind", "def add(a, b):\n    return a + b\n")
    assert "def rope(" in path.read_text(encoding="utf-8")
    assert "of_no_kind" in capsys.readouterr().out


def test_an_adapter_in_which_nothing_was_found_claims_nothing_until_it_is_filled_in(
    folder: Path,
) -> None:
    path = written(folder, "of_bags", "def apply_rope(bag):\n    return bag\n")
    text = path.read_text(encoding="utf-8")
    assert "posenc init looked at apply_rope" in text
    done = judged(path, "rope.yaml")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "nothing to judge" in done.stderr
    path.write_text(text.replace("# @claims", "@claims"), encoding="utf-8")
    assert claimed(path).keys() == {"rope"}


@pytest.mark.parametrize(
    ("name", "source"),
    [("raises", "raise RuntimeError('no licence')"), ("leaves", "raise SystemExit(3)")],
)
def test_a_library_that_cannot_be_imported_is_one_message(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str, source: str
) -> None:
    (folder / f"that_{name}.py").write_text(source, encoding="utf-8")
    importlib.invalidate_caches()
    assert main(["init", f"that_{name}"]) == 2
    message = capsys.readouterr().err
    assert f"that_{name}" in message
    assert "Traceback" not in message
    assert not (folder / f"that_{name}_adapter.py").exists()


@pytest.mark.parametrize("name", ["no_such.module", "no_such:Rope", "math:no_such", "no_such.py"])
def test_a_missing_target_is_reported_and_nothing_written(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    assert main(["init", name]) == 2
    assert "hint" in capsys.readouterr().err
    assert list(folder.iterdir()) == []


@pytest.mark.slow
def test_one_attribute_or_a_file_can_be_chosen(folder: Path) -> None:
    both = right.NUMPY_FUNCTION + right.SINUSOID_WHISPER
    (folder / "of_two.py").write_text(both, encoding="utf-8")
    importlib.invalidate_caches()
    assert main(["init", "of_two:sinusoids"]) == 0
    assert claimed(folder / "sinusoids_adapter.py").keys() == {"sinusoidal"}
    assert main(["init", "of_two.py"]) == 0
    assert claimed(folder / "of_two_adapter.py").keys() == {"rope", "sinusoidal"}


@pytest.mark.slow
def test_schemes_restrict_the_search(folder: Path) -> None:
    both = right.NUMPY_FUNCTION + right.SINUSOID_WHISPER
    (folder / "for_one.py").write_text(both, encoding="utf-8")
    importlib.invalidate_caches()
    assert main(["init", "for_one", "rope", "alibi"]) == 0
    path = folder / "for_one_adapter.py"
    assert claimed(path).keys() == {"rope"}
    assert "# def alibi_bias(" in path.read_text(encoding="utf-8")


def test_an_adapter_in_another_language_is_written_next_to_its_harness(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["init", "my-kernels", "--language=rust"]) == 0
    assert {file.name for file in folder.iterdir()} == {
        "my_kernels_adapter.rs",
        "posenc_harness.rs",
    }
    assert "rustc" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--language=cobol"], "rust"),
        (["rope", "--language=c"], "takes no schemes"),
        (["--language=go"], "exists"),
    ],
)
def test_a_request_for_a_language_that_fails_is_one_message(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    (folder / "kernels_adapter.go").write_text("", encoding="utf-8")
    assert main(["init", "kernels", *arguments]) == 2
    assert words in capsys.readouterr().err
    assert [file.name for file in folder.iterdir()] == ["kernels_adapter.go"]


IN_CHUNKS = """
import numpy as np

CHUNK = 700
_BLOCK_SIZE = 64
BLOCK_D = 32


def _rotated(x, angles):
    a, b = np.split(x.astype(float), 2, axis=-1)
    c, s = np.cos(angles), np.sin(angles)
    return np.concatenate([a * c - b * s, b * c + a * s], -1).astype(x.dtype)


def apply_rope(x, positions, theta=10000.0, *, block_rows: int = 2 * 48):
    half = x.shape[-1] // 2
    angles = np.outer(positions, theta ** (-np.arange(half) / half))
    if x.shape[-2] > CHUNK:
        rows = range(0, len(positions), CHUNK)
        parts = [(x[..., i:i + CHUNK, :], angles[i:i + CHUNK]) for i in rows]
        return np.concatenate([_rotated(*each) for each in parts], axis=-2)
    return _rotated(x, ANGLES)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("angles", "wrong"), [("angles", False), ("angles + (len(positions) == CHUNK)", True)]
)
def test_block_sizes_are_claimed_as_switches(folder: Path, angles: str, wrong: bool) -> None:
    """One of the two rotates too far where the rows just fill a chunk."""
    path = written(folder, f"in_chunks_{int(wrong)}", IN_CHUNKS.replace("ANGLES", angles))
    (scope,) = claimed(path)["rope"].scopes
    assert scope.switches == {"rows": (64, 96, 700)}
    run = judged(path, "rope.yaml::behaviour")
    assert (run.returncode == 1) == wrong, run.stdout[-2000:]
    assert ("700" in run.stdout) == wrong


def test_other_constants_are_no_switches(folder: Path) -> None:
    source = right.NUMPY_FUNCTION + "\n\nBLOCK_D = 64\nMAX_BASE = 10000\nCHUNK = 10**9\n"
    (scope,) = claimed(written(folder, "without_blocks", source))["rope"].scopes
    assert scope.switches == {}
