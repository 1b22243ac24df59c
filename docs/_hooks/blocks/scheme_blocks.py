"""Content of a scheme's page from its scheme file: one function per ``<!-- spec:name -->``."""

import html
import json
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Any

from mkdocs.exceptions import PluginError

from blocks import code_blocks
from blocks.scoreboard_blocks import judged_schemes, who_is_right
from markup import code, fenced, heading, link, paragraph, prose, table, thread
from pages import REFERENCE
from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.checks import LEVELS, checks_of
from posenc_conformance.implementations.reference import Reference
from posenc_conformance.judge.call_kinds import KINDS
from posenc_conformance.judge.knowledge import KnownScheme
from posenc_conformance.registry import load_all
from posenc_conformance.scheme_file.read import SCHEMA_NAME, spec_folder
from posenc_conformance.scheme_file.scheme import (
    Call,
    Desideratum,
    Golden,
    Invariant,
    Parameter,
    Scheme,
)


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


def calls(scheme: Scheme) -> str:
    """Show how each call of an adapter is made."""
    shown = ""
    told: dict[str, dict[str, str]] = {}
    for call in scheme.calls.values():
        shown += _call(scheme, call, told)
        told[call.name] = _meanings(scheme, call)
    return shown


def _meanings(scheme: Scheme, call: Call) -> dict[str, str]:
    """Return the meaning of each argument of a call, by name."""
    texts = {name: prose(text) for name, text in call.arguments.items()}
    texts |= {p.name: prose(p.description) + _when(p) for p in call.parameters.values() if p.passed}
    axes = _axes(scheme, call, passed=True)
    texts |= {name: f"The convention {code(name)}." for name in axes}
    if call.dtype == "keyword":
        texts["dtype"] = "Name of the dtype that the result must have."
    return texts


def rows_of(meanings: Mapping[str, str], told: Mapping[str, Mapping[str, str]]) -> list[list[str]]:
    """Make a row per argument, and one for those repeated from the most similar earlier call."""
    same = {name: {n for n in meanings if old.get(n) == meanings[n]} for name, old in told.items()}
    before = max(same, key=lambda name: len(same[name]), default="")
    repeated = same.get(before, set())
    if len(repeated) < 2:
        repeated = set()
    rows = [[code(name), text] for name, text in meanings.items() if name not in repeated]
    if repeated:
        shown = ", ".join(code(name) for name in meanings if name in repeated)
        rows.append([shown, f"as in {code(before)}"])
    return rows


def _call(scheme: Scheme, call: Call, told: Mapping[str, Mapping[str, str]]) -> str:
    passed = [p for p in call.parameters.values() if p.passed]
    keywords = [p.name for p in passed] + _axes(scheme, call, passed=True)
    keywords += ["dtype"] if call.dtype == "keyword" else []
    star = ["*", *keywords] if keywords else []
    dtype = {
        "keyword": f"the one that the keyword {code('dtype')} names",
        "inputs": "that of the floating arrays given",
        "integer": "any integer dtype",
        "boolean": "boolean",
    }[call.dtype]
    shape = [p for p in call.parameters.values() if not p.passed and p.name not in call.arguments]
    restrict = ", ".join(code(p.name) for p in call.parameters.values())
    return (
        fenced(f"{call.name}({', '.join([*call.arguments, *star])}) -> {call.returns}", "python")
        + table(["argument", "meaning"], rows_of(_meanings(scheme, call), told))
        + paragraph(f"Kind of call: {code(call.kind)}. The result's dtype is {dtype}.")
        + paragraph(
            f"A claim may restrict {restrict}.",
            *(f"{code(p.name)} is the length of an axis of {code(p.of)}." for p in shape if p.of),
        )
    )


def _axes(scheme: Scheme, call: Call, *, passed: bool) -> list[str]:
    """Return the conventions of a call: all, or only those passed by keyword."""
    used = [name for combination in call.combinations.values() for name in combination.conventions]
    names = dict.fromkeys([*used, *call.options])
    return [name for name in names if scheme.conventions[name].passed or not passed]


def _when(parameter: Parameter) -> str:
    return f" Passed only with {_point(parameter.when)}." if parameter.when else ""


def _point(point: Mapping[str, object]) -> str:
    return ", ".join(code(f"{name}={value!r}") for name, value in point.items())


