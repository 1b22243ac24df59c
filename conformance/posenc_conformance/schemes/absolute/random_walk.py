"""Random walks on graphs: bounds, invariants and deviations."""

from collections.abc import Iterator

import numpy as np

from posenc_conformance.diagnose.predictors import other_conventions
from posenc_conformance.families.lengths import no_sweep
from posenc_conformance.judge.arrays import UNIT_ROUNDOFF, Floats, fine, lattice
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.deviation import Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict

COMPLETE = (5, 2, 3, 9)


def graph(nodes: int, kind: str = "weighted") -> Floats:
    """Make the adjacency matrix of a plain, weighted or directed graph with few edges.

    Weights are multiples of a quarter, exact in every dtype. The graph is connected. It has odd
    cycles if possible, and from three nodes on, one node has an edge to itself.
    """
    place = np.arange(nodes)
    apart = (place[:, None] - place) % max(nodes, 1)
    weights = np.zeros((nodes, nodes))
    weights[(apart == 1) | (apart == 3)] = 1.0
    if kind == "weighted":
        weights *= 1 + (3 * place[:, None] + 5 * place) % 7 / 4
    if kind != "directed":
        weights = np.maximum(weights, weights.T)
    if nodes > 2:
        weights[1, 1] = 1.0
    return weights


def shares(nodes: int) -> Floats:
    """Return a factor for each weight, so that the products are not exact in a narrower dtype.

    The factors are the same in both directions.
    """
    factors = 1 + fine((nodes, nodes)) / 4
    return np.asarray((factors + factors.T) / 2)


def probabilities(weights: Floats, degree: str) -> Floats:
    """Compute the probability of each step, from the row's node to the column's."""
    sums = weights.sum(axis=1 if degree == "out" else 0)
    share = np.where(sums > 0, 1 / np.where(sums > 0, sums, 1), 0)
    return np.asarray(weights * (share[:, None] if degree == "out" else share))


def diagonals(step: Floats, count: int, power: Floats | None = None) -> Floats:
    """Return the diagonals of ``count`` powers of a matrix, from the first or ``power`` on."""
    power = step if power is None else power
    columns = []
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(count):
            columns.append(np.diagonal(power))
            power = power @ step
    return np.stack(columns, axis=-1)


def given(case: Case) -> tuple[Floats, int, str]:
    """Return the weights, the number of steps, and the degree (in or out) that divides weights."""
    return (
        case.arguments["adjacency"],
        int(case.arguments["steps"]),
        str(case.conventions["degree"]),
    )


def walked(case: Case, weights: Floats | None = None) -> Floats:
    """Compute the result for ``weights``, or for those of the case."""
    own, steps, degree = given(case)
    return diagonals(probabilities(own if weights is None else weights, degree), steps)


def error_terms(case: Case) -> ErrorTerms:
    """Return a scale that grows with the steps, and angle 0.

    The errors of products grow with the steps too. They are relative to 1, the greatest
    probability, not to the result.
    """
    weights, steps, _ = given(case)
    u = UNIT_ROUNDOFF["float64" if case.dtype == "float64" else "float32"]
    sums = (len(weights) + 1) * u / UNIT_ROUNDOFF[case.dtype]
    return ErrorTerms(np.arange(1, steps + 1) * (walked(case) + sums), np.zeros(()))


def shape(case: Case) -> tuple[int, ...]:
    """Return the shape of the result: a row for each node, a column for each step."""
    return len(case.arguments["adjacency"]), int(case.arguments["steps"])


def arguments(trial: Trial) -> ArgumentDict:
    """Draw a small graph."""
    nodes = trial.choose("nodes", (5, 7, 4, 2, 1))
    kind = trial.pick.one_of(("weighted", "directed", "plain"))
    return {"adjacency": graph(nodes, kind), "steps": trial.choose("steps", (4, 1, 9))}


def sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield nodes without edges, the paper's number of steps, many nodes, and none."""
    alone = np.pad(graph(6), (1, 2))
    yield {"adjacency": alone, "steps": 5}
    for nodes, steps in ((8, 20), (40, 3), (12, 33), (0, 2), (257, 2)):
        yield {"adjacency": graph(nodes) * shares(nodes), "steps": steps}


def relabelled(trial: Trial) -> None:
    """Check that reordering the nodes reorders their rows."""
    chosen = arguments(trial)
    order = np.argsort(lattice((len(chosen["adjacency"]),)), kind="stable")
    turned = {"adjacency": chosen["adjacency"][np.ix_(order, order)]}
    before, after = trial.answer(**chosen), trial.answer(**(chosen | turned))
    trial.assert_zero(after - before[order], "with nodes in another order their rows differ")


def weights_scaled(trial: Trial) -> None:
    """Check that dividing all weights by 4 does not change the probabilities."""
    chosen = arguments(trial)
    scaled = {"adjacency": chosen["adjacency"] / 4}
    before, after = trial.answer(**chosen), trial.answer(**(chosen | scaled))
    trial.assert_zero(after - before, "a quarter of all weights gives other probabilities")


def prefix(trial: Trial) -> None:
    """Check that fewer steps give the first columns of more steps."""
    chosen = arguments(trial)
    more = trial.answer(**(chosen | {"steps": chosen["steps"] + 2}))
    few = trial.answer(**chosen)
    trial.assert_zero(more[:, : chosen["steps"]] - few, "fewer steps are not the first columns")


def complete_graph(trial: Trial) -> None:
    """Check the return probabilities in a complete graph: each node has edges to all others."""
    nodes = trial.pick.one_of(COMPLETE)
    y = trial.answer(adjacency=1 - np.eye(nodes), steps=trial.choose("steps", (5, 1, 9)))
    step = np.arange(y.values.shape[1])
    expected = (1 - (-1 / (nodes - 1)) ** step) / nodes
    trial.assert_zero(
        y - np.broadcast_to(expected, y.values.shape), "in a complete graph the walk errs"
    )


def two_sides(trial: Trial) -> None:
    """Check that in a bipartite graph no walk returns after an odd number of steps."""
    chosen = arguments(trial)
    nodes = len(chosen["adjacency"])
    side = np.arange(nodes) % 2
    across = chosen["adjacency"] * (side[:, None] != side)
    y = trial.answer(**(chosen | {"adjacency": across}))
    trial.assert_zero(y[:, ::2], "between two sides the walk is back after an odd number of steps")


def apart(trial: Trial) -> None:
    """Check that adding an unconnected graph does not change the rows of a graph."""
    chosen = arguments(trial)
    nodes = len(chosen["adjacency"])
    both = np.zeros((nodes + 3, nodes + 3))
    both[:nodes, :nodes], both[nodes:, nodes:] = chosen["adjacency"], graph(3)
    single, whole = trial.answer(**chosen), trial.answer(**(chosen | {"adjacency": both}))
    trial.assert_zero(whole[:nodes] - single, "another graph beside it changes the rows of a graph")


def turned_around(trial: Trial) -> None:
    """Check that a walk around a one-way cycle returns after full turns only."""
    nodes = trial.pick.one_of((4, 2, 3, 7))
    cycle = np.roll(np.eye(nodes), 1, axis=1)
    y = trial.answer(adjacency=cycle, steps=trial.choose("steps", (7, 9)))
    back = np.arange(1, y.values.shape[1] + 1) % nodes == 0
    trial.assert_zero(
        y - np.broadcast_to(back.astype(np.int64), y.values.shape), "a cycle is not closed"
    )


