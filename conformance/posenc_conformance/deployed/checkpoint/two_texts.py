"""The weights of a probe for an encoder with a decoder, T5."""

from collections.abc import Iterator

import numpy as np

from posenc_conformance.deployed.architectures.tensor_layout import INTERMEDIATE, Tensor
from posenc_conformance.deployed.instrument import HEADS, READ, Bucketed, Rows, dense
from posenc_conformance.deployed.probe_checkpoint import Probe
from posenc_conformance.judge.arrays import Floats

BIASES = "block.0.layer.0.SelfAttention.relative_attention_bias.weight"
"""The table of biases; the first layer's table serves all layers."""


def tensors(probe: Probe, plan: Bucketed) -> Iterator[Tensor]:
    """Yield the name and the values of each tensor."""
    shape = (len(plan.words), plan.hidden)
    yield "shared.weight", dense(shape, plan.embeddings())
    for part, layers in (
        ("encoder", plan.encoder_layers),
        ("decoder", plan.layers - plan.encoder_layers),
    ):
        yield f"{part}.{BIASES}", plan.table(whole=part == "encoder")
        for layer in range(layers):
            yield from _block(probe, plan, part, layer)
        yield f"{part}.final_layer_norm.weight", np.ones(plan.hidden)
    yield "lm_head.weight", dense(shape, plan.logits())


def _block(probe: Probe, plan: Bucketed, part: str, layer: int) -> Iterator[Tensor]:
    """Yield a layer of the encoder or the decoder."""
    place = f"{part}.block.{layer}.layer"
    yield from _attention(f"{place}.0.SelfAttention", _asked(probe, plan, part, layer))
    last = 1
    if part == "decoder":
        rows = _looking_up(probe, plan) if layer == 0 else [{}] * 4
        yield from _attention(f"{place}.1.EncDecAttention", _dense(plan, rows))
        last = 2
    yield f"{place}.{last}.DenseReluDense.wi.weight", np.zeros((INTERMEDIATE, plan.hidden))
    yield f"{place}.{last}.DenseReluDense.wo.weight", np.zeros((plan.hidden, INTERMEDIATE))
    for number in range(last + 1):
        yield f"{place}.{number}.layer_norm.weight", np.ones(plan.hidden)


def _attention(place: str, parts: list[Floats]) -> Iterator[Tensor]:
    for name, values in zip("qkvo", parts, strict=True):
        yield f"{place}.{name}.weight", values


def _dense(plan: Bucketed, parts: list[Rows]) -> list[Floats]:
    """Make the matrices of queries, keys, values and outputs."""
    narrow, wide = (
        (plan.heads * plan.head_dim, plan.hidden),
        (plan.hidden, plan.heads * plan.head_dim),
    )
    *three, out = parts
    return [*(dense(narrow, rows) for rows in three), dense(wide, out)]


def _asked(probe: Probe, plan: Bucketed, part: str, layer: int) -> list[Floats]:
    """Make the measured attention: a query gives the key a score, in addition to a bias."""
    query, key, value, out = Rows(), Rows(), Rows(), Rows()
    number = plan.numbered(layer, whole=part == "encoder")
    for head in range(HEADS):
        query[head * plan.head_dim] = {plan.asking: 1.0}
        key[head * plan.head_dim] = {plan.key: probe.key_weight}
        for neutral in (0, 1):
            row = head * plan.head_dim + neutral
            value[row] = {plan.value(number, neutral=bool(neutral)): probe.value_weight}
            out[plan.read + 2 * neutral + head] = {row: 1.0}
    return _dense(plan, [query, key, value, out])


def _looking_up(probe: Probe, plan: Bucketed) -> list[Rows]:
    """Make the attention in which a query of the decoder finds its counterpart in the encoder."""
    pairs = range(len(plan.pairs))
    query: Rows = {pair: {pair: 1.0} for pair in pairs}
    key: Rows = {pair: {pair: probe.weight_of_looking} for pair in pairs}
    count = len(READ)
    value: Rows = {place: {plan.read + place: probe.weight_of_lookup} for place in range(count)}
    out: Rows = {plan.read + place: {place: 1.0} for place in range(count)}
    return [query, key, value, out]
