"""Code shared by miniatures of schemes that remap the distances of rotary embedding."""

import math
from typing import Any

import numpy as np

from posenc_lab.miniatures.base import Array, Mistake, made
from posenc_lab.miniatures.styles import even, rotate_every_two, rotate_half


def fitting(q: Array, k: Array) -> tuple[Array, Array]:
    """Return query positions, as a column, and key positions; refuse mismatched shapes."""
    even(q.shape[-1])
    if q.shape[-1] != k.shape[-1] or q.shape[0] != k.shape[0] or q.shape[1] > k.shape[1]:
        raise ValueError(f"queries {q.shape}, keys {k.shape}")
    k_len = k.shape[1]
    return np.arange(k_len - q.shape[1], k_len)[:, None], np.arange(k_len)


def at_least_one(**numbers: int) -> None:
    """Refuse numbers below 1."""
    for name, number in numbers.items():
        if number < 1:
            raise ValueError(f"{name} is {number}")


# Right implementations


def turned(x: Array, places: Array, base: float, layout: str) -> Array:
    """Rotate x by float32 tables (float64 for float64), cast to the dtype of x before use."""
    kind: type[np.floating] = np.float64 if x.dtype == np.float64 else np.float32
    dim = x.shape[-1]
    inverse = (1.0 / base ** (np.arange(0, dim, 2) / dim)).astype(kind)
    angles = places.astype(kind)[:, None] * inverse
    if layout == "half":
        emb, crossed = np.concatenate([angles, angles], axis=-1), rotate_half(x)
    else:
        emb, crossed = np.repeat(angles, 2, axis=-1), rotate_every_two(x)
    return x * np.cos(emb).astype(x.dtype) + crossed * np.sin(emb).astype(x.dtype)


def scores(q: Array, k: Array) -> Array:
    """Return logits: products summed in float32 or wider, cast, divided in the dtype of q."""
    kind: type[np.floating] = np.float64 if q.dtype == np.float64 else np.float32
    products = (q.astype(kind) @ np.swapaxes(k.astype(kind), 1, 2)).astype(q.dtype)
    return np.asarray(products / q.dtype.type(math.sqrt(q.shape[-1])))


