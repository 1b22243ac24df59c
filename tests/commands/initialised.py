"""Write a library, and let ``posenc init`` write its adapter."""

import importlib
from pathlib import Path

from posenc_conformance.commands.main import main


def written(folder: Path, name: str, source: str, *schemes: str) -> Path:
    """Return the path of the adapter that is written for a library with this source."""
    (folder / f"{name}.py").write_text(source, encoding="utf-8")
    importlib.invalidate_caches()
    assert main(["init", name, *schemes]) == 0
    return folder / f"{name}_adapter.py"
