"""Helpers for adapters with tensors and with arrays of JAX; run where these are installed."""

from typing import Any

import jax
import ml_dtypes
import numpy as np
import pytest
import torch
from torch import nn

from posenc_conformance import claims, to_numpy, to_torch
from posenc_conformance.adapters import by_heads, in_sequence, in_stretches
from posenc_conformance.adapters import jax as for_jax
from posenc_conformance.adapters import torch as for_torch
from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.registry import load_all

POSITIONS = np.array([3, 0, 3, 7])
X = np.arange(24, dtype=np.float32).reshape(3, 4, 2)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16])
def test_tensors_there_and_back(dtype: Any) -> None:
    x = X.astype(dtype)
    x.flags.writeable = False
    tensor = to_torch(x)
    tensor[0] = 0
    assert to_torch(tensor) is tensor
    back = to_numpy(tensor.requires_grad_())
    assert back.dtype == x.dtype
    np.testing.assert_array_equal(back[1:], x[1:])
    np.testing.assert_array_equal(x, X.astype(dtype))


def test_sequences_of_tensors_can_be_differentiated() -> None:
    def scaled(sequence: Any) -> Any:
        return sequence * torch.arange(sequence.shape[-2])[:, None]

    expected = X * POSITIONS[:, None]
    np.testing.assert_array_equal(in_sequence(scaled, to_torch(X), POSITIONS), expected)
    pulled = for_torch.vjp(lambda x: in_sequence(scaled, x, POSITIONS), X)
    np.testing.assert_array_equal(pulled, expected)


def test_stretches_of_tensors() -> None:
    result = in_stretches(lambda rows, first: rows + first, to_torch(X), POSITIONS)
    np.testing.assert_array_equal(result, X + POSITIONS[:, None])


@pytest.mark.parametrize("form", ["bhnd", "bnhd", "hnd"])
def test_heads_of_tensors(form: str) -> None:
    np.testing.assert_array_equal(by_heads(lambda heads: -heads, to_torch(X), form=form), -X)


class TorchAdapter:
    @claims("half", dtype=("float32", "bfloat16"))
    def rope(self, x: Any, positions: Any, *, base: float) -> Any:
        return to_torch(x) @ torch.tensor([[1.0, 2.0], [3.0, base]])

    rope_vjp = for_torch.backward(rope)


class JaxAdapter:
    @claims("half", dtype=("float32", "bfloat16"))
    def rope(self, x: Any, positions: Any, *, base: float) -> Any:
        return x @ jax.numpy.array([[1.0, 2.0], [3.0, base]])

    rope_vjp = for_jax.backward(rope)


@pytest.mark.parametrize("adapter", [TorchAdapter(), JaxAdapter()])
def test_a_backward_pass_is_the_transpose_and_claims_the_same(adapter: Any) -> None:
    pulled = adapter.rope_vjp(X, POSITIONS, base=5.0)
    np.testing.assert_array_equal(np.asarray(pulled), X @ np.array([[1.0, 3.0], [2.0, 5.0]]))
    found = subjects(adapter, load_all())
    assert {each.call.name: each.dtypes for each in found} == {
        "rope": ("float32", "bfloat16"),
        "rope_vjp": ("float32", "bfloat16"),
    }


def test_compiled_once() -> None:
    traced = []

    def make(factor: float) -> Any:
        def scale(x: Any) -> Any:
            traced.append(x.shape)
            return factor * x

        return scale

    scale = for_jax.compiled(make)
    for _ in range(3):
        np.testing.assert_array_equal(scale(2.0)(X), 2 * X)
    assert traced == [X.shape]
    np.testing.assert_array_equal(scale(3.0)(X), 3 * X)


def test_logits_are_what_the_softmax_is_given() -> None:
    scores = torch.tensor([[1.0, 2.0]])
    np.testing.assert_array_equal(for_torch.logits(lambda: scores.softmax(-1)), scores)


def test_logits_that_are_hidden_are_said_to_be() -> None:
    with pytest.raises(RuntimeError, match="fused"):
        for_torch.logits(lambda: nn.Linear(2, 2)(torch.ones(1, 2)))


def test_queries_at_the_end() -> None:
    padded = for_torch.at_the_end(torch.ones(2, 3, 4), 5)
    np.testing.assert_array_equal(padded[:, :2], 0)
    np.testing.assert_array_equal(padded[:, 2:], 1)


def test_a_call_that_is_traced_once() -> None:
    kept = [5.0]
    add = for_jax.captured(lambda x, *, times: times * x + kept[0])
    assert float(add(jax.numpy.ones(()), times=2)) == 7
    kept[0] = 100.0
    assert float(add(jax.numpy.ones(()) + 1, times=2)) == 9
    assert float(add(jax.numpy.ones(()), times=3)) == 103
