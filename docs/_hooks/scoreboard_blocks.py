"""The scoreboard: a table of implementations and schemes, and findings, from the kept reports."""

import html
import json
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from scoreboard.cells import ALL, SEVERITIES, Counts, Finding, cells, findings
from scoreboard.kept import Kept, all_kept, earlier
from scoreboard.table import libraries

import engine_blocks
from markup import code, fenced, heading, paragraph, prose
from posenc_conformance.report.difference import difference

WORDS = ("failed", "known", "passed")
FIXED = ("implementation", "version", "language", *WORDS)
EXAMPLE = "example-"
"""How the names of the kit's own programs begin, which are on the board too."""
SCRIPT = '<script type="module" src="../assets/scoreboard.js"></script>'


@lru_cache(maxsize=1)
def board() -> tuple[list[Kept], dict[str, str]]:
    """Read the reports that may be shown, and why others have none."""
    return all_kept(libraries())


@lru_cache(maxsize=1)
def judged_schemes() -> frozenset[str]:
    """Schemes that some library was judged on, also by a report that is out of date by now."""
    return frozenset(
        scheme
        for each in board()[0]
        if not each.library.name.startswith(EXAMPLE)
        for scheme in (*each.without, *(row["scheme"] for row in each.report["rows"]))
    )


def summary() -> str:
    """How many implementations there are, of which languages, and when they were judged."""
    shown, _ = board()
    languages = sorted({each.library.language for each in shown})
    libraries_ = {each.library.name for each in shown}
    days = sorted(each.content["measured"]["date"][:10] for each in shown)
    when = days[0] if days[0] == days[-1] else f"{days[0]} to {days[-1]}"
    return paragraph(
        f"{len(shown)} adapters of {len(libraries_)} libraries, used from "
        f"{', '.join(languages)}; judged {when}."
    )


def notes() -> str:
    """List what a reader must know of some rows."""
    shown, _ = board()
    said = [(each.adapter.name, each.library) for each in shown if each.library.says]
    items = [f"<li>{code(name)}: {prose(f'{it.title}: {it.says}.')}</li>" for name, it in said]
    return f"<ul>{''.join(items)}</ul>\n" if items else ""


def missing() -> str:
    """Adapters that have no report that may be shown, or none of some schemes, and why."""
    _, refused = board()
    if not refused:
        return paragraph("Every adapter of the table has been judged.")
    items = "".join(f"<li>{code(name)}: {prose(why)}</li>" for name, why in refused.items())
    return f"<ul>{items}</ul>\n"


def table() -> str:
    """Make the board itself; a script sorts and filters it where there is one."""
    shown, _ = board()
    known = findings()
    found = {each.adapter.name: cells(each, known) for each in shown}
    schemes = sorted({scheme for some in found.values() for scheme in some})
    head = "".join(f'<th scope="col" data-column="{name}">{name}</th>' for name in FIXED)
    head += "".join(
        f'<th scope="col" data-scheme="{name}"><a href="../schemes/{name}/">{name}</a></th>'
        for name in schemes
    )
    body = "".join(_row(each, found[each.adapter.name], schemes) for each in shown)
    return (
        f'\n<div id="scoreboard-controls" role="group" aria-label="Filters" hidden></div>\n'
        f'<p id="scoreboard-said" role="status"></p>\n'
        f'<div class="wide"><table id="scoreboard"><caption>Checks that failed, that failed as '
        f"known, and that passed, by implementation and scheme</caption>\n"
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table></div>\n{SCRIPT}\n\n"
    )


def _row(kept: Kept, found: Mapping[str, Mapping[str, Counts]], schemes: Sequence[str]) -> str:
    name = kept.adapter.name
    measured = kept.content["measured"]
    said = f"{measured['date'][:10]}, kit {measured['kit']}, {measured['cpu']}"
    sums = (sum(getattr(each[ALL], word) for each in found.values()) for word in WORDS)
    parts = [
        f'<th scope="row" title="{html.escape(said)}">{code(name)}</th>',
        f"<td>{html.escape(kept.version)}</td><td>{html.escape(kept.library.language)}</td>",
        *(f'<td class="number">{number}</td>' for number in sums),
        *(_cell(found.get(scheme)) for scheme in schemes),
    ]
    return (
        f'<tr data-name="{name}" data-language="{html.escape(kept.library.language)}">'
        f"{''.join(parts)}</tr>\n"
    )


def _cell(found: Mapping[str, Counts] | None) -> str:
    """Make the cell with the counts of a scheme; one for what was not measured is empty."""
    if found is None:
        return "<td></td>"
    data = {
        dtype: [each.failed, each.known, each.passed, each.horizon] for dtype, each in found.items()
    }
    counts = found[ALL]
    state = "failed" if counts.failed else "known" if counts.known else "passed"
    words = [f"{getattr(counts, word)} {word}" for word in WORDS if getattr(counts, word)]
    if counts.horizon:
        words.append(f"to 2<sup>{counts.horizon.bit_length() - 1}</sup>")
    shown = "<br>".join(words)
    return f"<td class=\"{state}\" data-counts='{json.dumps(data)}'>{shown}</td>"


def listed() -> str:
    """List the findings by severity, the worst first."""
    shown, _ = board()
    versions = {each.adapter.name: f"{each.library.name} {each.version}" for each in shown}
    text, last = "", ""
    for found in findings():
        if found.severity != last:
            last = found.severity
            text += heading(3, SEVERITIES[last].capitalize(), f"findings-{last}")
        text += _finding(found, versions, f"finding-{found.id}")
    return text


def changes() -> str:
    """Show what a release changed, for libraries of which an earlier one was judged too."""
    shown, _ = board()
    return "".join(_changes(each, before) for each in shown if (before := earlier(each)))


def _changes(now: Kept, before: Kept) -> str:
    found = difference(before.report, now.report)
    sums = [
        (len(found.worse), "worse"),
        (len(found.better), "better"),
        (len(found.other), "changed"),
    ]
    said = ", ".join(f"{number} {word}" for number, word in sums if number) or "no difference"
    title = f"{code(now.adapter.name)} {before.version} to {now.version}: {said or 'no difference'}"
    lines = fenced("\n".join(found.lines()), title="posenc diff", kind="result")
    return (
        f'\n<details class="golden" markdown="1"><summary>{title}</summary>\n{lines}</details>\n\n'
    )


def _finding(found: Finding, versions: Mapping[str, str], anchor: str) -> str:
    where = dict.fromkeys(versions.get(name, name) for name in found.adapters)
    title = f"{', '.join(where)}: {found.title}"
    rows = [
        ("what it does to a model", prose(found.means)),
        ("releases", prose(found.since)),
        ("expected", prose(found.expected)),
        ("got", prose(found.got)),
        ("reference", prose(found.reference)),
        ("seen by", ", ".join(code(each) for each in found.checks)),
    ]
    items = "".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in rows)
    return (
        f'\n<details class="golden" id="{anchor}" markdown="1"><summary>{prose(title)}</summary>\n'
        f"\n<dl>{items}</dl>\n{fenced(found.reproduce, 'py', 'With that library alone')}"
        "</details>\n\n"
    )


BLOCKS: dict[str, Callable[[], str]] = {
    "scoreboard:summary": summary,
    "scoreboard:table": table,
    "scoreboard:notes": notes,
    "scoreboard:missing": missing,
    "scoreboard:findings": listed,
    "scoreboard:changes": changes,
    **engine_blocks.BLOCKS,
}
