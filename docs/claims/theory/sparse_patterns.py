import math
import random
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

import posenc
from posenc_conformance.models.file import model_named

Mask = np.ndarray[Any, Any]
N = 64


def _product(above: Mask, below: Mask) -> Mask:
    """Compute the boolean product; counts up to 2**24 are exact in float32."""
    return np.asarray(above.astype(np.float32) @ below.astype(np.float32) > 0)


def _layers(mask: Mask, wanted: Mask) -> int | None:
    """Count the equal layers that reach the wanted mask; None if they stop growing before."""
    reached, count = mask, 1
    while not np.array_equal(reached, wanted):
        more = _product(reached, mask)
        if np.array_equal(more, reached):
            return None
        reached, count = more, count + 1
    return count


def _row(mask: Mask, *, two_sided: bool = False) -> str:
    expected = np.ones_like(mask) if two_sided else posenc.causal_mask(*mask.shape)
    return f"| {mask.sum(1).max()} | {mask.sum():,} | {_layers(mask, expected) or 'never'}"


def product_of_masks() -> None:
    """Two layers of attention with inputs changed one by one, last row, for five patterns."""
    n = 16
    values = np.random.default_rng(1).standard_normal((n, 3))

    def two_layers(x: Mask, above: Mask, below: Mask) -> Mask:
        for mask in (below, above):
            bias = np.where(mask, 0.0, -1000.0)  # whose exponential is 0
            x = posenc.attention_with_bias(0 * x[None], 0 * x[None], x[None], bias[None])[0]
        return x

    patterns: list[tuple[Mask, Mask]] = [
        (posenc.sliding_window(n, n, 3), posenc.sliding_window(n, n, 4)),
        (posenc.chunked_mask(n, n, 5), posenc.sliding_window(n, n, 3)),
        (posenc.strided_mask(n, n, 4), posenc.strided_mask(n, n, 4)),
        (posenc.fixed_mask(n, n, 4, 1), posenc.chunked_mask(n, n, 4)),
        (posenc.bigbird_mask(n, n, 3), posenc.chunked_mask(n, n, 3)),
    ]
    for above, below in patterns:
        before = two_layers(values, above, below)[-1]
        for j in range(n):
            changed = values.copy()
            changed[j] += 1
            moved = not np.array_equal(two_layers(changed, above, below)[-1], before)
            assert moved == _product(above, below)[-1, j]


def row_causal() -> str:
    """Pairs of the causal mask, counted, and its powers."""
    return _row(posenc.causal_mask(N, N))


def row_window() -> str:
    """Pairs of the sliding window, counted, and powers of its mask."""
    return _row(posenc.sliding_window(N, N, 8))


def row_dilated() -> str:
    """Pairs of the dilated window, counted; its powers stop growing before the whole triangle."""
    return _row(posenc.dilated_window(N, N, 7, 3, reach="window-before"))


def row_strided() -> str:
    """Pairs of the strided pattern, counted, and powers of its mask."""
    return _row(posenc.strided_mask(N, N, 8))


def row_fixed() -> str:
    """Pairs of the fixed pattern, counted, and powers of its mask."""
    return _row(posenc.fixed_mask(N, N, 8, 1))


def row_chunked() -> str:
    """Pairs of chunks, counted; the powers of their mask never grow."""
    return _row(posenc.chunked_mask(N, N, 8))


def row_bigbird() -> str:
    """Pairs of BigBird, counted, and powers of its mask against the whole square."""
    return _row(posenc.bigbird_mask(N, N, 4), two_sided=True)


def window_reach() -> None:
    """Powers of masks for windows of 1 to 6 keys and up to 8 layers, last row."""
    for window in range(1, 7):
        mask = posenc.sliding_window(60, 60, window)
        for count in range(1, 9):
            reached = reduce(_product, [mask] * count)[-1]
            keys = count * (window - 1) + 1
            assert reached[-keys:].all()
            assert not reached[:-keys].any()


