"""Rotary embedding of rows and columns: bounds, invariants and deviations."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from posenc_conformance.diagnose.mistakes import (
    Model,
    attempt,
    negated_positions,
    other_conventions,
)
from posenc_conformance.families.encodings import wrong_base
from posenc_conformance.families.rotary import (
    LAYOUT_SWAPPED,
    ROWS,
    Rotation,
    far,
    positions_shifted,
    read_channels,
    small_head,
    turned_error,
    written_channels,
)
from posenc_conformance.judge.arrays import Floats, fine, narrowed
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.positions import reaching
from posenc_conformance.judge.trial import Trial

ROW, COLUMN = 0, 1
HEAD_DIMS = (8, 4, 12, 16, 64, 80, 128)
Index = npt.NDArray[np.int64]


def members(case: Case) -> tuple[Index, Index]:
    """Of each pair: whether it belongs to the second axis, and its number among those of its."""
    pairs = np.arange(case.arguments["x"].shape[-1] // 2)
    if case.conventions["order"] == "alternating":
        return pairs % 2, pairs // 2
    half = len(pairs) // 2
    return pairs // half, pairs % half


def frequencies(case: Case) -> Floats:
    """Radians per position of each pair."""
    second, number = members(case)
    exponent = 4 * number + 2 * second * (case.conventions["progression"] == "split")
    base = case.arguments.get("base", 10000.0)
    return np.asarray(base ** (-exponent / case.arguments["x"].shape[-1]))


def axes(case: Case) -> tuple[int, int]:
    """The first axis and the second."""
    return (ROW, COLUMN) if case.conventions["order"] == "row-first" else (COLUMN, ROW)


def places(case: Case) -> Floats:
    """Row or column of each patch, whichever a pair looks at: [n, pairs]."""
    axis = np.array(axes(case))[members(case)[0]]
    return np.asarray(case.arguments["positions"][axis].T, dtype=np.float64)


def grid(trial: Trial) -> Index:
    """Two rows of three patches somewhere in an image."""
    corner = [[trial.position(ROWS)], [trial.position(ROWS)]]
    return np.array(corner) + np.indices((2, 3)).reshape(2, ROWS)


def arguments(trial: Trial) -> dict[str, Any]:
    """Two heads and a few patches."""
    head_dim = trial.choose("head_dim", HEAD_DIMS)
    positions = grid(trial)
    return {
        "x": np.roll(fine((2, ROWS, head_dim)), positions[0, 0] % 5),
        "positions": positions,
        # First a base whose square root nobody uses, which names the two mistakes apart.
        "base": trial.choose("base", (1000.0, 10000.0, 100.0)),
    }


def mixed_arguments(trial: Trial) -> dict[str, Any]:
    """Two heads with frequencies of their own."""
    head_dim = trial.choose("head_dim", HEAD_DIMS)
    heads = trial.choose("heads", (2, 1, 3))
    return {
        "x": fine((heads, ROWS, head_dim)),
        "positions": grid(trial),
        "frequencies": fine((2, heads, head_dim // 2), 5),
    }


def reach(largest: int) -> Index:
    """All powers of two in one axis, and two thirds of them in the other."""
    rows = reaching(largest)
    return np.stack([rows, rows - rows // 3])


def sweep(parameters: Mapping[str, Any], largest: int) -> dict[str, Any]:
    """Up to the largest position, for one head of 64 channels."""
    return far(parameters, largest, 64, base=10000.0) | {"positions": reach(largest)}


def mixed_sweep(parameters: Mapping[str, Any], largest: int) -> dict[str, Any]:
    """Up to the largest position, for one head of 32 channels."""
    positions = reach(largest)
    heads, head_dim = parameters.get("heads", 1), parameters.get("head_dim", 32)
    return {
        "x": fine((heads, positions.shape[-1], head_dim)),
        "positions": positions,
        "frequencies": fine((2, heads, head_dim // 2), 5),
    }


PAIR_OF_PATCHES = np.array([[1, 3], [7, 2]])


def sizes(case: Case) -> Iterator[dict[str, Any]]:
    """Small and large heads, powers of two and not, and many patches."""
    for head_dim in (4, 8, 12, 16, 64, 80, 88, 128, 256):
        yield {"x": fine((2, 2, head_dim)), "positions": PAIR_OF_PATCHES}
    yield {"x": fine((33 * 33, 4)), "positions": np.indices((33, 33)).reshape(2, -1)}


def backward_sizes(case: Case) -> Iterator[dict[str, Any]]:
    """A few sizes of heads."""
    for head_dim in (4, 12, 80, 128):
        yield {"x": fine((2, 2, head_dim)), "positions": PAIR_OF_PATCHES}


def mixed_sizes(case: Case) -> Iterator[dict[str, Any]]:
    """Numbers of heads, sizes of heads and batch axes."""
    for leading, heads, head_dim in (
        ((), 1, 4),
        ((2,), 2, 64),
        ((3, 1), 3, 12),
        ((), 12, 16),
        ((1,), 33, 4),
        ((2, 1, 2), 1, 88),
    ):
        yield {
            "x": fine((*leading, heads, 2, head_dim)),
            "positions": PAIR_OF_PATCHES,
            "frequencies": fine((2, heads, head_dim // 2), 5),
        }
    yield {
        "x": fine((2, 17 * 17, 4)),
        "positions": np.indices((17, 17)).reshape(2, -1),
        "frequencies": fine((2, 2, 2), 5),
    }


def unit(case: Case) -> Floats:
    """Frequencies of pairs whose places are angles already."""
    return np.ones(case.arguments["x"].shape[-1] // 2)


def by_weight(case: Case, positions: Floats) -> tuple[Floats, Floats]:
    """First and second axis times their weights: [heads, n, pairs] each."""
    first, second = (
        positions[axis][:, None] * weight[:, None, :]
        for axis, weight in zip(axes(case), case.arguments["frequencies"], strict=True)
    )
    return first, second


def mixed_angles(case: Case) -> Floats:
    """Angle of each head, patch and pair."""
    first, second = by_weight(case, case.arguments["positions"])
    return np.asarray(first + second, dtype=np.float64)


def magnitudes(case: Case) -> Floats:
    """Sum of the magnitudes of both products: what rounding them and their sum grows with."""
    first, second = by_weight(case, case.arguments["positions"])
    return np.asarray(np.abs(first) + np.abs(second), dtype=np.float64)


AXIAL = Rotation(arguments, frequencies, places)
BACKWARD = AXIAL.backward
MIXED = Rotation(mixed_arguments, unit, mixed_angles)
MIXED_BOUNDS = Rotation(mixed_arguments, unit, magnitudes)


def transposition(trial: Trial) -> None:
    """With rows and columns exchanged, the pairs of the two axes change places."""
    chosen = arguments(trial)
    answer = trial.answer(**chosen)
    pairs = np.arange(chosen["x"].shape[-1] // 2)
    alternating = answer.case.conventions["order"] == "alternating"
    partner = pairs ^ 1 if alternating else np.roll(pairs, len(pairs) // 2)
    x = chosen["x"].copy()
    for channel in read_channels(answer.case):
        x[..., channel] = chosen["x"][..., channel[partner]]
    other = trial.answer(**(chosen | {"x": x, "positions": chosen["positions"][::-1].copy()}))
    back = np.arange(x.shape[-1])
    for channel in written_channels(answer.case):
        back[channel] = channel[partner]
    trial.zero(
        answer - other[..., back],
        "the transposed image does not have the two axes' pairs exchanged",
    )


def axes_compose(trial: Trial) -> None:
    """Turning by the row and then by the column is turning by both."""
    chosen = mixed_arguments(trial)
    row, column = (chosen["positions"] * np.array([[axis == 0], [axis == 1]]) for axis in (0, 1))
    first = trial.answer(**(chosen | {"positions": row}))
    second = trial.answer(**(chosen | {"x": first.values, "positions": column}))
    both = trial.answer(**chosen)
    carried = turned_error(first, read_channels(both.case), written_channels(both.case))
    trial.zero(
        both - second.allowing(carried),
        "turning by the row and then by the column is not turning by both",
    )


def axes_swapped(case: Case, got: Floats) -> Iterator[Model]:
    """Rows and columns exchanged, or the pairs of the two axes in another order."""
    exchanged = case.arguments["positions"][::-1]
    yield from attempt(case.changed(positions=exchanged), "matches rows and columns exchanged")
    yield from other_orders(case, got)


def head_dim_frequencies(case: Case, got: Floats) -> Iterator[Model]:
    """The first frequencies of one progression over the whole head, for both axes."""
    if case.conventions["progression"] == "shared":
        omega = frequencies(case) ** 0.5
        yield AXIAL.with_frequencies(
            case, omega, "matches frequencies computed from head_dim, not from half of it"
        )


def progression_halved(case: Case, got: Floats) -> Iterator[Model]:
    """One progression cut in two: the fast half for the first axis, the slow one for the second."""
    second, number = members(case)
    head_dim = case.arguments["x"].shape[-1]
    exponent = 2 * number + head_dim / 2 * second
    omega = np.asarray(case.arguments.get("base", 10000.0) ** (-exponent / head_dim))
    yield AXIAL.with_frequencies(
        case,
        omega,
        "matches the first half of one progression for one axis, the rest for the other",
    )


def one_axis_for_both(case: Case, got: Floats) -> Iterator[Model]:
    """All pairs turned by the row, or all by the column."""
    for name, position in zip(("row", "column"), case.arguments["positions"], strict=True):
        angles = position[:, None] * frequencies(case)
        yield Model(f"matches the {name} used for both axes", AXIAL.turned(case, angles))


def one_head_for_all(case: Case, got: Floats) -> Iterator[Model]:
    """The frequencies of the first head in every head."""
    weights = case.arguments["frequencies"]
    same = np.broadcast_to(weights[:, :1], weights.shape).copy()
    yield from attempt(
        case.changed(frequencies=same), "matches the frequencies of head 0 in every head"
    )


def axial_instead(case: Case, got: Floats) -> Iterator[Model]:
    """Half of the pairs turned by one axis and half by the other."""
    first, second = by_weight(case, case.arguments["positions"])
    pairs = np.arange(first.shape[-1])
    angles = np.where(pairs < len(pairs) // 2, first, second)
    output = MIXED.turned(case, angles)
    yield Model("matches each half of the pairs turned by one axis only", output)


def mixed_low_precision(case: Case, got: Floats) -> Iterator[Model]:
    """Positions, products or angles in a narrow dtype."""
    positions = case.arguments["positions"].astype(np.float64)
    for dtype in ("bfloat16", "float16"):
        if np.abs(positions).max(initial=0) > np.finfo(np.float16).max and dtype == "float16":
            continue  # positions would be infinite
        near = narrowed(positions, dtype)
        product, rounded = by_weight(case, positions), by_weight(case, near)
        held = {
            "positions": rounded[0] + rounded[1],
            "angles": narrowed(product[0] + product[1], dtype),
            "positions and angles": narrowed(
                narrowed(rounded[0], dtype) + narrowed(rounded[1], dtype), dtype
            ),
        }
        for what, angles in held.items():
            yield Model(f"matches {what} in {dtype}", MIXED.turned(case, angles))


other_orders = other_conventions(
    "order", "matches the order {value} of the axes; {claimed} was claimed"
)
other_progressions = other_conventions(
    "progression", "matches the {value} progression; {claimed} was claimed"
)

Check = Callable[[Trial], None]

ERROR_TERMS = {
    "rope_2d": AXIAL.error_terms,
    "rope_2d_mixed": MIXED_BOUNDS.error_terms,
    "rope_2d_vjp": BACKWARD.error_terms,
}
ARGUMENTS = {
    "rope_2d": arguments,
    "rope_2d_mixed": mixed_arguments,
    "rope_2d_vjp": arguments,
}
SWEEPS = {
    "rope_2d": sweep,
    "rope_2d_mixed": mixed_sweep,
    "rope_2d_vjp": small_head(sweep),
}
SIZES = {
    "rope_2d": sizes,
    "rope_2d_mixed": mixed_sizes,
    "rope_2d_vjp": backward_sizes,
}
BATCHED: dict[str, tuple[str, ...]] = {"rope_2d_mixed": ()}  # x has a fixed axis of heads
INVARIANTS: dict[str, dict[str, Check]] = {
    "rope_2d": {
        "isometry": AXIAL.isometry,
        "identity-at-zero": AXIAL.identity_at_zero,
        "relative-scores": AXIAL.relative_scores,
        "scores-of-ones": AXIAL.scores_of_ones,
        "axis-locality": AXIAL.axis_locality,
        "transposition": transposition,
        "layout-permutation": AXIAL.layout_permutation,
    },
    "rope_2d_mixed": {
        "mixed-isometry": MIXED.isometry,
        "mixed-identity-at-zero": MIXED.identity_at_zero,
        "mixed-relative-scores": MIXED.relative_scores,
        "mixed-axes-compose": axes_compose,
    },
    "rope_2d_vjp": BACKWARD.backward_invariants,
}
DEVIATIONS = {
    "rope_2d": {
        "axes-swapped": axes_swapped,
        "layout-swapped": LAYOUT_SWAPPED,
        "progression-swapped": other_progressions,
        "positions-shifted": positions_shifted,
        "sign-flipped": negated_positions,
        "head-dim-frequencies": head_dim_frequencies,
        "progression-halved": progression_halved,
        "one-axis-for-both": one_axis_for_both,
        "unrotated": AXIAL.unrotated,
        "wrong-base": wrong_base,
        "low-precision-angles": AXIAL.low_precision_angles,
    },
    "rope_2d_mixed": {
        "mixed-axes-swapped": other_orders,
        "mixed-layout-swapped": LAYOUT_SWAPPED,
        "mixed-one-head-for-all": one_head_for_all,
        "mixed-axial": axial_instead,
        "mixed-low-precision-angles": mixed_low_precision,
    },
    "rope_2d_vjp": BACKWARD.backward_deviations | {"backward-axes-swapped": axes_swapped},
}
