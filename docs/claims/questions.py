import numpy as np

import posenc


def equivariant() -> None:
    """Attention without a mask on 5 permuted rows gives the permuted outputs."""
    random = np.random.default_rng(0)
    q, k, v = random.standard_normal((3, 1, 5, 4))
    order = [3, 0, 4, 1, 2]
    plain = posenc.attention(q, k, v, mask="none")
    mixed = posenc.attention(q[:, order], k[:, order], v[:, order], mask="none")
    assert np.allclose(mixed, plain[:, order], atol=1e-12)


def adding() -> None:
    """(x + p) W is (x, p) times two copies of W, one above the other."""
    random = np.random.default_rng(1)
    x, p = random.standard_normal((2, 6))
    weight = random.standard_normal((6, 3))
    twice = np.concatenate([weight, weight])
    assert np.allclose((x + p) @ weight, np.concatenate([x, p]) @ twice)


def wavelengths() -> tuple[str, str]:
    """2 pi divided by the first and by the last angle of posenc's row at position 1."""
    row = posenc.sinusoidal([1], 512)[0]
    angles = np.arctan2(row[0::2], row[1::2])
    fast, slow = 2 * np.pi / angles[0], 2 * np.pi / angles[-1]
    return f"about {fast:.0f} positions", f"{slow:,.0f}."


def distance() -> None:
    """Dot products of rows 0 to 200 of 64 channels are the same along each diagonal."""
    rows = posenc.sinusoidal(np.arange(200), 64)
    products = rows @ rows.T
    assert np.allclose(products[1:, 1:], products[:-1, :-1], atol=1e-10)


def sine_alone() -> None:
    """The quotients of sin(p + 1) and sin(p) differ from one position to the next."""
    sines = posenc.sinusoidal(np.arange(1, 5), 2)[:, 0]
    quotients = sines[1:] / sines[:-1]
    assert np.ptp(quotients) > 1
