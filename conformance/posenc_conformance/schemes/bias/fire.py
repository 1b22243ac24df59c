"""FIRE: bounds, invariants and deviations."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from posenc_conformance.diagnose.predictors import other_conventions
from posenc_conformance.families.biases import (
    averaged,
    distance_shifted,
    heads_apart,
    last_queries,
    negated,
    pairs,
    queries_from_zero,
    seen_gradient,
    with_gradient,
)
from posenc_conformance.families.lengths import (
    Integers,
    distances,
    lags,
    lengths,
    no_sweep,
    queries,
)
from posenc_conformance.judge.arrays import Floats, fine, lattice, round_to
from posenc_conformance.judge.bounded import Exact
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.deviation import Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments

EPSILON = 1e-6


def c_of(case: Case) -> float:
    """Return c, the number inside the logarithm."""
    return float(case.arguments.get("c", 0.1))


def threshold_of(case: Case) -> float:
    """Return the query position up to which all distances have the same divisor."""
    return float(case.arguments.get("threshold", 512.0))


def psi(case: Case, x: Any) -> Floats:
    """Compute the logarithm of a distance, ln(1 + c x)."""
    return np.asarray(np.log1p(c_of(case) * np.asarray(x)))


def divisor(case: Case, query: Any) -> Floats:
    """Compute the divisor of each query's distances."""
    return psi(case, np.maximum(query, threshold_of(case))) + smallest(case)[0]


def smallest(case: Case) -> tuple[float, ...]:
    """Return the addend of the normaliser, then the addends that a wrong normaliser may have."""
    return (EPSILON, 0.0) if case.conventions["normalizer"] == "epsilon" else (0.0,)


def network(case: Case, a: Floats, *, relu: bool = True) -> Floats:
    """Compute the network's bias for these inputs, for every head."""
    w1, b1, w2, b2 = (case.arguments[name] for name in ("w1", "b1", "w2", "b2"))
    hidden = a[..., None] * w1 + b1
    if relu:
        hidden = np.maximum(hidden, 0)
    return np.moveaxis(hidden @ w2.T + b2, -1, 0)


def error_terms(case: Case) -> ErrorTerms:
    """Return the sum of the magnitudes of the network's terms as scale, and the angle.

    The number of terms plus the rounding error of the network's input serves as the angle.
    """
    w1, b1, w2, b2 = (np.abs(case.arguments[name]) for name in ("w1", "b1", "w2", "b2"))
    a, lost = network_input(case)
    hidden = a[..., None] * w1 + b1
    scale = np.moveaxis(hidden @ w2.T + b2, -1, 0)
    through = np.multiply.outer(w2 @ w1, lost)
    safe = np.where(scale > 0, scale, 1.0)
    return ErrorTerms(scale, len(w1) + 3 + through / safe)


def network_input(case: Case) -> tuple[Floats, Floats]:
    """Compute the input of the network and its rounding error in units of u."""
    lag, whole = distances(case), divisor(case, queries(case))
    a = psi(case, lag) / whole
    return a, (3 * (lag > 0) + 4 * a) / whole + 6 * a


def seen_pairs(case: Case) -> int:
    """Count the pairs of query and key that the mask does not hide."""
    return int(np.count_nonzero(lags(case) >= 0))


def with_bias(hidden: Floats) -> Floats:
    """Append 1 for the bias of the second layer to the units of the first layer.

    The result has shape [q_len, k_len, hidden + 1].
    """
    return np.concatenate([hidden, np.ones((*hidden.shape[:-1], 1))], axis=-1)


def first_layer(case: Case, a: Floats) -> Floats:
    """Compute the units of the first layer, after the ReLU."""
    return np.asarray(np.maximum(a[..., None] * case.arguments["w1"] + case.arguments["b1"], 0))


def gathered(gradient: Floats, inputs: Floats) -> Floats:
    """Sum the gradient times the inputs of the second layer: [heads, hidden + 1]."""
    return np.asarray(np.einsum("hqk,qku->hu", gradient, inputs))


def vjp_error_terms(case: Case) -> ErrorTerms:
    """Return the sum of the terms' magnitudes as scale, and the angle.

    The sum of three serves as the angle: the number of terms, three roundings per term, and the
    rounding error of the network's input, on average over the terms.
    """
    size = np.abs(seen_gradient(case))
    w1, b1 = np.abs(case.arguments["w1"]), np.abs(case.arguments["b1"])
    a, lost = network_input(case)
    scale = gathered(size, with_bias(a[..., None] * w1 + b1))
    through = gathered(size, lost[..., None] * np.append(w1, 0.0))
    return ErrorTerms(scale, seen_pairs(case) + 3 + through / np.where(scale > 0, scale, 1.0))


