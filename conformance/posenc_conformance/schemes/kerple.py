"""KERPLE: bounds, invariants and deviations."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from posenc_conformance.diagnose.mistakes import Model, attempt, other_conventions
from posenc_conformance.families.biases import (
    DistanceBias,
    heads_apart,
    last_queries,
    negated,
    seen_gradient,
    toeplitz,
    with_gradient,
)
from posenc_conformance.families.lengths import distances, lags, lengths, no_sweep
from posenc_conformance.families.linearity import linear_in
from posenc_conformance.judge.arrays import Floats, fine, narrowed
from posenc_conformance.judge.bounded import Answer
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.trial import Trial


def per_head(case: Case, name: str) -> Floats:
    """The numbers of the heads, to be multiplied with distances."""
    values: Floats = case.arguments[name][:, None, None]
    return values


def kernel(case: Case, distance: Floats) -> Floats:
    """The bias at these distances."""
    r1, r2 = per_head(case, "r1"), per_head(case, "r2")
    if case.conventions["form"] == "log":
        return np.asarray(-r1 * np.log1p(r2 * distance))
    return np.asarray(-r1 * distance**r2)


def derivatives(case: Case, distance: Floats) -> tuple[Floats, Floats]:
    """What the bias changes by with r1 and with r2 at these distances."""
    r1, r2 = per_head(case, "r1"), per_head(case, "r2")
    if case.conventions["form"] == "log":
        return -np.log1p(r2 * distance), -r1 * distance / (1 + r2 * distance)
    power = distance**r2
    return -power, -r1 * power * np.log(np.maximum(distance, 1))


def gathered(gradient: Floats, by_number: tuple[Floats, Floats]) -> Floats:
    """Sums of gradient times derivative, for both numbers: [2, heads]."""
    return np.stack([(gradient * each).sum(axis=(1, 2)) for each in by_number])


def vjp_error_terms(case: Case) -> ErrorTerms:
    """The scale is the sum of the magnitudes added up.

    In place of the angle stand the number of terms, four roundings of each, and what is lost inside
    the logarithm or in the exponent of the power, on average over the terms.
    """
    distance, r2 = distances(case), per_head(case, "r2")
    size, away = np.abs(seen_gradient(case)), np.maximum(distance, 1)
    first, second = (np.abs(each) for each in derivatives(case, distance))
    scale = gathered(size, (first, second))
    if case.conventions["form"] == "log":
        lost = gathered(size, (first * 2 / np.log1p(r2 * away), 0 * second))
    else:
        lost = gathered(size, (first * 3 * r2 * np.log(away), second * 3 * r2 * np.log(away)))
    number = np.count_nonzero(lags(case) >= 0)
    return ErrorTerms(scale, number + 4 + lost / np.where(scale > 0, scale, 1.0))


def error_terms(case: Case) -> ErrorTerms:
    """The scale is the magnitude of the bias.

    What is lost before the logarithm, or in the exponent of the power, is relative to it.
    """
    distance, r2 = distances(case), per_head(case, "r2")
    away = np.maximum(distance, 1)
    log = case.conventions["form"] == "log"
    angle = 2 / np.log1p(r2 * away) if log else 3 * r2 * np.log(away)
    return ErrorTerms(np.abs(kernel(case, distance)), np.where(distance == 0, 0.0, angle))


def of_heads(heads: int, small: float = 1.0) -> dict[str, Floats]:
    """Numbers for each head: r1 from 0.34 to 1.76, r2 from 0.19 to 1.61, or much smaller."""
    return {"r1": 1.05 + fine((heads,)), "r2": (0.9 + fine((heads,), 31)) * small}


def arguments(trial: Trial) -> dict[str, Any]:
    """A few heads, queries and keys."""
    chosen = lengths(trial, heads=(2, 1, 3, 8), small=(1.0, 0.06))
    return of_heads(chosen.pop("heads"), chosen.pop("small")) | chosen


def vjp_arguments(trial: Trial) -> dict[str, Any]:
    """A gradient of a few heads, queries and keys."""
    chosen = arguments(trial)
    return with_gradient(chosen, len(chosen["r1"]), 7)


def vjp_sizes(case: Case) -> Iterator[dict[str, Any]]:
    """Many heads; more queries than one block."""
    for shape in ((1, 1, 3), (33, 2, 5), (1, 130, 130)):
        yield {"gradient": fine(shape, 7), **of_heads(shape[0])}


def sweep(parameters: Mapping[str, Any], largest: int) -> dict[str, Any]:
    """One query at the end of many keys."""
    rest = {name: value for name, value in parameters.items() if name != "heads"}
    k_len = min(largest, 1023) + 1
    return {**of_heads(parameters.get("heads", 2), 0.5), "q_len": 1, "k_len": k_len, **rest}


def sizes(case: Case) -> Iterator[dict[str, Any]]:
    """Many heads, and many queries."""
    for heads in (1, 2, 3, 5, 8, 12, 20, 33):
        yield {**of_heads(heads), "q_len": 1, "k_len": 3}
    yield {**of_heads(1), "q_len": 300, "k_len": 300}


def by_distance(trial: Trial, **chosen: Any) -> Answer:
    """The biases of the last query, by growing distance: [heads, k_len]."""
    return trial.answer(**chosen)[:, -1, ::-1]


def zero_diagonal(trial: Trial) -> None:
    """A query loses nothing at its own key."""
    y = trial.answer(**arguments(trial))
    wrong = (lags(y.case) == 0) & (y.values != 0)
    trial.never(y, wrong, "the bias is not 0 at the query's own key")


def decreasing(trial: Trial) -> None:
    """A key farther away never has a larger bias."""
    y = by_distance(trial, **arguments(trial))
    trial.zero((y[:, 1:] - y[:, :-1]).positive(), "the bias grows with distance")


def proportional(trial: Trial) -> None:
    """Twice r1 is twice the bias."""
    chosen = arguments(trial)
    y = trial.answer(**chosen)
    twice = trial.answer(**(chosen | {"r1": 2 * y.case.arguments["r1"]}))
    trial.zero(2 * y - twice, "twice r1 is not twice the bias")


def product_inside(trial: Trial) -> None:
    """The logarithm knows r2 and the distance only as their product."""
    chosen = arguments(trial)
    y = by_distance(trial, **chosen)
    near = by_distance(trial, **(chosen | {"r2": 2 * y.case.arguments["r2"]}))
    half = (y.values.shape[1] + 1) // 2
    trial.zero(y[:, ::2] - near[:, :half], "half the distance at twice r2 is not the same")


def slowing(trial: Trial) -> None:
    """The loss of the logarithm grows more and more slowly: second differences are not negative."""
    y = by_distance(trial, **arguments(trial))
    bend = 2 * y[:, 1:-1] - y[:, 2:] - y[:, :-2]
    trial.zero(bend.positive(), "the loss does not slow down")


def linear(trial: Trial) -> None:
    """A power of 1 is ALiBi with slope r1."""
    chosen = arguments(trial)
    y = trial.answer(**(chosen | {"r2": np.ones(chosen["r2"].shape)}))
    trial.zero(y + per_head(y.case, "r1") * distances(y.case), "r2 = 1 is not linear")


def multiplicative(trial: Trial) -> None:
    """Powers multiply: b(2) b(3) = b(1) b(6), as far as there are keys."""
    y = by_distance(trial, **arguments(trial))
    for a, b in ((2, 2), (2, 3)):
        if a * b < y.values.shape[1]:
            trial.zero(
                y[:, a] * y[:, b] - y[:, 1] * y[:, a * b], f"b({a}) b({b}) is not b(1) b({a * b})"
            )


def vjp_of_r1(trial: Trial) -> None:
    """The bias is proportional to r1: r1 times its gradient is the gradient times the bias."""
    y = trial.answer(**vjp_arguments(trial))
    products = y.known(seen_gradient(y.case)) * kernel(y.case, distances(y.case))
    trial.zero(
        y[0] * y.given("r1") - products.sum(axis=(1, 2)),
        "r1 times its gradient is not the sum of gradient times bias",
    )


def letters_swapped(case: Case, got: Floats) -> Iterator[Model]:
    """One of the learned numbers in the place of the other."""
    r1, r2 = per_head(case, "r1"), per_head(case, "r2")
    distance = distances(case)
    swapped = (
        -r2 * np.log1p(r1 * distance) if case.conventions["form"] == "log" else -r2 * distance**r1
    )
    yield Model("matches r1 and r2 exchanged", np.asarray(swapped))


def logarithm_wrong(case: Case, got: Floats) -> Iterator[Model]:
    """Another base, or r2 in another place, or nothing added."""
    if case.conventions["form"] != "log":
        return
    r1, r2, distance = per_head(case, "r1"), per_head(case, "r2"), distances(case)
    right = -r1 * np.log1p(r2 * distance)
    for base in (2, 10):
        yield Model(f"matches logarithms to base {base}", right / np.log(base))
    yield Model("matches r2 ignored", np.asarray(-r1 * np.log1p(distance + 0 * r2)))
    yield Model("matches r2 outside of the logarithm", np.asarray(-r1 * r2 * np.log1p(distance)))
    yield Model("matches r2 in place of 1", np.asarray(-r1 * np.log(r2 + distance)))


def narrow_bias(case: Case, got: Floats) -> Iterator[Model]:
    """Distances, or what the logarithm is taken of, or the bias, in a narrow dtype."""
    r1, r2, distance = per_head(case, "r1"), per_head(case, "r2"), distances(case)
    for dtype in ("bfloat16", "float16"):
        with np.errstate(over="ignore"):  # powers of large distances
            held = narrowed(distance, dtype)
            whole = narrowed(kernel(case, distance), dtype)
            if case.conventions["form"] == "log":
                inside = narrowed(1 + narrowed(r2 * held, dtype), dtype)
                loss = narrowed(np.log(inside), dtype)
            else:
                loss = narrowed(held**r2, dtype)
            steps = narrowed(-r1 * loss, dtype)
        yield Model(f"matches distances in {dtype}", kernel(case, held))
        yield Model(f"matches a bias in {dtype}", whole)
        yield Model(f"matches every step in {dtype}", steps)


def clamped(case: Case, got: Floats) -> Iterator[Model]:
    """Numbers held within bounds of the other form."""
    least, most = 0.01, 1.0
    for name in ("r1", "r2"):
        within = np.clip(case.arguments[name], least, most)
        words = f"matches {name} held between {least} and {most}"
        yield from attempt(case.changed(**{name: within}), words)


def parameters_exchanged(case: Case, got: Floats) -> Iterator[Model]:
    """The two gradients in each other's place."""
    yield Model("matches the gradients of r1 and r2 exchanged", case.truth[::-1])


