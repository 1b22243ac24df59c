"""Commands that write files: they replace their own, and lose nobody else's."""

import ast
import errno
import json
import os
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from posenc_conformance.commands.goldens import write as write_goldens
from posenc_conformance.commands.main import main
from posenc_conformance.errors import UserError
from posenc_conformance.files import write_whole
from posenc_conformance.registry import load_scheme
from posenc_conformance.report import document
from posenc_conformance.scheme_file.read import paths_by_name
from tests.building import CHECKOUT

CONFIG = {
    "model_type": "llama",
    "hidden_size": 128,
    "num_attention_heads": 4,
    "num_hidden_layers": 1,
    "head_dim": 8,
    "intermediate_size": 64,
    "vocab_size": 300,
    "max_position_embeddings": 1024,
    "rope_theta": 1e4,
    "rms_norm_eps": 1e-5,
}
CHECK = {
    **{"id": "a", "scheme": "rope", "call": "rope", "combination": "half", "dtype": "float32"},
    **{"level": "golden", "verdict": "failed", "worst": 2.0, "horizon": None, "message": "no"},
    **{"explanations": [["wrong-base", "base 500"]], "left_out": "", "curve": []},
    **{"exact_angles": None, "horizon_is_claim": None},
}
COUNTS = dict.fromkeys(("passed", "failed", "known", "blocked", "silent"), 0)
REPORT = {
    **{"posenc-report": 1, "kit": "0", "implementation": {"name": "mine", "versions": {}}},
    **{"schemes": ["rope"], "rows": [], "diagnoses": [], "checks": [CHECK], "not_claimed": []},
    **{"not_asked": {}, "combinations_not_claimed": {}},
    "summary": {"checks": 1, **COUNTS, "failed": 1, "not_selected": 0, "not_claimed": 0},
}
FULL = OSError(errno.ENOSPC, "No space left on device")


def run(line: str) -> Callable[[bool], int]:
    """Return a function that runs a posenc command, with or without --force."""

    def command(force: bool) -> int:
        return main([*line.split(), *(["--force"] if force else [])])

    return command


def posenc(line: str) -> int:
    """Run a posenc command; return its exit status."""
    return main(line.split())


def report(_: bool) -> int:
    """Write a report like a run with --posenc-report, which checks the place at the beginning."""
    try:
        place = document.place("report.json")
    except UserError as error:
        print(error)
        return 2
    if refusal := document.write(REPORT, place):
        print(refusal)
    return 2 if refusal else 0


@dataclass(frozen=True)
class Writing:
    """A command that writes files."""

    run: Callable[[bool], int]
    """The command, with or without --force: it returns 0, or 2 if it refuses."""
    files: tuple[str, ...]
    owns: bool = True
    """Whether the kit keeps ownership of the files; users edit the others."""
    has_force: bool = True


PROBE = (
    *("config.json", "generation_config.json", "model.safetensors"),
    *("tokenizer.json", "tokenizer.model", "tokenizer_config.json"),
)
SKELETON = ("secret.yaml", "secret_reference.py", "secret_oracle.py", "secret_kit.py")
WRITERS: Mapping[str, Writing] = {
    "probe": Writing(run("probe c.json --out out"), tuple(f"out/{name}" for name in PROBE)),
    "probe --gguf": Writing(run("probe c.json --gguf --out p.gguf"), ("p.gguf",)),
    "export": Writing(
        run("export --scheme=integer --form=json --out out"),
        ("out/integer.float32.json", "out/posenc-vectors.json", "out/vectors.schema.json"),
    ),
    "badge": Writing(run("badge r.json --to out"), ("out/rope.json", "out/rope.svg")),
    "--posenc-report": Writing(report, ("report.json",), has_force=False),
    "init": Writing(run("init no_library"), ("no_library_adapter.py",), owns=False),
    "init --language": Writing(
        run("init kernels --language=go"), ("kernels_adapter.go",), owns=False
    ),
    "new": Writing(run("new secret --family bias --to ."), SKELETON, owns=False),
    "known": Writing(run("known r.json known.yaml"), ("known.yaml",), owns=False),
}
"""All commands that write, but goldens --write, which changes users' own files on request."""


def each_file(applies: Callable[[Writing], bool] = lambda _: True) -> pytest.MarkDecorator:
    """Parametrise a test by writers, and by each file that they write."""
    cases = [
        pytest.param(writer, file, id=f"{name}-{Path(file).name}")
        for name, writer in WRITERS.items()
        for file in writer.files
        if applies(writer)
    ]
    return pytest.mark.parametrize(("writing", "file"), cases)


