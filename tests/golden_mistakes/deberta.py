"""The mistake that each golden of DeBERTa's disentangled attention alone catches."""

from collections.abc import Callable

import numpy as np

from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from tests.golden_mistakes.common import Mistake, right


def in_int8(case: Case) -> Array:
    """Buckets cut to 8 bits."""
    return right(case).astype(np.int8)


def other_buckets(alter: Callable[[int], int]) -> Mistake:
    """Another number of buckets than the one asked for."""
    return lambda case: case.changed(num_buckets=alter(case.arguments["num_buckets"])).truth


def tables_of_first_head(case: Case) -> Array:
    """The first head's relative positions for all heads."""
    names = ("q_r", "k_r")
    alike = {name: case.arguments[name][:1].repeat(case.shape[0], axis=0) for name in names}
    return case.changed(**alike).truth


def cut_alike(case: Case) -> Array:
    """Distances cut to span - 1 on both sides: row 1 stands in for row 0."""
    names = ("q_r", "k_r")
    tables = {name: case.arguments[name].copy() for name in names}
    for table in tables.values():
        table[:, 0] = table[:, 1]
    return case.changed(**tables).truth


def counted_from_length(case: Case) -> Array:
    """Distance 0 in the row of the sequence's length, where that is less than the span."""
    names, (_, length, _) = ("q_r", "k_r"), case.shape
    late = max(case.arguments["q_r"].shape[1] // 2 - length, 0)
    return case.changed(
        **{name: np.roll(case.arguments[name], late, axis=1) for name in names}
    ).truth


def far(value: str) -> Mistake:
    """Far distances clamped, or not."""
    return lambda case: case.under(far=value).truth


MISTAKES: dict[str, Mistake] = {
    "clamped-256-512": in_int8,
    "clamped-8-16": other_buckets(lambda buckets: max(buckets, 16)),
    "growing-256-512": in_int8,
    "growing-9-20": other_buckets(lambda buckets: buckets + buckets % 2),
    "paper-two-heads": tables_of_first_head,
    "paper-beyond-the-span": cut_alike,
    "v1-within-the-span": counted_from_length,
    "v1-beyond-the-span": cut_alike,
    "v2-beyond-the-buckets": far("growing"),
    "v2-two-heads": tables_of_first_head,
    "v2-transformers-beyond-the-buckets": far("clamped"),
    "v2-transformers-two-heads": tables_of_first_head,
}
