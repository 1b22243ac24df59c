"""The true result of a call, and the error bound of each element."""

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any

import ml_dtypes
import numpy as np

from posenc_conformance.errors import UserError
from posenc_conformance.judge.arrays import (
    DTYPES,
    UNDERFLOW,
    UNIT_ROUNDOFF,
    Array,
    Flags,
    Floats,
)
from posenc_conformance.judge.call_kinds import KINDS
from posenc_conformance.judge.invocation import Invocation, materialise
from posenc_conformance.judge.knowledge import KnownScheme
from posenc_conformance.judge.truth_cache import LARGEST_ENTRY, TRUTHS, cache_key
from posenc_conformance.scheme_file.scheme import (
    Golden,
    Published,
)

RELATIVE = 2.0**40
"""Multiple of the underflow beyond which it adds nothing to a relative error."""


@dataclass(frozen=True)
class ErrorTerms:
    """The local scale s of each element, and ``|theta| * (1 + |ln w|)`` for its angle theta.

    w is the frequency. Both arrays broadcast to the result.
    """

    scale: Floats
    angle: Floats


def exact_terms(case: "Case") -> ErrorTerms:
    """Return scale 0 and angle 0: nothing is rounded, so no error is allowed."""
    return ErrorTerms(np.zeros(()), np.zeros(()))


