"""Classes whose frequencies are scaled for long texts, and what their calls of the spec take."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from posenc_conformance.commands.init.candidates import Found
from posenc_conformance.commands.init.draft import Draft
from posenc_conformance.commands.init.roles import roles_of
from posenc_conformance.scheme_file.scheme import Call

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
}
"""Expressions for the roles of parameters that a call of the spec has beside those of rope."""
MARKS: Mapping[str, Collection[str]] = {
    "llama3": ["low_freq_factor", "high_freq_factor"],
    "yarn": ["beta_fast", "beta_slow"],
}
"""Roles of which a class of a scheme has at least one."""
BETWEEN_LONG_ONES = (
    "one row is asked for before each sequence: whether the base of a long one stays for the next "
    "long one is not judged"
)
KEYS_UNSEEN = "not judged: keys, since no call of the spec has them beside scaled queries"


def scaled_by(call: Call, found: Found) -> bool:
    """Return whether a class has the parameters of a call of a scaled scheme."""
    roles = {role for each in found.parameters for role in roles_of(each)}
    if not found.is_class or "factor" not in roles or not {"trained", "own_length"} & roles:
        return False
    if call.name == "dynamic_ntk":
        return "dynamic" in found.named and not roles & {*MARKS["llama3"], *MARKS["yarn"]}
    return bool(roles & {*MARKS[call.name]})


def factors_of(parts: Sequence[Found]) -> list[str]:
    """Return the names of the parameters of classes that scale frequencies."""
    return [
        each.name
        for part in parts
        if part.is_class
        for each in part.parameters
        if "factor" in roles_of(each)
    ]


def keywords_of(call: Call, used: Collection[str]) -> tuple[str, ...]:
    """Return the keywords of a method whose calls are given these roles, but for base and layout.

    The length of a sequence is a parameter of a call whose frequencies follow from it.
    """
    names = [name for role, name in SCALES.get(call.name, {}).items() if role in used]
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


def longest_unscaled(parts: Sequence[Found]) -> int | None:
    """Return the default length up to which a class whose base grows beyond it is not scaled."""
    lengths = [
        each.default
        for part in parts
        if part.is_class and re.search("dynamic|ntk", part.named) and factors_of([part])
        for each in part.parameters
        if {"trained", "own_length"} & {*roles_of(each)} and type(each.default) is int
    ]
    return min(lengths, default=None)


def whole(drafts: Iterator[Draft]) -> Iterator[Draft]:
    """Yield the drafts that are given every parameter of their call that has no usual value."""
    for draft in drafts:
        needed = {
            name
            for name, each in draft.call.parameters.items()
            if each.passed and not each.when and each.usual is None
        }
        if needed <= {*draft.keywords, "base"}:
            notes = (KEYS_UNSEEN,) if draft.both else ()
            yield replace(draft, both=(), notes=(*draft.notes, *notes))
