"""Rotary embedding: bounds, invariants and deviations."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from posenc_conformance.arrays import fine, lattice
from posenc_conformance.cases import Case
from posenc_conformance.models import (
    Model,
    attempt,
    bases,
    negated_positions,
    other_conventions,
    rounded_angles,
    rounded_base,
    shifted_positions,
)
from posenc_conformance.positions import reaching
from posenc_conformance.tolerance import ErrorTerms, Floats
from posenc_conformance.trial import ARITHMETIC, Answer, Trial, product_bound

ROWS = 6
Index = npt.NDArray[np.int64]


def rotary_dim(case: Case) -> int:
    """Number of rotated channels."""
    return int(case.arguments.get("rotary_dim") or case.arguments["x"].shape[-1])


def channels(rotated: int, layout: str) -> tuple[Index, Index]:
    """Channels of the first and of the second member of each pair."""
    pairs = np.arange(rotated // 2)
    if layout == "interleaved":
        return 2 * pairs, 2 * pairs + 1
    return pairs, pairs + rotated // 2


def read_channels(case: Case) -> tuple[Index, Index]:
    """Where pairs are read from."""
    layout = "half" if case.conventions["layout"] == "half" else "interleaved"
    return channels(rotary_dim(case), layout)


def written_channels(case: Case) -> tuple[Index, Index]:
    """Where pairs are written to."""
    layout = "interleaved" if case.conventions["layout"] == "interleaved" else "half"
    return channels(rotary_dim(case), layout)


def frequencies(case: Case) -> Floats:
    """Radians per position of each pair."""
    rotated = rotary_dim(case)
    return np.asarray(case.arguments.get("base", 10000.0) ** -(np.arange(0, rotated, 2) / rotated))


def error_terms(case: Case) -> ErrorTerms:
    """The scale is the length of the pair; channels that pass through must be equal."""
    x, omega = case.arguments["x"], frequencies(case)
    first, second = read_channels(case)
    length = np.hypot(x[..., first], x[..., second])
    angle = np.abs(case.arguments["positions"])[..., None] * omega * (1 + np.abs(np.log(omega)))
    scale, angles = np.zeros(x.shape), np.zeros(x.shape)
    for written in written_channels(case):
        scale[..., written] = length
        angles[..., written] = angle
    return ErrorTerms(scale, angles)


def arguments(trial: Trial) -> dict[str, Any]:
    """Two heads and a few positions in a row."""
    head_dim = trial.choose("head_dim", (8, 2, 4, 6, 16, 64, 80, 128))
    extra = {}
    if trial.can("rotation") and head_dim >= 4 and trial.pick.integer(0, 1):
        widths = [width for width in (head_dim // 4 * 2, 2, head_dim - 2) if width >= 2]
        extra = {"rotation": "partial", "rotary_dim": trial.choose("rotary_dim", widths)}
    start = trial.position(ROWS)
    return extra | {
        "x": np.roll(fine((2, ROWS, head_dim)), start % 5),
        "positions": start + np.arange(ROWS),
        "base": trial.choose("base", (10000.0, 500000.0, 1e6, 100.0)),
    }


def sweep(parameters: Mapping[str, Any], largest: int) -> dict[str, Any]:
    """All powers of two up to the largest position, for one head of 128 channels."""
    positions = reaching(largest)
    rest = {name: value for name, value in parameters.items() if name != "head_dim"}
    head_dim = parameters.get("head_dim", 128)
    return {
        "x": fine((len(positions), head_dim)),
        "positions": positions,
        "base": 10000.0,
        **rest,
    }


def sizes(case: Case) -> Iterator[dict[str, Any]]:
    """Small and large heads, powers of two and not, and many rows."""
    for head_dim in (2, 4, 6, 10, 12, 16, 24, 48, 64, 80, 96, 112, 128, 130, 160, 192, 256, 512):
        yield {"x": fine((2, 2, head_dim)), "positions": np.array([1, 7])}
    yield {"x": fine((2049, 4)), "positions": np.arange(2049)}


def square_sums(answer: Answer) -> tuple[Floats, Floats, Floats]:
    """Squared length of each pair after and before the rotation, and the bound of the former."""
    first, second = written_channels(answer.case)
    a, b = answer.values[..., first], answer.values[..., second]
    a_bound, b_bound = answer.bound[..., first], answer.bound[..., second]
    bound = product_bound(a, a_bound, a, a_bound) + product_bound(b, b_bound, b, b_bound)
    x = answer.case.arguments["x"]
    before = sum(x[..., channel] ** 2 for channel in read_channels(answer.case))
    return a * a + b * b, np.asarray(before), bound


def isometry(trial: Trial) -> None:
    """Every pair keeps its length."""
    answer = trial.answer(**arguments(trial))
    after, before, bound = square_sums(answer)
    trial.zero(
        answer, after - before, bound + ARITHMETIC * before, "a rotated pair has another length"
    )


def identity_at_zero(trial: Trial) -> None:
    """At position 0 nothing turns; only the layout of the result may differ."""
    answer = trial.answer(**(arguments(trial) | {"positions": np.zeros(ROWS, dtype=np.int64)}))
    expected = answer.case.arguments["x"].copy()
    for read, written in zip(
        read_channels(answer.case), written_channels(answer.case), strict=True
    ):
        expected[..., written] = answer.case.arguments["x"][..., read]
    trial.zero(answer, answer.values - expected, answer.bound, "position 0 is not the identity")


def pair_products(a: Answer, b: Answer) -> tuple[Floats, Floats]:
    """Dot product of the rotated channels, row by row, and its bound."""
    both = np.concatenate(written_channels(a.case))
    x, y, x_bound, y_bound = (part[..., both] for part in (a.values, b.values, a.bound, b.bound))
    bound = product_bound(x, x_bound, y, y_bound).sum(axis=-1)
    return (x * y).sum(axis=-1), bound + ARITHMETIC * np.abs(x * y).sum(axis=-1)


def relative_scores(trial: Trial) -> None:
    """Moving query and key by the same distance leaves their score unchanged."""
    chosen = arguments(trial)
    gap, shift = trial.pick.integer(0, 64), trial.pick.integer(1, 512)
    query, key = chosen["x"], chosen["x"][..., ::-1, :].copy()
    positions = chosen["positions"]
    scores, bounds = [], []
    for moved in (0, min(shift, trial.scope.max_position - int(positions[-1]) - gap)):
        if moved < 0:
            return
        q = trial.answer(**(chosen | {"x": query, "positions": positions + moved}))
        k = trial.answer(**(chosen | {"x": key, "positions": positions + gap + moved}))
        score, bound = pair_products(q, k)
        scores.append(score)
        bounds.append(bound)
    trial.zero(
        q,
        scores[1] - scores[0],
        bounds[0] + bounds[1],
        f"the score of a query and a key {gap} apart changes when both move by {shift}",
    )


def scores_of_ones(trial: Trial) -> None:
    """For all-ones query and key the score is 2 Σ cos(w δ): it fixes the frequencies."""
    chosen = arguments(trial)
    chosen["x"] = np.ones_like(chosen["x"])
    answer = trial.answer(**chosen)
    last = Answer(answer.case, answer.values[..., ROWS - 1 :, :], answer.bound[..., ROWS - 1 :, :])
    score, bound = pair_products(answer, last)
    offsets = np.arange(ROWS)[::-1]
    expected = 2 * np.cos(np.outer(offsets, frequencies(answer.case))).sum(axis=-1)
    trial.zero(
        answer,
        score - expected,
        bound + 4 * ARITHMETIC * rotary_dim(answer.case),
        "the score of two rows of ones is not 2 Σ cos(w (n - m))",
    )


def composition(trial: Trial) -> None:
    """Rotating by m and then by n is rotating by m + n."""
    chosen = arguments(trial)
    once = trial.answer(**chosen)
    first, second = (once.values[..., channel] for channel in written_channels(once.case))
    again = once.values.copy()
    for channel, part in zip(read_channels(once.case), (first, second), strict=True):
        again[..., channel] = part
    twice = trial.answer(**(chosen | {"x": again}))
    doubled = trial.answer(**(chosen | {"positions": 2 * chosen["positions"]}))
    carried = np.zeros_like(once.bound)  # the first answer's error is turned, hence at most doubled
    e_first, e_second = (once.bound[..., channel] for channel in written_channels(once.case))
    for channel in written_channels(once.case):
        carried[..., channel] = e_first + e_second
    trial.zero(
        doubled,
        twice.values - doubled.values,
        twice.bound + doubled.bound + carried,
        "rotating twice by p is not rotating once by 2p",
    )


def linearity(trial: Trial) -> None:
    """R(a x + b y) = a R x + b R y."""
    chosen = arguments(trial)
    x = lattice(chosen["x"].shape)  # of few bits, so that the sum below is exact
    y = np.roll(x, 3)
    both = trial.answer(**(chosen | {"x": x / 2 - y / 4}))
    one, other = trial.answer(**(chosen | {"x": x})), trial.answer(**(chosen | {"x": y}))
    trial.zero(
        both,
        both.values - (one.values / 2 - other.values / 4),
        both.bound + one.bound / 2 + other.bound / 4,
        "the result is not linear in x",
    )


def pair_locality(trial: Trial) -> None:
    """Changing one pair of channels changes only the channels of that pair."""
    chosen = arguments(trial)
    before = trial.answer(**chosen)
    pair = trial.pick.integer(0, rotary_dim(before.case) // 2 - 1)
    x = chosen["x"].copy()
    for channel in read_channels(before.case):
        x[..., channel[pair]] += 1
    after = trial.answer(**(chosen | {"x": x}))
    elsewhere = np.ones(x.shape[-1], dtype=bool)
    for channel in written_channels(before.case):
        elsewhere[channel[pair]] = False
    trial.zero(
        after,
        (after.values - before.values)[..., elsewhere],
        np.zeros(after.values[..., elsewhere].shape),
        f"changing pair {pair} of x changes other pairs of the result",
    )


def pass_through(trial: Trial) -> None:
    """Channels from rotary_dim on are returned bit by bit."""
    chosen = arguments(trial)
    if "rotary_dim" not in chosen:
        head_dim = chosen["x"].shape[-1]
        width = trial.choose("rotary_dim", [max(2, head_dim // 4 * 2)])
        chosen |= {"rotation": "partial", "rotary_dim": width}
    answer = trial.answer(**chosen)
    rest = slice(chosen["rotary_dim"], None)
    trial.zero(
        answer,
        answer.values[..., rest] - answer.case.arguments["x"][..., rest],
        np.zeros(answer.values[..., rest].shape),
        "channels beyond rotary_dim are changed",
    )


def layout_permutation(trial: Trial) -> None:
    """Up to the permutation between layouts, the result is that of interleaved pairs."""
    chosen = arguments(trial)
    answer = trial.answer(**chosen)
    x = answer.case.arguments["x"]
    pairs_of_x, pairs_of_y = x.copy(), answer.values.copy()
    bound = answer.bound.copy()
    for place, read, written in zip(
        channels(rotary_dim(answer.case), "interleaved"),
        read_channels(answer.case),
        written_channels(answer.case),
        strict=True,
    ):
        pairs_of_x[..., place] = x[..., read]
        pairs_of_y[..., place] = answer.values[..., written]
        bound[..., place] = answer.bound[..., written]
    interleaved = answer.case.under(layout="interleaved").changed(x=pairs_of_x).truth
    trial.zero(
        answer,
        pairs_of_y - interleaved,
        bound,
        "permuted to interleaved pairs, the result is not that of interleaved pairs",
    )


def estimated_base(case: Case, got: Floats) -> float | None:
    """The base that the slowest pair's angle at the first position above 0 speaks for."""
    rotated = rotary_dim(case)
    positions = case.arguments["positions"]
    rows = np.flatnonzero((positions > 0) & (positions < 32))
    if rotated < 4 or not rows.size:
        return None
    row, pair = rows[0], rotated // 2 - 1
    x = case.arguments["x"]
    before, after = (
        source[..., row, channel[0][pair]] + 1j * source[..., row, channel[1][pair]]
        for source, channel in ((x, read_channels(case)), (got, written_channels(case)))
    )
    turn = np.sum(after * np.conj(before))
    omega = float(np.angle(turn)) / positions[row]
    return rounded_base(omega ** (-rotated / (rotated - 2))) if omega > 0 else None


