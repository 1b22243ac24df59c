"""A page for each engine: what it does with each model, its mistakes, and its own words."""

import html
import json
from collections.abc import Sequence

from scoreboard.deployed.engines import Engine
from scoreboard.deployed.findings import Finding, findings, unexplained
from scoreboard.deployed.kept import Results

from blocks.engine_blocks import TITLES, address_of, board, cell_of, version_of
from blocks.site_blocks import dispute
from markup import code, fenced, heading, link, paragraph, prose, table
from pictures.sparklines import legend
from posenc_conformance.models.file import model_named

FOLDER = "engines"


def pages() -> dict[str, str]:
    """Return the Markdown of every engine's page, by address in the documentation."""
    return {f"{FOLDER}/{name}.md": _page(*row) for name, row in board().items()}


def of_library(name: str) -> list[Engine]:
    """Return the engines that serve models with a library of the scoreboard."""
    return [engine for engine, _ in board().values() if engine.functions == name]


def _page(engine: Engine, results: Results) -> str:
    return (
        f"---\ntitle: {engine.title}, as deployed\n"
        f"description: What {engine.title} {version_of(engine, results)} does with positions of "
        f"released models, model by model, as {engine.name} on the board.\n"
        f"keywords: {json.dumps(_keywords(engine, results))}\n---\n\n"
        f"# {engine.title} {version_of(engine, results)}\n\n"
        + _judged(engine, results)
        + _models(engine, results)
        + _found(engine)
        + _unexplained(engine, results)
        + _words(engine, results)
        + _again(engine)
    )


def _keywords(engine: Engine, results: Results) -> list[str]:
    """Name the engine, and with it each model: tables are not searched."""
    models = sorted({model_named(model).title for model, _ in results.cells})
    return [engine.name, *(f"{engine.name} {title}" for title in models)]


def _judged(engine: Engine, results: Results) -> str:
    days = sorted(cell.date[:10] for cell in results.cells.values())
    packages = ", ".join(f"{name} {version}" for name, version in results.packages.items())
    beside = [
        f'<a href="../{name}/">{html.escape(other.title)}</a>'
        for name, (other, _) in board().items()
        if other.shows[0] == engine.shows[0] and other != engine
    ]
    if engine.functions:
        place = f"../../scoreboard/{engine.functions}/"
        beside.insert(0, f'<a href="{place}">its functions on the scoreboard</a>')
    return paragraph(
        f"{prose(engine.says[:1].upper() + engine.says[1:])}. Installed: {html.escape(packages)}. "
        f"Judged in {engine.dtype}, on {days[-1]}, on {html.escape(results.cpu)}."
    ) + paragraph(
        '<a href="../">All engines</a>.',
        f"See also {', '.join(beside)}." if beside else "",
        '<a href="../../maintainers/">Is this your engine?</a>',
    )


def _models(engine: Engine, results: Results) -> str:
    """Make a row for each model, with the longest text that was asked."""
    rows = []
    for model in sorted({model for model, _ in results.cells}):
        cells = [cell for (name, _), cell in results.cells.items() if name == model]
        title = html.escape(model_named(model).title)
        longest = max(cell.context for cell in cells)
        asked = f"{longest:,}" if longest else ""
        rows.append(
            f'<tr id="{model}"><th scope="row"><a href="../../models/#{model}">{title}</a></th>'
            f"{cell_of(engine, results, model, '../')}<td>{asked}</td></tr>\n"
        )
    names = ("model", "result of its probe", "longest sequence, tokens")
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    return (
        heading(2, "Model by model", "models")
        + legend(unjudged="not supported, or not judged")
        + paragraph(
            "<em>Passes to N</em>: right at each distance that was asked; N was the farthest."
        )
        + f'\n<div class="wide"><table class="matrix"><thead><tr>{head}</tr></thead>\n<tbody>\n'
        f"{''.join(rows)}</tbody></table></div>\n\n"
    )


def _found(engine: Engine) -> str:
    mine = [finding for finding in findings() if engine.name in finding.engines]
    if not mine:
        return ""
    told = paragraph(
        '<a href="../#findings">How each was confirmed</a>.',
        "We have not reported these upstream yet.",
    )
    return (
        heading(2, "What is wrong", "findings")
        + told
        + "".join(_finding(engine, finding) for finding in mine)
    )


def _finding(engine: Engine, found: Finding) -> str:
    """Describe a finding in full on the page of the first engine that shows it."""
    title = prose(f"{engine.title}: {found.title}")
    if found.engines[0] != engine.name:
        return paragraph(link(address_of(found, "../"), title))
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
        f"{title}</summary>\n\n<dl>{items}</dl>\n{command}"
        f"{fenced(found.reproduce, 'py', 'With that engine and the probe alone')}"
        f"{dispute(found.id, '../../')}</details>\n\n"
    )


def _unexplained(engine: Engine, results: Results) -> str:
    """Tabulate mistakes that no finding explains, and the kit's measurements."""
    rows = [
        [
            html.escape(f"{model_named(cell.model).title}, {TITLES[cell.spelling]}"),
            code(mistake.id),
            html.escape(mistake.words),
        ]
        for cell in results.cells.values()
        for mistake in unexplained(engine.name, cell, findings())
    ]
    if not rows:
        return ""
    told = paragraph("The numbers are wrong, and the cause in the engine's code is not known yet.")
    shown = table(["model", "mistake", "what was measured"], rows)
    return heading(2, "Not explained yet", "unexplained") + told + shown


def _words(engine: Engine, results: Results) -> str:
    """Show the messages of the engine and of the kit where there is no verdict on numbers."""
    models_of: dict[tuple[str, str], list[str]] = {}
    for cell in results.cells.values():
        if cell.says:
            model = f"{model_named(cell.model).title}, {TITLES[cell.spelling]}"
            models_of.setdefault((cell.verdict, cell.says), []).append(model)
    if not models_of:
        return ""
    rows = [
        [verdict, _lines(models), code(words)] for (verdict, words), models in models_of.items()
    ]
    shown = table(["", "models", "words"], rows)
    return (
        heading(2, "In its own words", "words")
        + '\n<details class="golden" markdown="1"><summary>Messages where there is no verdict on '
        f"numbers</summary>\n{shown}</details>\n\n"
    )


def _lines(texts: Sequence[str]) -> str:
    return "<br>".join(map(html.escape, texts))


def _again(engine: Engine) -> str:
    command = code(f"make scoreboard ENGINES={engine.name}")
    return heading(2, "Judge it again", "again") + paragraph(f"In a clone of posenc: {command}.")
