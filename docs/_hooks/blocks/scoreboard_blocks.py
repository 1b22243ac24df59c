"""The scoreboard: rows of libraries with a strip of schemes each, from the kept reports."""

import html
import json
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

from scoreboard.cells import ALL, SEVERITIES, Counts, Finding, cells, findings
from scoreboard.kept import Kept, all_kept
from scoreboard.table import Library, libraries

from blocks import engine_blocks
from markup import code, paragraph, prose
from pictures.sparklines import FAILED, KNOWN, PASSED, Piece, legend, strip

EXAMPLE = "example-"
"""Prefix of the names of the kit's own programs, which are on the board too."""
SCRIPT = '<script type="module" src="../assets/scoreboard.js"></script>'


@lru_cache(maxsize=1)
def board() -> tuple[list[Kept], dict[str, str]]:
    """Read the reports that may be shown, and the reasons why others may not."""
    return all_kept(libraries())


@lru_cache(maxsize=1)
def by_library() -> dict[str, list[Kept]]:
    """Return the kept reports by library, programs of the kit itself last."""
    reports: dict[str, list[Kept]] = {}
    for report in sorted(board()[0], key=lambda key: (_is_example(key), _sorted_by(key))):
        reports.setdefault(report.library.name, []).append(report)
    return reports


def _is_example(kept: Kept) -> bool:
    return kept.library.name.startswith(EXAMPLE)


def packages() -> set[str]:
    """Return the judged libraries, each once, even if several rows judge it in other ways."""
    return {report.package for report in board()[0] if not _is_example(report)}


def _sorted_by(kept: Kept) -> str:
    return kept.library.title.lower()


@lru_cache(maxsize=1)
def judged_schemes() -> frozenset[str]:
    """Return the schemes that some library was judged on, even in a report now out of date."""
    return frozenset(
        scheme
        for report in board()[0]
        if not _is_example(report)
        for scheme in (
            *(call.partition(".")[0] for call in report.without),
            *(row["scheme"] for row in report.report["rows"]),
        )
    )


@lru_cache(maxsize=1)
def counted() -> dict[str, dict[str, dict[str, Counts]]]:
    """Count by library, scheme and dtype, adding up the adapters of a library."""
    entries = findings()
    return {
        name: _added(cells(report, entries) for report in reports)
        for name, reports in by_library().items()
    }


def _added(parts: Iterable[Mapping[str, Mapping[str, Counts]]]) -> dict[str, dict[str, Counts]]:
    total: dict[str, dict[str, Counts]] = {}
    for part in parts:
        for scheme, by_dtype in part.items():
            for dtype, counts in by_dtype.items():
                before = total.setdefault(scheme, {}).get(dtype)
                total[scheme][dtype] = _sum(before, counts) if before else counts
    return total


def _sum(a: Counts, b: Counts) -> Counts:
    reaches = [counts.horizon for counts in (a, b) if counts.horizon is not None]
    return Counts(
        a.passed + b.passed, a.failed + b.failed, a.known + b.known, min(reaches, default=None)
    )


def state(counts: Counts) -> str:
    """Return the worst verdict that was counted."""
    return FAILED if counts.failed else KNOWN if counts.known else PASSED


def words(counts: Counts) -> str:
    """Write the counts of a cell, leaving out zeros."""
    parts = [f"{getattr(counts, word)} {word}" for word in (FAILED, KNOWN, PASSED)]
    shown = [part for part in parts if not part.startswith("0 ")]
    if counts.horizon:
        shown.append(f"to 2<sup>{counts.horizon.bit_length() - 1}</sup>")
    return ", ".join(shown)


