"""``posenc export``: what it writes and refuses, and which changes it reports."""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from posenc_conformance.commands.export.export_command import INDEX, SCHEMA
from posenc_conformance.commands.export.formats import FORMS
from posenc_conformance.commands.export.vector_document import of_json
from posenc_conformance.commands.main import main

FEW = ("--scheme=integer,causal_mask", "--scheme=kerple", "--dtype=bfloat16")
NAMES = ["causal-mask.boolean", "integer.bfloat16", "kerple.bfloat16"]


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("export") / "vectors"
    assert main(["export", *FEW, f"--out={folder}"]) == 0
    return folder


@pytest.fixture
def folder(written: Path, tmp_path: Path) -> Path:
    """Return a copy of an export that a test may change."""
    return Path(shutil.copytree(written, tmp_path / "vectors"))


def test_it_writes_every_scheme_dtype_and_form(written: Path) -> None:
    expected = {f"{name}.{form.ending}" for name in NAMES for form in FORMS.values()}
    assert {path.name for path in written.iterdir()} == expected | {INDEX, SCHEMA}
    assert [path.name for path in written.parent.iterdir()] == ["vectors"]


@pytest.mark.slow
def test_a_new_export_is_up_to_date(written: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "--check", str(written)]) == 0
    assert capsys.readouterr().out == f"{written}: an export would change nothing\n"


def test_another_export_replaces_the_whole_folder(folder: Path) -> None:
    assert main(["export", "--scheme=integer", "--form=json", f"--out={folder}"]) == 0
    assert sorted(path.name for path in folder.iterdir()) == [
        "integer.float32.json", INDEX, SCHEMA
    ]  # fmt: skip


