import math

import numpy as np
from ml_dtypes import bfloat16

import posenc


def nyquist() -> str:
    """The angle of the last band from one point to the next, on an axis of 224 points."""
    places = posenc.perceiver_positions([224])
    sine, cosine = posenc.perceiver_fourier(places, [224], 2, position="none")[:, 1::2].T
    angle = np.unwrap(np.arctan2(sine, cosine)[:2], period=2 * math.pi)
    turned = math.degrees(abs(angle[1] - angle[0])) % 360
    assert math.isclose(math.pi * 224 / 223, math.radians(max(turned, 360 - turned)))
    return f"{max(turned, 360 - turned):.1f} degrees"


def even() -> tuple[str, str]:
    """Bands above half of the highest, evenly spaced and in geometric progression."""
    even, geometric = np.linspace(1, 112, 64), np.geomspace(1, 112, 64)
    return f"{np.count_nonzero(even > 57)} of", f"{np.count_nonzero(geometric > 57)} of"


def channels() -> tuple[str, ...]:
    """Channels of posenc's features for images, video and sound."""
    return tuple(
        str(posenc.perceiver_fourier(np.zeros((1, axes)), [16] * axes, bands).shape[-1])
        for axes, bands in ((2, 64), (3, 32), (1, 192))
    )


def narrow() -> tuple[str, str]:
    """The largest angle for 224 points, and the largest error of rounding angles to bfloat16."""
    highest = math.pi * 112
    angles = np.linspace(256, highest, 100001)
    return f"{highest:.0f}", f"{np.abs(angles.astype(bfloat16).astype(float) - angles).max():.0f}"