def layers(heads: int, hidden: int) -> dict[str, Floats]:
    """Make weights of a network; some of its units switch on within the range of its inputs."""
    return {
        "w1": 2 * fine((hidden,)),
        "b1": fine((hidden,), 13),
        "w2": fine((heads, hidden), 29),
        "b2": fine((heads,), 47),
    }


def arguments(trial: Trial) -> ArgumentDict:
    """Draw a few heads, units, queries and keys."""
    chosen = lengths(trial, (7, 1, 2, 9, 20), heads=(2, 1, 3), hidden=(4, 1, 7))
    return {
        **layers(chosen.pop("heads"), chosen.pop("hidden")),
        **chosen,
        "c": trial.choose("c", (0.1, 1.0, 3.5)),
        "threshold": trial.choose("threshold", (4.0, 512.0, 2.5)),
    }


def vjp_arguments(trial: Trial) -> ArgumentDict:
    """Draw an upstream gradient for a few heads, queries and keys, and the first layer."""
    chosen = arguments(trial)
    del chosen["b2"]
    return with_gradient(chosen, len(chosen.pop("w2")), 7)


def vjp_sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield many heads, many units, and many queries, also beyond the threshold."""
    for hidden, shape, threshold in ((1, (1, 2, 5), 512.0), (33, (12, 2, 5), 3.0)):
        yield {"gradient": fine(shape, 7), **first_of(hidden), "threshold": threshold}
    # Of one sign, so that no missing part of the sum goes unnoticed.
    for q_len in (70, 140):
        gradient = np.abs(fine((1, q_len, 140), 7))
        yield {"gradient": gradient, **first_of(2), "threshold": 100.0}


def first_of(hidden: int) -> dict[str, Floats]:
    """Make weights of the first layer."""
    weights = layers(1, hidden)
    return {"w1": weights["w1"], "b1": weights["b1"]}


def sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Place one query at the end of many keys, beyond the threshold."""
    others = {name: value for name, value in parameters.items() if name not in ("heads", "hidden")}
    weights = layers(parameters.get("heads", 2), parameters.get("hidden", 5))
    lengths = {"q_len": 1, "k_len": min(largest, 1023) + 1}
    return {**weights, **lengths, "c": 0.1, "threshold": 512.0, **others}


def sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield many heads, many units, and many queries, also beyond the threshold."""
    for heads, hidden in ((1, 1), (2, 33), (12, 3)):
        yield {**layers(heads, hidden), "q_len": 2, "k_len": 5}
    yield {**layers(1, 2), "q_len": 70, "k_len": 140, "threshold": 100.0}


def own_key(trial: Trial) -> None:
    """Check that the bias at every query's own key is the network's answer to 0."""
    y = trial.answer(**arguments(trial))
    units = y.given("b1").positive()
    at_zero = (y.given("w2") * units).sum(axis=1) + y.given("b2")
    trial.assert_zero(
        (y - at_zero[:, None, None]).where(lags(y.case) == 0),
        "at its own key a query does not have the network's answer to 0",
    )


def toeplitz_below(trial: Trial) -> None:
    """Check that up to the threshold the bias depends on the distance only."""
    y = trial.answer(**arguments(trial))
    below = queries(y.case)[1:] <= threshold_of(y.case)
    trial.assert_zero(
        (y[:, 1:, 1:] - y[:, :-1, :-1]).where(below),
        "up to the threshold the bias is not constant along the diagonals",
    )


def threshold_passed(trial: Trial) -> None:
    """Check that the bias from the threshold on does not change with a smaller threshold."""
    chosen = arguments(trial)
    smaller = chosen["threshold"] / 2
    y, other = trial.answer(**chosen), trial.answer(**(chosen | {"threshold": smaller}))
    beyond = queries(y.case) >= threshold_of(y.case)
    trial.assert_zero(
        (y - other).where(beyond), "beyond the threshold the bias still depends on it"
    )


def unit_interval(trial: Trial) -> None:
    """Check that the network's input grows from 0 at the query to at most 1.

    The weights are those of a network that returns its input.
    """
    chosen = arguments(trial)
    heads, hidden = chosen["w2"].shape
    first = (np.arange(hidden) == 0).astype(np.float64)
    identity = {
        "w1": first,
        "b1": np.zeros(hidden),
        "w2": np.tile(first, (heads, 1)),
        "b2": np.zeros(heads),
    }
    y = trial.answer(**(chosen | identity))
    for outside in (y - 1, -y):
        trial.assert_zero(outside.positive(), "the network's input is not between 0 and 1")
    nearer = y[:, :, 1:] - y[:, :, :-1]
    trial.assert_zero(nearer.positive(), "the network's input does not grow with distance")


def silent_units(trial: Trial) -> None:
    """Check that the result is ``b2`` if all units are below 0 for all inputs."""
    chosen = arguments(trial)
    y = trial.answer(**(chosen | {"b1": np.full(chosen["b1"].shape, -2.0)}))
    trial.assert_zero(y - y.given("b2")[:, None, None], "units below 0 contribute to the bias")


def output_linear(trial: Trial) -> None:
    """Check that doubling the second layer doubles the bias."""
    chosen = arguments(trial)
    y = trial.answer(**chosen)
    doubled = {name: 2 * y.case.arguments[name] for name in ("w2", "b2")}
    twice = trial.answer(**(chosen | doubled))
    trial.assert_zero(2 * y - twice, "twice the second layer is not twice the bias")


def vjp_adjoint(trial: Trial) -> None:
    """Check that <g, bias> is <vjp(g), second layer>, head by head."""
    y = trial.answer(**vjp_arguments(trial))
    weights = lattice(y.case.shape, 3)
    a = network_input(y.case)[0][..., None]
    units = (y.given("w1") * a + y.given("b1")).positive()
    gradient = y.known(seen_gradient(y.case))
    by_unit = (gradient[..., None] * units).sum(axis=(1, 2))
    before = (by_unit * Exact(weights[:, :-1])).sum(axis=1)
    before += gradient.sum(axis=(1, 2)) * Exact(weights[:, -1])
    after = (y * Exact(weights)).sum(axis=1)
    trial.assert_zero(after - before, "<vjp(g), second layer> is not <g, bias>")


def vjp_of_bias(trial: Trial) -> None:
    """Check that the last column is the sum of the gradient over the pairs that are not masked."""
    y = trial.answer(**vjp_arguments(trial))
    trial.assert_zero(
        y[:, -1] - y.known(seen_gradient(y.case)).sum(axis=(1, 2)),
        "the gradient of b2 is not the sum of what came in",
    )


def from_queries(case: Case, query: Integers) -> Iterator[Floats]:
    """Yield the bias for queries at these positions."""
    for distance in (distances(case, query), np.abs(lags(case, query))):
        yield network(case, psi(case, distance) / divisor(case, query))


def shifted(case: Case, shift: int) -> Floats:
    """Compute the bias with ``shift`` added to all distances."""
    query = queries(case)
    return network(case, psi(case, distances(case, query + shift)) / divisor(case, query))


def from_one(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict queries counted from 1 in the normaliser only."""
    query = queries(case)
    bias = network(case, psi(case, distances(case)) / divisor(case, query + 1))
    yield Prediction("matches queries counted from 1 in the normalizer", bias)


