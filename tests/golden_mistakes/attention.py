"""The mistake that each golden of attention alone catches."""

import numpy as np

from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from posenc_conformance.schemes.attention import logits_of, seen, softmax
from tests.golden_mistakes.common import Mistake, power_of_two_from, right


def output(case: Case, weights: Array) -> Array:
    """The weights themselves, or what they make of the values."""
    return weights @ case.arguments["v"] if "v" in case.arguments else weights


def root_of_padded_head(case: Case) -> Array:
    """Division by the root of the next power of two of channels."""
    head_dim = case.arguments["q"].shape[-1]
    factor = np.sqrt(head_dim / power_of_two_from(head_dim))
    return case.changed(q=case.arguments["q"] * factor).truth


def overflowing(case: Case) -> Array:
    """Exponentials of the logits as they are."""
    with np.errstate(over="ignore", invalid="ignore"):
        powers = np.where(seen(case), np.exp(logits_of(case)), 0.0)
        return output(case, powers / powers.sum(axis=-1, keepdims=True))


def masked_at_start(case: Case) -> Array:
    """A mask in the upper left corner."""
    return output(case, softmax(logits_of(case), seen(case, 0)))


def masked_at_start_unless_single(case: Case) -> Array:
    """The same, but none for a single query."""
    return right(case) if case.arguments["q"].shape[-2] == 1 else masked_at_start(case)


def finite_mask(case: Case) -> Array:
    """Hidden logits of -10000."""
    logits = np.where(seen(case), logits_of(case), -1e4)
    return output(case, softmax(logits, np.ones_like(seen(case))))


def first_of_batch(name: str) -> Mistake:
    """What the first element of a batch has serves for all; bias has two axes if shared."""

    def mistake(case: Case) -> Array:
        array = case.arguments[name]
        return case.changed(**{name: array * 0 + array[0]}).truth if array.ndim > 2 else right(case)

    return mistake


def keys_up_to(count: int | None) -> Mistake:
    """Only the first keys, as many as there are queries or a block holds."""

    def mistake(case: Case) -> Array:
        some = count or case.arguments["q"].shape[-2]
        shown = seen(case) & (np.arange(seen(case).shape[-1]) < some)
        return output(case, softmax(logits_of(case), shown))

    return mistake


def scaled(case: Case) -> Array:
    """Division by the root of head_dim, as everywhere else."""
    return case.under(scaling="root").truth


MISTAKES: dict[str, Mistake] = {
    "weights-3-of-4": root_of_padded_head,
    "weights-large-logits": overflowing,
    "weights-causal-2-of-5": masked_at_start,
    "weights-causal-small-logits": finite_mask,
    "two-sentences": first_of_batch("k"),
    "cross-2-of-3": keys_up_to(None),
    "large-logits": overflowing,
    "two-sentences-causal": first_of_batch("k"),
    "causal-2-of-5": masked_at_start_unless_single,
    "causal-1-of-300": keys_up_to(256),
    "bias-of-each-head": first_of_batch("bias"),
    "bias-2-of-4": masked_at_start,
    "bias-unscaled": scaled,
}
