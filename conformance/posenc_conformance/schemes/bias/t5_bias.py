"""Relative position bias of T5: bounds, invariants and deviations."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from posenc_conformance.diagnose.predictors import other_conventions, predict_case
from posenc_conformance.families.biases import (
    averaged,
    constant_table,
    gathered,
    heads_apart,
    last_queries,
    looked_up,
    overwritten,
    pairs_of_rows,
    queries_from_zero,
    table_sweep,
    table_vjp_terms,
    toeplitz,
    vjp_total,
    with_gradient,
)
from posenc_conformance.families.lengths import (
    NEAR,
    Integers,
    lags,
    lengths,
    no_sweep,
    one_step,
    saved_lags,
)
from posenc_conformance.families.linearity import linear_in
from posenc_conformance.judge.arrays import Array, Floats, fine, round_to
from posenc_conformance.judge.case import Case, ErrorTerms, exact_terms
from posenc_conformance.judge.deviation import Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments

REACH = 200
FACTORS = {
    "the distance's logarithm to base 2, that of max_distance to base e": 1 / np.log(2),
    "the distance's logarithm to base e, that of max_distance to base 2": np.log(2),
    "the distance's logarithm to base 10, that of max_distance to base e": 1 / np.log(10),
    "the distance's logarithm to base e, that of max_distance to base 10": np.log(10),
}
"""Factors of the logarithm if its two logarithms have different bases, in words."""
SAVED = (
    (32, 128),
    (32, 64),
    (32, 256),
    (32, 1024),
    (64, 128),
    (64, 256),
    (320, 800),
    (16, 64),
)
"""Sizes found in models, to try on their saved arrays."""
SHOWN = 4
"""The number of wrong distances that are listed."""
LOOSE = ((64, 512),)
"""Sizes at which a correct implementation's logarithm may miss a whole number, unlike at the sizes
in CONFIGURATIONS."""
CONFIGURATIONS = ((32, 128), (4, 8), (8, 20), (64, 128), (16, 64), (32, 1024))


def sizes(trial: Trial) -> ArgumentDict:
    """Draw a number of buckets and a largest distance that the claim allows."""
    claimed = trial.scope.parameters
    buckets = dict.fromkeys(claimed.get("num_buckets", [size for size, _ in CONFIGURATIONS]))
    distances = dict.fromkeys(claimed.get("max_distance", [size for _, size in CONFIGURATIONS]))
    listed = [size for size in CONFIGURATIONS if size[0] in buckets and size[1] in distances]
    valid = [size for size in product(buckets, distances) if size[1] > size[0] // 2]
    chosen = trial.pick.one_of(listed or valid)
    return dict(zip(("num_buckets", "max_distance"), chosen, strict=True))


def bucket_arguments(trial: Trial) -> ArgumentDict:
    """Draw sizes for all distances from -200 to 200, at most the largest claimed position."""
    reach = min(REACH, trial.scope.max_position)
    return {"relative_position": np.arange(-reach, reach + 1), **sizes(trial)}


def bias_arguments(trial: Trial) -> ArgumentDict:
    """Draw a few heads, queries and keys."""
    chosen = sizes(trial)
    table = fine((chosen.pop("num_buckets"), trial.choose("heads", (2, 1, 3, 8))))
    return {"table": table, **lengths(trial, (6, 1, 2, 9, 150)), **chosen}


def vjp_arguments(trial: Trial) -> ArgumentDict:
    """Draw an upstream gradient for a few heads, queries and keys."""
    chosen = sizes(trial)
    heads = trial.choose("heads", (2, 1, 3, 8))
    return with_gradient(lengths(trial, (6, 1, 2, 9, 40)) | chosen, heads)


def vjp_sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield every size in CONFIGURATIONS, many heads, and more queries than one block."""
    for buckets, distance in CONFIGURATIONS:
        yield {
            "gradient": fine((3, 2, distance + 72)),
            "num_buckets": buckets,
            "max_distance": distance,
        }
    yield {"gradient": fine((33, 2, 5))}
    yield {"gradient": fine((1, 130, 130))}


def bucket_sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Reach every distance found in models, and some far beyond."""
    near = np.arange(min(largest, 4096) + 1)
    far = 2 ** np.arange(12, 32)
    distances = np.concatenate([near, far[far <= largest]])
    both = np.concatenate([-distances[::-1], distances])
    return {"relative_position": both, "num_buckets": 32, "max_distance": 128, **parameters}


def bucket_sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield every size in CONFIGURATIONS, with distances beyond the last bucket.

    Also yield sizes with hardly any distance per bucket, and those of LOOSE.
    """
    for buckets, distance in (*CONFIGURATIONS, (16, 9), *LOOSE):
        relative = np.arange(-distance - 72, distance + 73)
        yield {"relative_position": relative, "num_buckets": buckets, "max_distance": distance}


