"""The reference of a scheme, as data for the page that shows it: calls, goldens and the like.

``reference/NAME.json`` has the parts of one scheme, each with its id, which the address of an entry
ends with: ``reference/?scheme=rope#golden-interleaved-d4-start``.
"""

import html
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from mkdocs.exceptions import PluginError

from blocks import measured_blocks
from blocks.scheme_blocks import argument, check_ids, point, schemes
from markup import code, paragraph, prose, table
from posenc_conformance.checks import LEVELS
from posenc_conformance.judge.call_kinds import KINDS
from posenc_conformance.scheme_file.scheme import Call, Golden, Invariant, Parameter, Scheme

FOLDER = "reference"
SCRIPT = '<script type="module" src="../assets/reference.js"></script>'


@dataclass(frozen=True)
class Entry:
    """Something with an address of its own, such as a golden; ``title`` and ``text`` are HTML."""

    id: str
    title: str
    text: str


@dataclass(frozen=True)
class Part:
    """A part of a reference: HTML before its entries, and the entries, which are folded."""

    id: str
    title: str
    text: str
    entries: tuple[Entry, ...] = ()

    @property
    def filled(self) -> bool:
        """Whether there is anything to show."""
        return bool(self.text or self.entries)


def pages() -> dict[str, str]:
    """Return the data of each scheme, by address."""
    return {f"{FOLDER}/{scheme.id}.json": content(scheme) for scheme in schemes().values()}


def content(scheme: Scheme) -> str:
    """Write the reference of a scheme as JSON."""
    data = {
        "title": scheme.title,
        "file": scheme.path.name,
        "parts": [asdict(part) for part in parts(scheme)],
    }
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def parts(scheme: Scheme) -> list[Part]:
    """Return the parts of a scheme's reference that have content."""
    several = (
        Part("calls", "Calls", calls(scheme)),
        Part("combinations", "Combinations in the wild", combinations(scheme)),
        Part("goldens", "Goldens", _run(scheme, "golden"), goldens(scheme)),
        Part("published", "Published values", published(scheme)),
        Part("invariants", "Invariants", _run(scheme, "invariant"), invariants(scheme)),
        Part("bad-input", "Bad input", bad_inputs(scheme)),
        Part("power", "Detecting power", _checks(scheme) + measured_blocks.power(scheme)),
    )
    return [part for part in several if part.filled]


def _checks(scheme: Scheme) -> str:
    """Count the checks of a scheme by level, with everything claimed."""
    levels = [id.split("::")[1] for id in check_ids()[scheme.id]]
    counts = [*(str(levels.count(level)) for level in LEVELS), str(len(levels))]
    return paragraph("Checks, if everything is claimed:") + table([*LEVELS, "all"], [counts])


def _run(scheme: Scheme, level: str) -> str:
    """Say how one check of a level is run alone."""
    return paragraph(f"Run one alone: {code(f'pytest {scheme.path.name} --impl=… -k NAME')}.")


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
        _signature(f"{call.name}({', '.join([*call.arguments, *star])}) -> {call.returns}")
        + table(["argument", "meaning"], rows_of(_meanings(scheme, call), told))
        + paragraph(f"Kind of call: {code(call.kind)}. The result's dtype is {dtype}.")
        + paragraph(
            f"A claim may restrict {restrict}.",
            *(f"{code(p.name)} is the length of an axis of {code(p.of)}." for p in shape if p.of),
        )
    )


def _signature(text: str) -> str:
    return f"<pre><code>{html.escape(text, quote=False)}</code></pre>\n"


def _axes(scheme: Scheme, call: Call, *, passed: bool) -> list[str]:
    """Return the conventions of a call: all, or only those passed by keyword."""
    used = [name for combination in call.combinations.values() for name in combination.conventions]
    names = dict.fromkeys([*used, *call.options])
    return [name for name in names if scheme.conventions[name].passed or not passed]


def _when(parameter: Parameter) -> str:
    return f" Passed only with {point(parameter.when)}." if parameter.when else ""


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


