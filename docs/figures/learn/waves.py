import numpy as np

import posenc
from pictures.animations import Axis, Moving, Series, Shown, Slider

DIGITS = 5


def _smooth(positions: np.ndarray) -> np.ndarray:
    """Compute a wave of the period of each digit, which is low where the digit is 0; [n, 5]."""
    powers = 2.0 ** np.arange(DIGITS)
    turned = (positions[:, None] - (powers - 1) / 2) / powers
    return np.asarray((1 - np.cos(np.pi * turned)) / 2)


def digits() -> Moving:
    """The digits of a position, and waves in their place"""
    places = np.arange(257) / 8
    low = -1.5 * np.arange(DIGITS)

    def shown(position: int) -> Shown:
        counted = posenc.binary(np.arange(32), DIGITS) + low
        square = [
            [(n + end, float(row[k])) for n, row in enumerate(counted) for end in (-0.5, 0.5)]
            for k in range(DIGITS)
        ]
        smooth = _smooth(places) + low
        (row,) = _smooth(np.array([float(position)]))
        written = " ".join(f"{int(value)}" for value in posenc.binary([position], DIGITS)[0])
        waves = ", ".join(f"{value:.2f}" for value in row)
        return Shown(
            {
                "digit": square,
                "wave": [
                    list(zip(places.tolist(), smooth[:, k].tolist(), strict=True))
                    for k in range(DIGITS)
                ],
                "row": [[(position, float(value))] for value in row + low],
            },
            f"Position {position}. Digits: {written}. Waves: {waves}.",
        )

    return Moving(
        module="digits",
        sliders=(Slider("position", "position", range(32), 15),),
        x=Axis(-0.5, 32, "position", range(0, 33, 8)),
        y=Axis(-6.3, 1.2),
        height=260,
        series=(
            Series("digit", "digit, 0 or 1", 7),
            Series("wave", "wave of the same length", 0),
            Series("row", "the waves at this position", 1, "dot"),
        ),
        shown=shown,
        description="Five lines, one below the other, over positions 0 to 32. Each shows a square "
        "wave between 0 and 1, twice as long as the one above, and a smooth wave through it. Five "
        "dots mark the smooth waves at position 15.",
        caption="The lowest digit is on top. Each wave is low where its digit is 0 and high where "
        "it is 1, but it has no corners.",
    )


def hands() -> Moving:
    """Two hands that tell a position"""
    turn = np.linspace(0, 2 * np.pi, 49)
    middles = (0.0, 2.6)
    rims = [[(x + float(np.sin(a)), float(np.cos(a))) for a in turn] for x in middles]

    def shown(position: int) -> Shown:
        (row,) = posenc.sinusoidal([position], 4).tolist()
        drawn = [[(x, 0.0), (x + row[2 * t], row[2 * t + 1])] for t, x in enumerate(middles)]
        numbers = ", ".join(f"{value:.2f}" for value in row).replace("-", "−")
        return Shown(
            {"fast": drawn[:1], "slow": drawn[1:]},
            f"Position {position} has the row {numbers}.",
        )

    return Moving(
        module="hands",
        sliders=(
            Slider(
                "position",
                "position",
                (*range(13), 20, 40, 80, 120, 157, 200, 300, 314, 471, 628),
                1,
            ),
        ),
        x=Axis(-1.2, 3.8),
        y=Axis(-1.1, 1.1),
        height=190,
        series=(
            Series("fast", "turns by 1 radian", 0, "hand"),
            Series("slow", "turns by 1/100", 1, "hand"),
        ),
        shown=shown,
        background=rims,
        description="Two clocks with one hand each. At position 1 the hand of the first has turned "
        "by 57 degrees to the right. The hand of the second still points up.",
        caption="Our four channels. The sine of a hand is how far it points to the right, its "
        "cosine how far it points up. The slow hand needs 628 positions for a turn.",
    )
