"""Time2Vec by its equation (Kazemi et al. 2019, equation 1)."""

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element


def time2vec(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the embedding at (…, channel)."""
    x, w, b = (arguments[name] for name in "xwb")
    straight = {"first": 0, "last": len(b) - 1}[conventions["linear"]]
    wave = {"sin": mpmath.sin, "cos": mpmath.cos}[conventions["wave"]]

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        *place, channel = index
        angle = mpmath.mpf(float(b[channel]))
        for number in range(len(w)):
            time = mpmath.mpf(float(x[(*place, number)]))
            angle += time * mpmath.mpf(float(w[number, channel]))
        return angle if channel == straight else wave(angle)

    return value


VALUES = {"time2vec": time2vec}
