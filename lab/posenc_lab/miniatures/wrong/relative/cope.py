"""Wrong implementations: contextual positions."""

from typing import ClassVar

import ml_dtypes
import numpy as np

from posenc_lab.miniatures.base import Array, Mistake


class Contextual(Mistake, steps=True):
    """The paper's listing, in steps."""

    call = "cope_scores"
    claimed = ("listing",)

    def answer(self, q: Array, k: Array, table: Array, *, scaling: str) -> Array:
        kind = q.dtype
        q, k, table = (array.astype(np.float64) for array in (q, k, table))
        return self.logits(q, k, k, table, scaling).astype(kind)

    def logits(self, q: Array, k: Array, gate_keys: Array, table: Array, scaling: str) -> Array:
        root = np.sqrt(q.shape[2])
        dots = self.dots(q, k)
        seen = np.arange(k.shape[1]) <= self.queries(q.shape[1], k.shape[1])[:, None]
        gates = self.gates(self.dots(q, gate_keys), root, seen)
        position = self.limit(self.count(gates, seen), len(table))
        term = self.term(q @ table.T, position)
        both = dots / root + term if scaling == "dot-product" else (dots + term) / root
        return np.where(seen, both, -np.inf)

    def dots(self, q: Array, k: Array) -> Array:
        return q @ np.swapaxes(k, 1, 2)

    def queries(self, q_len: int, k_len: int) -> Array:
        return np.arange(k_len - q_len, k_len)

    def gates(self, dots: Array, root: float, seen: Array) -> Array:
        return self.sigmoid(np.where(seen, dots / root, -np.inf))

    def sigmoid(self, values: Array) -> Array:
        with np.errstate(over="ignore"):
            return 1 / (1 + np.exp(-values))

    def count(self, gates: Array, seen: Array) -> Array:
        return np.flip(np.flip(gates, -1).cumsum(-1), -1)

    def limit(self, position: Array, npos: int) -> Array:
        return np.minimum(position, npos - 1)

    def term(self, by_row: Array, position: Array) -> Array:
        below, above = np.floor(position), np.ceil(position)
        return self.mixed(self.row(by_row, below), self.row(by_row, above), position, below, above)

    def row(self, by_row: Array, rows: Array) -> Array:
        return np.take_along_axis(by_row, rows.astype(int), axis=-1)

    def mixed(
        self, first: Array, second: Array, position: Array, below: Array, above: Array
    ) -> Array:
        share = position - below
        return second * share + first * (1 - share)


class ContextualDividedSum(Contextual):
    """Scaling is the released code's where the listing's is claimed."""

    named = "scaling-swapped"

    def logits(self, q: Array, k: Array, gate_keys: Array, table: Array, scaling: str) -> Array:
        return super().logits(q, k, gate_keys, table, "sum")


class ContextualDividedProduct(Contextual):
    """Scaling is the listing's where the released code's is claimed."""

    named = "scaling-swapped"
    claimed = ("released",)

    def logits(self, q: Array, k: Array, gate_keys: Array, table: Array, scaling: str) -> Array:
        return super().logits(q, k, gate_keys, table, "dot-product")


class ContextualUnscaledGates(Contextual):
    """Gates use the unscaled dot product, as in the paper's equation."""

    named = "gates-unscaled"

    def gates(self, dots: Array, root: float, seen: Array) -> Array:
        return super().gates(dots, 1.0, seen)


class ContextualUnscaledGatesReleased(ContextualUnscaledGates):
    """Gates use the unscaled dot product, with the released code's scaling."""

    claimed = ("released",)


class ContextualMaskedLate(Contextual):
    """The mask follows the gates, so later keys are counted."""

    named = "gates-unmasked"

    def gates(self, dots: Array, root: float, seen: Array) -> Array:
        return self.sigmoid(dots / root)


class ContextualForward(Contextual):
    """Gates are summed from the first key, without the flips."""

    named = "counted-forward"

    def count(self, gates: Array, seen: Array) -> Array:
        return gates.cumsum(-1)


