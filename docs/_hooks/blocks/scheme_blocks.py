"""Content of a scheme's page from its scheme file: one function per ``<!-- spec:name -->``."""

import html
import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from blocks import code_blocks
from blocks.scoreboard_blocks import judged_schemes, who_is_right
from markup import code, link, paragraph, prose, table, thread
from pages import in_reference
from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.checks import LEVELS, checks_of
from posenc_conformance.implementations.reference import Reference
from posenc_conformance.judge.knowledge import KnownScheme
from posenc_conformance.registry import load_all
from posenc_conformance.scheme_file.read import SCHEMA_NAME, spec_folder
from posenc_conformance.scheme_file.scheme import Desideratum, Scheme

PAGE = "schemes/‹name›.md"
"""Where these blocks stand, which decides how links begin."""


@lru_cache(maxsize=1)
def schemes() -> dict[str, KnownScheme]:
    """Return all schemes by id."""
    return {scheme.id: scheme for scheme in load_all()}


DESIDERATA: dict[str, str] = {
    name: raw["description"]
    for name, raw in json.loads((spec_folder() / SCHEMA_NAME).read_text(encoding="utf-8"))[
        "properties"
    ]["desiderata"]["properties"].items()
}
"""The meaning of each desideratum, from the schema."""


@lru_cache(maxsize=1)
def check_ids() -> dict[str, frozenset[str]]:
    """Return the ids of the checks that apply to the reference, by scheme."""
    everything = subjects(Reference(), list(schemes().values()))
    return {
        scheme.id: frozenset(
            f"{scheme.path.name}::{level}::{check.id}"
            for level in LEVELS
            for check in checks_of(scheme, level, everything)
        )
        for scheme in schemes().values()
    }


def conventions(scheme: Scheme) -> str:
    """List the axes on which right implementations differ."""
    text = ""
    for axis in scheme.conventions.values():
        told = "" if axis.passed else "Not passed by keyword: it shows in other arguments."
        silence = (
            "Optional: claimed only where a claim says so."
            if axis.optional
            else f"Default of a claim: {code(axis.default)}."
        )
        values = "".join(
            f"<li>{code(value)}: {prose(meaning)}</li>" for value, meaning in axis.values.items()
        )
        # A heading would be listed in the table of contents, though it is folded.
        name = f'<strong id="convention-{axis.name}">{code(axis.name)}</strong>'
        text += paragraph(name, prose(axis.description), silence, told) + f"<ul>{values}</ul>\n"
    return text


def argument(value: Any) -> str:
    """Write an argument of a golden: a value, or the form that makes an array."""
    if isinstance(value, Mapping):
        form, content = next(iter(value.items()))
        start = f"; start {value['start']}" if "start" in value else ""
        return f"{form}({', '.join(map(str, content))}{start})"
    return str(value)


def point(values: Mapping[str, object]) -> str:
    """Write the values of parameters or options, as a call passes them."""
    return ", ".join(code(f"{name}={value!r}") for name, value in values.items())


def accuracy(scheme: Scheme) -> str:
    """Tabulate the constants of the error model, with their derivation."""
    model = scheme.accuracy
    rows = [[f"<em>A</em> = {model.rounding}", f"<em>B</em> = {model.angle}", prose(model.scale)]]
    return table(["rounding", "angle", "scale <em>s</em>"], rows) + paragraph(
        prose(model.derivation)
    )


def deviations(scheme: Scheme) -> str:
    """Show every known mistake."""
    text = ""
    for deviation in scheme.deviations:
        calls = " and ".join(map(code, deviation.calls))
        where = f" in {calls}" if len(scheme.calls) > 1 else ""
        # As Markdown headings, all would be listed twice in the navigation.
        text += f'\n<h3 id="{deviation.id}">{code(deviation.id)}</h3>\n\n'
        text += paragraph(prose(deviation.description))
        threads = ", ".join(map(thread, deviation.links))
        seen = f"Discussed in {threads}." if threads else ""
        text += paragraph(
            f"<em>Effect ({deviation.kind}{where}).</em> {prose(deviation.effect)}", seen
        )
    return text


def desiderata(scheme: Scheme) -> str:
    """Tabulate the desiderata of an encoding, and whether this scheme satisfies them."""
    rows = [
        [
            wish.name,
            "yes" if wish.holds else "no",
            f"{prose(wish.why)} {_show_desideratum(scheme, wish)}",
        ]
        for wish in scheme.desiderata
    ]
    return table(["wish", "holds", "why"], rows)


def _show_desideratum(scheme: Scheme, wish: Desideratum) -> str:
    """Link to the invariant, or write out the witness, that shows whether a desideratum holds."""
    if wish.witness is None:
        place = in_reference(PAGE, scheme.id, f"invariant-{wish.invariant}")
        return f"See {link(place, wish.invariant)}." if wish.invariant else ""
    rows = wish.witness.rows or ((), ())
    first, second = (
        f"({', '.join(f'{name}={argument(value)}' for name, value in arguments.items())})"
        + (f"[{', '.join(map(str, part))}]" if part else "")
        for arguments, part in zip(wish.witness.arguments, rows, strict=True)
    )
    words = {"equal": "are equal", "different": "differ"}.get(wish.witness.shows, "")
    if wish.witness.shows == "dot-products":
        words = "have the dot products {:g} and {:g}".format(*wish.witness.printed)
    return f"Executed: {code(f'{wish.witness.call}{first}')} and {code(second)} {words}."


def sources(scheme: Scheme) -> str:
    """List the sources of the definition."""
    items = []
    for key, source in scheme.sources.items():
        title = html.escape(source["title"])
        shown = link(source["url"], title) if "url" in source else title
        where = f": {prose(source['where'])}" if "where" in source else ""
        items.append(f'<li id="source-{key}">{shown}{where}</li>')
    return "\n<ul>\n" + "\n".join(items) + "\n</ul>\n\n"


def summary(scheme: Scheme) -> str:
    """Show a scheme's summary and file, with a note if no library is judged on it."""
    missing = " No library on the [scoreboard](../scoreboard.md) is judged on it."
    return (
        paragraph(f"<strong>{prose(scheme.summary)}</strong>")
        + f"\nScheme file: [`{scheme.path.name}`](../spec/{scheme.path.name}). "
        + f"Judge one: `pytest {scheme.path.name} --impl=…`."
        + ("" if scheme.id in judged_schemes() else missing)
        + "\n{: .to-judge }\n\n"
    )


BLOCKS: dict[str, Callable[[Scheme], str]] = {
    "accuracy": accuracy,
    "code": lambda scheme: code_blocks.tabs(scheme.id),
    "conventions": conventions,
    "desiderata": desiderata,
    "deviations": deviations,
    "sources": sources,
    "summary": summary,
    "who": lambda scheme: who_is_right(scheme.id),
}
