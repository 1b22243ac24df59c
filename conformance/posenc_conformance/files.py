"""Files that are written whole or not at all, and files that are run as modules."""

import os
import secrets
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a text or bytes into a file, whole or not at all.

    A link is followed, and what is no regular file is written into. Raises OSError, and then leaves
    the file as it was.
    """
    path = Path(os.path.realpath(path))
    written = content.encode() if isinstance(content, str) else content
    if path.exists() and not path.is_file():  # a device or a pipe must not be replaced by a file
        with path.open("wb") as stream:
            stream.write(written)
        return
    draft = path.with_name(f".{path.name[:64]}.{secrets.token_hex(4)}.part")
    try:
        with draft.open("xb") as stream:
            stream.write(written)
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


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
