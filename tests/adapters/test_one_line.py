"""One-line adapters for functions and modules of the usual forms."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from posenc_conformance import adapters
from posenc_conformance.adapters.find import made_of
from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.errors import UserError
from posenc_lab.judging import Verdict, diagnoses, failed, judge, schemes

Array = Any


def angles_of(positions: Array, dim: int, base: float) -> Array:
    return np.multiply.outer(positions, base ** (-np.arange(0, dim, 2) / dim))


def turned(x: Array, angles: Array) -> Array:
    a, b = np.split(x.astype(np.float64), 2, axis=-1)
    c, s = np.cos(angles), np.sin(angles)
    return np.concatenate([a * c - b * s, a * s + b * c], -1).astype(x.dtype)


def apply_rope(x: Array, positions: Array, theta: float = 10000.0) -> Array:
    """Take [batch, seq, heads, dim] and [batch, seq], as vision code does."""
    assert x.ndim == 4
    assert positions.shape == (1, x.shape[1])
    return turned(x, angles_of(positions, x.shape[-1], theta)[:, :, None])


def tables(positions: Array, dim: int, base: float = 10000.0) -> tuple[Array, Array]:
    angles = np.tile(angles_of(positions, dim, base), 2)
    return np.cos(angles), np.sin(angles)


def rotate_half(x: Array) -> Array:
    a, b = np.split(x, 2, axis=-1)
    return np.concatenate([-b, a], -1)


def apply_tables(q: Array, k: Array, cos: Array, sin: Array) -> tuple[Array, Array]:
    """Take [batch, heads, seq, dim] and tables, as Llama in transformers does."""
    assert q.ndim == k.ndim == 4
    first, second = ((x * cos + rotate_half(x) * sin).astype(x.dtype) for x in (q, k))
    return first, second


def apply_wrong_keys(q: Array, k: Array, cos: Array, sin: Array) -> tuple[Array, Array]:
    return apply_tables(q, k, cos, sin)[0], apply_tables(q, k, cos, -sin)[1]


class Rope:
    """A module that is built once and called with the offset of the cache."""

    def __init__(self, dim: int, base: float = 10000.0) -> None:
        self.dim, self.base = dim, base

    def __call__(self, x: Array, offset: int = 0) -> Array:
        assert x.ndim == 3
        positions = np.arange(offset, offset + x.shape[1])
        return turned(x, angles_of(positions, self.dim, self.base))


class Restarts(Rope):
    """A rotary module that ignores the cache: the best-known mistake of all."""

    def __call__(self, x: Array, offset: int = 0) -> Array:
        return super().__call__(x)


class OfBoth(Rope):
    """A module that rotates queries and keys, as attention calls it."""

    def __call__(self, q: Array, k: Array, offset: int = 0) -> Any:  # type: ignore[override]
        return self.queries(q, offset), self.keys(k, offset)

    def queries(self, q: Array, offset: int) -> Array:
        return super().__call__(q, offset)

    def keys(self, k: Array, offset: int) -> Array:
        return super().__call__(k, offset)


class KeysRestart(OfBoth):
    """A module that rotates keys from position 0 on."""

    def keys(self, k: Array, offset: int) -> Array:
        return super().keys(k, 0)


def apply_both(q: Array, k: Array, positions: Array, base: float = 10000.0) -> dict[str, Array]:
    """Take [seq, heads, dim], and return a dict."""
    angles = angles_of(positions, q.shape[-1], base)[:, None]
    return {"key": turned(k, angles), "query": turned(q, angles)}


def apply_to_queries(q: Array, k: Array, positions: Array, base: float = 10000.0) -> list[Array]:
    return [apply_both(q, k, positions, base)["query"], k]


def sinusoid(length: int, dim: int) -> Array:
    angles = angles_of(np.arange(length), dim, 10000.0)
    table = np.stack([np.sin(angles), np.cos(angles)], -1).reshape(length, dim)
    return table.astype(np.float32)


def alibi(heads: int, length: int) -> Array:
    slopes = 2.0 ** (-8 * np.arange(1, heads + 1) / heads)
    return (slopes[:, None, None] * np.arange(length)).astype(np.float32)[None]


def causal(length: int) -> Array:
    return np.where(np.tri(length, dtype=bool), 0.0, -np.inf)[None, None]


def windowed(q_len: int, k_len: int, window: int) -> Array:
    distance = np.arange(k_len) - np.arange(k_len - q_len, k_len)[:, None]
    return (distance <= 0) & (distance > -window)


def powers(heads: int) -> bool:
    return heads & (heads - 1) == 0


RIGHT: dict[str, Callable[[], object]] = {
    "x and positions": lambda: adapters.rope(
        apply_rope, layout="half", shape="bshd", positions="bs", names={"base": "theta"}
    ),
    "cos and sin": lambda: adapters.rope_by_tables(apply_tables, tables, layout="half"),
    "module with offset": lambda: adapters.module(
        Rope, layout="half", offset="offset", shape="hsd", arrays="numpy"
    ),
    "module of whole sequences": lambda: adapters.module(
        Rope, layout="half", offset=None, shape="hsd", arrays="numpy"
    ),
    "module of queries and keys": lambda: adapters.module(
        OfBoth, layout="half", offset="offset", shape="hsd", keys=True, arrays="numpy"
    ),
    "queries, keys and positions": lambda: adapters.rope(
        apply_both, layout="half", shape="shd", keys=True
    ),
    "table": lambda: adapters.table(sinusoid, base=10000.0, when=lambda dim: dim % 2 == 0),
    "bias": lambda: adapters.bias(
        alibi,
        square=True,
        form="first-key",
        when=lambda heads, q_len, k_len: powers(heads) and q_len == k_len,
    ),
    "additive mask": lambda: adapters.mask(causal, square=True, additive=True),
    "mask with more arguments": lambda: adapters.mask(windowed, call="sliding_window"),
}


def judged(adapter: object) -> list[Verdict]:
    claimed = subjects(adapter, schemes())
    homes = {entry.scheme.id for entry in claimed}
    return judge(adapter, examples=1, among=[entry for entry in schemes() if entry.id in homes])


@pytest.mark.slow
@pytest.mark.parametrize("make", RIGHT.values(), ids=RIGHT)
def test_right_code_of_every_form_passes(make: Callable[[], object]) -> None:
    verdicts = judged(make())
    assert len(verdicts) > 10
    assert not [verdict.text for verdict in failed(verdicts)]


@pytest.mark.slow
def test_positions_that_restart_are_found() -> None:
    restarts = adapters.module(
        Restarts, layout="half", offset="offset", shape="hsd", arrays="numpy"
    )
    assert failed(judged(restarts))


WRONG_KEYS: dict[str, Callable[[], object]] = {
    "tables": lambda: adapters.rope_by_tables(apply_wrong_keys, tables, layout="half"),
    "module": lambda: adapters.module(
        KeysRestart, layout="half", offset="offset", shape="hsd", keys=True, arrays="numpy"
    ),
    "function": lambda: adapters.rope(apply_to_queries, layout="half", shape="shd", keys=True),
}


@pytest.mark.slow
@pytest.mark.parametrize("make", WRONG_KEYS.values(), ids=WRONG_KEYS)
def test_keys_are_judged_like_queries(make: Callable[[], object]) -> None:
    wrong = make()
    failures = failed(judged(wrong))
    assert {verdict.check.subject.name for verdict in failures} == {"rope_query_key"}


@pytest.mark.slow
def test_the_claimed_layout_is_judged() -> None:
    wrong = adapters.rope(
        apply_rope, layout="interleaved", shape="bshd", positions="bs", names={"base": "theta"}
    )
    assert diagnoses(judged(wrong))[:1] == ["layout-swapped"]


def test_a_parameter_that_the_function_lacks_must_be_claimed() -> None:
    with pytest.raises(UserError, match="base"):
        subjects(adapters.rope(turned, layout="half"), schemes())


def test_keys_are_judged_of_rope_alone() -> None:
    with pytest.raises(UserError, match="keys"):
        adapters.rope(apply_both, layout="half", call="llama3", keys=True)


def test_an_adapter_is_named_after_its_function_or_class() -> None:
    assert made_of(RIGHT["x and positions"]()).name == "apply_rope"
    assert made_of(RIGHT["module with offset"]()).name == "Rope"


@pytest.mark.parametrize(
    ("given", "said"),
    [({"shape": "bhnd"}, "shape"), ({"positions": "n"}, "positions"), ({"arrays": "tf"}, "arrays")],
)
def test_unknown_options_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        (rope,) = vars(adapters.rope(apply_rope, layout="half", **given)).values()
        rope(np.zeros((2, 3, 4)), np.arange(3), base=10.0)
