"""Attention: bounds, invariants and deviations."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from posenc_conformance.families.lengths import no_sweep
from posenc_conformance.judge.arrays import PRECISE, UNIT_ROUNDOFF, Floats, fine, lattice
from posenc_conformance.judge.bounded import Exact
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.deviation import DeviationModel, Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.trial import InvariantCheck, Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict

Shown = npt.NDArray[np.bool_]

SMALLEST = {
    "float64": 2.0 ** (-1022 + 53),
    "float32": 2.0 ** (-126 + 24),
    "bfloat16": 2.0 ** (-126 + 8),
    "float16": 2.0**-14,
}
"""The scale whose bound is the smallest normal number, since smaller ones may be flushed to zero.

Every machine keeps the subnormal numbers of float16, so that its bound is their step instead.
"""
LARGEST_EXPONENT = 300.0
"""Limit on the exponents of a bound, so that it does not overflow."""
SHARP = 3.0
"""Factor of drawn queries, so that logits differ enough for the weights to differ too."""
HEADS = (2, 4, 8, 12, 16, 32, 40, 64)
"""Usual numbers of heads, tried where a call does not show its own."""
LOW = (-1e4, -1e3, -100.0, -50.0, -20.0, -10.0, -5.0, -1.0)
"""Numbers that stand for minus infinity and are not low enough."""
EPSILONS = (1e-12, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4)
POWERS_OF_2 = (1.0, 1.4, 1.44, 1.443, 1.4427)
"""Wrong factors seen in place of log2(e) = 1.442695…"""


def scale_of(case: Case) -> float:
    """Return the factor on the products of queries and keys."""
    if case.conventions.get("scaling") == "unscaled":
        return 1.0
    return float(case.arguments["q"].shape[-1] ** -0.5)


def products(case: Case) -> Floats:
    """Compute the dot product of every query with every key."""
    q, k = case.arguments["q"], case.arguments["k"]
    return np.asarray(q @ np.swapaxes(k, -1, -2))


def bias_of(case: Case) -> Floats:
    """Return the bias on the logits, or 0 without one."""
    return np.asarray(case.arguments.get("bias", 0.0))


def seen(case: Case, offset: int | None = None) -> Shown:
    """Return the mask of keys that each query may see: for query i those up to ``i + offset``."""
    q_len, k_len = case.arguments["q"].shape[-2], case.arguments["k"].shape[-2]
    every = np.ones((q_len, k_len), dtype=bool)
    if case.conventions["mask"] == "none":
        return every
    return np.tril(every, k_len - q_len if offset is None else offset)


def softmax(logits: Floats, shown: Shown, axis: int = -1) -> Floats:
    """Compute the softmax over the shown entries; rows without shown entries are all 0."""
    largest = np.where(shown, logits, -np.inf).max(axis=axis, keepdims=True)
    largest = np.where(np.isfinite(largest), largest, 0.0)
    powers = np.where(shown, np.exp(np.where(shown, logits - largest, 0.0)), 0.0)
    sums = powers.sum(axis=axis, keepdims=True)
    return np.asarray(powers / np.where(sums > 0, sums, 1.0))


def weight_scale(case: Case, logits: Floats, terms: Floats, shown: Shown) -> Floats:
    """Compute the scale of each weight from ``logits`` and from the magnitudes of their terms."""
    largest = np.where(shown, logits, -np.inf).max(axis=-1, keepdims=True)
    cost = np.where(shown, terms + largest - logits, 0.0)
    weights = softmax(logits, shown)
    mean = (weights * cost).sum(axis=-1, keepdims=True)
    unit = case.scheme.accuracy.rounding * UNIT_ROUNDOFF[case.dtype]
    growth = np.expm1(np.minimum(unit * (cost + mean), LARGEST_EXPONENT)) / unit
    return np.asarray(np.where(shown, weights * (1 + growth) + SMALLEST[case.dtype], 0.0))


def weights_terms(case: Case) -> ErrorTerms:
    """Return the scale of the weights.

    The number of terms of both sums serves as the angle.
    """
    q, k = case.arguments["q"], case.arguments["k"]
    magnitudes = np.abs(q) @ np.swapaxes(np.abs(k), -1, -2)
    hidden = np.isneginf(bias_of(case))
    bias = np.where(hidden, 0.0, bias_of(case))
    logits = products(case) * scale_of(case) + bias
    terms = magnitudes * scale_of(case) + np.abs(bias)
    scale = weight_scale(case, logits, terms, seen(case) & ~hidden)
    return ErrorTerms(scale, np.asarray(float(q.shape[-1] + k.shape[-2])))


def output_terms(case: Case) -> ErrorTerms:
    """Return as scale the magnitudes of the values, weighted by the scale of the weights.

    The angle is that of the weights.
    """
    weights = weights_terms(case)
    return ErrorTerms(weights.scale @ np.abs(case.arguments["v"]), weights.angle)


def lengths(trial: Trial) -> tuple[int, int]:
    """Draw numbers of queries and keys.

    Under a causal mask the queries are the last of the keys.
    """
    k_len = trial.choose("k_len", (5, 2, 3, 9, 17))
    if trial.subject.combination.conventions["mask"] == "causal":
        count = k_len - trial.pick.integer(0, min(3, k_len - 1))
        return trial.choose("q_len", (count,)), k_len
    return trial.choose("q_len", (3, 1, 2, 5, 8)), k_len


def weights_arguments(trial: Trial) -> ArgumentDict:
    """Draw two heads, a few queries and keys."""
    q_len, k_len = lengths(trial)
    head_dim = trial.choose("head_dim", (4, 1, 2, 3, 8, 16))
    return {
        "q": SHARP * fine((2, q_len, head_dim)),
        "k": fine((2, k_len, head_dim), 5),
    }


def output_arguments(trial: Trial) -> ArgumentDict:
    """Draw two heads, a few queries and keys, and values."""
    chosen = weights_arguments(trial)
    v_dim = trial.choose("v_dim", (3, 1, 4, 8, 16))
    return chosen | {"v": fine((*chosen["k"].shape[:-1], v_dim), 7)}


def bias_arguments(trial: Trial) -> ArgumentDict:
    """Draw two heads, a few queries, keys and values, and a bias for each head or for all."""
    chosen = output_arguments(trial)
    leading = trial.pick.one_of(((2,), ()))
    shape = (*leading, chosen["q"].shape[-2], chosen["k"].shape[-2])
    return chosen | {"bias": 2 * fine(shape, 11)}


def sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield a single key, a single query of many keys, many queries, small heads and large ones.

    Biases differ by head, by sequence, by both or by neither.
    """
    for q_len, k_len, head_dim, v_dim in (
        (1, 1, 1, 1),
        (1, 300, 2, 3),
        (130, 130, 1, 1),
        (2, 3, 64, 2),
        (2, 3, 80, 1),
        (3, 3, 2, 130),
        (300, 300, 1, 1),
    ):
        arrays = {"q": (q_len, head_dim), "k": (k_len, head_dim), "v": (k_len, v_dim)}
        arrays |= {"bias": (q_len, k_len)}
        yield {
            name: fine(shape, start)
            for start, (name, shape) in enumerate(arrays.items())
            if name in case.arguments
        }
    if "bias" in case.arguments:  # hide later keys, as ALiBi's bias does, and an earlier one
        hidden = (np.tri(3, 5, 2) == 0) | (np.arange(5) == 1)
        yield {
            **{name: fine(shape) for name, shape in (("q", (3, 2)), ("k", (5, 2)), ("v", (5, 2)))},
            "bias": np.where(hidden, -np.inf, fine((3, 5), 4)),
        }
        # As many texts as heads, so that confusing them does not fail by the shape.
        for leading in ((2,), (2, 1), (1, 2), (2, 2)):
            yield {
                **{name: fine((2, 2, 3, 2), start) for start, name in enumerate(("q", "k", "v"))},
                "bias": fine((*leading, 3, 3), 4),
            }


