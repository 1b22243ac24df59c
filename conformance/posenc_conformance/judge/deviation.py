"""The model of a deviation: the result of a wrong implementation, and why."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from posenc_conformance.judge.arrays import Floats
from posenc_conformance.judge.case import Case, ErrorTerms

Constant = tuple[str, float]
"""Name of an estimated number, such as ``base``, and its value."""


@dataclass(frozen=True)
class Prediction:
    """One explanation and the result that it predicts."""

    explanation: str
    output: Floats
    of: Case | None = None
    """The case with ``output`` as its truth, so that another deviation can be combined; or None."""
    constant: Constant | None = None
    """A number that the mistake uses in every call, such as a base; None if there is none."""
    bound: Floats | None = None
    """The bound of each element, if it differs from the call's own."""
    terms: Callable[[], ErrorTerms] | None = None
    """Computes the error terms of the prediction if its angles are not the call's; or None."""
    of_state: bool = False
    """Whether the mistake comes from state left by an earlier call."""

    @property
    def own_bound(self) -> Floats | None:
        """The bound of the prediction; None if only the call's bound is known."""
        return self.of.bound if self.bound is None and self.of is not None else self.bound


DeviationModel = Callable[[Case, Floats], Iterator[Prediction]]
"""Takes the case and the implementation's result, from which it may estimate constants; yields
predictions."""
