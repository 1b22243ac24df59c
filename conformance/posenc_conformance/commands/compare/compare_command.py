"""``posenc compare``: what a conversion kept, what it changed, and what was not looked at."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import wrap
from typing import Any

from posenc_conformance.commands.compare.checkpoints import Checkpoint, open_checkpoint
from posenc_conformance.commands.compare.findings import Finding
from posenc_conformance.commands.compare.head_counts import compare_heads
from posenc_conformance.commands.compare.meanings import compare_meanings
from posenc_conformance.commands.compare.projections import groups_of, layers_of
from posenc_conformance.commands.compare.stored import COLUMNS, HINT
from posenc_conformance.commands.compare.unread import unread_rows
from posenc_conformance.commands.compare.weights import compare_weights
from posenc_conformance.commands.progress import Tell, silent
from posenc_conformance.door import named
from posenc_conformance.files import shown
from posenc_conformance.models.cost import POSITIONS, Cost, cost
from posenc_conformance.models.meaning import written
from posenc_conformance.models.misreadings import MISTAKES

WIDTH = 98
FORMAT = 1
"""The version of the JSON document."""
UNPERMUTED = ("not-permuted", "permuted-needlessly", "permuted-backwards")
"""Differences after which code turns the pairs of the other layout."""

EXPLAINED = (
    "  Costs, first number: largest error of a query at that position that is 1 in one channel.",
    "  Second: how much its score with a matching key changes, the farthest that it sees.",
)


@dataclass(frozen=True)
class Comparison:
    """Two checkpoints, and what was found."""

    original: Checkpoint
    converted: Checkpoint
    findings: tuple[Finding, ...]
    unread: tuple[str, ...]
    """Queries and keys that were not looked at."""
    skipped: tuple[str, ...]
    """What else was not looked at."""

    @property
    def differs(self) -> bool:
        """Whether anything differs."""
        return any(not found.is_right for found in self.findings)

    @property
    def exit_code(self) -> int:
        """1 if anything differs, 2 if queries and keys were not looked at, and else 0."""
        return 1 if self.differs else 2 if self.unread else 0


def compare(original: str, converted: str, progress: Tell = silent) -> Comparison:
    """Compare a converted checkpoint with the original one.

    ``progress`` gets a line that says what is being compared, before each layer.

    Raises UserError for files that cannot be read, and for configurations that are not understood.
    """
    progress(f"reading {shown(original)} and {shown(converted)}")
    sides = open_checkpoint(Path(original)), open_checkpoint(Path(converted))
    with named(f"{original} and {converted}", HINT, "cannot be compared"):
        rows = [_with_costs(found, sides[0]) for found in compare_weights(*sides, progress)]
        findings = (*compare_meanings(*sides), *compare_heads(*sides), *rows)
        unread = tuple(unread_rows(*sides))
    return Comparison(*sides, findings, unread, tuple(_skipped(*sides)))


def _with_costs(found: Finding, original: Checkpoint) -> Finding:
    """Add the cost of pairs of the other layout, if queries and keys have them alike."""
    if found.id not in UNPERMUTED or not {"q", "k"} <= {*found.parts}:
        return found
    (swapped,) = [mistake for mistake in MISTAKES if mistake.id == "layout-swapped"]
    group = groups_of(original)[found.layers[0]]
    made = swapped.made(group, original.meaning, original.config)
    if made is None:
        return found
    return replace(found, costs=tuple(cost(group, made, position) for position in POSITIONS))


def _skipped(original: Checkpoint, converted: Checkpoint) -> Iterator[str]:
    """Yield what has not to do with positions, or was not read to its end."""
    if layers_of(original) and layers_of(converted):
        yield f"columns of the rows behind the first {COLUMNS}, in wider matrices"
    yield "output projections, feed-forward layers, embeddings, tokenizer and what is not text"


# Text.


def lines(comparison: Comparison) -> Iterator[str]:
    """Yield the comparison for people."""
    yield f"original   {comparison.original.words}"
    yield f"converted  {comparison.converted.words}"
    for subject, title in (
        ("meaning", "what positions mean"),
        ("rows", "rows of queries and keys"),
    ):
        concerned = [found for found in comparison.findings if found.subject == subject]
        if concerned:
            yield ""
            yield title
        for found in sorted(concerned, key=lambda found: found.is_right):
            yield from _finding(found)
    if any(found.costs for found in comparison.findings):
        yield ""
        yield from EXPLAINED
    yield ""
    yield "not looked at"
    for text in (*comparison.unread, *comparison.skipped):
        yield from wrap(text, WIDTH, initial_indent="  ", subsequent_indent="    ")
    yield ""
    yield _verdict(comparison)


def _finding(found: Finding) -> Iterator[str]:
    what = f"layers {written(found.layers)}: " if len(found.layers) > 1 else ""
    what = f"layer {found.layers[0]}: " if len(found.layers) == 1 else what
    parts = f"{_listed(found.parts)}: " if found.parts else ""
    name = f" [{found.id}]" if found.id else ""
    mark = "right    " if found.is_right else "differs  "
    text = f"{mark}{what}{parts}{found.text}{_residual(found)}{name}"
    yield from wrap(text, WIDTH, initial_indent="  ", subsequent_indent=" " * 13)
    if any(effect.error or effect.loss for effect in found.costs):
        yield " " * 11 + "costs at" + "".join(f"{position:>15,}" for position in POSITIONS)
        yield " " * 19 + "".join(f"{_cost(effect):>15}" for effect in found.costs)


def _listed(parts: Sequence[str]) -> str:
    *first, last = parts
    return f"{', '.join(first)} and {last}" if first else last


def _residual(found: Finding) -> str:
    if found.residual is None or found.bound is None:
        return ""
    if found.residual == 0:
        return "; the same numbers"
    kinds = _listed(found.kinds)
    limit = f"as {kinds} rounds" if found.is_right else f"{kinds} explains {found.bound:.2g}"
    return f"; residual {found.residual:.2g}, {limit}"


def _cost(effect: Cost) -> str:
    if effect.loss is None:
        return f"{effect.error:.4g}"
    percent = round(100 * effect.loss, 1) + 0.0
    return f"{effect.error:.3f} {-percent if percent else 0.0:+6.1f}%"


def _verdict(comparison: Comparison) -> str:
    count = sum(not found.is_right for found in comparison.findings)
    if count:
        return f"{count} difference{'s' * (count != 1)}"
    if comparison.unread:
        return "no verdict: what was looked at agrees, but not all queries and keys were looked at"
    return "nothing differs that was looked at"


# JSON.


def document(comparison: Comparison) -> str:
    """Return the comparison as a JSON document."""
    return json.dumps(
        {
            "format": FORMAT,
            "differs": comparison.differs,
            "original": _side(comparison.original),
            "converted": _side(comparison.converted),
            "findings": [_fields(found) for found in comparison.findings],
            "unread": list(comparison.unread),
            "not_looked_at": [*comparison.unread, *comparison.skipped],
        },
        indent=2,
        ensure_ascii=False,
    )


def _side(side: Checkpoint) -> Mapping[str, Any]:
    return {"path": str(side.path), "form": side.form, "type": side.config.type}


def _finite(number: float | None) -> float | None:
    """Return a number as JSON can say it; null for one beyond all bounds."""
    return number if number is not None and math.isfinite(number) else None


def _fields(found: Finding) -> Mapping[str, Any]:
    costs = {
        str(position): {"error": effect.error, "loss": effect.loss}
        for position, effect in zip(POSITIONS, found.costs, strict=False)
    }
    return {
        "id": found.id,
        "right": found.is_right,
        "subject": found.subject,
        "parts": list(found.parts),
        "layers": list(found.layers),
        "text": found.text,
        "residual": _finite(found.residual),
        "bound": found.bound,
        "costs": costs,
    }
