"""Deployed engines: a table of models and engines, and findings, from the kept results."""

import html
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from scoreboard.deployed import kept
from scoreboard.deployed.engines import Engine, engines, unjudged
from scoreboard.deployed.findings import Finding, findings, unexplained
from scoreboard.deployed.kept import PASSED, REFUSED, UNJUDGED, UNNAMED, WRONG, Cell, Results

from markup import code, paragraph, prose
from pictures.sparklines import SIGNS, Piece, legend, strip, worst
from posenc_conformance.commands.probe import SPELLINGS
from posenc_conformance.errors import UserError
from posenc_conformance.models.file import model_named

TITLES = dict(zip(SPELLINGS, ("as released", "as transformers 5 saves it"), strict=True))


@lru_cache(maxsize=1)
def board() -> dict[str, tuple[Engine, Results]]:
    """Read the kept results of the engines, leaving out engines without any."""
    rows = {}
    for engine in engines():
        try:
            rows[engine.name] = (engine, kept.read(kept.place_of(engine.name)))
        except UserError:
            continue
    return rows


def summary() -> str:
    """Say how many engines and models there are, and when they were judged."""
    shown = [results for _, results in board().values()]
    cells = [cell for results in shown for cell in results.cells.values()]
    days = sorted(cell.date[:10] for cell in cells)
    when = days[0] if days[0] == days[-1] else f"{days[0]} to {days[-1]}"
    models = len({cell.model for cell in cells})
    cpus = ", ".join(sorted({results.cpu for results in shown}))
    counts = f"{len(shown)} engine configurations, {models} models"
    return paragraph(f"{counts}; judged {when} on {cpus}.")


def board_table() -> str:
    """Make the board itself: a row for each model, a column for each engine."""
    columns = board()
    models = sorted({model for _, results in columns.values() for model, _ in results.cells})
    head = "".join(_head(*pair) for pair in columns.values())
    rows = "".join(
        f'<tr id="{name}" data-model="{name}" data-family="{model.configuration.type}">'
        f'<th scope="row"><a href="../models/#{name}">{html.escape(model.title)}</a></th>'
        f"{''.join(cell_of(*pair, name, '') for pair in columns.values())}</tr>\n"
        for name, model in ((name, model_named(name)) for name in models)
    )
    return (
        f"\n{legend(unjudged='not supported, or not judged')}"
        '<div id="engines-controls" class="controls" role="group" aria-label="Filters" hidden>'
        '</div>\n<p id="engines-said" role="status"></p>\n'
        '<div class="wide sticky"><table id="engines" class="matrix"><caption>Probe results by '
        "model and engine</caption>\n"
        f'<thead><tr><th scope="col">model</th>{head}</tr></thead>\n'
        f"<tbody>\n{rows}</tbody></table></div>\n"
        '<script type="module" src="../assets/engines.js"></script>\n\n'
    )


def _head(engine: Engine, results: Results) -> str:
    return (
        f'<th scope="col" data-engine="{engine.name}"><a href="{engine.name}/">'
        f"{html.escape(engine.title)}</a><br>"
        f"<small>{html.escape(version_of(engine, results))}</small></th>"
    )


def version_of(engine: Engine, results: Results) -> str:
    """Return the version of an engine that was judged."""
    return results.packages.get(engine.shows[0], "")


def not_judged() -> str:
    """List the engines that cannot be judged this way, and why."""
    items = "".join(
        f"<li>{html.escape(title)}: {prose(reason)}.</li>" for title, reason in unjudged().items()
    )
    return f"<ul>{items}</ul>\n"


def cell_of(engine: Engine, results: Results, model: str, place: str) -> str:
    """Make the cell of a model: one line if all spellings have the same result.

    ``place`` is the way to the page of the board.
    """
    cells = {
        spelling: cell
        for spelling in engine.spellings
        if (cell := results.cells.get((model, spelling))) is not None
    }
    if not cells:
        return "<td></td>"
    state = worst(_state(engine.name, cell) for cell in cells.values())
    lines = {spelling: _line(engine.name, cell, place) for spelling, cell in cells.items()}
    if len(cells) == len(engine.spellings) and len(set(lines.values())) == 1:
        first = next(iter(cells.values()))
        shown = _said(engine.name, first, " ".join(cells), lines[first.spelling])
    else:
        told = (
            _said(engine.name, cell, name, f"<small>{TITLES[name]}:</small> {lines[name]}")
            for name, cell in cells.items()
        )
        shown = "".join(told)
    return f'<td class="{state}">{shown}</td>'