def rows_sum_to_1(trial: Trial) -> None:
    """Check that the weights of a query add up to 1."""
    y = trial.answer(**weights_arguments(trial))
    trial.assert_zero(y.sum(axis=-1) - 1, "the weights of a query do not add up to 1")


def keys_shifted(trial: Trial) -> None:
    """Check that adding a vector to all keys does not change the weights.

    The vector adds the same number to all logits of a row.
    """
    chosen = weights_arguments(trial)
    keys = lattice(chosen["k"].shape, 5)  # of few bits, so that the sum below is exact
    y, moved = (trial.answer(**(chosen | {"k": array})) for array in (keys, keys + 1))
    trial.assert_zero(moved - y, "adding 1 to every channel of every key changes the weights")


def order_of(rows: Floats) -> npt.NDArray[np.int64]:
    """Return the order that moves the last row to the front."""
    return np.roll(np.arange(rows.shape[-2]), 1)


def keys_permuted(trial: Trial) -> None:
    """Check that permuted keys permute the columns of the weights."""
    chosen = weights_arguments(trial)
    order = order_of(chosen["k"])
    y, turned = trial.answer(**chosen), trial.answer(**(chosen | {"k": chosen["k"][..., order, :]}))
    trial.assert_zero(
        turned - y[..., order], "the weights of permuted keys are not the permuted weights"
    )


