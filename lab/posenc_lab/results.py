"""What the benchmarks share: tables of Markdown, and results as JSON for the site."""

import json
import platform
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import posenc


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table; all columns but the first are numbers."""
    rule = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in [header, rule, *rows])


def share(part: int, whole: int) -> str:
    """A percentage, never rounded up to 100 nor down to 0."""
    if not whole:
        return "-"
    percent = 100 * part / whole
    if part in (0, whole):
        return f"{percent:.0f} %"
    return f"{min(max(percent, 0.1), 99.9):.1f} %"


def write(path: Path | None, results: dict[str, Any], *packages: str) -> None:
    """Results with the versions that gave them, also those of more packages."""
    if path is None:
        return
    versions = {
        "python": platform.python_version(),
        **{name: version(name) for name in ("numpy", *packages)},
        "posenc": posenc.__version__,
    }
    text = json.dumps({"versions": versions, **results}, indent=1, sort_keys=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{text}\n", encoding="utf-8")