def mask_ignored(case: Case, got: Floats) -> Iterator[Model]:
    """Keys after the query taken along, by the magnitude of their distance."""
    by_number = derivatives(case, np.abs(lags(case)))
    output = gathered(case.arguments["gradient"], by_number)
    yield Model("matches keys after the query taken along", output)


def chain_rule_broken(case: Case, got: Floats) -> Iterator[Model]:
    """The derivative by r2 of something like the kernel."""
    r1, r2, distance = per_head(case, "r1"), per_head(case, "r2"), distances(case)
    by_r1, by_r2 = derivatives(case, distance)
    if case.conventions["form"] == "log":
        wrong = {
            "without the factor |i - j| from inside the logarithm": -r1 / (1 + r2 * distance),
            "with r1 left out": by_r2 / r1,
        }
    else:
        lower = np.where(distance > 0, np.maximum(distance, 1) ** (r2 - 1), 0.0)
        wrong = {
            "by the rule for powers of a variable base": -r1 * r2 * lower,
            "without the factor ln |i - j|": -r1 * distance**r2,
            "with r1 left out": by_r2 / r1,
        }
    for words, each in wrong.items():
        output = gathered(seen_gradient(case), (by_r1, np.asarray(each)))
        yield Model(f"matches the gradient of r2 {words}", output)


