"""A page for each library of the scoreboard: schemes, mistakes, and how to reproduce them."""

import html
from collections.abc import Iterable

from scoreboard.cells import ALL, SEVERITIES, Counts, Finding, cells
from scoreboard.cells import findings as board_findings
from scoreboard.deployed.engines import Engine
from scoreboard.deployed.findings import findings as deployed_findings
from scoreboard.kept import Kept, earlier
from scoreboard.table import ROOT, Adapter, Library

import engine_pages
import findings
from blocks.engine_blocks import address_of
from blocks.scoreboard_blocks import EXAMPLE, by_library, counted, libraries_of, state, words
from blocks.site_blocks import dispute
from markup import code, fenced, heading, link, paragraph, prose
from pictures.sparklines import PASSED, SIGNS, worst
from posenc_conformance.report.difference import difference

FOLDER = "scoreboard"


def pages() -> dict[str, str]:
    """Return the Markdown of every library's page, by address in the documentation."""
    return {f"{FOLDER}/{name}.md": _page(reports) for name, reports in by_library().items()}


def _page(some: list[Kept]) -> str:
    library = some[0].library
    return (
        f"---\ntitle: {library.title}\n"
        f"description: What {library.title} {some[0].version} computes right of positional "
        f"encodings, scheme by scheme, judged by {library.name} on the scoreboard.\n"
        f"keywords: [{library.name}]\n---\n\n"
        f"# {library.title} {some[0].version}\n\n"
        + _judged(some)
        + _schemes(some)
        + _found(library)
        + _deployed(library)
        + _known(library)
        + _reproduce(library, some)
        + _history(some)
    )


def _judged(some: list[Kept]) -> str:
    library, measured = some[0].library, some[0].content["measured"]
    says = prose(f"{library.says[:1].upper()}{library.says[1:]}.") if library.says else ""
    return paragraph(
        f"{html.escape(library.language)}. Judged on {measured['date'][:10]} by version "
        f"{measured['kit']} of the kit, on {html.escape(measured.get('gpu') or measured['cpu'])}.",
        says,
    ) + paragraph(
        '<a href="../">The whole scoreboard</a>. '
        '<a href="../../maintainers/">Is this your library?</a>'
    )


def _schemes(some: list[Kept]) -> str:
    """Make a row for each scheme, with the summed counts of all adapters."""
    listed = board_findings()
    cells_of = {report.adapter.name: cells(report, listed) for report in some}
    rows = []
    for scheme, total in sorted(counted()[some[0].library.name].items()):
        of = {name: report[scheme] for name, report in cells_of.items() if scheme in report}
        rows.append(_row(scheme, total, of, several=len(some) > 1))
    columns = ("scheme", "checks", "dtypes", *(("adapter",) if len(some) > 1 else ()))
    head = "".join(f'<th scope="col">{name}</th>' for name in columns)
    return (
        heading(2, "Scheme by scheme", "schemes")
        + paragraph(
            "<em>To 2<sup>n</sup></em>: up to this position angles cost less than rounding to "
            "bfloat16, or the claim ends there."
        )
        + f'\n<div class="wide"><table class="verdicts"><thead><tr>{head}</tr></thead>\n<tbody>\n'
        f"{''.join(rows)}</tbody></table></div>\n\n"
    )


def _row(
    scheme: str, total: dict[str, Counts], of: dict[str, dict[str, Counts]], *, several: bool
) -> str:
    """Make the row of a scheme, which names its adapters if the library has several."""
    verdict = worst(state(counts[ALL]) for counts in of.values())
    dtypes = ", ".join(code(name) for name in sorted(total) if name != ALL)
    adapters = f"<td>{', '.join(map(code, of))}</td>" if several else ""
    return (
        f'<tr id="{scheme}" class="{verdict}"><th scope="row">'
        f'<a href="../../schemes/{scheme}/">{scheme}</a></th>'
        f'<td><span aria-hidden="true">{SIGNS[verdict]}</span> {words(total[ALL])}</td>'
        f"<td>{dtypes}</td>{adapters}</tr>\n"
    )


def _found(library: Library) -> str:
    mine = [finding for finding in board_findings() if library in libraries_of(finding)]
    if not mine:
        return ""
    return heading(2, "What is wrong", "findings") + "".join(map(_finding, mine))


def _finding(found: Finding) -> str:
    rows = [
        ("what it does to a model", prose(found.means)),
        ("releases", prose(found.since)),
        ("expected", prose(found.expected)),
        ("got", prose(found.got)),
        ("reference", prose(found.reference)),
        ("seen by", ", ".join(code(check) for check in found.checks)),
    ]
    if found.disputed:
        rows.insert(0, ("disputed", prose(found.disputed)))
    items = "".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in rows)
    severity = SEVERITIES[found.severity]
    return (
        f'\n<details class="golden" id="finding-{found.id}" markdown="1"><summary>'
        f"{prose(found.title)} <small>({severity})</small></summary>\n"
        f"\n<dl>{items}</dl>\n{fenced(found.reproduce, 'py', 'With that library alone')}"
        f"{dispute(found.id, '../../')}</details>\n\n"
    )


