"""Classes whose frequencies are scaled for long texts, and what their calls of the spec take."""

import inspect
import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from posenc_conformance.commands.init.candidates import Found
from posenc_conformance.commands.init.draft import Draft
from posenc_conformance.commands.init.making import parameters_of
from posenc_conformance.commands.init.probes import sample
from posenc_conformance.commands.init.roles import roles_of
from posenc_conformance.judge.arrays import to_numpy
from posenc_conformance.scheme_file.scheme import Call

ROWS = 9
LONGEST_TRIED = 2**15
"""The longest sequence that is tried for whether a base grows with the length."""
TRAINED = "original_max_position_embeddings"
SCALES: Mapping[str, Mapping[str, str]] = {
    "llama3": {
        "factor": "factor",
        "low_freq_factor": "low_freq_factor",
        "high_freq_factor": "high_freq_factor",
        "trained": TRAINED,
    },
    "yarn": {
        "factor": "factor",
        "trained": TRAINED,
        "beta_fast": "beta_fast",
        "beta_slow": "beta_slow",
    },
    "dynamic_ntk": {"factor": "factor", "trained": TRAINED, "own_length": TRAINED},
    "position_interpolation": {"factor": "factor"},
    "ntk_aware": {"factor": "factor"},
}
"""Expressions for the roles of parameters that a call of the spec has beside those of rope."""
RULES: Mapping[str, str] = {
    "llama3": "llama3",
    "yarn": "yarn",
    "dynamic_ntk": "dynamic",
    "position_interpolation": "linear",
    "ntk_aware": "ntk",
}
"""The rope_type that configurations give each of these calls."""
MARKS: Mapping[str, Collection[str]] = {
    "llama3": ["low_freq_factor", "high_freq_factor"],
    "yarn": ["beta_fast", "beta_slow"],
}
"""Roles of which a class of a scheme has at least one."""
OF_LENGTHS = frozenset(["llama3", "yarn", "dynamic_ntk"])
"""Calls that need the length of the texts of the training."""
SPEAKS: Mapping[str, re.Pattern[str]] = {
    "llama3": re.compile("llama_?3|freq_factor|frequency_factor"),
    "yarn": re.compile("yarn|beta_(fast|slow)"),
    "dynamic_ntk": re.compile("dynamic"),
    "position_interpolation": re.compile(r"linear|interpol|(^|_)pi(_|$)"),
    "ntk_aware": re.compile(r"^(?!.*dynamic).*(ntk|rescale)"),
}
"""Words for each scheme in names of parts and of their parameters."""
LINEAR = "position_interpolation"
VAGUE = frozenset(["scale", "s", "alpha", "scaling"])
"""Names of factors that other numbers have, too."""
MULTIPLIERS = frozenset(["scale", "rope_scale"])
"""Names of factors by which some code multiplies positions, if their default is at most 1."""
BETWEEN_LONG_ONES = (
    "one row is asked for before each sequence: whether the base of a long one stays for the next "
    "long one is not judged"
)
INVERTED = "its {} multiplies positions, so the adapter gives 1 / factor"
NO_EFFECT = frozenset(["unscaled", "never-scaled", "factor-ignored"])
"""Mistakes of code in which a factor changes nothing."""


def offered_to(call: Call) -> Mapping[str, str]:
    """Return expressions for the parameters of a scaling; none for a call without one."""
    scales = SCALES.get(call.name)
    if scales is None:
        return {}
    kind = RULES[call.name]
    names = "".join(f', "{name}": {name}' for name in dict.fromkeys(scales.values()))
    return {**scales, "rule": f'{{"rope_type": "{kind}", "type": "{kind}"{names}}}'}


def scaled_by(call: Call, found: Found) -> bool:
    """Return whether a candidate has the parameters of a call of a scaled scheme."""
    if takes_rule(found):
        return _names_rule(call, found)
    roles = {role for each in parameters_of(found) for role in roles_of(each)}
    marked = [name for name, marks in MARKS.items() if roles & {*marks}]
    if "factor" not in roles:
        return False
    if call.name in OF_LENGTHS and not {"trained", "own_length"} & roles:
        return False
    if call.name in MARKS:
        speaks = SPEAKS[call.name].search(found.named) and not marked
        return call.name in marked or bool(speaks)
    return not marked


def rank_of(name: str, found: Found) -> int:
    """Return how far a candidate's names are from a scaled scheme: they say it, none, or another.

    It is 0, 1 or 2. A base that is called NTK may grow with the length, too.
    """
    words = [found.named, *(each.name.lower() for each in parameters_of(found))]
    said = {each for each, speaks in SPEAKS.items() if any(map(speaks.search, words))}
    said -= {"ntk_aware"} if "dynamic_ntk" in said or said & {*MARKS} else set()
    said = said & {*MARKS} or said
    if name == "dynamic_ntk" and "ntk_aware" in said:
        return 1
    return 0 if name in said else 2 if said else 1