def all_writers(applies: Callable[[Writing], bool] = lambda _: True) -> pytest.MarkDecorator:
    """Parametrise a test by writers."""
    cases = [pytest.param(writer, id=name) for name, writer in WRITERS.items() if applies(writer)]
    return pytest.mark.parametrize("writing", cases)


def has_folder(writing: Writing) -> bool:
    return writing.files[0].startswith("out/")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to a folder with the commands' inputs and no outputs."""
    inner = tmp_path / "inner"
    inner.mkdir()
    monkeypatch.chdir(inner)
    monkeypatch.setattr("posenc_conformance.commands.new.new_command._fill", lambda _: iter(()))
    Path("c.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    Path("r.json").write_text(json.dumps(REPORT), encoding="utf-8")
    return inner


def contents() -> dict[str, bytes]:
    """Return the contents of all files here by path, hidden ones included."""
    return {str(path): path.read_bytes() for path in sorted(Path().rglob("*")) if path.is_file()}


def said(capsys: pytest.CaptureFixture[str]) -> str:
    out = capsys.readouterr()
    return out.out + out.err


@pytest.mark.slow
@all_writers()
def test_new_files_are_written_and_its_own_replaced(writing: Writing) -> None:
    assert writing.run(False) == 0
    first = contents()
    assert set(writing.files) <= first.keys()
    assert writing.run(False) == (0 if writing.owns else 2)
    assert contents() == first


@each_file()
def test_a_foreign_file_is_refused_and_stays(
    writing: Writing, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is refused by itself, and among the writer's own files."""
    Path(file).parent.mkdir(exist_ok=True)
    Path(file).write_text("three weeks of training", encoding="utf-8")
    before = contents()
    assert writing.run(False) == 2
    words = said(capsys)
    assert Path(file).name in words
    assert ("--force" in words) == writing.has_force
    assert contents() == before
    Path(file).unlink()
    assert writing.run(False) == 0
    Path(file).write_text("three weeks of training", encoding="utf-8")
    before = contents()
    assert writing.run(False) == 2
    assert contents() == before


@each_file(lambda writer: writer.run is not report)
def test_an_edited_file_is_refused_and_stays(writing: Writing, file: str) -> None:
    """A report is the exception: it is recognised by its beginning."""
    assert writing.run(False) == 0
    content = bytearray(Path(file).read_bytes())
    content[-2] ^= 1
    Path(file).write_bytes(content)
    before = contents()
    assert writing.run(False) == 2
    assert contents() == before


@pytest.mark.slow
@each_file(lambda writer: writer.has_force)
def test_force_replaces_only_the_file_in_the_way(writing: Writing, file: str) -> None:
    assert writing.run(False) == 0
    first = contents()
    Path(file).write_text("in the way", encoding="utf-8")
    beside = Path(file).with_name("notes.txt")
    beside.write_text("mine", encoding="utf-8")
    assert writing.run(True) == 0
    assert contents() == {**first, str(beside): b"mine"}


@pytest.mark.slow
@pytest.mark.parametrize("dangling", [False, True], ids=["link", "dangling"])
@each_file()
def test_a_link_is_not_followed(
    writing: Writing,
    file: str,
    dangling: bool,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A link is not followed even to one of the writer's own files, nor with --force."""
    assert writing.run(False) == 0
    target = tmp_path / "elsewhere"
    shutil.move(file, target)
    Path(file).symlink_to(target)
    if dangling:
        target.unlink()
    before = contents()
    for force in (False, True):
        assert writing.run(force) == 2
    assert "is a link" in said(capsys)
    assert contents() == before
    assert Path(file).is_symlink()
    assert target.exists() != dangling


@all_writers(has_folder)
def test_a_folder_that_is_a_link_is_not_followed(
    writing: Writing, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("out").symlink_to(tmp_path / "elsewhere")
    for force in (False, True):
        assert writing.run(force) == 2
        assert "out is a link" in said(capsys)
    assert not (tmp_path / "elsewhere").exists()


@all_writers()
def test_a_folder_above_may_be_reached_by_a_link(
    writing: Writing, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link").symlink_to(folder)
    monkeypatch.chdir(tmp_path / "link")
    assert writing.run(False) == 0
    assert all((folder / file).is_file() for file in writing.files)


@each_file()
def test_a_folder_or_a_pipe_in_the_place_of_a_file_is_refused(writing: Writing, file: str) -> None:
    Path(file).parent.mkdir(exist_ok=True)
    Path(file).mkdir()
    for force in (False, True):
        assert writing.run(force) == 2
    Path(file).rmdir()
    if file == "p.gguf":
        return  # it would be written into the pipe
    os.mkfifo(file)
    for force in (False, True):
        assert writing.run(force) == 2


@pytest.mark.slow
@pytest.mark.parametrize("when", [0, -1], ids=["first", "last"])
@all_writers()
def test_a_full_disk_leaves_what_was_there_and_no_draft(
    writing: Writing,
    when: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert writing.run(False) == 0
    before = contents()
    said(capsys)
    works, calls = os.fsync, []

    def full(number: int) -> None:
        calls.append(number)
        if len(calls) == 1 + when % len(writing.files):
            raise FULL
        works(number)

    monkeypatch.setattr(os, "fsync", full)
    assert writing.run(True) == 2
    words = said(capsys)
    assert words.count("No space left on device") == 1
    assert "hint: " in words
    assert contents() == before


@pytest.mark.slow
@all_writers()
def test_a_write_protected_file_is_not_replaced(
    writing: Writing, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert writing.run(False) == 0
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).is_dir())  # root may do all
    assert writing.run(False) == 2
    assert "is write-protected" in said(capsys)


def test_a_file_created_meanwhile_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    works = os.fsync

    def slow(number: int) -> None:
        Path("p.gguf").write_text("mine", encoding="utf-8")
        works(number)

    monkeypatch.setattr(os, "fsync", slow)
    assert posenc("probe c.json --gguf --out p.gguf") == 2
    assert Path("p.gguf").read_text(encoding="utf-8") == "mine"
    assert sorted(contents()) == ["c.json", "p.gguf", "r.json"]


def test_a_replaced_file_keeps_its_permissions() -> None:
    path = Path("a")
    path.touch(mode=0o600)
    write_whole(path, "b")
    assert path.stat().st_mode & 0o777 == 0o600


def test_the_longest_possible_name_is_written(folder: Path) -> None:
    name = f"{'🦜' * 62}.gguf"  # 253 bytes of the 255 that a name may have
    assert main(["probe", "c.json", "--gguf", "--out", name]) == 0
    assert (folder / name).is_file()


def test_a_name_forges_no_line(capsys: pytest.CaptureFixture[str]) -> None:
    name = "a\nposenc: fine\x1b[2J"
    assert main(["probe", "c.json", "--gguf", "--out", name]) == 0
    assert main(["probe", "c.json", "--out", name]) == 2
    assert main(["known", "r.json", f"{name}.yaml"]) == 0
    words = said(capsys)
    assert "\nposenc: fine" not in words
    assert "\x1b" not in words
    assert "a\\nposenc: fine\\x1b[2J" in words


@pytest.mark.parametrize("command", ["probe c.json --out=", "probe c.json --gguf --out="])
def test_an_empty_name_is_refused(command: str) -> None:
    before = contents()
    assert posenc(command) == 2
    assert contents() == before


# The probe, whose files have the names of any saved model.


@pytest.mark.parametrize("weights", [b"", b"\0" * 8, b"\xff" * 9, b"\2" + b"\0" * 7 + b"[]"])
def test_invalid_weights_are_no_probe(weights: bytes) -> None:
    assert posenc("probe c.json --out out") == 0
    Path("out/model.safetensors").write_bytes(weights)
    assert posenc("probe c.json --out out") == 2
    assert Path("out/model.safetensors").read_bytes() == weights


def test_another_probe_is_replaced() -> None:
    assert posenc("probe c.json --out out") == 0
    assert posenc("probe c.json --out out --dtype=float32 --spelling=transformers-5") == 0
    Path("c.json").write_text(json.dumps({**CONFIG, "rope_theta": 5e5}), encoding="utf-8")
    assert posenc("probe c.json --out out") == 0
    assert posenc("probe c.json --gguf --out p.gguf") == 0
    assert posenc("probe c.json --gguf --out p.gguf --dtype=float32") == 0


def test_leftovers_of_a_killed_run_are_replaced() -> None:
    """Some files are new, some from the old probe, and a draft is left."""
    assert posenc("probe c.json --out old") == 0
    assert posenc("probe c.json --out new --dtype=float32") == 0
    shutil.copytree("old", "out")
    shutil.copy("new/config.json", "out")
    Path("out/.tokenizer.json.0a0a0a0a.part").touch()
    assert posenc("probe c.json --out out --dtype=float32") == 0
    assert posenc("probe c.json --out out") == 0


def test_a_folder_with_something_else_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert posenc("probe c.json --out out") == 0
    Path("out/README.md").write_text("mine", encoding="utf-8")
    before = contents()
    assert posenc("probe c.json --out out --dtype=float32") == 2
    assert "holds README.md" in said(capsys)
    assert contents() == before
    assert posenc("probe c.json --out out --dtype=float32 --force") == 0
    assert Path("out/README.md").read_text(encoding="utf-8") == "mine"


def test_the_configuration_that_is_read_is_not_written_over(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("model").mkdir()
    shutil.copy("c.json", "model/config.json")
    before = contents()
    assert posenc("probe model/config.json --out model") == 2
    assert posenc("probe model/config.json --out model/config.json --gguf") == 2
    assert contents() == before
    assert said(capsys).count("--force") == 2


# Reports, badges and goldens.


@pytest.mark.parametrize(
    "text",
    ["x = 1\n", " " * 80 + "mine", '# "posenc-report" is what it writes\n', '["posenc-report"]'],
)
def test_other_files_are_not_replaced_by_a_report(text: str) -> None:
    path = Path("report.json")
    path.write_text(text, encoding="utf-8")
    assert report(False) == 2
    assert "could not be written" in document.write(REPORT, path.absolute())
    assert path.read_text(encoding="utf-8") == text


def test_a_missing_folder_is_made_for_every_file() -> None:
    place = document.place("new/a/report.json")
    assert not Path("new").exists()
    assert not document.write(REPORT, place)
    assert posenc("report new/a/report.json --html new/b/page.html") == 0
    assert posenc("known new/a/report.json new/c/known.yaml") == 0
    assert posenc("plot rope -o new/d/rope.svg") == 0
    for file in ("a/report.json", "b/page.html", "c/known.yaml", "d/rope.svg"):
        assert Path("new", file).stat().st_size


def test_a_folder_that_cannot_be_made_is_one_message(capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine").write_text("x = 1\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"--posenc-report=mine/a/r.json cannot be written"):
        document.place("mine/a/r.json")
    for line in ("report r.json --html mine/a/page.html", "plot rope -o mine/a/rope.svg"):
        assert posenc(line) == 2
        assert capsys.readouterr().err.count("cannot be written") == 1
    assert Path("mine").read_text(encoding="utf-8") == "x = 1\n"


@pytest.mark.parametrize("text", ["", "\n", '{"posenc-report": 1}', '\r\n{\r\n"posenc-report":1'])
def test_reports_and_empty_files_are_replaced(text: str) -> None:
    Path("report.json").write_text(text, encoding="utf-8")
    assert report(False) == 0


@pytest.mark.parametrize(
    ("key", "value"), [("label", "coverage"), ("message", "91 %"), ("color", "blue")]
)
def test_a_badge_of_something_else_is_not_replaced(key: str, value: str) -> None:
    assert posenc("badge r.json --to out") == 0
    for file in (Path("out/rope.json"), Path("out/rope.svg")):
        shown = json.loads(Path("out/rope.json").read_bytes())[key]
        own = file.read_text(encoding="utf-8")
        file.write_text(own.replace(shown, value).replace("#b92d20", "#00f"), encoding="utf-8")
        assert posenc("badge r.json --to out") == 2
        file.write_text(own, encoding="utf-8")
    assert posenc("badge r.json --to out") == 0


@pytest.fixture
def scheme(folder: Path) -> Path:
    """Return a scheme file with an outdated golden."""
    path = folder / "t5-bias.yaml"
    text = paths_by_name()[path.stem].read_text(encoding="utf-8")
    digest = re.search("sha256: ([0-9a-f]+)", text)
    assert digest is not None
    path.write_text(text.replace(digest[1], "a" * 64), encoding="utf-8")
    load_scheme.cache_clear()
    return path


def test_goldens_are_written_into_no_link(
    scheme: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / scheme.name
    scheme.rename(target)
    scheme.symlink_to(target)
    before = target.read_bytes()
    assert main(["goldens", "--write", str(scheme)]) == 2
    assert "is a link" in said(capsys)
    assert target.read_bytes() == before


def test_goldens_leave_what_somebody_writes_meanwhile(
    scheme: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    works = os.fsync

    def slow(number: int) -> None:
        if list(scheme.parent.glob(".*.part")):  # the cache of scheme files is synced, too
            scheme.write_text("mine", encoding="utf-8")
        works(number)

    monkeypatch.setattr(os, "fsync", slow)
    with pytest.raises(UserError, match="has changed since it was read"):
        write_goldens(scheme)
    assert scheme.read_text(encoding="utf-8") == "mine"


def test_a_full_disk_leaves_the_goldens(
    scheme: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(_: int) -> None:
        raise FULL

    before = contents()
    monkeypatch.setattr(os, "fsync", full)
    assert main(["goldens", "--write", str(scheme)]) == 2
    assert f"{scheme} cannot be written: No space left on device" in said(capsys)
    assert contents() == before


def test_other_line_endings_are_no_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    export = WRITERS["export"]
    assert export.run(False) == 0
    for file in map(Path, export.files):
        file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    assert export.run(False) == 0
    assert not any(b"\r" in Path(file).read_bytes() for file in export.files)


def test_a_users_own_harness_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    harness = Path("posenc_harness.h")
    harness.write_text("// my own", encoding="utf-8")
    assert main(["init", "x", "--language=c"]) == 2
    assert harness.read_text(encoding="utf-8") == "// my own"
    assert "posenc_harness.h" in said(capsys)
    assert not Path("x_adapter.c").exists()
    assert main(["init", "x", "--language=c", "--force"]) == 0
    assert main(["init", "y", "--language=c"]) == 0  # next to the kit's own harness
    assert "posenc_harness.h is there" in said(capsys)


# Nothing else writes.

KIT = CHECKOUT / "conformance" / "posenc_conformance"
WRITING = {
    *("write_text", "write_bytes", "rename", "touch", "symlink_to", "hardlink_to", "tofile"),
    *("NamedTemporaryFile", "TemporaryFile", "mkstemp", "mkdtemp", "copy2", "copyfile"),
    *("copytree", "move", "rmtree", "unlink", "rmdir", "removedirs", "renames"),
    *("truncate", "savez", "savez_compressed", "savetxt", "save_file", "memmap", "extractall"),
}
"""Functions that write, move or remove files, whatever their object is."""
OF_MODULES = {
    *(("os", "replace"), ("os", "link"), ("os", "symlink"), ("os", "remove")),
    *(("np", "save"), ("shutil", "copy")),
}
READING = {"", "r", "rb"}
ALLOWED = {
    ("scheme_file/cache.py", "unlink"): "old entries of the kit's own cache",
    ("commands/export/array_files.py", "savez_compressed"): "into memory",
    ("commands/judge/servers/mistralrs_server.py", "write_text"): "into a folder that is removed",
    ("commands/identify/archives.py", "open"): "an entry of an archive, to read it",
    ("deployed/http/exchange.py", "open"): "an address",
}


def writes(path: Path) -> list[tuple[str, str]]:
    """Find the calls of a module that write files, by the name of the function."""
    names = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        function = node.func
        if isinstance(function, ast.Name):
            owner, name = "", function.id
        elif isinstance(function, ast.Attribute):
            owner = function.value.id if isinstance(function.value, ast.Name) else ""
            name = function.attr
        else:
            continue
        if name in WRITING or (owner, name) in OF_MODULES or _opens(node, owner, name):
            names.append(name)
    return [(str(path.relative_to(KIT)), name) for name in names]


def _opens(node: ast.Call, owner: str, name: str) -> bool:
    """Return whether a call opens a file for writing, or hides its mode."""
    if name not in ("open", "fdopen"):
        return False
    if (owner, name) == ("os", "open"):
        return not ast.unparse(node.args[1]).startswith(("os.O_RDONLY", "os.O_WRONLY")) or (
            "O_WRONLY" in ast.unparse(node.args[1]) and "devnull" not in ast.unparse(node.args[0])
        )
    places = node.args[0:1] if owner not in ("", "os", "io", "gzip") else node.args[1:2]
    modes = [*places, *(entry.value for entry in node.keywords if entry.arg == "mode")]
    return any(not isinstance(entry, ast.Constant) or entry.value not in READING for entry in modes)


@pytest.mark.slow
def test_one_module_writes_all_files() -> None:
    writing = {
        call
        for path in sorted(KIT.rglob("*.py"))
        if path.name != "files.py"
        for call in writes(path)
    }
    assert writing == ALLOWED.keys()


@pytest.mark.parametrize(
    "line",
    [
        "Path(name).write_text(text)",
        "path.open('w')",
        "open(path, 'ab')",
        "open(path, mode=mode)",
        "os.open(path, os.O_WRONLY | os.O_CREAT)",
        "os.replace(a, b)",
        "np.save(path, x)",
        "shutil.move(a, b)",
    ],
)
def test_a_new_call_that_writes_is_found(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.commands.test_writers.KIT", Path())
    Path("new.py").write_text(line, encoding="utf-8")
    assert writes(Path("new.py"))
