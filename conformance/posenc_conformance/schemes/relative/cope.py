"""Contextual positions: bounds, invariants and deviations."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from posenc_conformance.diagnose.predictors import other_conventions
from posenc_conformance.families.lengths import lags, lengths
from posenc_conformance.families.scores import (
    alike,
    content_alone,
    dots,
    last_queries,
    root,
    sizes,
    sweep,
    zeros,
)
from posenc_conformance.judge.arrays import UNIT_ROUNDOFF, Floats, fine
from posenc_conformance.judge.bounded import ARITHMETIC, Answer, Exact
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.deviation import Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments

OPEN = 30.0
"""A logit at which a gate differs from 1 by less than 1e-13."""
SIZES_OF = (
    (1, 2, 2, 3, 1),
    (9, 3, 5, 5, 3),
    (1, 4, 4, 64, 16),
    (2, 1, 40, 6, 41),
    (1, 65, 65, 2, 9),
    (1, 130, 130, 2, 5),
    (1, 1, 300, 2, 200),
)
"""Odd and even head dimensions, powers of two and others; tables of one row and of many."""


@dataclass(frozen=True)
class Parts:
    """The parts of a case's logits; hidden keys have gates of 0."""

    content: Floats
    """q.k / sqrt(head_dim)."""
    opening: Floats
    """q.g / sqrt(head_dim), where g are the keys, or ``gate_keys``."""
    by_row: Floats
    """Products of queries with table rows, divided by sqrt(head_dim) if the sum is."""
    seen: npt.NDArray[np.bool_]
    gates: Floats

    @property
    def positions(self) -> Floats:
        """Sums of gates from each key to the query, not limited to the table."""
        return counted(self.gates)

    def logits(self, positions: Floats) -> Floats:
        """Compute the logits with keys at these positions."""
        return self.with_term(interpolated(self.by_row, positions))

    def with_term(self, term: Floats) -> Floats:
        """Compute the logits with this positional term, 0 at hidden keys."""
        return np.where(self.seen, self.content + term, 0.0)


def parts(case: Case, size: bool = False) -> Parts:
    """Compute the parts of a case's logits; with ``size``, sums of magnitudes for products."""
    arrays = [case.arguments[name] for name in ("q", "k", gating(case.arguments), "table")]
    q, k, gate_keys, table = map(np.abs, arrays) if size else arrays
    content, opening = (q @ np.swapaxes(vectors, 1, 2) / root(case) for vectors in (k, gate_keys))
    divisor = root(case) if case.conventions["scaling"] == "sum" else 1.0
    seen = seen_keys(case)
    gates = np.where(seen, sigmoid(opening), 0.0)
    return Parts(content, opening, q @ table.T / divisor, seen, gates)


def gating(given: Arguments) -> str:
    """Return the name of the argument that opens the gates."""
    return "gate_keys" if "gate_keys" in given else "k"


def seen_keys(case: Case) -> npt.NDArray[np.bool_]:
    """Return the mask of the keys up to each query: [q_len, k_len]."""
    return lags(case) >= 0


def sigmoid(values: Floats) -> Floats:
    """Compute the sigmoid without overflow."""
    return np.asarray((1 + np.tanh(values / 2)) / 2)


def counted(gates: Floats) -> Floats:
    """Sum gates from each key to the last one."""
    return gates[..., ::-1].cumsum(axis=-1)[..., ::-1]


def interpolated(by_row: Floats, positions: Floats) -> Floats:
    """Interpolate between rows, at positions that are limited to the table."""
    position = np.clip(positions, 0, by_row.shape[-1] - 1)
    below, above = np.floor(position), np.ceil(position)
    share = position - below
    return picked(by_row, below) * (1 - share) + picked(by_row, above) * share


def picked(by_row: Floats, rows: Floats) -> Floats:
    """Pick the products with these table rows."""
    return np.take_along_axis(by_row, rows.astype(np.int64), axis=-1)