class ContextualWithoutTheKey(Contextual):
    """The cumulative sum is exclusive: the key itself does not count."""

    named = "count-shifted"

    def count(self, gates: Array, seen: Array) -> Array:
        return super().count(gates, seen) - gates


class ContextualWithoutTheQuery(Contextual):
    """The query's own key does not count."""

    named = "count-shifted"
    claimed = ("released",)

    def count(self, gates: Array, seen: Array) -> Array:
        own = seen & ~np.pad(seen, ((0, 0), (0, 1)))[:, 1:]
        return super().count(np.where(own, 0.0, gates), seen)


class ContextualLimitedEarly(Contextual):
    """The table's last row is never reached."""

    named = "limit-shifted"

    def limit(self, position: Array, npos: int) -> Array:
        return np.minimum(position, max(npos - 2, 0))


class ContextualRoundedDown(Contextual):
    """Positions are rounded down, not interpolated."""

    named = "not-interpolated"

    def term(self, by_row: Array, position: Array) -> Array:
        return self.row(by_row, np.floor(position))


class ContextualRounded(Contextual):
    """Positions are rounded to the nearest row, not interpolated."""

    named = "not-interpolated"
    claimed = ("released",)

    def term(self, by_row: Array, position: Array) -> Array:
        return self.row(by_row, np.rint(position))


class ContextualSharesExchanged(Contextual):
    """Interpolation weights of the two rows are exchanged."""

    named = "weights-wrong"

    def mixed(
        self, first: Array, second: Array, position: Array, below: Array, above: Array
    ) -> Array:
        return first * (position - below) + second * (1 - (position - below))


class ContextualSharesLost(Contextual):
    """Interpolation weights are both 0 at integer positions."""

    named = "weights-wrong"

    def mixed(
        self, first: Array, second: Array, position: Array, below: Array, above: Array
    ) -> Array:
        return first * (above - position) + second * (position - below)


class ContextualWithoutPositions(Contextual):
    """The position term is missing: ordinary causal attention."""

    named = "position-left-out"

    def term(self, by_row: Array, position: Array) -> Array:
        return 0 * position


class ContextualFromZero(Contextual):
    """Query i is at position i, which hides keys that it should see."""

    def queries(self, q_len: int, k_len: int) -> Array:
        return np.arange(q_len)


class ContextualUnlimited(Contextual):
    """Positions are not limited and wrap around the table."""

    def limit(self, position: Array, npos: int) -> Array:
        return np.minimum(position, 1e9)

    def row(self, by_row: Array, rows: Array) -> Array:
        return super().row(by_row, rows % max(by_row.shape[-1], 1))


class ContextualTokens(Contextual):
    """Every key counts 1, ignoring its gate."""

    def gates(self, dots: Array, root: float, seen: Array) -> Array:
        return np.where(seen, 1.0, 0.0) + 0 * dots


class ContextualTanh(Contextual):
    """Gates are a hyperbolic tangent, not a sigmoid."""

    def sigmoid(self, values: Array) -> Array:
        return np.tanh(np.maximum(values, 0))


class ContextualUnscaled(Contextual):
    """The content term is not divided, but the position term is."""

    def logits(self, q: Array, k: Array, gate_keys: Array, table: Array, scaling: str) -> Array:
        root = np.sqrt(q.shape[2])
        return super().logits(q, k, gate_keys, table / root, "sum") * root + 0 * root


class ContextualInBfloat16(Contextual):
    """Positions are held in bfloat16 for a float32 result."""

    def count(self, gates: Array, seen: Array) -> Array:
        positions = super().count(gates, seen)
        return positions.astype(ml_dtypes.bfloat16).astype(np.float64)


class ContextualGatesInFloat16(Contextual):
    """Gates are held in float16 for a float32 result."""

    claimed = ("released",)

    def gates(self, dots: Array, root: float, seen: Array) -> Array:
        return super().gates(dots, root, seen).astype(np.float16).astype(np.float64)


class ContextualOverflows(Contextual):
    """The sigmoid overflows to NaN for large logits."""

    def sigmoid(self, values: Array) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            power = np.exp(values)
            return power / (1 + power)

    def limit(self, position: Array, npos: int) -> Array:
        return np.nan_to_num(np.minimum(position, npos - 1), nan=0.0)


