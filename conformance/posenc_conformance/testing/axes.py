"""Tell a wrong result from a right one whose axes stand in another order."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import permutations

from posenc_conformance.errors import UserError
from posenc_conformance.judge.arrays import Array
from posenc_conformance.testing.question import Question

SMALL = 2**18
"""Largest result, in values, of which every order of axes is tried."""
Passes = Callable[[Question, Array], bool]
ORDERS = {3: ("sbd",), 4: ("bshd", "sbhd")}
"""Other usual orders of arrays that have rows, by the number of their axes."""


def describe_order(
    question: Question,
    output: Array,
    asked: Callable[[str], Question],
    passes: Passes,
    *,
    is_of_form: bool,
) -> str:
    """Say how the axes of a wrong result have to stand for it to be right; empty if it is wrong.

    ``asked`` asks the question again with arrays of rows in another order. ``is_of_form`` says that
    the shape of the result is right, so that no order with another shape can be.
    """
    if not question.order and question.signature.has_rows:
        for order in ORDERS.get(output.ndim, ()):
            with suppress(UserError):  # the arguments may have other axes than the result
                if passes(asked(order), output):
                    return f"the result is right if its axes are {order!r}: say shape={order!r}"
    for words, array in _otherwise(output):
        if (array.shape == output.shape or not is_of_form) and passes(question, array):
            return f"the result is right but for its axes: {words}"
    return ""


def _otherwise(output: Array) -> Iterator[tuple[str, Array]]:
    """Yield the result without an axis of length 1, with one, and with its axes in other orders."""
    for axis, size in enumerate(output.shape):
        if size == 1:
            yield f"drop axis {axis} of {output.shape}, which has length 1", output.squeeze(axis)
    if output.ndim < max(ORDERS):
        yield f"add an axis of length 1 before {output.shape}", output[None]
    if 1 < output.ndim <= max(ORDERS):
        orders = sorted(permutations(range(output.ndim)), key=_moved)
        for order in orders[1:] if output.size <= SMALL else orders[1:4]:
            yield f"{_in_words(order)} of {output.shape}", output.transpose(order)


def _in_words(order: tuple[int, ...]) -> str:
    elsewhere = [place for place, axis in enumerate(order) if axis != place]
    if len(elsewhere) == 2:
        return f"exchange the axes {elsewhere[0]} and {elsewhere[1]}"
    return f"bring into the order {order} the axes"


def _moved(order: tuple[int, ...]) -> int:
    """Return how many axes stand elsewhere in an order: exchanges of two come first."""
    return sum(axis != place for place, axis in enumerate(order))
