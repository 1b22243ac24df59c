"""Right implementations: random walks on graphs."""

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import FLOATS, NARROW, Array, right


def graphs(adjacency: Array, steps: int) -> None:
    """Refuse a matrix that is not square, negative weights, and fewer than 1 step."""
    if adjacency.ndim != 2 or len(adjacency) != adjacency.shape[1] or steps < 1:
        raise ValueError("no graph, or no steps")
    if (adjacency.astype(np.float64) < 0).any():
        raise ValueError("a weight below 0")


@right
class PowersOfAMatrix:
    """As released, with weights: rows divided by their sums, one product per step."""

    @claims("out", dtype=NARROW)
    def random_walk(self, adjacency: Array, steps: int) -> Array:
        graphs(adjacency, steps)
        weights = adjacency.astype(np.float32)
        sums = weights.sum(axis=1, keepdims=True)
        step = np.divide(weights, sums, out=np.zeros_like(weights), where=sums > 0)
        power, columns = step, [np.diagonal(step)]
        for _ in range(steps - 1):
            power = power @ step
            columns.append(np.diagonal(power))
        return np.stack(columns, axis=-1).astype(adjacency.dtype)


@right
class ColumnsDivided:
    """The authors' way: adjacency times a diagonal matrix, in float64."""

    @claims("in", dtype=FLOATS)
    def random_walk(self, adjacency: Array, steps: int) -> Array:
        graphs(adjacency, steps)
        weights = adjacency.astype(np.float64)
        sums = weights.sum(axis=0)
        step = weights @ np.diag([1 / total if total else 0.0 for total in sums])
        powers = [np.linalg.matrix_power(step, k).diagonal() for k in range(1, steps + 1)]
        return np.array(powers).T.astype(adjacency.dtype)


@right
class EdgeByEdge:
    """A list of edges, along which the probabilities of all walks are propagated."""

    @claims("out", "in", dtype=FLOATS)
    def random_walk(self, adjacency: Array, steps: int, *, degree: str) -> Array:
        graphs(adjacency, steps)
        weights = adjacency.astype(np.float64)
        weights = weights if degree == "out" else weights.T
        source, target = np.nonzero(weights)
        share = weights[source, target] / weights.sum(axis=1)[source]
        here = np.eye(len(weights))
        out = np.zeros((len(weights), steps))
        for step in range(steps):
            after = np.zeros_like(here)
            np.add.at(after, target, here[source] * share[:, None])
            here = after
            out[:, step] = here.diagonal()
        return out.astype(adjacency.dtype)
