import math
from fractions import Fraction
from itertools import pairwise

import ml_dtypes
import numpy as np

import posenc


def flattest_head() -> str:
    """Weights of two equal keys, at distances 0 and 1,024, in the last of 8 heads."""
    near, far = posenc.alibi_bias(8, 1, 1025)[-1, 0, [-1, 0]]
    return f"{math.exp(far - near):.3f} of the weight"


def windows() -> str:
    """Reciprocals of the slopes of 8 heads, exactly, and their even spacing."""
    lengths = [1 / Fraction(slope) for slope in posenc.alibi_slopes(8)]
    assert [b / a for a, b in pairwise(lengths)] == [2] * 7
    return f"{lengths[0]}, {lengths[1]}, {lengths[2]}, …, {lengths[-1]}"


def same_under_a_mask() -> None:
    """Outputs with both forms of the bias: equal under a causal mask, different without one."""
    generator = np.random.default_rng(3)
    q, k, v = (generator.standard_normal((4, 9, 5)) for _ in range(3))
    bias = {form: posenc.alibi_bias(4, 9, 9, form=form) for form in ("symmetric", "first-key")}

    def alike(mask: str, tolerance: float) -> bool:
        first, other = (
            posenc.attention_with_bias(q, k, v, values, mask=mask) for values in bias.values()
        )
        return np.allclose(first, other, rtol=tolerance, atol=tolerance)

    assert alike("causal", 1e-13)
    assert not alike("none", 0.1)


def six_heads() -> str:
    """The six slopes as fractions."""
    *first, last = [str(Fraction(slope)) for slope in posenc.alibi_slopes(6)]
    return f"{', '.join(first[:4])}, then {first[4]} and {last}"


def powers_agree() -> None:
    """Both rules for up to 64 heads: equal at powers of two, and only there."""
    for heads in range(1, 65):
        first, other = (
            posenc.alibi_slopes(heads, head_rule=rule) for rule in ("interpolated", "uniform")
        )
        assert np.array_equal(first, other) == (heads.bit_count() == 1)


def exact_products() -> None:
    """Slopes of 1 to 8 heads are powers of two; float32 products equal exact fractions."""
    distance = np.array([1, 3, 4097, 2**24 - 1])
    for heads in (1, 2, 4, 8):
        for slope in posenc.alibi_slopes(heads):
            assert math.frexp(slope)[0] == 0.5
            products = np.float32(slope) * distance.astype(np.float32)
            for product, by in zip(products, distance, strict=True):
                assert Fraction(float(product)) == Fraction(slope) * int(by)


def bfloat16_positions() -> str:
    """The first integer that bfloat16 cannot represent."""
    whole = np.arange(1, 1000)
    lost = whole[whole.astype(ml_dtypes.bfloat16).astype(int) != whole]
    return f"positions from {lost[0]} on"


def product_of_slopes() -> str:
    """Logarithms of the slopes, summed, for powers of two up to 128."""
    for power in range(8):
        heads = 2**power
        total = math.fsum(math.log2(slope) for slope in posenc.alibi_slopes(heads))
        assert math.isclose(total, -4 * (heads + 1), rel_tol=1e-12)
    return "\\(2^{-36}\\)"


def half_of_the_weight() -> tuple[str, str]:
    """Weights summed backwards from the query, in a text of 20,000 tokens."""
    counts = []
    for slope in posenc.alibi_slopes(8)[[0, -1]]:
        weights = np.exp(-slope * np.arange(20_000))
        counts.append(int(np.argmax(np.cumsum(weights) / weights.sum() >= 0.5)) + 1)
        assert counts[-1] == math.ceil(math.log(2) / slope)
    return f"is {counts[0]} keys", f"it is {counts[1]}"
