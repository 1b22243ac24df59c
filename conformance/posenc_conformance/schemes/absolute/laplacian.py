"""Eigenvectors of a graph's Laplacian: bounds, invariants and deviations."""

from collections.abc import Callable, Iterator

import numpy as np

from posenc_conformance.diagnose.predictors import other_conventions
from posenc_conformance.families.lengths import no_sweep
from posenc_conformance.judge.arrays import UNIT_ROUNDOFF, Floats, lattice
from posenc_conformance.judge.bounded import Answer
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.deviation import DeviationModel, Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict
from posenc_conformance.schemes.absolute.random_walk import graph, shares

SHOWN = 8
"""Most eigenvectors that are listed."""
TOGETHER = 1e-6
"""Eigenvalues closer than this count as equal; their eigenvectors are not separated."""


def weights_of(case: Case) -> Floats:
    """Return the weights that the Laplacian uses."""
    weights: Floats = case.arguments["adjacency"]
    return without_loops(weights) if case.conventions["loops"] == "dropped" else weights


def without_loops(weights: Floats) -> Floats:
    """Return the weights without edges from a node to itself."""
    return np.asarray(weights * (1 - np.eye(len(weights))))


def normalized(weights: Floats) -> Floats:
    """Compute the normalised Laplacian."""
    degree = weights.sum(axis=1)
    share = np.where(degree > 0, 1 / np.sqrt(np.where(degree > 0, degree, 1)), 0)
    return np.asarray(np.eye(len(weights)) - share[:, None] * weights * share)


def spectrum(matrix: Floats) -> tuple[Floats, Floats]:
    """Compute eigenvalues in ascending order, and eigenvectors as columns."""
    values, vectors = np.linalg.eigh(matrix)
    return values, vectors


def dots(vectors: Floats) -> Floats:
    """Compute the dot product of every two rows."""
    return np.asarray(vectors @ vectors.T)


def chosen(case: Case, vectors: Floats, first: int = 1) -> Floats:
    """Compute the dot product of every two rows over ``count`` columns, from ``first`` on."""
    return dots(vectors[:, first : first + int(case.arguments["count"])])


def gap(values: Floats, count: int) -> float:
    """Compute the distance between the chosen eigenvalues and the nearest of the others."""
    below = values[1] - values[0]
    return float(
        min(below, values[count + 1] - values[count]) if count + 1 < len(values) else below
    )


def fitting(weights: Floats, count: int, loops: str) -> int:
    """Find the least number of eigenvectors, at least ``count``, that splits no eigenvalue."""
    used = weights if loops == "kept" else without_loops(weights)
    values, _ = spectrum(normalized(used))
    while count + 1 < len(values) and values[count + 1] - values[count] < TOGETHER:
        count += 1
    return count


def error_terms(case: Case) -> ErrorTerms:
    """Return the scale, which is a sum of two parts, and angle 0.

    The parts are the product of the lengths of both rows, and the rotation of the eigenvectors'
    space by rounding errors of the matrix.
    """
    values, vectors = spectrum(normalized(weights_of(case)))
    count = int(case.arguments["count"])
    length = np.sqrt(np.diagonal(chosen(case, vectors)))
    u = UNIT_ROUNDOFF["float64" if case.dtype == "float64" else "float32"]
    turned = 2 * (len(values) + 4) * u / UNIT_ROUNDOFF[case.dtype] / gap(values, count)
    return ErrorTerms(length[:, None] * length + turned, np.zeros(()))


def shape(case: Case) -> tuple[int, ...]:
    """Return the shape [nodes, nodes]."""
    nodes = len(case.arguments["adjacency"])
    return nodes, nodes


def arguments(trial: Trial) -> ArgumentDict:
    """Draw a small graph, sometimes with degrees below 1."""
    nodes = trial.choose("nodes", (5, 7, 4, 3, 2))
    weights = graph(nodes, trial.pick.one_of(("weighted", "plain")))
    weights = weights * trial.pick.one_of((1.0, 0.125))
    count = trial.choose("count", tuple({1, min(2, nodes - 1), nodes - 1}))
    return {"adjacency": weights, "count": fitting(weights, count, loops_of(trial))}


def loops_of(trial: Trial) -> str:
    """Return the claimed convention of edges from a node to itself."""
    return str(trial.subject.combination.conventions["loops"])


def sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield more eigenvectors than usual, and more nodes."""
    for nodes, count in ((9, 8), (12, 4), (17, 8), (30, 3)):
        weights = graph(nodes) * shares(nodes)
        yield {
            "adjacency": weights,
            "count": fitting(weights, count, str(case.conventions["loops"])),
        }


def many(case: Case) -> Iterator[ArgumentDict]:
    """Yield all eigenvectors of a complete graph."""
    place = np.arange(257)
    weights = 1 + place[:, None] * place % 7 / 4
    yield {"adjacency": weights, "count": len(weights) - 1}


def relabelled(trial: Trial) -> None:
    """Check that reordering the nodes reorders their encodings."""
    drawn = arguments(trial)
    order = np.argsort(lattice((len(drawn["adjacency"]),)), kind="stable")
    every = np.ix_(order, order)
    before, after = (
        trial.answer(**drawn),
        trial.answer(**(drawn | {"adjacency": drawn["adjacency"][every]})),
    )
    trial.assert_zero(after - before[every], "with nodes in another order their encodings differ")


def weights_scaled(trial: Trial) -> None:
    """Check that dividing all weights by 4 does not change the encodings."""
    drawn = arguments(trial)
    scaled = {"adjacency": drawn["adjacency"] / 4}
    before, after = trial.answer(**drawn), trial.answer(**(drawn | scaled))
    trial.assert_zero(after - before, "a quarter of all weights gives other encodings")


def at_right_angles(trial: Trial) -> None:
    """Check that the result is its own square.

    It is if the eigenvectors are orthonormal, since it then projects onto their space.
    """
    y = trial.answer(**arguments(trial))
    if np.isfinite(y.bound).all():
        trial.assert_zero(y @ y - y, "eigenvectors are not of length 1 and at right angles")


def first_left_out(trial: Trial) -> None:
    """Check that rows are orthogonal to the square roots of the degrees.

    The roots are the eigenvector for eigenvalue 0, which is left out.
    """
    y = trial.answer(**arguments(trial))
    roots = np.sqrt(weights_of(y.case).sum(axis=1))
    trial.assert_zero((y * roots).sum(axis=1), "the eigenvector for 0 is not left out")


def all_of_them(trial: Trial) -> None:
    """Check that all eigenvectors but the first span the rest of the space."""
    drawn = arguments(trial)
    nodes = len(drawn["adjacency"])
    y = trial.answer(**(drawn | {"count": nodes - 1}))
    degree = weights_of(y.case).sum(axis=1)
    expected = np.eye(nodes) - np.sqrt(degree[:, None] * degree) / degree.sum()
    trial.assert_zero(y - expected, "all eigenvectors but the first are not the rest of the space")


def ring(trial: Trial) -> None:
    """Check that dot products in a ring are those of sines and cosines."""
    nodes = trial.pick.one_of((5, 4, 3, 8))
    forward = np.roll(np.eye(nodes), 1, axis=1)
    y: Answer = trial.answer(adjacency=np.maximum(forward, forward.T), count=2)
    place = np.arange(nodes)
    expected = 2 * np.cos(2 * np.pi * (place[:, None] - place) / nodes) / nodes
    trial.assert_zero(y - expected, "in a ring dot products are not those of sine and cosine")


def first_kept(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict other columns: from the first or the third on, or the first in addition."""
    _, vectors = spectrum(normalized(weights_of(case)))
    yield Prediction("matches the first eigenvector kept", chosen(case, vectors, 0))
    yield Prediction("matches eigenvectors from the third on", chosen(case, vectors, 2))
    all_of = dots(vectors[:, : int(case.arguments["count"]) + 1])
    yield Prediction("matches the first eigenvector kept beside the others", all_of)


