"""The mistake that each golden of attention without positions alone catches."""

import numpy as np

from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from posenc_conformance.schemes.nope import causal, layer, projections
from tests.golden_mistakes.common import Mistake, right


def transposed(name: str) -> Mistake:
    """A square matrix read in the other order."""

    def mistake(case: Case) -> Array:
        matrix = case.arguments[name]
        square = matrix.shape[0] == matrix.shape[1]
        return case.changed(**{name: matrix.T}).truth if square else right(case)

    return mistake


def root_of_dim(case: Case) -> Array:
    """Division by the root of the model's width."""
    dim, head_dim = case.arguments["w_q"].shape
    return case.changed(w_q=case.arguments["w_q"] * np.sqrt(head_dim / dim)).truth


def first_keys(case: Case) -> Array:
    """Keys of the first sequence."""
    q, k, v = projections(case)
    if k.ndim > 2:
        k = 0 * k + k[0]
    return layer(q, k, v, causal(case))


def seen_up_to_256(case: Case) -> Array:
    """A single block of keys, though a row sees itself."""
    n = case.arguments["x"].shape[-2]
    shown = causal(case) & ((np.arange(n) < 256) | np.eye(n, dtype=bool))
    return layer(*projections(case), shown)


MISTAKES: dict[str, Mistake] = {
    "four-rows": transposed("w_q"),
    "head-narrower-than-model": root_of_dim,
    "values-projected": transposed("w_v"),
    "two-sequences": first_keys,
    "last-of-300": seen_up_to_256,
}