class ContextualCountsFrom64(Contextual):
    """Only the last 64 keys are counted, as in a kernel with one block."""

    def count(self, gates: Array, seen: Array) -> Array:
        near = np.arange(gates.shape[-1]) >= gates.shape[-1] - 64
        return super().count(gates * near, seen)


class ContextualHeadsShareGates(Contextual):
    """The first head's positions are used for all."""

    def count(self, gates: Array, seen: Array) -> Array:
        return np.broadcast_to(super().count(gates, seen)[:1], gates.shape)


class ContextualAddsIntoKeys(Contextual):
    """The caller's keys are scaled in place."""

    def answer(self, q: Array, k: Array, table: Array, *, scaling: str) -> Array:
        out = super().answer(q, k, table, scaling=scaling)
        k *= k.dtype.type(1 / np.sqrt(k.shape[2]))
        return out


class Gated(Mistake, steps=True):
    """The steps of Contextual with gates from separate vectors."""

    call = "cope_gated_scores"
    claimed = ("listing",)
    steps: ClassVar[type[Contextual]] = Contextual

    def answer(self, q: Array, k: Array, gate_keys: Array, table: Array, *, scaling: str) -> Array:
        kind = q.dtype
        q, k, gate_keys, table = (array.astype(np.float64) for array in (q, k, gate_keys, table))
        return self.logits(q, k, gate_keys, table, scaling).astype(kind)

    def logits(self, q: Array, k: Array, gate_keys: Array, table: Array, scaling: str) -> Array:
        return self.steps().logits(q, k, gate_keys, table, scaling)


class GatedByTheKeys(Gated):
    """Gates use the keys, not gate_keys."""

    named = "gate-keys-unused"

    def logits(self, q: Array, k: Array, gate_keys: Array, table: Array, scaling: str) -> Array:
        return super().logits(q, k, k + 0 * gate_keys, table, scaling)


class GatedContent(Gated):
    """The content term reuses the gates' logits."""

    named = "gate-keys-unused"
    claimed = ("released",)

    def logits(self, q: Array, k: Array, gate_keys: Array, table: Array, scaling: str) -> Array:
        return super().logits(q, gate_keys + 0 * k, gate_keys, table, scaling)


class GatedDividedProduct(Gated):
    """Scaling is the listing's where the released code's is claimed."""

    named = "scaling-swapped"
    claimed = ("released",)
    steps = ContextualDividedProduct


class GatedUnscaled(Gated):
    """Gates use the unscaled dot product."""

    named = "gates-unscaled"
    steps = ContextualUnscaledGates


class GatedMaskedLate(Gated):
    """The mask follows the gates."""

    named = "gates-unmasked"
    steps = ContextualMaskedLate


class GatedSharesLost(Gated):
    """Interpolation weights are both 0 at integer positions."""

    named = "weights-wrong"
    claimed = ("released",)
    steps = ContextualSharesLost


class GatedFromZero(Gated):
    """Query i is at position i."""

    steps = ContextualFromZero


class GatedOverflows(Gated):
    """The sigmoid overflows to NaN for large logits."""

    steps = ContextualOverflows


class GatedForward(Gated):
    """Gates are summed from the first key, without the flips."""

    named = "counted-forward"
    steps = ContextualForward


class GatedWithoutTheKey(Gated):
    """The cumulative sum is exclusive."""

    named = "count-shifted"
    steps = ContextualWithoutTheKey


class GatedLimitedEarly(Gated):
    """The table's last row is never reached."""

    named = "limit-shifted"
    steps = ContextualLimitedEarly


class GatedRoundedDown(Gated):
    """Positions are rounded down, not interpolated."""

    named = "not-interpolated"
    claimed = ("released",)
    steps = ContextualRoundedDown


class GatedWithoutPositions(Gated):
    """The position term is missing: ordinary causal attention."""

    named = "position-left-out"
    steps = ContextualWithoutPositions
