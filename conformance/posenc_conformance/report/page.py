"""One page of a report: it stands alone, as HTML that a browser opens from a file.

Its pictures come from the report. The script only filters, and the page works without it.
"""

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Literal

from posenc_conformance.files import Writer, is_sealed, sealed
from posenc_conformance.pictures.picture import Lines, Picture, from_plain, line, to_number
from posenc_conformance.pictures.svg import STYLE, draw
from posenc_conformance.report.document import ID
from posenc_conformance.report.layout import CheckEntry, Report, RowEntry

BEGINNING = "<!doctype html><!-- posenc page, format 1 -->"
"""How a page begins, by which the kit knows its own."""
LARGEST_OF_PICTURES = 600_000
"""Characters that all pictures of a page may take; later claims go without."""
LONGEST, LONGEST_LINE = 3000, 300
"""Most characters of a failure, and of a name or a line, that a page shows."""
FEW = 40
"""Most failures of a claim, and most lines of a list, that a page shows."""
LARGEST_OF_TEXTS, LARGEST_OF_ROWS = 150_000, 150_000
"""Characters that all failed claims may take besides pictures, and all passed ones."""
CAUSES = 6
"""Most causes that the head of a page lists."""
BAD: tuple[Literal["failed", "known", "blocked"], ...] = ("failed", "known", "blocked")
RULES = """
:root{color-scheme:light dark}body{font:16px/1.5 sans-serif;margin:0 auto;max-width:60rem;
padding:1rem;background:#fff;color:#1b1f24}h1{font-size:1.4rem}h2{font-size:1.15rem}
h3{font-size:1rem;overflow-wrap:anywhere}.verdict strong{font-size:1.2rem}
.verdict{border-left:.4rem solid;padding-left:.7rem}
section section,.wide{border-top:1px solid #8a939c;margin-top:1rem}
pre,code{font-family:monospace;font-size:.85rem}pre{overflow-x:auto;background:#eceff2;
padding:.6rem}table{border-collapse:collapse}td,th{padding:.2rem .7rem;text-align:left}
tr{border-top:1px solid #8a939c}.wide{overflow-x:auto}svg.px{max-width:100%;height:auto}
li,p{overflow-wrap:anywhere}input{font:inherit;padding:.3rem;max-width:100%}
@media(prefers-color-scheme:dark){body{background:#14171b;color:#e8ebee}pre{background:#2b3138}}
"""
SCRIPT = """
const box=document.querySelector("#filter"),told=document.querySelector("#told");
const parts=[...document.querySelectorAll("[data-part]")];box.closest("form").hidden=false;
function filter(){const words=box.value.toLowerCase().split(/\\s+/).filter(Boolean);let left=0;
for(const part of parts){const text=part.textContent.toLowerCase();
part.hidden=!words.every(word=>text.includes(word));left+=part.hidden?0:1}
told.textContent=words.length?`${left} of ${parts.length} shown`:""}
box.addEventListener("input",filter);box.form.addEventListener("submit",e=>e.preventDefault());
addEventListener("keydown",e=>{if(e.key==="/"&&e.target!==box){e.preventDefault();box.focus()}
if(e.key==="Escape"&&e.target===box){box.value="";filter()}});
"""

Claims = Mapping[tuple[str, str, str], Sequence[CheckEntry]]


def is_page(path: Path) -> bool:
    """Return whether a file is a page of the kit that nobody changed, or empty."""
    return is_sealed(path, BEGINNING)


WRITER = Writer(
    is_page,
    "is no page of posenc, or was changed, and would be overwritten",
    hint="give another name, or move the file away",
    streams=True,
    option="--posenc-html=",
)


def page(report: Report) -> str:
    """Return a report as one page: verdict, failed claims, passed ones, what was not asked."""
    implementation = report["implementation"]
    name = escape(implementation["name"][:LONGEST_LINE])
    pictures = _Pictures()
    parts = [
        f'{BEGINNING}<html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
        f'content="width=device-width"><title>{escape(headline(report))}: {name}</title>'
        f"<style>{STYLE}{RULES}</style></head><body><main><h1>posenc: {name}</h1>",
        f'<div class="verdict"><p><strong>{escape(headline(report))}</strong></p>',
        *_causes(report),
        *_unjudged(report),
        "</div>",
        '<form hidden><label>Filter <input id="filter" type="search"></label> <span id="told" '
        'role="status"></span><p>The key / goes to the filter, Escape empties it.</p></form>',
        *_failed(report, pictures),
        *_passed(report, pictures),
        *_left_out(report),
        *_versions(report),
    ]
    whole = "\n".join(parts) + f"</main><script>{SCRIPT}</script></body></html>\n"
    return sealed(whole)


