"""``check`` of a call that returns queries and keys: two arrays, or one."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest

from posenc_conformance import check
from posenc_conformance.testing.signatures import find_signature
from posenc_lab.judging import schemes

Q = np.random.default_rng(7).standard_normal((2, 4, 9, 64)).astype(np.float32)
K = np.random.default_rng(8).standard_normal((2, 2, 9, 64)).astype(np.float32)
PLACES = np.arange(9)


def turned(x: Any) -> Any:
    """Return rows turned in halves, as people write it."""
    first, second = np.split(x.astype(np.float64), 2, axis=-1)
    angles = np.multiply.outer(PLACES, 10_000.0 ** -(np.arange(0, 64, 2) / 64))
    c, s = np.cos(angles), np.sin(angles)
    return np.concatenate([first * c - second * s, second * c + first * s], -1).astype(x.dtype)


class Named(NamedTuple):
    query: Any
    key: Any


@dataclass
class Held:
    q: Any
    k: Any
    cache: Any = None


def both(result: Any, **changed: Any) -> Any:
    arguments = {"q": Q[0], "k": K[0], "positions": PLACES, "base": 10_000.0, "layout": "half"}
    return check(result, "rope_query_key", **{**arguments, **changed})


FORMS = {
    "a tuple": lambda q, k: (q, k),
    "a list": lambda q, k: [q, k],
    "a tuple with a cache": lambda q, k: (q, k, None),
    "names": lambda q, k: {"key": k, "query": q},
    "a named tuple": Named,
    "a dataclass": Held,
    "one array": lambda q, k: np.concatenate([q, k]),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_two_results_are_judged_as_one(form: Any) -> None:
    q, k = Q[0], K[0]
    assert both(form(turned(q), turned(k))).compared == q.size + k.size
    with pytest.raises(AssertionError, match="keys-unrotated"):
        both(form(turned(q), k))


@pytest.mark.parametrize("shape", [None, "bshd"])
def test_each_sequence_of_a_batch_is_judged(shape: str | None) -> None:
    def of(x: Any) -> Any:
        return x if shape is None else x.swapaxes(1, 2)

    given = {"q": of(Q), "k": of(K), "shape": shape}
    assert both((of(turned(Q)), of(turned(K))), **given).compared == Q.size + K.size
    for sequence in range(2):
        wrong = turned(K)
        wrong[sequence] = K[sequence]
        with pytest.raises(AssertionError, match=rf"keys-unrotated[\s\S]*sequence   {sequence}, "):
            both((of(turned(Q)), of(wrong)), **given)


def test_results_that_do_not_fit_each_other_are_one_message() -> None:
    q, k = turned(Q[0]), turned(K[0])
    for keys in (k[:, :3], k.astype(ml_dtypes.bfloat16)):
        with pytest.raises(AssertionError, match=r"returned float32 of shape .* and .*; expected"):
            both((q, keys))


def test_every_call_of_queries_and_keys_takes_two_results() -> None:
    calls = [call for scheme in schemes() for call in scheme.calls.values()]
    joined = {call.name for call in calls if find_signature(call.name).has_both}
    assert joined == {call.name for call in calls if "then those of k" in call.returns}
    assert "rope_query_key" in joined


@pytest.mark.parametrize("result", [(turned(Q[0]), turned(K[0])), {"q": turned(Q[0]), "k": K}])
def test_several_results_for_a_call_of_one_say_what_to_write(result: Any) -> None:
    given = {"x": Q[0], "positions": PLACES, "base": 10_000.0, "layout": "half"}
    assert check(turned(Q[0]), "rope", **given).worst <= 1
    with pytest.raises(AssertionError, match=r"write +check\(x, 'rope', .*'rope_query_key'"):
        check(result, "rope", **given)
