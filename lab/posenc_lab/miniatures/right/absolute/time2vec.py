"""Right implementations: Time2Vec."""

import math

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import FLOATS, NARROW, Array, right


@right
class TimedInTwoParts:
    """Time2Vec-PyTorch's steps in float32: waves and the linear channel, concatenated."""

    @claims("paper", "linear-last", "cosine", dtype=NARROW)
    def time2vec(self, x: Array, w: Array, b: Array, *, linear: str, wave: str) -> Array:
        times, frequencies, phases = (array.astype(np.float32) for array in (x, w, b))
        own = slice(0, 1) if linear == "first" else slice(-1, None)
        others = slice(1, None) if linear == "first" else slice(None, -1)
        function = np.sin if wave == "sin" else np.cos
        waves = function(times @ frequencies[:, others] + phases[others])
        trend = times @ frequencies[:, own] + phases[own]
        parts = [trend, waves] if linear == "first" else [waves, trend]
        return np.concatenate(parts, axis=-1).astype(x.dtype)


@right
class TimedNumberByNumber:
    """Phases first, then input by input, and cosines as shifted sines; float32 or wider."""

    @claims("paper", "linear-last", "cosine", dtype=FLOATS)
    def time2vec(self, x: Array, w: Array, b: Array, *, linear: str, wave: str) -> Array:
        wide = np.float64 if x.dtype == np.float64 else np.float32
        if w.shape != (x.shape[-1], len(b)):
            raise ValueError(w.shape)
        angles = np.broadcast_to(b.astype(wide), (*x.shape[:-1], len(b))).copy()
        for number, row in enumerate(w.astype(wide)):
            angles += x[..., number, None].astype(wide) * row
        out = np.sin(angles + wide(math.pi / 2) if wave == "cos" else angles)
        own = 0 if linear == "first" else -1
        out[..., own] = angles[..., own]
        return out.astype(x.dtype)
