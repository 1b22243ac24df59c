"""The scaled scheme that a wrong candidate with a factor comes nearest to."""

from collections.abc import Mapping, Sequence

from posenc_conformance.commands.init.calls.scaled import NO_EFFECT, SCALES, are_vague, rank_of
from posenc_conformance.commands.init.candidates import Found
from posenc_conformance.commands.init.fit import READ, Answered, Fit
from posenc_conformance.commands.init.nearest import is_still, nearest

READABLE = frozenset(["position_interpolation"])
"""Calls without variants, so that words on a result are about a mistake, and no other rule."""
CUT = "to whole numbers"
"""Words on a mistake that only the division by a factor has."""
Answers = Mapping[str, Sequence[Answered]]


def nearest_scaled(parts: Sequence[Found], answers: Answers) -> Fit | None:
    """Return the fit of parts with the scaled scheme whose mistake explains their answers.

    Schemes that names speak of come first; where names speak of one, no other is meant. The mistake
    is a known one. None if there is none, or if what looks like a factor may be another number.
    """
    ranks = {name: rank_of(name, parts[0]) for name in SCALES if name in answers}
    for name in sorted(ranks, key=lambda name: ranks[name]):
        own = [each for each in answers[name] if each.fit.draft.parts == tuple(parts)]
        fit = nearest(own, known=name not in READABLE) if ranks[name] < 2 else None
        if fit is not None and _is_meant(fit, ranks[name]):
            return fit
    return None


def _is_meant(fit: Fit, rank: int) -> bool:
    if fit.cause == READ:
        exact = ("measured pairs" not in fit.mistake and rank == 0) or CUT in fit.mistake
        return fit.draft.call.name in READABLE and exact and not is_still(fit)
    ignored = fit.cause in NO_EFFECT and _may_ignore(fit.draft.parts)
    return fit.cause != "" and not is_still(fit) and not ignored


def _may_ignore(parts: Sequence[Found]) -> bool:
    """Return whether parts may ignore what looks like a factor: vague, or for classes derived."""
    derived = parts[0].is_class and parts[0].value.__subclasses__()
    return bool(derived) or are_vague(parts)


def in_order(found: Found, answers: Answers) -> list[str]:
    """Return the calls that a candidate was tried for, without scaled ones that are not meant."""
    ranks = {name: rank_of(name, found) if name in SCALES else 1 for name in answers}
    usual = [name for name in ranks if ranks[name] < 2]
    return sorted(usual, key=lambda name: (ranks[name], name in SCALES))