def rows_permuted(arguments: Callable[[Trial], ArgumentDict], what: str) -> InvariantCheck:
    """Make a check that permuted queries permute the rows of the result."""

    def check(trial: Trial) -> None:
        chosen = arguments(trial)
        order = order_of(chosen["q"])
        y = trial.answer(**chosen)
        turned = trial.answer(**(chosen | {"q": chosen["q"][..., order, :]}))
        trial.assert_zero(
            turned - y[..., order, :],
            f"the {what} of permuted queries are not the permuted {what}",
        )

    return check


def later_unseen(arguments: Callable[[Trial], ArgumentDict], what: str) -> InvariantCheck:
    """Make a check that rows do not depend on keys and values after their query."""

    def check(trial: Trial) -> None:
        chosen = arguments(trial)
        q_len, k_len = chosen["q"].shape[-2], chosen["k"].shape[-2]
        if q_len < 2:
            return
        row = trial.pick.integer(0, q_len - 2)
        last = k_len - q_len + row + 1
        before, changed = trial.answer(**chosen), dict(chosen)
        for name in ("k", "v"):
            if name in chosen:
                changed[name] = chosen[name].copy()
                changed[name][..., last:, :] = 2 - changed[name][..., last:, :]
        after = trial.answer(**changed)
        wrong = (after.values != before.values)[..., : row + 1, :]
        trial.assert_none(after, wrong, f"keys after query {row} change its {what}")

    return check


def values_permuted_too(trial: Trial) -> None:
    """Check that permuting keys and values together does not change the output."""
    chosen = output_arguments(trial)
    order = order_of(chosen["k"])
    turned = {name: chosen[name][..., order, :] for name in ("k", "v")}
    y, other = trial.answer(**chosen), trial.answer(**(chosen | turned))
    trial.assert_zero(other - y, "keys and values permuted together change the output")


def within_the_values(trial: Trial) -> None:
    """Check that outputs, which are means, lie within the visible values."""
    y = trial.answer(**output_arguments(trial))
    v, shown = y.case.arguments["v"], seen(y.case)
    rows = np.where(shown[:, :, None], v[..., None, :, :], np.nan)
    low, high = np.nanmin(rows, axis=-2), np.nanmax(rows, axis=-2)
    for outside in (y - Exact(high), Exact(low) - y):
        trial.assert_zero(outside.positive(), "an output lies outside of the values seen")


def bias_of_a_row(trial: Trial) -> None:
    """Check that adding a number to a whole row of the bias does not change the output."""
    chosen = bias_arguments(trial)
    bias = lattice(chosen["bias"].shape, 11)  # of few bits, so that the sum below is exact
    y, moved = (trial.answer(**(chosen | {"bias": array})) for array in (bias, bias + 1))
    trial.assert_zero(moved - y, "adding 1 to the bias of every key changes the output")


def no_bias(trial: Trial) -> None:
    """Check that a bias of zeros gives the output of attention without a bias."""
    chosen = bias_arguments(trial)
    y = trial.answer(**(chosen | {"bias": 0 * chosen["bias"]}))
    plain = y.case.scheme.calls["attention"]
    inputs = {name: y.case.arguments[name] for name in ("q", "k", "v")}
    mask = {"mask": y.case.conventions["mask"]}
    expected = Case(y.case.scheme, plain, mask, inputs, y.case.dtype).truth
    trial.assert_zero(y - Exact(expected), "a bias of zeros has an effect")


Weights = Callable[[Case, Floats], Iterator[tuple[str, Floats]]]
"""A function that yields explanations, each with the weights that it predicts."""


