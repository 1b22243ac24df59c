import calendar
import re
from pathlib import Path

import numpy as np
import sympy

import posenc
from posenc_conformance.models.file import load_all
from references import references

PAGE = Path(__file__).parents[2] / "theory" / "history.md"
ROW = re.compile(r"^\| ([A-Z][a-z]+) (\d{4}) \|.*?\[@([a-z]+\d{4})[^\]]*\]", re.M)


def dates() -> str:
    """Year and month of every row agree with the arXiv number of the paper that it cites."""
    rows = ROW.findall(PAGE.read_text(encoding="utf-8"))
    assert len(rows) > 15
    for month, year, key in rows:
        number = references()[key].arxiv
        assert number is not None, key
        expected = f"{int(year) % 100:02d}{list(calendar.month_name).index(month):02d}"
        assert number.startswith(expected), f"{key} is {number}, not of {month} {year}"
    return f"arXiv {references()['vaswani2017'].arxiv} is of June 2017"


def table_size() -> str:
    """Rows times channels."""
    return f"{512 * 768:,}"


def skew() -> str:
    """Products with vectors of distances, shifted into place, against a vector per pair."""
    random = np.random.default_rng(2)
    n, d = 7, 4
    q, vectors = random.normal(size=(n, d)), random.normal(size=(n, d))  # distance n-1 … 0
    right = np.array([[q[i] @ vectors[n - 1 - (i - j)] for j in range(i + 1)] + [0.0] * (n - 1 - i)
                       for i in range(n)])  # fmt: skip
    products = q @ vectors.T
    shifted = np.pad(products, ((0, 0), (1, 0))).reshape(n + 1, n)[1:]
    assert np.allclose(np.tril(shifted), right)
    return f"{2048**2 * 64:,}"


def skew_index() -> None:
    """SymPy: the place in memory of column c of row i, before and after the shift."""
    n, i, c = sympy.symbols("n i c", integer=True)
    place = i * (n + 1) + c + 1 - n
    column = c - (n - 1 - i)
    assert sympy.expand(place - (i * n + column)) == 0
    assert sympy.expand((i - column) - (n - 1 - c)) == 0


def t5_size() -> tuple[str, str, str]:
    """Buckets times heads, for a stack of T5 base, and a table of 512 rows of 768 channels."""
    return f"{32} buckets", f"{32 * 12} numbers", f"{512 * 768:,}"


def relative_by_rotation() -> None:
    """Scores of rotated queries and keys before and after all positions move by the same amount."""
    random = np.random.default_rng(4)
    q, k = random.normal(size=(2, 6, 16))
    near, moved = (
        posenc.rope(q, np.arange(s, s + 6)) @ posenc.rope(k, np.arange(s, s + 6)).T
        for s in (0, 1000)
    )
    assert np.allclose(near, moved, atol=1e-12)


def fastest_and_slowest() -> None:
    """Frequencies of each scheme, divided by those of RoPE; LongRoPE's factors in models."""
    plain = 10000.0 ** -(np.arange(64) / 64)
    interpolated = posenc.position_interpolation_frequencies(128, factor=4.0) / plain
    aware = posenc.ntk_aware_frequencies(128, factor=4.0) / plain
    assert np.allclose(interpolated, 1 / 4, rtol=1e-14)
    assert aware[0] == 1
    assert np.isclose(aware[-1], 1 / 4, rtol=1e-14)
    later = [
        posenc.yarn_frequencies(128, factor=4.0, original_max_position_embeddings=4096),
        posenc.llama3_frequencies(
            128, base=1e4, factor=4.0, low_freq_factor=1.0, high_freq_factor=4.0,
            original_max_position_embeddings=4096,
        ),
    ]  # fmt: skip
    for frequencies in later:
        share = frequencies / plain
        assert share[0] == 1
        assert np.isclose(share[-1], 1 / 4)
        assert ((share >= 1 / 4 - 1e-12) & (share <= 1 + 1e-12)).all()
    longrope = [
        group.parameters
        for model in load_all()
        for group in model.meaning.groups
        if group.scheme == "longrope"
    ]
    assert any(np.max(given["long_factors"]) > given["factor"] for given in longrope)


def same_frequencies() -> None:
    """Scores of rotated vectors of ones are twice the dot products of sinusoidal rows."""
    positions = np.arange(50)
    turned = posenc.rope(np.ones((50, 32)), positions)
    rows = posenc.sinusoidal(positions, 32)
    assert np.allclose(turned @ turned.T, 2 * rows @ rows.T, atol=1e-12)


def told_apart() -> None:
    """Scores of equal queries and keys with each of the four, along diagonals and by distance."""
    n = 40
    ones = np.ones((n, 16))
    rope = posenc.rope(ones, np.arange(n)) @ posenc.rope(ones, np.arange(n)).T
    alibi = posenc.alibi_bias(8, n, n, form="symmetric")[0]
    table = np.random.default_rng(0).normal(size=(32, 1))
    t5 = posenc.t5_bias(table, n, n)[0]
    learned = np.random.default_rng(1).normal(size=(n, 16))
    absolute = (ones + learned) @ (ones + learned).T

    def toeplitz(scores: np.ndarray) -> bool:
        return all(np.ptp(np.diag(scores, k)) < 1e-9 for k in range(1 - n, n))

    assert [toeplitz(matrix) for matrix in (absolute, t5, alibi, rope)] == [False, True, True, True]
    assert np.allclose(np.diff(alibi[-1][::-1], 2), 0)
    steps = np.flatnonzero(np.diff(t5[-1][::-1])) + 1
    assert (np.diff(steps, 2) >= 0).all()
    assert np.diff(steps)[-1] > np.diff(steps)[0]
    assert np.allclose(rope, rope.T)
    assert not np.allclose(np.diff(rope[-1][::-1], 2), 0)


def most_rotate() -> None:
    """More than half of the models of the site have layers with a rotary embedding."""
    models = load_all()
    rotating = [m for m in models if any(group.turns for group in m.meaning.groups)]
    assert len(rotating) > len(models) / 2
