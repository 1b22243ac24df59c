"""Dynamic position bias: bounds, invariants and deviations."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from posenc_conformance.diagnose.predictors import any_of, other_conventions
from posenc_conformance.families.biases import (
    distance_shifted,
    heads_apart,
    last_queries,
    queries_from_zero,
    toeplitz,
)
from posenc_conformance.families.layers import gelu
from posenc_conformance.families.lengths import Integers, lags, lengths, queries
from posenc_conformance.judge.arrays import Floats, fine, round_to
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.deviation import DeviationModel, Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments

Activation = Callable[[Floats], Floats]
STEEPEST = 1.1
"""No slope of SiLU is above 1.0999."""


def silu(x: Floats) -> Floats:
    """Compute x / (1 + exp(-x)) without overflow."""
    return np.asarray(x * (1 + np.tanh(x / 2)) / 2)


def relu(x: Floats) -> Floats:
    """Return the positive part of x."""
    return np.maximum(x, 0.0)


def unchanged(x: Floats) -> Floats:
    """Return x as it is."""
    return x


def given_of(case: Case, lag: Any) -> Floats:
    """Compute the network's input for a distance."""
    d = np.asarray(lag, dtype=np.float64)
    return np.sign(d) * np.log1p(np.abs(d)) if case.conventions["distance"] == "log" else d


def network(case: Case, given: Floats, activation: Activation = silu, middle: Any = None) -> Floats:
    """Compute the bias that these inputs give, for every head.

    ``middle`` replaces the layers between the first and the last.
    """
    w_in, b_in, w_mid, b_mid, w_out, b_out = (
        case.arguments[name] for name in ("w_in", "b_in", "w_mid", "b_mid", "w_out", "b_out")
    )
    hidden = activation(given[..., None] * w_in + b_in)
    for weights, bias in zip(w_mid, b_mid, strict=True) if middle is None else middle:
        hidden = activation(hidden @ weights.T + bias)
    return np.moveaxis(hidden @ w_out.T + b_out, -1, 0)


def error_terms(case: Case) -> ErrorTerms:
    """Return the sum of magnitudes, times the number of layers, as scale.

    The number of roundings in all layers serves as the angle.
    """
    w_in, b_in, w_mid, b_mid, w_out, b_out = (
        np.abs(case.arguments[name])
        for name in ("w_in", "b_in", "w_mid", "b_mid", "w_out", "b_out")
    )
    size = STEEPEST * (np.abs(given_of(case, lags(case)))[..., None] * w_in + b_in)
    for weights, bias in zip(w_mid, b_mid, strict=True):
        size = STEEPEST * (size @ weights.T + bias)
    layers, hidden = len(w_mid) + 1, len(w_in)
    scale = layers * np.moveaxis(size @ w_out.T + b_out, -1, 0)
    return ErrorTerms(scale, np.full((), hidden + 8 + (hidden + 6) / layers))


def weights_of(heads: int, hidden: int, layers: int) -> dict[str, Floats]:
    """Make weights of a network whose units are neither silent nor linear."""
    return {
        "w_in": fine((hidden,)),
        "b_in": fine((hidden,), 13),
        "w_mid": 1.5 * fine((layers, hidden, hidden), 5),
        "b_mid": fine((layers, hidden), 41),
        "w_out": fine((heads, hidden), 29),
        "b_out": fine((heads,), 47),
    }


def arguments(trial: Trial) -> ArgumentDict:
    """Draw a few heads, units, layers, queries and keys."""
    chosen = lengths(trial, (6, 1, 2, 9, 20), heads=(2, 1, 3), hidden=(4, 1, 7), layers=(2, 1, 0))
    sizes = (chosen.pop(name) for name in ("heads", "hidden", "layers"))
    return {**weights_of(*sizes), **chosen}


def sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Place one query at the end of many keys."""
    weights = weights_of(
        *(parameters.get(n, d) for n, d in (("heads", 2), ("hidden", 5), ("layers", 1)))
    )
    return {**weights, "q_len": 1, "k_len": parameters.get("k_len", min(largest, 1023) + 1)}


def sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield many heads, units, layers and queries."""
    for heads, hidden, layers in ((1, 1, 0), (2, 33, 1), (12, 3, 2), (3, 8, 4), (1, 130, 1)):
        yield {**weights_of(heads, hidden, layers), "q_len": 2, "k_len": 5}
    yield {**weights_of(1, 2, 1), "q_len": 70, "k_len": 140}


def mirrored(trial: Trial) -> None:
    """Check that negating the weights of the first layer exchanges queries and keys."""
    chosen = arguments(trial)
    chosen["q_len"] = chosen["k_len"]
    trial_scope = trial.scope.parameters.get("q_len")
    if trial_scope is not None and chosen["q_len"] not in trial_scope:
        return
    y = trial.answer(**chosen)
    other = trial.answer(**(chosen | {"w_in": -chosen["w_in"]}))
    trial.assert_zero(
        y - other.swapped(1, 2),
        "with the first layer's weights negated queries and keys do not change places",
    )


def own_key(trial: Trial) -> None:
    """Check that the bias at distance 0 does not depend on the weights of the first layer."""
    chosen = arguments(trial)
    y = trial.answer(**chosen)
    other = trial.answer(**(chosen | {"w_in": fine(chosen["w_in"].shape, 23)}))
    trial.assert_zero(
        (y - other).where(lags(y.case) == 0),
        "at its own key a query's bias depends on the weights of the first layer",
    )


