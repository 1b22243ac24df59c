"""Masks whose parameters, not their names, say what else they limit beside the future."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from posenc_conformance.commands.init.candidates import Found
from posenc_conformance.commands.init.fit import Fit
from posenc_conformance.commands.init.roles import has, roles_of

PLAIN = "causal_mask"
"""The call of a mask without a limit."""
LIMITED = {
    "dilated_window": ("window", "dilation"),
    "sliding_window": ("window",),
    "chunked_mask": ("chunk_size",),
}
"""Calls of masks with a limit, and the roles of the parameters that set it."""
CERTAIN_LIMITS = frozenset({"sliding_window", "chunked_mask"})
"""Those whose conventions are all that code has: what follows none of them is wrong."""
OFF = {"window": (None, False, 0, -1), "chunk_size": (None, False, 0, -1), "dilation": (None, 1)}
"""Defaults with which a parameter limits nothing."""


def is_limited(found: Found, call: str) -> bool:
    """Return whether a mask takes the limit of a call, whatever its name says."""
    return call in LIMITED and "mask" in found.named and has(found.parameters, *LIMITED[call])


def calls_of(found: Found) -> frozenset[str]:
    """Return the calls that one mask may make, since it has parameters that limit nothing."""
    given = [(role, each.default) for each in found.parameters for role in roles_of(each)]
    off = {role for role, default in given if any(default is each for each in OFF.get(role, ()))}
    limited = {
        name for name, roles in LIMITED.items() if off & {*roles} and is_limited(found, name)
    }
    if not limited:
        return frozenset()
    needed = {role for role, default in given if role in OFF} - off
    plain = (
        {PLAIN} if not needed else {name for name, roles in LIMITED.items() if needed >= {*roles}}
    )
    return frozenset(limited | plain)


def told_once(right: Sequence[Fit]) -> Iterator[Fit]:
    """Yield fits without the parameters that another call of the same parts is given.

    They are judged there.
    """
    for fit in right:
        draft = fit.draft
        others = [
            other.draft
            for other in right
            if other.draft.parts == draft.parts and other.draft.call is not draft.call
        ]
        left = tuple(name for name in draft.left if all(name in each.left for each in others))
        yield replace(fit, draft=replace(draft, left=left))
