import numpy as np

import posenc
from pictures.animations import Axis, Moving, Series, Shown, Slider


def frequencies() -> Moving:
    """Frequencies of 64 pairs without scaling, interpolated and NTK-aware"""

    def shown(factor: int, base: float) -> Shown:
        plain = posenc.position_interpolation_frequencies(128, base=base, factor=1)
        alike = posenc.position_interpolation_frequencies(128, base=base, factor=factor)
        tilted = posenc.ntk_aware_frequencies(128, base=base, factor=factor)
        named = {"plain": plain, "alike": alike, "tilted": tilted}
        return Shown(
            {name: [list(enumerate(np.log10(values).tolist()))] for name, values in named.items()},
            f"The base becomes {round(base * factor ** (128 / 126)):,}. Pair 0 stays, pair 32 is "
            f"divided by {plain[32] / tilted[32]:.2f}, pair 63 by {factor}.",
        )

    return Moving(
        module="ntk-aware",
        sliders=(
            Slider("factor", "factor", (1, 2, 4, 8, 16, 32, 64), 16),
            Slider("base", "base", (10000, 100000, 500000, 1000000), 10000),
        ),
        x=Axis(0, 63, "pair, from the fastest to the slowest", range(0, 64, 16)),
        y=Axis(-8, 0.3, "radians per position, as a power of ten", (-8, -6, -4, -2, 0)),
        height=240,
        series=(
            Series("plain", "RoPE", 7),
            Series("alike", "position interpolation", 1),
            Series("tilted", "NTK-aware", 0),
        ),
        shown=shown,
        description="Three falling straight lines over 64 pairs with a logarithmic scale. RoPE "
        "goes from 1 to about 0.0001. Position interpolation runs parallel, sixteen times lower. "
        "NTK-aware scaling begins where RoPE does, at 1, and ends where position interpolation "
        "does.",
        caption="A head of 128 channels. Interpolation moves the line down; a larger base tilts it "
        "about its upper end.",
    )