def conventions(scheme: Scheme) -> str:
    """Tabulate the axes on which right implementations differ."""
    text = ""
    for axis in scheme.conventions.values():
        told = "" if axis.passed else "It shows in other arguments and is not passed by keyword."
        silence = (
            "Optional: nothing is claimed here unless a claim says so."
            if axis.optional
            else f"A claim that does not mention it means {code(axis.default)}."
        )
        rows = [[code(value), prose(meaning)] for value, meaning in axis.values.items()]
        text += heading(3, f"`{axis.name}`", f"convention-{axis.name}")
        text += paragraph(prose(axis.description), silence, told)
        text += table(["value", "meaning"], rows)
    return text


def combinations(scheme: Scheme) -> str:
    """Tabulate every combination that may be claimed, and who uses it."""
    text = ""
    for call in scheme.calls.values():
        used = dict.fromkeys(n for claim in call.combinations.values() for n in claim.conventions)
        rows = [
            [
                f'<span id="{_combination_id(call, claim.name)}">{code(claim.name)}</span>',
                prose(claim.used_by),
                *(code(claim.conventions[n]) if n in claim.conventions else "" for n in used),
            ]
            for claim in call.combinations.values()
        ]
        if len(scheme.calls) > 1:
            text += paragraph(f"Of {code(call.name)}:")
        text += table(["combination", "used by", *map(code, used)], rows)
    return text


def _combination_id(call: Call, name: str) -> str:
    return f"combination-{call.name.replace('_', '-')}-{name}"


def goldens(scheme: Scheme) -> str:
    """Show every golden: what it catches, its call and its values."""
    text = paragraph(f"{code('pytest --impl=… -k NAME')} runs one alone.") if scheme.goldens else ""
    several = len(scheme.calls) > 1
    for call in scheme.calls.values():
        for name in call.combinations:
            chosen = [g for g in scheme.goldens if (g.call, g.combination) == (call.name, name)]
            if chosen:
                shown = f"`{call.name}` `{name}`" if several else f"`{name}`"
                text += heading(3, shown, f"goldens-{call.name.replace('_', '-')}-{name}")
                text += _of_combination(scheme, call, chosen)
    return text


def _of_combination(scheme: Scheme, call: Call, some: Sequence[Golden]) -> str:
    """Show the goldens of a combination, grouped by the source that defines them."""
    text = ""
    for source, of in groupby(some, lambda golden: golden.source):
        text += paragraph(f"Defined by {html.escape(scheme.sources[source]['title'])}:")
        text += "".join(_golden(scheme, call, golden) for golden in of)
    return text


def _golden(scheme: Scheme, call: Call, golden: Golden) -> str:
    node = f"{scheme.path.name}::golden::{golden.id}"
    if not any(id.startswith(f"{node}[") for id in check_ids()[scheme.id]):
        raise PluginError(f"{node} is a golden that no check asks for")
    arguments = [f"{name}={_argument(value)}" for name, value in golden.arguments.items()]
    arguments += [f"{name}={value!r}" for name, value in golden.options.items()]
    return (
        f'\n<details class="golden" id="golden-{golden.id}">\n'
        f"<summary>{code(golden.id)} catches {prose(golden.kills)}</summary>\n"
        + paragraph(code(f"{call.name}({', '.join(arguments)})"))
        + _expectation(call, golden)
        + "</details>\n\n"
    )


def _argument(value: Any) -> str:
    if isinstance(value, Mapping):
        form, content = next(iter(value.items()))
        start = f"; start {value['start']}" if "start" in value else ""
        return f"{form}({', '.join(map(str, content))}{start})"
    return str(value)


def _expectation(call: Call, golden: Golden) -> str:
    if golden.values is not None:
        rows = "\n".join(_rows(golden.values, KINDS[call.kind].axes))
        return f"<pre><code>{rows}</code></pre>\n"
    probes = golden.probes or ()
    names = KINDS[call.kind].axes
    width = len(probes[0]) - 1
    extra = [f"axis {axis}" for axis in range(width - len(names))]
    rows_ = [[*(f"{index:g}" for index in map(int, row[:-1])), code(row[-1])] for row in probes]
    if width == 1 and call.kind == "bucket":
        names = ("element",)
    return table([*extra, *names[:width], "value"], rows_)


def _rows(values: Any, names: Sequence[str]) -> list[str]:
    """Write nested values as lines, with named parts if the result has more than two axes."""
    if not values or not isinstance(values[0], Sequence):
        return [", ".join("masked" if value is None else repr(value) for value in values)]
    lines: list[str] = []
    for index, part in enumerate(values):
        matrix = bool(part) and isinstance(part[0], Sequence)
        if matrix:
            lines.append(f"{names[0] if len(names) > 2 else 'part'} {index}")
        lines += [("  " if matrix else "") + line for line in _rows(part, names[1:])]
    return lines