ERROR_TERMS = {"kerple_bias": error_terms, "kerple_bias_vjp": vjp_error_terms}
ARGUMENTS = {"kerple_bias": arguments, "kerple_bias_vjp": vjp_arguments}
SWEEPS = {"kerple_bias": sweep, "kerple_bias_vjp": no_sweep}
SIZES = {"kerple_bias": sizes, "kerple_bias_vjp": vjp_sizes}
SHAPES = {"kerple_bias_vjp": lambda case: (2, case.parameter("heads"))}
INVARIANTS = {
    "kerple_bias": {
        "zero-diagonal": zero_diagonal,
        "toeplitz": toeplitz(arguments),
        "decreasing": decreasing,
        "last-queries": last_queries(arguments),
        "heads-apart": heads_apart(arguments, "r1", "r2"),
        "proportional": proportional,
        "product-inside": product_inside,
        "slowing": slowing,
        "linear": linear,
        "multiplicative": multiplicative,
    },
    "kerple_bias_vjp": {
        "vjp-of-r1": vjp_of_r1,
        "vjp-linearity": linear_in("gradient", vjp_arguments),
    },
}
DEVIATIONS = {
    "kerple_bias": {
        "letters-swapped": letters_swapped,
        "form-swapped": other_conventions(
            "form", "matches the {value} form; {claimed} was claimed"
        ),
        **DistanceBias(kernel, {"r1": 1.05, "r2": 0.9}).deviations,
        "logarithm-wrong": logarithm_wrong,
        "numbers-clamped": clamped,
        "narrow-bias": narrow_bias,
    },
    "kerple_bias_vjp": {
        "gradients-exchanged": parameters_exchanged,
        "gradient-form-swapped": other_conventions(
            "form", "matches the gradient of the {value} form; {claimed} was claimed"
        ),
        "gradient-sign-flipped": negated("matches the gradient with the sign flipped"),
        "gradient-mask-ignored": mask_ignored,
        "gradient-chain-rule": chain_rule_broken,
    },
}