@dataclass(frozen=True)
class Case(Invocation):
    """An invocation with its true result and error bounds."""

    printed: Array | None = None
    """The truth as a golden prints it, nan where it prints nothing; None if the reference computes
    it."""
    truth_shared_with: "Case | None" = None
    """A case with equal arguments, whose truth serves both."""
    grain: float = 0.0
    """Error that printing may have added to each value compared with the truth."""
    is_asked_once: bool = False
    """Whether the truth of equal arguments is needed only once, so that caching it is useless."""

    @cached_property
    def truth(self) -> Array:
        """The exact result in float64; not finite where a mask or a golden hides an element."""
        if self.printed is not None:
            return self.printed
        if self.truth_shared_with is not None:
            return self.truth_shared_with.truth
        reference = self.scheme.reference(self.call)
        keywords: dict[str, Any] = dict(self.conventions_passed)
        if self.call.dtype == "keyword":
            keywords["dtype"] = np.float64
        arguments = dict(self.arguments)
        if changed := self.changed_argument:
            arguments[changed] = arguments[changed].copy()

        def found() -> tuple[Array]:
            return (reference(**arguments, **keywords),)

        if not self._is_kept:
            return found()[0]
        key = (reference, self._arguments_key, tuple(keywords.items()))
        (truth,) = TRUTHS.of(key, found)
        return truth

    @cached_property
    def has_result(self) -> bool:
        """Whether the definition has a result for these arguments, in the range of the dtype."""
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                truth = self.truth
        except (TypeError, ValueError, IndexError):
            return False
        most = float(ml_dtypes.finfo(DTYPES[self.dtype]).max) if self.dtype in DTYPES else np.inf
        size = np.abs(truth, where=np.isfinite(truth), out=np.zeros(truth.shape))
        return truth.shape == self.shape and bool(size.max(initial=0) <= most)

    @cached_property
    def terms(self) -> ErrorTerms:
        """Scale and angle of each element, for the error model."""

        def found() -> tuple[Array, Array]:
            terms = self.knowledge.error_terms(self)
            return terms.scale, terms.angle

        if not self._is_kept:
            return ErrorTerms(*found())
        chosen = tuple(self.conventions.items())
        key = (self.scheme, self.call.name, chosen, self._arguments_key, self.dtype)
        # A scale computed from the truth has the same gaps as the printed golden.
        return ErrorTerms(*TRUTHS.of((*key, cache_key({"printed": self.printed})), found))

    @cached_property
    def _arguments_key(self) -> Hashable:
        return cache_key(self.arguments)

    @property
    def _is_kept(self) -> bool:
        """Whether the truth is cached; if not, no key is computed, which would take time."""
        return not self.is_asked_once and 8 * prod(self.shape) <= LARGEST_ENTRY

    @cached_property
    def bound(self) -> Floats:
        """Largest error that an honest implementation may make in each element."""
        return self.bounds()

    def bounds(self, *, angles: bool = True, terms: ErrorTerms | None = None) -> Floats:
        """Compute each element's bound: ``s * (A * v + B * u * |theta| * (1 + |ln w|))``.

        Without ``angles``, errors of angles are left out, as if B were 0. ``terms`` replaces the
        case's own error terms, as of a mistake that turns by other angles. v is the unit roundoff
        of the result's dtype, u that of the angles, float32 unless the result is float64. Printing
        adds the case's grain, underflow adds its own error; the truth's rounding to float64 adds to
        the bound of float64 results only.
        """
        accuracy, terms = self.scheme.accuracy, terms or self.terms
        v = UNIT_ROUNDOFF[self.dtype]
        u = UNIT_ROUNDOFF["float64" if self.dtype == "float64" else "float32"]
        lost = accuracy.angle * u * terms.angle if angles else 0.0
        allowed = terms.scale * (accuracy.rounding * v + lost) + self.grain
        underflow = UNDERFLOW.get(self.dtype, 0.0)
        if underflow and terms.scale.min(initial=1.0) * v < RELATIVE * underflow:
            allowed = allowed + (terms.scale > 0) * accuracy.rounding * underflow
        if self.dtype == "float64":
            allowed = allowed + (terms.scale > 0) * self._rounding_of_truth
        return allowed if allowed.shape == self.shape else np.broadcast_to(allowed, self.shape)

    @property
    def _rounding_of_truth(self) -> Floats:
        """Half a unit in the last place of each finite element of the truth; of 0 for others."""
        size = np.abs(np.asarray(self.truth, dtype=np.float64))
        return np.spacing(np.where(np.isfinite(size), size, 0.0)) / 2

    @cached_property
    def judged(self) -> Flags:
        """Which elements can tell right from wrong: they are shown, and the bound is below s.

        An element with a bound of 0 must be exact, and is judged as well.
        """
        return np.asarray(self.shown & ((self.bound < self.terms.scale) | (self.bound == 0)))

    @cached_property
    def shown(self) -> Array:
        """Which elements count: those that no mask or golden hides. Broadcasts to the result.

        If nothing can be hidden, the truth is not computed.
        """
        if self.printed is None and not KINDS[self.call.kind].hides:
            return np.asarray(True)
        return np.isfinite(self.truth)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Shape that the result must have."""
        shape = self.knowledge.shape or KINDS[self.call.kind].shape
        if shape is None:
            raise UserError(
                f"{self.scheme.path}: the kit does not know the shape of {self.call.name}()",
                f"the kind {self.call.kind!r} does not imply a shape: give its CallKnowledge "
                "a shape",
            )
        return tuple(shape(self))

    @property
    def largest_position(self) -> int:
        """Largest magnitude of a position or distance in the arguments."""
        if places := self.knowledge.places:
            return int(np.max(np.abs(places(self)), initial=0))
        if "k_len" in self.call.parameters:
            return max(int(self.parameter("k_len")) - 1, 0)
        for name in ("positions", "relative_position"):
            if name in self.arguments and self.arguments[name].size:
                return int(np.ceil(np.max(np.abs(self.arguments[name]))))
        return 0

    def sharing_truth_of(self, other: "Case") -> "Case":
        """Return this case with the truth of another if their arguments are equal, else unchanged.

        Their dtypes may differ.
        """
        same = self is not other and self.arguments.keys() == other.arguments.keys()
        if same and all(
            np.array_equal(value, other.arguments[name]) for name, value in self.arguments.items()
        ):
            return replace(self, truth_shared_with=other)
        return self

    def with_fields(self, **fields: Any) -> "Case":
        """Return the case with changed fields; its truth is computed anew."""
        return super().with_fields(**fields, printed=None, truth_shared_with=None)


def case_described_by(scheme: KnownScheme, item: Golden | Published, dtype: str) -> Case:
    """Make the case that a golden or a published value of the spec describes."""
    call = scheme.calls[item.call]
    conventions = dict(call.combinations[item.combination].conventions)
    if isinstance(item, Golden):
        conventions |= item.options
    return Case(scheme, call, conventions, materialise(item.arguments), dtype)