def output_linear(trial: Trial) -> None:
    """Check that doubling the last layer doubles the bias."""
    chosen = arguments(trial)
    y = trial.answer(**chosen)
    doubled = {name: 2 * y.case.arguments[name] for name in ("w_out", "b_out")}
    twice = trial.answer(**(chosen | doubled))
    trial.assert_zero(2 * y - twice, "twice the last layer is not twice the bias")


def units_exchanged(trial: Trial) -> None:
    """Check that reversing the order of the units of every layer does not change the bias."""
    chosen = arguments(trial)
    y = trial.answer(**chosen)
    turned = {name: chosen[name][..., ::-1].copy() for name in ("w_in", "b_in", "b_mid", "w_out")}
    turned["w_mid"] = chosen["w_mid"][:, ::-1, ::-1].copy()
    other = trial.answer(**(chosen | turned))
    trial.assert_zero(y - other, "units in reverse order do not give the same bias")


def inputs(words: str, made: Callable[[Case, Integers], Any]) -> DeviationModel:
    """Make a model that predicts the bias for other inputs of the network."""

    def models(case: Case, got: Floats) -> Iterator[Prediction]:
        changed = np.asarray(made(case, lags(case)), dtype=np.float64)
        yield Prediction(words, network(case, changed))

    return models


def normalized(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict distances divided by a length."""
    keys = case.parameter("k_len")
    for words, whole in (("the number of keys", keys), ("the largest", keys - 1)):
        coordinate = given_of(case, lags(case)) / max(whole, 1)
        yield Prediction(f"matches distances divided by {words}", network(case, coordinate))
        inside = given_of(case, lags(case) / max(whole, 1))
        yield Prediction(f"matches distances divided by {words}", network(case, inside))


def other_logarithm(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict another base of the logarithm, or no 1 added."""
    if case.conventions["distance"] != "log":
        return
    lag = lags(case)
    for base in (2.0, 10.0):
        coordinate = given_of(case, lag) / np.log(base)
        yield Prediction(f"matches logarithms to base {base:g}", network(case, coordinate))
    bare = np.sign(lag) * np.log(np.maximum(np.abs(lag), 1))
    yield Prediction("matches logarithms without the 1", network(case, bare))


def activation_wrong(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict another activation between the layers, or one too many."""
    coordinate = given_of(case, lags(case))
    for words, activation in (
        ("ReLU in the place of SiLU", relu),
        ("GELU in the place of SiLU", gelu),
        ("nothing in the place of SiLU", unchanged),
    ):
        yield Prediction(f"matches {words}", network(case, coordinate, activation))
    yield Prediction("matches SiLU behind the last layer, too", silu(network(case, coordinate)))


def layers_wrong(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the middle layers transposed, reversed or left out, or the first used for all."""
    w_mid, b_mid = case.arguments["w_mid"], case.arguments["b_mid"]
    coordinate = given_of(case, lags(case))
    middle = list(zip(w_mid, b_mid, strict=True))
    for words, layers in (
        ("layers between transposed", [(w.T, b) for w, b in middle]),
        ("layers between in reverse order", middle[::-1]),
        ("layers between left out", []),
        ("the first layer between for all", middle[:1] * len(middle)),
    ):
        yield Prediction(f"matches {words}", network(case, coordinate, middle=layers))


def narrow_distances(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict positions, distances or the network's input in a narrow dtype."""
    lag = lags(case).astype(np.float64)
    for dtype in ("bfloat16", "float16"):
        query = round_to(queries(case).astype(np.float64), dtype)
        key = round_to(np.arange(lag.shape[-1], dtype=np.float64), dtype)
        for name, coordinate in (
            ("distances", given_of(case, round_to(lag, dtype))),
            ("positions", given_of(case, query - key)),
            ("positions and distances", given_of(case, round_to(query - key, dtype))),
            ("the network's input", round_to(given_of(case, lag), dtype)),
        ):
            yield Prediction(f"matches {name} in {dtype}", network(case, coordinate))


def from_queries(case: Case, query: Integers) -> Iterator[Floats]:
    """Yield the bias for queries at these positions."""
    yield network(case, given_of(case, lags(case, query)))


def shifted(case: Case, shift: int) -> Floats:
    """Compute the bias with ``shift`` added to all distances."""
    return network(case, given_of(case, lags(case) + shift))


KNOWLEDGE = {
    "dynamic_position_bias": CallKnowledge(
        error_terms=error_terms,
        arguments=arguments,
        sweep=sweep,
        sizes=sizes,
        invariants={
            "toeplitz": toeplitz(arguments),
            "last-queries": last_queries(arguments),
            "mirrored": mirrored,
            "own-key": own_key,
            "output-linear": output_linear,
            "heads-apart": heads_apart(arguments, "w_out", "b_out"),
            "units-exchanged": units_exchanged,
        },
        deviations={
            "distance-swapped": other_conventions(
                "distance", "matches {value} distances; {claimed} was claimed"
            ),
            "offset-reversed": inputs(
                "matches key minus query", lambda case, lag: given_of(case, -lag)
            ),
            "unsigned": any_of(
                inputs(
                    "matches distances without a sign",
                    lambda case, lag: given_of(case, np.abs(lag)),
                ),
                inputs(
                    "matches a distance of 0 to all keys ahead",
                    lambda case, lag: given_of(case, np.maximum(lag, 0)),
                ),
            ),
            "queries-from-zero": queries_from_zero(from_queries),
            "distance-shifted": distance_shifted(shifted),
            "normalized": normalized,
            "other-logarithm": other_logarithm,
            "activation-wrong": activation_wrong,
            "layers-wrong": layers_wrong,
            "narrow-distances": narrow_distances,
        },
    ),
}
