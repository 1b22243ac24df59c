"""Relative position bias of T5: bounds, invariants and deviations."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from posenc_conformance.diagnose.mistakes import Model, attempt, other_conventions
from posenc_conformance.judge.arrays import Floats, fine, lattice, narrowed
from posenc_conformance.judge.bounded import ARITHMETIC, Answer
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.trial import Trial

REACH = 200
CONFIGURATIONS = ((32, 128), (4, 8), (8, 20), (64, 128), (16, 64), (32, 1024))


def error_terms(case: Case) -> ErrorTerms:
    """Buckets are whole numbers and biases are copies: nothing is rounded."""
    return ErrorTerms(np.zeros(()), np.zeros(()))


def vjp_error_terms(case: Case) -> ErrorTerms:
    """The scale is the sum of the magnitudes added up; their number stands in place of angles."""
    number = gathered(case, np.ones(case.arguments["gradient"].shape))
    return ErrorTerms(gathered(case, np.abs(case.arguments["gradient"])), number)


def gathered(case: Case, gradient: Floats, wrong: Case | None = None) -> Floats:
    """Sums of a gradient over the pairs of each bucket: [num_buckets, heads]."""
    buckets = (wrong or buckets_of(case)).truth
    sums = np.zeros(case.shape)
    np.add.at(sums, buckets, np.moveaxis(gradient, 0, -1))
    return sums


def sizes(trial: Trial) -> dict[str, Any]:
    """Number of buckets and largest distance, as the claim allows."""
    claimed = trial.scope.parameters
    buckets = dict.fromkeys(claimed.get("num_buckets", [each for each, _ in CONFIGURATIONS]))
    distances = dict.fromkeys(claimed.get("max_distance", [each for _, each in CONFIGURATIONS]))
    listed = [each for each in CONFIGURATIONS if each[0] in buckets and each[1] in distances]
    valid = [each for each in product(buckets, distances) if each[1] > each[0] // 2]
    chosen = trial.pick.one_of(listed or valid)
    return dict(zip(("num_buckets", "max_distance"), chosen, strict=True))


def bucket_arguments(trial: Trial) -> dict[str, Any]:
    """All distances from -200 to 200."""
    reach = min(REACH, trial.scope.max_position)
    return {"relative_position": np.arange(-reach, reach + 1), **sizes(trial)}


def bias_arguments(trial: Trial) -> dict[str, Any]:
    """A few heads, queries and keys; as many queries as keys, or fewer."""
    chosen = sizes(trial)
    heads = trial.choose("heads", (2, 1, 3, 8))
    k_len = trial.choose("k_len", (6, 1, 2, 9, 150))
    q_len = trial.choose("q_len", (k_len - trial.pick.integer(0, min(3, k_len - 1)),))
    return {
        "table": fine((chosen["num_buckets"], heads)),
        "q_len": q_len,
        "k_len": k_len,
        "max_distance": chosen["max_distance"],
    }


def vjp_arguments(trial: Trial) -> dict[str, Any]:
    """A few heads, queries and keys; as many queries as keys, or fewer."""
    chosen = sizes(trial)
    heads = trial.choose("heads", (2, 1, 3, 8))
    k_len = trial.choose("k_len", (6, 1, 2, 9, 40))
    q_len = trial.choose("q_len", (k_len - trial.pick.integer(0, min(3, k_len - 1)),))
    return {"gradient": fine((heads, q_len, k_len)), **chosen}


def no_sweep(parameters: Mapping[str, Any], largest: int) -> None:
    """Nothing is asked far out."""


def vjp_sizes(case: Case) -> Iterator[dict[str, Any]]:
    """Every configuration of the list; many heads; more queries than one block."""
    for buckets, distance in CONFIGURATIONS:
        yield {
            "gradient": fine((3, 2, distance + 72)),
            "num_buckets": buckets,
            "max_distance": distance,
        }
    yield {"gradient": fine((33, 2, 5))}
    yield {"gradient": fine((1, 130, 130))}


def bucket_sweep(parameters: Mapping[str, Any], largest: int) -> dict[str, Any]:
    """Every distance a model meets, and some far beyond."""
    near = np.arange(min(largest, 4096) + 1)
    far = 2 ** np.arange(12, 32)
    distances = np.concatenate([near, far[far <= largest]])
    both = np.concatenate([-distances[::-1], distances])
    return {"relative_position": both, "num_buckets": 32, "max_distance": 128, **parameters}


def bias_sweep(parameters: Mapping[str, Any], largest: int) -> dict[str, Any]:
    """Two queries at the end of many keys, for a dozen heads."""
    k_len = min(largest, 4096) + 1
    buckets, heads = parameters.get("num_buckets", 32), parameters.get("heads", 12)
    rest = {k: v for k, v in parameters.items() if k not in ("num_buckets", "heads")}
    table = fine((buckets, heads))
    return {"table": table, "q_len": min(2, k_len), "k_len": k_len, "max_distance": 128, **rest}


def bucket_sizes(case: Case) -> Iterator[dict[str, Any]]:
    """Every configuration, and buckets for hardly any distance, over distances beyond the last."""
    for buckets, distance in (*CONFIGURATIONS, (16, 9)):
        relative = np.arange(-distance - 72, distance + 73)
        yield {"relative_position": relative, "num_buckets": buckets, "max_distance": distance}


def bias_sizes(case: Case) -> Iterator[dict[str, Any]]:
    """Every configuration of the list, many heads, many queries, keys beyond the last bucket."""
    for buckets, distance in CONFIGURATIONS:
        yield {
            "table": fine((buckets, 33)),
            "q_len": 2,
            "k_len": distance + 72,
            "max_distance": distance,
        }
    yield {"table": fine((32, 1)), "q_len": 600, "k_len": 600}


def exact(answer: Answer, trial: Trial, wrong: npt.NDArray[np.bool_], what: str) -> None:
    """Demand that nothing is wrong."""
    trial.within(answer, wrong.astype(np.float64), np.zeros(wrong.shape), what)


def one_side(case: Case) -> int:
    """Buckets that serve one direction."""
    buckets = int(case.arguments["num_buckets"])
    return buckets // 2 if case.conventions["direction"] == "bidirectional" else buckets


def bucket_range(trial: Trial) -> None:
    """Buckets are in the table."""
    answer = trial.answer(**bucket_arguments(trial))
    buckets = answer.case.arguments["num_buckets"]
    exact(answer, trial, (answer.values < 0) | (answer.values >= buckets), "a bucket is outside")


def monotone(trial: Trial) -> None:
    """Farther into the past is never a lower bucket."""
    answer = trial.answer(**bucket_arguments(trial))
    past = answer.values[answer.case.arguments["relative_position"] <= 0][::-1]
    exact(answer, trial, np.diff(past) < 0, "a larger distance has a lower bucket")


def near_exactly(trial: Trial) -> None:
    """Distances below half of the buckets have one each."""
    answer = trial.answer(**bucket_arguments(trial))
    relative = answer.case.arguments["relative_position"]
    near = (relative <= 0) & (-relative < one_side(answer.case) // 2)
    exact(
        answer,
        trial,
        answer.values[near] != -relative[near],
        "a short distance does not have a bucket of its own",
    )


def future(trial: Trial) -> None:
    """Keys after the query: the same bucket in the upper half, or bucket 0 when causal."""
    answer = trial.answer(**bucket_arguments(trial))
    relative = answer.case.arguments["relative_position"]
    after, before = answer.values[relative > 0], answer.values[relative < 0][::-1]
    two_sided = answer.case.conventions["direction"] == "bidirectional"
    expected = before + one_side(answer.case) if two_sided else np.zeros_like(after)
    exact(answer, trial, after != expected, "keys after the query are in the wrong buckets")


def far_together(trial: Trial) -> None:
    """From max_distance on all distances share the last bucket of their side."""
    chosen = bucket_arguments(trial)
    distance = chosen["max_distance"]
    reach = min(4 * distance, trial.scope.max_position)
    answer = trial.answer(**(chosen | {"relative_position": -np.arange(distance, reach + 1)}))
    last = one_side(answer.case) - 1
    exact(answer, trial, answer.values != last, "a very large distance is not in the last bucket")


def toeplitz(trial: Trial) -> None:
    """The bias depends on the distance between key and query only."""
    answer = trial.answer(**bias_arguments(trial))
    y = answer.values
    exact(answer, trial, y[:, 1:, 1:] != y[:, :-1, :-1], "the bias differs along a diagonal")


def last_queries(trial: Trial) -> None:
    """Fewer queries are the last rows of as many queries as keys."""
    chosen = bias_arguments(trial)
    q_len, k_len = chosen["q_len"], chosen["k_len"]
    if k_len not in trial.scope.parameters.get("q_len", (k_len,)):
        return
    answer, whole = trial.answer(**chosen), trial.answer(**(chosen | {"q_len": k_len}))
    wrong = answer.values != whole.values[:, k_len - q_len :]
    exact(answer, trial, wrong, "with fewer queries than keys the queries are not the last ones")


def heads_apart(trial: Trial) -> None:
    """Each head looks into its own column of the table."""
    chosen = bias_arguments(trial)
    answer = trial.answer(**chosen)
    turned = trial.answer(**(chosen | {"table": chosen["table"][:, ::-1].copy()}))
    wrong = answer.values != turned.values[::-1]
    exact(answer, trial, wrong, "reversing the columns of the table does not reverse the heads")


def constant_table(trial: Trial) -> None:
    """A table of one value gives a bias of that value everywhere: no scale is applied."""
    chosen = bias_arguments(trial)
    answer = trial.answer(**(chosen | {"table": np.full_like(chosen["table"], 0.75)}))
    exact(answer, trial, answer.values != 0.75, "a constant table does not give a constant bias")


def vjp_total(trial: Trial) -> None:
    """The gradient of the table adds up to that of the bias."""
    answer = trial.answer(**vjp_arguments(trial))
    given = answer.case.arguments["gradient"]
    total, before = answer.values.sum(axis=0), given.sum(axis=(1, 2))
    bound = answer.bound.sum(axis=0) + ARITHMETIC * np.abs(given).sum(axis=(1, 2))
    trial.within(answer, total - before, bound, "the gradient does not add up to what came in")


def vjp_linearity(trial: Trial) -> None:
    """vjp(a f + b g) = a vjp(f) + b vjp(g)."""
    chosen = vjp_arguments(trial)
    f = lattice(chosen["gradient"].shape)  # of few bits, so that the sum below is exact
    g = np.roll(f, 5)
    both = trial.answer(**(chosen | {"gradient": f / 2 - g / 4}))
    one, other = (
        trial.answer(**(chosen | {"gradient": f})),
        trial.answer(**(chosen | {"gradient": g})),
    )
    trial.within(
        both,
        both.values - (one.values / 2 - other.values / 4),
        both.bound + one.bound / 2 + other.bound / 4,
        "the result is not linear in the gradient",
    )


def buckets_of(case: Case) -> Case:
    """The bucket case behind a bias case, or behind a gradient of a bias."""
    q_len, k_len = case.parameter("q_len"), case.parameter("k_len")
    relative = np.arange(k_len) - np.arange(k_len - q_len, k_len)[:, None]
    arguments = {
        "relative_position": relative,
        "num_buckets": case.parameter("num_buckets"),
        "max_distance": case.arguments.get("max_distance", 128),
    }
    return Case(
        case.scheme, case.scheme.calls["t5_bucket"], case.conventions, arguments, case.dtype
    )


def sign_flipped(case: Case, got: Floats) -> Iterator[Model]:
    """Query minus key for key minus query."""
    yield from attempt(
        case.changed(relative_position=-case.arguments["relative_position"]),
        "matches distances of the opposite sign (query minus key)",
    )


def shifted(case: Case, got: Floats) -> Iterator[Model]:
    """Distances off by one."""
    for shift in (1, -1):
        yield from attempt(
            case.changed(relative_position=case.arguments["relative_position"] + shift),
            f"matches distances shifted by {shift:+d}",
        )


def other_distance(case: Case, got: Floats) -> Iterator[Model]:
    """Another max_distance."""
    asked = case.arguments.get("max_distance", 128)
    for distance in (32, 64, 127, 128, 129, 256, 512, 1024):
        if distance != asked:
            yield from attempt(
                case.changed(max_distance=distance),
                f"matches max_distance {distance}; {asked} was asked for",
            )


def logarithms(ratio: Floats, limit: float, wide: int, dtype: str) -> dict[str, Floats]:
    """Ways to form wide * ln(ratio)/ln(limit) in a narrow dtype, by what is rounded to it."""

    def narrow(values: Any) -> Floats:
        return narrowed(np.asarray(values, dtype=np.float64), dtype)

    log = narrow(np.log(narrow(ratio)))
    return {
        "a logarithm": narrow(np.log(ratio)) / np.log(limit) * wide,
        "a ratio and its logarithm": log / np.log(limit) * wide,
        "two logarithms": log / narrow(np.log(limit)) * wide,
        "a quotient of logarithms": narrow(log / np.log(limit)) * wide,
        "every step": narrow(narrow(log / np.log(limit)) * wide),
        "every step and constant": narrow(narrow(log / narrow(np.log(limit))) * wide),
    }


def by_logarithm(case: Case, got: Floats) -> Iterator[Model]:
    """The paper's formula with a logarithm in a narrow dtype, or rounded instead of cut."""
    relative = case.arguments["relative_position"]
    two_sided = case.conventions["direction"] == "bidirectional"
    side = one_side(case)
    half = side // 2
    n = np.abs(relative) if two_sided else np.maximum(-relative, 0)
    distance = case.arguments.get("max_distance", 128)
    for dtype in ("bfloat16", "float16"):
        ratio = np.maximum(n, 1) / half
        for what, steps in logarithms(ratio, distance / half, side - half, dtype).items():
            large = half + steps.astype(int)
            bucket = np.where(n < half, n, np.minimum(large, side - 1))
            yield Model(
                f"matches bucket edges from {what} in {dtype}",
                (bucket + side * (relative > 0) * two_sided).astype(np.float64),
            )
    exact_log = np.log(np.maximum(n, 1) / half) / np.log(distance / half) * (side - half)
    large = half + np.round(exact_log).astype(int)
    bucket = np.where(n < half, n, np.minimum(large, side - 1))
    yield Model(
        "matches logarithms rounded to the nearest bucket instead of cut",
        (bucket + side * (relative > 0) * two_sided).astype(np.float64),
    )


