import numpy as np

import posenc
from pictures.animations import Axis, Moving, Series, Shown, Slider
from posenc_conformance.deployed.expected_scores import ROUNDINGS_OF_A_READING, ROUNDINGS_OF_A_SCORE
from posenc_conformance.deployed.probe_checkpoint import WANTED_SCORE

FARTHEST = 256


def scores() -> Moving:
    """The score of one pair over the distance, by two bases, and the bound"""

    def shown(pair: int, base: float, bits: int) -> Shown:
        distances = np.arange(FARTHEST + 1)
        right, other = (
            np.cos(
                distances * posenc.position_interpolation_frequencies(128, base=b, factor=1)[pair]
            )
            for b in (500000, base)
        )
        bound = (ROUNDINGS_OF_A_SCORE + ROUNDINGS_OF_A_READING / WANTED_SCORE) * 2.0**-bits
        lines = {"right": right, "other": other}
        strokes = {name: [list(enumerate(values.tolist()))] for name, values in lines.items()}
        edges = [list(enumerate((right + sign * bound).tolist())) for sign in (-1, 1)]
        apart = np.flatnonzero(np.abs(right - other) > bound).tolist()
        words = f"from distance {apart[0]} on" if apart else f"at no distance up to {FARTHEST}"
        return Shown(
            {**strokes, "bound": edges},
            f"A right engine may be off by {bound:.1e}. The other base is told apart {words}.",
        )

    return Moving(
        module="score",
        sliders=(
            Slider("pair", "pair", range(0, 64, 3), 18),
            Slider("base", "the other base", (10000, 100000, 400000, 1000000), 10000),
            Slider("bits", "digits of the dtype, in bits", (8, 11, 24), 8),
        ),
        x=Axis(0, FARTHEST, "distance of query and key", range(0, FARTHEST + 1, 64)),
        y=Axis(-1.1, 1.1, "score, as a part of the largest", (-1, -0.5, 0, 0.5, 1)),
        height=240,
        series=(
            Series("bound", "what rounding allows", 7),
            Series("right", "base 500,000", 0),
            Series("other", "the other base", 1),
        ),
        shown=shown,
        description="Two waves over 256 positions, which both begin at 1. The one of the base "
        "500,000 lies in a narrow band. The one of the base 10,000 is faster and leaves the band "
        "at once.",
        caption="What the first head reads of one pair, at two bases: 8 bits are bfloat16, 11 "
        "float16, 24 float32. Only the rounding of scores and readings is drawn. Pair 0 turns "
        "alike at every base, and slow pairs need a distance.",
    )
