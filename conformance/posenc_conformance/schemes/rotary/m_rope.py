"""Rotary embedding of time, height and width, and its position ids: invariants and deviations."""

from collections.abc import Callable, Iterator
from itertools import permutations
from typing import Any

import numpy as np
import numpy.typing as npt

import posenc
from posenc_conformance.diagnose.predictors import (
    negated_positions,
    other_conventions,
    predict_case,
)
from posenc_conformance.families.encodings import growth, wrong_base
from posenc_conformance.families.lengths import no_sweep
from posenc_conformance.families.rotary import (
    LAYOUT_SWAPPED,
    POLAR,
    ROWS,
    Rotation,
    channels,
    far,
    positions_shifted,
    progression,
    rest_passes,
    rotary_dim,
    small_head,
)
from posenc_conformance.families.rotary_tables import backward_readings, tables_mixed
from posenc_conformance.judge.arrays import Floats, fine
from posenc_conformance.judge.bounded import Exact
from posenc_conformance.judge.case import Case, ErrorTerms, exact_terms
from posenc_conformance.judge.deviation import Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.positions import positions_up_to
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments

AXES = ("time", "height", "width")
Index = npt.NDArray[np.int64]


ALLOCATIONS = ("contiguous", "interleaved", "alternating")


def axes(case: Case, allocation: str = "") -> Index:
    """Return which of the three positions each pair uses.

    ``allocation`` replaces that of the case; it is cut off after the last pair.
    """
    sections = case.arguments["sections"]
    allocation = allocation or str(case.conventions["allocation"])
    if allocation == "contiguous":
        return np.repeat(np.arange(3), sections)
    pairs = np.arange(sections.sum())
    if allocation == "alternating":
        return np.where(pairs < sections[1] + sections[2], 1 + pairs % 2, 0)
    return np.where(pairs // 3 < sections[pairs % 3], pairs % 3, 0)


def frequencies(case: Case) -> Floats:
    """Return the frequency of each pair, in radians per position."""
    return progression(case.arguments.get("base", 10000.0), rotary_dim(case))


def places(case: Case) -> Floats:
    """Return the position of each token for each pair: [n, pairs]."""
    return np.asarray(case.arguments["positions"][axes(case)].T, dtype=np.float64)


def thirds(pairs: int) -> Index:
    """Give height and width a third of the pairs each, and time the rest.

    Such sections fit every allocation.
    """
    third = pairs // 3
    return np.array([pairs - 2 * third, third, third])


def sections_of(trial: Trial, pairs: int) -> Index:
    """Draw thirds, or sections in the proportions of Qwen2-VL, Qwen3-VL or ERNIE 4.5 VL.

    No axis has all pairs, because exchanged axes and pairs would then go unnoticed.
    """
    allocation = str(trial.subject.combination.conventions["allocation"])
    if pairs == 2:
        return np.array([0, 1, 1] if allocation == "alternating" else [1, 1, 0])
    if allocation == "contiguous":
        released = [pairs // 4, pairs - pairs // 4 - 3 * pairs // 8, 3 * pairs // 8]
    else:
        spatial = (
            (5 if allocation == "interleaved" else 11)
            * pairs
            // (16 if allocation == "interleaved" else 32)
        )
        released = [pairs - 2 * spatial, spatial, spatial]
    choices = [released] if np.count_nonzero(released) > 1 else []
    choices += [thirds(pairs).tolist(), *(each.tolist() for each in unequal(allocation, pairs))]
    return np.array(trial.pick.one_of(choices))


def unequal(allocation: str, pairs: int) -> Iterator[Index]:
    """Yield sections of which no two are equal, and sections of which one is 0.

    Released models have as many pairs for the height as for the width, so that code which exchanges
    the two sections is right for all of them. Alternating pairs must have as many of each.
    """
    third = pairs // 3
    if allocation == "alternating":
        listed = [(pairs % 2, pairs // 2, pairs // 2)]
    elif allocation == "interleaved":
        listed = [(pairs - third, third, 0)]
        listed += [(pairs - 2 * third + 1, third, third - 1)] if third > 1 else []
    else:
        listed = [(0, third, pairs - third)]
        listed += [(pairs // 6, third, pairs - third - pairs // 6)] if pairs > 5 else []
    yield from map(np.array, listed)


TOKENS = np.array([[0, 0, 0, 1, 1, 1], [0, 0, 1, 0, 0, 1], [0, 1, 0, 0, 1, 0]])
"""Time, height and width of tokens, different on each axis."""


def arguments(trial: Trial) -> ArgumentDict:
    """Draw two heads and a few tokens of a video."""
    head_dim = trial.choose("head_dim", (16, 6, 8, 12, 64, 80, 128))
    pairs, extra = head_dim // 2, {}
    if trial.can("rotation") and head_dim >= 8 and trial.pick.integer(0, 1):
        pairs, extra = head_dim // 4, {"rotation": "partial"}
    start = [[trial.position(ROWS)] for _ in AXES]
    return extra | {
        "x": np.roll(fine((2, ROWS, head_dim)), start[0][0] % 5),
        "positions": np.array(start) + TOKENS,
        "sections": sections_of(trial, pairs),
        "base": trial.choose("base", (1e6, 10000.0, 500000.0)),
    }


def sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Make a call that reaches the largest time, and nearly as far in height and width."""
    times, sections = positions_up_to(largest), thirds(parameters.get("head_dim", 96) // 2)
    return far(parameters, largest, 96, sections=sections, base=10000.0) | {
        "positions": np.stack([times, times - times // 3, times - times // 5])
    }


TWO_TOKENS = np.array([[1, 7], [3, 2], [5, 4]])


def sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield small and large heads, unequal sections, powers of two and not, and many tokens."""
    for head_dim in (6, 8, 12, 20, 64, 80, 96, 128, 132, 256):
        yield {
            "x": fine((2, 2, head_dim)),
            "positions": TWO_TOKENS,
            "sections": thirds(head_dim // 2),
        }
    for sections in unequal(str(case.conventions["allocation"]), 20):
        yield {"x": fine((2, 2, 40)), "positions": TWO_TOKENS, "sections": sections}
    frames = np.indices((5, 15, 15)).reshape(3, -1)
    yield {"x": fine((5 * 15 * 15, 6)), "positions": frames, "sections": thirds(3)}


def backward_sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield a few head sizes."""
    yield from (change for change in sizes(case) if change["positions"].shape[-1] == 2)


ROTATION = Rotation(arguments, frequencies, places)
BACKWARD = ROTATION.backward


def text_is_rope(trial: Trial) -> None:
    """Check that tokens whose time, height and width are equal turn as in rotary embedding."""
    chosen = arguments(trial)
    text = np.broadcast_to(chosen["positions"][:1], chosen["positions"].shape).copy()
    answer = trial.answer(**(chosen | {"positions": text}))
    expected = posenc.rope(
        answer.case.arguments["x"],
        text[0],
        base=chosen["base"],
        layout=str(answer.case.conventions["layout"]),
        rotary_dim=rotary_dim(answer.case),
    )
    trial.assert_zero(
        answer - Exact(expected),
        "text, whose three positions are equal, is not turned as by rope",
    )


def pass_through(trial: Trial) -> None:
    """Check that channels beyond the sections are returned bit for bit."""
    chosen = arguments(trial)
    size = chosen["x"].shape[-1]
    pairs = size // 4 if size >= 8 else max(1, size // 2 - 1)
    partial = {"rotation": "partial", "sections": sections_of(trial, pairs)}
    rest_passes(trial, chosen | partial, "the sections")


def allocation_swapped(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the other allocations of the same sections."""
    claimed = case.conventions["allocation"]
    for allocation in ALLOCATIONS:
        if allocation != claimed:
            axis = axes(case, allocation)
            angles = case.arguments["positions"][axis].T * frequencies(case)
            words = f"matches {allocation} sections; {claimed} ones were claimed"
            yield ROTATION.predict(case, words, angles)


def axes_swapped(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the positions, or the sections, of time, height and width exchanged."""
    for name in ("positions", "sections"):
        listed = case.arguments[name]
        for order in list(permutations(range(3)))[1:]:
            if not np.array_equal(listed[list(order)], listed):
                names = ", ".join(AXES[axis] for axis in order)
                yield from predict_case(
                    case.with_arguments(**{name: listed[list(order)]}),
                    f"matches {name} in the order {names}",
                )


def one_axis_for_all(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict every pair turned by the position on the same axis."""
    for name, position in zip(AXES, case.arguments["positions"], strict=True):
        angles = position[:, None] * frequencies(case)
        yield ROTATION.predict(case, f"matches the {name} used for every pair", angles)


def interleaving_unbounded(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict axes interleaved up to the last pair, whatever the sections."""
    if case.conventions["allocation"] == "interleaved":
        axis = np.arange(rotary_dim(case) // 2) % 3
        angles = case.arguments["positions"][axis].T * frequencies(case)
        yield ROTATION.predict(case, "matches interleaving beyond the sections", angles)


def sections_in_channels(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict sections counted in channels instead of pairs.

    Sections of twice the size split sines and cosines that are tiled for both halves.
    """
    if (case.conventions["layout"], case.conventions["allocation"]) != ("half", "contiguous"):
        return
    rotated = rotary_dim(case)
    axis = np.repeat(np.arange(3), 2 * case.arguments["sections"])
    angles = case.arguments["positions"][axis].T * np.tile(frequencies(case), 2)
    x, out = case.arguments["x"], case.arguments["x"].copy()
    first, second = (x[..., channel] for channel in channels(rotated, "half"))
    other = np.concatenate([-second, first], axis=-1)
    out[..., :rotated] = x[..., :rotated] * np.cos(angles) + other * np.sin(angles)
    yield Prediction("matches sections counted in channels instead of pairs", out)


def frequencies_restarted(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict a complete progression of frequencies in each section."""
    axis = axes(case)
    number = np.array([np.count_nonzero(axis[:pair] == axis[pair]) for pair in range(len(axis))])
    share = number / case.arguments["sections"][axis]
    omega = np.asarray(case.arguments.get("base", 10000.0) ** -share)
    yield ROTATION.with_frequencies(case, omega, "matches frequencies that restart in each section")


def head_dim_frequencies(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict frequencies from head_dim, under partial rotation."""
    rotated, head_dim = rotary_dim(case), case.arguments["x"].shape[-1]
    if rotated < head_dim:
        base = case.arguments.get("base", 10000.0) ** (rotated / head_dim)
        yield from predict_case(
            case.with_arguments(base=base),
            "matches frequencies computed from head_dim, not the sections",
        )


def sections_spread(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict sections multiplied until they fill the head, which is rotated completely."""
    pairs, head_dim = rotary_dim(case) // 2, case.arguments["x"].shape[-1]
    times, left = divmod(head_dim // 2, pairs)
    if times > 1 and not left:
        yield from predict_case(
            case.with_arguments(sections=times * case.arguments["sections"]),
            f"matches sections {times} times as long, which fill the head: all channels turn",
        )


def whole_head_rotated(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict all channels rotated, those beyond the sections by time."""
    rotated, x = rotary_dim(case), case.arguments["x"]
    head_dim = x.shape[-1]
    if rotated < head_dim:
        axis = np.append(axes(case), np.zeros((head_dim - rotated) // 2, dtype=np.int64))
        omega = progression(case.arguments.get("base", 10000.0), head_dim)
        angles = case.arguments["positions"][axis].T * omega
        to_first, to_second = channels(head_dim, str(case.conventions["layout"]))
        first, second = x[..., to_first], x[..., to_second]
        out = np.empty_like(x)
        out[..., to_first] = first * np.cos(angles) - second * np.sin(angles)
        out[..., to_second] = second * np.cos(angles) + first * np.sin(angles)

        def terms() -> ErrorTerms:
            scale, angle = np.empty_like(x), np.empty((len(angles), head_dim))
            for channel in (to_first, to_second):
                scale[..., channel] = np.hypot(first, second)
                angle[..., channel] = np.abs(angles) * growth(omega)
            return ErrorTerms(scale, angle + POLAR / case.scheme.accuracy.angle)

        words = "matches the whole head rotated, whatever the sections add up to"
        yield Prediction(words, out, terms=terms)


# Position ids.

SEGMENTS: tuple[tuple[tuple[int, int, int], ...], ...] = (
    ((3, 0, 0), (1, 2, 3), (2, 0, 0)),
    ((4, 0, 0),),
    ((1, 3, 2),),
    ((2, 0, 0), (5, 2, 3), (1, 0, 0)),
    ((1, 2, 2), (1, 2, 4), (3, 0, 0), (2, 0, 0)),
    ((1, 0, 0), (3, 1, 4), (2, 0, 0), (1, 1, 1), (2, 0, 0), (2, 5, 1)),
)
"""Time, height and width of segments, in tokens; text has no height and width."""


def in_patches(sizes: Any, merge_size: int) -> Index:
    """Convert heights and widths of segments from tokens to patches."""
    patches = np.array([1, merge_size, merge_size], dtype=np.int64)
    return np.array(sizes, dtype=np.int64).reshape(-1, 3) * patches


def id_arguments(trial: Trial) -> ArgumentDict:
    """Draw a few segments of text, images and videos."""
    merge_size = trial.choose("merge_size", (2, 1, 3))
    listed = trial.pick.one_of(SEGMENTS)
    extra: ArgumentDict = {}
    if trial.can("spacing") and trial.pick.integer(0, 1):
        extra["spacing"] = "seconds"
        extra["tokens_per_second"] = trial.choose("tokens_per_second", (2.0, 25.0, 4.0))
        extra["second_per_grid"] = trial.choose("second_per_grid", (0.75, 1.5, 0.125, 3.0))
    return extra | {"segments": in_patches(listed, merge_size), "merge_size": merge_size}


def id_sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield long texts, large images, many frames, many segments, and no segment."""
    merge_size = case.arguments["merge_size"]
    for listed in (
        ((5000, 0, 0), (1, 33, 40), (1, 0, 0)),
        ((7, 0, 0), (70, 4, 6), (3, 0, 0)),
        ((1, 0, 0), (1, 2, 1)) * 60,
        ((0, 0, 0), (1, 1, 2), (0, 0, 0), (2, 0, 0)),
        (),
    ):
        yield {"segments": in_patches(listed, merge_size)}


def id_shape(case: Case) -> tuple[int, int]:
    """Return the shape of the result: [3, tokens]."""
    return 3, sum(len(segment[0]) for segment in laid_out(case))


Grid = tuple[int, int, int]
After = Callable[[int, Grid, int], int]
"""Computes the start of the next segment from the start of an image or video, its size in tokens,
and the time of its last frame plus 1."""
Times = Callable[[Case, int, int], Index]
"""Computes the times of the frames of an image or video from its start and their number."""


def after_largest(start: int, size: Grid, longest: int) -> int:
    """Return the id after the largest id of the segment."""
    return start + max(longest, *size[1:])


def after_spatial(start: int, size: Grid, longest: int) -> int:
    """Return the start plus the larger of height and width."""
    return start + max(size[1:])


def every(step: float) -> Times:
    """Make a function that returns times: the frame's number times ``step``, rounded down."""

    def times(case: Case, start: int, frames: int) -> Index:
        seen: Index = np.floor(np.arange(frames) * step).astype(np.int64)
        return seen

    return times


def pace(case: Case) -> float:
    """Compute the difference of the times of two consecutive frames."""
    inputs = case.arguments
    seconds = inputs.get("second_per_grid")
    return 1.0 if seconds is None else float(inputs["tokens_per_second"] * seconds)


def laid_out(
    case: Case,
    after: After | None = None,
    place: Callable[[int, Index], Index] = lambda start, grid: start + grid,
    as_text: Callable[[int], bool] = lambda number: False,
    times: Times | None = None,
) -> list[Index]:
    """Compute the ids of each segment: [3, tokens].

    ``place`` computes ids from a segment's start and its tokens' time, height and width;
    ``as_text`` returns whether an image or video, numbered from 0, is counted like text.
    """
    merge_size = case.arguments["merge_size"]
    if after is None:
        largest = case.conventions["next_position"] == "largest"
        after = after_largest if largest else after_spatial
    start, images, parts = 0, 0, []
    for frames, height, width in case.arguments["segments"].tolist():
        size = frames, height // merge_size, width // merge_size
        flat = height == 0 or as_text(images)
        images += height > 0
        if flat:
            tokens = frames if height == 0 else int(np.prod(size))
            parts.append(np.tile(start + np.arange(tokens), (3, 1)))
            start += tokens
        else:
            grid = np.indices(size).reshape(3, -1)
            seen = (times or every(pace(case)))(case, start, frames)
            grid[0] = seen[grid[0]]
            parts.append(place(start, grid))
            start = after(start, size, int(seen[-1]) + 1)
    return parts


def joined(parts: list[Index]) -> Floats:
    """Join the ids of all segments: [3, tokens]."""
    return np.concatenate([np.zeros((3, 0)), *parts], axis=1)


def text_counts_on(trial: Trial) -> None:
    """Check that a text token's ids are equal, and one more than those of the token before."""
    answer = trial.answer(**id_arguments(trial))
    wrong, first = [np.zeros(0)], 0
    for segment, part in zip(answer.case.arguments["segments"], laid_out(answer.case), strict=True):
        ids = answer.values[:, first : first + part.shape[1]]
        first += part.shape[1]
        if segment[1] == 0:
            wrong += [(ids - ids[:1]).ravel(), (np.diff(ids) - 1).ravel()]
    trial.assert_none(
        answer, np.concatenate(wrong) != 0, "text does not count on, equal on all axes"
    )


def grid_coordinates(trial: Trial) -> None:
    """Check that ids of an image or video are its tokens' time, height and width.

    All three are counted from the same id.
    """
    answer = trial.answer(**id_arguments(trial))
    wrong, first = [np.zeros(0)], 0
    for segment, part in zip(answer.case.arguments["segments"], laid_out(answer.case), strict=True):
        ids = answer.values[:, first : first + part.shape[1]]
        first += part.shape[1]
        if segment[1] > 0:
            wrong.append((ids - ids[0, 0] - (part - part[0, 0])).ravel())
    message = "an image's ids are not its tokens' coordinates"
    trial.assert_none(answer, np.concatenate(wrong) != 0, message)


def prefix(trial: Trial) -> None:
    """Check that later segments change no earlier id, so that a sequence can be continued."""
    chosen = id_arguments(trial)
    whole = trial.answer(**chosen)
    cut = trial.pick.integer(0, len(chosen["segments"]))
    part = trial.answer(**(chosen | {"segments": chosen["segments"][:cut]}))
    wrong = part.values != whole.values[:, : part.values.shape[1]]
    trial.assert_none(part, wrong, "later segments change the ids of earlier ones")


def segments_apart(trial: Trial) -> None:
    """Check that all ids of a segment are larger than all ids before it."""
    answer = trial.answer(**id_arguments(trial))
    ends = np.cumsum([part.shape[1] for part in laid_out(answer.case)])[:-1]
    wrong = [
        answer.values[:, end:].min(initial=np.inf) <= answer.values[:, :end].max(initial=-1)
        for end in ends
    ]
    trial.assert_none(answer, wrong, "a segment repeats ids of those before it")


def models_of_ids(
    explanation: str, **changes: Any
) -> Callable[[Case, Floats], Iterator[Prediction]]:
    """Make a model of the ids of a sequence laid out with ``changes``."""

    def models(case: Case, got: Floats) -> Iterator[Prediction]:
        yield Prediction(explanation, joined(laid_out(case, **changes)))

    return models


def start_off_by_one(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict segments that start one id early or late after an image or video."""
    largest = case.conventions["next_position"] == "largest"
    right = after_largest if largest else after_spatial
    for shift, word in ((-1, "early"), (1, "late")):

        def after(start: int, size: Grid, longest: int, shift: int = shift) -> int:
            return right(start, size, longest) + shift

        yield Prediction(
            f"matches segments after images that start one {word}", joined(laid_out(case, after))
        )


def after_tokens(start: int, size: Grid, longest: int) -> int:
    """Return the start plus the number of tokens."""
    return start + int(np.prod(size))


def height_zeroed(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the same height for all rows of an image."""
    for words, first in (("0", 0), ("that of the first row", 1)):

        def place(start: int, grid: Index, first: int = first) -> Index:
            ids = start + grid
            ids[1] = first * start
            return ids

        yield Prediction(
            f"matches heights of images set to {words}", joined(laid_out(case, place=place))
        )


def frames_at_one_time(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the time of the first frame for all frames of a video."""

    def place(start: int, grid: Index) -> Index:
        return start + grid * np.array([[0], [1], [1]], dtype=np.int64)

    words = "matches all frames of a video at the time of the first one"
    yield Prediction(words, joined(laid_out(case, place=place)))
    after = f"{words}, and what follows placed as after one frame"
    yield Prediction(after, joined(laid_out(case, after_spatial, place)))


def seconds_ignored(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict frames counted one by one, or second_per_grid taken for 1."""
    if case.arguments.get("second_per_grid") is not None:
        for words, step in (
            ("frames counted one by one", 1.0),
            ("second_per_grid taken for 1", case.arguments["tokens_per_second"]),
        ):
            yield Prediction(f"matches {words}", joined(laid_out(case, times=every(step))))


def seconds_cut_early(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict second_per_grid, or the time between two frames, rounded down first."""
    seconds = case.arguments.get("second_per_grid")
    if seconds is not None:
        for words, step in (
            ("second_per_grid", np.floor(seconds) * case.arguments["tokens_per_second"]),
            ("the interval of two frames", np.floor(pace(case))),
        ):
            output = joined(laid_out(case, times=every(step)))
            yield Prediction(f"matches {words} cut to a whole number first", output)


def start_spaced(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the start multiplied like the frames' numbers.

    The start of an image is multiplied only by tokens_per_second.
    """
    if case.arguments.get("second_per_grid") is not None:

        def times(case: Case, start: int, frames: int) -> Index:
            by = pace(case) if frames > 1 else case.arguments["tokens_per_second"]
            steps = np.floor((start + np.arange(frames)) * by) - start
            return np.asarray(steps, dtype=np.int64)

        words = "matches the segment's start multiplied like the frames' numbers"
        yield Prediction(words, joined(laid_out(case, times=times)))


def time_from_zero(start: int, grid: Index) -> Index:
    """Count time from 0, and height and width from the start."""
    return start * np.array([[0], [1], [1]], dtype=np.int64) + grid


def transposed(start: int, grid: Index) -> Index:
    """Exchange height and width."""
    return start + grid[[0, 2, 1]]


Check = Callable[[Trial], None]


KNOWLEDGE = {
    "m_rope": CallKnowledge(
        error_terms=ROTATION.error_terms,
        arguments=arguments,
        sweep=sweep,
        sizes=sizes,
        frequencies=ROTATION.read_frequencies,
        tied=(("x", -1),),
        readings=(sections_spread,),
        invariants={
            "isometry": ROTATION.isometry,
            "identity-at-zero": ROTATION.identity_at_zero,
            "relative-scores": ROTATION.relative_scores,
            "scores-of-ones": ROTATION.scores_of_ones,
            "text-is-rope": text_is_rope,
            "axis-locality": ROTATION.axis_locality,
            "pass-through": pass_through,
            "layout-permutation": ROTATION.layout_permutation,
        },
        deviations={
            "allocation-swapped": allocation_swapped,
            "interleaving-unbounded": interleaving_unbounded,
            "axes-swapped": axes_swapped,
            "one-axis-for-all": one_axis_for_all,
            "sections-in-channels": sections_in_channels,
            "frequencies-restarted": frequencies_restarted,
            "layout-swapped": LAYOUT_SWAPPED,
            "positions-shifted": positions_shifted,
            "sign-flipped": negated_positions,
            "head-dim-frequencies": head_dim_frequencies,
            "whole-head-rotated": whole_head_rotated,
            "unrotated": ROTATION.unrotated,
            "wrong-base": wrong_base,
            "tables-mixed": tables_mixed(ROTATION),
            "low-precision-angles": ROTATION.low_precision_angles,
        },
    ),
    "m_rope_position_ids": CallKnowledge(
        error_terms=exact_terms,
        arguments=id_arguments,
        sweep=no_sweep,
        sizes=id_sizes,
        shape=id_shape,
        invariants={
            "text-counts-on": text_counts_on,
            "grid-coordinates": grid_coordinates,
            "prefix": prefix,
            "segments-apart": segments_apart,
        },
        deviations={
            "next-position-swapped": other_conventions(
                "next_position", "matches next positions that are {value}; {claimed} was claimed"
            ),
            "next-after-tokens": models_of_ids(
                "matches next positions after as many ids as an image has tokens",
                after=after_tokens,
            ),
            "start-off-by-one": start_off_by_one,
            "time-from-zero": models_of_ids(
                "matches times counted from 0, not from the segment's start", place=time_from_zero
            ),
            "height-and-width-exchanged": models_of_ids(
                "matches heights and widths exchanged", place=transposed
            ),
            "images-as-text": models_of_ids(
                "matches images counted like text", as_text=lambda number: True
            ),
            "later-images-as-text": models_of_ids(
                "matches images after the first counted like text",
                as_text=lambda number: number > 0,
            ),
            "height-zeroed": height_zeroed,
            "seconds-ignored": seconds_ignored,
            "seconds-cut-early": seconds_cut_early,
            "start-spaced": start_spaced,
            "frames-at-one-time": frames_at_one_time,
        },
    ),
    "m_rope_vjp": CallKnowledge(
        error_terms=BACKWARD.error_terms,
        arguments=arguments,
        sweep=small_head(sweep),
        sizes=backward_sizes,
        frequencies=BACKWARD.read_frequencies,
        readings=backward_readings(BACKWARD),
        tied=(("x", -1),),
        invariants=BACKWARD.backward_invariants,
        deviations=BACKWARD.backward_deviations | {"backward-axes-swapped": axes_swapped},
    ),
}
