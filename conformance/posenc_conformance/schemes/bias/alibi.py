"""Linear biases: bounds, invariants and deviations."""

from collections.abc import Iterator

import numpy as np

from posenc_conformance.diagnose.predictors import other_conventions
from posenc_conformance.families.biases import (
    averaged,
    distance_shifted,
    last_queries,
    negated,
    pairs,
    queries_from_zero,
    toeplitz,
    with_gradient,
)
from posenc_conformance.families.lengths import Integers, lags, lengths, no_sweep
from posenc_conformance.families.linearity import linear_in
from posenc_conformance.judge.arrays import Array, Floats, fine, round_to
from posenc_conformance.judge.bounded import ARITHMETIC, Exact
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.deviation import Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments

HEADS = (8, 1, 2, 3, 4, 6, 7, 12, 16)
RANKS = (2, 4, 8, 16)
"""Numbers of ranks between which heads may be divided."""


def error_terms(case: Case) -> ErrorTerms:
    """Return the magnitude of the value as scale.

    The exponent of the ratio serves as the angle.
    """
    scale = np.where(np.isfinite(case.truth), np.abs(case.truth), 0.0)
    powers = ratio_powers(case)
    return ErrorTerms(scale, powers if case.call.kind == "slopes" else powers[:, None, None])


def vjp_error_terms(case: Case) -> ErrorTerms:
    """Return the sum of the terms' magnitudes as scale.

    The number of terms serves as the angle.
    """
    products = np.abs(case.arguments["gradient"] * distances(case))
    number = float(np.count_nonzero(distances(case)))
    return ErrorTerms(products.sum(axis=(1, 2)), np.asarray(number))


def distances(case: Case, form: str | None = None) -> Floats:
    """Return the factors on the slopes, which are the bias for a slope of 1.

    They are 0 where a mask hides the key.
    """
    lag = lags(case)
    key = np.broadcast_to(np.arange(case.parameter("k_len")), lag.shape)
    return np.asarray(
        {
            "causal": np.minimum(-lag, 0),
            "symmetric": -np.abs(lag),
            "first-key": key,
            "last-key": key - (case.parameter("k_len") - 1),
            "key-from-1": key + 1,
        }[form or str(case.conventions["form"])],
        dtype=np.float64,
    )


def ratio_powers(case: Case) -> Floats:
    """Return the exponent of each slope as a power of its progression's ratio."""
    heads = int(case.arguments["heads"])
    first = leading_heads(case)
    interpolated = np.arange(heads - first)
    return np.concatenate([np.arange(1, first + 1), 2 * interpolated + 1]).astype(np.float64)


def slopes_arguments(trial: Trial) -> ArgumentDict:
    """Draw a number of heads."""
    return {"heads": trial.choose("heads", (*HEADS, 20, 32, 33, 40, 64))}


def bias_arguments(trial: Trial) -> ArgumentDict:
    """Draw a few heads, queries and keys."""
    return lengths(trial, heads=HEADS)


def vjp_arguments(trial: Trial) -> ArgumentDict:
    """Draw an upstream gradient for a few heads, queries and keys."""
    chosen = bias_arguments(trial)
    return with_gradient(chosen, chosen.pop("heads"))


def vjp_sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield many heads, no queries (empty sums), and more queries than one block."""
    for heads in (1, 7, 33, 112):
        yield {"gradient": fine((heads, 2, 5))}
    yield {"gradient": fine((2, 0, 3))}
    yield {"gradient": fine((1, 130, 130))}


def bias_sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Place one query at the end of more keys than a signed 16-bit integer can count."""
    k_len = min(largest, 2**15) + 2
    return {"heads": 3, "q_len": 1, "k_len": k_len, **parameters}


def heads_sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield numbers of heads, powers of two and others, up to those of the largest models."""
    return (
        {"heads": heads}
        for heads in (*range(1, 18), 20, 24, 25, 32, 33, 40, 48, 64, 71, 80, 96, 112, 128)
    )


def bias_sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield many heads, and many queries."""
    heads = (1, 2, 3, 5, 7, 9, 12, 16, 20, 25, 40, 71, 112)
    yield from ({"heads": count, "q_len": 1, "k_len": 3} for count in heads)
    yield {"heads": 1, "q_len": 600, "k_len": 600}


