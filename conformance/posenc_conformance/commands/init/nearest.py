"""The convention to which a wrong draft comes nearest, and what is wrong with it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from posenc_conformance.commands.init.fit import READ, Answered, Fit, answered
from posenc_conformance.commands.init.probes import BASE
from posenc_conformance.diagnose.diagnosis import find_fits
from posenc_conformance.diagnose.recover import CAUSES, recover
from posenc_conformance.diagnose.rows import is_unturned
from posenc_conformance.testing.naming import name_mistake

MOST_DIAGNOSED = 12
MOST_READ = 6
"""Number of different results that are read: that takes longer than trying known mistakes."""
MOST_PAIRED = 6
"""Number of different results that are explained by pairs of mistakes: that takes longest."""
UNROTATED = "unrotated"
"""The mistake that every result with positions at 0 shows: a draft may have put them there."""
STILL = re.compile(r"turns at 0;|turns at 0$|nothing is rotated")
NEAR = 0.1
"""Errors below this part of the largest value are worth a claim that shows them."""
NEAR_MASK = 0.25
"""The same for the share of wrong values in a mask; a mask by chance, or its inverse, has half."""


def nearest(answers: Sequence[Answered], *, known: bool = False) -> Fit | None:
    """Return the fit that a mistake explains, known or read, else the nearest, if it is near.

    With ``known``, results are not read, and the mistake has an id.

    A wrong guess of the layout of arrays looks like many mistakes, so the least errors come first.
    """
    usual = [entry for entry in answers if _has_usual_base(entry.fit)]
    close = sorted(usual, key=lambda entry: (entry.off, -entry.fit.judged))
    different = list(_different(close))
    turned = [entry for entry in different if not is_unturned(entry.case, entry.output)]
    different = turned or different  # rows that do not move are those of a wrong guess
    named = [fit for fit in map(_named, different[:MOST_DIAGNOSED]) if fit is not None]
    moving = next((fit for fit in named if fit.cause != UNROTATED), None)
    if moving is not None:
        return _usual(moving, named)
    if known:
        return None
    read = [fit for fit in map(_read, different[:MOST_READ]) if fit is not None]
    if read:
        return min(read, key=_strangeness)
    paired = next(filter(None, map(_paired, different[:MOST_PAIRED])), None)
    if paired or named:
        return paired or named[0]
    return _far(close[0]) if close else None


def _usual(fit: Fit, named: Sequence[Fit]) -> Fit:
    """Return the fit in the most usual convention of those that a mistake takes for one another.

    Without what YaRN multiplies, a result is as far from each of its rules for that.
    """
    own, order = fit.combination.conventions, list(fit.draft.call.combinations)
    alike = [
        each
        for each in named
        if (each.draft, each.cause, each.dtype) == (fit.draft, fit.cause, fit.dtype)
        if fit.cause == "temperature-swapped"
        if {name for name in own if own[name] != each.combination.conventions[name]}
        <= {"temperature"}
    ]
    return min(alike, key=lambda each: order.index(each.combination.name), default=fit)


def _far(entry: Answered) -> Fit | None:
    """Return the fit with the size of its error; None if it is large."""
    mask, draft = entry.case.dtype == "boolean", entry.fit.draft
    said = (
        f"{entry.off:.0%} of it is wrong"
        if mask
        else f"off by {entry.off:.2g} of the largest value"
    )
    meant = mask and draft.parts[-1].named == draft.call.name
    near = meant or entry.off < (NEAR_MASK if mask else NEAR)
    return replace(entry.fit, mistake=said) if near else None


def _has_usual_base(fit: Fit) -> bool:
    """Return whether a fit has the base that the library's signature or most models have.

    A base that is passed is that of the probes, whatever the default in the signature is.
    """
    passed = {"base", "max_period"} & {*fit.draft.keywords}
    return fit.base == BASE if passed else fit.base == (fit.draft.default_base or BASE)


def is_still(fit: Fit) -> bool:
    """Return whether nothing turns: any function that hands on its rows looks like that."""
    return fit.cause == UNROTATED or bool(STILL.search(fit.mistake))


def _strangeness(fit: Fit) -> tuple[bool, int]:
    """Return what is larger for words on a wrong guess of axes, which are of heads, or longer."""
    return "head" in fit.mistake or is_still(fit), len(fit.mistake)


def _different(answers: Sequence[Answered]) -> Iterator[Answered]:
    """Yield the answers without those that repeat a result under the same convention."""
    seen: set[tuple[str, bytes]] = set()
    for entry in answers:
        key = entry.fit.combination.name, entry.output.tobytes()
        if key not in seen:
            seen.add(key)
            yield entry


def _wrong(entry: Answered) -> list[Answered]:
    """Return an answer, with that to the next probe if it is wrong, too."""
    second = answered(entry.fit, 1)
    return [entry] if second is None or second.fit.right else [entry, second]


def _named(entry: Answered) -> Fit | None:
    """Return the fit with the known mistake that explains its wrong answers; None without one."""
    fits = [fit for fit in find_fits(entry.case, entry.output, largest_paired=0) if fit.fits]
    if not fits:
        return None
    for other in _wrong(entry)[1:]:
        ids = {fit.deviation for fit in fits}
        also = find_fits(other.case, other.output, only=ids, largest_paired=0)
        fits = [fit for fit in fits if any(fit.deviation == each.deviation for each in also)]
    if not fits:
        return None
    return replace(entry.fit, mistake=fits[0].explanation, cause=fits[0].deviation)


def _read(entry: Answered) -> Fit | None:
    """Return the fit with what its wrong answers have in common, in words; None without any."""
    words = recover([(each.case, each.output) for each in _wrong(entry)], readers=CAUSES)
    return replace(entry.fit, mistake=words, cause=READ) if words else None


def _paired(entry: Answered) -> Fit | None:
    """Return the fit with the pair of mistakes that explains its first answer; None without one."""
    diagnosis = name_mistake(entry.case, entry.output, entry.index)
    if diagnosis.deviation is None or "layout-swapped+" in diagnosis.deviation:
        return None  # under the other layout it is the second mistake alone
    return replace(entry.fit, mistake=diagnosis.explanations[0][1], cause=diagnosis.deviation)