def summary() -> str:
    """Say how many libraries there are, in which languages, and when they were judged."""
    shown = [report for report in board()[0] if not _is_example(report)]
    languages = sorted({report.library.language for report in shown})
    days = sorted(report.content["measured"]["date"][:10] for report in shown)
    when = days[0] if days[0] == days[-1] else f"{days[0]} to {days[-1]}"
    rows = len({report.library.name for report in shown})
    return paragraph(
        f"{len(packages())} libraries in {rows} rows, used from {', '.join(languages)}; "
        f"judged {when}. "
        '<a href="../maintainers/">Is one of them yours?</a>'
    )


def table() -> str:
    """Make the board itself, which a script filters in browsers with JavaScript."""
    rows = "".join(_row(reports[0], reports) for reports in by_library().values())
    return (
        f"\n{legend()}"
        '<div id="scoreboard-controls" class="controls" role="group" aria-label="Filters" '
        "hidden></div>\n"
        '<p id="scoreboard-said" role="status"></p>\n'
        '<table id="scoreboard" class="strips"><caption>What each library computes right, scheme '
        'by scheme</caption>\n<thead><tr><th scope="col">library</th>'
        f'<th scope="col">schemes</th></tr></thead>\n<tbody>\n{rows}</tbody></table>\n{SCRIPT}\n\n'
    )


def _row(first: Kept, some: list[Kept]) -> str:
    library = first.library
    measured = first.content["measured"]
    pieces = [
        Piece(scheme, state(it[ALL]), f"{library.name}/#{scheme}", words(it[ALL]), _data(it))
        for scheme, it in sorted(counted()[library.name].items())
    ]
    name = f'<a href="{library.name}/">{html.escape(library.title)}</a>'
    text = f"{html.escape(first.version)}, {measured['date'][:10]}"
    return (
        f'<tr id="{library.name}" data-name="{library.name}" '
        f'data-language="{html.escape(library.language)}"><th scope="row">{name}<br>'
        f"<small>{text}</small></th><td>{strip(pieces)}</td></tr>\n"
    )


def _data(found: Mapping[str, Counts]) -> str:
    data = {
        dtype: [cell.failed, cell.known, cell.passed, cell.horizon] for dtype, cell in found.items()
    }
    return f" data-counts='{json.dumps(data)}'"


def missing() -> str:
    """List adapters of which no report, or none for some calls, may be shown, with the reasons."""
    _, refused = board()
    if not refused:
        return paragraph("Every adapter of the table has been judged.")
    items = "".join(f"<li>{code(name)}: {prose(why)}</li>" for name, why in refused.items())
    return f"<ul>{items}</ul>\n"


def listed() -> str:
    """List the findings by severity, worst first, with links to their descriptions."""
    text = ""
    for severity, title in SEVERITIES.items():
        items = "".join(
            f'<li id="finding-{finding.id}"><a href="{library.name}/#finding-{finding.id}">'
            f"{html.escape(library.title)}</a>: {prose(finding.title)}</li>"
            for finding in findings()
            if finding.severity == severity
            for library in libraries_of(finding)[:1]
        )
        if items:
            text += f"<p><strong>{title.capitalize()}</strong></p><ul>{items}</ul>\n"
    return text


def libraries_of(found: Finding) -> list[Library]:
    """Return the libraries that show a finding, in the order of the table."""
    return [
        library
        for library in libraries()
        if {adapter.name for adapter in library.adapters} & set(found.adapters)
    ]


def who_is_right(scheme: str) -> str:
    """Make the strip of libraries that were judged on a scheme; empty if none was."""
    pieces = [
        Piece(
            by_library()[name][0].library.title,
            state(counts[scheme][ALL]),
            f"../../scoreboard/{name}/#{scheme}",
            words(counts[scheme][ALL]),
        )
        for name, counts in counted().items()
        if scheme in counts and not name.startswith(EXAMPLE)
    ]
    return strip(pieces, "quiet") if pieces else ""


BLOCKS: dict[str, Callable[[], str]] = {
    "scoreboard:summary": summary,
    "scoreboard:table": table,
    "scoreboard:missing": missing,
    "scoreboard:findings": listed,
    **engine_blocks.BLOCKS,
}