def positions_shifted(case: Case, got: Floats) -> Iterator[Model]:
    """Other positions, by as much as the slowest pair speaks for."""
    first, second = (channel[-1] for channel in written_channels(case))
    estimate = np.nan
    if np.isfinite(case.truth).all():
        seen, true = (y[..., first] + 1j * y[..., second] for y in (got, case.truth))
        estimate = np.angle(np.sum(seen * np.conj(true))) / frequencies(case)[-1]
    yield from shifted_positions(case, estimate)


def wrong_base(case: Case, got: Floats) -> Iterator[Model]:
    """Another base."""
    yield from bases(case, estimated_base(case, got))


def head_dim_frequencies(case: Case, got: Floats) -> Iterator[Model]:
    """Under partial rotation, frequencies from head_dim."""
    rotated, head_dim = rotary_dim(case), case.arguments["x"].shape[-1]
    if rotated < head_dim:
        base = case.arguments.get("base", 10000.0) ** (rotated / head_dim)
        yield from attempt(
            case.changed(base=base), "matches frequencies computed from head_dim, not rotary_dim"
        )


def rotated_all(case: Case, got: Floats) -> Iterator[Model]:
    """Partial rotation ignored."""
    if rotary_dim(case) < case.arguments["x"].shape[-1]:
        yield from attempt(
            case.changed(rotary_dim=None), "matches all channels rotated; rotary_dim was ignored"
        )


