"""The text of a claim, and notes on what it leaves out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from posenc_conformance.commands.init.calls.scaled import SCALES, VAGUE, factors_of
from posenc_conformance.commands.init.draft import Draft
from posenc_conformance.commands.init.roles import NAMES
from posenc_conformance.scheme_file.scheme import Combination, Scheme

PLACES = {"positions", "offset"}
"""Roles of parameters that say where rows stand."""


@dataclass(frozen=True)
class Code:
    """A value of ``@claims`` that is written as it is."""

    text: str


def claim_line(names: Sequence[str], said: Mapping[str, object]) -> str:
    """Return the text of ``@claims`` for names of combinations and further arguments."""
    items = [f'"{name}"' for name in names]
    items += [f"{name}={_render(value)}" for name, value in said.items()]
    line = f"@claims({', '.join(items)})"
    if len(line) <= 96:
        return line
    inner = "".join(f"\n    {item}," for item in items)
    return f"@claims({inner}\n)"


def _render(value: object) -> str:
    if isinstance(value, (tuple, list)):
        return f"({', '.join(map(_render, value))})"
    if isinstance(value, Mapping):
        items = (f"{_render(name)}: {_render(item)}" for name, item in value.items())
        return f"{{{', '.join(items)}}}"
    if isinstance(value, Code):
        return value.text
    return f'"{value}"' if isinstance(value, str) else repr(value)


def left_out(draft: Draft) -> Iterator[str]:
    """Yield notes on optional parameters that are not passed."""
    names = draft.left
    turns = draft.call.name in ("rope", *SCALES)
    factors = [name for name in factors_of(draft.parts) if name in names]
    factors = [name for name in factors if turns or name not in VAGUE]
    if factors:
        yield (
            f"NOT JUDGED: {', '.join(factors)}: {draft.call.name} fits with the default alone, and "
            "no scaled scheme that was tried fits"
        )
    names = tuple(name for name in names if name not in factors)
    places = [name for name in names if PLACES & {*NAMES.get(name, ())}]
    if not any("in_sequence(" in line for line in draft.body):
        places = []
    if places:
        yield (
            f"NOT JUDGED: {', '.join(places)}: with it, no call that was tried returned an array "
            "of the right shape, so every sequence begins at 0"
        )
    others = [name for name in names if name not in places]
    if others:
        keep = "keep their defaults" if len(others) > 1 else "keeps its default"
        yield f"not judged: {', '.join(others)}, which {keep}"


def unusual_slopes(scheme: Scheme, combination: Combination) -> Iterator[str]:
    """Yield a note on slopes of a rule that few models have: their writer may know no other."""
    rule, own = scheme.conventions.get("head_rule"), combination.conventions
    if rule is not None and own.get("head_rule", rule.default) != rule.default:
        yield (
            f"its slopes are {rule.values[own['head_rule']].rstrip('.')}, those of few models; "
            f"usual: {rule.values[str(rule.default)].lower().rstrip('.')}"
        )