def published(scheme: Scheme) -> str:
    """Tabulate the printed numbers that the reference is compared with."""
    if not scheme.published:
        return paragraph("No source prints numbers of this scheme to compare with.")
    rows = []
    for item in scheme.published:
        shown = [_printed(item.quantity, number) for number in item.printed]
        passed = ", ".join(f"{name}={_argument(value)}" for name, value in item.arguments.items())
        note = f" {prose(item.note)}" if item.note else ""
        rows.append(
            [
                f'<span id="published-{item.id}">{code(item.id)}</span>',
                html.escape(scheme.sources[item.source]["title"]),
                code(f"{item.call}({passed})"),
                ", ".join(shown),
                f"{item.rounding}.{note}",
            ]
        )
    return table(["id", "printed by", "call", "printed", "rounding"], rows)


def _printed(quantity: str, one: Sequence[Any]) -> str:
    *index, text = one
    if quantity == "dot-product":
        return f"{code(text)} (dot product)"
    return f"{code(text)} at {', '.join(map(str, index))}"


def invariants(scheme: Scheme) -> str:
    """Show the statement and proof of every invariant, and the check that executes it."""
    node = code(f"{scheme.path.name}::invariant::NAME[…]")
    head = paragraph(f"Each is executed as {node}.") if scheme.invariants else ""
    return head + "".join(_invariant(scheme, invariant) for invariant in scheme.invariants)


def _invariant(scheme: Scheme, invariant: Invariant) -> str:
    node = f"{scheme.path.name}::invariant::{invariant.id}"
    ids = sorted(id for id in check_ids()[scheme.id] if id.startswith(f"{node}["))
    if not ids:
        raise PluginError(f"{node} is an invariant that no check executes")
    call = scheme.calls[invariant.call]
    covered = invariant.combinations or tuple(call.combinations)
    where = "all combinations"
    if len(covered) < len(call.combinations):
        where = ", ".join(map(code, covered))
    if len(scheme.calls) > 1:
        where = f"{code(call.name)}: {where}"
    if invariant.options:
        where += f", where {_point(invariant.options)} is claimed"
    return (
        heading(3, f"`{invariant.id}`", f"invariant-{invariant.id}")
        + paragraph(f"<strong>{prose(invariant.statement)}</strong>")
        + paragraph(f"<em>Proof.</em> {prose(invariant.proof)}")
        + paragraph(f"Executed for {where}.")
    )


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
        text += paragraph(f"<em>Effect.</em> {prose(deviation.effect)}")
        threads = ", ".join(map(thread, deviation.links))
        seen = f"Discussed in {threads}." if threads else ""
        text += paragraph(f"Class: {deviation.kind}{where}.", seen)
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
        place = f"../{scheme.id}{REFERENCE}/#invariant-{wish.invariant}"
        return f"See {link(place, wish.invariant)}." if wish.invariant else ""
    rows = wish.witness.rows or ((), ())
    first, second = (
        f"({', '.join(f'{name}={_argument(value)}' for name, value in arguments.items())})"
        + (f"[{', '.join(map(str, part))}]" if part else "")
        for arguments, part in zip(wish.witness.arguments, rows, strict=True)
    )
    words = {"equal": "are equal", "different": "differ"}.get(wish.witness.shows, "")
    if wish.witness.shows == "dot-products":
        words = "have the dot products {:g} and {:g}".format(*wish.witness.printed)
    return f"Executed: {code(f'{wish.witness.call}{first}')} and {code(second)} {words}."


def bad_inputs(scheme: Scheme) -> str:
    """Tabulate input that must be refused."""
    rows = []
    for bad in scheme.bad_inputs:
        arguments = ", ".join(f"{name}={_argument(value)}" for name, value in bad.arguments.items())
        only = f" Only of {', '.join(bad.combinations)}." if bad.combinations else ""
        only += f" Only where {_point(bad.options)} is claimed." if bad.options else ""
        rows.append(
            [
                f'<span id="bad-input-{bad.id}">{code(bad.id)}</span>',
                code(f"{bad.call}({arguments})"),
                f"{prose(bad.why)}.{only}",
            ]
        )
    return table(["id", "call", "why"], rows)


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
    "bad-inputs": bad_inputs,
    "calls": calls,
    "code": lambda scheme: code_blocks.tabs(scheme.id),
    "combinations": combinations,
    "conventions": conventions,
    "desiderata": desiderata,
    "deviations": deviations,
    "goldens": goldens,
    "invariants": invariants,
    "published": published,
    "sources": sources,
    "summary": summary,
    "who": lambda scheme: who_is_right(scheme.id),
}