def turned_by(case: Case, angles: Floats) -> Floats:
    """The result that these angles, one per row and pair, would give."""
    x, out = case.arguments["x"], case.arguments["x"].copy()
    first, second = (x[..., channel] for channel in read_channels(case))
    to_first, to_second = written_channels(case)
    out[..., to_first] = first * np.cos(angles) - second * np.sin(angles)
    out[..., to_second] = first * np.sin(angles) + second * np.cos(angles)
    return np.asarray(out)


def unrotated(case: Case, got: Floats) -> Iterator[Model]:
    """No rotation at all."""
    yield Model("matches x without any rotation", case.arguments["x"])


def degrees(case: Case, got: Floats) -> Iterator[Model]:
    """Angles taken for degrees."""
    angles = np.deg2rad(np.multiply.outer(case.arguments["positions"], frequencies(case)))
    yield Model("matches angles taken for degrees", turned_by(case, angles))


def exponent_halved(case: Case, got: Floats) -> Iterator[Model]:
    """Exponent t/d instead of 2t/d."""
    angles = np.multiply.outer(case.arguments["positions"], frequencies(case) ** 0.5)
    yield Model("matches exponents t/d instead of 2t/d", turned_by(case, angles))


def low_precision_angles(case: Case, got: Floats) -> Iterator[Model]:
    """Positions, frequencies and angles in a narrow dtype."""
    positions = case.arguments["positions"].astype(np.float64)
    yield from rounded_angles(positions, frequencies(case), lambda angles: turned_by(case, angles))


ERROR_TERMS = {"rope": error_terms}
ARGUMENTS = {"rope": arguments}
SWEEPS = {"rope": sweep}
SIZES = {"rope": sizes}
INVARIANTS = {
    "rope": {
        "isometry": isometry,
        "identity-at-zero": identity_at_zero,
        "relative-scores": relative_scores,
        "scores-of-ones": scores_of_ones,
        "composition": composition,
        "linearity": linearity,
        "pair-locality": pair_locality,
        "pass-through": pass_through,
        "layout-permutation": layout_permutation,
    }
}
DEVIATIONS = {
    "rope": {
        "layout-swapped": other_conventions(
            "layout", "matches the {value} layout exactly; {claimed} was claimed"
        ),
        "positions-shifted": positions_shifted,
        "sign-flipped": negated_positions,
        "head-dim-frequencies": head_dim_frequencies,
        "rotary-dim-ignored": rotated_all,
        "unrotated": unrotated,
        "degrees": degrees,
        "exponent-halved": exponent_halved,
        "wrong-base": wrong_base,
        "low-precision-angles": low_precision_angles,
    }
}
