"""Symptoms of known mistakes, and their cures; the site shows the same ones."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from posenc_conformance.scheme_file.scheme import Deviation, Scheme

FILE = Path(__file__).with_name("symptoms.yaml")
BACKWARD = re.compile("backward|gradient")
LINK = re.compile(r"\[([^\]]+)\]\(([^)]+)\)")

Pattern = Mapping[str, list[str]]


@dataclass(frozen=True)
class Symptom:
    """A symptom, its possible cause, how to tell, and the cure."""

    id: str
    seen: str
    begins: str
    why: str
    tell: str
    cure: str
    match: Pattern | list[Pattern]
    paste: Mapping[str, str] = field(default_factory=dict)
    """What to paste, by the program that reads it."""
    cures: Sequence[Mapping[str, Any]] = ()
    """Cures of some of its mistakes, ``for`` which one stands in place of the cure of all."""

    @property
    def patterns(self) -> list[Pattern]:
        """All patterns, one of which must fit."""
        return self.match if isinstance(self.match, list) else [self.match]

    def fits(self, scheme: Scheme, deviation: Deviation) -> bool:
        """Return whether a mistake may show this symptom."""
        return self.closeness(scheme, deviation) > 0

    def closeness(self, scheme: Scheme, deviation: Deviation) -> int:
        """Return how exactly the symptom means a mistake: 3 by its id, 0 not at all."""
        if BACKWARD.match(deviation.id) and self.begins != "training":
            return 0
        return max(closeness(pattern, scheme, deviation) for pattern in self.patterns)


def closeness(pattern: Pattern, scheme: Scheme, deviation: Deviation) -> int:
    """Return whether a pattern fits a mistake by its id (3), class (2), scheme (1) or not (0).

    Ids under ``also`` (1) show a symptom whose cure is not their own.
    """
    if scheme.family not in pattern.get("families", [scheme.family]):
        return 0
    if _is_excepted(pattern, scheme, deviation):
        return 0
    if any(re.fullmatch(regex, deviation.id) for regex in pattern.get("ids", ())):
        return 3
    if deviation.kind in pattern.get("classes", ()):
        return 2
    also = any(re.fullmatch(regex, deviation.id) for regex in pattern.get("also", ()))
    return int(also or scheme.id in pattern.get("schemes", ()))


def _is_excepted(pattern: Pattern, scheme: Scheme, deviation: Deviation) -> bool:
    """Return whether a pattern leaves out a mistake, by its id or by scheme and id."""
    names = (deviation.id, f"{scheme.id}.{deviation.id}")
    return any(re.fullmatch(regex, name) for regex in pattern.get("except", ()) for name in names)


@lru_cache(maxsize=1)
def symptoms() -> tuple[Symptom, ...]:
    """Return all symptoms, in the order of the file."""
    raw = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    return tuple(Symptom(id, **fields) for id, fields in raw.items())


def cure_of(scheme: Scheme, deviation: Deviation) -> str:
    """Return what to do about a mistake, from the symptom that means it most exactly.

    A link becomes its text with the page in parentheses. Empty if no symptom fits.
    """
    nearest = max(symptoms(), key=lambda symptom: symptom.closeness(scheme, deviation))
    if not nearest.fits(scheme, deviation):
        return ""
    own = (each["cure"] for each in nearest.cures if _is_for(each["for"], scheme, deviation))
    return LINK.sub(r"\1 (\2)", next(own, nearest.cure).strip()).replace("`", "")


def _is_for(pattern: Pattern, scheme: Scheme, deviation: Deviation) -> bool:
    """Return whether all that a pattern says is true of a mistake."""
    return (
        scheme.family in pattern.get("families", [scheme.family])
        and scheme.id in pattern.get("schemes", [scheme.id])
        and deviation.kind in pattern.get("classes", [deviation.kind])
        and any(re.fullmatch(regex, deviation.id) for regex in pattern.get("ids", [".*"]))
    )
