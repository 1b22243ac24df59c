"""The weights of a probe, tensor by tensor."""

from collections.abc import Iterator

import numpy as np

from posenc_conformance.deployed import projection_biases
from posenc_conformance.deployed.architectures.tensor_layout import Layer, Normed, Tensor
from posenc_conformance.deployed.checkpoint import bias_weights, two_texts
from posenc_conformance.deployed.instrument import (
    HEADS,
    READ,
    Biased,
    Bucketed,
    Rows,
    Tabled,
    dense,
)
from posenc_conformance.deployed.probe_checkpoint import (
    ACTIVATING,
    EMBEDDED,
    GATE,
    NORMED_IN_ENCODERS,
    SINKS,
    Probe,
)
from posenc_conformance.judge.arrays import Floats


def tensors(probe: Probe) -> Iterator[Tensor]:
    """Yield the name and the values of each tensor."""
    plan, family, names = probe.plan, probe.family, probe.family.names
    if isinstance(plan, Bucketed):
        yield from two_texts.tensors(probe, plan)
        return
    shape = (len(plan.words), plan.hidden)
    tokens = shape[0] + family.rows_of_images
    yield f"{names.embeddings}.weight", dense((tokens, plan.hidden), plan.embeddings())
    large = NORMED_IN_ENCODERS if plan.encoder else EMBEDDED
    if names.norm_of_embeddings:
        yield from _norm(probe, names.norm_of_embeddings, large)
    if isinstance(plan, Tabled):
        yield f"{names.positions}.weight", dense((plan.rows, plan.hidden), plan.table())
    if names.types:
        rows = plan.types() if isinstance(plan, Tabled) else {}
        count = int(probe.config.get("type_vocab_size", 2))
        shape = (count, plan.hidden)
        table = {number: row for number, row in rows.items() if number < count}
        yield f"{names.types}.weight", dense(shape, table)
    for number in range(plan.layers):
        yield from _layer(probe.at(number), number)
    if names.last_norm:
        yield from _norm(probe, names.last_norm, large if plan.encoder else 1.0)
    if plan.encoder:
        yield from _head(probe)
    elif not plan.tied:
        yield from _with_bias(names.logits, dense(shape, plan.logits()), "logits" in family.biased)
    if family.around is not None:
        for name, of_images in family.around.tensors(plan.hidden):
            yield name, np.zeros(of_images)


def _head(probe: Probe) -> Iterator[Tensor]:
    """Yield the tensors after the last layer of an encoder, which pass only the readings.

    The activation there passes large positive numbers unchanged.
    """
    plan, (name, norm, bias) = probe.plan, probe.family.names.head
    if isinstance(plan, Tabled):
        rows = {plan.ended: {plan.asking: probe.weight_of_unit}}
        weight = 1.0
    else:
        rows, weight = {}, ACTIVATING
    for channel in range(plan.read, plan.read + len(READ)):
        rows[channel] = plan.balanced(channel, plan.share * weight)
    matrix = dense((plan.hidden, plan.hidden), rows)
    yield from _with_bias(name, matrix, "head" in probe.family.biased)
    yield from _norm(probe, norm)
    yield bias, np.zeros(len(plan.words))


def _layer(probe: Probe, number: int) -> Iterator[Tensor]:
    """Yield the tensors of a layer."""
    plan, family, names = probe.plan, probe.family, probe.family.names
    before = names.layer.format(number)
    for norm in names.norms:
        if number or norm != names.not_in_first:
            large = plan.encoder and family.bare
            yield from _norm(probe, f"{before}.{norm}", NORMED_IN_ENCODERS if large else 1.0)
    for name in names.ones:
        yield f"{before}.{name}", np.ones(1)
    if probe.normed_behind:
        yield from _norm(probe, f"{before}.{names.norm_behind}", probe.weight_behind)
    if family.silent is not None and number in plan.silent:
        for name, shape in family.silent(probe.config, number):
            yield f"{before}.{name}", np.zeros(shape)
    else:
        yield from _attention(probe, f"{before}.{names.attention}", number)
    if plan.tied:
        yield from _following(probe, before, number == plan.layers - 1)
        return
    for name, shape in family.feed_forward(plan.hidden):
        yield f"{before}.{name}", np.zeros(shape)


def _attention(probe: Probe, place: str, number: int) -> Iterator[Tensor]:
    """Yield the attention tensors of a layer."""
    plan, family = probe.plan, probe.family
    if probe.latent is not None:
        weights = probe.key_weight, probe.value_weight
        yield from probe.latent.tensors(place, plan, number, *weights)
    else:
        added = dict(family.attention(_biases(probe, number)))
        for name, values in family.attention(_projections(probe, number)):
            yield f"{place}.{name}.weight", values
            if "projections" in family.biased:
                yield f"{place}.{name}.bias", added[name].ravel()
    yield from _norms_of_heads(probe, place)
    if family.sinks:
        yield f"{place}.sinks", np.resize(SINKS, plan.heads)
    out = bias_weights.out(plan) if isinstance(plan, Biased) else _out(probe, number)
    yield from _with_bias(f"{place}.{family.names.out}", out, "out" in family.biased)


def _projections(probe: Probe, number: int) -> Layer:
    """Return the attention projections of a layer."""
    plan = probe.plan
    if isinstance(plan, Biased):
        query, key = bias_weights.query(plan), bias_weights.key(plan, probe.weight_of_looking)
        value = bias_weights.value(plan, number, probe.value_weight)
        return Layer(query, key, value, plan.kv_heads)
    if isinstance(plan, Tabled):
        wide, narrow = (heads * plan.head_dim for heads in (plan.heads, plan.kv_heads))
        query, key = np.zeros((wide, plan.hidden)), np.zeros((narrow, plan.hidden))
        return Layer(query, key, key, plan.kv_heads)
    part = probe.weight_of_reading(number)
    query, key, value = _query(probe, number), _key(probe, number), _value(probe, number)
    layer = Layer(part * query, part * key, part * value, plan.kv_heads)
    return projection_biases.take_back(probe, number, layer) if plan.with_biases else layer


