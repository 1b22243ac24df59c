"""What a model of a mistake is: what a wrong implementation would have returned, and why."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from posenc_conformance.judge.arrays import Floats
from posenc_conformance.judge.case import Case

Constant = tuple[str, float]
"""What was estimated, such as ``base``, and the number that was found."""


@dataclass(frozen=True)
class Prediction:
    """One explanation and the result that it predicts."""

    explanation: str
    output: Floats
    of: Case | None = None
    """The case whose truth this is, so that another mistake may come on top of it; or None."""
    constant: Constant | None = None
    """The number that the mistake has in every call, such as a base; None if there is none."""
    bound: Floats | None = None
    """The bound of each element, if that of what stands there by mistake is another one."""
    of_state: bool = False
    """Whether the mistake is that an earlier call has left something."""

    @property
    def own_bound(self) -> Floats | None:
        """The bound of the prediction; None if it is not known to be other than the call's."""
        return self.of.bound if self.bound is None and self.of is not None else self.bound


DeviationModel = Callable[[Case, Floats], Iterator[Prediction]]
"""Takes the case and what the implementation returned, from which it may estimate; yields
predictions."""
