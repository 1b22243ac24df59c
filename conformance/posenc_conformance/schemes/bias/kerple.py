"""KERPLE: bounds, invariants and deviations."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from posenc_conformance.diagnose.predictors import other_conventions, predict_case
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
from posenc_conformance.judge.arrays import Floats, fine, round_to
from posenc_conformance.judge.bounded import Answer
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.deviation import Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments


def per_head(case: Case, name: str) -> Floats:
    """Return the parameter ``name`` of each head, to broadcast with distances: [heads, 1, 1]."""
    values: Floats = case.arguments[name][:, None, None]
    return values


def kernel(case: Case, distance: Floats) -> Floats:
    """Compute the bias at these distances."""
    r1, r2 = per_head(case, "r1"), per_head(case, "r2")
    if case.conventions["form"] == "log":
        return np.asarray(-r1 * np.log1p(r2 * distance))
    return np.asarray(-r1 * distance**r2)


def derivatives(case: Case, distance: Floats) -> tuple[Floats, Floats]:
    """Compute the derivatives of the bias with respect to r1 and r2 at these distances."""
    r1, r2 = per_head(case, "r1"), per_head(case, "r2")
    if case.conventions["form"] == "log":
        return -np.log1p(r2 * distance), -r1 * distance / (1 + r2 * distance)
    power = distance**r2
    return -power, -r1 * power * np.log(np.maximum(distance, 1))


def gathered(gradient: Floats, by_number: tuple[Floats, Floats]) -> Floats:
    """Sum the gradient times the derivative, for both parameters: [2, heads]."""
    return np.stack([(gradient * derivative).sum(axis=(1, 2)) for derivative in by_number])


def vjp_error_terms(case: Case) -> ErrorTerms:
    """Return the sum of the terms' magnitudes as scale, and the angle.

    The sum of three serves as the angle: the number of terms, four roundings per term, and the
    error inside the logarithm or in the exponent of the power, on average over the terms.
    """
    distance, r2 = distances(case), per_head(case, "r2")
    size, away = np.abs(seen_gradient(case)), np.maximum(distance, 1)
    first, second = (np.abs(derivative) for derivative in derivatives(case, distance))
    scale = gathered(size, (first, second))
    if case.conventions["form"] == "log":
        lost = gathered(size, (first * 2 / np.log1p(r2 * away), 0 * second))
    else:
        lost = gathered(size, (first * 3 * r2 * np.log(away), second * 3 * r2 * np.log(away)))
    number = np.count_nonzero(lags(case) >= 0)
    return ErrorTerms(scale, number + 4 + lost / np.where(scale > 0, scale, 1.0))


def error_terms(case: Case) -> ErrorTerms:
    """Return the magnitude of the bias as scale, and the angle.

    The error inside the logarithm, or in the exponent of the power, relative to the scale, serves
    as the angle.
    """
    distance, r2 = distances(case), per_head(case, "r2")
    away = np.maximum(distance, 1)
    log = case.conventions["form"] == "log"
    angle = 2 / np.log1p(r2 * away) if log else 3 * r2 * np.log(away)
    return ErrorTerms(np.abs(kernel(case, distance)), np.where(distance == 0, 0.0, angle))


def of_heads(heads: int, small: float = 1.0) -> dict[str, Floats]:
    """Make the parameters of each head.

    r1 ranges from 0.34 to 1.76, and r2 from 0.19 to 1.61, times ``small``.
    """
    return {"r1": 1.05 + fine((heads,)), "r2": (0.9 + fine((heads,), 31)) * small}


def arguments(trial: Trial) -> ArgumentDict:
    """Draw a few heads, queries and keys."""
    chosen = lengths(trial, heads=(2, 1, 3, 8), small=(1.0, 0.06))
    return of_heads(chosen.pop("heads"), chosen.pop("small")) | chosen


def vjp_arguments(trial: Trial) -> ArgumentDict:
    """Draw an upstream gradient for a few heads, queries and keys."""
    chosen = arguments(trial)
    return with_gradient(chosen, len(chosen["r1"]), 7)


def vjp_sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield many heads, and more queries than one block."""
    for shape in ((1, 1, 3), (33, 2, 5), (1, 130, 130)):
        yield {"gradient": fine(shape, 7), **of_heads(shape[0])}


def sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Place one query at the end of many keys."""
    others = {name: value for name, value in parameters.items() if name != "heads"}
    k_len = min(largest, 1023) + 1
    return {**of_heads(parameters.get("heads", 2), 0.5), "q_len": 1, "k_len": k_len, **others}


def sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield many heads, and many queries."""
    for heads in (1, 2, 3, 5, 8, 12, 20, 33):
        yield {**of_heads(heads), "q_len": 1, "k_len": 3}
    yield {**of_heads(1), "q_len": 300, "k_len": 300}


def by_distance(trial: Trial, **chosen: Any) -> Answer:
    """Return the answer's biases of the last query, by growing distance: [heads, k_len]."""
    return trial.answer(**chosen)[:, -1, ::-1]


def zero_diagonal(trial: Trial) -> None:
    """Check that the bias is exactly 0 at the query's own key."""
    y = trial.answer(**arguments(trial))
    wrong = (lags(y.case) == 0) & (y.values != 0)
    trial.assert_none(y, wrong, "the bias is not 0 at the query's own key")


def decreasing(trial: Trial) -> None:
    """Check that the bias never increases with the distance."""
    y = by_distance(trial, **arguments(trial))
    trial.assert_zero((y[:, 1:] - y[:, :-1]).positive(), "the bias grows with distance")


def proportional(trial: Trial) -> None:
    """Check that doubling r1 doubles the bias."""
    chosen = arguments(trial)
    y = trial.answer(**chosen)
    twice = trial.answer(**(chosen | {"r1": 2 * y.case.arguments["r1"]}))
    trial.assert_zero(2 * y - twice, "twice r1 is not twice the bias")


def product_inside(trial: Trial) -> None:
    """Check that r2 and the distance enter the logarithm only as their product."""
    chosen = arguments(trial)
    y = by_distance(trial, **chosen)
    near = by_distance(trial, **(chosen | {"r2": 2 * y.case.arguments["r2"]}))
    half = (y.values.shape[1] + 1) // 2
    trial.assert_zero(y[:, ::2] - near[:, :half], "half the distance at twice r2 is not the same")


def slowing(trial: Trial) -> None:
    """Check that the log form's bias decreases ever more slowly with the distance.

    Its second differences are then not negative.
    """
    y = by_distance(trial, **arguments(trial))
    bend = 2 * y[:, 1:-1] - y[:, 2:] - y[:, :-2]
    trial.assert_zero(bend.positive(), "the loss does not slow down")


def linear(trial: Trial) -> None:
    """Check that a power of 1 gives ALiBi with slope r1."""
    chosen = arguments(trial)
    y = trial.answer(**(chosen | {"r2": np.ones(chosen["r2"].shape)}))
    trial.assert_zero(y + per_head(y.case, "r1") * distances(y.case), "r2 = 1 is not linear")


def multiplicative(trial: Trial) -> None:
    """Check that powers multiply: b(2) b(3) = b(1) b(6), as far as there are keys."""
    y = by_distance(trial, **arguments(trial))
    for a, b in ((2, 2), (2, 3)):
        if a * b < y.values.shape[1]:
            trial.assert_zero(
                y[:, a] * y[:, b] - y[:, 1] * y[:, a * b], f"b({a}) b({b}) is not b(1) b({a * b})"
            )


def vjp_of_r1(trial: Trial) -> None:
    """Check that r1 times its gradient is the sum of the gradient times the bias.

    This holds because the bias is proportional to r1.
    """
    y = trial.answer(**vjp_arguments(trial))
    products = y.known(seen_gradient(y.case)) * kernel(y.case, distances(y.case))
    trial.assert_zero(
        y[0] * y.given("r1") - products.sum(axis=(1, 2)),
        "r1 times its gradient is not the sum of gradient times bias",
    )


