from typing import Any

import ml_dtypes
import numpy as np
import sympy

import posenc

Array = np.ndarray[Any, Any]
RANDOM = np.random.default_rng(12)
HEADS, N, KEYS, DIM, WAVES = 2, 4, 7, 4, 6


def _drawn(*shape: int) -> Array:
    return RANDOM.standard_normal(shape)


def _given(queries: int = N) -> list[Array]:
    shapes = ((queries, DIM), (KEYS, DIM), (WAVES, DIM), (DIM,), (DIM,))
    return [_drawn(HEADS, *shape) for shape in shapes]


def first_row() -> None:
    """Distances and source rows of the first row after the reshaping trick."""
    x = 10 * np.arange(3)[:, None] + np.arange(4, -1, -1) + 100
    moved = np.pad(x, ((0, 0), (1, 0))).reshape(6, 3)[1:].reshape(3, 5)
    assert moved[0].tolist() == [102, 101, 100, 0, 114]
    assert posenc.relative_shift(x.astype(float))[0, :3].tolist() == [102, 101, 100]


def moved_biases() -> None:
    """A vector added to the queries cancels if subtracted from both biases, not from only one."""
    q, k, w, u, v = _given()
    c = _drawn(HEADS, 1, DIM)
    logits = posenc.transformer_xl_scores(q, k, w, u, v)
    moved = posenc.transformer_xl_scores(q + c, k, w, u - c[:, 0], v - c[:, 0])
    seen = np.isfinite(logits)
    assert np.allclose(moved[seen], logits[seen], atol=1e-12)
    for biases in ((u - c[:, 0], v), (u, v - c[:, 0])):
        wrong = posenc.transformer_xl_scores(q + c, k, w, *biases)
        assert not np.allclose(wrong[seen], logits[seen], atol=1e-3)


def no_start() -> None:
    """Removing the first key leaves the other logits; logits of equal tokens are Toeplitz."""
    q, k, w, u, v = _given()
    logits = posenc.transformer_xl_scores(q, k, w, u, v)
    assert np.array_equal(posenc.transformer_xl_scores(q, k[:, 1:], w, u, v), logits[..., 1:])
    q, k = (np.repeat(rows[:, :1], 6, axis=1) for rows in (q, k))
    equal = posenc.transformer_xl_scores(q, k, w, u, v, direction="two-sided")
    assert np.array_equal(equal[:, 1:, 1:], equal[:, :-1, :-1])


def recurrence() -> None:
    """SymPy reduces the difference of both sides to zero."""
    alpha, beta, w, x = sympy.symbols("alpha beta w x", real=True)

    def term(at: sympy.Expr) -> sympy.Expr:
        return alpha * sympy.sin(w * at) + beta * sympy.cos(w * at)

    zero = term(x + 1) + term(x - 1) - 2 * sympy.cos(w) * term(x)
    assert sympy.simplify(sympy.expand_trig(zero)) == 0


def read_backwards() -> None:
    """Logits of a reversed text are those with the rows of sines negated, reversed."""
    q, k, w, u, v = _given(KEYS)
    negated = w * np.repeat([-1, 1], WAVES // 2)[:, None]
    backwards = posenc.transformer_xl_scores(q[:, ::-1], k[:, ::-1], w, u, v, direction="two-sided")
    forwards = posenc.transformer_xl_scores(q, k, negated, u, v, direction="two-sided")
    assert np.allclose(backwards[:, ::-1, ::-1], forwards, atol=1e-12)


def narrow_distances() -> tuple[str, str]:
    """The last integer before the first one that each dtype cannot represent."""
    whole = np.arange(5000)

    def last(dtype: Any) -> int:
        return int(np.argmax(whole.astype(dtype).astype(int) != whole)) - 1

    return f"beyond {last(ml_dtypes.bfloat16)} fall", f"beyond {last(np.float16):,}"


def which_term() -> None:
    """Each term alone, from the logits with everything else zero."""
    q, k, w, u, v = _given(KEYS)
    none_q, none_k, none = 0 * q, 0 * k, 0 * u

    def term(*given: Array) -> Array:
        return posenc.transformer_xl_scores(*given, direction="two-sided")

    a, b = term(q, k, 0 * w, none, none), term(q, none_k, w, none, none)
    c, d = term(none_q, k, 0 * w, u, none), term(none_q, none_k, w, none, v)
    assert np.array_equal(d[:, 1:, 1:], d[:, :-1, :-1])
    assert np.array_equal(c, np.repeat(c[:, :1], KEYS, axis=1))
    for other in (a, b):
        assert not np.allclose(other[:, 1:, 1:], other[:, :-1, :-1])
        assert not np.allclose(other[:, 1:], other[:, :-1])
    assert np.allclose(a + b + c + d, term(q, k, w, u, v), atol=1e-12)
