from itertools import permutations
from math import factorial

import numpy as np
import sympy

import posenc


def _matrix(rows: int, columns: int, step: int, modulus: int) -> np.ndarray:
    return step * np.arange(rows * columns).reshape(rows, columns) % modulus - modulus // 2


EMBEDDINGS, TO_QUERY, TO_KEY = _matrix(3, 4, 2, 7), _matrix(4, 4, 9, 11), _matrix(4, 4, 4, 11)


def _weights(rows: np.ndarray) -> np.ndarray:
    return posenc.attention_weights(rows @ TO_QUERY / 5, rows @ TO_KEY / 5)


def scores_move_along() -> str:
    """S(PX) = P S(X) P^T in integers for every order of four rows; S(PX) = S(X) for only one."""
    rows = _matrix(4, 4, 3, 13)

    def scores(x: np.ndarray) -> np.ndarray:
        return (x @ TO_QUERY) @ (x @ TO_KEY).T

    orders = [np.eye(4, dtype=int)[list(order)] for order in permutations(range(4))]
    for order in orders:
        assert (scores(order @ rows) == order @ scores(rows) @ order.T).all()
    assert sum((scores(order @ rows) == scores(rows)).all() for order in orders) == 1
    return f"all {len(orders)} orders"


def outputs_move_along() -> None:
    """SymPy: O(PX) = P O(X) for three rows with any symbols for e^score and for the values."""
    size = 3
    e = sympy.Matrix(size, size, lambda i, j: sympy.Symbol(f"e{i}{j}"))
    v = sympy.Matrix(size, 1, lambda i, _: sympy.Symbol(f"v{i}"))

    def mean(powers: sympy.Matrix, values: sympy.Matrix) -> sympy.Matrix:
        sums = powers * sympy.ones(size, 1)
        return (powers * values).multiply_elementwise(sums.applyfunc(lambda x: 1 / x))

    for order in permutations(range(size)):
        p = sympy.eye(size).extract(list(order), list(range(size)))
        moved = mean(p * e * p.T, p * v) - p * mean(e, v)
        assert moved.applyfunc(sympy.cancel) == sympy.zeros(size, 1)


def not_invariant() -> str:
    """Weights of both sentences are the same numbers, in different places except the middle one."""
    first, other = _weights(EMBEDDINGS / 2), _weights(EMBEDDINGS[::-1] / 2)
    assert sorted(first.ravel()) == sorted(other.ravel())
    assert (first[::-1, ::-1] == other).all()
    return f"{(first != other).sum()} of {first.size} entries"


def running_means() -> tuple[str, ...]:
    """Two causal layers of plain means, as fractions; one layer's last row weights all equally."""
    means = sympy.Matrix(3, 3, lambda i, j: sympy.Rational(1 if j <= i else 0, i + 1))
    assert set(means[2, :]) == {sympy.Rational(1, 3)}
    twice = list((means * means)[2, :])
    assert twice == [sympy.Rational(number, 18) for number in (11, 5, 2)]
    flat = np.zeros((3, 2))
    attended = posenc.attention(flat, flat, np.eye(3), mask="causal")
    assert np.allclose(attended @ attended, np.array((means * means).tolist(), dtype=float))
    return tuple(rf"\tfrac{{{weight * 18}}}{{18}}" for weight in twice)


def counting() -> str:
    """Equal rows stay equal through five layers; with a first row of 1 the mean is 1/n."""
    rows: np.ndarray = np.repeat(EMBEDDINGS[:1] / 2, 6, axis=0)
    for _ in range(5):
        rows = posenc.attention(rows @ TO_QUERY / 5, rows @ TO_KEY / 5, rows, mask="causal")
        assert (np.abs(rows - rows[0]) < 1e-15).all()
    flat, first = np.zeros((9, 2)), np.eye(9)[:, :1]
    means = posenc.attention(flat, flat, first, mask="causal")[:, 0]
    assert all(mean == 1 / n for n, mean in enumerate(means, 1))
    return "1/n"


def cost() -> tuple[str, ...]:
    """Counts at n = 4096 and d = 512, and their ratio 4d."""
    n, d = 4096, 512
    table, scores, projections = n * d, n * n * d, 4 * n * d * d
    assert projections == 4 * d * table
    return f"{table:,} additions", f"{scores:,}", f"{projections:,}"


def sixty_sentences() -> str:
    """All orders of five words give the same mean of outputs; omitting a word gives another."""
    the, dog, saw, man = _matrix(4, 4, 2, 7) / 2
    rows = np.array([the, dog, saw, the, man])

    def mean(x: np.ndarray) -> np.ndarray:
        return posenc.attention(x @ TO_QUERY / 5, x @ TO_KEY / 5, x).mean(axis=0)

    sentences = {rows[list(order)].tobytes(): list(order) for order in permutations(range(5))}
    assert len(sentences) == factorial(5) // factorial(2)
    for order in list(sentences.values()):
        assert np.abs(mean(rows[order]) - mean(rows)).max() < 1e-15
    assert np.abs(mean(rows[1:]) - mean(rows)).max() > 0.01
    return f"= {len(sentences)}"


def class_token() -> None:
    """The first output row is the same for all orders of the other rows, which move with them."""
    rows = _matrix(4, 4, 3, 13) / 4

    def output(x: np.ndarray) -> np.ndarray:
        return posenc.attention(x @ TO_QUERY / 5, x @ TO_KEY / 5, x)

    for order in permutations(range(1, 4)):
        moved = output(rows[[0, *order]])
        assert np.abs(moved[0] - output(rows)[0]).max() < 1e-15
        assert np.abs(moved - output(rows)[[0, *order]]).max() < 1e-15
