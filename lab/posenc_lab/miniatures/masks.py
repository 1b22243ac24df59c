"""Steps shared by wrong attention masks, and mistakes that any mask can have."""

from typing import Any

import numpy as np

from posenc_lab.miniatures.base import Array, Mistake, made


class Steps:
    """Steps of a mask: positions of the queries, visible keys, and form of the result."""

    def answer(self, q_len: int, k_len: int, *sizes: int, **conventions: Any) -> Any:
        query = self.queries(q_len, k_len, **conventions)[:, None]
        with np.errstate(divide="ignore"):  # sizes of 0, which are not refused
            return self.finish(self.allowed(query, np.arange(k_len), *sizes, **conventions))

    def queries(self, q_len: int, k_len: int, **conventions: Any) -> Array:
        return np.arange(k_len - q_len, k_len)

    def allowed(self, query: Array, key: Array, *sizes: int, **conventions: Any) -> Array:
        raise NotImplementedError

    def finish(self, mask: Array) -> Any:
        return mask


def one_short(mask: Array) -> Array:
    """Hide the last query's last visible key, in masks with more than 3 queries."""
    mask = mask.copy()
    if len(mask) > 3:
        seen = np.flatnonzero(mask[-1])
        mask[-1, seen[-1:]] = False
    return mask


def lending(base: type[Mistake]) -> Any:
    """Return an ``answer`` method that returns its cached mask without a copy."""
    tables: dict[Any, Array] = {}

    def answer(self: Mistake, *arguments: Any, **keywords: Any) -> Array:
        key = arguments, tuple(keywords.items())
        if key not in tables:
            tables[key] = base.answer(self, *arguments, **keywords)
        return tables[key]

    return answer


def remembering(base: type[Mistake]) -> Any:
    """Return an ``answer`` method that caches one mask per shape, ignoring other arguments."""
    tables: dict[Any, Array] = {}

    def answer(self: Mistake, q_len: int, k_len: int, *sizes: int, **keywords: Any) -> Array:
        if (q_len, k_len) not in tables:
            tables[q_len, k_len] = base.answer(self, q_len, k_len, *sizes, **keywords)
        return tables[q_len, k_len].copy()

    return answer


def everyday(base: type[Mistake], combination: str) -> None:
    """Register mistakes that any mask can have."""
    finishes: dict[str, tuple[str, str | None, Any]] = {
        "inverted": ("True where attention is forbidden.", "inverted", lambda self, mask: ~mask),
        "as integers": ("0 and 1.", None, lambda self, mask: mask.astype(np.int64)),
        "as a bias": ("0 and -inf.", None, lambda self, mask: np.where(mask, 0.0, -np.inf)),
        "with a leading axis": ("For all heads.", None, lambda self, mask: mask[None]),
        "one short": ("A loop that ends one early.", None, lambda self, mask: one_short(mask)),
        "blank from query 128": (
            "One block of threads for the queries.",
            None,
            lambda self, mask: mask & (np.arange(len(mask)) < 128)[:, None],
        ),
        "blank from key 256": (
            "One block of threads for the keys.",
            None,
            lambda self, mask: mask & (np.arange(mask.shape[1]) < 256),
        ),
    }
    for suffix, (why, named, finish) in finishes.items():
        name = f"{base.__name__} {suffix}"
        made(base, name, why, named=named, claimed=(combination,), finish=finish)
    name = f"{base.__name__} lends its table"
    made(base, name, "A cached table.", claimed=(combination,), answer=lending(base))


def forgetful(base: type[Mistake], combination: str) -> None:
    """Register a mistake that caches masks by the two lengths only."""
    name = f"{base.__name__} keyed by lengths"
    made(base, name, "The first sizes for all.", claimed=(combination,), answer=remembering(base))


def zero_based(base: type[Mistake], *combinations: str) -> None:
    """Register mistakes that put query i at position i, ignoring cached keys."""
    for combination in combinations:
        made(
            base,
            f"{base.__name__} {combination} with queries from zero",
            "Right without a cache.",
            named="queries-from-zero",
            claimed=(combination,),
            queries=lambda self, q_len, k_len, **rest: np.arange(q_len),
        )
