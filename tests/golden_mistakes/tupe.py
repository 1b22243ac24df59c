"""The mistake that each golden of untied positional encoding alone catches."""

import numpy as np

import posenc
from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from tests.golden_mistakes.common import Mistake, right


def thetas_of_first_head(case: Case) -> Array:
    """The first head's scores of [CLS] with positions for all heads."""
    names = ("p_q", "p_k")
    tables = {name: case.arguments[name].copy() for name in names}
    for table in tables.values():
        table[1:, :2] = table[0, :2]
    return case.changed(**tables).truth


def tied_if_alone(case: Case) -> Array:
    """The only token with the score of its position."""
    if case.shape[1] > 1:
        return right(case)
    first_row = {name: case.arguments[name][:, 1:] for name in ("p_q", "p_k")}
    return case.under(cls="tied").changed(**first_row).truth


def positions_end_at_eight(case: Case) -> Array:
    """The eighth position for all that follow."""
    rows = np.minimum(np.arange(case.shape[1] + 1), 8)
    return case.changed(**{name: case.arguments[name][:, rows] for name in ("p_q", "p_k")}).truth


def untied(case: Case) -> Array:
    """[CLS] with the scores of rows 0 and 1."""
    one_more = {
        name: np.concatenate([case.arguments[name][:, 1:2], case.arguments[name]], axis=1)
        for name in ("p_q", "p_k")
    }
    return case.under(cls="untied").changed(**one_more).truth


def biases_of_first_head(case: Case) -> Array:
    """The first head's column of the table for all heads."""
    return case.changed(table=case.arguments["table"][:, :1].repeat(case.shape[0], axis=1)).truth


def distances_cut(limit: int) -> Mistake:
    """Relative biases that end at a distance."""

    def mistake(case: Case) -> Array:
        table, place = case.arguments["table"], np.arange(1, case.shape[1])
        distance = place - place[:, None]
        sizes = {"num_buckets": len(table) - 1, "max_distance": case.arguments["max_distance"]}
        asked = posenc.t5_bucket(distance, **sizes)
        cut = posenc.t5_bucket(np.clip(distance, -limit, limit), **sizes)
        out = right(case)
        out[:, 1:, 1:] += np.moveaxis(table[cut] - table[asked], -1, 0)
        return out

    return mistake


def biases_of_cls_kept(case: Case) -> Array:
    """[CLS] with the relative biases of any token."""
    table, place = case.arguments["table"], np.arange(case.shape[1])
    bucket = posenc.t5_bucket(
        place - place[:, None],
        num_buckets=len(table),
        max_distance=case.arguments["max_distance"],
    )
    bias = np.moveaxis(table[bucket], -1, 0).copy()
    bias[:, 1:, 1:] = 0
    return right(case) + bias


MISTAKES: dict[str, Mistake] = {
    "untied-two-heads": thetas_of_first_head,
    "untied-alone": tied_if_alone,
    "untied-16-tokens": positions_end_at_eight,
    "tied": untied,
    "relative-8-buckets": biases_of_first_head,
    "relative-32-buckets": distances_cut(15),
    "relative-together": biases_of_cls_kept,
}
