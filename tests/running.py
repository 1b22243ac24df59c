"""The files of the project whose code runs."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import posenc
from posenc_lab.dependencies import files


def files_that_run(action: Callable[[], object]) -> set[Path]:
    """Return the files of kit, reference and laboratory whose code runs during ``action``."""
    seen: set[str] = set()
    dir(posenc)  # imports every scheme, so that code at their top level does not count

    def profile(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            seen.add(frame.f_code.co_filename)

    sys.setprofile(profile)
    try:
        action()
    finally:
        sys.setprofile(None)
    code = {path for module, path in files().items() if not module.startswith("tests")}
    return code & {*map(Path, seen)}
