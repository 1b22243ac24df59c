import math
from fractions import Fraction

import numpy as np

import posenc


def slowest_turning() -> tuple[str, ...]:
    """The slowest rotated pair, from posenc's frequencies of p-RoPE and from posenc.rope."""
    frequencies = posenc.p_rope_frequencies(64, proportion=0.25)
    assert int((frequencies > 0).sum()) == 8
    last = frequencies[frequencies > 0][-1]
    unit = np.zeros((1, 64))
    unit[0, 14] = 1
    turned = posenc.rope(unit, [1], rotary_dim=16)[0]
    partial = math.atan2(turned[15], turned[14])
    assert np.array_equal(posenc.rope(np.roll(unit, 2), [1], rotary_dim=16)[0], np.roll(unit, 2)[0])
    return f"in {2 * math.pi / last:.0f} positions", f"in {2 * math.pi / partial:,.0f} under"


def cut() -> tuple[str, ...]:
    """The product in float64, truncated, and the number of pairs that posenc rotates."""
    product = 0.7 * 180
    assert Fraction(0.7) < Fraction(7, 10)
    rotated = int((posenc.p_rope_frequencies(180, proportion=0.7) > 0).sum())
    return str(product), f"finds {int(product) // 2} pairs, not {rotated}"


def affected() -> tuple[str, ...]:
    """Half the product, truncated, against the exact floor, for all shares and channel numbers."""
    wrong = {
        (share, dim): int(share / 100 * dim // 2)
        for share in range(101)
        for dim in range(2, 1025, 2)
        if int(share / 100 * dim // 2) != share * dim // 200
    }
    assert (25, 512) not in wrong
    return (
        f"{wrong[70, 180]} pairs of 90 for \\(p = 0.7\\)",
        f"{wrong[29, 200]} of 100",
        f"{len(wrong)} combinations",
    )


def stretched() -> str:
    """All channels at position 8,192 with factor 8 equal those at position 1,024 without."""
    x = np.random.default_rng(0).standard_normal((1, 512))
    place = 8192 // 8
    rotated = posenc.p_rope(x, [8192], base=1e6, layout="half", proportion=0.25, factor=8)
    trained = posenc.p_rope(x, [place], base=1e6, layout="half", proportion=0.25)
    assert np.allclose(rotated, trained, atol=1e-12)
    return f"position {place:,}"


def exact_shares() -> None:
    """Exact fractions of float64 shares and of their products with all dimensions up to 1,024."""
    assert Fraction(0.75) == Fraction(3, 4)
    assert all(Fraction(0.75 * dim) == Fraction(3 * dim, 4) for dim in range(1025))
    assert 3e-17 < Fraction(7, 10) - Fraction(0.7) < 5e-17
    assert Fraction(0.1) > Fraction(1, 10)
    assert all(int(0.1 * dim // 2) == dim // 20 for dim in range(0, 1025, 2))


def slow_content() -> str:
    """The cosine of 8,192 and of 131,072 positions at the slowest frequency."""
    slowest = 10000.0 ** (-63 / 64)
    assert math.cos(131072 * slowest) < 0
    return f"lost {100 * (1 - math.cos(8192 * slowest)):.0f} per cent"
