"""The mistake that each golden of relative position representations alone catches."""

import numpy as np

from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from tests.golden_mistakes.common import Mistake, power_of_two_from, right


def offsets(case: Case, first: int | None = None) -> Array:
    """Key minus query, or the reverse; queries are the last keys, or stand elsewhere."""
    q_len, k_len = case.parameter("q_len"), case.parameter("k_len")
    first = k_len - q_len if first is None else first
    sign = -1 if case.conventions.get("offset") == "query-minus-key" else 1
    return sign * (np.arange(k_len) - (first + np.arange(q_len))[:, None])


def vectors(case: Case, offset: Array) -> Array:
    """The table's rows for these offsets."""
    table = case.arguments["table"]
    reach = len(table) // 2
    return table[np.clip(offset, -reach, reach) + reach]


def result(case: Case, placed: Array) -> Array:
    """Logits or outputs with these vectors."""
    given = case.arguments
    if case.call.name == "shaw_values":
        edges = np.einsum("hij,ijc->hic", given["weights"], placed)
        return given["weights"] @ given["v"] + edges
    content = np.einsum("hic,hjc->hij", given["q"], given["k"])
    position = np.einsum("hic,ijc->hij", given["q"], placed)
    return (content + position) / np.sqrt(given["q"].shape[-1])


def first_head_for_all(case: Case) -> Array:
    """Queries of the first head only."""
    q = case.arguments["q"]
    return case.changed(q=np.broadcast_to(q[:1], q.shape)).truth


def far_keys_without(case: Case) -> Array:
    """Zeros beyond the table, unless it has one row."""
    offset, reach = offsets(case), len(case.arguments["table"]) // 2
    shown = (np.abs(offset) <= reach) | (reach == 0)
    return result(case, vectors(case, offset) * shown[..., None])


def queries_from_zero(case: Case) -> Array:
    """Query i at position i although keys come before it."""
    return result(case, vectors(case, offsets(case, 0)))


def heads_padded(case: Case) -> Array:
    """Divided by the square root of another number of channels."""
    channels = case.parameter("head_dim")
    return right(case) * np.sqrt(channels / power_of_two_from(channels))


def single_row_dropped(case: Case) -> Array:
    """No table where it has one row."""
    table = case.arguments["table"]
    return case.changed(table=table * (len(table) > 1)).truth


def none_ahead(case: Case) -> Array:
    """Keys ahead of the query as if they stood with it."""
    sign = -1 if case.conventions.get("offset") == "query-minus-key" else 1
    return result(case, vectors(case, sign * np.minimum(sign * offsets(case), 0)))


def weights_normalised(case: Case) -> Array:
    """Weights that sum to 1, or to nothing."""
    weights = case.arguments["weights"]
    sums = weights.sum(axis=-1, keepdims=True)
    return case.changed(weights=weights / np.where(sums == 0, 1, sums)).truth


MISTAKES: dict[str, Mistake] = {
    "paper-two-heads": first_head_for_all,
    "paper-beyond-the-table": far_keys_without,
    "paper-two-of-five": queries_from_zero,
    "paper-three-channels": heads_padded,
    "paper-single-row": single_row_dropped,
    "reversed-square": none_ahead,
    "reversed-one-of-five": queries_from_zero,
    "values-square": none_ahead,
    "values-one-of-four": queries_from_zero,
    "values-weights-below-one": weights_normalised,
}
