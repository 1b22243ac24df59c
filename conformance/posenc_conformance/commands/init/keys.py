"""The claim on keys, for a call that rotates queries and keys."""

import re
from dataclasses import replace

import numpy as np

from posenc_conformance.commands.init.calls.batches import ONE_ROW, with_batch
from posenc_conformance.commands.init.calls.claim_text import Code, claim_line
from posenc_conformance.commands.init.candidates import quiet
from posenc_conformance.commands.init.draft import ONE_SEQUENCE
from posenc_conformance.commands.init.fit import (
    READ,
    Claimed,
    Fit,
    Restrictions,
    names_taken,
)
from posenc_conformance.commands.init.probes import PROBES
from posenc_conformance.diagnose.diagnosis import diagnose
from posenc_conformance.diagnose.recover import CAUSES, recover
from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.error_model import compare
from posenc_conformance.judge.knowledge import KnownScheme
from posenc_conformance.judge.misbehaviour import Misbehaviour
from posenc_conformance.scheme_file.scheme import Call, Combination

SHARED = ("dtype", "base", "head_dim", "max_position", "switches")
"""The arguments of a claim on queries that the claim on keys has too."""
AS_MANY = Code("lambda heads, key_heads: heads == key_heads")
PARTIAL = (
    "not judged: keys of which some channels pass unrotated, since no call of the spec has them"
)


def with_keys(queries: Claimed, scheme: KnownScheme, call: Call) -> tuple[Claimed, Claimed | None]:
    """Return the claim on queries, with notes on what is not judged of keys, and that on keys.

    There is none if the call takes no keys, or no call of the spec describes them.
    """
    draft = queries.fit.draft
    if not draft.both:
        return queries, None
    like = _alike(queries.fit.combination, call)
    if like is None:
        name = queries.fit.combination.name
        return _noted(queries, f"not judged: keys, since {call.name} has no {name}"), None
    known = {*call.parameters, *like.conventions}
    keywords = tuple(name for name in draft.keywords if name in known)
    both = replace(draft, call=call, body=draft.both, both=(), partial=False, keywords=keywords)
    fit = replace(queries.fit, draft=both, scheme=scheme, combination=like, mistake="")
    said = {name: queries.said[name] for name in SHARED if name in queries.said}
    if "rotary_dim" in draft.keywords:
        queries = _noted(queries, PARTIAL)
    fit, notes = _of_batches(fit)
    queries = _noted(queries, *(note for note in notes if note not in queries.notes))
    try:
        return queries, _claimed(compared(fit, 0), said)
    except Misbehaviour as problem:
        reason = _reason(problem)
    try:
        fit = compared(fit, 1)
    except Misbehaviour:
        return _noted(queries, f"not judged: keys, since {reason}"), None
    return queries, _claimed(
        fit, said | {"when": AS_MANY}, f"not judged: fewer key heads: {reason}"
    )


def _of_batches(fit: Fit) -> tuple[Fit, tuple[str, ...]]:
    """Return the fit of a call of several sequences, if it takes a batch and runs with several.

    Otherwise the fit is as it was, with a note if there is a batch. Positions in a batch of 1
    belong to one sequence.
    """
    draft = fit.draft
    body = tuple(re.sub(r'(shape="\w*b\w*")', r"\1, batch=2", line) for line in draft.body)
    if body == draft.body:
        return fit, ()
    own = with_batch(fit)
    if own is not fit:
        return own, ()
    alone = draft.framework == "jax" or any(ONE_ROW.search(line) for line in body)
    batched = replace(fit, draft=replace(draft, body=body))
    probes = PROBES[draft.call.name](fit.base)
    if alone or not any(batched.answers(each) for each in probes):
        return fit, (ONE_SEQUENCE,)
    return batched, ()


def _alike(combination: Combination, call: Call) -> Combination | None:
    """Return the combination of a call that has the same conventions."""
    same = (
        each for each in call.combinations.values() if each.conventions == combination.conventions
    )
    return next(same, None)


def _noted(claim: Claimed, *notes: str) -> Claimed:
    return replace(claim, notes=(*claim.notes, *notes))


def _reason(problem: Misbehaviour) -> str:
    return str(problem).splitlines()[0][:120]


def _claimed(fit: Fit, said: Restrictions, *notes: str) -> Claimed:
    return Claimed(fit, (claim_line(names_taken(fit), said),), notes, said)


def in_batches(fit: Fit) -> Fit:
    """Return the fit of a rotation that is given several sequences, if it takes positions of each.

    It says what is wrong with the result of two sequences, where that of one is right.
    """
    if fit.draft.call.name != "rope" or fit.mistake:
        return fit
    batched = with_batch(fit)
    try:
        return fit if batched is fit else compared(batched, 0)
    except Misbehaviour:
        return fit


def compared(fit: Fit, number: int) -> Fit:
    """Return the fit with the error of a probe's result, and words for what is wrong with it.

    Raises Misbehaviour if the call raises.
    """
    subject = fit.subject()
    case = subject.case(PROBES[fit.draft.call.name](fit.base)[number], fit.dtype)
    with quiet():
        output = subject.invoke(case, case.inputs)
    try:
        subject.require_form(case, output)
    except Misbehaviour as problem:
        return replace(fit, worst=np.inf, mistake=_reason(problem))
    comparison = compare(case, output)
    mistake = "" if comparison.worst <= 1 else _mistake(case, output, fit.cause)
    return replace(fit, worst=comparison.worst, judged=comparison.judged, mistake=mistake)


def _mistake(case: Case, output: Array, cause: str) -> str:
    """Return words for a mistake; if that of queries is none known, they are read first."""
    values = output.astype(np.float64)
    words = recover([(case, values)], readers=CAUSES) if cause == READ else ""
    if words:
        return words
    diagnosis = diagnose(case, values)
    if diagnosis.explanations:
        return diagnosis.explanations[0][1]
    off = np.abs(values - case.truth).max() / np.abs(case.truth).max()
    return recover([(case, values)]) or f"off by {off:.2g} of the largest value"