def goldens(scheme: Scheme) -> tuple[Entry, ...]:
    """Show every golden: what it catches, its call and its values."""
    return tuple(
        _golden(scheme, call, golden)
        for call in scheme.calls.values()
        for name in call.combinations
        for golden in scheme.goldens
        if (golden.call, golden.combination) == (call.name, name)
    )


def _golden(scheme: Scheme, call: Call, golden: Golden) -> Entry:
    node = f"{scheme.path.name}::golden::{golden.id}"
    if not any(id.startswith(f"{node}[") for id in check_ids()[scheme.id]):
        raise PluginError(f"{node} is a golden that no check asks for")
    arguments = [f"{name}={argument(value)}" for name, value in golden.arguments.items()]
    arguments += [f"{name}={value!r}" for name, value in golden.options.items()]
    source = html.escape(scheme.sources[golden.source]["title"])
    return Entry(
        f"golden-{golden.id}",
        f"{code(golden.id)} catches {prose(golden.kills)}",
        paragraph(code(f"{call.name}({', '.join(arguments)})"))
        + _expectation(call, golden)
        + paragraph(f"Combination {code(golden.combination)}, defined by {source}."),
    )


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
        passed = ", ".join(f"{name}={argument(value)}" for name, value in item.arguments.items())
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


def invariants(scheme: Scheme) -> tuple[Entry, ...]:
    """Show the statement and proof of every invariant, and the check that executes it."""
    return tuple(_invariant(scheme, invariant) for invariant in scheme.invariants)


def _invariant(scheme: Scheme, invariant: Invariant) -> Entry:
    node = f"{scheme.path.name}::invariant::{invariant.id}"
    if not any(id.startswith(f"{node}[") for id in check_ids()[scheme.id]):
        raise PluginError(f"{node} is an invariant that no check executes")
    call = scheme.calls[invariant.call]
    covered = invariant.combinations or tuple(call.combinations)
    where = "all combinations"
    if len(covered) < len(call.combinations):
        where = ", ".join(map(code, covered))
    if len(scheme.calls) > 1:
        where = f"{code(call.name)}: {where}"
    if invariant.options:
        where += f", where {point(invariant.options)} is claimed"
    return Entry(
        f"invariant-{invariant.id}",
        f"{code(invariant.id)}: {prose(invariant.statement)}",
        paragraph(f"<em>Proof.</em> {prose(invariant.proof)}")
        + paragraph(f"Executed for {where}."),
    )


def bad_inputs(scheme: Scheme) -> str:
    """Tabulate input that must be refused."""
    rows = []
    for bad in scheme.bad_inputs:
        arguments = ", ".join(f"{name}={argument(value)}" for name, value in bad.arguments.items())
        only = f" Only of {', '.join(bad.combinations)}." if bad.combinations else ""
        only += f" Only where {point(bad.options)} is claimed." if bad.options else ""
        rows.append(
            [
                f'<span id="bad-input-{bad.id}">{code(bad.id)}</span>',
                code(f"{bad.call}({arguments})"),
                f"{prose(bad.why)}.{only}",
            ]
        )
    return table(["id", "call", "why"], rows)


def files() -> str:
    """Tabulate the schemes with their files, for readers without JavaScript."""
    rows = [
        [
            f'<a href="../schemes/{scheme.id}/">{html.escape(scheme.title)}</a>',
            f'<a href="../spec/{scheme.path.name}">{code(scheme.path.name)}</a>',
        ]
        for scheme in schemes().values()
    ]
    listed = table(["scheme", "file"], rows)
    choices = "".join(
        f'<option value="{scheme.id}">{html.escape(scheme.title)}</option>'
        for scheme in schemes().values()
    )
    return (
        '\n<div id="reference-controls" class="controls" role="group" '
        'aria-label="What is shown" hidden>'
        '<label>Scheme <select name="scheme"><option value="">choose one</option>'
        f"{choices}</select></label></div>\n"
        '<p id="reference-said" role="status"></p>\n<div id="reference"></div>\n'
        f'<div id="reference-files">{listed}</div>\n{SCRIPT}\n\n'
    )


BLOCKS: dict[str, Callable[[], str]] = {"reference:files": files}