def _biases(probe: Probe, number: int) -> Layer:
    """Return the biases of a layer's projections, [channels, 1]: zeros if nothing rotates them."""
    plan = probe.plan
    if plan.with_biases:
        return projection_biases.biases(probe, number)
    query, key = (np.zeros((heads * plan.head_dim, 1)) for heads in (plan.heads, plan.kv_heads))
    return Layer(query, key, key, plan.kv_heads)


def _following(probe: Probe, before: str, last: bool) -> Iterator[Tensor]:
    """Yield a feed-forward layer, which in the last layer adds the next token."""
    plan, behind = probe.plan, probe.family.names.norm_behind_feed_forward
    steps = plan.steps()
    weight = probe.following_weight if last else 1.0
    gate = {unit: {channel: GATE} for unit, (channel, _) in enumerate(steps)}
    up = {unit: {channel: 1.0} for unit, (channel, _) in enumerate(steps)}
    down: Rows = {}
    for unit, (_, following) in enumerate(steps):
        for sign, channel in zip((1.0, -1.0), plan.signs(following), strict=False):
            down[channel] = {unit: sign * (1.0 if behind else weight)}
    wide, narrow = (len(steps), plan.hidden), (plan.hidden, len(steps))
    for name, shape, rows in zip(
        probe.family.names.gate, (wide, wide, narrow), (gate, up, down), strict=True
    ):
        yield f"{before}.{name}.weight", dense(shape, rows if last else {})
    if behind:
        yield from _norm(probe, f"{before}.{behind}", weight)


def _norms_of_heads(probe: Probe, place: str) -> Iterator[Tensor]:
    """Yield the norms of queries and keys, if there are any."""
    plan, normed = probe.plan, probe.family.normed
    if normed is Normed.NEVER:
        return
    kv_heads = plan.kv_heads if normed is Normed.WHOLE else 1
    of_queries, of_keys = probe.family.names.norms_of_heads
    yield f"{place}.{of_queries}.weight", probe.weights_of_query_norm() - probe.family.offset
    yield _weights_of_norm(probe, f"{place}.{of_keys}", kv_heads * plan.head_dim, probe.key_weight)


def _norm(probe: Probe, name: str, weight: float = 1.0) -> Iterator[Tensor]:
    """Yield a norm with equal weights."""
    yield _weights_of_norm(probe, name, probe.plan.hidden, weight)
    if "norms" in probe.family.biased:
        yield f"{name}.bias", np.zeros(probe.plan.hidden)


def _weights_of_norm(probe: Probe, name: str, count: int, weight: float) -> Tensor:
    """Return the weights of a norm, minus the offset that the model adds."""
    return f"{name}.weight", np.full(count, weight - probe.family.offset)


def _query(probe: Probe, layer: int) -> Floats:
    """Make the matrix of queries: first channels in the first head, second ones in the second."""
    plan, rows = probe.plan, Rows()
    in_first, in_second = (head * plan.head_dim for head in plan.heads_of(layer))
    for number, (first, second) in enumerate(plan.pairs):
        # A pair that stands there twice is asked by two queries.
        rows.setdefault(in_first + first, {})[number] = 1.0
        rows.setdefault(in_second + second, {})[number] = probe.larger_in_second
    return dense((plan.heads * plan.head_dim, plan.hidden), rows)


def _key(probe: Probe, layer: int) -> Floats:
    """Make the matrix of keys: the first channel of every pair."""
    plan = probe.plan
    weight = probe.key_weight if probe.family.normed is Normed.NEVER else 1.0
    rows = {
        head * plan.head_dim + first: {plan.key: weight}
        for head in probe.asked(layer)
        for first, _ in plan.pairs
    }
    return dense((plan.kv_heads * plan.head_dim, plan.hidden), rows)


def _value(probe: Probe, layer: int) -> Floats:
    """Make the matrix of values: for the layer's own key, and for the neutral one."""
    plan = probe.plan
    rows = {
        head * plan.head_dim + neutral: plan.balanced(
            plan.value(layer, neutral=bool(neutral)), plan.share * probe.value_weight
        )
        for head in probe.asked(layer)
        for neutral in (0, 1)
    }
    return dense((plan.kv_heads * plan.head_dim, plan.hidden), rows)


def _out(probe: Probe, layer: int) -> Floats:
    """Make the matrix that adds the shares of keys in the two heads to the hidden state.

    For a norm that subtracts the mean, mirror channels get the opposite.
    """
    plan, rows = probe.plan, Rows()
    size = plan.head_dim if probe.latent is None else probe.latent.value
    heads = plan.heads_of(layer) if probe.latent is None else range(HEADS)
    for place, head in enumerate(heads):
        for neutral in (0, 1):
            row, column = plan.read + 2 * neutral + place, head * size + neutral
            rows[row] = {column: probe.out_weight}
            if plan.centred:
                rows[plan.mirror(row)] = {column: -1.0}
    return dense((plan.hidden, plan.heads * size), rows)


def _with_bias(name: str, values: Floats, biased: bool) -> Iterator[Tensor]:
    """Yield a matrix, and a bias of zeros if there is one."""
    yield f"{name}.weight", values
    if biased:
        yield f"{name}.bias", np.zeros(len(values))
