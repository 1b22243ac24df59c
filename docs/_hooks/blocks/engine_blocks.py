"""Deployed engines: a table of models and engines, and findings, from the kept results."""

import html
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from scoreboard.deployed import kept
from scoreboard.deployed.engines import Engine, engines, unjudged
from scoreboard.deployed.findings import Finding, findings, unexplained
from scoreboard.deployed.kept import PASSED, REFUSED, UNJUDGED, UNNAMED, WRONG, Cell, Results

from markup import code, fenced, paragraph, prose, table
from pictures.sparklines import STATES, Piece, strip, worst
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
    head = "".join(f'<th scope="col">{_titled(*pair)}</th>' for pair in columns.values())
    rows = "".join(
        f'<tr data-model="{model}"><th scope="row">{html.escape(model_named(model).title)}</th>'
        f"{''.join(_cells(*pair, model) for pair in columns.values())}</tr>\n"
        for model in models
    )
    return (
        '\n<div class="wide"><table id="scoreboard"><caption>What came of the probe of each model '
        "in each engine</caption>\n"
        f'<thead><tr><th scope="col">model</th>{head}</tr></thead>\n'
        f"<tbody>\n{rows}</tbody></table></div>\n\n"
    )


def notes() -> str:
    """List notes on each engine: its description, packages and dtype."""
    items = []
    for engine, results in board().values():
        packages = ", ".join(f"{name} {version}" for name, version in results.packages.items())
        items.append(
            f"<li>{html.escape(engine.title)}: {prose(engine.says)}. Installed: "
            f"{html.escape(packages)}. Judged in {engine.dtype}.</li>"
        )
    return f"<ul>{''.join(items)}</ul>\n"


def not_judged() -> str:
    """List the engines that cannot be judged this way, and why."""
    items = "".join(
        f"<li>{html.escape(title)}: {prose(reason)}.</li>" for title, reason in unjudged().items()
    )
    return f"<ul>{items}</ul>\n"


def words() -> str:
    """Tabulate the messages of engines and of the kit where there is no verdict on numbers."""
    models_of: dict[tuple[str, str, str], list[str]] = {}
    for engine, results in board().values():
        for cell in results.cells.values():
            if cell.says:
                model = f"{model_named(cell.model).title}, {TITLES[cell.spelling]}"
                models_of.setdefault((engine.title, cell.verdict, cell.says), []).append(model)
    rows = [
        [html.escape(title), verdict, "<br>".join(map(html.escape, models)), code(words)]
        for (title, verdict, words), models in models_of.items()
    ]
    return table(["engine", "", "models", "words"], rows) if rows else ""


def unnamed() -> str:
    """Tabulate mistakes that no finding explains, and the kit's measurements."""
    board_findings = findings()
    rows = [
        [
            html.escape(engine.title),
            html.escape(f"{model_named(cell.model).title}, {TITLES[cell.spelling]}"),
            code(mistake.id),
            html.escape(mistake.words),
        ]
        for engine, results in board().values()
        for cell in results.cells.values()
        for mistake in unexplained(engine.name, cell, board_findings)
    ]
    return table(["engine", "model", "mistake", "what was measured"], rows) if rows else ""


def listed() -> str:
    """List the findings."""
    return "".join(_finding(finding) for finding in findings())


def _titled(engine: Engine, results: Results) -> str:
    version = results.packages.get(engine.shows[0], "")
    return f"{html.escape(engine.title)}<br><small>{html.escape(version)}</small>"


def _cells(engine: Engine, results: Results, model: str) -> str:
    """Make the cell of a model: one line if all spellings have the same result."""
    cells = {
        spelling: cell
        for spelling in engine.spellings
        if (cell := results.cells.get((model, spelling))) is not None
    }
    if not cells:
        return "<td></td>"
    state = min((_state(engine.name, cell) for cell in cells.values()), key=STATES.index)
    lines = {spelling: _line(engine.name, cell) for spelling, cell in cells.items()}
    if len(cells) == len(engine.spellings) and len(set(lines.values())) == 1:
        shown = next(iter(lines.values()))
    else:
        shown = "<br>".join(f"{TITLES[spelling]}: {line}" for spelling, line in lines.items())
    return f'<td class="{state}">{shown}</td>'