def test_an_empty_folder_is_accepted(tmp_path: Path) -> None:
    assert main(["export", "--scheme=integer", "--form=text", f"--out={tmp_path}"]) == 0
    assert (tmp_path / "integer.float32.txt").is_file()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("--scheme=ropes", "did you mean 'rope'?"),
        ("--scheme=", "there is no scheme ''"),
        ("--dtype=float23", "did you mean 'float32'?"),
        ("--dtype=boolean", "always exported"),
        ("--form=safetensor", "did you mean 'safetensors'?"),
    ],
)
def test_unknown_names_are_refused(
    given: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", given, f"--out={tmp_path / 'new'}"]) == 2
    assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def filled(place: Path) -> Path:
    place.mkdir()
    (place / "notes.txt").write_text("mine", encoding="utf-8")
    return place


def mixed(place: Path) -> Path:
    """Export into a folder and add a foreign file."""
    assert main(["export", "--scheme=integer", "--form=json", f"--out={place}"]) == 0
    (place / "notes.txt").write_text("mine", encoding="utf-8")
    return place


def claimed(place: Path) -> Path:
    """Make a folder with a file and an invalid index."""
    filled(place)
    (place / INDEX).write_text('{"files": "notes.txt"}', encoding="utf-8")
    return place


def file(place: Path) -> Path:
    place.write_text("mine", encoding="utf-8")
    return place


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (filled, "notes.txt"),
        (mixed, "notes.txt"),
        (claimed, "holds notes.txt and 1 more"),
        (file, "is no folder"),
        (lambda place: place / "inner", "make it first"),
        (lambda place: place.with_name("x" * 300), "cannot be written"),
        (lambda place: Path("\0"), "cannot be written"),
        (lambda place: Path(place.anchor), "no export wrote that"),
    ],
)
def test_folders_that_cannot_be_written_are_refused_before_any_work(
    make: Callable[[Path], Path],
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = make(tmp_path / "vectors")
    before = sorted(tmp_path.rglob("*"))
    monkeypatch.setattr("posenc_conformance.commands.export.export_command.vectors_of", None)
    assert main(["export", f"--out={place}"]) == 2
    output = capsys.readouterr().err
    assert said in output
    assert "hint: " in output
    assert sorted(tmp_path.rglob("*")) == before


def test_a_folder_without_rights_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everywhere
    assert main(["export", "--scheme=integer", f"--out={tmp_path / 'new'}"]) == 2
    assert f"{tmp_path} cannot be written into" in capsys.readouterr().err


def test_files_of_an_earlier_export_are_removed_and_others_stay(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Even with --force, files that no export wrote are never removed."""
    (folder / "notes.txt").write_text("mine", encoding="utf-8")
    (folder / "kerple.bfloat16.txt").write_text("mine", encoding="utf-8")
    order = ["export", "--scheme=integer", "--dtype=bfloat16", "--form=json", f"--out={folder}"]
    assert main(order) == 2
    assert "notes.txt" in capsys.readouterr().err
    assert main([*order, "--force"]) == 0
    assert sorted(path.name for path in folder.iterdir()) == [
        "integer.bfloat16.json", "kerple.bfloat16.txt", "notes.txt", INDEX, SCHEMA
    ]  # fmt: skip
    assert (folder / "kerple.bfloat16.txt").read_text(encoding="utf-8") == "mine"


def test_an_index_that_names_files_elsewhere_removes_none(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    (folder / "away").symlink_to(tmp_path / "notes.txt")
    path = folder / INDEX
    index = json.loads(path.read_bytes())
    digest = hashlib.sha256(b"mine").hexdigest()
    for name in ("../notes.txt", "away"):
        index["files"].append(name)
        index["sha256"][name] = digest
    index["files"].sort()
    path.write_text(f"{json.dumps(index, indent=1)}\n", encoding="utf-8")
    assert main(["export", "--scheme=integer", f"--out={folder}"]) == 2
    assert main(["export", "--scheme=integer", "--force", f"--out={folder}"]) == 0
    assert (tmp_path / "notes.txt").read_text(encoding="utf-8") == "mine"
    assert (folder / "away").is_symlink()


def replaced(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def first(folder: Path, name: str = "kerple.bfloat16.json") -> str:
    return of_json((folder / name).read_bytes()).cases[0].id


CHANGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "an expected value": (
        lambda at: replaced(at / "integer.bfloat16.txt", "element 0 0.0 ", "element 0 1.0 "),
        r"integer.bfloat16.txt: case [\w-]+: expected at 0 was 1.0, is now 0.0",
    ),
    "an allowed error": (
        lambda at: replaced(at / "integer.bfloat16.json", "[0, 0.0, 0.0]", "[0, 0.0, 0.5]"),
        r"integer.bfloat16.json: case [\w-]+: allowed at 0 was 0.5, is now 0.0",
    ),
    "an element less": (
        lambda at: replaced(at / "integer.bfloat16.json", "[[0, 0.0, 0.0], ", "["),
        r"integer.bfloat16.json: case [\w-]+: element 0 is new",
    ),
    "bits of an argument": (
        lambda at: replaced(at / "kerple.bfloat16.json", '"bits": [', '"bits": [1'),
        r"kerple.bfloat16.json: case [\w-]+: argument r1 is bfloat16 \[\d\] \[.*\], now bfloat16",
    ),
    "a note": (
        lambda at: replaced(at / "kerple.bfloat16.txt", "\nkills ", "\nkills-some "),
        r"kerple.bfloat16.txt: case [\w-]+: kills is ",
    ),
    "a case's name": (
        lambda at: replaced(at / "kerple.bfloat16.json", f'"id": "{first(at)}"', '"id": "old"'),
        r"(?s)kerple.bfloat16.json: case old is no longer exported\n.*: case [\w-]+ is new",
    ),
    "a title": (
        lambda at: replaced(at / "kerple.bfloat16.json", '"title": "', '"title": "The '),
        r"kerple.bfloat16.json: what it says under 'title' has changed",
    ),
    "the rule": (
        lambda at: replaced(at / "kerple.bfloat16.json", "NaN is wrong", "NaN is right"),
        r"kerple.bfloat16.json: its note has changed",
    ),
    "the format": (
        lambda at: replaced(at / "kerple.bfloat16.json", '-vectors": 1', '-vectors": 9'),
        r"kerple.bfloat16.json: is damaged: .*format 1",
    ),
    "half a file of arrays": (
        lambda at: halved(at / "kerple.bfloat16.safetensors"),
        r"kerple.bfloat16.safetensors: is damaged",
    ),
    "half an archive": (
        lambda at: halved(at / "kerple.bfloat16.npz"),
        r"kerple.bfloat16.npz: is damaged",
    ),
    "half a text": (
        lambda at: halved(at / "kerple.bfloat16.txt"),
        r"kerple.bfloat16.txt: is damaged: .*it ends within a case",
    ),
    "another scheme's file": (
        lambda at: shutil.copy(at / "integer.bfloat16.json", at / "kerple.bfloat16.json"),
        r"kerple.bfloat16.json: holds integer.bfloat16 in place of kerple.bfloat16",
    ),
    "a file less": (
        lambda at: (at / "kerple.bfloat16.npz").unlink(),
        r"kerple.bfloat16.npz cannot be read: No such file",
    ),
    "a file more": (
        lambda at: (at / "rope.bfloat16.npz").touch(),
        r"rope.bfloat16.npz: is no longer exported, or never was",
    ),
    "the schema": (
        lambda at: (at / SCHEMA).write_text("{", encoding="utf-8"),
        r"vectors.schema.json: is not that of this version",
    ),
    "a scheme that has gone": (
        lambda at: replaced(at / INDEX, '"integer"', '"integers"'),
        r"integers: there is no such scheme any more",
    ),
}  # fmt: skip


def halved(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


@pytest.mark.parametrize(("change", "said"), CHANGES.values(), ids=CHANGES)
def test_check_reports_what_has_changed(
    change: Callable[[Path], object], said: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change(folder)
    assert main(["export", "--check", str(folder)]) == 1
    output = capsys.readouterr().out
    assert re.search(said, output), output


def test_formatting_is_no_change(folder: Path) -> None:
    path = folder / "kerple.bfloat16.json"
    path.write_text(json.dumps(json.loads(path.read_bytes()), indent=3), encoding="utf-8")
    assert main(["export", "--check", str(folder)]) == 0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--check", "no-such-folder"], "holds no exported vectors"),
        (["--check", "."], "holds no exported vectors"),
        (["--check", ".", "--scheme=rope"], "the folder says what it holds"),
    ],
)
def test_check_of_nothing_is_refused(
    given: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["export", *given]) == 2
    assert said in capsys.readouterr().err


def test_an_invalid_index_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    replaced(folder / INDEX, '"bfloat16"', '"bfloat17"')
    assert main(["export", "--check", str(folder)]) == 2
    assert "export anew" in capsys.readouterr().err


@pytest.mark.slow
def test_a_users_own_scheme_is_exported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "own").mkdir()
    assert main(["new", "own-bias", "--family=bias", f"--to={tmp_path / 'own'}"]) == 0
    out = tmp_path / "vectors"
    options = [f"--posenc-schemes={tmp_path / 'own'}", "--scheme=own-bias", f"--out={out}"]
    assert main(["export", *options]) == 0
    assert (out / "own-bias.float32.json").is_file()
    assert main(["export", f"--posenc-schemes={tmp_path / 'own'}", "--check", str(out)]) == 0
