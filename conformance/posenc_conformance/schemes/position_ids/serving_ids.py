"""Position ids for serving: invariants and deviations."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from posenc_conformance.diagnose.predictors import other_conventions, predict_case
from posenc_conformance.judge.arrays import Floats, Ints
from posenc_conformance.judge.case import Case, exact_terms
from posenc_conformance.judge.deviation import Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments

LONG = 300
"""More tokens than 8 bits can count."""
RANKS = (2, 1, 3, 4, 8)
APPEND, DROP, MOVE = range(3)
"""The kinds of events of a session."""


def ids(explanation: str, values: Any) -> Prediction:
    """Return ``values`` as the prediction of a mistake."""
    return Prediction(explanation, np.asarray(values, dtype=np.float64))


# Shares of a sequence, one per rank.


def shard_arguments(trial: Trial) -> ArgumentDict:
    """Draw the number of ranks, one rank, and a length that every convention splits evenly."""
    ranks = trial.choose("ranks", RANKS)
    rank = trial.choose("rank", (min(1, ranks - 1), *range(ranks)))
    size = trial.pick.one_of((4, 2, 6, 10, 34))
    length = trial.choose("length", (size * ranks,))
    return {"length": length, "rank": rank, "ranks": ranks}


def shard_sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Return the last of a few ranks, with as many tokens as are claimed, up to 4096."""
    ranks = parameters.get("ranks", 4)
    pieces = min(largest + 1, 4096) // (2 * ranks)
    usual = {"length": pieces * 2 * ranks, "rank": ranks - 1, "ranks": ranks}
    return {**usual, **parameters}


def shard_sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield all ranks of a few, a single rank, few and many tokens, and no tokens."""
    for ranks in (4, 1, 3):
        for rank in range(ranks):
            yield {"length": 6 * ranks, "rank": rank, "ranks": ranks}
    for length, rank, ranks in ((16, 7, 8), (2 * 256 * 300, 255, 256), (2**18, 1, 2), (0, 1, 2)):
        yield {"length": length, "rank": rank, "ranks": ranks}


def shards_cover(trial: Trial) -> None:
    """Check that all ranks together contain every token once."""
    chosen = shard_arguments(trial)
    answers = [trial.answer(**(chosen | {"rank": rank})) for rank in range(chosen["ranks"])]
    held = np.sort(np.concatenate([answer.values for answer in answers]))
    wrong = held != np.arange(chosen["length"])
    trial.assert_none(answers[0], wrong, "not every token belongs to one rank")


def rank_0_for_all(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the tokens of another rank."""
    rank, ranks = case.arguments["rank"], case.arguments["ranks"]
    for other, words in ((0, "rank 0"), ((rank + 1) % ranks, "the next rank")):
        if other != rank:
            yield from predict_case(
                case.with_arguments(rank=other), f"matches the tokens of {words}"
            )


