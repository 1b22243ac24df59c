import numpy as np

import posenc


def _logits(table: np.ndarray, n: int = 12) -> np.ndarray:
    return posenc.clipped_bias(table, n, n)


def parameters() -> str:
    """Numbers in both tables for 8 heads."""
    return f"{(2 * 128 + 1) * 8:,} against {32 * 8}"


def rotated_table() -> None:
    """NumPy's look-up with unshifted indices is the look-up in a rotated table."""
    for k in range(1, 6):
        table = np.arange(2.0 * k + 1)
        offsets = np.clip(np.subtract.outer(np.arange(12), np.arange(12)).T, -k, k)
        unshifted = table[offsets]
        rotated = np.concatenate([table[k + 1 :], table[: k + 1]])
        assert np.array_equal(unshifted, _logits(rotated[:, None])[0])
        assert not np.array_equal(unshifted, _logits(table[:, None])[0])


def constant_table() -> None:
    """A constant table changes nothing in attention, nor does a constant added to a table."""
    generator = np.random.default_rng(2)
    q, k, v = (generator.standard_normal((1, 12, 3)) for _ in range(3))
    table = generator.standard_normal((7, 1))

    def output(bias: np.ndarray) -> np.ndarray:
        return posenc.attention_with_bias(q, k, v, bias)

    plain = posenc.attention(q, k, v)
    assert np.allclose(output(_logits(np.full((7, 1), 2.5))), plain, rtol=1e-13)
    assert np.allclose(output(_logits(table)), output(_logits(table + 2.5)), rtol=1e-12)
    assert not np.allclose(output(_logits(table)), plain)


def far_is_far() -> None:
    """The bias at distances k and 1000k, for the last query of a long text."""
    table = np.random.default_rng(4).standard_normal((7, 2))
    row = posenc.clipped_bias(table, 1, 3001)[:, 0]
    assert np.array_equal(row[:, 3000 - 3], row[:, 0])


def other_sign() -> None:
    """The reversed table gives the transposed bias, and the bias of the reversed text."""
    table = np.random.default_rng(5).standard_normal((7, 2))
    bias, reversed_rows = _logits(table), _logits(table[::-1])
    assert np.array_equal(reversed_rows, np.swapaxes(bias, 1, 2))
    assert np.array_equal(reversed_rows, bias[:, ::-1, ::-1])


def entries_per_row() -> tuple[str, str]:
    """The number of entries of each row."""
    rows = posenc.clipped_bias(np.arange(257.0)[:, None], 512, 512)[0]
    first, middle, last = ((rows == row).sum() for row in (0, 128, 256))
    assert first == last
    return f"{middle} entries", f"= {first}\\)"