def _span(window: int, reach: str, layers: int) -> int:
    """Count the keys that ``layers`` layers reach, from the reach of one layer in posenc."""
    back = posenc.sliding_window(1, 2 * window + 2, window, reach=reach).sum() - 1
    return int(layers * back + 1)


def mistral_span() -> tuple[str, str]:
    """Both readings of a window of 4,096 for 32 layers."""
    readings = (_span(4096, reach, 32) for reach in ("window-keys", "window-before"))
    first, second = readings
    assert second - first == 32
    return f"{first:,} keys", f"{second:,}"


def bell() -> tuple[str, str]:
    """The distribution of the sum, by 32 convolutions, its two moments and its tail."""
    layers, window = 32, 4096
    weights = np.ones(1)
    for _ in range(layers):
        sums = np.cumsum(np.concatenate([weights, np.zeros(window - 1)]))
        sums[window:] -= sums[:-window].copy()
        weights = sums / window
    assert len(weights) == _span(window, "window-keys", layers)
    distance = np.arange(len(weights))
    mean = weights @ distance
    spread = math.sqrt(weights @ (distance - mean) ** 2)
    assert math.isclose(mean, layers * (window - 1) / 2, rel_tol=1e-9)
    assert math.isclose(spread, math.sqrt(layers * (window**2 - 1) / 12), rel_tol=1e-9)
    assert weights[100_000:].sum() < 1e-7
    assert 0.23 < (len(weights) - 100_000) / len(weights) < 0.25
    return f"{spread:,.0f} around {mean:,.0f}", "100,000"


def digits() -> str:
    """Paths through four layers of three keys, counted, are one to each of 81 distances."""
    n = 81
    masks = [
        posenc.dilated_window(n, n, 2, 3**t, reach="window-before").astype(int) for t in range(4)
    ]
    paths = reduce(np.matmul, masks)
    assert np.array_equal(paths[-1], np.ones(n))
    layer = posenc.dilated_window(n, n, 2, 3, reach="window-before")
    assert not reduce(_product, [layer] * 20)[-1, -2]
    return f"{n} distances from 0 to {n - 1}"


