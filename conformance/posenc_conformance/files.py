"""Write files atomically, replacing only the kit's own files; import files as modules.

No other module of the kit writes files. Writing destroys an existing file of that name, so each
command recognises its own files by their content; any other file stays, unless the user passes
--force.
"""

import hashlib
import os
import secrets
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from tempfile import NamedTemporaryFile
from types import ModuleType

from posenc_conformance.errors import LONGEST_TEXT, UserError, in_line

DRAFT = ".{}.{}.part"
"""Name of an incomplete file: the beginning of its final name, and a random number."""
BEGINNING = 16
"""Most characters of the final name in the draft's name, so that this is never too long."""
LARGEST_SEALED = 2**24
"""Size in bytes beyond which a file is no page and no drawing of the kit."""
FORCE = "give another name, move it away, or have it overwritten by --force"


SEAL = "<!-- posenc {} -->\n"
"""The last line of a page or a drawing: the digest of all before it."""


def sealed(text: str) -> str:
    """Return a page or a drawing with its seal, which tells it from one that somebody changed."""
    return text + SEAL.format(hashlib.sha256(text.encode()).hexdigest())


def is_sealed(path: Path, beginning: str) -> bool:
    """Return whether a file begins so and is as ``sealed`` left it, or is empty."""
    content = path.read_bytes() if path.stat().st_size <= LARGEST_SEALED else b"?"
    text, mark, _ = content.rpartition(SEAL.partition("{")[0].encode())
    is_ours = content.startswith(beginning.encode()) and bool(mark)
    return not content.strip() or (is_ours and sealed(text.decode()).encode() == content)


def no_file(path: Path) -> bool:
    """Return False: for commands whose files belong to the user once written."""
    return False


@dataclass(frozen=True)
class Writer:
    """A writer for a command's files, with the rules on which files it may overwrite."""

    is_ours: Callable[[Path], bool] = no_file
    """Whether a regular file may be overwritten; an unreadable one may not."""
    foreign: str = "exists"
    """Message about a file that is not the kit's."""
    force: bool = False
    """Whether the user allows overwriting such files."""
    hint: str = FORCE
    streams: bool = False
    """Whether to write into devices and pipes, where nothing is lost."""
    option: str = ""
    """Text before a name in messages: the command-line option that gave the name."""

    def demand(self, paths: Iterable[Path]) -> None:
        """Raise UserError for the first path that must not be overwritten.

        Links, folders and other non-regular files are refused even with ``force``.
        """
        for path in paths:
            with _naming(self._shown(path)):
                self._demand(path)

    def _demand(self, path: Path) -> None:
        mode = _mode(path)
        if mode is None or (self.streams and _is_stream(path)):
            return
        where = self._shown(path)
        _demand_no_link(where, mode)
        if stat.S_ISDIR(mode):
            raise UserError(f"{where} is a folder", "give the name of a file")
        if not stat.S_ISREG(mode):
            raise UserError(f"{where} is not a regular file", "give another name")
        if self.force:
            return
        if not os.access(path, os.W_OK):
            raise UserError(f"{where} is write-protected", self.hint)
        if not self._is_ours(path):
            raise UserError(f"{where} {self.foreign}", self.hint)

    def _shown(self, path: Path) -> str:
        return f"{self.option}{shown(path)}"

    def _is_ours(self, path: Path) -> bool:
        try:
            return self.is_ours(path)
        except (OSError, UserError):
            return False

    def write(self, contents: Mapping[Path, str | bytes]) -> None:
        """Write files atomically, replacing none before all are known to fit on the disk.

        Missing folders are made. Raises UserError for what ``demand`` refuses, and for files that
        cannot be written.
        """
        self.demand(contents)
        (first, *others) = contents
        with _naming(self._shown(first.parent if others else first)):
            files = {
                path: content
                for path, content in contents.items()
                if not (self.streams and _is_stream(path))
            }
            for path in contents.keys() - files.keys():
                with path.open("wb") as stream:
                    stream.write(_bytes(contents[path]))
            for path in files:
                path.parent.mkdir(parents=True, exist_ok=True)
            _replace(files, lambda: self.demand(files))

    def remove(self, paths: Iterable[Path]) -> None:
        """Remove only the kit's own files, even with ``force``."""
        for path in paths:
            with _naming(shown(path)):
                mode = _mode(path)
                if mode is not None and stat.S_ISREG(mode) and self._is_ours(path):
                    path.unlink()


def demand_no_links(paths: Iterable[Path]) -> None:
    """Raise UserError for the first symbolic link: its target may be anywhere."""
    for path in paths:
        with _naming(shown(path)):
            _demand_no_link(shown(path), _mode(path) or 0)


def _demand_no_link(where: str, mode: int) -> None:
    if stat.S_ISLNK(mode):
        hint = "name what it leads to"
        raise UserError(f"{where} is a link, and none is followed", hint)