def scaling_told(found: Found) -> str:
    """Return the scaled scheme of which a candidate's name speaks; empty if it takes a factor, too.

    Names that may be of anything else, such as "linear", do not count.
    """
    if factors_of([found]) or not found.is_class:
        return ""
    told = [name for name in SCALES if SPEAKS[name].search(found.named) and name != LINEAR]
    return told[0] if told else ""


def factors_of(parts: Sequence[Found]) -> list[str]:
    """Return the names of the parameters of parts that scale frequencies."""
    return [
        each.name
        for part in parts
        for each in parameters_of(part)
        if {"factor", "rule"} & {*roles_of(each)}
    ]


def are_vague(parts: Sequence[Found]) -> bool:
    """Return whether the factors of parts may be other numbers, by all that their names say."""
    named = any(speaks.search(part.named) for part in parts for speaks in SPEAKS.values())
    return {*factors_of(parts)} <= VAGUE and not named


def takes_rule(found: Found) -> bool:
    """Return whether a candidate takes the type of its scaling, with the parameters of that."""
    return any("rule" in roles_of(each) for each in parameters_of(found))


def _names_rule(call: Call, found: Found) -> bool:
    """Return whether the text of a candidate's module names a rule; without any, it is linear."""
    try:
        text = inspect.getsource(sys.modules[found.value.__module__])
    except (OSError, TypeError, KeyError):
        return True
    named = [name for name, kind in RULES.items() if re.search(rf"""["']{kind}["']""", text)]
    return call.name in named or (call.name == "position_interpolation" and not named)


def keywords_of(call: Call, used: Collection[str]) -> tuple[str, ...]:
    """Return the keywords of a method whose calls are given these roles, but for base and layout.

    The length of a sequence is a parameter of a call whose frequencies follow from it.
    """
    scales = SCALES.get(call.name, {})
    names = [name for role, name in scales.items() if role in used or "rule" in used]
    names += ["length"] if "length" in used and "length" in call.parameters else []
    return tuple(dict.fromkeys(names))


def shortened(call: Call, text: str) -> tuple[str, ...]:
    """Return the lines that ask for one row before a call whose frequencies follow its length.

    Code may keep the base of the longest sequence until a short one comes: where none brings it
    back, all later results are wrong. Rows beyond the length are declined: a table has none.
    """
    if "length" not in call.parameters or not re.search(r"\blength\b(?!=)", text):
        return ()
    return (
        "if positions.max(initial=0) >= length:",
        '    raise NotImplementedError("the sequence has no such row")',
        re.sub(r"\blength\b(?!=)", "1", text),
    )


def longest_unscaled(draft: Draft) -> int | None:
    """Return the length beyond which the results of code with a factor depend on their number.

    It is the default of a parameter. None if there is no such parameter, or if rows at the same
    positions are turned alike in a longer sequence.
    """
    lengths = [
        each.default
        for part in draft.parts
        if factors_of([part])
        for each in parameters_of(part)
        if {"trained", "own_length"} & {*roles_of(each)} and type(each.default) is int
    ]
    longest = min(lengths, default=None)
    return longest if longest is not None and _grows_beyond(draft, longest) else None


def _grows_beyond(draft: Draft, length: int) -> bool:
    """Return whether the first rows of a sequence longer than this differ from those alone."""
    if length > LONGEST_TRIED:
        return False
    arguments = sample(draft.keywords)
    few, many = (
        draft.value(
            {
                **arguments,
                "x": np.resize(arguments["x"], (1, rows, 32)),
                "positions": np.arange(rows),
            }
        )
        for rows in (ROWS, length + length // 8 + ROWS)
    )
    if few is None or many is None:
        return False
    first, longer = to_numpy(few), to_numpy(many)[..., :ROWS, :]
    return first.shape == longer.shape and not np.allclose(first, longer, atol=1e-4)


def whole(drafts: Iterator[Draft]) -> Iterator[Draft]:
    """Yield the drafts that are given every parameter of their call that has no usual value."""
    for draft in drafts:
        needed = {
            name
            for name, each in draft.call.parameters.items()
            if each.passed and not each.when and each.usual is None
        }
        if needed <= {*draft.keywords, "base"}:
            yield replace(draft, both=())
            yield from _inverted(draft)


def _inverted(draft: Draft) -> Iterator[Draft]:
    """Yield a draft that gives the inverse of the factor to code that may multiply by it."""
    names = [
        each.name
        for part in draft.parts
        for each in parameters_of(part)
        if each.name in MULTIPLIERS and (each.default is None or _is_at_most_1(each.default))
    ]
    for name in names if draft.call.name == "position_interpolation" else ():
        own = re.compile(rf"\b{name}=factor\b")
        body = tuple(own.sub(f"{name}=1 / factor", line) for line in draft.body)
        if body != draft.body:
            notes = (*draft.notes, INVERTED.format(name))
            yield draft.giving(*body, both=(), notes=notes)


def _is_at_most_1(default: object) -> bool:
    return isinstance(default, int | float) and default <= 1