def headline(report: Report) -> str:
    """Say in a few words whether a run passed, and how many claims did not."""
    claims = _claims(report, "passed", *BAD, "silent")
    failed = len(_claims(report, "failed", "blocked"))
    if report.get("interrupted") or not claims:
        return verdict(report)
    of_all = f"{len(claims)} claim{'s' * (len(claims) > 1)}"
    return f"Failed: {failed} of {of_all}" if failed else f"Passed: {of_all}"


def _causes(report: Report) -> Iterator[str]:
    """Yield the counts of checks, and what made claims fail, the most frequent cause first."""
    if headline(report) != verdict(report):
        yield f"<p>{escape(verdict(report))}</p>"
    causes: Counter[str] = Counter()
    for check in report["checks"]:
        if check["verdict"] == "failed":
            named = [words for _, words in check["explanations"][:1]]
            causes[(named or [check.get("recovered") or "without a known cause"])[0]] += 1
    if causes:
        yield "<ul>"
        yield from (
            f"<li>{count} failed: {_line(cause)}</li>"
            for cause, count in causes.most_common(CAUSES)
        )
        more = len(causes) - CAUSES
        yield f"<li>and {more} more causes</li></ul>" if more > 0 else "</ul>"


def _unjudged(report: Report) -> Iterator[str]:
    """Yield what is not judged of a library whose claims were made for it."""
    told = [note.strip() for note in report.get("notes", [])]
    left = [note for note in told if note.lower().startswith("not judged")]
    if left:
        yield "<ul>"
        yield from (f"<li>{_line(note)}</li>" for note in left)
        yield "</ul>"


def verdict(report: Report) -> str:
    """Say in one sentence what a run found."""
    summary = report["summary"]
    if reason := report.get("interrupted"):
        return f"No verdict, the run did not finish: {reason}"
    ran = sum(summary[name] for name in ("passed", "failed", "known", "blocked", "silent"))
    if not ran:
        return "No verdict: no check ran"
    wrong = [
        f"{count} {words}"
        for count, words in (
            (summary["failed"], "failed"),
            (summary["blocked"], "blocked"),
            (summary["known"], "known to fail"),
            (summary["silent"], "with bad input not refused, or an empty one not answered"),
        )
        if count
    ]
    words = f"{', '.join(wrong)} of {ran} checks" if wrong else f"Passed: {ran} checks"
    left = summary["not_selected"]
    return f"{words}; {left} claimed checks were not selected" if left else words


class _Pictures:
    """Draws pictures while there is room for them."""

    def __init__(self) -> None:
        self._room = LARGEST_OF_PICTURES

    def drawn(self, pictures: Sequence[Picture]) -> Iterator[str]:
        for picture in pictures:
            svg = draw(picture, style=False)
            if len(svg) > self._room:
                yield "<p>Left out, as the page has too many pictures: "
                yield f"{_line(picture.title)}.</p>"
                continue
            self._room -= len(svg)
            yield f"<figure>{svg}</figure>"


def _claims(report: Report, *verdicts: str) -> Claims:
    """Group the checks with these verdicts by scheme, call and combination."""
    claims: dict[tuple[str, str, str], list[CheckEntry]] = {}
    for check in report["checks"]:
        if check["verdict"] in verdicts:
            key = check["scheme"], check["call"], check["combination"]
            claims.setdefault(key, []).append(check)
    return claims


def _failed(report: Report, pictures: _Pictures) -> Iterator[str]:
    claims = _claims(report, *BAD, "silent")
    if not claims:
        return
    yield "<section><h2>Not passed</h2>"
    name = report["implementation"]["name"][:LONGEST_LINE]
    alone = report.get("alone", ["posenc", "repro", ID, f"--impl={name}"])
    yield from _fitting(
        (
            f"<section data-part><h3>{_line(f'{call}, {combination}')}</h3>",
            *_claim(checks, alone, pictures),
            "</section>",
        )
        for (_, call, combination), checks in claims.items()
    )
    yield "</section>"


def _line(text: str) -> str:
    """Return a line of a page, cut if it is too long."""
    return escape(text[:LONGEST_LINE])


