"""Tell a wrong result from a right one whose axes stand in another order."""

from collections.abc import Callable, Iterator

from posenc_conformance.judge.arrays import Array
from posenc_conformance.testing.question import Question

Passes = Callable[[Question, Array], bool]
ORDERS = {3: ("sbd",), 4: ("bshd", "sbhd")}
"""Other usual orders of arrays that have rows, by the number of their axes."""


def describe_order(
    question: Question, output: Array, asked: Callable[[str], Question], passes: Passes
) -> str:
    """Say how the axes of a wrong result have to stand for it to be right; empty if it is wrong.

    ``asked`` asks the question again with arrays of rows in another order.
    """
    if not question.order and question.signature.has_rows:
        for order in ORDERS.get(output.ndim, ()):
            if passes(asked(order), output):
                return f"the result is right if its axes are {order!r}: say shape={order!r}"
    for words, array in _otherwise(output):
        if passes(question, array):
            return f"the result is right but for its axes: {words}"
    return ""


def _otherwise(output: Array) -> Iterator[tuple[str, Array]]:
    """Yield the result without an axis of length 1, and with two axes exchanged."""
    for axis, size in enumerate(output.shape):
        if size == 1:
            yield f"drop axis {axis} of {output.shape}, which has length 1", output.squeeze(axis)
    if 1 < output.ndim <= max(ORDERS):
        for axis in range(output.ndim - 1):
            moved = output.swapaxes(axis, axis + 1)
            yield f"exchange the axes {axis} and {axis + 1} of {output.shape}", moved
