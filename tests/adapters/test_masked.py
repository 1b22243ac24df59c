"""Claims with ``masked``: hidden keys are checked in every head and call."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import posenc
from posenc_conformance import claims
from posenc_conformance.errors import UserError
from posenc_lab.judging import failed, judge
from posenc_lab.miniatures.styles import Array

pytestmark = pytest.mark.remembered(shipped=True)

Mask = Callable[[Array], Array]


def lags(bias: Array) -> Array:
    """Return query position minus key position, [q_len, k_len]."""
    q_len, k_len = bias.shape[-2:]
    return np.arange(k_len - q_len, k_len)[:, None] - np.arange(k_len)


def hiding(value: float) -> Mask:
    return lambda bias: np.where(lags(bias) < 0, bias.dtype.type(value), bias)


def in_the_first_head(bias: Array) -> Array:
    first = np.arange(len(bias))[:, None, None] == 0
    return np.where((lags(bias) < 0) & ~first, 0, bias)


def one_key_more(bias: Array) -> Array:
    return np.where(lags(bias) < -1, -np.inf, np.where(lags(bias) < 0, 0, bias))


def only_square(bias: Array) -> Array:
    """Hide nothing if q_len < k_len, as if that were one query, which sees every key."""
    return bias if bias.shape[-2] == bias.shape[-1] else hiding(0)(bias)


def only_below(rows: int) -> Mask:
    return lambda bias: hiding(-np.inf if bias.shape[-1] < rows else 0.0)(bias)


RIGHT: dict[str, Mask] = {
    "infinite": hiding(-np.inf),
    "the smallest number": lambda bias: hiding(float(np.finfo(bias.dtype).min))(bias),
    "-10,000": hiding(-10_000),
}
WRONG: dict[str, Mask] = {
    "nothing hidden": hiding(0),
    "NaN": hiding(np.nan),
    "infinite with the wrong sign": hiding(np.inf),
    "too weak": hiding(-100),
    "a little too weak": hiding(-9999),
    "first head": in_the_first_head,
    "one key more": one_key_more,
    "only as many queries as keys": only_square,
    "only small calls": only_below(200),
}


def adapters(mask: Mask, *, masked: bool = True) -> list[object]:
    class Alibi:
        @claims("causal", dtype=["float64", "float32", "float16"], masked=masked)
        def alibi_bias(self, heads: int, q_len: int, k_len: int, *, dtype: Any) -> Array:
            bias = posenc.alibi_bias(heads, q_len, k_len, form="causal", dtype=dtype)
            return mask(bias)

    class Cope:
        @claims(dtype=["float64", "float32"], masked=masked)
        def cope_scores(self, q: Array, k: Array, table: Array) -> Array:
            return mask(posenc.cope_scores(q, k, table))

    return [Alibi(), Cope()]


@pytest.mark.slow
@pytest.mark.parametrize("name", RIGHT)
def test_right_masks_pass(name: str) -> None:
    for adapter in adapters(RIGHT[name]):
        verdicts = judge(adapter)
        assert {str(verdict.verdict) for verdict in verdicts} <= {"passed", "not claimed", "silent"}


@pytest.mark.slow
@pytest.mark.parametrize("name", WRONG)
def test_a_visible_key_is_reported(name: str) -> None:
    for adapter in adapters(WRONG[name]):
        wrong = failed(judge(adapter))
        assert wrong
        assert any("the mask hides" in verdict.text for verdict in wrong)


@pytest.mark.slow
@pytest.mark.parametrize("name", WRONG)
def test_the_mask_is_not_checked_without_the_claim(name: str) -> None:
    for adapter in adapters(WRONG[name], masked=False):
        assert not failed(judge(adapter))


def test_a_call_that_hides_nothing_cannot_claim_it() -> None:
    class Rope:
        @claims("half", masked=True)
        def rope(self, x: Array, positions: Array, *, base: float) -> Array:
            return x

    with pytest.raises(UserError, match="no mask hides anything"):
        judge(Rope())