def letters_swapped(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict r1 and r2 exchanged."""
    r1, r2 = per_head(case, "r1"), per_head(case, "r2")
    distance = distances(case)
    swapped = (
        -r2 * np.log1p(r1 * distance) if case.conventions["form"] == "log" else -r2 * distance**r1
    )
    yield Prediction("matches r1 and r2 exchanged", np.asarray(swapped))


def logarithm_wrong(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict another base of the logarithm, or r2 ignored or in another place."""
    if case.conventions["form"] != "log":
        return
    r1, r2, distance = per_head(case, "r1"), per_head(case, "r2"), distances(case)
    right = -r1 * np.log1p(r2 * distance)
    for base in (2, 10):
        yield Prediction(f"matches logarithms to base {base}", right / np.log(base))
    yield Prediction("matches r2 ignored", np.asarray(-r1 * np.log1p(distance + 0 * r2)))
    yield Prediction(
        "matches r2 outside of the logarithm", np.asarray(-r1 * r2 * np.log1p(distance))
    )
    yield Prediction("matches r2 in place of 1", np.asarray(-r1 * np.log(r2 + distance)))


def without_one(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict a logarithm without the 1, of any value where the distance is 0."""
    if case.conventions["form"] != "log" or got.shape != case.shape:
        return
    distance = np.broadcast_to(distances(case), case.shape)
    inside = per_head(case, "r2") * np.where(distance > 0, distance, 1.0)
    output = np.where(distance > 0, -per_head(case, "r1") * np.log(inside), got)
    if (distance > 0).any():
        yield Prediction("matches ln(r2 |i - j|), without 1 added inside", output)


def narrow_bias(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict distances, the bias or every step in a narrow dtype."""
    r1, r2, distance = per_head(case, "r1"), per_head(case, "r2"), distances(case)
    for dtype in ("bfloat16", "float16"):
        with np.errstate(over="ignore"):  # powers of large distances
            held = round_to(distance, dtype)
            whole = round_to(kernel(case, distance), dtype)
            if case.conventions["form"] == "log":
                inside = round_to(1 + round_to(r2 * held, dtype), dtype)
                loss = round_to(np.log(inside), dtype)
            else:
                loss = round_to(held**r2, dtype)
            steps = round_to(-r1 * loss, dtype)
        yield Prediction(f"matches distances in {dtype}", kernel(case, held))
        yield Prediction(f"matches a bias in {dtype}", whole)
        yield Prediction(f"matches every step in {dtype}", steps)


def clamped(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict parameters clipped to the bounds of the other form."""
    least, most = 0.01, 1.0
    for name in ("r1", "r2"):
        within = np.clip(case.arguments[name], least, most)
        words = f"matches {name} held between {least} and {most}"
        yield from predict_case(case.with_arguments(**{name: within}), words)


def parameters_exchanged(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the two gradients exchanged."""
    yield Prediction("matches the gradients of r1 and r2 exchanged", case.truth[::-1])


def mask_ignored(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict keys after the query included, by the magnitude of their distance."""
    by_number = derivatives(case, np.abs(lags(case)))
    output = gathered(case.arguments["gradient"], by_number)
    yield Prediction("matches keys after the query taken along", output)


def chain_rule_broken(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict wrong derivatives of the kernel with respect to r2."""
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
    for words, derivative in wrong.items():
        output = gathered(seen_gradient(case), (by_r1, np.asarray(derivative)))
        yield Prediction(f"matches the gradient of r2 {words}", output)


KNOWLEDGE = {
    "kerple_bias": CallKnowledge(
        error_terms=error_terms,
        arguments=arguments,
        sweep=sweep,
        sizes=sizes,
        invariants={
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
        deviations={
            "letters-swapped": letters_swapped,
            "form-swapped": other_conventions(
                "form", "matches the {value} form; {claimed} was claimed"
            ),
            **DistanceBias(kernel, {"r1": 1.05, "r2": 0.9}).deviations,
            "logarithm-wrong": logarithm_wrong,
            "numbers-clamped": clamped,
            "narrow-bias": narrow_bias,
        },
        readings=(without_one,),
    ),
    "kerple_bias_vjp": CallKnowledge(
        error_terms=vjp_error_terms,
        arguments=vjp_arguments,
        sweep=no_sweep,
        sizes=vjp_sizes,
        shape=lambda case: (2, case.parameter("heads")),
        invariants={
            "vjp-of-r1": vjp_of_r1,
            "vjp-linearity": linear_in("gradient", vjp_arguments),
        },
        deviations={
            "gradients-exchanged": parameters_exchanged,
            "gradient-form-swapped": other_conventions(
                "form", "matches the gradient of the {value} form; {claimed} was claimed"
            ),
            "gradient-sign-flipped": negated("matches the gradient with the sign flipped"),
            "gradient-mask-ignored": mask_ignored,
            "gradient-chain-rule": chain_rule_broken,
        },
    ),
}