def error_terms(case: Case) -> ErrorTerms:
    """Return as scale the content, the positional term, and the effect of the position's error.

    The term is piecewise linear in the position: it changes by at most the error times the steepest
    slope of the pieces within reach. Beyond the table it is constant.
    """
    right, sizes = parts(case), parts(case, size=True)
    angle = float(case.parameter("head_dim") + case.parameter("k_len"))
    counts = np.where(right.seen, right.gates + sizes.opening / 4, 0.0)
    position, weight = right.positions, counted(counts)
    whole = counts.sum(axis=-1, keepdims=True)  # a position may be a difference from this sum
    exact, single = roundings(case)
    error = exact * weight + single * angle * whole
    piece = np.arange(right.by_row.shape[-1] - 1)
    reached = (position - error)[..., None] < piece + 1
    reached &= (position + error)[..., None] > piece
    slopes = np.abs(np.diff(right.by_row))[:, :, None, :]
    slope = np.max(np.where(reached, slopes, 0.0), axis=-1, initial=0.0)
    sums = sizes.content + interpolated(sizes.by_row, position)
    scale = np.where(right.seen, sums + slope * weight, 0.0)
    added = np.divide(sums + slope * whole, scale, out=np.ones(scale.shape), where=scale > 0)
    return ErrorTerms(scale, angle * added)


def roundings(case: Case) -> tuple[float, float]:
    """Return the model's relative errors: of the result's dtype, and of each term of a sum."""
    accuracy, v = case.scheme.accuracy, UNIT_ROUNDOFF[case.dtype]
    u = UNIT_ROUNDOFF["float64" if case.dtype == "float64" else "float32"]
    return accuracy.rounding * v, accuracy.angle * u


def arguments(trial: Trial) -> ArgumentDict:
    """Draw a few heads, queries and keys, and gates from nearly closed to nearly open."""
    chosen = lengths(trial, (6, 1, 2, 9))
    heads, head_dim = trial.choose("heads", (2, 1, 3)), trial.choose("head_dim", (4, 1, 6, 16))
    npos = trial.choose("npos", (4, 1, 2, 7, 12))
    make = gated_arrays if "gate_keys" in trial.subject.call.arguments else arrays
    return make(heads=heads, head_dim=head_dim, npos=npos, **chosen)


def arrays(heads: int, q_len: int, k_len: int, head_dim: int, npos: int) -> ArgumentDict:
    """Make arrays of these sizes."""
    return {
        "q": 4 * fine((heads, q_len, head_dim)),
        "k": fine((heads, k_len, head_dim), 5),
        "table": fine((npos, head_dim), 11),
    }


def gated_arrays(heads: int, q_len: int, k_len: int, head_dim: int, npos: int) -> ArgumentDict:
    """Make arrays of these sizes, with ``gate_keys``."""
    chosen = arrays(heads, q_len, k_len, head_dim, npos)
    return chosen | {"gate_keys": fine((heads, k_len, head_dim), 17)}


def scale_of_table(case: Case) -> float:
    """Return the largest sum of magnitudes in a product with a table row."""
    return float(np.max(parts(case, size=True).by_row, initial=0.0))


def by_row(answer: Answer) -> Answer:
    """Compute the products of queries with table rows, divided by sqrt(head_dim) if the sum is."""
    dot = dots(answer, "q", "table")
    return dot / root(answer.case) if answer.case.conventions["scaling"] == "sum" else dot


def logits_at(answer: Answer, positions: Floats) -> Answer:
    """Compute the logits with keys at these positions, the same for all heads: [q_len, k_len]."""
    rows = by_row(answer)
    position = np.clip(positions, 0, rows.values.shape[-1] - 1)
    below, above = (whole(position).astype(np.int64) for whole in (np.floor, np.ceil))
    query, share = np.arange(len(position))[:, None], position - below
    term = rows[:, query, below] * Exact(1 - share) + rows[:, query, above] * Exact(share)
    return dots(answer, "q", "k") / root(answer.case) + term


def constant_table(trial: Trial) -> None:
    """Check that a table of equal rows adds one number to all logits of a query."""
    chosen = arguments(trial)
    y = trial.answer(**(chosen | alike(chosen, "table")))
    trial.assert_zero(
        y - logits_at(y, np.zeros(seen_keys(y.case).shape)),
        "a table of equal rows c does not add q.c everywhere",
    )


def half_gates(trial: Trial) -> None:
    """Check that with gates of 1/2 key j is at position (i - j + 1) / 2.

    Keys (or ``gate_keys``) of zeros give such gates.
    """
    chosen = arguments(trial)
    y = trial.answer(**(chosen | zeros(chosen, gating(chosen))))
    trial.assert_zero(
        y - logits_at(y, distances(y.case) / 2),
        "with gates of zeros, key j does not stand at position (i - j + 1) / 2",
    )


