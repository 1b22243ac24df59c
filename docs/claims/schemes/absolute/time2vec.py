import math

import numpy as np

import posenc


def week() -> str:
    """The frequency of a week with time in days; posenc's wave repeats after seven."""
    frequency = 2 * math.pi / 7
    times = np.arange(15.0)[:, None]
    waves = posenc.time2vec(times, [[0.0, frequency]], [0.0, 0.3])[:, 1]
    assert np.allclose(waves[7:], waves[:-7], atol=1e-12)
    return f"= {frequency:.4f}"


def same_at_examples() -> None:
    """Two waves, one with a period more between examples: equal at all examples, not in between."""
    times = 0.25 * np.arange(12.0)[:, None]
    first, other = [0.0, 1.3], [0.0, 1.3 + 2 * math.pi / 0.25]

    def largest(moved: float) -> float:
        waves = [posenc.time2vec(times + moved, [weight], [0.0, 0.3]) for weight in (first, other)]
        return float(np.abs(waves[0] - waves[1])[:, 1].max())

    assert largest(0.0) < 1e-9
    assert largest(0.1) > 1


def stamps() -> str:
    """The spacing of float32 numbers at 1.8 billion."""
    return f"{np.spacing(np.float32(1.8e9)):.0f}"
