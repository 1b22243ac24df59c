"""The adapter of ONNX: the operator RotaryEmbedding."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from posenc_conformance import claims
from posenc_conformance.adapters import FLOATS, Array, Positions, by_heads, once


class OnnxAdapter:
    """onnx (seen: 1.23.2): ``RotaryEmbedding`` of opset 23 in onnx's reference evaluator.

    The operator takes tables of cosines and sines as inputs and gathers their rows by
    ``position_ids``. This adapter computes those tables, in float64 and then rounded to the dtype
    of x: what is judged is layout, sign, partial rotation, gathering and arithmetic, not angles.
    A table has one row per distinct position, so there is no largest one.
    The operator is not defined for float64.
    """

    requires = ("onnx",)

    def __init__(self) -> None:
        from onnx import TensorProto, checker, helper
        from onnx.reference import ReferenceEvaluator

        self._checker = checker
        self._evaluator = ReferenceEvaluator
        self._helper = helper
        self._types = TensorProto
        self._session = once(self._make_session)

    @claims("interleaved", "half", dtype=FLOATS, rotation="partial", max_position=2**31)
    def rope(
        self,
        x: Array,
        positions: Positions,
        *,
        base: float,
        layout: str,
        rotary_dim: int | None = None,
    ) -> object:
        """Run a model of this one operator, on x of shape [1, heads, n, head_dim]."""

        def turned(heads: Array) -> object:
            return self._run(heads, positions[None], base, layout, rotary_dim)

        return by_heads(turned, x)

    @claims("batched-half", "batched-interleaved", dtype=FLOATS, max_position=2**31)
    def rope_batched(self, x: Array, positions: Array, *, base: float, layout: str) -> object:
        """Run a model of this one operator with ``position_ids`` of each sequence."""
        return self._run(x, positions, base, layout)

    def _run(
        self, x: Array, positions: Array, base: float, layout: str, rotary_dim: int | None = None
    ) -> Any:
        places, ids = np.unique(positions, return_inverse=True)
        angles = _angles(places, x.shape[-1] if rotary_dim is None else rotary_dim, base)
        session = self._session(layout == "interleaved", rotary_dim or 0, x.dtype)
        feed = {
            "cos_cache": np.cos(angles).astype(x.dtype),
            "sin_cache": np.sin(angles).astype(x.dtype),
            "position_ids": ids.reshape(positions.shape),
        }
        return session.run(None, {"X": x, **feed})[0]

    def _make_session(self, interleaved: bool, rotary_dim: int, dtype: np.dtype[Any]) -> Any:
        make = self._helper
        kind = make.np_dtype_to_tensor_dtype(dtype)
        node = make.make_node(
            "RotaryEmbedding",
            ["X", "cos_cache", "sin_cache", "position_ids"],
            ["Y"],
            interleaved=int(interleaved),
            rotary_embedding_dim=rotary_dim,
        )
        shapes = {"X": 4, "cos_cache": 2, "sin_cache": 2}
        inputs = [make.make_tensor_value_info(n, kind, [None] * r) for n, r in shapes.items()]
        ids = make.make_tensor_value_info("position_ids", self._types.INT64, [None, None])
        outputs = [make.make_tensor_value_info("Y", kind, [None] * 4)]
        graph = make.make_graph([node], "rotary", [*inputs, ids], outputs)
        model = make.make_model(graph, opset_imports=[make.make_opsetid("", 23)])
        self._checker.check_model(model)
        return self._evaluator(model)


def _angles(positions: Positions, rotated: int, base: float) -> npt.NDArray[np.float64]:
    frequencies = base ** (-np.arange(0, rotated, 2) / rotated)
    return np.multiply.outer(positions.astype(np.float64), frequencies)
