"""A depthwise convolution over a picture of patches, added to it (Chu et al. 2021, section 3)."""

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element


def conv_peg(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the encoded picture at (…, row, channel).

    It tests for every patch whether it is within the kernel's reach.
    """
    x, weight, bias = (arguments[name] for name in ("x", "weight", "bias"))
    height, width = int(arguments["height"]), int(arguments["width"])
    reach = weight.shape[-1] // 2
    tokens = 1 if conventions["class_token"] == "first" else 0

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        *leading, row, channel = index
        column = x[tuple(leading)][:, channel]
        here = mpmath.mpf(float(column[row]))
        if row < tokens:
            return here
        r, c = divmod(row - tokens, width)
        terms = [here, mpmath.mpf(float(bias[channel]))]
        for place in range(height * width):
            down, right = place // width - r, place % width - c
            if max(abs(down), abs(right)) <= reach:
                factor = float(weight[channel, down + reach, right + reach])
                terms.append(mpmath.mpf(float(column[tokens + place])) * factor)
        return mpmath.fsum(terms)

    return value


VALUES = {"conv_peg": conv_peg}
