"""Show a result in a notebook: draw it without judging, and draw a failure below its text."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from typing import Any

import numpy as np

from posenc_conformance.diagnose.pictured import pictures_of
from posenc_conformance.pictures.picture import Picture
from posenc_conformance.pictures.svg import describe, draw
from posenc_conformance.testing.explanation import Judged, explanation


@dataclass(frozen=True)
class Shown:
    """The pictures of a result; a notebook shows them."""

    text: str
    """A sentence that says what the errors are."""
    pictures: tuple[Picture, ...]

    @property
    def svg(self) -> tuple[str, ...]:
        """The pictures as SVG, each standing alone."""
        return tuple(map(draw, self.pictures))

    def _repr_html_(self) -> str:
        return as_html(self.text, self.pictures)

    def __repr__(self) -> str:
        return "\n".join([self.text, *(f"{p.title}: {describe(p)}" for p in self.pictures)])


WRAPPED = 'style="white-space:pre-wrap;overflow-wrap:anywhere"'


def as_html(text: str, pictures: Sequence[Picture]) -> str:
    """Return a text with pictures below it, as HTML."""
    return f"<pre {WRAPPED}>{escape(text)}</pre><div>{''.join(map(draw, pictures))}</div>"


def shown(judged: Sequence[Judged]) -> Shown:
    """Draw the sequence of a batch with the largest error."""
    if not judged:
        return Shown("the batch is empty", ())
    number = worst(judged)
    comparison = judged[number].comparison
    wrong = f"{comparison.wrong} of {comparison.judged} values are outside their bounds"
    largest = f"the largest error is {comparison.worst:.3g} times its bound"
    of = f"sequence {number} of {len(judged)}: " if len(judged) > 1 else ""
    return Shown(f"{of}{wrong}; {largest}", _drawn(judged[number]))


def worst(judged: Sequence[Judged]) -> int:
    """Return the number of the sequence with the largest error in units of its bound."""
    return max(range(len(judged)), key=lambda number: judged[number].comparison.worst)


def failure(judged: Sequence[Judged], number: int) -> AssertionError:
    """Make the error about the wrong result ``number`` of a batch.

    IPython and Jupyter show its pictures below its text; they are drawn only then.
    """
    text = explanation(judged, number)
    error = AssertionError(text)

    def drawn() -> str:
        return as_html(text, _drawn(judged[number]))

    # Notebooks look these up on the error itself; a class of its own would change the words of
    # pytest, which begin with the name of the class.
    vars(error)["_repr_html_"] = drawn
    # IPython asks a second time, for its history.
    vars(error)["_render_traceback_"] = cache(lambda: _displayed(text, drawn))
    return error


def _displayed(text: str, drawn: Callable[[], str]) -> list[str]:
    """Display text and pictures, and return what is to stand below: the first line of the text.

    A terminal displays the text alone. Without IPython, the whole text is returned.
    """
    display: Any = sys.modules.get("IPython.display")  # only IPython asks
    if display is None:
        return [f"AssertionError: {text}"]
    display.display({"text/plain": text, "text/html": drawn()}, raw=True)
    return [f"AssertionError: {text.splitlines()[0]}"]


def _drawn(judged: Judged) -> tuple[Picture, ...]:
    with np.errstate(all="ignore"):  # a wrong result may hold anything
        return pictures_of(judged.case, judged.output, sys.maxsize)