def demand_folder(path: Path) -> None:
    """Raise UserError for a link, and for an existing path that is not a folder."""
    demand_no_links([path])
    if path.exists() and not path.is_dir():
        raise UserError(f"{shown(path)} is no folder", "give the name of a folder")


def make_folder(path: Path) -> None:
    """Make a folder and its missing parents.

    Raises UserError for what ``demand_folder`` refuses, and if the folder cannot be made.
    """
    demand_folder(path)
    with _naming(shown(path)):
        path.mkdir(parents=True, exist_ok=True)


def demand_place(folder: Path) -> None:
    """Raise UserError for a folder in which, or in whose parent, no file can be written."""
    with _naming(shown(folder)):
        try_folder(existing_folder(folder))


def existing_folder(folder: Path) -> Path:
    """Return the nearest existing one of a folder and its parents."""
    folder = folder.absolute()
    return next(path for path in (folder, *folder.parents) if path.exists())


def try_folder(path: Path) -> None:
    """Raise OSError if a folder accepts no files, which its permissions alone do not show."""
    with NamedTemporaryFile(dir=path, prefix=".posenc."):
        pass


def is_draft(name: str) -> bool:
    """Return whether a file name is that of a draft, from a killed run or one still writing."""
    return name.startswith(".") and name.endswith(".part")


def write_whole(path: Path, content: str | bytes) -> None:
    """Write text or bytes to a file atomically, replacing any existing file.

    A link is replaced, not followed. On OSError the old file is unchanged.
    """
    _replace({path: content}, lambda: None)


def _replace(contents: Mapping[Path, str | bytes], demand: Callable[[], None]) -> None:
    """Replace files by drafts, once all drafts are written and ``demand`` passes."""
    drafts: dict[Path, Path] = {}
    try:
        for path, content in contents.items():
            name = DRAFT.format(path.name[:BEGINNING], secrets.token_hex(4))
            drafts[path] = path.with_name(name)
            _write_draft(drafts[path], _bytes(content), path)
        demand()  # check again: writing may have taken long
        for path, draft in drafts.items():
            os.replace(draft, path)
        for folder in {path.parent for path in contents}:
            _keep_names(folder)
    finally:
        for draft in drafts.values():
            draft.unlink(missing_ok=True)


def _write_draft(draft: Path, content: bytes, path: Path) -> None:
    """Write a draft and flush it to the disk, with the permissions of the file it will replace."""
    with draft.open("xb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    mode = _mode(path)
    if mode is not None and stat.S_ISREG(mode):
        draft.chmod(stat.S_IMODE(mode))


def _keep_names(folder: Path) -> None:
    """Flush a folder's file names to the disk, where the system supports that."""
    try:
        number = os.open(folder, os.O_RDONLY)
    except OSError:  # Windows cannot open folders
        return
    try:
        os.fsync(number)
    except OSError:
        return
    finally:
        os.close(number)


def _bytes(content: str | bytes) -> bytes:
    return content.encode() if isinstance(content, str) else content


def _mode(path: Path) -> int | None:
    """Return the type and permissions of a file, not following links; None if it does not exist.

    Raises OSError and ValueError for a name that no file can have.
    """
    try:
        return os.lstat(path).st_mode
    except FileNotFoundError:
        return None


def _is_stream(path: Path) -> bool:
    """Return whether a path leads to a device or a pipe, such as /dev/stdout."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)


def shown(path: object) -> str:
    """Return a path in a form that fits into a line."""
    return in_line(path, LONGEST_TEXT)


@contextmanager
def _naming(where: str) -> Iterator[None]:
    """Turn an error of the file system into a UserError that names ``where``."""
    try:
        yield
    except (OSError, ValueError) as error:  # a ValueError means a name that no file can have
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise UserError(
            f"{where} cannot be written: {reason}",
            "see whether there is room, and whether you may write there",
        ) from error


OF_FILE = "posenc_adapter_"
"""How the names of modules begin that come from a file of the user."""


def import_adapter(path: Path) -> ModuleType:
    """Import a Python file, as a module with a name of its own: it may have its library's name.

    Raises the exceptions of :func:`import_file`.
    """
    return import_file(path, f"{OF_FILE}{path.stem}")


def name_module(module: ModuleType) -> str:
    """Return what a user calls a module: its name, or its path if it is a file that they named."""
    if not module.__name__.startswith(OF_FILE):
        return f"the module {in_line(module.__name__)}"
    path = Path(str(module.__file__))
    return shown(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def import_file(path: Path, name: str) -> ModuleType:
    """Import a Python file as a module called ``name``.

    Raises any exception of the file, and ImportError for a file that does not end in ``.py``.
    """
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file", path=str(path))
    module = module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look up their module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