def bias_sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield every size in CONFIGURATIONS, many heads, and many queries.

    Keys reach beyond the last bucket.
    """
    for buckets, distance in CONFIGURATIONS:
        yield {
            "table": fine((buckets, 33)),
            "q_len": 2,
            "k_len": distance + 72,
            "max_distance": distance,
        }
    yield {"table": fine((32, 1)), "q_len": 600, "k_len": 600}


def one_side(case: Case) -> int:
    """Count the buckets that serve one direction."""
    buckets = int(case.arguments["num_buckets"])
    return buckets // 2 if case.conventions["direction"] == "bidirectional" else buckets


def bucket_terms(case: Case) -> ErrorTerms:
    """Return terms with bound 0, or with a bound of one bucket where a logarithm is whole.

    The bound of one bucket is only for sizes other than the configurations, unless the truth is
    printed. The bound is A s v + B s u times the angle term, and v is 0.
    """
    buckets, distance = case.arguments["num_buckets"], case.arguments["max_distance"]
    if case.printed is not None or (buckets, distance) in (*CONFIGURATIONS, (16, 9)):
        return exact_terms(case)
    side, relative = one_side(case), case.arguments["relative_position"]
    half = side // 2
    n = np.maximum(np.abs(relative), 1).astype(np.float64)
    steps = np.log(n / half) / np.log(distance / half) * (side - half)
    whole = (np.abs(steps - np.rint(steps)) < NEAR) & (steps > 0.5) & (steps < side - half - 0.5)
    return one_step(case, whole)


def bucket_range(trial: Trial) -> None:
    """Check that all buckets are from 0 to num_buckets - 1."""
    answer = trial.answer(**bucket_arguments(trial))
    buckets = answer.case.arguments["num_buckets"]
    trial.assert_none(
        answer, (answer.values < 0) | (answer.values >= buckets), "a bucket is outside"
    )


def monotone(trial: Trial) -> None:
    """Check that the bucket never decreases with the distance into the past."""
    answer = trial.answer(**bucket_arguments(trial))
    past = answer.values[answer.case.arguments["relative_position"] <= 0][::-1]
    trial.assert_none(answer, np.diff(past) < 0, "a larger distance has a lower bucket")


def near_exactly(trial: Trial) -> None:
    """Check that distances below half the number of buckets of their side have one bucket each."""
    answer = trial.answer(**bucket_arguments(trial))
    relative = answer.case.arguments["relative_position"]
    near = (relative <= 0) & (-relative < one_side(answer.case) // 2)
    trial.assert_none(
        answer,
        answer.values[near] != -relative[near],
        "a short distance does not have a bucket of its own",
    )


def future(trial: Trial) -> None:
    """Check the buckets of keys after the query.

    A key has the bucket of the same distance before the query, in the upper half; when causal, it
    has bucket 0.
    """
    answer = trial.answer(**bucket_arguments(trial))
    relative = answer.case.arguments["relative_position"]
    after, before = answer.values[relative > 0], answer.values[relative < 0][::-1]
    two_sided = answer.case.conventions["direction"] == "bidirectional"
    expected = before + one_side(answer.case) if two_sided else np.zeros_like(after)
    trial.assert_none(answer, after != expected, "keys after the query are in the wrong buckets")


def far_together(trial: Trial) -> None:
    """Check that all distances from max_distance on share the last bucket of their side."""
    chosen = bucket_arguments(trial)
    distance = chosen["max_distance"]
    reach = min(4 * distance, trial.scope.max_position)
    answer = trial.answer(**(chosen | {"relative_position": -np.arange(distance, reach + 1)}))
    last = one_side(answer.case) - 1
    trial.assert_none(
        answer, answer.values != last, "a very large distance is not in the last bucket"
    )


def buckets_of(case: Case) -> Case:
    """Return the case of the buckets that a case of a bias, or of its gradient, uses."""
    arguments = {
        "relative_position": -lags(case),
        "num_buckets": case.parameter("num_buckets"),
        "max_distance": case.arguments.get("max_distance", 128),
    }
    return Case(
        case.scheme, case.scheme.calls["t5_bucket"], case.conventions, arguments, case.dtype
    )


def rows_of(case: Case) -> Integers:
    """Find the row of the table for each query and key."""
    return np.asarray(buckets_of(case).truth)


def sign_flipped(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict query minus key instead of key minus query."""
    yield from predict_case(
        case.with_arguments(relative_position=-case.arguments["relative_position"]),
        "matches distances of the opposite sign (query minus key)",
    )


