"""The kit's knowledge of a scheme and of each of its calls, in addition to the scheme file.

Every module in ``schemes`` has ``KNOWLEDGE``, a :class:`CallKnowledge` for each call of its scheme.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from posenc_conformance.judge.arrays import Array, Floats
from posenc_conformance.scheme_file.scheme import ArgumentDict, Call, Scheme

if TYPE_CHECKING:  # circular: a case has a scheme, whose knowledge takes cases
    from posenc_conformance.judge.case import Case, ErrorTerms
    from posenc_conformance.judge.deviation import DeviationModel
    from posenc_conformance.judge.measured_frequencies import ReadFrequencies
    from posenc_conformance.judge.trial import InvariantCheck, Trial


Identify = Callable[[Array], Iterator[tuple[ArgumentDict, Array]]]
"""Takes an array and yields arguments of calls, each with a part of the array."""


@dataclass(frozen=True, kw_only=True)
class CallKnowledge:
    """The kit's knowledge of a call, in addition to the scheme file.

    The first six fields are required, the others only for calls that differ from others of their
    kind.
    """

    error_terms: "Callable[[Case], ErrorTerms]"
    """Return scale and angle of each element, for the error model."""
    arguments: "Callable[[Trial], ArgumentDict]"
    """Choose the arguments of a small, valid call."""
    sweep: Callable[[Mapping[str, Any], int], ArgumentDict | None]
    """Take parameters and the largest position; return arguments with positions from 0 up to it,
    or None."""
    sizes: "Callable[[Case], Iterator[ArgumentDict]]"
    """Yield changes of a case's arguments to the sizes at which implementations branch."""
    invariants: "Mapping[str, InvariantCheck]"
    """A check for each invariant of the spec."""
    deviations: "Mapping[str, DeviationModel]"
    """A model for each deviation of the spec, the most specific one first."""
    readings: "tuple[DeviationModel, ...]" = ()
    """Models of mistakes that the spec lists under no id for this call. If no deviation explains a
    result, their words describe it."""
    description: "Callable[[Case, Floats], str] | None" = None
    """Describe a wrong result where nothing else does; empty if it shows nothing."""
    shape: "Callable[[Case], Sequence[int]] | None" = None
    """Return the shape of the result."""
    places: "Callable[[Case], Array] | None" = None
    """Return the positions or distances that a case reaches, if its arguments do not contain
    them."""
    at_one: "Callable[[Case, int], Case | None] | None" = None
    """Return a case whose result has every row at the given position, if positions cannot be set
    directly; None if there is no such case, as for a table without that row."""
    parts: "Callable[[Case, Array], Iterator[tuple[str, Case, Array]]] | None" = None
    """Split a result with fused queries, keys and values: yield each part's name, a case that
    rotates its heads one by one, and the part's rows in the shape of that case's result."""
    frequencies: "ReadFrequencies | None" = None
    """Read the frequencies of the rotated pairs from a result."""
    identify: Identify | None = None
    """Yield arguments of calls whose result has this array's shape, each with the part of the array
    that the call returns, for ``posenc identify``."""
    batched: tuple[str, ...] | None = None
    """Names of the arrays that accept leading axes, which must be the same for all."""
    tied: tuple[tuple[str, int | None], ...] = ()
    """Arrays and an axis, counted from the last, whose length depends on the values of other
    arguments or must stay small; the axis is None if that holds for the argument itself."""
    many: "Callable[[Case], Iterator[ArgumentDict]] | None" = None
    """Yield changed arguments that give the result more elements than a GPU grid has blocks, for
    calls where longer axes do not suffice."""
    largest_values: Mapping[str, float] = field(default_factory=dict)
    """Largest value in each named array; beyond it, plain code would overflow."""


Reference = Callable[..., Any]
"""A function of the reference, which computes the truth of a call."""


Knowledge = Mapping[str, CallKnowledge]
"""The kit's knowledge of each call of a scheme, by the call's name."""


@dataclass(frozen=True, eq=False)
class KnownScheme(Scheme):
    """A scheme with the kit's knowledge of it, which is looked up on first use."""

    find_knowledge: Callable[[Scheme], Knowledge] = field(repr=False)
    find_reference: Callable[[Scheme, Call], Reference] = field(repr=False)

    @cached_property
    def knowledge(self) -> Knowledge:
        """The kit's knowledge of each call.

        Raises UserError if the scheme has no module in the kit, or if importing its own file fails.
        """
        return self.find_knowledge(self)

    def reference(self, call: Call) -> Reference:
        """Return the function that computes the truth of a call.

        Raises UserError if it is missing.
        """
        return self.find_reference(self, call)
