"""Write the files of a new scheme."""

import keyword
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from posenc_conformance.errors import UserError
from posenc_conformance.files import Writer, demand_folder, shown
from posenc_conformance.registry import KIT, ORACLE, REFERENCE, load_readable
from posenc_conformance.scheme_file.read import spec_folder

TEMPLATES = Path(__file__).parent
FAMILIES = sorted(path.name for path in TEMPLATES.iterdir() if (path / "kit.py.txt").is_file())
MINIATURES = "lab/posenc_lab/miniatures/wrong"
SLUG = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


def new(name: str, family: str, to: str | None, *, force: bool = False) -> Iterator[str]:
    """Write the files of a scheme, and yield lines on them and on the next steps.

    They describe and compute the simplest scheme of the family, so that every test passes. In a
    checkout they are written next to the kit's own schemes; with ``to``, all into that folder.

    Raises UserError, before anything is written, for an invalid or used name and, unless ``force``
    is given, for a file that exists.
    """
    module = name.replace("-", "_")
    _demand_free(name, module)
    files = (
        _in_folder(Path(to), name, module) if to is not None else _in_checkout(name, module, family)
    )
    title = name.replace("-", " ")
    words = {"NAME": name, "CALL": module, "TITLE": title.capitalize()}
    words["CLASS"] = title.title().replace(" ", "")
    contents = {}
    for path, part in files.items():
        text = (TEMPLATES / family / f"{part}.txt").read_text(encoding="utf-8")
        for mark, word in words.items():
            text = text.replace(mark, word)
        contents[path] = text
    Writer(force=force).write(contents)
    yield from (f"wrote {shown(path)}" for path in contents)
    spec = next(iter(files))
    yield from _fill(spec)
    yield "next: write down the definition in these files, one after the other, then run"
    yield f"  posenc goldens --write {shown(spec)}"
    own = f" --posenc-schemes={shown(to)}" if to is not None else ""
    yield f"  pytest --impl=reference {spec.name}{own}"
    if to is None:
        yield f"  make records SCHEME={name}"


def _demand_free(name: str, module: str) -> None:
    if not SLUG.fullmatch(name) or keyword.iskeyword(module):
        raise UserError(
            f"{name!r} cannot be the name of a scheme",
            "write lower-case words and numbers with hyphens between them, such as log-bias",
        )
    for scheme in load_readable():
        if name == scheme.id or module in scheme.calls:
            raise UserError(f"there is {name!r} already: {scheme.path}", "give another name")


def _in_folder(home: Path, name: str, module: str) -> Mapping[Path, str]:
    """Return the files of a scheme that is not part of the kit, and their templates."""
    demand_folder(home)
    if not home.is_dir():
        raise UserError(f"there is no folder {shown(home)}", "make it first")
    parts = {
        home / f"{module}_{part.name}.py": f"{part.name}.py" for part in (REFERENCE, ORACLE, KIT)
    }
    return {home / f"{name}.yaml": "scheme.yaml", **parts}


def _in_checkout(name: str, module: str, family: str) -> Mapping[Path, str]:
    """Return the files of one of the kit's own schemes, and their templates."""
    root = spec_folder().parent
    if not (root / MINIATURES).is_dir():
        raise UserError(
            "posenc is installed, so there is no checkout to write into",
            "say in which folder the scheme's files should be: --to FOLDER",
        )
    parts = {
        root / part.home / family / f"{module}.py": f"{part.name}.py"
        for part in (REFERENCE, ORACLE, KIT)
    }
    return {
        root / "spec" / family / f"{name}.yaml": "scheme.yaml",
        **parts,
        root / MINIATURES / family / f"{module}.py": "miniatures.py",
    }


def _fill(spec: Path) -> Iterator[str]:
    """Fill in the goldens, in a process that can import the files just written.

    Yields the output of that process, line by line.
    """
    code = "import sys; from posenc_conformance.commands.main import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "goldens", "--write", str(spec)]
    done = subprocess.run(command, capture_output=True, text=True)
    yield from (done.stdout + done.stderr).splitlines()
