"""Fourier features by their definitions (Mildenhall et al. 2020; Tancik et al. 2020)."""

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element


def nerf(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the feature at (…, feature)."""
    x, count = arguments["x"], int(arguments["num_frequencies"])
    coords = x.shape[-1]
    factor = {"pi": mpmath.pi, "two-pi": 2 * mpmath.pi, "1": mpmath.mpf(1)}[conventions["factor"]]

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        *place, feature = index
        if conventions["include_input"] == "first":
            if feature < coords:
                return mpmath.mpf(float(x[(*place, feature)]))
            feature -= coords
        if conventions["order"] == "by-frequency":
            k, remainder = divmod(feature, 2 * coords)
            odd, coord = divmod(remainder, coords)
        elif conventions["order"] == "sines-by-frequency":
            odd, remainder = divmod(feature, count * coords)
            k, coord = divmod(remainder, coords)
        elif conventions["order"] == "sines-by-coordinate":
            odd, remainder = divmod(feature, count * coords)
            coord, k = divmod(remainder, count)
        else:
            coord, remainder = divmod(feature, 2 * count)
            k, odd = divmod(remainder, 2)
        angle = factor * mpmath.ldexp(mpmath.mpf(float(x[(*place, coord)])), k)
        return mpmath.cos(angle) if odd else mpmath.sin(angle)

    return value


def gaussian_fourier(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the feature at (…, feature)."""
    x, b = arguments["x"], arguments["b"]
    waves = [mpmath.cospi, mpmath.sinpi]
    if conventions["waves"] == "sin-cos":
        waves.reverse()

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        *place, feature = index
        late, direction = divmod(feature, len(b))
        projection = mpmath.fsum(
            mpmath.mpf(float(x[(*place, j)])) * mpmath.mpf(float(b[direction, j]))
            for j in range(x.shape[-1])
        )
        return waves[late](2 * projection)

    return value


VALUES = {"nerf": nerf, "gaussian_fourier": gaussian_fourier}
