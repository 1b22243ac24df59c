"""What the kit knows of a scheme and of each of its calls, beside what the scheme file says.

Every module in ``schemes`` has ``KNOWLEDGE``, a :class:`CallKnowledge` for each call of its scheme.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from posenc_conformance.judge.arrays import Array
from posenc_conformance.scheme_file.scheme import ArgumentDict, Call, Scheme

if TYPE_CHECKING:  # a case has a scheme, and a scheme knows what to do with a case
    from posenc_conformance.judge.case import Case, ErrorTerms
    from posenc_conformance.judge.deviation import DeviationModel
    from posenc_conformance.judge.measured_frequencies import ReadFrequencies
    from posenc_conformance.judge.trial import InvariantCheck, Trial


Identify = Callable[[Array], Iterator[tuple[ArgumentDict, Array]]]
"""Takes an array and yields arguments of calls, each with a part of the array."""


@dataclass(frozen=True, kw_only=True)
class CallKnowledge:
    """What the kit knows of a call, beside what the scheme file says of it.

    The first six are needed, the others only where a call is not as its kind usually is.
    """

    error_terms: "Callable[[Case], ErrorTerms]"
    """Give scale and angle of each element, for the error model."""
    arguments: "Callable[[Trial], ArgumentDict]"
    """Choose arguments of a small, valid call."""
    sweep: Callable[[Mapping[str, Any], int], ArgumentDict | None]
    """Take parameters and the largest position; give arguments that reach there from 0, or None."""
    sizes: "Callable[[Case], Iterator[ArgumentDict]]"
    """Yield changes that take a case through the sizes at which implementations branch."""
    invariants: "Mapping[str, InvariantCheck]"
    """A check for each invariant of the spec."""
    deviations: "Mapping[str, DeviationModel]"
    """A model for each deviation of the spec, the most special one first."""
    shape: "Callable[[Case], Sequence[int]] | None" = None
    """Give the shape of the result."""
    places: "Callable[[Case], Array] | None" = None
    """Give the positions or distances that a case reaches, if its arguments do not say so."""
    at_one: "Callable[[Case, int], Case | None] | None" = None
    """Give a call whose result has every row at one position, if the case's positions cannot be
    set so; None if there is none, as of a table that has no such row."""
    parts: "Callable[[Case, Array], Iterator[tuple[str, Case, Array]]] | None" = None
    """Take apart a result that holds queries, keys and values: yield what each part is called, the
    call of sequences that turns its heads one by one, and its rows in the form of that call."""
    frequencies: "ReadFrequencies | None" = None
    """Read from a result how its pairs turn."""
    identify: Identify | None = None
    """Yield arguments of calls that would give an array of this shape, each with the part of the
    array that the call gives, for ``posenc identify``."""
    batched: tuple[str, ...] | None = None
    """Names of the arrays that take any leading axes, all the same ones."""
    tied: tuple[tuple[str, int | None], ...] = ()
    """Arrays with an axis, counted from the last, whose length follows from values of other
    arguments, or must stay small; None if that is true of the argument itself."""
    many: "Callable[[Case], Iterator[ArgumentDict]] | None" = None
    """Yield changes after which the result has more numbers than a grid has blocks, where lengths
    alone do not tell how to come by them."""
    largest_values: Mapping[str, float] = field(default_factory=dict)
    """How large the values of an array may be, by its name, where plain code would overflow
    beyond."""


Reference = Callable[..., Any]
"""A function of the reference, which computes the truth of a call."""


Knowledge = Mapping[str, CallKnowledge]
"""What the kit knows of each call of a scheme, by the call's name."""


@dataclass(frozen=True, eq=False)
class KnownScheme(Scheme):
    """A scheme with what the kit knows of it, which is looked up when it is first asked for."""

    find_knowledge: Callable[[Scheme], Knowledge] = field(repr=False)
    find_reference: Callable[[Scheme, Call], Reference] = field(repr=False)

    @cached_property
    def knowledge(self) -> Knowledge:
        """What the kit knows of each call.

        Raises UserError if the scheme has no module in the kit, or it cannot be imported.
        """
        return self.find_knowledge(self)

    def reference(self, call: Call) -> Reference:
        """Return the function that computes the truth of a call.

        Raises UserError if there is none.
        """
        return self.find_reference(self, call)
