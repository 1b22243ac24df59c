"""PyTorch Geometric."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from posenc_conformance import claims, to_torch
from posenc_conformance.adapters import Array, Positions, once

if TYPE_CHECKING:
    from torch import Tensor


class TorchGeometricAdapter:
    """torch-geometric (seen: 2.8.1).

    laplacian    ``AddLaplacianEigenvectorPE`` as it is made, for graphs that may be directed
    sinusoidal   ``PositionalEncoding``, which says that it is the paper's
    random-walk  ``AddRandomWalkPE`` of a graph with weights of edges, whatever they are
    """

    requires = ("torch", "torch-geometric")

    def __init__(self) -> None:
        from torch_geometric import transforms
        from torch_geometric.data import Data
        from torch_geometric.nn import PositionalEncoding

        self.transforms = transforms
        self._graph = Data
        self._made = once(PositionalEncoding)

    @claims("paper", odd_dim="refuse")
    def sinusoidal(self, positions: Positions, dim: int, *, base: float) -> Tensor:
        """The module on positions, ``base_freq`` being 1 / base."""
        return self._made(dim, base_freq=1 / base)(to_torch(positions).float())

    @claims("dropped")
    def laplacian(self, adjacency: Array, count: int) -> Tensor:
        """Dot products of what ``AddLaplacianEigenvectorPE`` adds."""
        made = self.transforms.AddLaplacianEigenvectorPE(count)(self._data(adjacency))
        rows = made["laplacian_eigenvector_pe"]
        return rows @ rows.T

    @claims("out")
    def random_walk(self, adjacency: Array, steps: int) -> Tensor:
        """``AddRandomWalkPE``."""
        made = self.transforms.AddRandomWalkPE(steps)(self._data(adjacency))
        return made["random_walk_pe"]

    def _data(self, adjacency: Array) -> Any:
        """The graph, as a list of edges and their weights."""
        weights = to_torch(adjacency)
        edges = weights.nonzero()
        return self._graph(
            edge_index=edges.T, edge_weight=weights[tuple(edges.T)], num_nodes=len(weights)
        )