def shifted(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict distances off by one."""
    for shift in (1, -1):
        yield from predict_case(
            case.with_arguments(relative_position=case.arguments["relative_position"] + shift),
            f"matches distances shifted by {shift:+d}",
        )


def other_distance(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict another max_distance."""
    right = case.arguments.get("max_distance", 128)
    for distance in dict.fromkeys((32, 64, 127, 128, 129, 256, 512, 1024, right // 2, 2 * right)):
        if distance != right:
            yield from predict_case(
                case.with_arguments(max_distance=distance),
                f"matches max_distance {distance}; {right} was asked for",
            )


def other_buckets(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict another number of buckets, of those found in models, and half or twice the right."""
    right, farthest = case.arguments["num_buckets"], case.arguments.get("max_distance", 128)
    known = dict.fromkeys((right // 2, 2 * right, *(size for size, _ in SAVED)))
    for buckets in known:
        if buckets != right and buckets >= 4 and buckets // 2 < farthest:
            other = case.with_arguments(num_buckets=buckets)
            yield from predict_case(other, f"matches buckets of a table of {buckets}")


def not_halved(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict both directions with all buckets each, keys after the query further on."""
    if case.conventions["direction"] != "bidirectional":
        return
    relative, buckets = case.arguments["relative_position"], int(case.arguments["num_buckets"])
    one_way = case.with_conventions(direction="causal")
    behind = one_way.with_arguments(relative_position=-np.abs(relative))
    for more in (buckets // 2, buckets):
        for most in (buckets - 1, more + buckets - 1):
            words = (
                f"matches all {buckets} buckets for each direction, not half of them, later keys "
                f"are {more} further on, at most at {most}"
            )
            output = np.minimum(behind.truth + more * (relative > 0), most)
            yield Prediction(words, np.asarray(output, np.float64))


def logarithms(ratio: Floats, limit: float, wide: int, dtype: str) -> dict[str, Floats]:
    """Compute wide * ln(ratio)/ln(limit) in a narrow dtype, in several ways.

    The keys of the result name the values rounded to the dtype.
    """

    def narrow(values: Any) -> Floats:
        return round_to(np.asarray(values, dtype=np.float64), dtype)

    log = narrow(np.log(narrow(ratio)))
    return {
        "a logarithm": narrow(np.log(ratio)) / np.log(limit) * wide,
        "a ratio and its logarithm": log / np.log(limit) * wide,
        "two logarithms": log / narrow(np.log(limit)) * wide,
        "a quotient of logarithms": narrow(log / np.log(limit)) * wide,
        "every step": narrow(narrow(log / np.log(limit)) * wide),
        "every step and constant": narrow(narrow(log / narrow(np.log(limit))) * wide),
    }


def by_logarithm(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the paper's formula with an inexact logarithm.

    The logarithm is in a narrow dtype, or rounded to the nearest bucket instead of truncated.
    """
    relative = case.arguments["relative_position"]
    two_sided = case.conventions["direction"] == "bidirectional"
    side = one_side(case)
    half = side // 2
    n = np.abs(relative) if two_sided else np.maximum(-relative, 0)
    distance = case.arguments.get("max_distance", 128)
    for dtype in ("bfloat16", "float16"):
        ratio = np.maximum(n, 1) / half
        for name, steps in logarithms(ratio, distance / half, side - half, dtype).items():
            large = half + steps.astype(int)
            bucket = np.where(n < half, n, np.minimum(large, side - 1))
            yield Prediction(
                f"matches bucket edges from {name} in {dtype}",
                (bucket + side * (relative > 0) * two_sided).astype(np.float64),
            )
    exact_log = np.log(np.maximum(n, 1) / half) / np.log(distance / half) * (side - half)
    large = half + np.round(exact_log).astype(int)
    bucket = np.where(n < half, n, np.minimum(large, side - 1))
    yield Prediction(
        "matches logarithms rounded to the nearest bucket instead of cut",
        (bucket + side * (relative > 0) * two_sided).astype(np.float64),
    )


def formula_wrong(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the formula of far distances with another ratio, edge, end or rounding.

    ``steps`` is the logarithm's share of the way from the last bucket of a single distance to the
    last bucket of all.
    """
    relative = case.arguments["relative_position"]
    farthest = case.arguments.get("max_distance", 128)
    two_sided = case.conventions["direction"] == "bidirectional"
    side = one_side(case)
    half, far = side // 2, side - side // 2
    n = np.abs(relative) if two_sided else np.maximum(-relative, 0)
    above = np.maximum(n, 1)
    unit, end = np.log(above / half), np.log(farthest / half)

    def predicted(words: str, steps: Floats, edge: int = half, last: int = side - 1) -> Prediction:
        large = np.minimum(edge + np.floor(np.minimum(steps, far * farthest)), last)
        bucket = np.where(n < edge, n, large) + side * (relative > 0) * two_sided
        return Prediction(f"matches {words}", bucket.astype(np.float64))

    for words, factor in FACTORS.items():
        yield predicted(words, unit / end * far * factor)
    yield predicted("the logarithm of 1 more than the ratio", np.log(1 + above / half) / end * far)
    yield predicted(
        "logarithms of distances that are not divided by the number of exact buckets",
        np.log(above) / np.log(farthest) * far,
    )
    yield predicted(
        "only the logarithm of max_distance without the division by the exact buckets",
        unit / np.log(farthest) * far,
    )
    yield predicted(
        "logarithms that spread over all buckets of a side, not over those that are left",
        unit / end * side,
    )
    yield predicted(
        "far distances in buckets of equal width", (above - half) / (farthest - half) * far
    )
    yield predicted("logarithms rounded up to the next bucket, not cut", np.ceil(unit / end * far))
    yield predicted(
        "far distances that never reach the last bucket", unit / end * far, last=side - 2
    )
    yield predicted("buckets beyond the last one", unit / end * far, last=side * farthest)
    for words, edge in (
        ("one exact bucket less", half - 1),
        ("one exact bucket more", half + 1),
        ("a quarter of a side's buckets exact, not half of them", side // 4),
        ("three quarters of a side's buckets exact, not half of them", side * 3 // 4),
    ):
        if 0 < edge < min(side, farthest):
            steps = np.log(above / edge) / np.log(farthest / edge) * (side - edge)
            yield predicted(words, steps, edge)


def through_buckets(model: Any) -> Any:
    """Make a model that predicts the bias from the wrong buckets that ``model`` predicts."""

    def models(case: Case, got: Floats) -> Iterator[Prediction]:
        last = len(case.arguments["table"]) - 1
        for prediction in model(buckets_of(case), got):
            buckets = np.clip(prediction.output.astype(np.int64), 0, last)
            yield Prediction(prediction.explanation, looked_up(case, buckets))

    return models


def from_queries(case: Case, query: Integers) -> Iterator[Floats]:
    """Yield the bias for queries at these positions."""
    buckets = buckets_of(case).with_arguments(relative_position=-lags(case, query))
    yield looked_up(case, buckets.truth)


def gradient_sign_flipped(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the gradient for the buckets of negated distances."""
    for model in sign_flipped(buckets_of(case), got):
        yield Prediction(model.explanation, gathered(case, model.output.astype(np.int64)))


def gradient_of_other_buckets(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the gradient for buckets of a smaller table."""
    for model in other_buckets(buckets_of(case), got):
        if model.output.max(initial=0) < case.parameter("num_buckets"):
            yield Prediction(model.explanation, gathered(case, model.output.astype(np.int64)))


def describe_buckets(case: Case, got: Floats) -> str:
    """Say of which distances the buckets are wrong, and what they are.

    Empty if one distance has several buckets.
    """
    relative, right = (np.ravel(each) for each in (case.arguments["relative_position"], case.truth))
    distances, first = np.unique(relative, return_index=True)
    found = got.ravel()[first]
    if (got.ravel() != found[np.searchsorted(distances, relative)]).any():
        return ""
    wrong = np.flatnonzero(found != right[first])
    wrong = wrong[np.argsort(np.abs(distances[wrong]), kind="stable")]
    if not wrong.size:
        return ""
    near = int(np.abs(distances[wrong[0]]))
    at = wrong[np.sign(distances[wrong]) == np.sign(distances[wrong[0]])][:SHOWN]
    told = (", ".join(f"{each:g}" for each in values[at]) for values in (found, right[first]))
    has = "distances {} have the buckets {}, and should have {}".format(
        ", ".join(map(str, distances[at].tolist())), *told
    )
    sizes = f"{case.arguments['num_buckets']} buckets up to {case.arguments['max_distance']}"
    return f"the buckets of distances from {near} on are wrong: of {sizes}, {has}"


def describe_rows_of_table(case: Case, got: Floats) -> str:
    """Say which rows of the table wrong biases are taken from, if the rows can be told apart."""
    table = case.arguments["table"]
    buckets = buckets_of(case)
    if len(np.unique(table, axis=0)) < len(table) or got.shape != case.shape:
        return ""
    # Queries and keys of one distance have one bucket, so that few of them tell all.
    lag = buckets.arguments["relative_position"]
    distances, first = np.unique(lag, return_index=True)
    values = got.reshape(len(got), -1).T
    alike = values == values[first][np.searchsorted(distances, lag.ravel())]
    found = (values[first][:, None] == table).all(axis=-1)
    if not alike.all() or not found.any(axis=-1).all():
        return ""
    few = buckets.with_arguments(relative_position=distances)
    return describe_buckets(few, found.argmax(axis=-1).astype(np.float64))


direction_swapped = other_conventions(
    "direction", "matches the {value} buckets; {claimed} was claimed"
)


def saved_buckets(array: Array) -> Iterator[tuple[ArgumentDict, Array]]:
    """Read an array as the bucket of each query and key.

    Try the numbers of buckets that fit the largest value in the array.
    """
    saved = saved_lags(array)
    if saved is None:
        return
    lag, part = saved
    largest = int(part.max())
    for buckets, farthest in dict.fromkeys((*SAVED, *CONFIGURATIONS)):
        if largest < buckets <= 4 * largest:
            size = {"num_buckets": buckets, "max_distance": farthest}
            yield {"relative_position": -lag, **size}, part


KNOWLEDGE = {
    "t5_bucket": CallKnowledge(
        error_terms=bucket_terms,
        arguments=bucket_arguments,
        sweep=bucket_sweep,
        sizes=bucket_sizes,
        identify=saved_buckets,
        invariants={
            "bucket-range": bucket_range,
            "monotone": monotone,
            "near-exactly": near_exactly,
            "future": future,
            "far-together": far_together,
        },
        deviations={
            "sign-flipped": sign_flipped,
            "direction-swapped": direction_swapped,
            "distance-shifted": shifted,
            "wrong-max-distance": other_distance,
            "inexact-logarithm": by_logarithm,
        },
        readings=(other_buckets, not_halved, formula_wrong),
        description=describe_buckets,
    ),
    "t5_bias": CallKnowledge(
        error_terms=exact_terms,
        arguments=bias_arguments,
        sweep=table_sweep("num_buckets", 32, max_distance=128),
        sizes=bias_sizes,
        invariants={
            "toeplitz": toeplitz(bias_arguments),
            "last-queries": last_queries(bias_arguments),
            "heads-apart": heads_apart(bias_arguments, "table", axis=1),
            "constant-table": constant_table(bias_arguments),
        },
        deviations={
            # A causal query at 0 has the bias of distances of the opposite sign, too.
            "bias-queries-from-zero": queries_from_zero(from_queries),
            "bias-sign-flipped": through_buckets(sign_flipped),
            "direction-swapped": direction_swapped,
            "bias-distance-shifted": through_buckets(shifted),
            "wrong-max-distance": other_distance,
            "inexact-logarithm": through_buckets(by_logarithm),
        },
        readings=(
            through_buckets(other_buckets),
            through_buckets(not_halved),
            through_buckets(formula_wrong),
        ),
        description=describe_rows_of_table,
    ),
    "t5_bias_vjp": CallKnowledge(
        error_terms=table_vjp_terms(rows_of),
        arguments=vjp_arguments,
        sweep=no_sweep,
        sizes=vjp_sizes,
        shape=lambda case: (case.parameter("num_buckets"), case.parameter("heads")),
        invariants={
            "vjp-total": vjp_total(vjp_arguments),
            "vjp-linearity": linear_in("gradient", vjp_arguments),
        },
        deviations={
            "gradient-overwritten": overwritten(rows_of, "bucket"),
            "gradient-averaged": averaged(pairs_of_rows(rows_of), what="each bucket"),
            "gradient-sign-flipped": gradient_sign_flipped,
            "gradient-direction-swapped": direction_swapped,
        },
        readings=(gradient_of_other_buckets,),
    ),
}
