"""Files that are written whole, over nothing but the kit's own; files that are run as modules.

Nothing else in the kit writes files. What stands under a name that is to be written is lost, so a
command says by which content it knows its own; anything else stays, unless somebody says --force.
"""

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
"""What a file is called that is not whole yet: the beginning of its later name, and a number."""
BEGINNING = 16
"""Characters of the name in that of its draft: any name that a file can have may be written."""
FORCE = "give another name, move it away, or have it overwritten by --force"


def no_file(path: Path) -> bool:
    """Return that a file is not the kit's, for commands whose files belong to people afterwards."""
    return False


@dataclass(frozen=True)
class Writer:
    """What a command may write over."""

    is_ours: Callable[[Path], bool] = no_file
    """Whether nothing is lost with a regular file; one that cannot be read is not the kit's."""
    foreign: str = "exists"
    """What is said of a file that is not."""
    force: bool = False
    """Whether somebody has said that such files may be lost."""
    hint: str = FORCE
    streams: bool = False
    """Whether a device or a pipe is written into: nothing is lost there."""
    option: str = ""
    """What stands before a name on the command line, to say which one is meant."""

    def demand(self, paths: Iterable[Path]) -> None:
        """Raise UserError for the first file with which something would be lost.

        A link, a folder and whatever else is no regular file is refused, also with ``force``.
        """
        for path in paths:
            with _naming(self._shown(path)):
                self._demand(path)

    def _demand(self, path: Path) -> None:
        found = _mode(path)
        if found is None or (self.streams and _is_stream(path)):
            return
        where = self._shown(path)
        _demand_no_link(where, found)
        if stat.S_ISDIR(found):
            raise UserError(f"{where} is a folder", "give the name of a file")
        if not stat.S_ISREG(found):
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
        """Write files, each whole, and none of them before all are known to have room.

        Raises UserError for what ``demand`` refuses, and for what cannot be written.
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
            _replace(files, lambda: self.demand(files))

    def remove(self, paths: Iterable[Path]) -> None:
        """Remove those of some files that are the kit's own, also with ``force``."""
        for path in paths:
            with _naming(shown(path)):
                found = _mode(path)
                if found is not None and stat.S_ISREG(found) and self._is_ours(path):
                    path.unlink()


def demand_no_links(paths: Iterable[Path]) -> None:
    """Raise UserError for the first link: what it leads to may lie anywhere."""
    for path in paths:
        with _naming(shown(path)):
            _demand_no_link(shown(path), _mode(path) or 0)


def _demand_no_link(where: str, mode: int) -> None:
    if stat.S_ISLNK(mode):
        hint = "name what it leads to"
        raise UserError(f"{where} is a link, and none is followed", hint)


def demand_folder(path: Path) -> None:
    """Raise UserError for a link, and for what is there and no folder."""
    demand_no_links([path])
    if path.exists() and not path.is_dir():
        raise UserError(f"{shown(path)} is no folder", "give the name of a folder")


def make_folder(path: Path) -> None:
    """Make a folder, and those above it, unless it is there.

    Raises UserError for what ``demand_folder`` refuses, and if it cannot be made.
    """
    demand_folder(path)
    with _naming(shown(path)):
        path.mkdir(parents=True, exist_ok=True)


def try_folder(path: Path) -> None:
    """Raise OSError if a folder takes no files: rights alone do not say it."""
    with NamedTemporaryFile(dir=path, prefix=".posenc."):
        pass


def is_draft(name: str) -> bool:
    """Return whether a file of this name is what a run that was killed has left, or writes now."""
    return name.startswith(".") and name.endswith(".part")


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a text or bytes into a file, whole or not at all, whatever was there.

    A link is replaced and not followed. Raises OSError, and then leaves the file as it was.
    """
    _replace({path: content}, lambda: None)


def _replace(contents: Mapping[Path, str | bytes], demand: Callable[[], None]) -> None:
    """Replace files by drafts of them, once all drafts are written and what is there may go."""
    drafts: dict[Path, Path] = {}
    try:
        for path, content in contents.items():
            name = DRAFT.format(path.name[:BEGINNING], secrets.token_hex(4))
            drafts[path] = path.with_name(name)
            _write_draft(drafts[path], _bytes(content), path)
        demand()  # once more: writing may have taken long
        for path, draft in drafts.items():
            os.replace(draft, path)
        for folder in {path.parent for path in contents}:
            _keep_names(folder)
    finally:
        for draft in drafts.values():
            draft.unlink(missing_ok=True)


def _write_draft(draft: Path, content: bytes, path: Path) -> None:
    """Write a draft down to the disk, with the rights of the file that it will replace."""
    with draft.open("xb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    found = _mode(path)
    if found is not None and stat.S_ISREG(found):
        draft.chmod(stat.S_IMODE(found))


def _keep_names(folder: Path) -> None:
    """Write down to the disk how the files of a folder are called, where a system can do that."""
    try:
        number = os.open(folder, os.O_RDONLY)
    except OSError:  # Windows opens no folders
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
    """Return the kind and the rights of a file, of a link those of the link; None if none is there.

    Raises OSError and ValueError for a name that no file can have.
    """
    try:
        return os.lstat(path).st_mode
    except FileNotFoundError:
        return None


def _is_stream(path: Path) -> bool:
    """Return whether a path leads to a device or a pipe, such as /dev/stdout."""
    try:
        found = os.stat(path).st_mode
    except OSError:
        return False
    return stat.S_ISCHR(found) or stat.S_ISFIFO(found)


def shown(path: object) -> str:
    """Return a path as it is shown within a line."""
    return in_line(path, LONGEST_TEXT)


@contextmanager
def _naming(where: str) -> Iterator[None]:
    """Turn what a system says of a file into a UserError that names it."""
    try:
        yield
    except (OSError, ValueError) as error:  # a ValueError is about a name that no file can have
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise UserError(
            f"{where} cannot be written: {reason}",
            "see whether there is room, and whether you may write there",
        ) from error


def import_file(path: Path, name: str) -> ModuleType:
    """Import a Python file as a module, under a name of its own.

    Raises what running the file raises, and ImportError for a file that does not end in ``.py``.
    """
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file", path=str(path))
    module = module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