def through_buckets(model: Any) -> Any:
    """The same mistake of the buckets, seen in the bias."""

    def models(case: Case, got: Floats) -> Iterator[Model]:
        table = case.arguments["table"]
        for each in model(buckets_of(case), got):
            buckets = np.clip(each.output.astype(np.int64), 0, len(table) - 1)
            yield Model(each.explanation, np.moveaxis(table[buckets], -1, 0))

    return models


def queries_from_zero(case: Case, got: Floats) -> Iterator[Model]:
    """Query i taken to stand at position i, although there are more keys than queries."""
    q_len, k_len = case.arguments["q_len"], case.arguments["k_len"]
    if q_len < k_len:
        relative = np.arange(k_len) - np.arange(q_len)[:, None]
        buckets = buckets_of(case).changed(relative_position=relative).truth
        bias = np.moveaxis(case.arguments["table"][buckets], -1, 0)
        yield Model("matches queries that start at position 0", bias)


def overwritten(case: Case, got: Floats) -> Iterator[Model]:
    """The last pair's gradient alone."""
    output = np.zeros(case.shape)
    for query, key in np.ndindex(case.arguments["gradient"].shape[1:]):
        bucket = buckets_of(case).truth[query, key]
        output[bucket] = case.arguments["gradient"][:, query, key]
    yield Model("matches gradients of a bucket written over each other", output)


