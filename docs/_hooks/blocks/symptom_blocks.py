"""From a symptom to the known mistakes that may cause it, generated from the spec."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, groupby

import yaml
from mkdocs.exceptions import PluginError

from blocks.scheme_blocks import schemes
from markup import heading, paragraph, prose
from posenc_conformance.commands.cures import FILE, Pattern, Symptom
from posenc_conformance.scheme_file.scheme import Deviation, Scheme

SURE = 4
"""Number of candidates that a group of schemes shows even if nobody has reported them."""
SHOWN = 5
"""Largest number of candidates that a group shows; others are on the schemes' pages."""

BEGINNINGS = {
    "long": "In a long text",
    "start": "From the first tokens on",
    "use": "Only with a cache, in a batch, or in another program",
    "training": "In training",
    "input": "With some sizes or inputs",
}
"""Where a symptom first appears: the first question of the page."""

GROUPS = {
    "RoPE and its scalings": ("rotary",),
    "Sinusoids and tables": ("absolute", "combination", "convolutional"),
    "Biases and relative scores": ("bias", "relative"),
    "Masks and position ids": ("sparse", "position-ids"),
    "Attention itself": ("attention",),
}
"""Groups of families that a reader chooses from: the second question."""
ASIDE = re.compile(r"[;:] |, (?:as|whatever|although|because|so that)\b")
"""Start of the details in a description of a mistake, which are left to the scheme's page."""
SHORTEST = 20
"""Least number of characters in a shortened description."""


@dataclass(frozen=True)
class Candidate:
    """A mistake in one scheme or, under the same id, in several."""

    id: str
    where: tuple[tuple[Scheme, Deviation], ...]

    @property
    def threads(self) -> tuple[str, ...]:
        """Public threads about the mistake."""
        return tuple(dict.fromkeys(url for _, deviation in self.where for url in deviation.links))

    @property
    def rank(self) -> tuple[int, int, str]:
        """Sort key: mistakes with the most threads first, then those in the most schemes."""
        return -len(self.threads), -len(self.where), self.id


@lru_cache(maxsize=1)
def symptoms() -> tuple[Symptom, ...]:
    """Return all symptoms in the order of the file; raises PluginError if the file is wrong."""
    items = []
    for id, raw in yaml.safe_load(FILE.read_text(encoding="utf-8")).items():
        try:
            items.append(Symptom(id, **raw))
        except TypeError as error:
            raise PluginError(f"{FILE.name}: {id}: {error}") from error
        if items[-1].begins not in BEGINNINGS:
            raise PluginError(
                f"{FILE.name}: {id}.begins: {items[-1].begins!r} is none of {', '.join(BEGINNINGS)}"
            )
    left = [f"{s.id} {d.id}" for s, d in mistakes() if not any(x.fits(s, d) for x in items)]
    if left:
        raise PluginError(f"{FILE.name}: no symptom fits {', '.join(left)}")
    idle = [
        f"{symptom.id}: {pattern}"
        for symptom in items
        for fields in symptom.patterns
        for pattern in chain(*(fields.get(key, ()) for key in ("ids", "also", "except")))
        if not any(_is_of(pattern, fields, *pair) for pair in mistakes())
    ]
    if idle:
        raise PluginError(f"{FILE.name}: no mistake fits {', '.join(idle)}")
    return tuple(items)


def _is_of(regex: str, pattern: Pattern, scheme: Scheme, deviation: Deviation) -> bool:
    """Return whether a regular expression of a pattern is of some use for a mistake."""
    names = (deviation.id, f"{scheme.id}.{deviation.id}")
    return scheme.family in pattern.get("families", [scheme.family]) and any(
        re.fullmatch(regex, name) for name in names
    )


def mistakes() -> Iterator[tuple[Scheme, Deviation]]:
    """Yield every known mistake with its scheme."""
    for scheme in schemes().values():
        for deviation in scheme.deviations:
            yield scheme, deviation


def candidates(symptom: Symptom, families: Sequence[str]) -> list[Candidate]:
    """Find the mistakes that may cause a symptom in these families, likeliest first."""
    return _ranked(
        pair for pair in mistakes() if pair[0].family in families and symptom.fits(*pair)
    )


