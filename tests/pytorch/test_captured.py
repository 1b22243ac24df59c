"""Recorded calls: a value read once that should be read in each call is found and named."""

from typing import Any

import numpy as np
import pytest

from posenc_conformance import claims
from posenc_conformance.judge.arrays import Array
from tests.recorded_calls import recording, told, turned


class InNumpy:
    """RoPE that keeps the offsets of the first call of each shape."""

    def __init__(self) -> None:
        self.kept: dict[Any, Array] = {}

    @claims("offsets-half")
    def rope_offsets(self, x: Array, offsets: Array, *, base: float) -> Array:
        if len(offsets) != len(x):
            raise ValueError("an offset for each sequence")
        first = self.kept.setdefault((x.shape, x.dtype), offsets.copy())
        return np.asarray(turned(np, x, first, base)).astype(x.dtype)


def test_a_recorded_offset_is_named_as_that_of_an_earlier_call() -> None:
    assert any("as an earlier call had" in text for text in told(InNumpy()))


@pytest.mark.parametrize("reads_each_time", [True, False])
def test_calls_that_torch_records(reads_each_time: bool) -> None:
    texts = told(recording(reads_each_time))
    assert (not texts) == reads_each_time
    assert reads_each_time or any("as an earlier call had" in text for text in texts)


class MaskInNumpy:
    """Attention that reads which keys are hidden in each call, or in the first of each shape."""

    def __init__(self, reads_each_time: bool) -> None:
        self.reads_each_time = reads_each_time
        self.kept: dict[Any, Array] = {}

    @claims("unscaled", dtype="float64")
    def attention_with_bias(self, q: Array, k: Array, v: Array, bias: Array) -> Array:
        if bias.shape[-2:] != (q.shape[-2], k.shape[-2]):
            raise ValueError("a number for each query and key")
        hidden = np.isneginf(bias)
        if not self.reads_each_time:
            hidden = self.kept.setdefault(bias.shape, hidden)
        scores = q @ np.swapaxes(k, -1, -2) + np.where(np.isneginf(bias), 0, bias)
        scores = np.where(hidden, -np.inf, scores)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return np.asarray(weights / weights.sum(axis=-1, keepdims=True) @ v)


@pytest.mark.parametrize("reads_each_time", [True, False])
def test_a_recorded_mask(reads_each_time: bool) -> None:
    assert (not told(MaskInNumpy(reads_each_time))) == reads_each_time