def _deployed(library: Library) -> str:
    """Lead to the engines that serve models with the library, and to their mistakes."""
    rows = [
        f'<li><a href="../../engines/{engine.name}/">{html.escape(engine.title)}</a>: '
        f"{_mistakes(engine)}</li>"
        for engine in engine_pages.of_library(library.name)
    ]
    if not rows:
        return ""
    told = paragraph("Released models, served and judged from token ids to log-probabilities:")
    return heading(2, "As deployed", "deployed") + told + f"<ul>{''.join(rows)}</ul>\n\n"


def _mistakes(engine: Engine) -> str:
    mine = [finding for finding in deployed_findings() if engine.name in finding.engines]
    if not mine:
        return "no finding"
    places = ((address_of(finding, "../../engines/"), finding.title) for finding in mine)
    return "; ".join(link(place, prose(title)) for place, title in places)


def _known(library: Library) -> str:
    """Show the file of known failures of each adapter, including adapters without a row."""
    judged = [
        findings.read_known(adapter.known)
        for adapter in (*library.adapters, *library.beside)
        if adapter.known is not None
    ]
    if not judged:
        return ""
    return heading(2, "Known failures, check by check", "known") + findings.listed(judged)


def _reproduce(library: Library, some: list[Kept]) -> str:
    registered = [row.adapter for row in some if row.adapter.name == row.adapter.impl]
    command = code(f"make scoreboard ONLY={library.name}")
    text = paragraph(f"In a clone of posenc, with the same pinned versions: {command}.")
    if registered and library.packages:
        commands = ", ".join(code(f"pytest --impl={row.name}") for row in registered)
        text += paragraph(f"Where library and posenc are installed: {commands}.")
    if library.pinned:
        text += paragraph("Installed:", ", ".join(map(code, library.pinned)) + ".")
    text += paragraph("Adapters:", ", ".join(code(place) for place in _code(some)) + ".")
    return heading(2, "Reproduce it", "reproduce") + text


def _code(some: list[Kept]) -> list[str]:
    return list(dict.fromkeys(place for report in some for place in _places(report.adapter)))


def _places(adapter: Adapter) -> Iterable[str]:
    for path in adapter.files:
        yield path.relative_to(ROOT).as_posix()


def _history(some: list[Kept]) -> str:
    """Show the changes since an earlier judged release, if there is one."""
    changes = [_changes(report, before) for report in some if (before := earlier(report))]
    told = "".join(changes) or paragraph(
        f"No release before {html.escape(some[0].version)} has a report that can be compared."
    )
    return heading(2, "History", "history") + told


def _changes(now: Kept, before: Kept) -> str:
    changes = difference(before.report, now.report)
    sums = [
        (len(changes.worse), "worse"),
        (len(changes.better), "better"),
        (len(changes.other), "changed"),
    ]
    summary = ", ".join(f"{number} {word}" for number, word in sums if number) or "no difference"
    title = f"{code(now.adapter.name)} {before.version} to {now.version}: {summary}"
    lines = fenced("\n".join(changes.lines()), title="posenc diff", kind="result")
    return (
        f'\n<details class="golden" markdown="1"><summary>{title}</summary>\n{lines}</details>\n\n'
    )


def where_known() -> str:
    """List the libraries with known failures, each with a link to its page."""
    items = "".join(
        f'<li><a href="../{FOLDER}/{name}/#known">{html.escape(reports[0].library.title)}</a></li>'
        for name, reports in by_library().items()
        if _known(reports[0].library)
    )
    head = f"{findings.count()} known failures have a reason, in these libraries:"
    return f"{paragraph(head)}<ul>{items}</ul>\n{_others()}"


def _others() -> str:
    """List the libraries of which a check failed although no file of theirs says why."""
    failing, right = [], 0
    for name, counts in counted().items():
        library = by_library()[name][0].library
        if name.startswith(EXAMPLE):
            continue
        states = {state(of_dtype[ALL]) for of_dtype in counts.values()}
        if states == {PASSED}:
            right += 1
        elif not _known(library):
            failing.append(link(f"../{FOLDER}/{name}/", html.escape(library.title)))
    told = f"Checks of these failed too, and their pages say which: {', '.join(failing)}. "
    return paragraph(
        told * bool(failing) + f"The other {right} rows of the board passed all that they claim."
    )


BLOCKS = {"list:findings": where_known}
