"""Position ids: invariants and deviations."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from posenc_conformance.diagnose.predictors import other_conventions, predict_case
from posenc_conformance.judge.arrays import Array, Floats
from posenc_conformance.judge.case import Case, exact_terms
from posenc_conformance.judge.deviation import Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.trial import DrawArguments, InvariantCheck, Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments

Ids = npt.NDArray[np.int64]
LONG = 300
"""More tokens than 8 bits can count."""


def mask_of(lengths: list[int], n: int, side: str) -> Ids:
    """Return the mask of sequences of these lengths, padded to ``n`` tokens on one side."""
    place = np.arange(n)
    if side == "left":
        place = place[::-1]
    return (place < np.array(lengths)[:, None]).astype(np.int64)


def drawn_mask(trial: Trial) -> Ids:
    """Draw the mask of a batch with padding on the left, on the right or scattered.

    A row may be full or empty.
    """
    batch, n = trial.choose("batch", (2, 1, 3, 5)), trial.choose("n", (5, 1, 2, 9, 33))
    side = trial.pick.one_of(("left", "right", "anywhere"))
    if side == "anywhere":
        step = trial.pick.integer(2, 5)
        return ((np.arange(batch)[:, None] + np.arange(n)) % step > 0).astype(np.int64)
    return mask_of([trial.pick.integer(0, n) for _ in range(batch)], n, side)


def padded_arguments(trial: Trial) -> ArgumentDict:
    """Draw an attention mask."""
    return {"attention_mask": drawn_mask(trial)}


def fairseq_arguments(trial: Trial) -> ArgumentDict:
    """Draw an attention mask and a padding index; most models use 1."""
    index = trial.choose("padding_index", (1, 0, 2, 7))
    return {"attention_mask": drawn_mask(trial), "padding_index": index}


def tokens_of(mask: Ids, padding_index: int) -> Ids:
    """Return tokens of a small vocabulary where the mask is 1, and padding elsewhere."""
    row, place = np.indices(mask.shape)
    drawn = (7 * row + 3 * place + row * place) % 9
    return np.where(mask == 1, drawn + (drawn >= padding_index), padding_index)


def token_arguments(trial: Trial) -> ArgumentDict:
    """Draw the tokens of a batch, a padding index and a cache, which may be empty."""
    padded = fairseq_arguments(trial)
    past = trial.choose("past_length", (3, 0, 1, 11, 300))
    return with_tokens(padded["attention_mask"], padded["padding_index"], past)


def with_tokens(mask: Ids, index: int, past: int) -> ArgumentDict:
    """Return arguments with tokens where ``mask`` is 1."""
    return {"input_ids": tokens_of(mask, index), "padding_index": index, "past_length": past}


def packed_arguments(trial: Trial) -> ArgumentDict:
    """Draw the lengths of a few sequences, some of them empty.

    None is empty in the simplest call, because some implementations refuse empty sequences.
    """
    count = trial.choose("sequences", (2, 1, 3, 6))
    lengths = [trial.pick.one_of((3, 0, 1, 2, 5, 9)) for _ in range(count)]
    return {"lengths": np.array(lengths)}


def cached_arguments(trial: Trial) -> ArgumentDict:
    """Draw one or a few new tokens, after an empty or a long cache."""
    q_len = trial.choose("q_len", (3, 1, 2, 8))
    past = trial.choose("past_length", (trial.position(q_len),))
    return {"past_length": past, "q_len": q_len}


def padded_sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Return long sequences, with more left padding in each row."""
    n = parameters.get("n", min(largest, 4095) + 1)
    lengths = [n - row * n // 3 for row in range(parameters.get("batch", 2))]
    return {"attention_mask": mask_of(lengths, n, "left")}


def fairseq_sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Return long sequences, with more left padding in each row, and a padding index."""
    index = parameters.get("padding_index", 1)
    return {**padded_sweep(parameters, largest), "padding_index": index}


def token_sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Return tokens of long sequences, with more left padding in each row, and an empty cache."""
    padded = fairseq_sweep(parameters, largest)
    past = parameters.get("past_length", 0)
    return with_tokens(padded["attention_mask"], padded["padding_index"], past)


def packed_sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Return a long sequence after short ones."""
    count = parameters.get("sequences", 3)
    return {"lengths": np.array([*range(1, count), min(largest, 4095)])}


def cached_sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Reach the last claimed positions."""
    q_len = parameters.get("q_len", min(4, largest + 1))
    return {"past_length": largest + 1 - q_len, "q_len": q_len, **parameters}


def padded_sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield one token, padding at either end and between tokens, long, many and empty sequences."""
    yield {"attention_mask": np.ones((1, 1), dtype=np.int64)}
    yield {"attention_mask": mask_of([3, 5], 7, "right")}
    yield {"attention_mask": np.array([[1, 0, 1, 1, 0, 1], [0, 0, 1, 0, 1, 1]])}
    yield {"attention_mask": mask_of([LONG, 290, 7], LONG, "left")}
    yield {"attention_mask": mask_of([7, LONG, 290], LONG, "right")}
    yield {"attention_mask": mask_of([i % 9 for i in range(70)], 8, "left")}
    yield {"attention_mask": np.zeros((2, 4), dtype=np.int64)}


def token_sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield the tokens of :func:`padded_sizes`, then others after an empty and longer caches."""
    index = case.arguments["padding_index"]
    for change in padded_sizes(case):
        yield with_tokens(change["attention_mask"], index, 3)
    for past in (0, 255, 5000):
        yield with_tokens(mask_of([2, 5], 5, "left"), index, past)


def packed_sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield one token, many sequences, sequences longer than 256 tokens, and no sequence at all."""
    for lengths in ([1], [2, 1] * 70, [LONG, 1, 257], [0, 0], []):
        yield {"lengths": np.array(lengths, dtype=np.int64)}


def cached_sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield empty and long caches, with no, one and many new tokens."""
    for past_length, q_len in ((0, 1), (0, LONG), (5, 0), (255, 3), (1000, 1)):
        yield {"past_length": past_length, "q_len": q_len}


def mask_in(given: Arguments) -> Ids:
    """Return the mask of a call: 1 for a token, 0 for padding."""
    if "input_ids" in given:
        tokens: Ids = (given["input_ids"] != given["padding_index"]).astype(np.int64)
        return tokens
    mask: Ids = given["attention_mask"]
    return mask


def padding_alike(arguments: DrawArguments) -> InvariantCheck:
    """Make a check that all padding has the same position id.

    The id is that of the convention, or the padding index.
    """

    def check(trial: Trial) -> None:
        answer = trial.answer(**arguments(trial))
        values = answer.case.arguments
        number = values.get("padding_index")
        if number is None:
            number = {"zero": 0, "one": 1}[str(answer.case.conventions["padded"])]
        wrong = (mask_in(values) == 0) & (answer.values != number)
        trial.assert_none(answer, wrong, f"padding does not have the number {number}")

    return check


def padding_without_effect(arguments: DrawArguments) -> InvariantCheck:
    """Make a check that tokens have the same position ids as without padding."""

    def check(trial: Trial) -> None:
        chosen = arguments(trial)
        mask = mask_in(chosen)
        name = "input_ids" if "input_ids" in chosen else "attention_mask"
        answer = trial.answer(**chosen)
        expected = answer.values.copy()
        for row, count in enumerate(mask.sum(axis=1)):
            if count:
                alone = {**chosen, name: chosen[name][row : row + 1, mask[row] == 1]}
                expected[row, mask[row] == 1] = trial.answer(**alone).values[0]
        wrong = answer.values != expected
        trial.assert_none(answer, wrong, "padding changes the numbers of tokens")

    return check


def rows_apart(arguments: DrawArguments) -> InvariantCheck:
    """Make a check that sequences do not affect each other.

    Their position ids are the same in a batch in reverse order.
    """

    def check(trial: Trial) -> None:
        chosen = arguments(trial)
        answer = trial.answer(**chosen)
        turned = {**chosen, "attention_mask": chosen["attention_mask"][::-1].copy()}
        wrong = answer.values != trial.answer(**turned).values[::-1]
        trial.assert_none(answer, wrong, "numbers depend on the other sequences of the batch")

    return check


def behind_the_index(trial: Trial) -> None:
    """Check that the first token of a sequence has the id after the padding index."""
    answer = trial.answer(**fairseq_arguments(trial))
    values = answer.case.arguments
    first = values["attention_mask"].cumsum(axis=1) * values["attention_mask"] == 1
    wrong = first & (answer.values != values["padding_index"] + 1)
    trial.assert_none(answer, wrong, "the first token is not numbered next to padding")


def concatenated(trial: Trial) -> None:
    """Check that two lists packed together have the ids of each list packed separately."""
    first, second = (packed_arguments(trial)["lengths"] for _ in range(2))
    answer = trial.answer(lengths=np.concatenate([first, second]))
    parts = [trial.answer(lengths=lengths).values for lengths in (first, second)]
    wrong = answer.values != np.concatenate(parts)
    trial.assert_none(answer, wrong, "sequences that stand before change the numbers of others")


def begins_anew(trial: Trial) -> None:
    """Check that each sequence begins at 0, and that all other steps are by 1.

    There are as many zeros as nonempty sequences.
    """
    answer = trial.answer(**packed_arguments(trial))
    lengths = answer.case.arguments["lengths"]
    starts = (lengths.cumsum() - lengths)[lengths > 0]
    expected = np.append(1, answer.values[:-1] + 1)[: len(answer.values)]
    expected[starts] = 0
    expected[:1] = 0
    wrong = answer.values != expected
    trial.assert_none(answer, wrong, "a sequence does not begin at 0, or does not go on by one")


def as_without_cache(trial: Trial) -> None:
    """Check that new tokens have the same ids as in one pass without a cache."""
    q_len = trial.choose("q_len", (3, 1, 2, 8))
    past = trial.choose("past_length", (trial.pick.integer(0, 40),))
    answer = trial.answer(past_length=past, q_len=q_len)
    whole = trial.answer(past_length=0, q_len=past + q_len)
    wrong = answer.values != whole.values[past:]
    trial.assert_none(answer, wrong, "with a cache tokens have other numbers than without one")


def one_by_one(trial: Trial) -> None:
    """Check that new tokens have the same ids one at a time as together."""
    chosen = cached_arguments(trial)
    past, q_len = chosen["past_length"], chosen["q_len"]
    singles = [(past + i, 1) for i in range(q_len)]
    answer = trial.answer(**chosen)
    alone = [trial.answer(past_length=p, q_len=n).values for p, n in singles]
    wrong = answer.values != np.concatenate(alone)
    trial.assert_none(answer, wrong, "one at a time tokens have other numbers than all at once")


def tokens_as_without_cache(trial: Trial) -> None:
    """Check that tokens have the same ids after a cache as after the cached tokens themselves."""
    chosen = token_arguments(trial)
    past, tokens = chosen["past_length"], chosen["input_ids"]
    answer = trial.answer(**chosen)
    before = tokens_of(np.ones((len(tokens), past), dtype=np.int64), chosen["padding_index"])
    if trial.scope.parameters.get("n"):
        return
    whole = {**chosen, "input_ids": np.concatenate([before, tokens], axis=1), "past_length": 0}
    wrong = answer.values != trial.answer(**whole).values[:, past:]
    trial.assert_none(answer, wrong, "with a cache tokens have other numbers than without one")


def numbered(case: Case) -> tuple[Ids, Any, int]:
    """Return a case's mask, the id of padding and the id of the first token."""
    index = case.arguments.get("padding_index")
    mask = mask_in(case.arguments)
    if index is None:
        return mask, {"zero": 0, "one": 1}[str(case.conventions["padded"])], 0
    return mask, index, index + 1 + case.arguments.get("past_length", 0)


def ids(explanation: str, values: Any) -> Prediction:
    """Return ``values`` as the prediction of a mistake."""
    return Prediction(explanation, np.asarray(values, dtype=np.float64))


def padding_counted(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict tokens numbered by their column, as if there were no padding."""
    mask, padding, first = numbered(case)
    places = np.broadcast_to(first + np.arange(mask.shape[1]), mask.shape)
    yield ids("matches places in the row, padding counted", places)
    filled = np.where(mask == 1, places, padding)
    yield ids("matches places in the row, padding counted and then overwritten", filled)


def left_padding_only(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict column numbers, less the padding before the first token."""
    mask, padding, first = numbered(case)
    started = mask.cumsum(axis=1) > 0
    counted = first - 1 + started.cumsum(axis=1)
    yield ids("matches numbers that go on over padding within", np.where(started, counted, padding))
    filled = np.where(mask == 1, counted, padding)
    yield ids("matches numbers that padding within makes skip", filled)


def padding_unfilled(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict a running count of tokens, with no separate id for padding."""
    mask, _, first = numbered(case)
    counted = mask.cumsum(axis=1) + first - 1
    yield ids("matches a running count, one less before the first token", counted)
    clipped = np.maximum(counted, first)
    yield ids("matches a running count that is cut at the first number", clipped)


def count_shifted(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict a count that starts elsewhere; padding keeps its id or is shifted too."""
    mask, padding, _ = numbered(case)
    for shift in (1, -1, 2):
        moved = np.where(mask == 1, case.truth + shift, padding)
        yield ids(f"matches numbers of tokens shifted by {shift:+d}", moved)
        yield ids(f"matches all numbers shifted by {shift:+d}", case.truth + shift)


def row_shared(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the ids of one sequence in every row."""
    for row, words in ((0, "first"), (-1, "last")):
        same = np.broadcast_to(case.truth[row : row + 1 or None], case.shape)
        yield ids(f"matches the numbers of the {words} sequence in every row", same)


def index_ignored(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict a fixed padding index, or none."""
    claimed = case.arguments["padding_index"]
    mask = case.arguments["attention_mask"]
    counted = mask.cumsum(axis=1) - 1
    yield ids("matches numbers from 0 on, padding 0", np.where(mask == 1, counted, 0))
    yield ids("matches numbers from 0 on, padding 1", np.where(mask == 1, counted, 1))
    for index in (0, 1, 2):
        if index != claimed:
            yield from predict_case(
                case.with_arguments(padding_index=index),
                f"matches padding index {index}; {claimed} was asked for",
            )


def past_ignored(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict ids that ignore the cache."""
    yield from predict_case(case.with_arguments(past_length=0), "matches numbers without a cache")


def past_on_padding(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the length of the cache added to the id of padding as well."""
    mask, padding, _ = numbered(case)
    moved = np.where(mask == 1, case.truth, padding + case.arguments["past_length"])
    yield ids("matches the length of the cache added to the number of padding", moved)


def past_unshifted(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict ids that continue from the length of the cache.

    This is right for calls without a padding index.
    """
    mask, padding, first = numbered(case)
    counted = mask.cumsum(axis=1) + first - 1
    for less in dict.fromkeys((padding, padding + 1)):
        if case.arguments["past_length"]:
            moved = np.where(mask == 1, counted - less, padding)
            yield ids(f"matches numbers behind a cache {less} too low", moved)


def other_padding(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict another token taken for padding.

    Ids start after the right padding index or after that token's index.
    """
    claimed, tokens = case.arguments["padding_index"], case.arguments["input_ids"]
    past = case.arguments["past_length"]
    for index in (0, 1, 2):
        if index != claimed:
            mask = (tokens != index).astype(np.int64)
            words = f"matches token {index} taken for padding; {claimed} was asked for"
            yield ids(words, (mask.cumsum(axis=1) + past) * mask + claimed)
            yield from predict_case(case.with_arguments(padding_index=index), words)


def not_restarted(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict one count over all tokens, or a count that restarts at the wrong places."""
    lengths = case.arguments["lengths"]
    total = int(lengths.sum())
    yield ids("matches one count over all sequences", np.arange(total))
    if lengths.size:
        longest = max(int(lengths.max()), 1)
        yield ids("matches a count that restarts at fixed places", np.arange(total) % longest)


def restarted_beside(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict a count that restarts one token late or starts from 1, or sequence numbers."""
    lengths = case.arguments["lengths"]
    late = np.roll(case.truth, 1)
    late[:1] = 0
    first = int(lengths[lengths > 0][0]) if lengths.any() else 0
    late[:first] = case.truth[:first]
    late[first : first + 1] = first
    yield ids("matches counts that restart one token late", late)
    yield ids("matches counts from 1 on", case.truth + 1)
    yield ids("matches numbers of sequences", np.repeat(np.arange(len(lengths)), lengths))


def from_zero(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict new tokens numbered as if there were no cache."""
    yield ids("matches positions from 0 on, the cache forgotten", np.arange(case.shape[0]))


def cache_miscounted(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict positions shifted by one token, or by the number of new tokens.

    They are shifted always, or only after a cache.
    """
    past, q_len = int(case.arguments["past_length"]), int(case.arguments["q_len"])
    for shift in dict.fromkeys((1, -1, q_len, -q_len)):
        if shift:
            words = f"matches positions shifted by {shift:+d}"
            yield ids(words, case.truth + shift)
            if past:
                yield ids(f"{words} after a cache", case.truth + shift)


def all_alike(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the same position for all new tokens."""
    past, q_len = case.arguments["past_length"], case.arguments["q_len"]
    yield ids("matches the first new position for all", np.full(q_len, past))
    yield ids("matches the last new position for all", np.full(q_len, past + q_len - 1))


def saved_ids(array: Array) -> Iterator[tuple[ArgumentDict, Array]]:
    """Yield the arguments that give an array of consecutive positions."""
    if array.ndim == 1 and array.dtype.kind in "iu" and array[0] >= 0 and len(array) <= 2**22:
        yield {"past_length": int(array[0]), "q_len": len(array)}, array


KNOWLEDGE = {
    "padded_position_ids": CallKnowledge(
        error_terms=exact_terms,
        arguments=padded_arguments,
        sweep=padded_sweep,
        sizes=padded_sizes,
        shape=lambda case: case.arguments["attention_mask"].shape,
        many=lambda case: iter(
            [{"attention_mask": 1 * (np.arange(240) >= np.arange(300)[:, None] % 7)}]
        ),
        invariants={
            "padding-without-effect": padding_without_effect(padded_arguments),
            "padding-alike": padding_alike(padded_arguments),
            "rows-apart": rows_apart(padded_arguments),
        },
        deviations={
            "padded-swapped": other_conventions(
                "padded", "matches {value} for padding; {claimed} was claimed"
            ),
            "padding-counted": padding_counted,
            "left-padding-only": left_padding_only,
            "padding-unfilled": padding_unfilled,
            "row-shared": row_shared,
            "count-shifted": count_shifted,
        },
    ),
    "fairseq_position_ids": CallKnowledge(
        error_terms=exact_terms,
        arguments=fairseq_arguments,
        sweep=fairseq_sweep,
        sizes=padded_sizes,
        shape=lambda case: case.arguments["attention_mask"].shape,
        invariants={
            "fairseq-padding-without-effect": padding_without_effect(fairseq_arguments),
            "fairseq-padding-alike": padding_alike(fairseq_arguments),
            "behind-the-index": behind_the_index,
        },
        deviations={
            "index-ignored": index_ignored,
            "fairseq-padding-counted": padding_counted,
            "fairseq-padding-unfilled": padding_unfilled,
            "fairseq-count-shifted": count_shifted,
        },
    ),
    "token_position_ids": CallKnowledge(
        error_terms=exact_terms,
        arguments=token_arguments,
        sweep=token_sweep,
        sizes=token_sizes,
        shape=lambda case: case.arguments["input_ids"].shape,
        invariants={
            "tokens-padding-without-effect": padding_without_effect(token_arguments),
            "tokens-padding-alike": padding_alike(token_arguments),
            "tokens-as-without-cache": tokens_as_without_cache,
        },
        deviations={
            "past-ignored": past_ignored,
            "past-on-padding": past_on_padding,
            "past-unshifted": past_unshifted,
            "tokens-padding-counted": padding_counted,
            "tokens-index-ignored": other_padding,
        },
        readings=(padding_unfilled,),
    ),
    "packed_position_ids": CallKnowledge(
        error_terms=exact_terms,
        arguments=packed_arguments,
        sweep=packed_sweep,
        sizes=packed_sizes,
        shape=lambda case: (int(case.arguments["lengths"].sum()),),
        invariants={"concatenated": concatenated, "begins-anew": begins_anew},
        deviations={
            "not-restarted": not_restarted,
            "restarted-beside": restarted_beside,
        },
    ),
    "cached_position_ids": CallKnowledge(
        error_terms=exact_terms,
        arguments=cached_arguments,
        sweep=cached_sweep,
        sizes=cached_sizes,
        shape=lambda case: (case.arguments["q_len"],),
        identify=saved_ids,
        many=lambda case: iter([{"q_len": 2**16 + 1}]),
        invariants={"as-without-cache": as_without_cache, "one-by-one": one_by_one},
        deviations={
            "from-zero": from_zero,
            "cache-miscounted": cache_miscounted,
            "all-alike": all_alike,
        },
    ),
}
