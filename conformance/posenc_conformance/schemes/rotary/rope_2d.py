"""Rotary embedding of rows and columns: bounds, invariants and deviations."""

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from posenc_conformance.diagnose.predictors import (
    any_of,
    negated_positions,
    other_conventions,
    predict_case,
    rounded_waves,
)
from posenc_conformance.families.encodings import wrong_base
from posenc_conformance.families.lengths import no_sweep
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
from posenc_conformance.families.rotary_tables import backward_readings, tables_mixed
from posenc_conformance.judge.arrays import Floats, fine, round_to
from posenc_conformance.judge.bounded import Exact
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.deviation import Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.positions import positions_up_to
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments

ROW, COLUMN = 0, 1
HEAD_DIMS = (8, 4, 12, 16, 64, 80, 128)
Index = npt.NDArray[np.int64]


def members(case: Case) -> tuple[Index, Index]:
    """Return whether each pair belongs to the second axis, and its index within its axis."""
    pairs = np.arange(case.arguments["x"].shape[-1] // 2)
    if case.conventions["order"] == "alternating":
        return pairs % 2, pairs // 2
    half = len(pairs) // 2
    return pairs // half, pairs % half


def frequencies(case: Case) -> Floats:
    """Return the frequency of each pair, in radians per position."""
    second, number = members(case)
    exponent = 4 * number + 2 * second * (case.conventions.get("progression") == "split")
    base = case.arguments.get("base", 10000.0)
    return np.asarray(base ** (-exponent / case.arguments["x"].shape[-1]))


def axes(case: Case) -> tuple[int, int]:
    """Return ROW and COLUMN in the order of the convention."""
    return (ROW, COLUMN) if case.conventions["order"] == "row-first" else (COLUMN, ROW)


def places(case: Case) -> Floats:
    """Return the row or the column of each patch, whichever the pair uses: [n, pairs]."""
    axis = np.array(axes(case))[members(case)[0]]
    return np.asarray(case.arguments["positions"][axis].T, dtype=np.float64)


def grid(trial: Trial) -> Index:
    """Draw two rows of three patches somewhere in an image."""
    corner = [[trial.position(ROWS)], [trial.position(ROWS)]]
    return np.array(corner) + np.indices((2, 3)).reshape(2, ROWS)


def arguments(trial: Trial) -> ArgumentDict:
    """Draw two heads and a few patches."""
    head_dim = trial.choose("head_dim", HEAD_DIMS)
    positions = grid(trial)
    return {
        "x": np.roll(fine((2, ROWS, head_dim)), positions[0, 0] % 5),
        "positions": positions,
        # No code uses the square root of the first base, so two mistakes are distinguishable.
        "base": trial.choose("base", (1000.0, 10000.0, 100.0)),
    }


def mixed_arguments(trial: Trial) -> ArgumentDict:
    """Draw a few heads, each with its own frequencies."""
    head_dim = trial.choose("head_dim", HEAD_DIMS)
    heads = trial.choose("heads", (2, 1, 3))
    return {
        "x": fine((heads, ROWS, head_dim)),
        "positions": grid(trial),
        "frequencies": fine((2, heads, head_dim // 2), 5),
    }


def reach(largest: int) -> Index:
    """Return all powers of two on one axis, and two thirds of them on the other."""
    rows = positions_up_to(largest)
    return np.stack([rows, rows - rows // 3])


def sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Make a call of one head of 64 channels, up to the largest position."""
    return far(parameters, largest, 64, base=10000.0) | {"positions": reach(largest)}


def mixed_sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Make a call of one head of 32 channels, up to the largest position."""
    positions = reach(largest)
    heads, head_dim = parameters.get("heads", 1), parameters.get("head_dim", 32)
    return {
        "x": fine((heads, positions.shape[-1], head_dim)),
        "positions": positions,
        "frequencies": fine((2, heads, head_dim // 2), 5),
    }


PAIR_OF_PATCHES = np.array([[1, 3], [7, 2]])


def sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield small and large heads, powers of two and not, and many patches."""
    for head_dim in (4, 8, 12, 16, 64, 80, 88, 128, 132, 256):
        yield {"x": fine((2, 2, head_dim)), "positions": PAIR_OF_PATCHES}
    yield {"x": fine((33 * 33, 4)), "positions": np.indices((33, 33)).reshape(2, -1)}


def backward_sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield a few head sizes."""
    for head_dim in (4, 12, 80, 128, 132):
        yield {"x": fine((2, 2, head_dim)), "positions": PAIR_OF_PATCHES}


def mixed_sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield several numbers of heads, head sizes and batch axes."""
    for leading, heads, head_dim in (
        ((), 1, 4),
        ((2,), 2, 64),
        ((3, 1), 3, 12),
        ((), 12, 16),
        ((1,), 33, 4),
        ((2, 1, 2), 1, 88),
        ((), 2, 260),
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
    """Return frequencies of 1, for pairs whose places are already angles."""
    return np.ones(case.arguments["x"].shape[-1] // 2)


def by_weight(case: Case, positions: Floats) -> tuple[Floats, Floats]:
    """Multiply the positions on each axis by its frequencies: [heads, n, pairs] each."""
    first, second = (
        positions[axis][:, None] * weight[:, None, :]
        for axis, weight in zip(axes(case), case.arguments["frequencies"], strict=True)
    )
    return first, second


def mixed_angles(case: Case) -> Floats:
    """Compute the angle of each head, patch and pair: [heads, n, pairs]."""
    first, second = by_weight(case, case.arguments["positions"])
    return np.asarray(first + second, dtype=np.float64)


def magnitudes(case: Case) -> Floats:
    """Compute the sum of the magnitudes of both products.

    Rounding errors of the products and their sum grow with it.
    """
    first, second = by_weight(case, case.arguments["positions"])
    return np.asarray(np.abs(first) + np.abs(second), dtype=np.float64)


def sides(case: Case) -> tuple[int, int]:
    """Return the numbers of patches by which row and column coordinates are divided."""
    height, width = case.arguments["height"], case.arguments["width"]
    if case.conventions["extent"] == "longer-side":
        return max(height, width), max(height, width)
    return height, width


def patches(case: Case) -> Index:
    """Return the row and column of each patch: [2, height * width]."""
    shape = case.arguments["height"], case.arguments["width"]
    return np.indices(shape).reshape(2, -1)


def spread(case: Case, coordinates: Floats) -> Floats:
    """Compute each patch's angle in radians, for pairs of one turn per unit: [n, pairs].

    ``coordinates`` are those of rows and columns: [2, n].
    """
    axis = np.array(axes(case))[members(case)[0]]
    return np.asarray(2 * np.pi * coordinates[axis].T)


def coordinates(case: Case) -> Floats:
    """Compute the coordinates of rows and columns, from -1 to 1: [2, height * width]."""
    return np.asarray((2 * patches(case) + 1) / np.array(sides(case))[:, None] - 1)


def in_image(case: Case) -> Floats:
    """Compute 2π times the coordinate of each patch that each pair uses: [n, pairs]."""
    return spread(case, coordinates(case))


def cancelled(case: Case) -> Floats:
    """Compute the magnitude with which the rounding errors of a coordinate grow.

    The errors are 2 u, plus the error that the bound of rope allows for the coordinate.
    """
    return spread(case, (1 + 3 * np.abs(coordinates(case))) / 2)


def image(height: int, width: int, head_dim: int, *leading: int) -> ArgumentDict:
    """Make arguments with all patches of an image."""
    return {"x": fine((*leading, height * width, head_dim)), "height": height, "width": width}


def image_arguments(trial: Trial) -> ArgumentDict:
    """Draw two heads and a small image."""
    chosen = image(
        trial.choose("height", (3, 2, 1, 5)),
        trial.choose("width", (5, 1, 3, 4)),
        trial.choose("head_dim", HEAD_DIMS),
        2,
    )
    return chosen | {"base": trial.choose("base", (100.0, 1000.0, 10000.0))}


def image_sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield one patch and many, rows and columns, small and large heads."""
    for height, width, head_dim in (
        (1, 1, 4),
        (1, 300, 4),
        (300, 1, 4),
        (14, 14, 8),
        (16, 31, 4),
        (2, 3, 12),
        (3, 2, 80),
        (2, 2, 256),
        (2, 2, 4),
        (4, 3, 12),
    ):
        yield image(height, width, head_dim)


AXIAL = Rotation(arguments, frequencies, places, axis=lambda case: members(case)[0])
BACKWARD = AXIAL.backward
MIXED = Rotation(mixed_arguments, unit, mixed_angles)
MIXED_BOUNDS = Rotation(mixed_arguments, unit, magnitudes)
IMAGE = Rotation(image_arguments, frequencies, in_image)
IMAGE_BOUNDS = Rotation(image_arguments, frequencies, cancelled)


def transposition(trial: Trial) -> None:
    """Check that exchanging rows and columns exchanges the pairs of the two axes."""
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
    trial.assert_zero(
        answer - other[..., back],
        "the transposed image does not have the two axes' pairs exchanged",
    )


def axes_compose(trial: Trial) -> None:
    """Check that turning by the row and then by the column is turning by both."""
    chosen = mixed_arguments(trial)
    row, column = (chosen["positions"] * np.array([[axis == 0], [axis == 1]]) for axis in (0, 1))
    first = trial.answer(**(chosen | {"positions": row}))
    second = trial.answer(**(chosen | {"x": first.values, "positions": column}))
    both = trial.answer(**chosen)
    carried = turned_error(first, read_channels(both.case), written_channels(both.case))
    trial.assert_zero(
        both - second.allowing(carried),
        "turning by the row and then by the column is not turning by both",
    )


def mirrored(trial: Trial) -> None:
    """Check that pairs turn the opposite way in the image rotated by 180 degrees."""
    chosen = image_arguments(trial)
    answer = trial.answer(**chosen)
    back = np.ones(chosen["x"].shape[-1])
    back[read_channels(answer.case)[1]] = -1
    other = trial.answer(**(chosen | {"x": (back * chosen["x"])[:, ::-1].copy()}))
    trial.assert_zero(
        answer - other[:, ::-1] * back,
        "in the image turned by half a turn the pairs do not turn back",
    )


def middle(trial: Trial) -> None:
    """Check that the middle patch is not turned.

    An image has a middle patch if both sides have an odd number of patches.
    """
    chosen = image_arguments(trial)
    height, width = chosen["height"], chosen["width"]
    if height % 2 and width % 2:
        answer = trial.answer(**chosen)
        row = height * width // 2
        trial.assert_zero(
            answer[:, row] - Exact(answer.case.arguments["x"][:, row]), "the middle patch is turned"
        )


def image_relative_scores(trial: Trial) -> None:
    """Check that scores of patches equally far apart are equal within an image.

    All patches have the same query and the same key. The check compares pairs of patches that are
    one apart on each axis that has more than one patch.
    """
    chosen = image_arguments(trial)
    height, width = chosen["height"], chosen["width"]
    x = np.broadcast_to(chosen["x"][:, :1], chosen["x"].shape).copy()
    answer = trial.answer(**(chosen | {"x": x}))
    rows = np.arange(height * width).reshape(height, width)
    down, along = int(height > 1), int(width > 1)
    queries = rows[down:, along:].ravel()
    keys = rows[: height - down, : width - along].ravel()
    scores = (answer[0, queries] * answer[1, keys]).sum(axis=-1)
    trial.assert_zero(
        scores - scores[:1], "scores of patches equally far apart differ within an image"
    )


def refined(trial: Trial) -> None:
    """Check that the middle patch of nine is turned like the one patch of a coarser image.

    The finer image has three times as many patches on each side.
    """
    chosen = image_arguments(trial)
    height, width = chosen["height"], chosen["width"]
    coarse = trial.answer(**chosen)
    rows = np.arange(9 * height * width).reshape(3 * height, 3 * width)
    x = fine((2, rows.size, chosen["x"].shape[-1]), 7).copy()
    x[:, rows[1::3, 1::3].ravel()] = chosen["x"]
    answer = trial.answer(**(chosen | {"x": x, "height": 3 * height, "width": 3 * width}))
    trial.assert_zero(
        answer[:, rows[1::3, 1::3].ravel()] - coarse,
        "the middle patch of nine is not turned as the one was",
    )


def elsewhere(case: Case, coordinates: Floats, words: str) -> Prediction:
    """Predict patches turned by the wrong ``coordinates``: [2, n]."""
    return IMAGE.predict(case, words, spread(case, coordinates) * frequencies(case))


def image_counted(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict row and column numbers, counted from 0 or from 1, as angles in radians."""
    for first in (0, 1):
        counted = (patches(case) + first) / (2 * np.pi)
        words = f"matches rows and columns counted from {first}, in radians"
        yield elsewhere(case, counted, words)
        words = f"matches rows and columns counted from {first}, not from -1 to 1"
        yield elsewhere(case, (patches(case) + first).astype(np.float64), words)


def image_corners(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict first corners of patches, or coordinates evenly spaced with both ends."""
    number = np.array(sides(case))[:, None]
    corners = 2 * patches(case) / number - 1
    yield elsewhere(case, corners, "matches the first corners of patches instead of their middles")
    ends = 2 * patches(case) / np.maximum(number - 1, 1) - 1
    yield elsewhere(case, ends, "matches coordinates evenly spaced from -1 to 1 with both ends")


def image_unit_range(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict coordinates from 0 to 1."""
    yield elsewhere(case, (coordinates(case) + 1) / 2, "matches coordinates from 0 to 1")


def image_radians(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict coordinates without the factor 2π."""
    yield elsewhere(
        case,
        coordinates(case) / (2 * np.pi),
        "matches coordinates taken for radians; 2π is missing",
    )


def image_extents(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict coordinates divided by other numbers of patches."""
    yield from other_extents(case, got)
    height, width = case.arguments["height"], case.arguments["width"]
    shorter = (2 * patches(case) + 1) / min(height, width) - 1
    yield elsewhere(case, shorter, "matches both sides divided by the shorter one")
    if case.conventions["extent"] == "longer-side":
        both = (2 * patches(case) + 1) / width - 1
        yield elsewhere(case, both, "matches both sides divided by the width")


def image_axes_swapped(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict rows and columns exchanged, or the pairs of the axes in another order."""
    words = "matches rows and columns exchanged"
    yield elsewhere(case, coordinates(case)[::-1], words)
    yield from other_orders(case, got)


def image_low_precision(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict coordinates, frequencies, periods or angles in a narrow dtype, and tables of them."""
    omega, exact = frequencies(case), coordinates(case)
    for dtype in ("bfloat16", "float16"):
        held = round_to((patches(case) + 0.5) / np.array(sides(case))[:, None], dtype)
        near, slow = round_to(2 * held - 1, dtype), round_to(omega, dtype)
        periods = round_to(1 / omega, dtype)
        turns = round_to(spread(case, near), dtype)
        angles = [
            ("coordinates", spread(case, near) * omega),
            ("coordinates", spread(case, round_to(exact, dtype)) * omega),
            ("frequencies", in_image(case) * slow),
            ("periods, 1 / frequency,", in_image(case) / periods),
            ("coordinates and frequencies", spread(case, near) * slow),
            ("coordinates and periods", spread(case, near) / periods),
            ("coordinates, periods and angles", round_to(turns / periods, dtype)),
            ("angles", round_to(in_image(case) * omega, dtype)),
        ]
        yield from rounded_waves(
            angles,
            dtype,
            in_image(case) * omega,
            lambda angle: IMAGE.turned(case, angle),
            lambda angle, short: IMAGE.in_short(case, angle, short),
        )


def axes_swapped(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict rows and columns exchanged, or the pairs of the two axes in another order."""
    exchanged = case.arguments["positions"][::-1]
    yield from predict_case(
        case.with_arguments(positions=exchanged), "matches rows and columns exchanged"
    )
    yield from other_orders(case, got)


def head_dim_frequencies(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the first frequencies of one progression over the whole head, for both axes."""
    if case.conventions["progression"] == "shared":
        omega = frequencies(case) ** 0.5
        yield AXIAL.with_frequencies(
            case, omega, "matches frequencies computed from head_dim, not from half of it"
        )


def progression_halved(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict one progression split between the axes.

    The first axis has the fast half, the second one the slow half.
    """
    second, number = members(case)
    head_dim = case.arguments["x"].shape[-1]
    exponent = 2 * number + head_dim / 2 * second
    omega = np.asarray(case.arguments.get("base", 10000.0) ** (-exponent / head_dim))
    yield AXIAL.with_frequencies(
        case,
        omega,
        "matches the first half of one progression for one axis, the rest for the other",
    )


def one_axis_for_both(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict all pairs turned by the row, or all by the column."""
    for name, position in zip(("row", "column"), case.arguments["positions"], strict=True):
        angles = position[:, None] * frequencies(case)
        yield AXIAL.predict(case, f"matches the {name} used for both axes", angles)


def one_head_for_all(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the frequencies of the first head in every head."""
    weights = case.arguments["frequencies"]
    same = np.broadcast_to(weights[:, :1], weights.shape).copy()
    yield from predict_case(
        case.with_arguments(frequencies=same), "matches the frequencies of head 0 in every head"
    )


def axial_instead(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict half of the pairs turned by one axis and half by the other."""
    first, second = by_weight(case, case.arguments["positions"])
    pairs = np.arange(first.shape[-1])
    angles = np.where(pairs < len(pairs) // 2, first, second)
    yield MIXED.predict(case, "matches each half of the pairs turned by one axis only", angles)


def mixed_low_precision(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict positions, products or angles in a narrow dtype."""
    positions = case.arguments["positions"].astype(np.float64)
    for dtype in ("bfloat16", "float16"):
        if np.abs(positions).max(initial=0) > np.finfo(np.float16).max and dtype == "float16":
            continue  # positions would be infinite
        near = round_to(positions, dtype)
        product, rounded = by_weight(case, positions), by_weight(case, near)
        sums = round_to(round_to(rounded[0], dtype) + round_to(rounded[1], dtype), dtype)
        held = [
            ("positions", rounded[0] + rounded[1]),
            ("angles", round_to(product[0] + product[1], dtype)),
            ("positions and angles", sums),
        ]
        yield from rounded_waves(
            held,
            dtype,
            product[0] + product[1],
            lambda angles: MIXED.turned(case, angles),
            lambda angles, short: MIXED.in_short(case, angles, short),
        )


other_orders = other_conventions(
    "order", "matches the order {value} of the axes; {claimed} was claimed"
)
other_progressions = other_conventions(
    "progression", "matches the {value} progression; {claimed} was claimed"
)

other_extents = other_conventions("extent", "matches coordinates of {value}; {claimed} was claimed")

Check = Callable[[Trial], None]


KNOWLEDGE = {
    "rope_2d": CallKnowledge(
        error_terms=AXIAL.error_terms,
        arguments=arguments,
        sweep=sweep,
        sizes=sizes,
        frequencies=AXIAL.read_frequencies,
        invariants={
            "isometry": AXIAL.isometry,
            "identity-at-zero": AXIAL.identity_at_zero,
            "relative-scores": AXIAL.relative_scores,
            "scores-of-ones": AXIAL.scores_of_ones,
            "axis-locality": AXIAL.axis_locality,
            "transposition": transposition,
            "layout-permutation": AXIAL.layout_permutation,
        },
        deviations={
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
            "tables-mixed": tables_mixed(AXIAL),
            "low-precision-angles": AXIAL.low_precision_angles,
        },
    ),
    "rope_2d_mixed": CallKnowledge(
        error_terms=MIXED_BOUNDS.error_terms,
        arguments=mixed_arguments,
        sweep=mixed_sweep,
        sizes=mixed_sizes,
        batched=(),
        invariants={
            "mixed-isometry": MIXED.isometry,
            "mixed-identity-at-zero": MIXED.identity_at_zero,
            "mixed-relative-scores": MIXED.relative_scores,
            "mixed-axes-compose": axes_compose,
        },
        deviations={
            "mixed-axes-swapped": other_orders,
            "mixed-layout-swapped": any_of(LAYOUT_SWAPPED, tables_mixed(MIXED)),
            "mixed-one-head-for-all": one_head_for_all,
            "mixed-axial": axial_instead,
            "mixed-low-precision-angles": mixed_low_precision,
        },
    ),
    "rope_2d_image": CallKnowledge(
        error_terms=IMAGE_BOUNDS.error_terms,
        arguments=image_arguments,
        sweep=no_sweep,
        sizes=image_sizes,
        invariants={
            "image-isometry": IMAGE.isometry,
            "image-mirrored": mirrored,
            "image-middle": middle,
            "image-relative-scores": image_relative_scores,
            "image-refined": refined,
        },
        deviations={
            "image-counted": image_counted,
            "image-corners": image_corners,
            "image-unit-range": image_unit_range,
            "image-radians": image_radians,
            "image-extent-swapped": image_extents,
            "image-layout-swapped": any_of(LAYOUT_SWAPPED, tables_mixed(IMAGE)),
            "image-axes-swapped": image_axes_swapped,
            "image-head-dim-frequencies": IMAGE.at_frequencies(
                lambda case: frequencies(case) ** 0.5,
                "matches frequencies computed from head_dim, not from half of it",
            ),
            "image-wrong-base": wrong_base,
            "image-low-precision-angles": image_low_precision,
        },
    ),
    "rope_2d_vjp": CallKnowledge(
        error_terms=BACKWARD.error_terms,
        arguments=arguments,
        sweep=small_head(sweep),
        sizes=backward_sizes,
        frequencies=BACKWARD.read_frequencies,
        readings=backward_readings(BACKWARD),
        invariants=BACKWARD.backward_invariants,
        deviations=BACKWARD.backward_deviations | {"backward-axes-swapped": axes_swapped},
    ),
}