def largest(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict eigenvectors from the other end, of the largest eigenvalues."""
    _, vectors = spectrum(normalized(weights_of(case)))
    yield Prediction("matches the largest eigenvalues", chosen(case, vectors[:, ::-1], 0))
    yield Prediction(
        "matches the largest eigenvalues after the first", chosen(case, vectors[:, ::-1])
    )


def unsymmetric(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict unit vectors that span the right spaces but are not orthogonal.

    Their angles are taken from the answer.
    """
    values, vectors = spectrum(normalized(weights_of(case)))
    output, free = np.zeros(case.shape), 0
    first, last = 1, int(case.arguments["count"])
    while first <= last:
        size = int(np.count_nonzero(np.abs(values - values[first]) < TOGETHER))
        space = vectors[:, first : first + size]
        inside = space.T @ got @ space
        if size == 1 or not np.trace(inside) > 0:
            inside = np.eye(size)
        output += space @ inside @ space.T * (size / np.trace(inside))
        first, free = first + size, free + (size > 1) * size * (size + 1) // 2
    if 0 < free <= got.size / 2:
        yield Prediction(
            "matches eigenvectors of equal eigenvalues that are not at right angles, as solvers "
            "for matrices that are not symmetric give them",
            output,
        )


def not_sorted(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict as many eigenvectors in another order than that of their eigenvalues.

    Which ones they are is read from the answer: each space of equal eigenvalues has a whole number.
    Those that follow one another are sorted, from whichever they begin.
    """
    values, vectors = spectrum(normalized(weights_of(case)))
    output, numbers, free, first = np.zeros(case.shape), list[int](), 0, 0
    while first < len(values):
        size = int(np.count_nonzero(np.abs(values[first:] - values[first]) < TOGETHER))
        space = vectors[:, first : first + size]
        inside = space.T @ got @ space
        held = round(float(np.clip(np.trace(inside), 0, size)))
        if held in (0, size):
            inside = np.eye(size) * (held > 0)
        else:
            free += size * (size + 1) // 2
        output += space @ inside @ space.T
        numbers += range(first, first + held)
        first += size
    is_run = numbers == [*range(numbers[0], numbers[0] + len(numbers))] if numbers else True
    if len(numbers) == int(case.arguments["count"]) and free <= got.size / 2 and not is_run:
        listed = ", ".join(map(str, numbers[:SHOWN])) + ", …" * (len(numbers) > SHOWN)
        words = "matches eigenvectors in an order that is not that of their eigenvalues"
        yield Prediction(f"{words}: by size, numbers {listed}, counted from 0", output)
        yield Prediction(words, output)


def not_normalized(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict eigenvectors of other Laplacians, or of the weights."""
    weights = weights_of(case)
    degree = weights.sum(axis=1)
    _, plain = spectrum(np.diag(degree) - weights)
    yield Prediction("matches eigenvectors of D - A", chosen(case, plain))
    _, of_weights = spectrum(-weights)
    yield Prediction("matches eigenvectors of A", chosen(case, of_weights, 0))
    _, vectors = spectrum(normalized(weights))
    walking = vectors / np.sqrt(degree)[:, None]
    walking = walking / np.linalg.norm(walking, axis=0)
    yield Prediction("matches eigenvectors of the random walk's Laplacian", chosen(case, walking))


def lengths_changed(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict columns of other lengths."""
    values, vectors = spectrum(normalized(weights_of(case)))
    positive = np.maximum(values, 1e-300)
    for words, factor in (
        ("multiplied by the root of the number of nodes", np.full(len(values), len(values) ** 0.5)),
        ("multiplied by their eigenvalues", values),
        ("multiplied by the roots of their eigenvalues", np.sqrt(positive)),
        ("divided by the roots of their eigenvalues", 1 / np.sqrt(positive)),
        ("divided by their eigenvalues", 1 / positive),
    ):
        yield Prediction(f"matches eigenvectors {words}", chosen(case, vectors * factor))


def changed_weights(
    change: Callable[[Floats], Iterator[tuple[str, Floats]]],
) -> DeviationModel:
    """Make a model of the right result for other weights."""

    def models(case: Case, got: Floats) -> Iterator[Prediction]:
        for words, weights in change(weights_of(case)):
            _, vectors = spectrum(normalized(weights))
            yield Prediction(f"matches {words}", chosen(case, vectors))

    return models


def ones(weights: Floats) -> Iterator[tuple[str, Floats]]:
    """Yield edges that all have weight 1."""
    yield "edges that all have weight 1", (weights > 0).astype(np.float64)


def more_loops(weights: Floats) -> Iterator[tuple[str, Floats]]:
    """Yield weights with an edge added from every node to itself."""
    yield "edges added from nodes to themselves", weights + np.eye(len(weights))


def loops_swapped(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the other convention of loops, or a loop added to every node."""
    words = "matches edges from nodes to themselves {value}; {claimed} was claimed"
    yield from other_conventions("loops", words)(case, got)
    yield from changed_weights(more_loops)(case, got)


KNOWLEDGE = {
    "laplacian": CallKnowledge(
        error_terms=error_terms,
        arguments=arguments,
        sweep=no_sweep,
        sizes=sizes,
        shape=shape,
        tied=(("adjacency", -1), ("adjacency", -2)),
        many=many,
        invariants={
            "relabelled": relabelled,
            "weights-scaled": weights_scaled,
            "at-right-angles": at_right_angles,
            "first-left-out": first_left_out,
            "all-of-them": all_of_them,
            "ring": ring,
        },
        deviations={
            "first-kept": first_kept,
            "largest": largest,
            "not-at-right-angles": unsymmetric,
            "not-normalized": not_normalized,
            "lengths-changed": lengths_changed,
            "weights-left-out": changed_weights(ones),
            "loops-swapped": loops_swapped,
        },
        readings=(not_sorted,),
    ),
}
