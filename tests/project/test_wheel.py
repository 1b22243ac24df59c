"""The built wheel holds all that a run in an empty folder needs."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from posenc_conformance.commands.export.export_command import SCHEMA as VECTORS_SCHEMA
from posenc_conformance.commands.init.languages import LANGUAGES
from posenc_conformance.scheme_file.read import SCHEMA_NAME, scheme_paths
from tests.building import CHECKOUT


@pytest.mark.slow
def test_the_wheel_runs_from_an_empty_folder(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path)]
    subprocess.run([*build, str(CHECKOUT)], check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    unpacked = tmp_path / "unpacked"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(unpacked)
        # No clock, so that a second build gives the same bytes.
        assert {member.date_time[:3] for member in archive.infolist()} == {(2020, 2, 2)}
    kit = unpacked / "posenc_conformance"
    schemes = (str(path.relative_to(CHECKOUT / "spec")) for path in scheme_paths())
    for name in (SCHEMA_NAME, VECTORS_SCHEMA, *schemes):
        assert (kit / "spec" / name).is_file(), name
    for name in (
        "report/report.schema.json",
        "commands/init/unfilled.py.txt",
        "py.typed",
    ):
        assert (kit / name).is_file(), name
    for language in LANGUAGES.values():
        for name in (language.harness, f"adapter.{language.ending}"):
            assert (kit / "harness" / language.place / name).is_file(), name
    for path in (CHECKOUT / "conformance/posenc_conformance/commands/judge").rglob("*.*"):
        if path.suffix in (".py", ".yaml"):
            within = path.relative_to(CHECKOUT / "conformance/posenc_conformance")
            assert (kit / within).is_file(), within
    for name in ("__init__.pyi", "py.typed"):
        assert (unpacked / "posenc" / name).is_file(), name

    assert (kit / "implementations" / "torch.py").is_file()
    assert not (kit / "implementations" / "board").exists(), "only the scoreboard needs these"

    empty = tmp_path / "empty"
    empty.mkdir()
    code = (
        f"import sys; sys.path.insert(0, {str(unpacked)!r}); import pytest; "
        "from posenc_conformance.scheme_file.read import spec_folder; "
        f"assert str(spec_folder()).startswith({str(unpacked)!r}); "
        "sys.exit(pytest.main(['-q', '--impl=reference', '-m', 'golden']))"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=empty, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "passed" in run.stdout