def below_power(heads: int) -> int:
    """Find the largest power of two that is not above ``heads``."""
    return int(2 ** (heads.bit_length() - 1))


def leading_heads(case: Case) -> int:
    """Count the slopes, from the first on, that form one geometric progression."""
    heads = int(case.arguments["heads"])
    return heads if case.conventions["head_rule"] == "uniform" else below_power(heads)


def geometric(trial: Trial) -> None:
    """Check that slopes are powers of the first one: m_h = m_1 ** h.

    For a number of heads that is a power of two, or with the uniform rule, this holds for all
    slopes; otherwise for those up to the power of two below it.
    """
    y = trial.answer(**slopes_arguments(trial))
    y = y[: leading_heads(y.case)]
    trial.assert_zero(
        y[:-1] * y[0] - y[1:],
        "the slopes are not a geometric progression whose ratio is the first one",
    )


def slope_product(trial: Trial) -> None:
    """Check that for n a power of two the slopes multiply to 2 ** (-4 (n + 1))."""
    answer = trial.answer(**slopes_arguments(trial))
    heads = leading_heads(answer.case)
    y, e = answer.values[:heads], answer.bound[:heads]
    with np.errstate(divide="ignore", invalid="ignore"):
        total = np.log2(np.abs(y)).sum()
        bound = (-np.log2(np.maximum(1 - e / np.abs(y), 0))).sum() + ARITHMETIC * np.abs(total)
    trial.assert_within(
        answer,
        np.asarray([total + 4 * (heads + 1)]),
        np.asarray([bound]),
        f"the logarithms of the first {heads} slopes do not add up to {-4 * (heads + 1)}",
    )


def interpolation(trial: Trial) -> None:
    """Check that slopes beyond a power of two P are every second slope of 2P heads."""
    heads = slopes_arguments(trial)["heads"]
    few, twice = below_power(heads), 2 * below_power(heads)
    y, small, large = (trial.answer(heads=number) for number in (heads, few, twice))
    text = f"the slopes of {heads} heads are not those of {few}, then every second of {twice}"
    trial.assert_zero(y[:few] - small, text)
    trial.assert_zero(y[few:] - large[0::2][: heads - few], text)


def row_constant(trial: Trial) -> None:
    """Check that all queries have the same bias row.

    A row differs from that of the causal form by a constant.
    """
    y = trial.answer(**bias_arguments(trial))
    trial.assert_zero(y[:, 1:] - y[:, :-1], "the rows of the bias differ")


def zero_place(trial: Trial) -> None:
    """Check that the bias is exactly 0 at the key from which the form counts."""
    y = trial.answer(**bias_arguments(trial))
    wrong = (y.case.truth == 0) & (y.values != 0)
    trial.assert_none(y, wrong, "the bias is not 0 where it should be")


def straight(trial: Trial) -> None:
    """Check that the second difference along the keys vanishes on either side of the query."""
    y = trial.answer(**bias_arguments(trial))
    bent = (lags(y.case) == 0) & (y.case.conventions["form"] == "symmetric")
    second = y[..., 2:] - 2 * y[..., 1:-1] + y[..., :-2]
    trial.assert_zero(
        second.where(~bent[:, 1:-1]), "the bias is not a straight line along the keys"
    )


def symmetric(trial: Trial) -> None:
    """Check that exchanging query and key does not change the bias."""
    chosen = bias_arguments(trial)
    chosen["q_len"] = trial.choose("q_len", (chosen["k_len"],))
    if chosen["q_len"] == chosen["k_len"]:
        y = trial.answer(**chosen)
        trial.assert_zero(y - y.swapped(1, 2), "the bias is not symmetric in query and key")


def vjp_of_slopes(trial: Trial) -> None:
    """Check the gradient of the slopes for an upstream gradient that is a bias of equal slopes.

    It must be the slope times the sum of squared distances.
    """
    chosen = vjp_arguments(trial)
    case = trial.case(**chosen)
    slope = 1 / max(case.parameter("k_len"), 1)  # small enough for float16
    unit = np.broadcast_to(slope * distances(case), chosen["gradient"].shape)
    y = trial.answer(gradient=unit)
    expected = (y.given("gradient") * Exact(distances(case))).sum(axis=(1, 2))
    trial.assert_zero(y - expected, "the derivative by a slope is not the distance")


