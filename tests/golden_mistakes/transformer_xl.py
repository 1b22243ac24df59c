"""The mistake that each golden of Transformer-XL's relative attention alone catches."""

import numpy as np

from posenc_conformance.judge.arrays import DTYPES, Array
from posenc_conformance.judge.case import Case
from tests.golden_mistakes.common import Mistake


def moved_as_without_memory(case: Case) -> Array:
    """Row i moved by k_len - 1 - i places, as is right where there are as many keys as queries."""
    x = case.arguments["x"]
    q_len, k_len = case.shape[-2:]
    return np.stack([np.roll(x[:, i], i + 1 - k_len, axis=-1) for i in range(q_len)], axis=1)


def moved_by_one(case: Case) -> Array:
    """Every row but the last moved by one place."""
    x = case.arguments["x"]
    return np.concatenate([np.roll(x[:, :-1], -1, axis=-1), x[:, -1:]], axis=1)


def columns(case: Case, column: Array) -> Array:
    """These columns of the argument."""
    x = case.arguments["x"]
    return np.take_along_axis(x, np.broadcast_to(column, case.shape), -1)


def padding_read(case: Case) -> Array:
    """The first column, which is there for padding, taken for the farthest key."""
    q_len, k_len = case.shape[-2:]
    return columns(case, np.arange(k_len) + q_len - 1 - np.arange(q_len)[:, None])


def ahead_as_behind(case: Case) -> Array:
    """Keys ahead with the scores of keys as far behind."""
    q_len, k_len = case.shape[-2:]
    distance = k_len - q_len + np.arange(q_len)[:, None] - np.arange(k_len)
    return columns(case, k_len - 1 - np.abs(distance))


def of_first_head(*names: str) -> Mistake:
    """The first head's weights for all heads."""

    def mistake(case: Case) -> Array:
        first = {name: case.arguments[name][:1] for name in names}
        alike = {name: value.repeat(case.shape[0], axis=0) for name, value in first.items()}
        return case.changed(**alike).truth

    return mistake


def scores(case: Case, distance: Array, frequencies: Array | None = None) -> Array:
    """The logits for distances of shape [q_len, k_len], sines and cosines concatenated."""
    q, k, w_kr, u, v = (case.arguments[name] for name in ("q", "k", "w_kr", "u", "v"))
    dim, head_dim = w_kr.shape[1:]
    if frequencies is None:
        frequencies = 10000.0 ** -(np.arange(0, dim, 2) / dim)
    angle = distance[..., None] * frequencies
    waves = np.concatenate([np.sin(angle), np.cos(angle)], axis=-1)
    asking = np.einsum("hic,htc->hit", q + v[:, None], w_kr)
    position = np.einsum("hit,ijt->hij", asking, waves)
    content = np.einsum("hic,hjc->hij", q + u[:, None], k)
    return (content + position) / np.sqrt(head_dim)


def distances(case: Case) -> Array:
    """Query minus key."""
    q_len, k_len = case.shape[1:]
    return np.subtract.outer(np.arange(k_len - q_len, k_len), np.arange(k_len))


def exponents_over_one_less(case: Case) -> Array:
    """Exponents t / (dim/2 - 1)."""
    half = case.arguments["w_kr"].shape[1] // 2
    return scores(case, distances(case), 10000.0 ** -(np.arange(half) / max(half - 1, 1)))


def bfloat16_distances(case: Case) -> Array:
    """Distances rounded to 8 bits."""
    return scores(case, distances(case).astype(DTYPES["bfloat16"]).astype(np.float64))


def not_cut(case: Case) -> Array:
    """Distances as they are."""
    return scores(case, distances(case))


def from_zero(case: Case) -> Array:
    """Query i at position i."""
    q_len, k_len = case.shape[1:]
    return scores(case, np.subtract.outer(np.arange(q_len), np.arange(k_len)))


def cut_behind_only(case: Case) -> Array:
    """Only distances of keys behind the query cut."""
    return scores(case, np.minimum(distances(case), case.arguments["clamp_len"]))


def concatenated(case: Case) -> Array:
    """Sines first, then cosines."""
    return scores(case, distances(case))


MISTAKES: dict[str, Mistake] = {
    "shift-memory": moved_as_without_memory,
    "shift-four-queries": moved_by_one,
    "shift-padded": padding_read,
    "shift-full": ahead_as_behind,
    "causal-two-heads": of_first_head("u", "v"),
    "causal-three-frequencies": exponents_over_one_less,
    "causal-one-query-of-600": bfloat16_distances,
    "causal-clamped": not_cut,
    "xlnet-memory": from_zero,
    "xlnet-two-heads": of_first_head("w_kr"),
    "xlnet-clamped": cut_behind_only,
    "conformer-four": concatenated,
}
