"""Keys that a call rotates by scaled frequencies beside queries.

No call of the spec has both, so the method for x is judged with results for queries and for keys.
"""

from contextlib import suppress
from dataclasses import replace

from posenc_conformance.commands.init.calls.scaled import SCALES
from posenc_conformance.commands.init.counterparts import with_counterpart
from posenc_conformance.commands.init.fit import Fit
from posenc_conformance.commands.init.keys import compared
from posenc_conformance.commands.init.probes import PROBES
from posenc_conformance.judge.misbehaviour import Misbehaviour

QUERIES, KEYS, BOTH = "of_queries(", "of_keys(", "of_each("
OF_Q_AND_K = (
    "of_both(lambda q, k: (turn_queries(q), turn_keys(k)), q, k,",
    "of_queries(lambda q, k: (turn_queries(q), turn_keys(k)), x,",
)
"""The text of a call for queries and keys, and that for x."""
IN_TURN = "rows are given as queries and as keys, and the results of both are judged in turn"
KEYS_ALONE = "keys alone are wrong, so the adapter returns them in place of queries"
UNJUDGED = "NOT JUDGED: keys, since queries are wrong"


def completed(fit: Fit) -> Fit:
    """Return the fit of a scaled rotation that was compared with every probe, and with its keys.

    If a later probe shows that it is wrong, it says so. If keys alone are wrong, it has the results
    for keys, and says what is wrong with them. A fit of another call is as it was.
    """
    if fit.draft.call.name not in SCALES:
        return fit
    fit = fit if takes_keys(fit) else _with_method_for_keys(fit)
    fit = (_first_wrong(fit) or fit) if fit.right else fit
    if not takes_keys(fit):
        return fit
    if not fit.right:
        return _noted(fit, UNJUDGED)
    wrong = _first_wrong(_returning(fit, KEYS, KEYS_ALONE))
    if wrong is not None:
        return replace(wrong, mistake=f"keys alone are wrong: {wrong.mistake}")
    return _returning(fit, BOTH, IN_TURN)


def _first_wrong(fit: Fit) -> Fit | None:
    """Return the fit with the first probe for which it is wrong; None if there is none."""
    for number in range(len(PROBES[fit.draft.call.name](fit.base))):
        with suppress(Misbehaviour):
            seen = compared(fit, number)
            if seen.mistake:
                return seen
    return None


def takes_keys(fit: Fit) -> bool:
    """Return whether a call takes keys beside queries."""
    return any(QUERIES in line for line in fit.draft.body)


def _with_method_for_keys(fit: Fit) -> Fit:
    """Return a fit in which another method of the same class rotates keys, if there is one."""
    pair = with_counterpart(fit.draft, ())
    if pair is None or pair[1] is not None:
        return fit
    *lines, last = pair[0].both
    return replace(fit, draft=fit.draft.giving(*lines, last.replace(*OF_Q_AND_K)))


def _returning(fit: Fit, helper: str, note: str) -> Fit:
    body = (line.replace(QUERIES, helper) for line in fit.draft.body)
    return _noted(replace(fit, draft=fit.draft.giving(*body)), note)


def _noted(fit: Fit, note: str) -> Fit:
    return replace(fit, draft=replace(fit.draft, notes=(*fit.draft.notes, note)))
