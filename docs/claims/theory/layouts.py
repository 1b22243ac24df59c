import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import posenc

Array = npt.NDArray[np.floating]
PAGE = Path(__file__).parents[2] / "theory" / "layouts.md"


def _converter() -> dict[str, Any]:
    """Run the code that the page shows, and return its functions by name."""
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.S)
    namespace: dict[str, Any] = {}
    exec(compile(blocks[0], str(PAGE), "exec"), namespace)
    return namespace


def _rotated(rows: Array, heads: int, layout: str, rotary_dim: int | None = None) -> Array:
    """Rotate the rows of a projection's output, split into heads, to position 7."""
    x = rows.reshape(heads, 1, -1)
    return np.asarray(posenc.rope(x, [7], layout=layout, rotary_dim=rotary_dim))


def other_scores() -> None:
    """Scores of the same queries and keys under both layouts: equal only on the diagonal."""
    queries, keys = np.random.default_rng(1).standard_normal((2, 9, 16))
    interleaved, half = (
        posenc.rope(queries, np.arange(9), layout=layout)
        @ posenc.rope(keys, np.arange(9), layout=layout).T
        for layout in ("interleaved", "half")
    )
    assert np.array_equal(np.abs(interleaved - half) < 1e-12, np.eye(9, dtype=bool))


def biases() -> None:
    """With a converted bias, rotated queries are the old ones permuted; without, they differ."""
    to_half = _converter()["to_half"]
    random = np.random.default_rng(1)
    weight, bias, x = random.standard_normal((16, 4)), random.standard_normal(16), np.ones(4)
    expected = to_half(_rotated(weight @ x + bias, 2, "interleaved").reshape(16), 2)
    got = _rotated(to_half(weight, 2) @ x + to_half(bias, 2), 2, "half").reshape(16)
    assert np.allclose(got, expected, atol=1e-12)
    left = _rotated(to_half(weight, 2) @ x + bias, 2, "half").reshape(16)
    assert np.abs(left - expected).max() > 0.1


def norms() -> None:
    """Queries normalised per head and weighted: the weight must be permuted like the rows."""
    to_half = _converter()["to_half"]
    random = np.random.default_rng(2)
    rows, gain = random.standard_normal(8), random.standard_normal(8)

    def normed(values: Array, weight: Array) -> Array:
        return np.asarray(weight * values / np.sqrt(np.mean(values**2)))

    expected = to_half(_rotated(normed(rows, gain), 1, "interleaved").reshape(8), 1)
    moved = _rotated(normed(to_half(rows, 1), to_half(gain, 1)), 1, "half").reshape(8)
    assert np.allclose(moved, expected, atol=1e-12)
    unpermuted = _rotated(normed(to_half(rows, 1), gain), 1, "half").reshape(8)
    assert np.abs(unpermuted - expected).max() > 0.1


def partial() -> None:
    """With 4 of 8 channels rotated, moving the first 4 keeps the scores; moving all does not."""
    to_half = _converter()["to_half"]
    q, k = np.random.default_rng(3).standard_normal((2, 8))

    def score(q: Array, k: Array, layout: str) -> float:
        first = posenc.rope(q[None], [7], layout=layout, rotary_dim=4)
        return float(first[0] @ posenc.rope(k[None], [3], layout=layout, rotary_dim=4)[0])

    right = score(q, k, "interleaved")
    assert np.isclose(score(to_half(q, 1, 4), to_half(k, 1, 4), "half"), right)
    assert np.array_equal(to_half(q, 1, 4)[4:], q[4:])
    assert not np.isclose(score(to_half(q, 1), to_half(k, 1), "half"), right)


def seven_times() -> str:
    """The number of conversions after which the rows of a head of 128 are in order again."""
    to_half = _converter()["to_half"]
    first = np.arange(128)
    rows, times = to_half(first, 1), 1
    while not np.array_equal(rows, first):
        rows, times = to_half(rows, 1), times + 1
    assert times == 7
    return "seven conversions"


def wrong_heads() -> None:
    """32 rows taken for 2 heads instead of 4: no error, and rows of one head end in another."""
    to_half = _converter()["to_half"]
    right, wrong = to_half(np.arange(32), 4), to_half(np.arange(32), 2)
    assert all(set(right[8 * h : 8 * h + 8]) == set(range(8 * h, 8 * h + 8)) for h in range(4))
    assert not set(wrong[:8]) <= set(range(8))


def adapters() -> None:
    """For W + B A, permuting the rows of W and of B permutes those of the sum."""
    to_half = _converter()["to_half"]
    random = np.random.default_rng(4)
    weight, b, a = (random.standard_normal(shape) for shape in ((16, 6), (16, 2), (2, 6)))
    assert np.allclose(to_half(weight + b @ a, 2), to_half(weight, 2) + to_half(b, 2) @ a)
