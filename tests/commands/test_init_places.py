"""Where ``posenc init`` finds a library, and where its adapter finds it later."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from posenc_conformance.commands.main import main
from tests.libraries import keys

RIGHT = keys.MODULE.replace("KEYS", keys.OF_HALVES)
POSENC = "import sys; from posenc_conformance.commands.main import main; sys.exit(main())"


def write(file: str, text: str = RIGHT) -> None:
    Path(file).parent.mkdir(parents=True, exist_ok=True)
    Path(file).write_text(text, encoding="utf-8")


def passes(adapter: Path, cwd: Path) -> bool:
    """Return whether pytest passes an adapter from a working directory."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", f"--impl={adapter}"]
    done = subprocess.run(
        [*command, "rope.yaml", "-m", "smoke", "-q"],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("library", ["src/near_it/of_src.py", "../lib/of_beside.py"])
def test_an_adapter_near_its_library_can_be_moved_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    (tmp_path / "a/project").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "a/project")
    monkeypatch.setattr(sys, "path", [*sys.path])
    write(library)
    assert main(["init", library]) == 0
    name = f"{Path(library).stem}_adapter.py"
    assert str(tmp_path) not in Path(name).read_text(encoding="utf-8")
    shutil.move(tmp_path / "a", tmp_path / "b")
    assert passes(tmp_path / "b/project" / name, tmp_path)


def test_an_adapter_far_from_its_library_has_the_whole_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / "a/b/c/d"
    deep.mkdir(parents=True)
    monkeypatch.chdir(deep)
    monkeypatch.setattr(sys, "path", [*sys.path])
    write(str(tmp_path / "far_away.py"))
    assert main(["init", str(tmp_path / "far_away.py")]) == 0
    assert repr(str(tmp_path)) in Path("far_away_adapter.py").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "settings"),
    [
        ("pyproject.toml", '[tool.pytest.ini_options]\npythonpath = ["src"]\n'),
        ("pytest.ini", "[pytest]\npythonpath = src\n"),
    ],
)
def test_a_library_on_the_search_path_of_pytest_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, settings: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write("src/on_the_path.py")
    command = [sys.executable, "-c", POSENC, "init", "on_the_path", "--force"]

    def said() -> str:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return done.stdout

    assert "no module called on_the_path" in said()
    write(file, settings)
    assert "rope: RotaryEmbedding behaves like half" in said()
    assert passes(tmp_path / "on_the_path_adapter.py", tmp_path)
