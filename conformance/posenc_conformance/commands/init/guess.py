"""Match the parts of a library with calls of the spec."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from posenc_conformance.commands.init import rotary_drafts, table_drafts
from posenc_conformance.commands.init.beside import is_of_own_tables, is_wrong
from posenc_conformance.commands.init.calls import bias_drafts
from posenc_conformance.commands.init.calls.limited_masks import (
    CERTAIN_LIMITS,
    calls_of,
    is_limited,
    told_once,
)
from posenc_conformance.commands.init.calls.other_schemes import scheme_told
from posenc_conformance.commands.init.calls.patience import late_parts, late_words
from posenc_conformance.commands.init.calls.scaled import (
    SCALES,
    factors_of,
    scaling_told,
    takes_rule,
)
from posenc_conformance.commands.init.calls.scaled_keys import completed
from posenc_conformance.commands.init.calls.wrong_scaling import in_order, nearest_scaled
from posenc_conformance.commands.init.candidates import Found, Library
from posenc_conformance.commands.init.counterparts import with_counterpart
from posenc_conformance.commands.init.fit import Answered, Claimed, Fit, best, claimed
from posenc_conformance.commands.init.keys import in_batches, with_keys
from posenc_conformance.commands.init.making import unused_methods
from posenc_conformance.commands.init.nearest import is_still, nearest
from posenc_conformance.judge.knowledge import KnownScheme
from posenc_conformance.registry import load_all
from posenc_conformance.scheme_file.scheme import Call

ROTATES = r"rope|rotary|rotat|freqs_cis|cos_?sin|(^|_)sin_cos|pos.*emb|yarn|ntk|interpol|precompute"
HINTS = {
    **dict.fromkeys(SCALES, ROTATES),
    "rope": r"rope|rotary|rotat|freqs_cis|cos_?sin|(^|_)sin_cos|sinus|pos.*emb|precompute",
    "timestep": r"time",
    "sinusoidal": r"sin|pos.*(enc|emb)|time|(^|_)pe($|_)|pe_?1d$",
    "sincos_2d": r"2d|sincos|sin_cos",
    "relative_table_2d_rows": r"pos.*_(index|indices|idx)",
    "alibi_slopes": r"alibi|slope",
    "alibi_bias": r"alibi|pos.*bias",
    "t5_bucket": r"bucket",
    "t5_bias": r"t5|rel.*bias|pos.*bias|compute_bias",
    "dilated_window": r"dilat",
    "sliding_window": r"window|sliding|local",
    "chunked_mask": r"chunk",
    "strided_mask": r"stride",
    "bigbird_mask": r"big_?bird",
    "fixed_mask": r"fixed.*mask",
    "token_position_ids": r"position_ids",
    "fairseq_position_ids": r"position_ids",
    "causal_mask": r"causal",
}
"""Calls that are tried, and a pattern of names that suggest each."""
GROUPS = {
    **dict.fromkeys(SCALES, rotary_drafts.scaled_groups),
    "rope": rotary_drafts.groups,
    "alibi_bias": bias_drafts.groups,
    "t5_bias": bias_drafts.groups,
}
"""What drafts the calls, if it is not table_drafts."""
OF_KEYS = "rope-kernel"
"""The scheme with the call that judges keys beside queries."""
HELPERS = re.compile(r"(^|\.)rotate_(half|every)|slice|interpolate|resample|resize")


@dataclass
class Guess:
    """The findings about a library."""

    claims: dict[str, Claimed] = field(default_factory=dict)
    """The claims of the adapter, by call."""
    others: list[Fit] = field(default_factory=list)
    """Other fits of the same calls, since a method can call only one of them."""
    near: list[Fit] = field(default_factory=list)
    """Parts that fit no convention, each with the nearest one."""
    unknown: list[Found] = field(default_factory=list)
    """Parts that are near no convention."""
    holders: list[Found] = field(default_factory=list)
    """Classes of which only functions that need no object are explained."""
    late: str = ""
    """What to say of parts whose calls did not return in time; empty if there are none."""

    @property
    def unjudged(self) -> list[str]:
        """The public methods of claimed classes that take arrays and are in no claim."""
        drafts = [claim.fit.draft for claim in self.claims.values()]
        body = "\n".join(line for draft in drafts for line in draft.body)
        used = [part for draft in drafts for part in draft.parts if part.is_class]
        classes = dict.fromkeys([*used, *self.holders])
        return [f"{each.path}.{name}" for each in classes for name in unused_methods(each, body)]


def examine(library: Library, schemes: Sequence[str] = ()) -> tuple[Library, Guess]:
    """Return the findings about a library, which has only the candidates that were tried.

    If no name of a function tells what it does, those with the parameters of a rotation are tried.
    """
    found = guess(library, schemes)
    if found.claims or library.asked or not library.by_form:
        return library, found
    beside = tuple(each for each in library.listed if each not in library.by_form)
    by_form = replace(library, found=library.by_form, listed=beside)
    again = guess(by_form, schemes)
    turns = not any(is_still(claim.fit) for claim in again.claims.values())
    return (by_form, again) if again.claims and turns else (library, found)


def guess(library: Library, schemes: Sequence[str] = ()) -> Guess:
    """Try every candidate for each call that its name, or its form, suggests.

    ``schemes`` restricts the calls; without any, all are tried.
    """
    tried = [entry for entry in library.found if not HELPERS.search(entry.named)]
    if library.asked:
        tried = [each for each in library.found if _is_asked(each, library.asked) or _is_pair(each)]
    calls = {call.name: (scheme, call) for scheme in load_all() for call in scheme.calls.values()}
    right: list[Fit] = []
    answers: dict[str, list[Answered]] = {}
    asked_name = next((entry.named for entry in library.found if entry.path == library.asked), "")
    for name, hint in sorted(HINTS.items(), key=lambda entry: not re.search(entry[1], asked_name)):
        scheme, call = calls[name]
        if schemes and scheme.id not in schemes and not (name == "rope" and OF_KEYS in schemes):
            continue
        looking = [
            entry
            for entry in tried
            if _is_asked(entry, library.asked)
            or re.search(hint, entry.told)
            or (name in ("rope", *SCALES) and entry in library.by_form)
            or is_limited(entry, name)
            if not _settled(entry, name, right)
        ]
        for fit, others in _tried(scheme, call, looking, library.asked):
            if fit is not None:
                right.append(fit)
            answers.setdefault(name, []).extend(others)
    found = _concluded(right, answers, tried, library.asked)
    return _judging_keys(found, calls, schemes, library.found)


def _judging_keys(
    found: Guess,
    calls: Mapping[str, tuple[KnownScheme, Call]],
    schemes: Sequence[str],
    known: Sequence[Found],
) -> Guess:
    """Add the claim on keys behind that on queries; leave out the latter if it is not asked for."""
    if "rope" not in found.claims:
        return found
    queries, keys = with_keys(found.claims["rope"], *calls["rope_query_key"])
    if not queries.fit.draft.both:
        found, keys = _beside(found, calls, known)
    both = {"rope": queries} | ({"rope_query_key": keys} if keys else {})
    if schemes and "rope" not in schemes:
        del both["rope"]
    others = {name: claim for name, claim in found.claims.items() if name != "rope"}
    return replace(found, claims=both | others)


def _beside(
    found: Guess, calls: Mapping[str, tuple[KnownScheme, Call]], known: Sequence[Found]
) -> tuple[Guess, Claimed | None]:
    """Return the claim on keys of a call beside the claimed one, which takes queries alone.

    The call is another method of the same class, or another function.
    """
    scheme, call = calls["rope"]
    for part in found.claims["rope"].fit.draft.parts:
        drafts = [each for each in rotary_drafts.of_both(call, part) if part.is_class]
        fit, answers = best(drafts, scheme)
        fit = fit or nearest(answers)
        keys = _of_other(fit, calls) if fit else None
        if keys is not None:
            return found, keys
    queries = found.claims["rope"]
    pair = with_counterpart(queries.fit.draft, known)
    if pair is not None:
        draft, function = pair
        one = replace(queries, fit=replace(queries.fit, draft=draft))
        keys = with_keys(one, *calls["rope_query_key"])[1]
        if keys is not None:
            return _without(found, function), keys
    for fit in (*found.others, *found.near):
        keys = _of_other(fit, calls) if fit.draft.both else None
        if keys is not None:
            return _without(found, fit.draft.parts[-1]), keys
    return found, None


def _of_other(fit: Fit, calls: Mapping[str, tuple[KnownScheme, Call]]) -> Claimed | None:
    """Return the claim on keys of a call whose queries are in no other claim, with its notes."""
    queries, keys = with_keys(claimed(fit), *calls["rope_query_key"])
    if keys is None:
        return None
    return replace(keys, notes=tuple(dict.fromkeys((*queries.notes, *keys.notes))))


def _without(found: Guess, part: Found | None) -> Guess:
    """Return a guess in which one part is not among those outside the adapter."""
    return replace(
        found,
        others=[fit for fit in found.others if part not in fit.draft.parts],
        near=[fit for fit in found.near if part not in fit.draft.parts],
        unknown=[each for each in found.unknown if each is not part],
    )


def _is_asked(found: Found, asked: str) -> bool:
    """Return whether a candidate, or the class that it is in, is the requested one."""
    return bool(asked) and f"{found.path}.".startswith(f"{asked}.")


def _is_pair(found: Found) -> bool:
    return bool(re.search(HINTS["rope"], found.named)) and not HELPERS.search(found.named)


def _settled(found: Found, call: str, right: Sequence[Fit]) -> bool:
    """Return whether a candidate fits another call already, and need not be tried for this one."""
    both = {"alibi_slopes", "alibi_bias"}
    rotary = {"rope", *SCALES}
    return any(
        found in fit.draft.parts
        for fit in right
        if fit.draft.call.name != call and {call, fit.draft.call.name} != both
        if not {call, fit.draft.call.name} <= calls_of(found)
        # a function may apply the tables of several makers
        if not ({call, fit.draft.call.name} <= {*SCALES} and takes_rule(found))
        if found.is_class
        or found is fit.draft.parts[0]
        or not {call, fit.draft.call.name} <= rotary
    )


def _tried(
    scheme: KnownScheme, call: Call, found: Sequence[Found], asked: str
) -> Iterator[tuple[Fit | None, list[Answered]]]:
    groups = GROUPS.get(call.name, table_drafts.groups)
    done: set[Found] = set()
    for parts, drafts in groups(call, found):
        if asked and not any(_is_asked(part, asked) for part in parts):
            continue
        if parts[-1] in done and (parts[0] in done or parts[0].module != parts[-1].module):
            continue  # another maker beside it is still tried: it may be wrong
        fit, answers = best(drafts, scheme)
        if fit is not None:
            done |= {*parts}
        yield fit, answers


def _concluded(
    right: Sequence[Fit], answers: dict[str, list[Answered]], tried: Sequence[Found], asked: str
) -> Guess:
    late = late_parts()
    right = [*told_once([fit for fit in right if not _is_judged_with(fit, right)])]
    guessed = Guess(late=late_words(late) if late else "")
    for fit in right:
        name = fit.draft.call.name
        if name not in guessed.claims:
            guessed.claims[name] = claimed(completed(in_batches(fit)))
        elif _is_another(fit, guessed.claims[name].fit):
            guessed.others.append(fit)
    _add_wrong_bias(guessed, answers)
    _add_wrong_mask(guessed, answers)
    _add_wrong_scaling(guessed, answers, right)
    explained = {part for fit in right for part in fit.draft.parts}
    for part in tried:
        holds = part not in explained and part.is_class and _is_explained(part, explained)
        known = _is_explained(part, explained) and not holds
        if known or (asked and not _is_asked(part, asked)):
            continue
        closest = _nearest(part, answers)
        if closest is None:
            unknown = guessed.holders if holds else guessed.unknown
            unknown += [part] if part not in late else []
            continue
        explained |= {*closest.draft.parts}
        name = closest.draft.call.name
        if name in guessed.claims:
            guessed.near.append(closest)
        else:
            guessed.claims[name] = claimed(closest)
    guessed.unknown = [each for each in guessed.unknown if not _is_explained(each, explained)]
    return _with_wrong(guessed)


def _is_another(fit: Fit, judged: Fit) -> bool:
    """Return whether a fit is of other code than a judged one, or of another scaling beside it."""
    parts, others = fit.draft.parts, judged.draft.parts
    return not {*parts} & {*others} or (parts[0] not in others and bool(factors_of(parts[:1])))


def _with_wrong(guessed: Guess) -> Guess:
    """Claim parts that are wrong in place of right ones of the same module, which are listed.

    A user may call either; a run that judges the right one alone would hide the mistake.
    """
    claims, others, near = dict(guessed.claims), [*guessed.others], [*guessed.near]
    for fit in guessed.near:
        name = fit.draft.call.name
        right = claims[name].fit
        modules = {part.module for part in right.draft.parts}
        if right.right and fit.draft.parts[-1].module in modules and is_wrong(fit):
            claims[name] = claimed(fit)
            near.remove(fit)
            others += [] if is_of_own_tables(right) else [right]
    return replace(guessed, claims=claims, others=others, near=near)


def _add_wrong_bias(guessed: Guess, answers: Mapping[str, list[Answered]]) -> None:
    """Claim the nearest bias of a class whose slopes are right and whose bias is not."""
    if "alibi_slopes" not in guessed.claims or "alibi_bias" in guessed.claims:
        return
    right = [guessed.claims["alibi_slopes"].fit, *guessed.others]
    known = [fit.draft.parts for fit in right if fit.draft.call.name == "alibi_slopes"]
    own = [each for each in answers.get("alibi_bias", []) if each.fit.draft.parts in known]
    closest = nearest(own)
    if closest is not None:
        guessed.claims["alibi_bias"] = claimed(closest)


def _add_wrong_mask(guessed: Guess, answers: Mapping[str, list[Answered]]) -> None:
    """Claim the nearest mask with a limit of a function that is right only without the limit."""
    right = [*guessed.claims.values()]
    for claim in right:
        parts = claim.fit.draft.parts
        for name in sorted(calls_of(parts[-1]) & CERTAIN_LIMITS - {*guessed.claims}):
            own = [each for each in answers.get(name, []) if each.fit.draft.parts == parts]
            closest = nearest(own)
            for fit in told_once([claim.fit, closest]) if closest else ():
                guessed.claims[fit.draft.call.name] = claimed(fit)


def _is_judged_with(fit: Fit, right: Sequence[Fit]) -> bool:
    """Return whether a function that gets tables of the adapter applies those of a maker, too."""
    others = (other for other in right if other.draft.call is not fit.draft.call)
    applying = fit.draft.parts[-1]
    return is_of_own_tables(fit) and any(applying in other.draft.parts for other in others)


def _add_wrong_scaling(
    guessed: Guess, answers: Mapping[str, list[Answered]], right: Sequence[Fit]
) -> None:
    """Claim a scaled scheme, in place of rope, of code that is right only without a scaling.

    It must be in one of the layouts that scaled schemes have. A class that is right by one rule may
    be wrong by another one that it takes.
    """
    plain = [fit for fit in right if fit.combination.name in ("half", "interleaved")]
    for fit in [fit for fit in plain if fit.draft.call.name == "rope"]:
        closest = nearest_scaled(fit.draft.parts, answers)
        if closest is None:
            continue
        if closest.draft.call.name in guessed.claims:
            guessed.near.append(closest)
        else:
            guessed.claims[closest.draft.call.name] = claimed(completed(closest))
        if "rope" in guessed.claims and guessed.claims["rope"].fit.draft.parts == fit.draft.parts:
            del guessed.claims["rope"]
        own = fit.draft.parts
        guessed.others = [each for each in guessed.others if each.draft.parts != own]
    for claim in [guessed.claims[name] for name in SCALES if name in guessed.claims]:
        parts = claim.fit.draft.parts
        left = {name: own for name, own in answers.items() if name not in guessed.claims}
        other = nearest_scaled(parts, left) if takes_rule(parts[0]) else None
        if other is not None:
            guessed.claims[other.draft.call.name] = claimed(completed(other))


def _is_explained(found: Found, explained: Collection[Found]) -> bool:
    """Return whether a candidate, a function in it, or the class that it is in, is explained.

    Functions in an explained class are among its unused methods.
    """
    within = f"{found.path}."
    return found in explained or any(
        other.module == found.module
        and (other.path.startswith(within) or found.path.startswith(f"{other.path}."))
        for other in explained
    )


def _nearest(found: Found, answers: dict[str, list[Answered]]) -> Fit | None:
    """Return the fit that comes nearest; of a scaled rotation, that of a known mistake, if any."""
    own = {
        name: [answer for answer in group if found in answer.fit.draft.parts]
        for name, group in answers.items()
    }
    for parts in dict.fromkeys(each.fit.draft.parts for group in own.values() for each in group):
        fit = nearest_scaled(parts, own)
        if fit is not None:
            return completed(fit)
    for name in in_order(found, own):
        if name == "rope" and (scaling_told(found) or scheme_told(found.named)):
            continue  # it is meant to differ
        fit = nearest(own[name])
        if fit is not None:
            return completed(fit)
    return None
