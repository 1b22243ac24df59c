from fractions import Fraction

import ml_dtypes
import numpy as np

import posenc


def short_counting() -> tuple[str, ...]:
    """The first integer that each dtype cannot represent, found by counting."""
    texts = []
    for dtype in (ml_dtypes.bfloat16, np.float16):
        whole = np.arange(4096)
        held = whole.astype(dtype).astype(np.int64)
        first = int(np.argmax(held != whole))
        texts.append(f"{first:,} for {held[first]:,}")
    return tuple(texts)


def floor_of_a_product() -> tuple[str, ...]:
    """Exactly seven tenths of 180 channels are 63 pairs; in floating point they are 62."""
    exact = Fraction(7, 10) * 180 / 2
    floating = int(0.7 * 180 // 2)
    assert Fraction(0.7 * 180) < 126
    assert floating < exact
    return f"is {exact} for", f"is {floating}:"


def wrong_table() -> str:
    """The slowest frequencies of head_dim 128 with both bases, from the reference."""
    ones = np.array([[1.0] + [0.0] * 127])

    def slowest(base: float) -> float:
        x = np.roll(ones, 126, axis=1)
        return float(np.arcsin(posenc.rope(x, [1], base=base)[0, 127]))

    return f"{slowest(1e4) / slowest(5e5):.0f}"


def ntk_keeps_the_fastest() -> None:
    """Fastest and slowest frequency under dynamic NTK at twice the length, against plain RoPE."""
    scaled = posenc.dynamic_ntk_frequencies(
        128, factor=2.0, original_max_position_embeddings=4096, length=8192
    )
    plain = 10000.0 ** -(np.arange(64) / 64)
    growth = 2.0 * 8192 / 4096 - 1
    assert scaled[0] == plain[0] == 1
    assert np.isclose(scaled[-1], plain[-1] / growth)
    divided = plain / growth ** (128 / 126)
    assert not np.isclose(divided[0], 1)
