"""The positional convolution of wav2vec 2.0, tap by tap, as its released code defines it."""

from functools import cache

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element


def conv_wav2vec2(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the encoded frames at (…, frame, channel)."""
    x, weight_v, weight_g, bias = (
        arguments[name] for name in ("x", "weight_v", "weight_g", "bias")
    )
    outputs, width, kernel = weight_v.shape

    @cache
    def norm(tap: int) -> mpmath.mpf:
        """Return the norm over all weights of a tap, as weight_norm with dim=2 does."""
        return mpmath.norm(
            [float(weight_v[o, i, tap]) for o in range(outputs) for i in range(width)]
        )

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        *leading, frame, channel = index
        sequence = x[tuple(leading)]
        first = channel // width * width
        z = mpmath.mpf(float(bias[channel]))
        for tap in range(kernel):
            # "Same" padding adds kernel // 2 frames on either side.
            neighbour = frame + tap - kernel // 2
            if 0 <= neighbour < len(sequence):
                reading = sequence[neighbour][first : first + width]
                products = (
                    mpmath.mpf(float(a)) * float(b)
                    for a, b in zip(weight_v[channel, :, tap], reading, strict=True)
                )
                z += mpmath.fsum(products) * float(weight_g[tap]) / norm(tap)
        gelu = z / 2 * mpmath.erfc(-z / mpmath.sqrt(2))
        return mpmath.mpf(float(sequence[frame][channel])) + gelu

    return value


def conv_hubert(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the encoded frames at (…, frame, channel).

    It applies the batch norm in evaluation mode, then the padding, then the convolution.
    """
    x, weight = arguments["x"], arguments["weight"]
    _outputs, width, kernel = weight.shape

    def number(name: str, channel: int) -> mpmath.mpf:
        return mpmath.mpf(float(arguments[name][channel]))

    def normalised(value: float, channel: int) -> mpmath.mpf:
        spread = mpmath.sqrt(number("variance", channel) + mpmath.mpf(1e-5))
        distance = (mpmath.mpf(float(value)) - number("mean", channel)) / spread
        return number("gain", channel) * distance + number("shift", channel)

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        *leading, frame, channel = index
        sequence = x[tuple(leading)]
        z = number("bias", channel)
        for tap in range(kernel):
            neighbour = frame + tap - kernel // 2
            if 0 <= neighbour < len(sequence):
                for member in range(width):
                    read = channel // width * width + member
                    tapped = float(weight[channel, member, tap])
                    z += tapped * normalised(sequence[neighbour][read], read)
        return mpmath.mpf(float(sequence[frame][channel])) + z * mpmath.ncdf(z)

    return value


def conv_data2vec(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the encoded frames at (…, frame, channel).

    Each layer reads its frames from the layer below.
    """
    x, weight, bias = arguments["x"], arguments["weight"], arguments["bias"]
    layers, dim, width, kernel = weight.shape

    @cache
    def frame_of(layer: int, place: tuple[int, ...]) -> list[mpmath.mpf]:
        """Return all channels of a frame that a layer returns; layer 0 returns the input."""
        if layer == 0:
            return [mpmath.mpf(float(element)) for element in x[place]]
        *leading, frame = place
        read = {
            tap: frame_of(layer - 1, (*leading, frame + tap - kernel // 2))
            for tap in range(kernel)
            if 0 <= frame + tap - kernel // 2 < x.shape[-2]
        }
        z = [
            mpmath.fsum(
                float(weight[layer - 1, channel, member, tap])
                * row[channel // width * width + member]
                for tap, row in read.items()
                for member in range(width)
            )
            + float(bias[layer - 1, channel])
            for channel in range(dim)
        ]
        mean = mpmath.fsum(z) / dim
        variance = mpmath.fsum((element - mean) ** 2 for element in z) / dim
        normed = [(element - mean) / mpmath.sqrt(variance + mpmath.mpf(1e-5)) for element in z]
        return [element * mpmath.ncdf(element) for element in normed]

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        *place, channel = index
        return mpmath.mpf(float(x[index])) + frame_of(layers, tuple(place))[channel]

    return value


VALUES = {
    "conv_wav2vec2": conv_wav2vec2,
    "conv_hubert": conv_hubert,
    "conv_data2vec": conv_data2vec,
}
