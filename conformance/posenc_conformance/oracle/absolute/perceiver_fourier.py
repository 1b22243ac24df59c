"""Perceiver's Fourier features by their definition (Jaegle et al. 2021, section 3.2)."""

from itertools import product

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element


def perceiver_fourier(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the feature at (…, feature).

    It looks up the kind, axis and band of each feature in a list.
    """
    x, count = arguments["x"], int(arguments["num_bands"])
    axes, bands = range(x.shape[-1]), range(count)
    kinds = ["sine", "cosine"] if conventions["waves"] == "both" else ["sine"]
    features: list[tuple[str, int, int]] = []
    if conventions["position"] == "first":
        features += [("position", axis, 0) for axis in axes]
    if conventions["order"] == "sines-first":
        features += list(product(kinds, axes, bands))
    else:
        for axis in axes:
            features += [(kind, axis, band) for kind, band in product(kinds, bands)]
            if conventions["position"] == "last-of-each":
                features.append(("position", axis, 0))

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        *place, feature = index
        kind, axis, band = features[feature]
        coordinate = mpmath.mpf(float(x[(*place, axis)]))
        if kind == "position":
            return coordinate
        highest = mpmath.mpf(int(arguments["max_resolution"][axis])) / 2
        part = mpmath.mpf(band) / (count - 1) if count > 1 else mpmath.mpf(0)
        half_turns = coordinate * ((1 - part) + part * highest)
        return mpmath.sinpi(half_turns) if kind == "sine" else mpmath.cospi(half_turns)

    return value


def perceiver_positions(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the position at (place, axis).

    It looks up the place in a list of all places.
    """
    sizes = [int(size) for size in arguments["index_dims"]]
    places = list(product(*map(range, sizes)))

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        place, axis = index
        if sizes[axis] == 1:
            return mpmath.mpf(-1)
        return mpmath.mpf(-1) + 2 * mpmath.mpf(places[place][axis]) / (sizes[axis] - 1)

    return value


VALUES = {"perceiver_fourier": perceiver_fourier, "perceiver_positions": perceiver_positions}
