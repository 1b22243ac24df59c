import numpy as np

import posenc
from pictures.picture import COLOURS, Picture, columns, grid


def curves() -> Picture:
    """Bias and weight by distance: logarithm, powers and ALiBi's line"""
    n = 1001
    heads = {
        "logarithm, r1 = r2 = 1": (1.0, 1.0, "log"),
        "power, r2 = 0.5": (0.25, 0.5, "power"),
        "power, r2 = 1 (ALiBi, 1/16)": (1 / 16, 1.0, "power"),
        "power, r2 = 2": (0.001, 2.0, "power"),
    }
    figure, plots = grid(1, 2, 7.4, 3.2)
    left, right = plots[0]
    for (name, (r1, r2, form)), colour in zip(heads.items(), COLOURS, strict=False):
        bias = posenc.kerple_bias([r1], [r2], 1, n, form=form)[0, 0, ::-1]
        left.plot(np.arange(n), bias, color=colour, label=name)
        right.plot(np.arange(1, n), np.exp(bias[1:]), color=colour)
    left.set(xlabel="distance", ylabel="bias", xlim=(0, 120), ylim=(-8, 0.2))
    right.set(xlabel="distance", ylabel="weight before normalising", xscale="log", yscale="log")
    right.set_ylim(1e-6, 1.5)
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=columns(2))
    return Picture(
        figure,
        "First, biases against distance up to 120. The logarithm and the power one half fall "
        "quickly and flatten, ALiBi's is a straight line, the square bends downwards. Then, "
        "weights on double logarithmic axes up to 1,000: the logarithm is a straight line that "
        "reaches one thousandth, ALiBi's and the square drop out of the picture before.",
        "Both axes of the weights are logarithmic, so that a power of the distance is a straight "
        "line. Only the logarithmic form is one; ALiBi's weights fall below a millionth.",
    )
