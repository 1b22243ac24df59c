"""The mistake that each golden of conditional positions alone catches."""

import numpy as np

from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from tests.golden_mistakes.common import Mistake, right


def exchanged(case: Case) -> Array:
    """Height for width."""
    given = case.arguments
    return case.changed(height=given["width"], width=given["height"]).truth


def stacked(case: Case) -> Array:
    """All pictures of a batch as one high picture."""
    x = case.arguments["x"]
    high = case.arguments["height"] * (x.size // np.prod(x.shape[-2:], dtype=int))
    flat = case.changed(x=x.reshape(-1, x.shape[-1]), height=int(high))
    return flat.truth.reshape(x.shape)


def nine_weights(case: Case) -> Array:
    """A kernel of three rows and columns."""
    weight = case.arguments["weight"]
    reach = weight.shape[-1] // 2
    return case.changed(weight=weight[:, reach - 1 : reach + 2, reach - 1 : reach + 2]).truth


def first_token(case: Case) -> Array:
    """One class token for all."""
    out = right(case)
    if out.ndim > 2:
        out[:, 0] = out[0, 0]
    return out


MISTAKES: dict[str, Mistake] = {
    "two-by-three": exchanged,
    "batch": stacked,
    "kernel-5": nine_weights,
    "class-token-two-by-three": exchanged,
    "class-token-of-each": first_token,
}