def counted_locally(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict a rank's tokens counted from 0, or from the rank's first one."""
    count = np.arange(case.shape[0])
    yield ids("matches the rank's own tokens, counted from 0", count)
    if case.conventions["share"] != "contiguous":
        words = "matches tokens counted on from the rank's first one"
        yield ids(words, case.truth[:1] + count)


def second_piece_unmirrored(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the second piece of a zigzag share at the same offset for all ranks, or reversed."""
    if case.conventions["share"] == "zigzag":
        half = case.shape[0] // 2
        first, second = case.truth[:half], case.truth[half:]
        behind = first + half * case.arguments["ranks"]
        yield ids("matches a second piece as far behind for all", np.append(first, behind))
        yield ids("matches a second piece turned round", np.append(first, second[::-1]))


# Draft trees.


def tree_arguments(trial: Trial) -> ArgumentDict:
    """Draw a few tokens, each following its predecessor, a shared parent or the cache."""
    n = trial.choose("n", (6, 1, 2, 9, 17))
    step = trial.pick.one_of((2, 1, 3))
    parents = (np.arange(n) - 1) // step
    if trial.pick.integer(0, 1):
        parents[2::5] = -1
    return {"past_length": trial.choose("past_length", (trial.position(n),)), "parents": parents}


def tree_sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Let a draft of two branches reach the largest position."""
    n = parameters.get("n", min(7, largest + 1))
    parents = np.maximum(np.arange(n) - 2, -1)
    past = parameters.get("past_length", largest - (n - 1) // 2)
    return {"past_length": past, "parents": parents}


def tree_sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield a chain, nested branches, only siblings, many tokens, one and none."""
    yield {"parents": np.arange(6) - 1}
    yield {"parents": np.array([-1, 0, 0, 0, 1, 1, 3, 6]), "past_length": 255}
    yield {"parents": np.full(5, -1), "past_length": 0}
    yield {"parents": (np.arange(2 * LONG) - 1) // 2, "past_length": 4000}
    yield {"parents": np.arange(2 * LONG) - 1, "past_length": 1}
    for past in (0, 1, 8, 1000):
        yield {"parents": np.array([-1]), "past_length": past}
    yield {"parents": np.array([], dtype=np.int64)}


def child_behind_parent(trial: Trial) -> None:
    """Check that each token has the position after that of its parent, or after the cache."""
    answer = trial.answer(**tree_arguments(trial))
    parents, past = answer.case.arguments["parents"], answer.case.arguments["past_length"]
    before = np.append(answer.values, past - 1)[parents]
    wrong = answer.values != before + 1
    trial.assert_none(answer, wrong, "a token does not stand one behind the one that it follows")


def rows_for_depths(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict row numbers in place of depths."""
    rows = np.arange(case.shape[0])
    yield ids("matches rows counted, not depths", case.arguments["past_length"] + rows)


def tree_from_zero(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict depths without the cache."""
    yield from predict_case(case.with_arguments(past_length=0), "matches depths without the cache")


def tree_off_by_one(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict positions off by one."""
    for shift in (1, -1):
        yield ids(f"matches positions {shift:+d}", case.truth + shift)


def parents_for_depths(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the parent's row in place of its depth."""
    past, parents = case.arguments["past_length"], case.arguments["parents"]
    yield ids("matches the parent's row and 1 taken for the depth", past + parents + 1)


# Sequences given by their lengths.


def length_arguments(trial: Trial) -> ArgumentDict:
    """Draw sequences of several lengths, after caches of several lengths."""
    batch, n = trial.choose("batch", (2, 1, 3, 5)), trial.choose("n", (5, 1, 2, 9, 33))
    lengths = [n - trial.pick.integer(0, n) for _ in range(batch)]
    past = trial.position(n + 7 * batch) + 7 * np.arange(batch)[::-1] * trial.pick.integer(0, 1)
    return {"lengths": np.array(lengths), "past_lengths": np.zeros(batch, int) + past, "n": n}


def length_sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Let the last token of a sequence reach the largest position."""
    batch, n = parameters.get("batch", 2), min(parameters.get("n", 8), largest + 1)
    lengths = np.maximum(n - 3 * np.arange(batch), 0)
    past = np.maximum(largest + 1 - n - 100 * np.arange(batch), 0)
    return {"lengths": lengths, "past_lengths": past, "n": n}


def length_sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield prompts, single tokens after several caches, long and many sequences, and no tokens."""
    for lengths, past, n in (
        ([3, 5, 0], [0, 0, 0], 5),
        ([1, 1], [7, 4000], 1),
        ([1, 1], [8, 4001], 1),
        ([0, 1], [8, 0], 1),
        ([LONG, 7, 290], [0, 255, 3], LONG),
        ([i % 9 for i in range(70)], [i % 41 for i in range(70)], 8),
        ([2, 2], [3, 4], 7),
        ([0, 0], [3, 4], 3),
    ):
        yield {"lengths": np.array(lengths), "past_lengths": np.array(past), "n": n}


def length_rows_alone(trial: Trial) -> None:
    """Check that a sequence has the same ids alone as in a batch."""
    chosen = length_arguments(trial)
    answer = trial.answer(**chosen)
    for row in range(len(chosen["lengths"])):
        own = {name: chosen[name][row : row + 1] for name in ("lengths", "past_lengths")}
        wrong = answer.values[row : row + 1] != trial.answer(**(chosen | own)).values
        trial.assert_none(answer, wrong, f"sequence {row} is not numbered as it is alone")


def past_lengths_ignored(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict ids that ignore the caches."""
    without = case.with_arguments(past_lengths=0 * case.arguments["past_lengths"])
    yield from predict_case(without, "matches numbers without a cache")


def first_past_for_all(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the cache length of one sequence for all."""
    past = case.arguments["past_lengths"]
    if past.size:
        for length, words in ((past[0], "first sequence"), (past.max(), "longest one")):
            yield from predict_case(
                case.with_arguments(past_lengths=0 * past + length),
                f"matches the cache of the {words} for all",
            )


def padded_on_the_left(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict tokens at the ends of their rows, as after left padding."""
    lengths, past = (case.arguments[name][:, None] for name in ("lengths", "past_lengths"))
    columns = np.arange(case.arguments["n"])
    left = columns - (case.arguments["n"] - lengths)
    words = "matches tokens that stand at the ends of their rows"
    yield ids(words, past + left)
    yield ids(f"{words}, not below 0", past + np.maximum(left, 0))
    yield ids(f"{words}, padding at 1", np.where(left >= 0, past + left, 1))


# Packed texts, numbered.


def segment_arguments(trial: Trial) -> ArgumentDict:
    """Draw rows of texts with ascending numbers, followed by padding."""
    batch, n = trial.choose("batch", (2, 1, 3)), trial.choose("n", (9, 1, 2, 17, 33))
    sizes = [trial.pick.integer(1, 5) for _ in range(batch)]
    rows = [1 + np.arange(n) // size for size in sizes]
    segments = np.array(rows, dtype=np.int64)
    for row in segments:
        padded = trial.pick.integer(0, 3)
        row[n - min(padded, n - 1) :] = 0
    return {"segments": segments}


def segment_sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Return a short text, a long one, and padding."""
    n = parameters.get("n", min(largest, 4090) + 6)
    row = np.where(np.arange(n) < 4, 1, 2)
    row[n - 1 :] = 0
    return {"segments": np.tile(row, (parameters.get("batch", 1), 1))}


def segment_sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield one text, one-token texts, many texts, long texts, unordered numbers, and padding."""
    long = np.repeat([1, 2, 3, 0], [2**16, 1, 2 * LONG, 5])
    for row in (
        [1, 1, 1, 2, 2, 2, 2, 2, 0],
        [1, 2, 3, 4, 5, 6, 0, 0, 0],
        [1],
        [0, 0, 0],
        [7, 7, 2, 2, 2, 9, 1, 1],
        [0, 0, 1, 1, 2, 2, 2],
        [1, 1, 0, 0, 2, 2, 2, 0],
        list(long),
        [1 + place // 2 for place in range(2 * LONG)],
        [],
    ):
        yield {"segments": np.array([row], dtype=np.int64)}
    yield {"segments": np.array([[1, 1, 2, 2], [3, 3, 3, 3], [2, 4, 4, 0]])}


def texts_renamed(trial: Trial) -> None:
    """Check that renumbering the texts does not change the positions."""
    chosen = segment_arguments(trial)
    answer = trial.answer(**chosen)
    renamed = np.where(chosen["segments"] > 0, 100 - 3 * chosen["segments"], 0)
    wrong = answer.values != trial.answer(segments=renamed).values
    trial.assert_none(answer, wrong, "with other numbers for texts tokens have other positions")


def texts_not_restarted(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict one count over all texts of a row."""
    segments = case.arguments["segments"]
    count = np.broadcast_to(np.arange(segments.shape[1]), segments.shape)
    words = "matches one count over all texts of a row"
    yield ids(words, count)
    yield ids(f"{words}, padding at 0", np.where(segments > 0, count, 0))


def _starts(segments: Ints) -> Ints:
    """Return the column where each token's run of equal segment numbers begins."""
    columns = np.arange(segments.shape[1])
    first = np.diff(segments, axis=1, prepend=segments[:, :1] - 1) != 0
    return np.asarray(np.maximum.accumulate(np.where(first, columns, 0), axis=1))


def padding_numbered(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict padding counted as a separate text, or as part of the text before it."""
    segments = case.arguments["segments"]
    columns = np.arange(segments.shape[1])
    yield ids("matches padding counted as a text", columns - _starts(segments))
    before = np.maximum.accumulate(np.where(segments > 0, _starts(segments), 0), axis=1)
    words = "matches padding counted on behind the text before it"
    yield ids(words, columns - before)


def numbers_of_texts(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the numbers of the texts in place of positions."""
    segments = case.arguments["segments"]
    yield ids("matches numbers of texts", segments)
    yield ids("matches numbers of texts, less 1", np.maximum(segments - 1, 0))


def texts_from_one(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict texts counted from 1."""
    is_token = case.arguments["segments"] > 0
    yield ids("matches texts counted from 1", np.where(is_token, case.truth + 1, 0))
    yield ids("matches texts counted from 1, padding too", case.truth + 1)


# Sessions.


def session_arguments(trial: Trial) -> ArgumentDict:
    """Draw appended tokens, drops among them, and gaps that are closed or left open."""
    n = trial.pick.integer(4, 20)
    events = [(APPEND, n, 0)]
    end = n
    for _ in range(trial.pick.integer(1, 3)):
        start = trial.pick.integer(0, end - 2)
        stop = trial.pick.integer(start + 1, end - 1)
        events.append((DROP, start, stop))
        closed = trial.pick.one_of(("closed", "open", "at the end"))
        if closed == "closed":
            events.append((MOVE, stop, start - stop))
            end -= stop - start
        if closed == "at the end":
            events.append((DROP, stop, end))
            end = start
        new = trial.pick.integer(3, 6)
        events.append((APPEND, new, 0))
        end += new
    return {"events": np.array(events)}


def _appended(case: Case) -> int:
    """Count the tokens that a session appends."""
    events = case.arguments["events"]
    return int(events[events[:, 0] == APPEND, 1].sum())


def session_sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Append tokens up to the last claimed position, drop half of them, and append more."""
    n = min(largest + 1, 4096)
    half = n // 2
    events = [(APPEND, n, 0), (DROP, 4, 4 + half), (MOVE, 4 + half, -half), (APPEND, 3, 0)]
    return {"events": np.array(events if n > 8 else events[:1])}


def session_sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield prompts, steps, a cache that fills up repeatedly, gaps, moves and empty caches."""
    step = (APPEND, 1, 0)
    full = [(APPEND, 64, 0)]
    for _ in range(20):
        full += [(DROP, 4, 34), (MOVE, 34, -30), *[step] * 30]
    for events in (
        [(APPEND, 7, 0), step, step],
        [step],
        [(APPEND, LONG, 0), (DROP, 0, LONG), (APPEND, 3, 0)],
        [(APPEND, LONG, 0), (DROP, 10, 20), step, (MOVE, 20, -10), step, step],
        [(APPEND, 8, 0), (MOVE, 3, 40), step],
        [(APPEND, 8, 0), (DROP, 2, 7), step],
        [(APPEND, 8, 0), (DROP, 2, 5), (MOVE, 5, -3), (DROP, 2, 99), step],
        [(APPEND, 8, 0), (MOVE, 8, -3), step],
        [(APPEND, 8, 0), (DROP, 5, 1000), step, (APPEND, 0, 0), step],
        full,
        [],
    ):
        yield {"events": np.array(events, dtype=np.int64).reshape(-1, 3)}


def in_steps(trial: Trial) -> None:
    """Check that tokens have the same positions appended one by one as together."""
    chosen = session_arguments(trial)
    answer = trial.answer(**chosen)
    singles = [
        (kind, 1 if kind == APPEND else start, then)
        for kind, start, then in chosen["events"].tolist()
        for _ in range(start if kind == APPEND else 1)
    ]
    wrong = answer.values != trial.answer(events=np.array(singles)).values
    trial.assert_none(answer, wrong, "one by one tokens have other positions than at once")


def _played(case: Case, counter: str, shift: int = 0) -> Ints:
    """Replay a session that takes the next position from ``counter``.

    ``shift`` is added to the position after the first drop or move.
    """
    held, positions, appended = np.zeros(0, dtype=np.int64), [np.zeros(0, dtype=np.int64)], 0
    changed = False
    for kind, start, then in case.arguments["events"].tolist():
        if kind == APPEND:
            first = {
                "last": int(held.max(initial=-1)) + 1,
                "cells": len(held),
                "all": appended,
            }[counter]
            new = first + shift * changed * bool(start) + np.arange(start)
            positions.append(new)
            held, appended = np.append(held, new), appended + start
        elif kind == DROP:
            held, changed = held[(held < start) | (held >= then)], True
        else:
            held, changed = held + then * (held >= start), True
    return np.concatenate(positions)


def drops_ignored(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict positions from a counter of all appended tokens."""
    yield ids("matches a counter of all tokens that were appended", _played(case, "all"))


def cells_counted(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the number of cached tokens as the next position."""
    yield ids("matches the number of tokens held as the next position", _played(case, "cells"))


def moves_ignored(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict positions that ignore moves."""
    events = case.arguments["events"]
    without_moves = case.with_arguments(events=events[events[:, 0] != MOVE])
    yield ids("matches moves that the counter does not know of", _played(without_moves, "last"))


def session_off_by_one(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict positions off by one after a drop or a move."""
    for shift in (1, -1):
        words = f"matches positions {shift:+d} once something was dropped or moved"
        yield ids(words, _played(case, "last", shift))


# Windows of prompts with images.


def window_arguments(trial: Trial) -> ArgumentDict:
    """Draw a prompt of text and images, and a window that may end after the prompt."""
    merge = trial.choose("merge_size", (2, 1))
    sizes = trial.pick.one_of(((1, 2, 3), (1, 4, 2), (2, 2, 2), (5, 1, 2)))
    image = (sizes[0], sizes[1] * merge, sizes[2] * merge)
    text = trial.pick.integer(1, 4)
    prompt = [(text, 0, 0), image, (2, 0, 0)]
    if trial.pick.integer(0, 1):
        prompt += [image, (1, 0, 0)]
    segments = np.array(prompt)
    tokens = _tokens(segments, merge)
    start = trial.choose("start", (trial.pick.integer(0, tokens + 3),))
    stop = trial.choose("stop", (start + trial.pick.integer(1, 12),))
    return {"segments": segments, "start": start, "stop": stop, "merge_size": merge}


def _tokens(segments: Ints, merge: int) -> int:
    """Count the tokens of a prompt."""
    areas = segments[:, 1] * segments[:, 2] // merge**2
    return int((segments[:, 0] * np.where(segments[:, 1] > 0, areas, 1)).sum())


def window_sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Decode far beyond a prompt."""
    merge = parameters.get("merge_size", 1)
    segments = np.array([(3, 0, 0), (1, 4 * merge, 6 * merge), (2, 0, 0)])
    start = parameters.get("start", max(min(largest, 2**40) - 8, 0))
    stop = parameters.get("stop", start + 8)
    return {"segments": segments, "start": start, "stop": stop, "merge_size": merge}


def window_sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield chunks of a prompt, single steps after it, only text, long prompts and an empty one."""
    merge = case.arguments["merge_size"]
    image, video = (1, 6 * merge, 4 * merge), (12, 2 * merge, 2 * merge)
    mixed = np.array([(5, 0, 0), image, (3, 0, 0), video, (1, 0, 0)])
    tokens = _tokens(mixed, merge)
    for start, stop in ((0, 7), (7, 40), (40, tokens), (tokens - 1, tokens + 4), (tokens, tokens)):
        yield {"segments": mixed, "start": start, "stop": stop}
    for step in (0, 1, 8, 0, 1000):
        yield {"segments": mixed, "start": tokens + step, "stop": tokens + step + 1}
    yield {"segments": np.array([(4, 0, 0)]), "start": 2, "stop": 9}
    yield {"segments": np.array([(LONG, 0, 0), image, (LONG, 0, 0)]), "start": 290, "stop": 700}
    yield {"segments": np.array([image]), "start": 0, "stop": 30}
    yield {"segments": np.zeros((0, 3), dtype=np.int64), "start": 0, "stop": 3}


def windows_joined(trial: Trial) -> None:
    """Check that two adjacent windows give the window of both."""
    chosen = window_arguments(trial)
    answer = trial.answer(**chosen)
    cut = trial.pick.integer(chosen["start"], chosen["stop"])
    parts = [trial.answer(**(chosen | part)).values for part in ({"stop": cut}, {"start": cut})]
    wrong = answer.values != np.concatenate(parts, axis=1)
    trial.assert_none(answer, wrong, "two windows that meet are not the window of both")


def _decoded(case: Case) -> Any:
    """Return a mask of the tokens of a window that follow the prompt."""
    values = case.arguments
    tokens = _tokens(values["segments"], values.get("merge_size", 1))
    return np.arange(values["start"], values["stop"]) >= tokens


def decoded_by_number(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict decoded tokens at their index in the sequence."""
    number = np.arange(case.arguments["start"], case.arguments["stop"])
    moved = np.where(_decoded(case), number, case.truth)
    yield ids("matches decoded tokens at their number in the sequence", moved)


def window_from_zero(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict each window, or its decoded tokens, counted from 0."""
    if case.truth.size:
        yield ids("matches windows counted from 0", case.truth - case.truth[:, :1].min())
        count = np.broadcast_to(np.arange(case.shape[1]), case.shape)
        yield ids("matches tokens of a window counted from 0", count)
        behind = np.cumsum(_decoded(case)) - 1
        restarted = np.where(_decoded(case), behind, case.truth)
        yield ids("matches decoded tokens counted from 0", restarted)


def window_as_text(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the positions of text tokens for all tokens."""
    number = np.arange(case.arguments["start"], case.arguments["stop"])
    yield ids("matches all tokens counted like text", np.broadcast_to(number, case.shape))
    if case.truth.size:
        on = np.broadcast_to(case.truth[:, :1] + np.arange(case.shape[1]), case.shape)
        yield ids("matches tokens counted on from the first of the window", on)


def decoded_off_by_one(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict decoded tokens off by one."""
    for shift in (1, -1):
        words = f"matches decoded tokens {shift:+d}"
        yield ids(words, case.truth + shift * _decoded(case))


KNOWLEDGE = {
    "shard_position_ids": CallKnowledge(
        error_terms=exact_terms,
        arguments=shard_arguments,
        sweep=shard_sweep,
        sizes=shard_sizes,
        shape=lambda case: (case.arguments["length"] // case.arguments["ranks"],),
        invariants={"shards-cover": shards_cover},
        deviations={
            "share-swapped": other_conventions(
                "share", "matches {value} shares; {claimed} was claimed"
            ),
            "rank-0-for-all": rank_0_for_all,
            "counted-locally": counted_locally,
            "second-piece-unmirrored": second_piece_unmirrored,
        },
    ),
    "tree_position_ids": CallKnowledge(
        error_terms=exact_terms,
        arguments=tree_arguments,
        sweep=tree_sweep,
        sizes=tree_sizes,
        shape=lambda case: case.arguments["parents"].shape,
        tied=(("parents", None),),
        invariants={"child-behind-parent": child_behind_parent},
        deviations={
            "tree-from-zero": tree_from_zero,
            "rows-for-depths": rows_for_depths,
            "parents-for-depths": parents_for_depths,
            "tree-off-by-one": tree_off_by_one,
        },
    ),
    "length_position_ids": CallKnowledge(
        error_terms=exact_terms,
        arguments=length_arguments,
        sweep=length_sweep,
        sizes=length_sizes,
        shape=lambda case: (len(case.arguments["lengths"]), case.arguments["n"]),
        tied=(("lengths", None), ("past_lengths", None)),
        invariants={"length-rows-alone": length_rows_alone},
        deviations={
            "lengths-padded-swapped": other_conventions(
                "padded", "matches {value} for padding; {claimed} was claimed"
            ),
            "past-lengths-ignored": past_lengths_ignored,
            "first-past-for-all": first_past_for_all,
            "padded-on-the-left": padded_on_the_left,
        },
    ),
    "segment_position_ids": CallKnowledge(
        error_terms=exact_terms,
        arguments=segment_arguments,
        sweep=segment_sweep,
        sizes=segment_sizes,
        shape=lambda case: case.arguments["segments"].shape,
        invariants={"texts-renamed": texts_renamed},
        deviations={
            "texts-not-restarted": texts_not_restarted,
            "padding-numbered": padding_numbered,
            "numbers-of-texts": numbers_of_texts,
            "texts-from-one": texts_from_one,
        },
    ),
    "session_position_ids": CallKnowledge(
        error_terms=exact_terms,
        arguments=session_arguments,
        sweep=session_sweep,
        sizes=session_sizes,
        shape=lambda case: (_appended(case),),
        tied=(("events", None),),
        invariants={"in-steps": in_steps},
        deviations={
            "drops-ignored": drops_ignored,
            "cells-counted": cells_counted,
            "moves-ignored": moves_ignored,
            "session-off-by-one": session_off_by_one,
        },
    ),
    "m_rope_window_position_ids": CallKnowledge(
        error_terms=exact_terms,
        arguments=window_arguments,
        sweep=window_sweep,
        sizes=window_sizes,
        shape=lambda case: (3, case.arguments["stop"] - case.arguments["start"]),
        tied=(("segments", None),),
        invariants={"windows-joined": windows_joined},
        deviations={
            "decoded-by-number": decoded_by_number,
            "decoded-off-by-one": decoded_off_by_one,
            "window-as-text": window_as_text,
            "window-from-zero": window_from_zero,
        },
    ),
}