def scaled_otherwise(case: Case, got: Floats) -> Iterator[tuple[str, Floats]]:
    """Predict the weights with another factor on the products."""
    head_dim, right = case.arguments["q"].shape[-1], scale_of(case)
    factors = {
        "no division by sqrt(head_dim)": 1.0,
        "division by sqrt(head_dim), where there is none": head_dim**-0.5,
        "division by head_dim, or twice by its root": head_dim**-1.0,
        "division by the fourth root of head_dim": head_dim**-0.25,
        "multiplication by sqrt(head_dim)": head_dim**0.5,
    }
    heads = case.arguments["q"].shape[-3] if case.arguments["q"].ndim > 2 else 0
    for count in dict.fromkeys((heads, *HEADS)):
        if count > 1:
            words = f"division by sqrt({count * head_dim}), as of {count} heads together"
            factors[words] = (count * head_dim) ** -0.5
    for words, factor in factors.items():
        if factor != right:
            logits = products(case) * factor + bias_of(case)
            yield f"matches {words}", softmax(logits, seen(case))


def logits_of(case: Case) -> Floats:
    """Compute the right logits."""
    return np.asarray(products(case) * scale_of(case) + bias_of(case))


def masked_at_start(case: Case, got: Floats) -> Iterator[tuple[str, Floats]]:
    """Predict the weights with the mask in the upper left corner."""
    if case.conventions["mask"] == "causal" and seen(case).shape[0] < seen(case).shape[1]:
        weights = softmax(logits_of(case), seen(case, 0))
        yield "matches a causal mask that begins at the first key", weights


def masked_off_by_one(case: Case, got: Floats) -> Iterator[tuple[str, Floats]]:
    """Predict the weights with one key more, or one fewer.

    The weights of a query without keys are all 0, or all equal.
    """
    if case.conventions["mask"] == "none":
        return
    q_len, k_len = seen(case).shape
    logits = logits_of(case)
    more = seen(case, k_len - q_len + 1)
    yield "matches queries that see one key too many", softmax(logits, more)
    few = seen(case, k_len - q_len - 1)
    weights = softmax(logits, few)
    text = "matches queries that do not see their own key"
    yield text, weights
    yield text, np.where(few.any(axis=-1, keepdims=True), weights, 1 / k_len)


def unmasked(case: Case, got: Floats) -> Iterator[tuple[str, Floats]]:
    """Predict the weights with all keys visible."""
    if case.conventions["mask"] == "causal":
        every = np.ones_like(seen(case))
        yield "matches attention without a mask", softmax(logits_of(case), every)


def masked_after(case: Case, got: Floats) -> Iterator[tuple[str, Floats]]:
    """Predict the weights of hidden keys set to 0 after a softmax over all keys."""
    if case.conventions["mask"] == "causal":
        weights = softmax(logits_of(case), np.ones_like(seen(case)))
        yield "matches a mask after the softmax", np.where(seen(case), weights, 0.0)


def masked_finitely(case: Case, got: Floats) -> Iterator[tuple[str, Floats]]:
    """Predict the weights with hidden logits that are low but finite."""
    every, logits = np.ones_like(seen(case)), logits_of(case)
    for low in LOW:
        for change, hidden in (("replaced", low), ("lowered", logits + low)):
            weights = softmax(np.where(seen(case), logits, hidden), every)
            yield f"matches hidden logits {change} by {low:g}", weights


def mask_multiplied(case: Case, got: Floats) -> Iterator[tuple[str, Floats]]:
    """Predict hidden logits of 0, as of a mask that logits are multiplied by."""
    logits = np.where(seen(case), logits_of(case), 0.0)
    yield "matches hidden logits of 0, which a softmax counts", softmax(logits, logits > -np.inf)


def biased_finitely(case: Case, got: Floats) -> Iterator[tuple[str, Floats]]:
    """Predict a low number for minus infinity in the bias, and perhaps in the mask as well."""
    logits, shown = logits_of(case), seen(case)
    hidden = np.isneginf(bias_of(case))
    if not shown.all():
        yield "matches a bias without the mask beside it", softmax(logits, logits > -np.inf)
    for low in (*LOW, 0.0) if hidden.any() else ():
        of_bias = products(case) * scale_of(case) + np.where(hidden, low, bias_of(case))
        yield f"matches a bias of {low:g} where it is minus infinity", softmax(of_bias, shown)
        if not shown.all():
            words = f"matches a bias of {low:g} where it is minus infinity, and no mask"
            yield words, softmax(of_bias, np.ones_like(shown))
        every = np.where(hidden | ~shown, low, logits)
        yield f"matches hidden logits replaced by {low:g}", softmax(every, every > -np.inf)


