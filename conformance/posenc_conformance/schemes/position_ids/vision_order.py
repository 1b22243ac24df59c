"""Order of vision tokens: invariants and deviations."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from posenc_conformance.judge.arrays import Floats, Ints
from posenc_conformance.judge.case import Case, exact_terms
from posenc_conformance.judge.deviation import Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments

Sizes = tuple[int, int, int]


def ids(explanation: str, values: Any) -> Prediction:
    """Return ``values`` as the prediction of a mistake."""
    return Prediction(explanation, np.asarray(values, dtype=np.float64))


def tokens_of(case: Case) -> list[Sizes]:
    """Return frames, height and width of each grid in tokens, after merging."""
    merge = case.arguments.get("merge_size", 1)
    return [(t, h // merge, w // merge) for t, h, w in case.arguments["grids"].tolist()]


def drawn(trial: Trial, *, windows: bool) -> ArgumentDict:
    """Draw one image, or several with a video among them."""
    merge = trial.choose("merge_size", (2, 1, 3))
    several = trial.pick.one_of(
        (((1, 3, 5),), ((1, 2, 3), (2, 4, 2)), ((3, 1, 4), (1, 5, 3), (1, 2, 2)))
    )
    grids = np.array([(t, h * merge, w * merge) for t, h, w in several])
    window = {"window": trial.choose("window", (2, 3, 4))} if windows else {}
    return {"grids": grids, **window, "merge_size": merge}


def merged_arguments(trial: Trial) -> ArgumentDict:
    """Draw grids."""
    return drawn(trial, windows=False)


def window_arguments(trial: Trial) -> ArgumentDict:
    """Draw grids and a window that may not divide them."""
    return drawn(trial, windows=True)


def merged_sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Return an image as wide as the claimed positions allow, and a video."""
    merge = parameters.get("merge_size", 2)
    width = max(min(largest + 1, 600) // merge, 1) * merge
    return {"grids": np.array([(1, 2 * merge, width), (2, merge, merge)]), "merge_size": merge}


def window_sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Return the same grids, in windows of Qwen2.5-VL's size."""
    return {"window": 4, **merged_sweep(parameters, largest), **parameters}


def sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield grids of one row or column, wide and high ones, many frames and images, and no grid."""
    merge = case.arguments["merge_size"]
    for grids in (
        [(1, 4, 6)],
        [(1, 6, 4), (1, 1, 1)],
        [(1, 1, 9)],
        [(1, 9, 1), (2, 1, 5)],
        [(5, 4, 4)],
        [(1, 8, 8), (1, 8, 8), (3, 7, 9)],
        [(1, 37, 23)],
        [(1, 2, 300)],
        [(2, 3, 2)] * 40,
    ):
        yield {"grids": np.array(grids) * (1, merge, merge)}
    yield {"grids": np.zeros((0, 3), dtype=np.int64)}


def window_sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield the same grids, then windows of one token, of other sizes, and larger than any grid."""
    yield from sizes(case)
    merge = case.arguments["merge_size"]
    grids = np.array([(1, 9, 10), (2, 8, 4)]) * (1, merge, merge)
    for window in (1, 2, 4, 5, 8, 64):
        yield {"grids": grids, "window": window}


# Invariants.


def cells_once(trial: Trial) -> None:
    """Check that each frame has every pair of row and column once."""
    answer = trial.answer(**merged_arguments(trial))
    start = 0
    for frames, height, width in answer.case.arguments["grids"].tolist():
        for _ in range(frames):
            rows, columns = answer.values[:, start : start + height * width]
            start += height * width
            wrong = np.sort(rows * width + columns) != np.arange(height * width)
            trial.assert_none(answer, wrong, "a frame has not each pair of height and width once")


def blocks_together(trial: Trial) -> None:
    """Check that the patches of each merged block are consecutive."""
    answer = trial.answer(**merged_arguments(trial))
    merge = answer.case.arguments["merge_size"]
    blocks = answer.values // merge
    by_block = blocks.reshape(2, -1, merge**2)
    wrong = by_block != by_block[..., :1]
    trial.assert_none(answer, wrong, "patches of different blocks stand together")


def order_of_all(trial: Trial) -> None:
    """Check that the order contains every token once."""
    answer = trial.answer(**window_arguments(trial))
    wrong = np.sort(answer.values) != np.arange(len(answer.values))
    trial.assert_none(answer, wrong, "not every token stands at one place")


def one_window(trial: Trial) -> None:
    """Check that windows that no grid exceeds leave the order unchanged."""
    if "window" in trial.scope.parameters:
        return
    answer = trial.answer(**(window_arguments(trial) | {"window": 64}))
    wrong = answer.values != np.arange(len(answer.values))
    trial.assert_none(answer, wrong, "in one window the order is another one")


def edges_of_all(trial: Trial) -> None:
    """Check that edges rise from 0 to the number of patches, by at most the patches of a window."""
    answer = trial.answer(**window_arguments(trial))
    values = answer.case.arguments
    most = (values["window"] * values["merge_size"]) ** 2
    step = np.diff(answer.values)
    trial.assert_none(answer, (step <= 0) | (step > most), "a window is empty or too large")
    ends = answer.values[[0, -1]] != (0, values["grids"].prod(axis=1).sum())
    trial.assert_none(answer, ends, "edges do not reach from 0 to all patches")


# Models of mistakes.


def merge_ignored(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict patches row by row."""
    yield ids("matches patches row by row", case.with_arguments(merge_size=1).truth)


def exchanged(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict widths and heights exchanged."""
    yield ids("matches widths, then heights", case.truth[::-1])


def merged_coordinates(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict coordinates of merged tokens in place of patches."""
    yield ids("matches coordinates of blocks", case.truth // case.arguments["merge_size"])


def frames_stacked(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict frames stacked along the height."""
    lower = [
        frame * height
        for frames, height, width in case.arguments["grids"].tolist()
        for frame in range(frames)
        for _ in range(height * width)
    ]
    stacked = case.truth + np.array([[1], [0]]) * np.array(lower, dtype=np.int64)
    yield ids("matches heights counted on from frame to frame", stacked)


def windows_ignored(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict tokens row by row."""
    yield ids("matches tokens row by row", np.arange(case.shape[0]))


def order_inverted(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the inverse permutation."""
    yield ids(
        "matches the place of each token, not the token at each place", np.argsort(case.truth)
    )


def _sorted(case: Case, by: str) -> Ints:
    """Sort tokens with windows, the cells in them or both in column order, as ``by`` says."""
    side, parts, before = case.arguments["window"], [np.zeros(0, dtype=np.int64)], 0
    for shape in tokens_of(case):
        frame, row, column = np.indices(shape).reshape(3, -1)
        keys = {
            "windows": (column, row, row // side, column // side, frame),
            "cells": (row, column, column // side, row // side, frame),
            "both": (row, column, row // side, column // side, frame),
        }[by]
        parts.append(before + np.lexsort(keys))
        before += len(parts[-1])
    return np.concatenate(parts)


def windows_by_columns(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict windows, their tokens or both in column order."""
    for by, words in (
        ("windows", "windows"),
        ("cells", "tokens of each window"),
        ("both", "windows and their tokens"),
    ):
        yield ids(f"matches {words} column by column", _sorted(case, by))


def images_from_zero(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict each image, or each frame, counted from 0."""
    counts = [(frames, height * width) for frames, height, width in tokens_of(case)]
    starts = np.cumsum([0, *(t * size for t, size in counts)])[:-1]
    images = np.repeat(starts, [t * size for t, size in counts])
    yield ids("matches each image counted from 0", case.truth - images)
    frames = [frame * size for t, size in counts for frame in range(t) for _ in range(size)]
    within = np.array(frames, dtype=np.int64)
    yield ids("matches each frame counted from 0", case.truth - images - within)


def edges_in_tokens(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict edges in tokens, not patches."""
    yield ids("matches edges in tokens", case.truth // case.arguments["merge_size"] ** 2)


def windows_filled(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict edges as if all windows were full."""
    full = (case.arguments["window"] * case.arguments["merge_size"]) ** 2
    yield ids("matches edges of full windows", full * np.arange(case.shape[0]))


def edges_restarted(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict edges of each image, or frame, counted from 0."""
    side = case.arguments["window"]
    windows = [(t, -(-h // side) * -(-w // side)) for t, h, w in tokens_of(case)]
    images = np.cumsum([0, *(t * count for t, count in windows)])
    frames = np.cumsum([0, *(count for t, count in windows for _ in range(t))])
    for starts, words in ((images, "image"), (frames, "frame")):
        before = np.repeat(case.truth[starts[:-1]], np.diff(starts))
        yield ids(
            f"matches edges of each {words} counted from 0",
            np.append(0, case.truth[1:] - before),
        )


def places(case: Case) -> int:
    """Count the tokens of all grids."""
    return sum(t * h * w for t, h, w in tokens_of(case))


def count_of_windows(case: Case) -> int:
    """Count the windows of all grids."""
    side = case.arguments["window"]
    return sum(t * -(-h // side) * -(-w // side) for t, h, w in tokens_of(case))


KNOWLEDGE = {
    "merged_position_ids": CallKnowledge(
        error_terms=exact_terms,
        arguments=merged_arguments,
        sweep=merged_sweep,
        sizes=sizes,
        shape=lambda case: (2, int(case.arguments["grids"].prod(axis=1).sum())),
        tied=(("grids", None),),
        invariants={"cells-once": cells_once, "blocks-together": blocks_together},
        deviations={
            "height-and-width-exchanged": exchanged,
            "merge-ignored": merge_ignored,
            "merged-coordinates": merged_coordinates,
            "frames-stacked": frames_stacked,
        },
    ),
    "window_order": CallKnowledge(
        error_terms=exact_terms,
        arguments=window_arguments,
        sweep=window_sweep,
        sizes=window_sizes,
        shape=lambda case: (places(case),),
        tied=(("grids", None),),
        invariants={"order-of-all": order_of_all, "one-window": one_window},
        deviations={
            "windows-ignored": windows_ignored,
            "order-inverted": order_inverted,
            "windows-by-columns": windows_by_columns,
            "images-from-zero": images_from_zero,
        },
    ),
    "window_edges": CallKnowledge(
        error_terms=exact_terms,
        arguments=window_arguments,
        sweep=window_sweep,
        sizes=window_sizes,
        shape=lambda case: (count_of_windows(case) + 1,),
        tied=(("grids", None),),
        invariants={"edges-of-all": edges_of_all},
        deviations={
            "edges-in-tokens": edges_in_tokens,
            "windows-filled": windows_filled,
            "edges-restarted": edges_restarted,
        },
    ),
}