def distances(case: Case) -> Floats:
    """Return i - j + 1, the number of keys from j to i: [q_len, k_len]."""
    return np.asarray(lags(case) + 1.0)


def saturated_gates(trial: Trial) -> None:
    """Check that key j is at i - j + 1 if all gates are open, and at 0 if all are closed."""
    chosen = arguments(trial)
    side = trial.pick.one_of((1, -1))
    q, opening = chosen["q"].copy(), np.zeros_like(chosen["k"])
    q[..., 0], opening[..., 0] = 1.0, side * OPEN * np.sqrt(q.shape[-1])
    y = trial.answer(**(chosen | {"q": q, gating(chosen): opening}))
    residual = y - logits_at(y, distances(y.case) if side > 0 else 0 * distances(y.case))
    lost = distances(y.case).max() * np.exp(1 - OPEN) * 2 * scale_of_table(y.case)
    trial.assert_within(
        residual,
        residual.values,
        residual.bound + lost,
        "key j does not stand at i - j + 1 with all gates open, or not at 0 with all shut",
    )


def measured_positions(trial: Trial) -> Answer | None:
    """Measure positions with a table whose products with the queries are the row numbers.

    Positions of hidden keys are 0. Return None if the claim allows no table of k_len + 1 rows.
    """
    chosen = arguments(trial)
    k_len = chosen["k"].shape[1]
    rows = trial.choose("npos", (k_len + 1,))
    if rows <= k_len:
        return None
    chosen["q"][..., 0] = 1.0
    table = np.zeros((rows, chosen["q"].shape[-1]))
    without = trial.answer(**(chosen | {"table": table}))
    counting = table.copy()
    counting[:, 0] = np.arange(rows)
    y = trial.answer(**(chosen | {"table": counting}))
    position = (y - without).where(seen_keys(y.case))
    return position * root(y.case) if y.case.conventions["scaling"] == "sum" else position


def position_range(trial: Trial) -> None:
    """Check that 0 <= p <= i - j + 1."""
    if (position := measured_positions(trial)) is None:
        return
    most = Exact(np.maximum(distances(position.case), 0.0))
    for outside in (position - most, -position):
        trial.assert_zero(outside.positive(), "a position is below 0 or above i - j + 1")


def gate_steps(trial: Trial) -> None:
    """Check that a key's position is that of the next key plus the key's own gate."""
    if (position := measured_positions(trial)) is None:
        return
    k_len = position.values.shape[-1]
    following = np.arange(1, k_len + 1) % k_len
    step = position - position[..., following].where(following > 0)
    right = parts(position.case)
    trial.assert_within(
        position,
        step.values - right.gates,
        step.bound + ARITHMETIC * (1 + np.abs(right.opening)),
        "the positions of neighbouring keys do not differ by sigmoid(q.k / sqrt(head_dim))",
    )


def future_keys(trial: Trial) -> None:
    """Check that keys after a query do not affect its logits."""
    chosen = arguments(trial)
    other = {name: chosen[name].copy() for name in ("k", gating(chosen))}
    for array in other.values():
        array[:, -1] = -array[:, -1] + 1
    y, changed = trial.answer(**chosen), trial.answer(**(chosen | other))
    trial.assert_zero((y - changed)[:, :-1], "the last key changes logits of queries before it")


def keys_apart(trial: Trial) -> None:
    """Check that keys affect the content only: without them the positional term is unchanged."""
    chosen = arguments(trial)
    y, without = trial.answer(**chosen), trial.answer(**(chosen | zeros(chosen, "k")))
    trial.assert_zero(
        y - without - dots(y, "q", "k") / root(y.case), "keys change the positional term"
    )