def averaged(case: Case, got: Floats) -> Iterator[Model]:
    """The mean of each bucket."""
    number = gathered(case, np.ones(case.arguments["gradient"].shape))
    yield Model("matches the mean over each bucket", case.truth / np.maximum(number, 1))


def gradient_sign_flipped(case: Case, got: Floats) -> Iterator[Model]:
    """Buckets of distances of the opposite sign."""
    for model in sign_flipped(buckets_of(case), got):
        flipped = replace(buckets_of(case), printed=model.output)
        yield Model(model.explanation, gathered(case, case.arguments["gradient"], flipped))


direction_swapped = other_conventions(
    "direction", "matches the {value} buckets; {claimed} was claimed"
)

SHAPES = {
    "t5_bias_vjp": lambda case: (case.parameter("num_buckets"), case.parameter("heads")),
}
ERROR_TERMS = {"t5_bucket": error_terms, "t5_bias": error_terms, "t5_bias_vjp": vjp_error_terms}
ARGUMENTS = {
    "t5_bucket": bucket_arguments,
    "t5_bias": bias_arguments,
    "t5_bias_vjp": vjp_arguments,
}
SWEEPS = {"t5_bucket": bucket_sweep, "t5_bias": bias_sweep, "t5_bias_vjp": no_sweep}
SIZES = {"t5_bucket": bucket_sizes, "t5_bias": bias_sizes, "t5_bias_vjp": vjp_sizes}
INVARIANTS = {
    "t5_bucket": {
        "bucket-range": bucket_range,
        "monotone": monotone,
        "near-exactly": near_exactly,
        "future": future,
        "far-together": far_together,
    },
    "t5_bias": {
        "toeplitz": toeplitz,
        "last-queries": last_queries,
        "heads-apart": heads_apart,
        "constant-table": constant_table,
    },
    "t5_bias_vjp": {"vjp-total": vjp_total, "vjp-linearity": vjp_linearity},
}
DEVIATIONS = {
    "t5_bucket": {
        "sign-flipped": sign_flipped,
        "direction-swapped": direction_swapped,
        "distance-shifted": shifted,
        "wrong-max-distance": other_distance,
        "inexact-logarithm": by_logarithm,
    },
    "t5_bias": {
        "bias-sign-flipped": through_buckets(sign_flipped),
        "bias-direction-swapped": direction_swapped,
        "bias-distance-shifted": through_buckets(shifted),
        "bias-wrong-max-distance": other_distance,
        "bias-inexact-logarithm": through_buckets(by_logarithm),
        "bias-queries-from-zero": queries_from_zero,
    },
    "t5_bias_vjp": {
        "gradient-overwritten": overwritten,
        "gradient-averaged": averaged,
        "gradient-sign-flipped": gradient_sign_flipped,
        "gradient-direction-swapped": direction_swapped,
    },
}
