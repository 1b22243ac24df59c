"""The model of a deviation: the result of a wrong implementation, and why."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from posenc_conformance.judge.arrays import Floats
from posenc_conformance.judge.case import Case

Constant = tuple[str, float]
"""Name of an estimated number, such as ``base``, and its value."""


@dataclass(frozen=True)
class Prediction:
    """One explanation and the result that it predicts."""

    explanation: str
    output: Floats
    of: Case | None = None
    """The case whose truth this is, so that another deviation can be combined with it; or None."""
    constant: Constant | None = None
    """The number that the mistake has in every call, such as a base; None if it has none."""
    bound: Floats | None = None
    """The bound of each element, if it differs from the call's own."""
    of_state: bool = False
    """Whether the mistake is state left by an earlier call."""

    @property
    def own_bound(self) -> Floats | None:
        """The bound of the prediction; None if only the call's bound is known."""
        return self.of.bound if self.bound is None and self.of is not None else self.bound


DeviationModel = Callable[[Case, Floats], Iterator[Prediction]]
"""Takes the case and the implementation's result, from which it may estimate; yields
predictions."""
