"""``posenc init`` on packages of which some modules fail, and on files in packages."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from posenc_conformance.commands.main import main
from tests.libraries import keys

ROTARY = keys.MODULE.replace("KEYS", keys.OF_HALVES)
NEEDY = "import a_package_that_is_missing\n"


@pytest.fixture
def package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Path:
    """Make an empty package with a name of its own in an empty folder, and change to the folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    folder = tmp_path / f"pack_{abs(hash(request.node.name))}"
    folder.mkdir()
    (folder / "__init__.py").touch()
    importlib.invalidate_caches()
    return folder


def put(package: Path, **files: str) -> None:
    for name, source in files.items():
        path = package.joinpath(*name.split("__")).with_suffix(".py")
        path.parent.mkdir(exist_ok=True)
        path.write_text(source, encoding="utf-8")


def runs(adapter: str) -> str:
    """Judge an adapter in a new process, in which nothing is imported yet; return its output."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", f"--impl={adapter}"]
    command += ["rope.yaml", "rope-kernel.yaml", "-m", "smoke or golden"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.slow
def test_a_package_that_fails_is_searched_by_modules(
    package: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(package, rope=ROTARY, plots=NEEDY)
    (package / "__init__.py").write_text("from .plots import anything\n", encoding="utf-8")
    assert main(["init", package.name]) == 0
    said = capsys.readouterr().out
    assert (
        f"{package.name} cannot be imported (ModuleNotFoundError: No module named 'a_pack" in said
    )
    assert f"{package.name}.plots was not looked at: ModuleNotFoundError: No module named" in said
    assert "rope_query_key: RotaryEmbedding behaves like query-key-half" in said
    runs(f"{package.name}_adapter.py")
    assert "query-key-half" in runs(package.name)


@pytest.mark.slow
@pytest.mark.parametrize(
    "failure",
    [
        "raise RuntimeError('no GPU found')",
        "raise ValueError('unset')",
        "{}['HOME_OF_IT']",
        "assert not __name__",
        "raise SystemExit('needs CUDA')",
    ],
    ids=lambda failure: re.sub(r"\W+", "-", failure),
)
def test_a_package_that_fails_for_any_reason_is_searched_by_modules(
    package: Path, capsys: pytest.CaptureFixture[str], failure: str
) -> None:
    put(package, rope=ROTARY)
    (package / "__init__.py").write_text(f"{failure}\n", encoding="utf-8")
    assert main(["init", package.name]) == 0
    assert "so only its modules are looked at" in capsys.readouterr().out
    assert "query-key-half" in runs(f"{package.name}.rope")


@pytest.mark.slow
def test_modules_of_a_subpackage_that_fails_are_searched(
    package: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(package, kernels__rope=ROTARY)
    (package / "kernels" / "__init__.py").write_text(NEEDY, encoding="utf-8")
    assert main(["init", package.name]) == 0
    assert f"{package.name}.kernels cannot be imported" in capsys.readouterr().out
    runs(f"{package.name}_adapter.py")


def test_a_package_that_works_is_not_replaced(package: Path) -> None:
    put(package, rope=ROTARY, plots=NEEDY)
    (package / "__init__.py").write_text("from .rope import RotaryEmbedding\n", encoding="utf-8")
    assert main(["init", package.name]) == 0
    assert "bare_package" not in Path(f"{package.name}_adapter.py").read_text(encoding="utf-8")
    assert sys.modules[package.name].__file__


def test_a_package_of_which_nothing_works_is_one_message(
    package: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (package / "__init__.py").write_text(NEEDY, encoding="utf-8")
    put(package, rope=NEEDY)
    assert main(["init", package.name]) == 2
    assert "cannot be imported: ModuleNotFoundError" in capsys.readouterr().err
    assert main(["init", f"{package.name}.rope"]) == 2
    assert "cannot be imported: ModuleNotFoundError" in capsys.readouterr().err


def test_a_module_of_a_package_that_fails_is_found(package: Path) -> None:
    (package / "__init__.py").write_text(NEEDY, encoding="utf-8")
    put(package, rope=ROTARY)
    assert main(["init", f"{package.name}.rope"]) == 0
    assert f'bare_package("{package.name}")' in Path("rope_adapter.py").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("in_package", [True, False])
def test_a_file_with_relative_imports_is_one_of_its_package(
    package: Path, in_package: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = "from .rope import halves\n\ndef apply_rope(x, positions, base=10000.0):\n"
    put(package, rope=ROTARY, used=source + "    return halves(x, positions, base)\n")
    if not in_package:
        (package / "__init__.py").unlink()
    monkeypatch.chdir(package)
    assert main(["init", "used.py"]) == 0
    runs("used_adapter.py")
    assert "apply_rope behaves like half" in runs("used.py")
