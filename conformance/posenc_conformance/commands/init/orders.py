"""The order in which cosines and sines are returned, and that in which they are taken."""

import inspect
import re
import sys
from collections.abc import Sequence

from posenc_conformance.commands.init.candidates import Found
from posenc_conformance.commands.init.making import vars_of
from posenc_conformance.commands.init.roles import roles_of

Order = tuple[str, str]
COS_FIRST, SIN_FIRST = ("cos", "sin"), ("sin", "cos")
SAYS = {
    COS_FIRST: re.compile(r"cos[a-z]*\W{0,4}(and|_)?\W{0,4}sin"),
    SIN_FIRST: re.compile(r"sin[a-z]*\W{0,4}(and|_)?\W{0,4}cos"),
}
"""Words, in names and docstrings, that tell the order of results."""
UNPACKED = re.compile(r"^\s*(?:self\.)?_?sin\w*\s*,\s*(?:self\.)?_?cos\w*\s*=(?!=)", re.MULTILINE)


def orders(makers: Sequence[Found], apply: Found) -> list[Order]:
    """Return the orders in which a user may read the results of a maker, the likeliest first.

    Without a word on it, users hand results on in the order in which the applying function takes
    them: another order would be a mistake that reading by name hides.
    """
    taken = taken_order(apply)
    if not makers:
        return [COS_FIRST]
    if taken is None:
        return [COS_FIRST, SIN_FIRST]
    other = SIN_FIRST if taken == COS_FIRST else COS_FIRST
    return [taken, other] if any(_says(each, other) for each in makers) else [taken]


def taken_order(apply: Found) -> Order | None:
    """Return the order of the parameters for cosines and sines; None if they go by keyword."""
    roles = [
        role
        for parameter in apply.parameters
        if parameter.kind is not parameter.KEYWORD_ONLY
        for role in roles_of(parameter)[:1]
        if role in COS_FIRST
    ]
    return next((order for order in (COS_FIRST, SIN_FIRST) if order == tuple(roles[:2])), None)


def exchange(lines: Sequence[str], makers: Sequence[Found], apply: Found) -> tuple[str, ...]:
    """Return a note on results that go to the applying function in another order."""
    read = next((line.split(" = ")[0] for line in lines if " = given" in line), "")
    taken = taken_order(apply)
    if not makers or not read or taken is None or read.startswith(", ".join(taken)):
        return ()
    first = "sines" if taken == COS_FIRST else "cosines"
    return (
        f"{makers[0].path} returns {first} first, and {apply.path} takes them second: "
        "who hands them on as they come exchanges them",
    )


def _says(maker: Found, order: Order) -> bool:
    """Return whether names, docstrings or callers in its module say that results have an order."""
    words = [maker.named, inspect.getdoc(maker.value) or ""]
    if maker.is_class:
        methods = [each for each in vars_of(maker.value).values() if inspect.isfunction(each)]
        words += [word for each in methods for word in (each.__name__, inspect.getdoc(each) or "")]
    if any(SAYS[order].search(word.lower()) for word in words):
        return True
    return order == SIN_FIRST and UNPACKED.search(_callers(maker)) is not None


def _callers(maker: Found) -> str:
    """Return the text of a maker's module without that of the maker."""
    try:
        module = inspect.getsource(sys.modules[maker.value.__module__])
        return module.replace(inspect.getsource(maker.value), "")
    except (OSError, TypeError, KeyError, AttributeError):
        return ""