def strips() -> str:
    """Make a row for each engine, with a strip of the models that it was judged on."""
    rows = "".join(
        f'<tr><th scope="row"><a href="../engines/">{html.escape(engine.title)}</a><br><small>'
        f"{html.escape(results.packages.get(engine.shows[0], ''))}</small></th>"
        f"<td>{strip(_pieces(engine.name, results))}</td></tr>\n"
        for engine, results in board().values()
    )
    return (
        '\n<table class="strips"><caption>What came of the probe of each model in each engine'
        '</caption><thead><tr><th scope="col">engine</th><th scope="col">models</th></tr></thead>'
        f"\n<tbody>\n{rows}</tbody></table>\n\n"
    )


def _pieces(engine: str, results: Results) -> list[Piece]:
    by_model: dict[str, list[Cell]] = {}
    for (model, _), cell in sorted(results.cells.items()):
        by_model.setdefault(model, []).append(cell)
    return [
        Piece(
            model_named(model).title,
            worst(_state(engine, cell) for cell in cells),
            "../engines/",
            ", ".join(dict.fromkeys(cell.verdict for cell in cells)),
        )
        for model, cells in by_model.items()
    ]


def _state(engine: str, cell: Cell) -> str:
    if cell.verdict == WRONG:
        return "failed" if unexplained(engine, cell, findings()) else "known"
    return "passed" if cell.verdict == PASSED else "unjudged"


def _line(engine: str, cell: Cell) -> str:
    if cell.verdict in (REFUSED, UNJUDGED):
        about = [finding for finding in findings() if finding.shown_by(engine, cell)]
        return _linked(about, cell.verdict)
    if cell.verdict == PASSED:
        return f"passes to {cell.reach:,}" if cell.reach else "passes"
    return ", ".join(dict.fromkeys(_mistakes(engine, cell)))


def _mistakes(engine: str, cell: Cell) -> Iterator[str]:
    """Yield the names of the mistakes of a cell, each with a link to its finding."""
    for mistake in cell.mistakes:
        name = "no known mistake" if mistake.id == UNNAMED else code(mistake.id)
        about = [finding for finding in findings() if finding.explains(engine, cell, mistake)]
        yield _linked(about, name)


def _linked(about: Sequence[Finding], shown: str) -> str:
    """Make a link to the first of some findings, if there is one."""
    return f'<a href="#finding-{about[0].id}">{shown}</a>' if about else shown


def _finding(found: Finding) -> str:
    titles = [engine.title for engine, _ in board().values() if engine.name in found.engines]
    rows = [
        ("what it does to a model", prose(found.means)),
        ("where in its code", prose(found.source)),
        ("releases", prose(found.since)),
        ("expected", code(found.expected)),
        ("got", code(found.got)),
        ("seen with", ", ".join(code(pattern) for pattern in found.cells)),
    ]
    items = "".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in rows)
    command = fenced(f"posenc probe {found.probe} --out probe --dtype float32", "console")
    return (
        f'\n<details class="golden" id="finding-{found.id}" markdown="1"><summary>'
        f"{prose(f'{titles[0] if titles else found.engines[0]}: {found.title}')}</summary>\n"
        f"\n<dl>{items}</dl>\n{command}"
        f"{fenced(found.reproduce, 'py', 'With that engine and the probe alone')}</details>\n\n"
    )


BLOCKS: dict[str, Callable[[], str]] = {
    "engines:strips": strips,
    "engines:summary": summary,
    "engines:table": board_table,
    "engines:notes": notes,
    "engines:unjudged": not_judged,
    "engines:words": words,
    "engines:unnamed": unnamed,
    "engines:findings": listed,
}
