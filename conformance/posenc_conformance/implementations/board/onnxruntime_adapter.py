"""ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np

from posenc_conformance import claims
from posenc_conformance.adapters import Array, Positions, by_heads, once


class OnnxruntimeAdapter:
    """onnxruntime (seen: 1.31.1, with onnx 1.23.2), on the CPU: the operator ``RotaryEmbedding``.

    It takes tables of cosines and sines, which exported models hold as constants. They are computed
    here in float64 and rounded to the dtype of x: layout, sign, partial rotation, gathering and
    arithmetic are judged, not angles. A table has a row per distinct position, and as many as x.
    """

    requires = ("onnxruntime", "onnx")

    def __init__(self) -> None:
        import onnx
        import onnxruntime

        self._onnx = onnx
        self._runtime = onnxruntime
        self._session = once(self._made)

    @claims("interleaved", "half", dtype=("float32", "float16"), rotation="partial")
    def rope(
        self,
        x: Array,
        positions: Positions,
        *,
        base: float,
        layout: str,
        rotary_dim: int | None = None,
    ) -> Any:
        """A model of this one operator, on x of shape [1, heads, n, head_dim]."""
        places, ids = np.unique(positions, return_inverse=True)
        # A model's tables are as long as its longest sequence, and shorter ones are refused.
        places = np.pad(places, (0, len(positions) - len(places)))
        rotated = rotary_dim or x.shape[-1]
        frequencies = base ** (-np.arange(0, rotated, 2) / rotated)
        angles = np.multiply.outer(places.astype(np.float64), frequencies)
        session = self._session(layout == "interleaved", rotary_dim or 0, x.dtype)
        feed = {
            "cos_cache": np.cos(angles).astype(x.dtype),
            "sin_cache": np.sin(angles).astype(x.dtype),
            "position_ids": ids[None].astype(np.int64),
        }
        return by_heads(
            lambda heads: session.run(None, {"X": np.ascontiguousarray(heads), **feed})[0], x
        )

    def _made(self, interleaved: bool, rotary_dim: int, dtype: np.dtype[Any]) -> Any:
        make = self._onnx.helper
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
        whole = self._onnx.TensorProto.INT64
        inputs.append(make.make_tensor_value_info("position_ids", whole, [None, None]))
        outputs = [make.make_tensor_value_info("Y", kind, [None] * 4)]
        graph = make.make_graph([node], "rotary", inputs, outputs)
        model = make.make_model(graph, opset_imports=[make.make_opsetid("", 23)])
        model.ir_version = 10
        return self._runtime.InferenceSession(
            model.SerializeToString(), providers=["CPUExecutionProvider"]
        )