def gates_unscaled(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict gates from products that are not divided by sqrt(head_dim)."""
    right = parts(case)
    gates = np.where(right.seen, sigmoid(right.opening * root(case)), 0.0)
    yield Prediction(
        "matches gates of q.k not divided by sqrt(head_dim)", right.logits(counted(gates))
    )


def gates_unmasked(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict positions that count keys after the query."""
    right = parts(case)
    positions = counted(sigmoid(right.opening))
    yield Prediction("matches positions that count keys after the query", right.logits(positions))


def counted_forward(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict gates summed from the first key on."""
    right = parts(case)
    positions = right.gates.cumsum(axis=-1)
    yield Prediction("matches gates summed from the first key on", right.logits(positions))


def count_shifted(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict positions that omit one end of the sum."""
    right = parts(case)
    own = right.gates * (distances(case) == 1)
    yield Prediction(
        "matches positions that do not count the key itself",
        right.logits(right.positions - right.gates),
    )
    yield Prediction(
        "matches positions that do not count the key at the query's own place",
        right.logits(right.positions - own.sum(axis=-1, keepdims=True)),
    )


def limit_shifted(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict npos-2 as the largest position."""
    right = parts(case)
    last = right.by_row.shape[-1] - 1
    if last > 0:
        limited = np.minimum(right.positions, last - 1)
        yield Prediction("matches positions of at most npos-2", right.logits(limited))


def not_interpolated(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict positions rounded to whole table rows."""
    right = parts(case)
    limited = np.minimum(right.positions, right.by_row.shape[-1] - 1)
    for words, whole in (("down", np.floor), ("up", np.ceil), ("to the nearest", np.rint)):
        yield Prediction(f"matches positions rounded {words}", right.logits(whole(limited)))


def weights_wrong(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict shares of the two rows exchanged, or lost."""
    right = parts(case)
    position = np.minimum(right.positions, right.by_row.shape[-1] - 1)
    below, above = np.floor(position), np.ceil(position)
    first, second = picked(right.by_row, below), picked(right.by_row, above)
    share = position - below
    yield Prediction(
        "matches shares of the two rows exchanged",
        right.with_term(first * share + second * (1 - share)),
    )
    yield Prediction(
        "matches shares that vanish at whole positions",
        right.with_term(first * (above - position) + second * share),
    )


def gate_keys_unused(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict one product for both gates and content, with the keys or with ``gate_keys``."""
    right = parts(case)
    gates = np.where(right.seen, sigmoid(right.content), 0.0)
    yield Prediction("matches gates of the keys, not of gate_keys", right.logits(counted(gates)))
    both = replace(right, content=right.opening)
    yield Prediction("matches content of gate_keys, not of the keys", both.logits(right.positions))


def position_left_out(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict ordinary attention, without the table."""
    yield Prediction("matches logits without the table", parts(case).with_term(np.zeros(())))


INVARIANTS_OF_BOTH = {
    "zero-table": content_alone(
        arguments,
        root,
        "with a table of zeros the logits are not q.k / sqrt(head_dim)",
        "table",
    ),
    "constant-table": constant_table,
    "half-gates": half_gates,
    "saturated-gates": saturated_gates,
    "position-range": position_range,
    "gate-steps": gate_steps,
    "future-keys": future_keys,
    "last-queries": last_queries(arguments, size=4),
}
DEVIATIONS_OF_BOTH = {
    "scaling-swapped": other_conventions(
        "scaling", "matches the scaling of the {value}; that of the {claimed} was claimed"
    ),
    "gates-unscaled": gates_unscaled,
    "gates-unmasked": gates_unmasked,
    "counted-forward": counted_forward,
    "count-shifted": count_shifted,
    "limit-shifted": limit_shifted,
    "not-interpolated": not_interpolated,
    "weights-wrong": weights_wrong,
    "position-left-out": position_left_out,
}


KNOWLEDGE = {
    "cope_scores": CallKnowledge(
        error_terms=error_terms,
        arguments=arguments,
        sweep=sweep(arrays, npos=64),
        sizes=sizes(arrays, *SIZES_OF),
        invariants=INVARIANTS_OF_BOTH,
        deviations=DEVIATIONS_OF_BOTH,
    ),
    "cope_gated_scores": CallKnowledge(
        error_terms=error_terms,
        arguments=arguments,
        sweep=sweep(gated_arrays, npos=64),
        sizes=sizes(gated_arrays, *SIZES_OF),
        invariants={
            "keys-apart": keys_apart,
            **{f"gated-{name}": check for name, check in INVARIANTS_OF_BOTH.items()},
        },
        deviations={**DEVIATIONS_OF_BOTH, "gate-keys-unused": gate_keys_unused},
    ),
}