def square_root() -> tuple[str, str]:
    """Keys of the last query for every stride, by the rule; for the best one also by the mask."""
    n = 1024
    keys = {stride: min(n, stride) + (n - 1) // stride for stride in range(1, n + 1)}
    best = min(keys, key=lambda stride: keys[stride])
    assert keys[best] == 2 * math.isqrt(n) - 1 == posenc.strided_mask(1, n, best).sum()
    assert keys[best] ** 2 >= n
    return f"{keys[best]} keys", f"stride {best}"


def fewest_pairs() -> tuple[str, str, str]:
    """All pairs for every stride, by the rule; for two strides also by the mask."""
    n = 1024
    place = np.arange(n)
    pairs = {
        stride: int((np.minimum(place + 1, stride) + place // stride).sum())
        for stride in range(1, n + 1)
    }
    best = min(pairs, key=lambda stride: pairs[stride])
    for stride in (best, 32):
        assert posenc.strided_mask(n, n, stride).sum() == pairs[stride]
    assert abs(best - math.sqrt(n / 2)) < 1
    return f"best stride is {best}", f"{pairs[best]:,} pairs", f"{pairs[32]:,}"


def two_steps() -> None:
    """Squares of both patterns are the triangle; one pattern is Toeplitz, the other is not."""
    for n in (1, 7, 24, 50):
        for size in (1, 2, 5, 8):
            triangle = posenc.causal_mask(n, n)
            near = posenc.strided_mask(n, n, size, part="local")
            far = posenc.strided_mask(n, n, size, part="column")
            fixed = posenc.fixed_mask(n, n, size, 1)
            for product in (_product(near, far), _product(far, near), _product(fixed, fixed)):
                assert np.array_equal(product, triangle)
    strided, fixed = posenc.strided_mask(24, 24, 5), posenc.fixed_mask(24, 24, 5, 1)
    assert np.array_equal(strided[1:, 1:], strided[:-1, :-1])
    assert not np.array_equal(fixed[1:, 1:], fixed[:-1, :-1])


def chunk_square() -> None:
    """The mask is its own square; a causal layer above, below or in between connects all pairs."""
    mask, full = posenc.chunked_mask(16, 16, 4), posenc.causal_mask(16, 16)
    assert np.array_equal(_product(mask, mask), mask)
    assert not mask[4:8, :4].any()
    stacks: tuple[Callable[[], list[Mask]], ...] = (
        lambda: [full, mask, mask],
        lambda: [mask, full, mask],
        lambda: [mask, mask, full],
    )
    for stack in stacks:
        assert np.array_equal(reduce(_product, stack()), full)


def _blocks() -> tuple[Mask, Mask]:
    """Make the mask of a window of three among 64 blocks, and the wanted full mask."""
    block = np.arange(64)
    return np.abs(block[:, None] - block) <= 1, np.ones((64, 64), dtype=bool)


def window_alone() -> str:
    """Powers of the window's mask."""
    return f"takes {_layers(*_blocks())} layers"


def with_hubs() -> str:
    """Powers of the whole pattern; with blocks of one token it is the pattern of blocks."""
    return f"it takes {_layers(posenc.bigbird_mask(64, 64, 1), _blocks()[1])}:"


def random_blocks() -> str:
    """Powers of 100 masks whose random blocks are drawn with the seeds 0 to 99."""
    draws = []
    for seed in range(100):
        generator, (mask, full) = random.Random(seed), _blocks()
        for row in mask:
            row[generator.sample(range(64), 3)] = True
        draws.append(_layers(mask, full) or 99)
    return f"none of 100 draws took more than {max(draws)} layers, and none less than {min(draws)}"


def layers_needed() -> tuple[str, str]:
    """The least number of layers whose reach contains the first key, for both readings."""
    least = []
    for reach in ("window-keys", "window-before"):
        counts = (c for c in range(1, 99) if _span(4096, reach, c) >= 32768)
        least.append(next(counts))
    return f"= {least[0]}\\) layers", f"it takes {least[1]}."


def order_of_layers() -> None:
    """Both products of the two masks, last row."""
    chunk, window = posenc.chunked_mask(9, 9, 4), posenc.sliding_window(9, 9, 2)
    assert np.flatnonzero(_product(chunk, window)[-1]).tolist() == [7, 8]
    assert np.flatnonzero(_product(window, chunk)[-1]).tolist() == [4, 5, 6, 7, 8]


def sees_itself() -> None:
    """The diagonals of the patterns' masks; only the columns of the fixed pattern miss some."""
    n = 24
    masks = {
        "causal": posenc.causal_mask(n, n),
        "window": posenc.sliding_window(n, n, 4),
        "chunked": posenc.chunked_mask(n, n, 5),
        "dilated": posenc.dilated_window(n, n, 3, 2),
        "bigbird": posenc.bigbird_mask(n, n, 4),
        **{
            f"strided {part}": posenc.strided_mask(n, n, 4, part=part)
            for part in ("union", "local", "local-inclusive", "column")
        },
        **{
            f"fixed {part}": posenc.fixed_mask(n, n, 4, 1, part=part)
            for part in ("union", "block", "columns")
        },
    }
    assert [name for name, mask in masks.items() if not mask.diagonal().all()] == ["fixed columns"]


def llama_4() -> str:
    """Layers of both Llama 4 in their model files: chunked, and every fourth one full."""
    for name in ("llama-4-scout", "llama-4-maverick"):
        groups = {group.attention: group.layers for group in model_named(name).meaning.groups}
        assert groups.keys() == {"chunked", "full"}
        assert [layer % 4 for layer in groups["full"]] == [3] * len(groups["full"])
        assert len(groups["chunked"]) == 3 * len(groups["full"])
    return "every fourth one"
