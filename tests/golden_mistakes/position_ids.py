"""The mistake that each golden of position ids alone catches."""

from collections.abc import Callable

import numpy as np

from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from tests.golden_mistakes.common import Mistake, right


def left_counted(case: Case) -> Array:
    """Padding before the first token counted."""
    mask = case.arguments["attention_mask"]
    leading = (mask.cumsum(axis=1) == 0).sum(axis=1, keepdims=True)
    return right(case) + leading * mask


def right_running(case: Case) -> Array:
    """Padding after the last token given that token's number."""
    mask = case.arguments["attention_mask"]
    trailing = mask[:, ::-1].cumsum(axis=1)[:, ::-1] == 0
    return np.where(trailing, mask.sum(axis=1, keepdims=True) - 1, right(case))


def within_counted(case: Case) -> Array:
    """Padding between tokens counted."""
    mask = case.arguments["attention_mask"]
    counted = (mask.cumsum(axis=1) > 0).cumsum(axis=1) - 1
    return np.where(mask == 1, counted, right(case))


def left_zero(case: Case) -> Array:
    """0 for padding before the first token."""
    return np.where(case.arguments["attention_mask"].cumsum(axis=1) == 0, 0, right(case))


def padding_zero(case: Case) -> Array:
    """0 for padding, whatever its index is."""
    return right(case) * case.arguments["attention_mask"]


def index_or_one(case: Case) -> Array:
    """A padding index of 0 taken for none given."""
    return case.changed(padding_index=case.arguments["padding_index"] or 1).truth


def joined(where: Callable[[Array], Array]) -> Mistake:
    """Some sequences joined to the one before."""

    def mistake(case: Case) -> Array:
        lengths = case.arguments["lengths"]
        groups = np.cumsum(~where(lengths))
        merged = np.bincount(groups, weights=lengths).astype(np.int64)
        return case.changed(lengths=merged).truth

    return mistake


def after_an_empty_one(lengths: Array) -> Array:
    """Whether the sequence before is empty, or this one is."""
    before = np.append(1, lengths[:-1])
    return (before == 0) | (lengths == 0)


def at_the_first_position(case: Case) -> Array:
    """All new tokens where the first one belongs."""
    return right(case)[:1].repeat(case.arguments["q_len"])


def cache_of_one_at_least(case: Case) -> Array:
    """An empty cache taken for one token."""
    return case.changed(past_length=max(case.arguments["past_length"], 1)).truth


MISTAKES: dict[str, Mistake] = {
    "zero-left": left_counted,
    "zero-right": right_running,
    "zero-within": within_counted,
    "one-left": left_zero,
    "one-right": right_running,
    "index-1": padding_zero,
    "index-0": index_or_one,
    "packed-3-1-4": joined(lambda lengths: lengths == 1),
    "packed-with-an-empty-one": joined(after_an_empty_one),
    "cached-5-and-3": at_the_first_position,
    "cached-0-and-1": cache_of_one_at_least,
    "cached-1000-and-1": lambda case: right(case) % 256,
}