def slopes_models(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict slopes from other rules found in the wild."""
    heads = case.arguments["heads"]
    h = np.arange(1, heads + 1)
    right = np.abs(case.truth)
    yield Prediction("matches 2^(-8h/n) counted from h = 0", 2.0 ** (-8 * (h - 1) / heads))
    above = 2 * below_power(heads)
    yield Prediction(
        f"matches 2^(-8h/{above}): the slopes of the next power of two, {above}, in order",
        2.0 ** (-8 * h / above),
    )
    yield Prediction(
        f"matches 2^(-8h/{above}) counted from h = 0: the slopes of the next power of two, {above}",
        2.0 ** (-8 * (h - 1) / above),
    )
    yield Prediction("matches the slopes in reverse order", right[::-1])
    yield Prediction("matches the slopes sorted", np.sort(right)[::-1])
    yield Prediction("matches slopes with the sign flipped", -case.truth)
    yield from every_second_slope(heads)
    yield from slopes_of_ranks(heads)
    yield Prediction(
        "matches 2^(-8h/n) with n in place of the power of two below it in the second part",
        np.concatenate(
            [
                2.0 ** (-8 * np.arange(1, below_power(heads) + 1) / below_power(heads)),
                2.0 ** (-4 * (2 * np.arange(1, heads - below_power(heads) + 1) - 1) / heads),
            ]
        ),
    )


def slopes_of_ranks(heads: int) -> Iterator[Prediction]:
    """Predict slopes that each rank of a few computes for its own heads, as if they were all."""
    for ranks in RANKS:
        own, rest = divmod(heads, ranks)
        if own and not rest:
            few = below_power(own)
            more = 2.0 ** (-4 * np.arange(1, 2 * (own - few) + 1, 2) / few)
            each = np.concatenate([2.0 ** (-8 * np.arange(1, few + 1) / few), more])
            yield Prediction(
                f"matches the slopes of {own} heads {ranks} times, as of {ranks} ranks that each "
                "count their own heads alone",
                np.tile(each, ranks),
            )


def every_second_slope(heads: int) -> Iterator[Prediction]:
    """Predict slopes of which every second one of twice as many is taken, from the wrong one on."""
    few, twice = below_power(heads), 2 * below_power(heads)
    small, large = (2.0 ** (-8 * np.arange(1, n + 1) / n) for n in (few, twice))
    counted, doubled = (2.0 ** (-8 * np.arange(n) / n) for n in (few, twice))
    yield Prediction(
        f"matches the slopes of {few} and of {twice} heads counted from h = 0",
        np.concatenate([counted, doubled[::2][: heads - few]]),
    )
    yield Prediction(
        f"matches the first slopes of {twice} heads, not every second one, for those beyond {few}",
        np.concatenate([small, large[: heads - few]]),
    )
    yield Prediction(
        f"matches every second slope of {twice} heads from the second on, for those beyond {few}",
        np.concatenate([small, large[1::2][: heads - few]]),
    )
    if heads > few:
        odd = large[::2][: heads - few]
        yield Prediction(
            f"matches every second slope of {twice} heads before those of {few}, not behind them",
            np.concatenate([odd, small]),
        )
        yield Prediction(
            f"matches every second slope of {twice} heads from the first on, and then the others",
            np.concatenate([large[::2], large[1::2]])[:heads],
        )
    even = 2.0 ** (-8 * np.arange(1, 2 * heads + 1) / (2 * heads))
    listed = np.concatenate([large, 2.0 ** (-4 * np.arange(1, 2 * twice, 2) / twice)])[: 2 * heads]
    for rule, slopes in (("2^(-8h/n) for", even), ("the slopes of", listed)):
        for first, start in (("first", 0), ("second", 1)):
            yield Prediction(
                f"matches every second one of {rule} {2 * heads} heads, from the {first} on",
                slopes[start::2],
            )


def narrow_slopes(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict slopes rounded to a narrow dtype, regardless of the call's dtype."""
    for dtype in ("bfloat16", "float16"):
        yield Prediction(f"matches slopes rounded to {dtype}", round_to(case.truth, dtype))


def narrow_bias(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict slopes, and their products with distances, rounded to a narrow dtype."""
    right = slope_of_each_head(case)[:, None, None]
    distance = distances(case)
    for dtype in ("bfloat16", "float16"):
        near = round_to(distance, dtype)
        # A power of two only moves the exponent: products round as distances do.
        if np.array_equal(round_to(right * distance, dtype), right * near):
            words = f"matches distances, or their products with slopes, rounded to {dtype}"
            yield Prediction(words, right * near)
        for prefix, steps in (("", distance), ("distances, ", near)):
            product = round_to(round_to(right, dtype) * steps, dtype)
            yield Prediction(f"matches {prefix}slopes and products rounded to {dtype}", product)


def narrow_distances(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict distances alone rounded to a narrow dtype."""
    for dtype in ("bfloat16", "float16"):
        near = round_to(distances(case), dtype)
        yield Prediction(
            f"matches distances alone rounded to {dtype}",
            slope_of_each_head(case)[:, None, None] * near,
        )


def narrow_positions(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict positions, and perhaps their differences, rounded to a narrow dtype."""
    places = np.arange(float(case.parameter("k_len")))
    slopes = slope_of_each_head(case)[:, None, None]
    for dtype in ("bfloat16", "float16"):
        if len(places) - 1 > np.finfo(np.float16).max and dtype == "float16":
            continue  # positions would be infinite
        near = round_to(places, dtype)
        lag, key = near[-case.parameter("q_len") :, None] - near, near - near[-1]
        steps = {
            "causal": np.minimum(-lag, 0),
            "symmetric": -np.abs(lag),
            "first-key": near + 0 * lag,
            "last-key": key + 0 * lag,
            "key-from-1": round_to(places + 1, dtype) + 0 * lag,
        }[str(case.conventions["form"])]
        for words, step in (("", steps), (" and distances", round_to(steps, dtype))):
            yield Prediction(f"matches positions{words} in {dtype}", slopes * step)


def slope_of_each_head(case: Case) -> Floats:
    """Return the slopes that the case's head rule gives."""
    return slopes_of(case).truth


def slopes_of(case: Case) -> Case:
    """Return the case of the slopes that a bias case uses."""
    rule = {"head_rule": case.conventions["head_rule"]}
    heads = {"heads": case.arguments["heads"]}
    return Case(case.scheme, case.scheme.calls["alibi_slopes"], rule, heads, case.dtype)


def bias_slopes_models(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict a bias with the wrong slopes of ``slopes_models``."""
    right = slopes_of(case)
    for model in slopes_models(right, got):
        ratio = model.output / right.truth
        yield Prediction(model.explanation, case.truth * ratio[:, None, None])


other_forms = other_conventions("form", "matches the {value} form; {claimed} was claimed")


def form_swapped(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict another form, with and without its mask."""
    yield from other_forms(case, got)
    slopes, claimed = slope_of_each_head(case)[:, None, None], case.conventions["form"]
    for form in case.scheme.conventions["form"].values:
        if form not in (claimed, "causal"):
            words = f"matches the {form} form; {claimed} was claimed"
            yield Prediction(words, slopes * distances(case, str(form)))
    yield Prediction("matches m (j - i) on both sides of the query", slopes * -lags(case))


def from_queries(case: Case, query: Integers) -> Iterator[Floats]:
    """Yield the bias for queries at these positions, with and without the mask."""
    slopes, lag = slope_of_each_head(case)[:, None, None], lags(case, query)
    if case.conventions["form"] in ("causal", "symmetric"):
        yield -slopes * np.abs(lag)
        yield -slopes * lag
    if case.conventions["form"] == "causal":
        yield -slopes * np.maximum(lag, 0)


def slopes_along(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict slopes that belong to keys or queries, where there are as many of them as heads."""
    slopes = slope_of_each_head(case)
    own = ("its", distances(case))
    steps = (own, ("the magnitude of its", -np.abs(lags(case))), ("its signed", -lags(case)))
    for by, noun, name in ((slopes, "key", "k_len"), (slopes[:, None], "query", "q_len")):
        for which, step in steps if case.parameter(name) == len(slopes) else ():
            words = f"matches a slope for each {noun}, not for each head, times {which} distance"
            yield Prediction(words, np.broadcast_to(by * step, case.shape))


def shifted(case: Case, shift: int) -> Floats:
    """Return the bias with ``shift`` added to all distances."""
    return np.asarray(case.truth + shift * slope_of_each_head(case)[:, None, None])


def shift_read(case: Case, got: Floats) -> Iterator[int]:
    """Yield the number that is added to all distances, read from the result.

    Not those of another form, or of queries at other places, which are other mistakes.
    """
    tells = np.isfinite(case.truth) & np.isfinite(got) & case.judged
    if not tells.any():
        return
    slopes = slope_of_each_head(case)
    head = np.argmax(np.abs(slopes) * tells.any(axis=(1, 2)))
    added = got[head][tells[head]] - case.truth[head][tells[head]]
    shift = round(float(np.median(added) / slopes[head]))
    k_len, q_len = case.parameter("k_len"), case.parameter("q_len")
    if abs(shift) not in (0, 1, k_len - 1, k_len, k_len - q_len):
        yield shift


def gathered(case: Case, distance: Floats) -> Floats:
    """Return the sum of gradient times distance for each head."""
    return np.asarray((case.arguments["gradient"] * distance).sum(axis=(1, 2)))


def gradient_form_swapped(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the gradient from distances of another form, or of the unmasked causal form."""
    for form in case.scheme.conventions["form"].values:
        if form != case.conventions["form"]:
            explanation = f"matches the gradient of the {form} form"
            yield Prediction(explanation, gathered(case, distances(case, str(form))))
    unmasked = np.asarray(-lags(case), dtype=np.float64)
    yield Prediction("matches distances on both sides of the query", gathered(case, unmasked))


def lists_of_slopes(array: Array) -> Iterator[tuple[ArgumentDict, Array]]:
    """Yield the arguments for an array that has a number for each head."""
    if array.ndim == 1 and len(array) <= 512:
        yield {"heads": len(array)}, array


def biases(array: Array) -> Iterator[tuple[ArgumentDict, Array]]:
    """Yield arguments for an array that has a number for each head, query and key.

    The array of a single query may lack the axis of queries. Only the last queries of a large array
    are read.
    """
    if array.ndim == 2:
        array = array[:, None]
    if array.ndim == 3 and array.shape[1] <= array.shape[2]:
        heads, q_len, k_len = array.shape
        few = min(q_len, max(1, 2**20 // (heads * k_len)))  # the last queries of a large array
        yield {"heads": heads, "q_len": few, "k_len": k_len}, array[:, -few:]


KNOWLEDGE = {
    "alibi_slopes": CallKnowledge(
        error_terms=error_terms,
        arguments=slopes_arguments,
        sweep=no_sweep,
        sizes=heads_sizes,
        identify=lists_of_slopes,
        invariants={
            "geometric": geometric,
            "slope-product": slope_product,
            "interpolation": interpolation,
        },
        deviations={
            "head-rule-swapped": other_conventions(
                "head_rule", "matches the {value} rule for heads; {claimed} was claimed"
            ),
            "slopes-spread-wrongly": slopes_models,
            "narrow-slopes": narrow_slopes,
        },
    ),
    "alibi_bias": CallKnowledge(
        error_terms=error_terms,
        arguments=bias_arguments,
        sweep=bias_sweep,
        sizes=bias_sizes,
        identify=biases,
        invariants={
            "toeplitz": toeplitz(bias_arguments),
            "row-constant": row_constant,
            "zero-place": zero_place,
            "straight": straight,
            "last-queries": last_queries(bias_arguments),
            "symmetric": symmetric,
        },
        deviations={
            "form-swapped": form_swapped,
            "bias-head-rule-swapped": other_conventions(
                "head_rule", "matches the {value} rule for heads; {claimed} was claimed"
            ),
            "bias-sign-flipped": negated("matches the bias with the sign flipped"),
            "queries-from-zero": queries_from_zero(from_queries),
            "distance-shifted": distance_shifted(shifted, shift_read),
            "bias-slopes-spread-wrongly": bias_slopes_models,
            "narrow-bias": narrow_bias,
        },
        readings=(slopes_along, narrow_distances, narrow_positions),
    ),
    "alibi_bias_vjp": CallKnowledge(
        error_terms=vjp_error_terms,
        arguments=vjp_arguments,
        sweep=no_sweep,
        sizes=vjp_sizes,
        shape=lambda case: (case.parameter("heads"),),
        invariants={
            "vjp-linearity": linear_in("gradient", vjp_arguments),
            "vjp-of-slopes": vjp_of_slopes,
        },
        deviations={
            "gradient-form-swapped": gradient_form_swapped,
            "gradient-sign-flipped": negated("matches distances of the opposite sign"),
            "gradient-averaged": averaged(pairs, what="queries and keys"),
        },
    ),
}
