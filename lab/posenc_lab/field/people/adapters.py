"""Adapters for the code that people write: one class per form of code."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from posenc_conformance import claims, to_torch
from posenc_conformance.adapters import by_heads, in_stretches, once
from posenc_conformance.adapters.torch import backward

FLOATS = ["float32", "bfloat16"]
ALL = ["float32", "bfloat16", "float16"]


def shared(x: Any) -> Tensor:
    """Return a tensor that shares an array's memory, so that writes to one show in the other."""
    if x.dtype == np.float32:
        return torch.from_numpy(x)
    return torch.from_numpy(x.view(np.int16)).view(torch.bfloat16)


class Coded:
    """An adapter with code; modules are built once and kept."""

    code: Callable[..., Any]

    def __init__(self) -> None:
        self.module = once(self.code)


class Half(Coded):
    """A module built from head_dim and base that takes positions; half layout."""

    @claims("half", dtype=FLOATS)
    def rope(self, x: Any, positions: Any, *, base: float) -> Any:
        """Rotate."""
        return self.module(x.shape[-1], base)(to_torch(x), to_torch(positions))


class Interleaved(Coded):
    """The same in the interleaved layout."""

    @claims("interleaved", dtype=FLOATS)
    def rope(self, x: Any, positions: Any, *, base: float) -> Any:
        """Rotate."""
        return self.module(x.shape[-1], base)(to_torch(x), to_torch(positions))


class HalfOfModel(Coded):
    """A module that is cast with the model; half layout."""

    @claims("half", dtype=ALL)
    def rope(self, x: Any, positions: Any, *, base: float) -> Any:
        """Rotate."""
        x = to_torch(x)
        return self.code(x.shape[-1], base).to(x.dtype)(x, to_torch(positions))


class HalfInMemory(Coded):
    """A module built from head_dim and base that gets the caller's own memory; half layout."""

    @claims("half", dtype=FLOATS)
    def rope(self, x: Any, positions: Any, *, base: float) -> Any:
        """Rotate."""
        return self.module(x.shape[-1], base)(shared(x), to_torch(positions))


class HalfFunctionInMemory(Coded):
    """A function that gets the caller's own memory; half layout."""

    @claims("half", dtype=FLOATS)
    def rope(self, x: Any, positions: Any, *, base: float) -> Any:
        """Rotate."""
        return self.code(shared(x), to_torch(positions), base)


class HalfTrained(Coded):
    """A module whose gradients are used; half layout."""

    @claims("half", dtype=FLOATS)
    def rope(self, x: Any, positions: Any, *, base: float) -> Any:
        """Rotate."""
        return self.module(x.shape[-1], base)(to_torch(x), to_torch(positions))

    rope_vjp = backward(rope)


class HalfByHeads(Coded):
    """A module that takes [batch, heads, n, head_dim] and position_ids [batch, n]; half layout."""

    @claims("half", dtype=FLOATS)
    def rope(self, x: Any, positions: Any, *, base: float) -> Any:
        """Rotate."""
        module, ids = self.module(x.shape[-1], base), to_torch(positions)[None]
        return by_heads(lambda q: module(q, ids), to_torch(x), form="bhnd")


class HalfByRows(Coded):
    """A module that takes [batch, n, heads, head_dim] and positions; half layout."""

    @claims("half", dtype=FLOATS)
    def rope(self, x: Any, positions: Any, *, base: float) -> Any:
        """Rotate."""
        module, at = self.module(x.shape[-1], base), to_torch(positions)
        return by_heads(lambda q: module(q, at), to_torch(x), form="bnhd")


class HalfFunction(Coded):
    """A function that takes rows, positions and base; half layout."""

    @claims("half", dtype=FLOATS)
    def rope(self, x: Any, positions: Any, *, base: float) -> Any:
        """Rotate."""
        return self.code(to_torch(x), to_torch(positions), base)


class InterleavedFunction(Coded):
    """A function that takes rows, positions and base; interleaved layout."""

    @claims("interleaved", dtype=FLOATS)
    def rope(self, x: Any, positions: Any, *, base: float) -> Any:
        """Rotate."""
        return self.code(to_torch(x), to_torch(positions), base)


class HalfPartial(Coded):
    """A module built from head_dim, rotary_dim and base; half layout of the leading channels."""

    @claims("half", rotation="partial", dtype=FLOATS)
    def rope(self, x: Any, positions: Any, *, base: float, rotary_dim: int | None = None) -> Any:
        """Rotate."""
        module = self.module(x.shape[-1], rotary_dim or x.shape[-1], base)
        return module(to_torch(x), to_torch(positions))


class HalfCached(Coded):
    """A module that takes rows and the position of the first; half layout."""

    @claims("half", dtype=FLOATS, max_position=8191)
    def rope(self, x: Any, positions: Any, *, base: float) -> Any:
        """Rotate."""
        return in_stretches(self.module(x.shape[-1], base), to_torch(x), positions)


class InterleavedCached(Coded):
    """The same in the interleaved layout."""

    @claims("interleaved", dtype=FLOATS, max_position=8191)
    def rope(self, x: Any, positions: Any, *, base: float) -> Any:
        """Rotate."""
        return in_stretches(self.module(x.shape[-1], base), to_torch(x), positions)