def without_threshold(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict a normaliser from the query's own position, without the threshold."""
    query = queries(case)
    for small in smallest(case):
        whole = np.where(query > 0, psi(case, query) + small, 1.0)
        bias = network(case, psi(case, distances(case)) / whole)
        yield Prediction("matches a normalizer without threshold", bias)


def one_normalizer(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the same divisor for all queries."""
    last = np.full((1, 1), case.arguments["k_len"] - 1.0)
    lag = psi(case, distances(case))
    alone = [psi(case, threshold_of(case)) + small for small in smallest(case)]
    for words, whole in (
        *(("the threshold alone as normalizer", value) for value in alone),
        ("the last position as normalizer of all queries", divisor(case, last)),
        ("the number of keys as normalizer of all queries", divisor(case, last + 1)),
    ):
        yield Prediction(f"matches {words}", network(case, lag / whole))


def normalizer_of_key(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict a normaliser from the key's position in place of the query's."""
    keys = np.arange(case.arguments["k_len"], dtype=np.float64)[None]
    bias = network(case, psi(case, distances(case)) / divisor(case, keys))
    yield Prediction("matches a normalizer of the key's position, not the query's", bias)


def ratio_wrong(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict inputs of the network that are not a ratio of logarithms, or have no c.

    These are distances without logarithms, a difference of logarithms, logarithms without c, or
    logarithms without a normaliser.
    """
    query = queries(case)
    lag, largest = distances(case), np.maximum(query, threshold_of(case))
    parts = {
        "distances without logarithms": lag / largest,
        "a difference of logarithms in place of their ratio": psi(case, lag) - psi(case, largest),
        "logarithms without c": np.log1p(lag) / np.log1p(largest),
        "logarithms without a normalizer": psi(case, lag),
    }
    for words, part in parts.items():
        yield Prediction(f"matches {words}", network(case, part))


def without_relu(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict a network of two linear layers, without the ReLU."""
    query = queries(case)
    part = psi(case, distances(case)) / divisor(case, query)
    yield Prediction("matches a network without ReLU", network(case, part, relu=False))


def narrow_input(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict distances, logarithms, their ratio or the bias in a narrow dtype."""
    query = queries(case)
    lag, whole = distances(case), divisor(case, query)
    right = psi(case, lag) / whole
    for dtype in ("bfloat16", "float16"):
        held = psi(case, round_to(lag, dtype)) / divisor(
            case, round_to(query.astype(np.float64), dtype)
        )
        logarithms = round_to(psi(case, lag), dtype) / round_to(whole, dtype)
        for name, part in (
            ("the network's input", round_to(right, dtype)),
            ("positions", held),
            ("logarithms", logarithms),
            ("logarithms and their ratio", round_to(logarithms, dtype)),
        ):
            yield Prediction(f"matches {name} in {dtype}", network(case, part))
        yield Prediction(f"matches the bias in {dtype}", round_to(network(case, right), dtype))


def gradient_of(case: Case, a: Floats, *, relu: bool = True) -> Floats:
    """Compute the gradient for these inputs of the network."""
    hidden = a[..., None] * case.arguments["w1"] + case.arguments["b1"]
    return gathered(seen_gradient(case), with_bias(np.maximum(hidden, 0) if relu else hidden))


def gradient_without_relu(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict a gradient from the units before the ReLU."""
    output = gradient_of(case, network_input(case)[0], relu=False)
    yield Prediction("matches units before the ReLU", output)


def gradient_without_threshold(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict a normaliser from the query's own position only, or from the threshold only."""
    query = queries(case)
    logarithms = psi(case, distances(case))
    alone = logarithms / np.where(query > 0, psi(case, query), 1.0)
    yield Prediction("matches a normalizer without threshold", gradient_of(case, alone))
    fixed = logarithms / psi(case, threshold_of(case))
    yield Prediction("matches the threshold alone as normalizer", gradient_of(case, fixed))


def gradient_mask_ignored(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict keys after the query included, with distance 0 or with their own."""
    by_distance = psi(case, np.abs(lags(case))) / divisor(case, queries(case))
    for words, a in (("", network_input(case)[0]), (", by their distance", by_distance)):
        output = gathered(case.arguments["gradient"], with_bias(first_layer(case, a)))
        yield Prediction(f"matches keys after the query taken along{words}", output)


KNOWLEDGE = {
    "fire_bias": CallKnowledge(
        error_terms=error_terms,
        arguments=arguments,
        sweep=sweep,
        sizes=sizes,
        invariants={
            "own-key": own_key,
            "toeplitz-below": toeplitz_below,
            "threshold-passed": threshold_passed,
            "unit-interval": unit_interval,
            "silent-units": silent_units,
            "output-linear": output_linear,
            "heads-apart": heads_apart(arguments, "w2", "b2"),
            "last-queries": last_queries(arguments),
        },
        deviations={
            "epsilon-swapped": other_conventions(
                "normalizer", "matches the {value} normalizer; {claimed} was claimed"
            ),
            "queries-from-zero": queries_from_zero(from_queries),
            "normalizer-from-1": from_one,
            "threshold-left-out": without_threshold,
            "one-normalizer": one_normalizer,
            "ratio-wrong": ratio_wrong,
            "distance-shifted": distance_shifted(shifted),
            "relu-left-out": without_relu,
            "sign-flipped": negated("matches the bias with the sign flipped"),
            "narrow-input": narrow_input,
        },
        readings=(normalizer_of_key,),
    ),
    "fire_bias_vjp": CallKnowledge(
        error_terms=vjp_error_terms,
        arguments=vjp_arguments,
        sweep=no_sweep,
        sizes=vjp_sizes,
        shape=lambda case: (case.parameter("heads"), case.parameter("hidden") + 1),
        invariants={"vjp-adjoint": vjp_adjoint, "vjp-of-bias": vjp_of_bias},
        deviations={
            "gradient-mask-ignored": gradient_mask_ignored,
            "gradient-relu-left-out": gradient_without_relu,
            "gradient-threshold-left-out": gradient_without_threshold,
            "gradient-averaged": averaged(seen_pairs, pairs, what="queries and keys"),
        },
    ),
}
