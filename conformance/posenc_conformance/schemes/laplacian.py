"""Eigenvectors of a graph's Laplacian: bounds, invariants and deviations."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from posenc_conformance.diagnose.mistakes import DeviationModel, Model, other_conventions
from posenc_conformance.families.lengths import no_sweep
from posenc_conformance.judge.arrays import UNIT_ROUNDOFF, Floats, lattice
from posenc_conformance.judge.bounded import Answer
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.trial import Trial
from posenc_conformance.schemes.random_walk import graph

TOGETHER = 1e-6
"""Eigenvalues that are nearer than this are not parted."""


def weights_of(case: Case) -> Floats:
    """As the Laplacian has them."""
    weights: Floats = case.arguments["adjacency"]
    return without_loops(weights) if case.conventions["loops"] == "dropped" else weights


def without_loops(weights: Floats) -> Floats:
    """No edges from a node to itself."""
    return np.asarray(weights * (1 - np.eye(len(weights))))


def normalized(weights: Floats) -> Floats:
    """The Laplacian."""
    degree = weights.sum(axis=1)
    share = np.where(degree > 0, 1 / np.sqrt(np.where(degree > 0, degree, 1)), 0)
    return np.asarray(np.eye(len(weights)) - share[:, None] * weights * share)


def spectrum(matrix: Floats) -> tuple[Floats, Floats]:
    """Eigenvalues from the smallest on, and eigenvectors as columns."""
    values, vectors = np.linalg.eigh(matrix)
    return values, vectors


def dots(vectors: Floats) -> Floats:
    """Of every two rows."""
    return np.asarray(vectors @ vectors.T)


def chosen(case: Case, vectors: Floats, first: int = 1) -> Floats:
    """Dot products by the columns that are asked for, from the second or another one on."""
    return dots(vectors[:, first : first + int(case.arguments["count"])])


def gap(values: Floats, count: int) -> float:
    """Distance of what is taken from what is not."""
    below = values[1] - values[0]
    return float(
        min(below, values[count + 1] - values[count]) if count + 1 < len(values) else below
    )


def fitting(weights: Floats, count: int, loops: str) -> int:
    """The least number from count on that parts no equal eigenvalues."""
    kept = weights if loops == "kept" else without_loops(weights)
    values, _ = spectrum(normalized(kept))
    while count + 1 < len(values) and values[count + 1] - values[count] < TOGETHER:
        count += 1
    return count


def error_terms(case: Case) -> ErrorTerms:
    """Lengths of rows, and what a change of the matrix does to the space."""
    values, vectors = spectrum(normalized(weights_of(case)))
    count = int(case.arguments["count"])
    length = np.sqrt(np.diagonal(chosen(case, vectors)))
    u = UNIT_ROUNDOFF["float64" if case.dtype == "float64" else "float32"]
    turned = 2 * (len(values) + 4) * u / UNIT_ROUNDOFF[case.dtype] / gap(values, count)
    return ErrorTerms(length[:, None] * length + turned, np.zeros(()))


def shape(case: Case) -> tuple[int, ...]:
    """Every node with every node."""
    nodes = len(case.arguments["adjacency"])
    return nodes, nodes


def arguments(trial: Trial) -> dict[str, Any]:
    """A small graph, now and then with degrees below 1."""
    nodes = trial.choose("nodes", (5, 7, 4, 3, 2))
    weights = graph(nodes, trial.pick.one_of(("weighted", "plain")))
    weights = weights * trial.pick.one_of((1.0, 0.125))
    count = trial.choose("count", tuple({1, min(2, nodes - 1), nodes - 1}))
    return {"adjacency": weights, "count": fitting(weights, count, loops_of(trial))}


def loops_of(trial: Trial) -> str:
    """What a claim says of edges from a node to itself."""
    return str(trial.subject.combination.conventions["loops"])


def sizes(case: Case) -> Iterator[dict[str, Any]]:
    """More eigenvectors than usual, more nodes."""
    for nodes, count in ((9, 8), (12, 4), (30, 3)):
        weights = graph(nodes)
        yield {
            "adjacency": weights,
            "count": fitting(weights, count, str(case.conventions["loops"])),
        }


def many(case: Case) -> Iterator[dict[str, Any]]:
    """All eigenvectors of a graph in which every two nodes are neighbours."""
    place = np.arange(257)
    weights = 1 + place[:, None] * place % 7 / 4
    yield {"adjacency": weights, "count": len(weights) - 1}


def relabelled(trial: Trial) -> None:
    """Nodes in another order."""
    given = arguments(trial)
    order = np.argsort(lattice((len(given["adjacency"]),)), kind="stable")
    every = np.ix_(order, order)
    one, other = (
        trial.answer(**given),
        trial.answer(**(given | {"adjacency": given["adjacency"][every]})),
    )
    trial.zero(other - one[every], "with nodes in another order their encodings differ")


def weights_scaled(trial: Trial) -> None:
    """A quarter of all weights."""
    given = arguments(trial)
    scaled = {"adjacency": given["adjacency"] / 4}
    one, other = trial.answer(**given), trial.answer(**(given | scaled))
    trial.zero(other - one, "a quarter of all weights gives other encodings")


def at_right_angles(trial: Trial) -> None:
    """The matrix is its own square."""
    y = trial.answer(**arguments(trial))
    if np.isfinite(y.bound).all():
        trial.zero(y @ y - y, "eigenvectors are not of length 1 and at right angles")


def first_left_out(trial: Trial) -> None:
    """Rows are at right angles to the roots of degrees."""
    y = trial.answer(**arguments(trial))
    roots = np.sqrt(weights_of(y.case).sum(axis=1))
    trial.zero((y * roots).sum(axis=1), "the eigenvector for 0 is not left out")


def all_of_them(trial: Trial) -> None:
    """Every eigenvector but the first."""
    given = arguments(trial)
    nodes = len(given["adjacency"])
    y = trial.answer(**(given | {"count": nodes - 1}))
    degree = weights_of(y.case).sum(axis=1)
    expected = np.eye(nodes) - np.sqrt(degree[:, None] * degree) / degree.sum()
    trial.zero(y - expected, "all eigenvectors but the first are not the rest of the space")


def ring(trial: Trial) -> None:
    """Sines and cosines."""
    nodes = trial.pick.one_of((5, 4, 3, 8))
    forward = np.roll(np.eye(nodes), 1, axis=1)
    y: Answer = trial.answer(adjacency=np.maximum(forward, forward.T), count=2)
    place = np.arange(nodes)
    expected = 2 * np.cos(2 * np.pi * (place[:, None] - place) / nodes) / nodes
    trial.zero(y - expected, "in a ring dot products are not those of sine and cosine")


def first_kept(case: Case, got: Floats) -> Iterator[Model]:
    """Other columns."""
    _, vectors = spectrum(normalized(weights_of(case)))
    yield Model("matches the first eigenvector kept", chosen(case, vectors, 0))
    yield Model("matches eigenvectors from the third on", chosen(case, vectors, 2))
    all_of = dots(vectors[:, : int(case.arguments["count"]) + 1])
    yield Model("matches the first eigenvector kept beside the others", all_of)


def largest(case: Case, got: Floats) -> Iterator[Model]:
    """From the other end."""
    _, vectors = spectrum(normalized(weights_of(case)))
    yield Model("matches the largest eigenvalues", chosen(case, vectors[:, ::-1], 0))
    yield Model("matches the largest eigenvalues after the first", chosen(case, vectors[:, ::-1]))


def unsymmetric(case: Case, got: Floats) -> Iterator[Model]:
    """Vectors of length 1 that span the right spaces, at whatever angles the answer has them."""
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
        yield Model(
            "matches eigenvectors of equal eigenvalues that are not at right angles, as solvers "
            "for matrices that are not symmetric give them",
            output,
        )


def not_normalized(case: Case, got: Floats) -> Iterator[Model]:
    """Other Laplacians."""
    weights = weights_of(case)
    degree = weights.sum(axis=1)
    _, plain = spectrum(np.diag(degree) - weights)
    yield Model("matches eigenvectors of D - A", chosen(case, plain))
    _, of_weights = spectrum(-weights)
    yield Model("matches eigenvectors of A", chosen(case, of_weights, 0))
    _, vectors = spectrum(normalized(weights))
    walking = vectors / np.sqrt(degree)[:, None]
    walking = walking / np.linalg.norm(walking, axis=0)
    yield Model("matches eigenvectors of the random walk's Laplacian", chosen(case, walking))


def lengths_changed(case: Case, got: Floats) -> Iterator[Model]:
    """Columns of other lengths."""
    values, vectors = spectrum(normalized(weights_of(case)))
    positive = np.maximum(values, 1e-300)
    for words, factor in (
        ("multiplied by the root of the number of nodes", np.full(len(values), len(values) ** 0.5)),
        ("multiplied by their eigenvalues", values),
        ("multiplied by the roots of their eigenvalues", np.sqrt(positive)),
        ("divided by the roots of their eigenvalues", 1 / np.sqrt(positive)),
        ("divided by their eigenvalues", 1 / positive),
    ):
        yield Model(f"matches eigenvectors {words}", chosen(case, vectors * factor))


def changed_weights(
    change: Callable[[Floats], Iterator[tuple[str, Floats]]],
) -> DeviationModel:
    """The right result for other weights."""

    def models(case: Case, got: Floats) -> Iterator[Model]:
        for words, weights in change(weights_of(case)):
            _, vectors = spectrum(normalized(weights))
            yield Model(f"matches {words}", chosen(case, vectors))

    return models


def ones(weights: Floats) -> Iterator[tuple[str, Floats]]:
    """All weights alike."""
    yield "edges that all have weight 1", (weights > 0).astype(np.float64)


def more_loops(weights: Floats) -> Iterator[tuple[str, Floats]]:
    """An edge for every node."""
    yield "edges added from nodes to themselves", weights + np.eye(len(weights))


def loops_swapped(case: Case, got: Floats) -> Iterator[Model]:
    """The other convention, or more edges."""
    words = "matches edges from nodes to themselves {value}; {claimed} was claimed"
    yield from other_conventions("loops", words)(case, got)
    yield from changed_weights(more_loops)(case, got)


ERROR_TERMS = {"laplacian": error_terms}
ARGUMENTS: dict[str, Callable[[Trial], dict[str, Any]]] = {"laplacian": arguments}
SWEEPS = {"laplacian": no_sweep}
SIZES = {"laplacian": sizes}
SHAPES = {"laplacian": shape}
MANY = {"laplacian": many}
TIED = {"laplacian": (("adjacency", -1), ("adjacency", -2))}  # powers of 257 nodes take minutes
INVARIANTS: dict[str, dict[str, Callable[[Trial], None]]] = {
    "laplacian": {
        "relabelled": relabelled,
        "weights-scaled": weights_scaled,
        "at-right-angles": at_right_angles,
        "first-left-out": first_left_out,
        "all-of-them": all_of_them,
        "ring": ring,
    }
}
DEVIATIONS: dict[str, dict[str, DeviationModel]] = {
    "laplacian": {
        "first-kept": first_kept,
        "largest": largest,
        "not-at-right-angles": unsymmetric,
        "not-normalized": not_normalized,
        "lengths-changed": lengths_changed,
        "weights-left-out": changed_weights(ones),
        "loops-swapped": loops_swapped,
    }
}
