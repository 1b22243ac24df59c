from typing import Any

import ml_dtypes
import numpy as np

import posenc

Array = np.ndarray[Any, Any]
RANDOM = np.random.default_rng(17)
N, DIM = 7, 4
ORDER = [3, 0, 5, 1, 4, 2, 6]


def _weights() -> list[Array]:
    return [RANDOM.standard_normal((DIM, DIM)) for _ in range(3)]


def _text() -> Array:
    return RANDOM.standard_normal((N, DIM))


def no_future() -> None:
    """Rows before a changed row stay bitwise equal."""
    x, weights = _text(), _weights()
    out = posenc.nope_layer(x, *weights)
    for row in range(N):
        changed = x.copy()
        changed[row] += 1
        got = posenc.nope_layer(changed, *weights)
        assert np.array_equal(got[:row], out[:row])
        assert not np.array_equal(got[row], out[row])


def bag_of_words() -> None:
    """The last row stays if the rows before it are permuted; those rows change."""
    x, weights = _text(), _weights()
    out, permuted = posenc.nope_layer(x, *weights), posenc.nope_layer(x[ORDER], *weights)
    assert np.allclose(permuted[-1], out[-1], rtol=1e-13)
    assert not np.allclose(permuted[:-1], out[ORDER][:-1], atol=1e-3)


def two_layers() -> None:
    """The last row of a second layer changes, for random inputs."""
    x, weights = _text(), _weights()
    twice = [posenc.nope_layer(posenc.nope_layer(t, *weights), *weights) for t in (x, x[ORDER])]
    assert not np.allclose(twice[0][-1], twice[1][-1], atol=1e-3)


def equal_tokens() -> None:
    """Equal rows give equal results, also after a second layer."""
    row, weights = RANDOM.standard_normal((1, DIM)), _weights()
    once = posenc.nope_layer(np.repeat(row, N, axis=0), *weights)
    assert np.allclose(once, row @ weights[2], rtol=1e-13)
    assert np.array_equal(once, np.repeat(once[:1], N, axis=0))
    assert len(np.unique(posenc.nope_layer(once, *weights), axis=0)) == 1


def one_over_position() -> None:
    """A first token with value 1, all others 0, and equal logits, for 200 positions."""
    x = np.zeros((200, 1))
    x[0] = 1
    nothing = np.zeros((1, 1))
    got = posenc.nope_layer(x, nothing, nothing, np.ones((1, 1)))[:, 0]
    assert np.array_equal(got, 1 / np.arange(1.0, 201))


def first_row() -> None:
    """The first row is its own value, for random inputs."""
    x, weights = _text(), _weights()
    assert np.allclose(posenc.nope_layer(x, *weights)[0], x[0] @ weights[2], rtol=1e-14)


def equal_neighbours() -> tuple[str, str]:
    """The first position whose value equals that of the next one."""

    def first(dtype: Any) -> int:
        for start in range(0, 2**24, 2**20):
            value = (1 / np.arange(start + 1.0, start + 2**20 + 2)).astype(dtype)
            equal = value[1:] == value[:-1]
            if equal.any():
                return start + int(np.argmax(equal))
        raise AssertionError("no neighbours are equal")

    half, single = first(ml_dtypes.bfloat16), first(np.float32)
    return (
        f"positions {half} and {half + 1} in bfloat16",
        f"{single:,} and its neighbour in float32",
    )
