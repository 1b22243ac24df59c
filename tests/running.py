"""Which files of the project have code that runs."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import posenc
from posenc_lab.dependencies import files


def files_that_run(action: Callable[[], object]) -> set[Path]:
    """The files of kit, reference and laboratory of which a function runs."""
    seen: set[str] = set()
    dir(posenc)  # imports every scheme, whose code at its top level runs for nobody's verdict

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
