"""What the benchmarks share: tables of Markdown, and records, which are results kept for the site.

A record is JSON with a line for each scheme: a difference shows which ones were measured anew.
"""

import json
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import Any

import posenc
from posenc_conformance.files import write_whole

DATA = Path(__file__).parents[2] / "docs" / "data"


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
    keep(path, {"versions": versions, **results})


def path_of(name: str) -> Path:
    """Where a record is kept."""
    return DATA / f"{name}.json"


def read_record(path: Path) -> dict[str, Any]:
    """A record, or nothing if there is none yet."""
    found: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    return found


def keep(path: Path, record: Mapping[str, Any]) -> None:
    """Write a record."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, f"{_object(record)}\n")


def _object(part: Mapping[str, Any]) -> str:
    """An object with a line for each entry, or for each entry's entries."""
    lines = [f"{_line(name)}: {_entry(part[name])}" for name in sorted(part)]
    return _lines("{", lines, "}")


def _entry(value: Any) -> str:
    if isinstance(value, dict) and any(isinstance(each, dict | list) for each in value.values()):
        return _lines("{", [f"{_line(each)}: {_line(value[each])}" for each in sorted(value)], "}")
    if isinstance(value, list) and any(isinstance(each, dict) for each in value):
        return _lines("[", list(_rows(value)), "]")
    return _line(value)


def _rows(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Rows of one scheme, which follow each other, in one line."""
    for _, some in groupby(enumerate(rows), lambda row: _home(*row)):
        yield ", ".join(_line(row) for _, row in some)


def _home(number: int, row: Mapping[str, Any]) -> Any:
    return row.get("scheme") or number


def _lines(first: str, lines: Sequence[str], last: str) -> str:
    return "\n".join([first, ",\n".join(lines), last]) if lines else first + last


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
