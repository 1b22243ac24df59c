from typing import Any

import ml_dtypes
import numpy as np

import posenc
from pictures.picture import COLOURS, Picture, axes

DIM = 64
FREQUENCIES = 10000.0 ** -(np.arange(DIM // 2) / (DIM // 2))


def _angles(positions: Any, dtype: Any) -> Any:
    angles = positions.astype(dtype)[:, None] * FREQUENCIES.astype(dtype)
    return angles.astype(np.float64 if dtype == np.float64 else np.float32)


def angles() -> Picture:
    """Error of a sinusoid against position, by the dtype of its angles"""
    figure, plot = axes(height=4.0)
    octaves = 2 ** np.arange(0, 21)
    random = np.random.default_rng(0)
    sampled = [np.unique(random.integers(low, 2 * low, 60)) for low in octaves]
    truths = [posenc.sinusoidal(positions, DIM)[:, 0::2] for positions in sampled]
    for (name, dtype, last), colour in zip(
        (
            ("bfloat16", ml_dtypes.bfloat16, 2**20),
            ("float16", np.float16, 2**14),
            ("float32", np.float32, 2**20),
            ("float64", np.float64, 2**20),
        ),
        COLOURS,
        strict=False,
    ):
        shown = octaves <= last
        worst = [
            np.abs(np.sin(_angles(positions, dtype)) - truth).max()
            for positions, truth in zip(sampled[: shown.sum()], truths, strict=False)
        ]
        plot.plot(octaves[shown], worst, color=colour, label=f"{name} angles")
        unit = {"float32": 2.0**-24, "float64": 2.0**-53}.get(name)
        if unit:
            plot.plot(octaves, 4 * unit * (1 + octaves * 2), ":", color=colour)
    plot.axhline(2.0**-8, linestyle="--", linewidth=1)
    plot.text(2**5, 1e-3, "resolution of bfloat16", fontsize=9)
    plot.set_xscale("log", base=2)
    plot.set_yscale("log")
    plot.set(xlabel="position", ylabel="largest error in 64 channels", ylim=(1e-17, 4))
    plot.legend(loc="center right", fontsize=9, bbox_to_anchor=(1, 0.57))
    return Picture(
        figure,
        "On logarithmic axes, the errors of float64 and float32 angles rise in proportion to the "
        "position, each below a dotted line that is its bound. Float32 meets the resolution of "
        "bfloat16 near position one hundred thousand. The errors of bfloat16 and float16 angles "
        "start near a thousandth and reach 1 within some hundred and some thousand positions.",
        "Largest error of 64 channels, at sampled positions between each power of two and the "
        "next. Dotted: the bound, with A = B = 4. Dashed: the resolution of bfloat16, 2⁻⁸. float16 "
        "ends at 65,504.",
    )


def ulps() -> Picture:
    """The same errors, counted in ulps and in units of the bound"""
    figure, plot = axes(height=3.6)
    positions = np.arange(1, 4096)
    positions = positions[(positions % 5 == 0) | (np.abs(np.sin(positions)) < 0.05)]
    truth = posenc.sinusoidal(positions, DIM)[:, 0]
    got = np.sin(positions.astype(np.float32)).astype(np.float64)
    wrong = np.sin((positions * (1 + 2.0**-24)).astype(np.float64))
    for values, label, colour in (
        (np.abs(wrong - truth), "an angle half an ulp too large", COLOURS[1]),
        (np.abs(got - truth), "float32, angle exact", COLOURS[0]),
    ):
        ulp = np.spacing(np.abs(truth).astype(np.float32)).astype(np.float64)
        plot.scatter(np.abs(truth), np.maximum(values / ulp, 1e-3), s=3, color=colour, label=label)
    plot.set_xscale("log")
    plot.set_yscale("log")
    plot.set(xlabel="magnitude of the sine", ylabel="error in ulps of the value")
    plot.legend(markerscale=3, loc="upper right", fontsize=9)
    return Picture(
        figure,
        "Two clouds of points on logarithmic axes. Where sines are exact up to their last "
        "rounding, the error stays at about half an ulp for all magnitudes. Where the angle is "
        "rounded, the error is some hundred ulps for sines near 1 and grows to millions as the "
        "sine falls towards zero.",
        "Channel 0 at positions up to 4,095: every fifth, and all whose sine is small. The first "
        "program has an angle that is off by half an ulp, as float32 must round it for most "
        "frequencies. Its error in ulps tells how small the sine happens to be.",
    )
