import numpy as np

import posenc


def counted_through() -> None:
    """Scores within a packed sequence, with positions counted through or from its own start."""
    x = np.sin(np.arange(2 * 6 * 8).reshape(2, 6, 8))
    edges, starts = [0, 2, 6], [0, 0]
    right = posenc.rope_packed(x, edges, starts)
    through = posenc.rope_packed(x, [0, 6], [0])
    assert np.abs(right - through).max() > 0.1
    for first, last in ((0, 2), (2, 6)):
        own, shared = (pair[0, first:last] @ pair[1, first:last].T for pair in (right, through))
        assert np.allclose(own, shared)


def strides() -> None:
    """The places that a kernel reads if it assumes that rows of queries are contiguous."""
    heads, key_heads, width = 2, 1, 4
    qkv = np.arange(3 * (heads + 2 * key_heads) * width).reshape(3, -1)
    read = qkv.reshape(-1)[: 3 * heads * width].reshape(3, heads * width)
    assert np.array_equal(read[0], qkv[0, : heads * width])
    assert np.array_equal(read[1, : key_heads * width], qkv[0, heads * width :][:width])


def overwritten() -> None:
    """Determinant of a pair whose second channel is computed from the overwritten first one."""
    for angle in np.linspace(0.1, 3, 7):
        cos, sin = np.cos(angle), np.sin(angle)
        matrix = np.array([[cos, -sin], [sin * cos, cos - sin * sin]])
        assert np.isclose(np.linalg.det(matrix), cos * cos)
