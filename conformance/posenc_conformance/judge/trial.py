"""The environment in which the check of an invariant runs.

It provides drawn sizes and parameters, the implementation's answers, and the error model's bound of
any quantity computed from those answers.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Protocol, TypeVar

import numpy as np

from posenc_conformance.judge.arrays import Floats
from posenc_conformance.judge.bounded import Answer
from posenc_conformance.judge.calling import ask
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.claim_scope import Scope
from posenc_conformance.judge.error_model import (
    Comparison,
    compare,
    error_ratio,
)
from posenc_conformance.judge.subject import Subject
from posenc_conformance.scheme_file.scheme import ArgumentDict

T = TypeVar("T")


class Pick(Protocol):
    """Source of sizes and parameters: drawn by Hypothesis, or always the first."""

    def one_of(self, values: Sequence[T]) -> T:
        """Pick one of the values; the first is the simplest."""

    def integer(self, low: int, high: int) -> int:
        """Pick an integer from low to high; low is the simplest."""


class First:
    """Picks that are always the simplest."""

    def one_of(self, values: Sequence[T]) -> T:
        """Return the first value."""
        return values[0]

    def integer(self, low: int, high: int) -> int:
        """Return the lowest number."""
        return low


class Seeded:
    """Picks drawn from a seed, all choices equally likely."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def one_of(self, values: Sequence[T]) -> T:
        """Draw any of the values."""
        return self._random.choice(values)

    def integer(self, low: int, high: int) -> int:
        """Draw any number from low to high."""
        return self._random.randint(low, high)


class Failure(Exception):
    """The implementation is wrong; the message names the element and the error."""

    def __init__(self, message: str, case: Case, output: Floats, worst: float) -> None:
        super().__init__(message)
        self.message = message
        self.case = case
        self.output = output
        self.worst = worst


@dataclass
class Trial:
    """One example of an invariant."""

    subject: Subject
    scope: Scope
    dtype: str
    options: Mapping[str, Any]
    pick: Pick
    worst: float = 0.0

    def choose(self, name: str, values: Sequence[T]) -> T:
        """Pick a value of a parameter among those that the claim allows.

        If the claim does not restrict the parameter, pick one of ``values``.
        """
        allowed: Sequence[T] = self.scope.parameters.get(name, tuple(values))
        return self.pick.one_of(allowed)

    def position(self, spread: int, high: int = 4095) -> int:
        """Pick a first position, with room for ``spread`` more below the claimed maximum."""
        return self.pick.integer(0, max(0, min(high, self.scope.max_position - spread)))

    def can(self, name: str) -> tuple[Any, ...]:
        """Return the claimed values of the optional convention ``name``."""
        return self.scope.options.get(name, ())

    def case(self, **arguments: Any) -> Case:
        """Make a case with these arguments, which may include optional conventions."""
        options = dict(self.options)
        options |= {
            name: arguments.pop(name) for name in self.subject.call.options if name in arguments
        }
        return self.subject.case(arguments, self.dtype, options)

    def answer(self, **arguments: Any) -> Answer:
        """Call the implementation with these arguments and return its answer.

        Raises NotClaimed if no claim covers them: the invariant is then tried with others.
        """
        case = self.case(**arguments)
        self.subject.require_claimed(case)
        output = ask(self.subject, case).astype(np.float64)
        # Elements that are not judged may have any value under the error model.
        bound = np.where(case.judged, case.bound, np.inf)
        return Answer(case, output, np.where(case.shown, output, 0.0), bound)

    def compare(self, answer: Answer) -> Comparison:
        """Compare an answer with the truth."""
        return compare(answer.case, answer.values)

    def assert_zero(self, residual: Answer, what: str) -> None:
        """Check that a residual computed from answers vanishes, within its bound.

        Raises Failure with the worst element.
        """
        self.assert_within(residual, residual.values, residual.bound, what)

    def assert_none(self, answer: Answer, wrong: Any, what: str) -> None:
        """Check that ``wrong``, which flags the wrong elements, is false everywhere.

        Raises Failure with the first wrong element.
        """
        self.assert_within(
            answer, np.asarray(wrong, dtype=np.float64), np.zeros(np.shape(wrong)), what
        )

    def assert_within(self, answer: Answer, residual: Floats, bound: Floats, what: str) -> None:
        """Check that a residual vanishes within ``bound``, whatever the bound of ``answer``.

        Raises Failure with the worst element.
        """
        magnitude = np.where(np.isfinite(bound), np.abs(residual), 0.0)
        ratio = error_ratio(magnitude, bound)
        if not ratio.size:
            return
        index = tuple(int(i) for i in np.unravel_index(int(np.argmax(ratio)), ratio.shape))
        self.worst = max(self.worst, float(ratio[index]))
        if ratio[index] > 1:
            allowed = "nothing"
            if bound[index] > 0:
                allowed = f"{bound[index]:.3g}, exceeded {ratio[index]:.3g} times"
            raise Failure(
                f"{what}\nit is off by {residual[index]:.6g} at index {index}; "
                f"the error model allows {allowed}",
                answer.case,
                answer.output,
                float(ratio[index]),
            )


InvariantCheck = Callable[[Trial], None]
DrawArguments = Callable[[Trial], ArgumentDict]
"""Draws the arguments of a call."""