def _ranked(some: Iterable[tuple[Scheme, Deviation]]) -> list[Candidate]:
    """Group mistakes by id, those with the most threads first."""
    ordered = sorted(some, key=lambda pair: pair[1].id)
    grouped = groupby(ordered, key=lambda pair: pair[1].id)
    return sorted((Candidate(id, tuple(where)) for id, where in grouped), key=lambda c: c.rank)


def chooser() -> str:
    """List all symptoms as links, by where they first appear."""
    text = "\n"
    for beginning, words in BEGINNINGS.items():
        listed = [symptom for symptom in symptoms() if symptom.begins == beginning]
        text += f"**{words}**\n\n"
        text += "".join(f"- [{symptom.seen}](#{symptom.id})\n" for symptom in listed) + "\n"
    return text


def index() -> str:
    """Describe every symptom with its candidates, in the order of the chooser."""
    return "".join(
        heading(2, words, f"begins-{beginning}")
        + "".join(_section(symptom) for symptom in symptoms() if symptom.begins == beginning)
        for beginning, words in BEGINNINGS.items()
    )


def _section(symptom: Symptom) -> str:
    text = heading(3, symptom.seen, symptom.id) + f"{symptom.why}\n\n"
    text += f"**How to tell.** {symptom.tell}\n\n**Fix.** {symptom.cure}\n\n"
    for program, lines in symptom.paste.items():
        text += f"{program}:\n\n```\n{lines}```\n\n"
    groups = {name: candidates(symptom, families) for name, families in GROUPS.items()}
    for name, grouped in groups.items():
        if grouped:
            text += (
                f'\n<details class="golden" markdown="0"><summary>{name}</summary>\n'
                f"{_listed(symptom, grouped)}</details>\n\n"
            )
    return text


def shown(found: Sequence[Candidate]) -> Sequence[Candidate]:
    """Return the candidates that a group names, given all of them, likeliest first."""
    reported = [candidate for candidate in found[:SHOWN] if candidate.threads]
    return reported if len(reported) > SURE else found[:SURE]


def _listed(symptom: Symptom, found: Sequence[Candidate]) -> str:
    """List the likeliest candidates, and links to the schemes with rarer ones."""
    named = shown(found)
    items = "".join(f'<li id="{place(symptom, item)}">{_describe(item)}</li>\n' for item in named)
    text = f'<ol class="candidates">\n{items}</ol>\n'
    rarer = dict.fromkeys(scheme.id for item in found[len(named) :] for scheme, _ in item.where)
    if rarer:
        links = ", ".join(f'<a href="../schemes/{id}/#deviations">{id}</a>' for id in rarer)
        text += f"<p>Rarer ones: {links}.</p>\n"
    return text


def place(symptom: Symptom, candidate: Candidate) -> str:
    """Return the id of a candidate's entry under a symptom, unique across groups."""
    return f"{symptom.id}-{candidate.where[0][0].id}-{candidate.id}"


def _describe(candidate: Candidate) -> str:
    """Describe a candidate in one sentence; the page of its scheme has the details."""
    scheme, first = max(candidate.where, key=lambda pair: len(pair[1].links))
    return (
        f'<a href="../schemes/{scheme.id}/#{first.id}"><code>{candidate.id}</code></a>: '
        f"{prose(main_clause(first.description))}"
    )


def main_clause(text: str) -> str:
    """Return the main clause of the first sentence of a text, as a sentence."""
    words = " ".join(text.split())
    ends = (end.end() for end in re.finditer(r"[.?!](?= [A-Z])", words))
    sentence = words[: next(ends, len(words))]
    cut = next((m for m in ASIDE.finditer(sentence) if m.start() > SHORTEST), None)
    return f"{sentence[: cut.start()]}." if cut else sentence


def count_mistakes() -> str:
    """Say how many mistakes are known, and how many of them people have reported."""
    everything = list(mistakes())
    met = sum(bool(deviation.links) for _, deviation in everything)
    return paragraph(
        f"{len(everything)} mistakes are known, in {len(schemes())} schemes; {met} of them are "
        "discussed in public threads, which are linked."
    )


BLOCKS: dict[str, Callable[[], str]] = {
    "count:mistakes": count_mistakes,
    "list:symptom-links": chooser,
    "list:symptoms": index,
}
