"""The stored results of engines: a cell for each model and spelling."""

import json
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from posenc_conformance.door import LARGEST_DOCUMENT, named, read_json
from posenc_conformance.errors import UserError
from posenc_conformance.report.layout import Report
from scoreboard.deployed.engines import FOLDER

FORMAT = 1
MARK = "posenc-deployed"
RESULTS = Path(os.environ.get("SCOREBOARD_DEPLOYED", FOLDER / "results"))
PASSED, WRONG, REFUSED, UNJUDGED = "passed", "wrong", "not supported", "not judged"
VERDICTS = (PASSED, WRONG, REFUSED, UNJUDGED)
UNNAMED = "unnamed"
"""Id of a mistake for which the kit has no name."""


@dataclass(frozen=True)
class Mistake:
    """A mistake that the kit names, and how many failures it explains."""

    id: str
    words: str
    failures: int


@dataclass(frozen=True)
class Cell:
    """The result of one model in one spelling."""

    model: str
    spelling: str
    verdict: str
    date: str
    kit: str
    commit: str
    context: int
    """Maximum length of texts in tokens; 0 if layers were called, without texts."""
    says: str = ""
    """Why there is no verdict on numbers: the message of the engine or the kit."""
    passed: tuple[str, ...] = ()
    """Checks that passed."""
    failed: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    """Checks that neither passed nor failed."""
    mistakes: tuple[Mistake, ...] = ()
    reach: int = 0
    """The largest distance in a passed check; 0 if layers were called, which take positions."""


@dataclass(frozen=True)
class Results:
    """All results of one engine."""

    engine: str
    install: tuple[str, ...]
    packages: Mapping[str, str]
    system: str
    cpu: str
    cells: Mapping[tuple[str, str], Cell] = field(default_factory=dict)
    """The cells by model and spelling."""

    def with_cell(self, cell: Cell) -> "Results":
        """Return the results with a cell added or replaced."""
        cells = {**self.cells, (cell.model, cell.spelling): cell}
        return replace(self, cells=dict(sorted(cells.items())))


def findings_of(report: Report) -> dict[str, Any]:
    """Return the fields of a cell from a report: verdict, checks, mistakes, and reach."""
    checks = report["checks"]
    by_verdict = {
        verdict: tuple(_short(check["id"]) for check in checks if check["verdict"] == verdict)
        for verdict in ("passed", "failed")
    }
    others = tuple(
        _short(check["id"]) for check in checks if check["verdict"] not in ("passed", "failed")
    )
    failed = [check for check in checks if check["verdict"] == "failed"]
    named = Counter(
        tuple(check["explanations"][0])
        if check["explanations"]
        else (UNNAMED, check["message"].splitlines()[0])
        for check in failed
    )
    right = [
        point[0] for check in checks if check["verdict"] == "passed" for point in check["curve"]
    ]
    return {
        "verdict": WRONG if failed else PASSED if by_verdict["passed"] else UNJUDGED,
        "mistakes": tuple(Mistake(id, words, n) for (id, words), n in named.most_common()),
        "reach": int(max(right, default=0)),
        "others": others,
        **by_verdict,
    }


def read(path: Path) -> Results:
    """Read the stored results of an engine.

    Raises UserError for an incomplete file, or one of another format.
    """
    hint = f"judge it again: python -m scoreboard.deployed {path.stem}"
    if not path.exists():
        raise UserError(f"there is no {path.name}", hint)
    raw = read_json(path, LARGEST_DOCUMENT, hint)
    with named(path.name, hint):
        if raw[MARK] != FORMAT:
            raise UserError(f"{path.name} is not of format {FORMAT}", hint)
        cells = [_cell(cell) for cell in raw["cells"]]
        return Results(
            raw["engine"],
            tuple(raw["install"]),
            raw["packages"],
            raw["system"],
            raw["cpu"],
            {(cell.model, cell.spelling): cell for cell in cells},
        )


def write(results: Results, path: Path) -> None:
    """Write an engine's results, one cell per line; the same content gives the same file."""
    cells = [asdict(cell) for _, cell in sorted(results.cells.items())]
    content = {MARK: FORMAT, **vars(results), "cells": cells}
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".part")
    draft.write_text(written(content), encoding="utf-8")
    draft.replace(path)


def written(content: Mapping[str, Any]) -> str:
    """Return the text of a file, with a line per field and per cell."""
    fields = {name: _in_one_line(value) for name, value in sorted(content.items())}
    if content["cells"]:
        fields["cells"] = "[\n" + ",\n".join(map(_in_one_line, content["cells"])) + "\n]"
    return "{\n" + ",\n".join(f'"{name}": {text}' for name, text in fields.items()) + "\n}\n"


def place_of(engine: str) -> Path:
    """Return the path of an engine's results."""
    return RESULTS / f"{engine}.json"


def _cell(raw: Mapping[str, Any]) -> Cell:
    if raw["verdict"] not in VERDICTS:
        raise ValueError(f"{raw['verdict']!r} is no verdict")
    lists = {name: tuple(raw[name]) for name in ("passed", "failed", "others")}
    mistakes = tuple(Mistake(**mistake) for mistake in raw["mistakes"])
    return Cell(**{**raw, **lists, "mistakes": mistakes})


def _in_one_line(value: object) -> str:
    return json.dumps(value, sort_keys=True)


def _short(id: str) -> str:
    """Return the name of a check without model, group and dtype."""
    return id.split("::")[-1].partition("[")[0]
