"""The mistake that each golden of contextual positions alone catches."""

import numpy as np

from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from tests.golden_mistakes.common import Mistake


def dots(case: Case) -> Array:
    """Scaled dot products."""
    q, k = case.arguments["q"], case.arguments["k"]
    return q @ np.swapaxes(k, 1, 2) / np.sqrt(q.shape[2])


def seen(case: Case) -> Array:
    """Keys that each query sees."""
    q_len, k_len = case.parameter("q_len"), case.parameter("k_len")
    return np.arange(k_len) <= np.arange(k_len - q_len, k_len)[:, None]


def gates(case: Case) -> Array:
    """Open for keys like the query, shut for hidden ones."""
    return np.where(seen(case), 1 / (1 + np.exp(np.clip(-dots(case), -700, 700))), 0.0)


def logits(case: Case, opened: Array, last: int | None = None, lost: bool = False) -> Array:
    """With these gates, another largest position, or shares that vanish at whole positions."""
    q, table = case.arguments["q"], case.arguments["table"]
    position = np.cumsum(opened[..., ::-1], axis=-1)[..., ::-1]
    position = np.minimum(position, len(table) - 1 if last is None else last)
    below, above = np.floor(position).astype(int), np.ceil(position).astype(int)
    first, second = (np.take_along_axis(q @ table.T, row, axis=-1) for row in (below, above))
    rest = above - position if lost else 1 - (position - below)
    term = first * rest + second * (position - below)
    scale = np.sqrt(q.shape[2]) if case.conventions["scaling"] == "sum" else 1
    return np.where(seen(case), dots(case) + term / scale, -np.inf)


def first_head_for_all(case: Case) -> Array:
    """Gates of the first head only."""
    return logits(case, np.broadcast_to(gates(case)[:1], gates(case).shape))


def limited_too_early(case: Case) -> Array:
    """The last row never reached."""
    return logits(case, gates(case), last=len(case.arguments["table"]) - 2)


def cached_keys_not_counted(case: Case) -> Array:
    """Gates of keys from a cache left out."""
    late = case.parameter("k_len") - case.parameter("q_len")
    return logits(case, gates(case) * (np.arange(case.parameter("k_len")) >= late))


def quotient_of_exponentials(case: Case) -> Array:
    """No number where the exponential is infinite."""
    with np.errstate(over="ignore", invalid="ignore"):
        power = np.exp(dots(case))
        found = np.where(seen(case), power / (1 + power), 0.0)
    return np.where(np.isnan(found).any(axis=-1, keepdims=True), np.nan, logits(case, gates(case)))


def dot_product_divided(case: Case) -> Array:
    """The other convention."""
    return case.under(scaling="dot-product").truth


def shares_lost(case: Case) -> Array:
    """Nothing at whole positions."""
    return logits(case, gates(case), lost=True)


MISTAKES: dict[str, Mistake] = {
    "listing-two-heads": first_head_for_all,
    "listing-beyond-the-table": limited_too_early,
    "listing-two-of-five": cached_keys_not_counted,
    "listing-gates-shut-and-open": quotient_of_exponentials,
    "released-four-channels": dot_product_divided,
    "released-whole-positions": shares_lost,
}
