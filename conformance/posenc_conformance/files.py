"""Writing files whole or not at all."""

import os
import secrets
from pathlib import Path


def write_whole(path: Path, text: str) -> None:
    """Put a text into a file; a link is followed, and what is no regular file is written into.

    Raises OSError, and then leaves the file as it was.
    """
    path = path.resolve()
    if path.exists() and not path.is_file():  # a device or a pipe must not be replaced by a file
        with path.open("w", encoding="utf-8") as stream:
            stream.write(text)
        return
    draft = path.with_name(f".{path.name[:64]}.{secrets.token_hex(4)}.part")
    try:
        with draft.open("x", encoding="utf-8") as stream:
            stream.write(text)
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