def weights_left_out(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict weights left out of the numerator, or altogether."""
    weights, steps, degree = given(case)
    ones = (weights > 0).astype(np.float64)
    axis = 1 if degree == "out" else 0
    sums = weights.sum(axis=axis, keepdims=True)
    for words, below in (
        ("1 over the sum of weights for every edge", sums),
        ("1 over the sum of weights, or 1 if that is less", np.maximum(sums, 1)),
    ):
        step = ones / np.where(below > 0, below, 1)
        yield Prediction(f"matches {words}", diagonals(step, steps))
    yield Prediction("matches edges that all have weight 1", walked(case, ones))


def degree_floored(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict sums of weights below 1 raised to 1."""
    weights, steps, degree = given(case)
    sums = np.maximum(weights.sum(axis=1 if degree == "out" else 0, keepdims=True), 1)
    yield Prediction("matches sums of weights of at least 1", diagonals(weights / sums, steps))


def other_direction(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict sums along the other axis, or columns scaled by sums of rows."""
    yield from other_conventions("degree", "matches degree {value}; {claimed} was claimed")(
        case, got
    )
    weights, steps, degree = given(case)
    sums = weights.sum(axis=1 if degree == "out" else 0)
    share = np.where(sums > 0, 1 / np.where(sums > 0, sums, 1), 0)
    across = weights * (share if degree == "out" else share[:, None])
    yield Prediction(
        "matches weights divided by the degree of the other node", diagonals(across, steps)
    )


def not_normalized(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict counts of walks, not probabilities."""
    weights, steps, _ = given(case)
    yield Prediction("matches powers of the adjacency matrix", diagonals(weights, steps))


def steps_shifted(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict steps counted from 0 or from 2."""
    weights, steps, degree = given(case)
    step = probabilities(weights, degree)
    for words, power in (("0", np.eye(len(step))), ("2", step @ step)):
        yield Prediction(f"matches steps counted from {words}", diagonals(step, steps, power))


def powers_squared(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict steps 1, 2, 4, 8 and so on, or the same from 2 on."""
    weights, steps, degree = given(case)
    for first in (1, 2):
        power = probabilities(weights, degree)
        columns = []
        for number in range(steps):
            if number or first == 2:
                power = power @ power
            columns.append(np.diagonal(power))
        words = "1, 2, 4, 8" if first == 1 else "2, 4, 8"
        yield Prediction(f"matches steps {words}", np.stack(columns, axis=-1))


def loops_added(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict edges from nodes to themselves added, set to 1 or left out."""
    weights = given(case)[0]
    eye = np.eye(len(weights))
    yield Prediction("matches edges added from nodes to themselves", walked(case, weights + eye))
    set_to = weights * (1 - eye) + eye
    yield Prediction("matches edges from nodes to themselves set to 1", walked(case, set_to))
    yield Prediction(
        "matches edges from nodes to themselves left out", walked(case, weights * (1 - eye))
    )


def alone_stays(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict that a walk stays at a node without edges, and so returns."""
    weights, _, degree = given(case)
    alone = weights.sum(axis=1 if degree == "out" else 0) == 0
    if alone.any():
        staying = weights + np.diag(alone.astype(np.float64))
        yield Prediction("matches nodes without edges that stay", walked(case, staying))


KNOWLEDGE = {
    "random_walk": CallKnowledge(
        error_terms=error_terms,
        arguments=arguments,
        sweep=no_sweep,
        sizes=sizes,
        shape=shape,
        tied=(("adjacency", -1), ("adjacency", -2), ("steps", None)),
        invariants={
            "relabelled": relabelled,
            "weights-scaled": weights_scaled,
            "prefix": prefix,
            "complete-graph": complete_graph,
            "two-sides": two_sides,
            "apart": apart,
            "turned-around": turned_around,
        },
        deviations={
            "weights-left-out": weights_left_out,
            "degree-floored": degree_floored,
            "direction-swapped": other_direction,
            "not-normalized": not_normalized,
            "steps-shifted": steps_shifted,
            "powers-squared": powers_squared,
            "loops-added": loops_added,
            "alone-stays": alone_stays,
        },
    ),
}
