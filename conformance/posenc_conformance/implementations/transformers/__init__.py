"""Adapters of Hugging Face transformers."""

from posenc_conformance.implementations.transformers.absolute import Absolute
from posenc_conformance.implementations.transformers.attention import Attention
from posenc_conformance.implementations.transformers.axes import Axes
from posenc_conformance.implementations.transformers.biases import Biases
from posenc_conformance.implementations.transformers.masks import Masks
from posenc_conformance.implementations.transformers.relative import Relative
from posenc_conformance.implementations.transformers.rotary import Rotary
from posenc_conformance.implementations.transformers.variants import (
    TransformersDynamicAdapter,
    TransformersFalconAdapter,
    TransformersGPTJAdapter,
    TransformersLayersAdapter,
)
from posenc_conformance.implementations.transformers.weights import Weights

__all__ = [
    "TransformersAdapter",
    "TransformersDynamicAdapter",
    "TransformersFalconAdapter",
    "TransformersGPTJAdapter",
    "TransformersLayersAdapter",
]


class TransformersAdapter(Rotary, Axes, Absolute, Biases, Relative, Attention, Masks, Weights):
    """transformers (seen: 5.24.0), as its models call it: configuration, module, then function.

    Of several models that do the same, the most used stands for all; the classes that this one is
    made of say which.
    """
