"""Scheme files that were read and found right before, kept as JSON, which reads 30 times faster.

A file is known by the hash of its text and of the schema. The folder is a cache: it may be deleted,
and where it cannot be written, every run reads the YAML again.
"""

import hashlib
import json
import os
from pathlib import Path
from typing import Any


def key(*texts: str) -> str:
    """Name of the entry for a scheme file of this text under a schema of that text."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def recall(name: str) -> Any:
    """What was kept under a name; None if nothing was, or it cannot be read."""
    try:
        return json.loads((_folder() / name).read_text(encoding="utf-8"))
    except (OSError, ValueError, RuntimeError):
        return None


def keep(name: str, raw: Any) -> None:
    """Keep the content of a scheme file, whole or not at all."""
    try:
        folder = _folder()
        folder.mkdir(parents=True, exist_ok=True)
        draft = folder / f"{name}.{os.getpid()}.part"
        draft.write_text(json.dumps(raw), encoding="utf-8")
        os.replace(draft, folder / name)
    except (OSError, RuntimeError):
        return


def _folder() -> Path:
    """The user's cache folder.

    Raises RuntimeError if the user has no home.
    """
    root = os.environ.get("XDG_CACHE_HOME")
    return (Path(root) if root else Path.home() / ".cache") / "posenc"