def _fitting(claims: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the parts of claims that fit, besides pictures, and the number of those that do not."""
    room, left = LARGEST_OF_TEXTS, 0
    for parts in claims:
        room -= sum(len(part) for part in parts if not part.startswith("<figure>"))
        if room < 0:
            left += 1
        else:
            yield from parts
    if left:
        yield f"<p>and {left} more, in the report</p>"


def _claim(
    checks: Sequence[CheckEntry], alone: Sequence[str], pictures: _Pictures
) -> Iterator[str]:
    """Yield causes, the failure that shows most, its picture, and the names of the others."""
    causes = dict.fromkeys(
        check["explanations"][0][1] if check["explanations"] else check.get("recovered", "")
        for check in checks
    )
    yield from (f"<p>{escape(cause[:LONGEST])}</p>" for cause in [*causes][:FEW] if cause)
    order = (*BAD, "silent")
    first = min(checks, key=lambda check: (order.index(check["verdict"]), -_cells_of(check)))
    yield from pictures.drawn([from_plain(each) for each in first.get("pictures", [])])
    yield f'<pre tabindex="0">{escape(first["message"][:LONGEST])}</pre>'
    if first["verdict"] in ("failed", "known"):
        command = shlex.join(word.replace(ID, first["id"]) for word in alone)
        yield f"<p>Reproduce it: <code>{escape(command[:LONGEST])}</code></p>"
    if len(checks) > 1:
        yield f"<details><summary>{len(checks)} checks</summary><ul>"
        yield from (f"<li>{escape(c['verdict'])}: {_line(c['id'])}</li>" for c in checks[:FEW])
        more = f"<p>and {len(checks) - FEW} more</p>" if len(checks) > FEW else ""
        yield f"</ul>{more}</details>"


def _cells_of(check: CheckEntry) -> int:
    """Return the number of cells of a check's first map: the largest picture shows most."""
    first = next((plain for plain in check.get("pictures", []) if "rows" in plain), None)
    return len(first["rows"]) * len(first["rows"][0]) if first else 0


def _passed(report: Report, pictures: _Pictures) -> Iterator[str]:
    rows = [row for row in report["rows"] if row["passed"] and not any(row[name] for name in BAD)]
    if not rows:
        return
    yield '<section><h2>Passed</h2><div class="wide" tabindex="0"><table><tr>'
    heads = ("call", "combination", "dtype", "passed", "worst error / bound", "horizon")
    yield "".join(f'<th scope="col">{head}</th>' for head in heads) + "</tr>"
    room = LARGEST_OF_ROWS
    for row in rows:
        cells = "".join(f"<td>{_line(cell)}</td>" for cell in _cells(row))
        room -= len(cells)
        if room >= 0:
            yield f"<tr data-part>{cells}</tr>"
    yield "</table></div>"
    if room < 0:
        yield "<p>and more, in the report</p>"
    for check in report["checks"]:
        if check["curve"] and check["verdict"] == "passed" and check["dtype"] == "float32":
            name = f"{check['call']} {check['combination']} {check['dtype']}"
            yield f"<details data-part><summary>{escape(name)}: error by position</summary>"
            yield from pictures.drawn([precision(name, check["curve"])])
            yield "</details>"
    yield "</section>"


def _cells(row: RowEntry) -> Iterator[str]:
    yield from (row["call"], row["combination"], row["dtype"] or "any", str(row["passed"]))
    worst, horizon = row["worst"], row["horizon"]
    yield f"{to_number(worst):.2g}" if isinstance(worst, float | int) else str(worst or "")
    yield "" if horizon is None else f"{'≥ ' if row['horizon_is_claim'] else ''}{horizon:,}"


def precision(name: str, curve: Sequence[Sequence[float]]) -> Lines:
    """Draw a sweep: the largest error by position, and its bound, in units of the scale."""
    places = [point[0] for point in curve]
    series = (
        line("bound", places, [point[2] for point in curve]),
        line("error", places, [point[1] for point in curve]),
    )
    return Lines(f"{name}: precision", "position", "error of the scale", series, "xy")


def _left_out(report: Report) -> Iterator[str]:
    lines = [
        f"{scheme}: not claimed: {', '.join(names)}"
        for scheme, names in report["combinations_not_claimed"].items()
    ]
    lines += [f"{id}: {why}" for id, why in report["not_asked"].items()]
    lines += [f"{model}: not claimed" for model in report.get("models_not_claimed", [])]
    lines += [f"{c['id']}: {c['left_out']}" for c in report["checks"] if c["left_out"]]
    count = report["summary"]["not_claimed"]
    yield f"<section><h2>Not asked</h2><p>{count} checks are of no claim.</p><ul>"
    shown = lines[: 5 * FEW]
    yield from (f"<li data-part>{_line(words)}</li>" for words in shown)
    yield "</ul>"
    if len(lines) > len(shown):
        yield f"<p>and {len(lines) - len(shown)} more, in the report</p>"
    yield "</section>"


def _versions(report: Report) -> Iterator[str]:
    versions = {"posenc": report["kit"], **report["implementation"]["versions"]}
    listed = ", ".join(f"{name} {number}" for name, number in versions.items())
    yield f"<section><h2>Versions</h2><p>{escape(listed[:LONGEST])}</p></section>"
