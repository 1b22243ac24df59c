"""From what one sees to the known mistakes that it may be: written from the spec."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

import yaml
from mkdocs.exceptions import PluginError

from markup import code, heading, paragraph, prose, thread
from pages import DOCS
from posenc_conformance.scheme_file.model import Deviation, Scheme
from scheme_blocks import schemes

FILE = DOCS / "symptoms.yaml"
SHOWN = 5
"""Candidates of a symptom that are told in full; the others are folded."""


@dataclass(frozen=True)
class Symptom:
    """What one sees, why it may be, how to tell, and the cure."""

    id: str
    seen: str
    why: str
    tell: str
    cure: str
    match: Mapping[str, list[str]]

    def fits(self, scheme: Scheme, deviation: Deviation) -> bool:
        """Say whether a mistake may show itself by this symptom."""
        return (
            deviation.kind in self.match.get("classes", ())
            or scheme.id in self.match.get("schemes", ())
            or any(re.fullmatch(each, deviation.id) for each in self.match.get("ids", ()))
        )


@dataclass(frozen=True)
class Candidate:
    """A mistake that is made in one scheme or, under the same id, in several."""

    id: str
    where: tuple[tuple[Scheme, Deviation], ...]

    @property
    def threads(self) -> tuple[str, ...]:
        """Public threads about it."""
        return tuple(dict.fromkeys(url for _, each in self.where for url in each.links))

    @property
    def rank(self) -> tuple[int, int, str]:
        """Sort key: mistakes that most people had come first, then those of the most schemes."""
        return -len(self.threads), -len(self.where), self.id


@lru_cache(maxsize=1)
def symptoms() -> tuple[Symptom, ...]:
    """Every symptom in the order of the file; raises PluginError where the file is wrong."""
    found = []
    for id, raw in yaml.safe_load(FILE.read_text(encoding="utf-8")).items():
        try:
            found.append(Symptom(id, **raw))
        except TypeError as error:
            raise PluginError(f"{FILE.name}: {id}: {error}") from error
    left = [f"{s.id} {d.id}" for s, d in mistakes() if not any(x.fits(s, d) for x in found)]
    if left:
        raise PluginError(f"{FILE.name}: no symptom fits {', '.join(left)}")
    idle = [
        f"{each.id}: {pattern}"
        for each in found
        for pattern in each.match.get("ids", ())
        if not any(re.fullmatch(pattern, deviation.id) for _, deviation in mistakes())
    ]
    if idle:
        raise PluginError(f"{FILE.name}: no mistake fits {', '.join(idle)}")
    return tuple(found)


def mistakes() -> Iterator[tuple[Scheme, Deviation]]:
    """Every known mistake with its scheme."""
    for scheme in schemes().values():
        for deviation in scheme.deviations:
            yield scheme, deviation


def candidates(symptom: Symptom) -> list[Candidate]:
    """Find what a symptom may be, the likeliest first."""
    some = sorted((each for each in mistakes() if symptom.fits(*each)), key=lambda each: each[1].id)
    grouped = groupby(some, key=lambda each: each[1].id)
    return sorted((Candidate(id, tuple(where)) for id, where in grouped), key=lambda c: c.rank)


def chooser() -> str:
    """All symptoms as links."""
    rows = [f"- [{each.seen}](#{each.id})" for each in symptoms()]
    return "\n".join(["", *rows, "", ""])


def index() -> str:
    """Every symptom with its candidates."""
    return "".join(map(_section, symptoms()))


def _section(symptom: Symptom) -> str:
    found = candidates(symptom)
    text = heading(3, symptom.seen, symptom.id) + f"{symptom.why}\n\n"
    text += f"**How to tell.** {symptom.tell}\n\n**Cure.** {symptom.cure}\n\n"
    text += _listed(symptom, found[:SHOWN], _describe)
    if found[SHOWN:]:
        text += (
            f'\n<details class="golden" markdown="0"><summary>{len(found) - SHOWN} more that it '
            f"may be</summary>\n{_listed(symptom, found[SHOWN:], _brief)}</details>\n\n"
        )
    return text


def _listed(symptom: Symptom, some: list[Candidate], told: Callable[[Candidate], str]) -> str:
    items = "".join(f'<li id="{symptom.id}-{each.id}">{told(each)}</li>\n' for each in some)
    return f'\n<ol class="candidates">\n{items}</ol>\n\n'


def _describe(candidate: Candidate) -> str:
    """Describe a candidate with its effect and with who had it."""
    _, first = max(candidate.where, key=lambda each: len(each[1].links))
    had = ", ".join(map(thread, candidate.threads))
    return (
        f"<strong>{code(candidate.id)}</strong>: {prose(first.description)} "
        f"<em>{prose(first.effect)}</em> In {_places(candidate)}."
        + (f" Who had it: {had}." if had else "")
    )


def _brief(candidate: Candidate) -> str:
    _, first = candidate.where[0]
    return f"{code(candidate.id)}: {prose(first.description)} In {_places(candidate)}."


def _places(candidate: Candidate) -> str:
    """Links to the mistake on the pages of its schemes."""
    return ", ".join(
        f'<a href="../schemes/{scheme.id}/#{deviation.id}">{scheme.title}</a>'
        for scheme, deviation in candidate.where
    )


def count_mistakes() -> str:
    """How many mistakes are known, and how many of them people have reported."""
    everything = list(mistakes())
    met = sum(bool(each.links) for _, each in everything)
    return paragraph(
        f"{len(everything)} mistakes are known, in {len(schemes())} schemes; {met} of them are "
        "discussed in public threads, which are linked."
    )


def common() -> str:
    """List the mistakes that people have reported, most often first, whatever the scheme."""
    grouped = groupby(sorted(mistakes(), key=lambda each: each[1].id), key=lambda each: each[1].id)
    found = sorted((Candidate(id, tuple(where)) for id, where in grouped), key=lambda c: c.rank)
    items = "".join(
        f'<li id="{each.id}">{_describe(each)} Seen as: {_seen(each)}.</li>\n'
        for each in found
        if each.threads
    )
    return f'\n<ol class="candidates">\n{items}</ol>\n\n'


def _seen(candidate: Candidate) -> str:
    found = [each for each in symptoms() if any(each.fits(*place) for place in candidate.where)]
    return ", ".join(
        f'<a href="../which-mistake/#{each.id}-{candidate.id}">{each.seen}</a>' for each in found
    )


BLOCKS: dict[str, Callable[[], str]] = {
    "count:mistakes": count_mistakes,
    "list:common-mistakes": common,
    "list:symptom-links": chooser,
    "list:symptoms": index,
}


def addresses() -> dict[tuple[str, str], list[str]]:
    """Where the index has each mistake: ids of its entries, by scheme and mistake."""
    return {
        (scheme.id, deviation.id): [
            f"{each.id}-{deviation.id}" for each in symptoms() if each.fits(scheme, deviation)
        ]
        for scheme, deviation in mistakes()
    }