def by_distance(q: Array, k: Array, distance: Array, base: float, layout: str) -> Array:
    """Return logits with each key rotated back by its distance, in Python floats."""
    heads, q_len, dim = q.shape
    out = np.full((heads, q_len, k.shape[1]), -np.inf)
    for h, i, j in np.ndindex(*out.shape):
        if j > k.shape[1] - q_len + i:
            continue
        logit = 0.0
        for t in range(dim // 2):
            a, b = (t, t + dim // 2) if layout == "half" else (2 * t, 2 * t + 1)
            angle = float(distance[i, j]) * base ** (-2 * t / dim)
            x, y = float(k[h, j, a]), float(k[h, j, b])
            logit += float(q[h, i, a]) * (x * math.cos(angle) + y * math.sin(angle))
            logit += float(q[h, i, b]) * (y * math.cos(angle) - x * math.sin(angle))
        out[h, i, j] = logit / math.sqrt(dim)
    return out


def by_complex_numbers(q: Array, k: Array, distance: Array, base: float, layout: str) -> Array:
    """Return logits from pairs as complex128 numbers, vectorised; queries are scaled first."""
    dim = q.shape[-1]
    half = layout == "half"
    scaled = q.astype(np.float64) / math.sqrt(dim)
    q_pairs, k_pairs = (
        x[..., : dim // 2] + 1j * x[..., dim // 2 :] if half else x[..., 0::2] + 1j * x[..., 1::2]
        for x in (scaled, k.astype(np.float64))
    )
    wave = np.exp(1j * distance[..., None] * float(base) ** -(np.arange(0, dim, 2) / dim))
    return np.einsum("hip,hjp,ijp->hij", q_pairs, k_pairs.conj(), wave).real.astype(q.dtype)


# Steps of the wrong implementations


class Steps:
    """Steps of a score call: query positions, distances, pairs, rotation, and scale."""

    def answer(self, q: Array, k: Array, *, base: float, layout: str, **numbers: Any) -> Array:
        fitting(q, k)
        self.refuse(**numbers)
        dim, (q_len, k_len) = q.shape[-1], (q.shape[1], k.shape[1])
        query, key = self.queries(q_len, k_len)[:, None], np.arange(k_len)
        distance = np.asarray(self.distance(query, key, **numbers), dtype=np.float64)
        first, second = self.pairs(dim, layout)
        q_pairs, k_pairs = (
            x[..., first] + 1j * x[..., second]
            for x in (q.astype(np.float64), self.keys(k.astype(np.float64)))
        )
        omega = self.base(base) ** -(np.arange(0, dim, 2) / dim)
        wave = self.wave(distance[..., None] * omega)
        logits = np.einsum("hip,hjp,ijp->hij", q_pairs, k_pairs.conj(), wave).real
        return np.asarray(self.finish(logits / self.root(dim)).astype(q.dtype))

    def refuse(self, **numbers: Any) -> None:
        raise NotImplementedError

    def queries(self, q_len: int, k_len: int) -> Array:
        return np.arange(k_len - q_len, k_len)

    def distance(self, query: Array, key: Array, **numbers: Any) -> Array:
        raise NotImplementedError

    def pairs(self, dim: int, layout: str) -> tuple[Array, Array]:
        every = np.arange(dim)
        if layout == "half":
            return every[: dim // 2], every[dim // 2 :]
        return every[0::2], every[1::2]

    def keys(self, k: Array) -> Array:
        return k

    def base(self, base: float) -> float:
        return float(base)

    def wave(self, angles: Array) -> Array:
        return np.asarray(np.exp(1j * angles))

    def root(self, dim: int) -> float:
        return float(dim**0.5)

    def finish(self, logits: Array) -> Array:
        return logits


def one_query_first(self: Steps, q_len: int, k_len: int) -> Array:
    """Put a single query at position 0."""
    return np.zeros(1) if q_len == 1 else Steps.queries(self, q_len, k_len)


def with_common_mistakes(base: type[Mistake], claimed: str, other: str) -> None:
    """Register mistakes that do not depend on the distances; ``other`` is the other layout."""
    for name, named, steps in (
        (
            "with distances of the positions",
            "plain-rope",
            {"distance": lambda self, query, key, **numbers: query - key},
        ),
        (
            "with queries first",
            "queries-first",
            {"queries": lambda self, q_len, k_len: np.arange(q_len)},
        ),
        ("with one query first", "queries-first", {"queries": one_query_first}),
        ("turned backwards", "sign-flipped", {"wave": lambda self, angles: np.exp(-1j * angles)}),
        (
            "paired otherwise",
            "layout-swapped",
            {"pairs": lambda self, dim, layout: Steps.pairs(self, dim, other)},
        ),
        ("with base 10,000", "wrong-base", {"base": lambda self, base: 10000.0}),
        ("unscaled", "other-scale", {"root": lambda self, dim: 1.0}),
        ("scaled twice", "other-scale", {"root": lambda self, dim: float(dim)}),
        (
            "with keys of the first head",
            None,
            {"keys": lambda self, k: np.broadcast_to(k[:1], k.shape)},
        ),
        (
            "with whole degrees",
            None,
            {"wave": lambda self, angles: np.exp(1j * np.radians(np.round(np.degrees(angles))))},
        ),
        (
            "in float16",
            None,
            {"finish": lambda self, logits: logits.astype(np.float16).astype(np.float64)},
        ),
    ):
        made(
            base,
            f"{base.__name__} {name} {claimed}",
            "One step otherwise.",
            named=named,
            claimed=(claimed,),
            **steps,
        )