def _said(engine: str, cell: Cell, spellings: str, line: str) -> str:
    """Make the part of a cell for some spellings; ``data-`` attributes are what filters read."""
    state = _state(engine, cell)
    return (
        f'<span class="said" data-spelling="{spellings}" data-verdict="{cell.verdict}" '
        f'data-state="{state}"><span aria-hidden="true">{SIGNS[state]}</span> {line}</span>'
    )


def strips() -> str:
    """Make a row for each engine, which counts its models by the worst verdict on each."""
    rows = "".join(
        f'<tr><th scope="row"><a href="../engines/{engine.name}/">{html.escape(engine.title)}</a>'
        f"<br><small>{html.escape(version_of(engine, results))}</small></th>"
        f"<td>{strip(_counts(engine.name, results))}</td></tr>\n"
        for engine, results in board().values()
    )
    return (
        '\n<table class="strips"><caption>Number of models by what came of their probes'
        '</caption><thead><tr><th scope="col">engine</th><th scope="col">models</th></tr></thead>'
        f"\n<tbody>\n{rows}</tbody></table>\n\n"
    )


COUNTED = {
    PASSED: "right",
    "known": "wrong, with a finding",
    "failed": "wrong, cause unknown",
    "unjudged": "without a verdict",
}


def _counts(engine: str, results: Results) -> list[Piece]:
    by_model: dict[str, list[Cell]] = {}
    for (model, _), cell in results.cells.items():
        by_model.setdefault(model, []).append(cell)
    counts = Counter(worst(_state(engine, cell) for cell in cells) for cells in by_model.values())
    return [
        Piece(f"{counts[state]} {words}", state, f"../engines/{engine}/", "")
        for state, words in COUNTED.items()
        if counts[state]
    ]


def _state(engine: str, cell: Cell) -> str:
    if cell.verdict == WRONG:
        return "failed" if unexplained(engine, cell, findings()) else "known"
    return "passed" if cell.verdict == PASSED else "unjudged"


def _line(engine: str, cell: Cell, place: str) -> str:
    if cell.verdict in (REFUSED, UNJUDGED):
        about = [finding for finding in findings() if finding.shown_by(engine, cell)]
        return _linked(about, cell.verdict, place)
    if cell.verdict == PASSED:
        return f"passes to {cell.reach:,}" if cell.reach else "passes"
    return ", ".join(dict.fromkeys(_mistakes(engine, cell, place)))


def _mistakes(engine: str, cell: Cell, place: str) -> Iterator[str]:
    """Yield the names of the mistakes of a cell, each with a link to its finding."""
    for mistake in cell.mistakes:
        name = "no known mistake" if mistake.id == UNNAMED else code(mistake.id)
        about = [finding for finding in findings() if finding.explains(engine, cell, mistake)]
        yield _linked(about, name, place)


def _linked(about: Sequence[Finding], shown: str, place: str) -> str:
    """Make a link to the first of some findings, if there is one."""
    return f'<a href="{address_of(about[0], place)}">{shown}</a>' if about else shown


def address_of(finding: Finding, place: str) -> str:
    """Return the address of a finding, on the page of the first engine that shows it."""
    return f"{place}{finding.engines[0]}/#finding-{finding.id}"


def listed() -> str:
    """List the findings of each engine, with links to their descriptions."""
    text = ""
    for name, (engine, _) in board().items():
        items = "".join(
            f'<li id="finding-{finding.id}"><a href="{address_of(finding, "")}">'
            f"{prose(finding.title)}</a></li>"
            for finding in findings()
            if finding.engines[0] == name
        )
        if items:
            text += f"<p><strong>{html.escape(engine.title)}</strong></p><ul>{items}</ul>\n"
    return text


BLOCKS: dict[str, Callable[[], str]] = {
    "engines:strips": strips,
    "engines:summary": summary,
    "engines:table": board_table,
    "engines:unjudged": not_judged,
    "engines:findings": listed,
}
