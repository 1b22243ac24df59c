"""Markdown tables, and records: the results of benchmarks, stored for the site.

A record is JSON with a line per scheme, so that a diff shows which schemes were measured again.
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
    """Return a Markdown table; all columns but the first are right-aligned."""
    rule = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in [header, rule, *rows])


def share(part: int, whole: int) -> str:
    """Return a percentage, never rounded up to 100 nor down to 0."""
    if not whole:
        return "-"
    percent = 100 * part / whole
    if part in (0, whole):
        return f"{percent:.0f} %"
    return f"{min(max(percent, 0.1), 99.9):.1f} %"


def write(path: Path | None, results: dict[str, Any], *packages: str) -> None:
    """Write results with the versions of Python, numpy, posenc and ``packages``, if ``path``."""
    if path is None:
        return
    versions = {
        "python": platform.python_version(),
        **{name: version(name) for name in ("numpy", *packages)},
        "posenc": posenc.__version__,
    }
    keep(path, {"versions": versions, **results})


def path_of(name: str) -> Path:
    """Return the path of a record."""
    return DATA / f"{name}.json"


def read_record(path: Path) -> dict[str, Any]:
    """Return a record; empty if there is none yet."""
    record: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    return record


def keep(path: Path, record: Mapping[str, Any]) -> None:
    """Write a record."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, f"{_object(record)}\n")


def _object(part: Mapping[str, Any]) -> str:
    """Return a JSON object with a line per entry, or per entry of an entry."""
    lines = [f"{_line(name)}: {_entry(part[name])}" for name in sorted(part)]
    return _lines("{", lines, "}")


def _entry(value: Any) -> str:
    if isinstance(value, dict) and any(isinstance(each, dict | list) for each in value.values()):
        return _lines("{", [f"{_line(each)}: {_line(value[each])}" for each in sorted(value)], "}")
    if isinstance(value, list) and any(isinstance(each, dict) for each in value):
        return _lines("[", list(_rows(value)), "]")
    return _line(value)


def _rows(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield adjacent rows of the same scheme as one line."""
    for _, group in groupby(enumerate(rows), lambda row: _home(*row)):
        yield ", ".join(_line(row) for _, row in group)


def _home(number: int, row: Mapping[str, Any]) -> Any:
    return row.get("scheme") or number


def _lines(first: str, lines: Sequence[str], last: str) -> str:
    return "\n".join([first, ",\n".join(lines), last]) if lines else first + last


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