def keys_tiled(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict heads of grouped queries whose keys, values, or both are repeated as a whole.

    Where every key head stands for a group of query heads, its copies follow one another.
    """
    k, v = case.arguments["k"], case.arguments.get("v")
    if k.ndim < 3:
        return
    heads = k.shape[-3]
    for group in range(heads // 2, 1, -1):
        first = np.arange(heads) // group * group
        both = [each for each in (k, v) if each is not None]
        if heads % group or any((each[..., first, :, :] != each).any() for each in both):
            continue
        order = np.arange(heads) % (heads // group) * group
        for what in (("k", "v"), ("k",), ("v",)) if v is not None else (("k",),):
            other = {name: case.arguments[name][..., order, :, :] for name in what}
            names = " and ".join("keys" if name == "k" else "values" for name in what)
            words = (
                f"matches {names} of {heads // group} heads tiled, 0, 1, … and again from 0, where "
                f"each is repeated {group} times in a row"
            )
            yield Prediction(words, case.with_arguments(**other).truth)
        return


def epsilon_added(case: Case, got: Floats) -> Iterator[tuple[str, Floats]]:
    """Predict the weights with a denominator that is a little too large."""
    logits, shown = logits_of(case), seen(case)
    weights = softmax(logits, shown)
    sums = 1 / weights.max(axis=-1, keepdims=True)
    for epsilon in EPSILONS:
        yield f"matches {epsilon:g} added to the sum", weights * sums / (sums + epsilon)


def padded_keys(case: Case, shares: Floats) -> Iterator[tuple[str, Floats]]:
    """Predict the weights of a softmax over more keys, of score 0, that only its sum counts.

    Their number follows from the part of the right weights that each row has: ``shares``.
    """
    logits, shown = logits_of(case), seen(case)
    largest = np.where(shown, logits, -np.inf).max(axis=-1, keepdims=True)
    weights = softmax(logits, shown)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        sums = largest + np.log(1 / weights.max(axis=-1, keepdims=True))  # their logarithms
        counts = np.exp(sums) * (1 / shares - 1)
    usable = np.isfinite(counts) & (shares < 1)
    if not usable.any():
        return
    # A number is read best where these keys have most of the weight.
    count = round(float(counts.ravel()[np.where(usable, shares, np.inf).argmin()]))
    if count < 1:
        return
    with np.errstate(over="ignore", invalid="ignore"):
        wrong = weights / (1 + count * np.exp(-sums))
    keys = shown.shape[1]
    more = f"padding up to {keys + count} keys" if count > 1 else "one more key"
    for words in (f"{more}, of score 0,", "keys of score 0 behind the last one, such as padding,"):
        yield f"matches {words} counted in the sum of each softmax", wrong


def weights_padded(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict weights that padding makes smaller: a row adds up to less than 1."""
    if case.dtype in PRECISE and got.shape == case.shape and got.size:
        for explanation, weights in padded_keys(case, got.sum(axis=-1, keepdims=True)):
            yield Prediction(explanation, weights)


def output_padded(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the output of weights that padding makes smaller, by one factor for each row."""
    if case.dtype in PRECISE and got.shape == case.shape and got.size:
        truth = case.with_arguments().truth
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = (got * truth).sum(-1, keepdims=True) / (truth**2).sum(-1, keepdims=True)
        for explanation, weights in padded_keys(case, shares):
            yield Prediction(explanation, weights @ case.arguments["v"])


def other_exponential(case: Case, got: Floats) -> Iterator[tuple[str, Floats]]:
    """Predict the weights with powers of two instead of exponentials."""
    for factor in POWERS_OF_2:
        logits = logits_of(case) * factor * np.log(2)
        yield f"matches 2^({factor:g} x) for exp(x)", softmax(logits, seen(case))


def over_queries(case: Case, got: Floats) -> Iterator[tuple[str, Floats]]:
    """Predict a softmax over the axis of the queries."""
    yield "matches a softmax over the queries", softmax(logits_of(case), seen(case), axis=-2)


def biased_before_scaling(case: Case, got: Floats) -> Iterator[tuple[str, Floats]]:
    """Predict the weights with the bias divided like the products."""
    logits = (products(case) + bias_of(case)) * scale_of(case)
    yield "matches a bias added before the division", softmax(logits, seen(case))


def unbiased(case: Case, got: Floats) -> Iterator[tuple[str, Floats]]:
    """Predict the weights without the bias."""
    logits = products(case) * scale_of(case)
    yield "matches attention without the bias", softmax(logits, seen(case))


def negatively_biased(case: Case, got: Floats) -> Iterator[tuple[str, Floats]]:
    """Predict the weights with the bias of the opposite sign."""
    logits = products(case) * scale_of(case) - bias_of(case)
    yield "matches a bias of the opposite sign", softmax(logits, seen(case))


def as_weights(wrong: Weights) -> DeviationModel:
    """Make a model that predicts the wrong weights themselves."""

    def models(case: Case, got: Floats) -> Iterator[Prediction]:
        for explanation, weights in wrong(case, got):
            yield Prediction(explanation, weights)

    return models


def as_low_weights(wrong: Weights) -> DeviationModel:
    """Make a model of wrong weights of hidden keys, which round to the smallest number."""

    def models(case: Case, got: Floats) -> Iterator[Prediction]:
        smallest = SMALLEST[case.dtype] * UNIT_ROUNDOFF[case.dtype]
        least = case.bound + np.where(seen(case), 0.0, smallest)
        for prediction in as_weights(wrong)(case, got):
            yield replace(prediction, bound=least)

    return models


def as_output(wrong: Weights) -> DeviationModel:
    """Make a model that predicts the output that wrong weights give."""

    def models(case: Case, got: Floats) -> Iterator[Prediction]:
        for explanation, weights in wrong(case, got):
            yield Prediction(explanation, weights @ case.arguments["v"])

    return models


KNOWLEDGE = {
    "attention_weights": CallKnowledge(
        error_terms=weights_terms,
        arguments=weights_arguments,
        sweep=no_sweep,
        sizes=sizes,
        batched=("q", "k"),
        invariants={
            "rows-sum-to-1": rows_sum_to_1,
            "keys-shifted": keys_shifted,
            "keys-permuted": keys_permuted,
            "queries-permuted": rows_permuted(weights_arguments, "weights"),
            "later-keys-unseen": later_unseen(weights_arguments, "weights"),
        },
        deviations={
            "scale-wrong": as_weights(scaled_otherwise),
            "mask-at-start": as_weights(masked_at_start),
            "mask-shifted": as_weights(masked_off_by_one),
            "mask-ignored": as_weights(unmasked),
            "mask-after-softmax": as_weights(masked_after),
            "finite-mask": as_low_weights(masked_finitely),
            "epsilon-in-sum": as_weights(epsilon_added),
            "exponential-wrong": as_weights(other_exponential),
            "softmax-over-queries": as_weights(over_queries),
        },
        readings=(weights_padded, as_weights(mask_multiplied), keys_tiled),
    ),
    "attention": CallKnowledge(
        error_terms=output_terms,
        arguments=output_arguments,
        sweep=no_sweep,
        sizes=sizes,
        batched=("q", "k", "v"),
        invariants={
            "values-permuted-too": values_permuted_too,
            "outputs-permuted": rows_permuted(output_arguments, "outputs"),
            "later-values-unseen": later_unseen(output_arguments, "output"),
            "within-the-values": within_the_values,
        },
        deviations={
            "scale-wrong": as_output(scaled_otherwise),
            "mask-at-start": as_output(masked_at_start),
            "mask-shifted": as_output(masked_off_by_one),
            "mask-ignored": as_output(unmasked),
            "attention-mask-after-softmax": as_output(masked_after),
            "exponential-wrong": as_output(other_exponential),
            "attention-softmax-over-queries": as_output(over_queries),
        },
        readings=(
            output_padded,
            as_output(masked_finitely),
            as_output(mask_multiplied),
            keys_tiled,
        ),
    ),
    "attention_with_bias": CallKnowledge(
        error_terms=output_terms,
        arguments=bias_arguments,
        sweep=no_sweep,
        sizes=sizes,
        batched=("q", "k", "v", "bias"),
        invariants={"bias-of-a-row": bias_of_a_row, "no-bias": no_bias},
        deviations={
            "bias-before-scaling": as_output(biased_before_scaling),
            "bias-ignored": as_output(unbiased),
            "bias-negated": as_output(negatively_biased),
            "bias-scale-wrong": as_output(scaled_otherwise),
            "mask-at-start": as_output(masked_at_start),
        },
        readings=(output_padded, as_output(biased_finitely), keys_tiled),
    ),
}
