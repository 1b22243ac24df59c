import numpy as np

import posenc
from pictures.animations import Axis, Moving, Series, Shown, Slider
from pictures.picture import COLOURS, Picture, axes, legend


def between() -> Picture:
    """A score at whole distances and at the quarters between them"""
    figure, plot = axes(height=3.0)
    random = np.random.default_rng(3)
    query, key = random.standard_normal((2, 1, 128)) / 128**0.25
    fine = np.arange(0, 12 * 16 + 1)
    turned = posenc.position_interpolation(np.repeat(query, len(fine), axis=0), fine, factor=16)
    scores = turned @ key[0]
    places = fine / 16
    plot.plot(places, scores, color=COLOURS[0], linewidth=1)
    plot.plot(
        places[::16],
        scores[::16],
        color=COLOURS[7],
        linewidth=1,
        linestyle="--",
        label="straight lines",
    )
    plot.plot(
        places[::4], scores[::4], ".", color=COLOURS[1], markersize=6, label="new, with factor 4"
    )
    plot.plot(
        places[::16], scores[::16], "o", color=COLOURS[0], markersize=6, label="seen in training"
    )
    plot.set(xlabel="distance as the model knew it", ylabel="score", xticks=range(0, 13, 2))
    legend(plot, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3)
    return Picture(
        figure,
        "A curve of the score against distances from 0 to 12. Large dots stand at whole distances, "
        "three small ones between each two of them. Dashed straight lines join the large dots. The "
        "small dots lie near these lines, a little off where the curve bends.",
        "A random query and key of 128 channels. The points that interpolation adds lie near the "
        "straight lines between points that training has seen.",
    )


def squeezed() -> Moving:
    """Tokens of a text on a wave whose beginning was seen in training"""
    trained = 16

    def shown(tokens: int, factor: int) -> Shown:
        plain = float(posenc.position_interpolation_frequencies(8, factor=1)[1])
        slow = float(posenc.position_interpolation_frequencies(8, factor=factor)[1])
        wave = [(half / 2, float(np.cos(half / 2 * plain))) for half in range(129)]
        places = [
            (position * slow / plain, float(np.cos(position * slow))) for position in range(tokens)
        ]
        beyond = sum(place > trained - 1 + 1e-9 for place, _ in places)
        return Shown(
            {
                "trained": [wave[: 2 * trained - 1]],
                "beyond": [wave[2 * trained - 2 :]],
                "token": [[point] for point in places],
            },
            f"{tokens} tokens, {1 / factor:.3f} apart: {beyond} of them stand beyond the last "
            "place that training has seen.",
        )

    return Moving(
        module="position-interpolation",
        sliders=(
            Slider("factor", "factor", (1, 2, 3, 4, 5, 6, 8), 1),
            Slider("tokens", "tokens of the text", range(4, 65, 4), 48),
        ),
        x=Axis(0, 64, "position as the model knew it", range(0, 65, 16)),
        y=Axis(-1.1, 1.1, "cosine of the angle", (-1, 0, 1)),
        height=200,
        series=(
            Series("beyond", "never seen", 7),
            Series("trained", "seen in training", 1),
            Series("token", "a token", 0, "dot"),
        ),
        shown=shown,
        description="A cosine over positions 0 to 64, of which the stretch from 0 to 15 is marked "
        "as seen in training. 48 dots stand on it, one at each whole position up to 47,"
        " so most of them lie beyond that stretch.",
        caption="The pair of frequency 0.1, for a model that was trained on 16 tokens. Raise "
        "the factor until no token lies beyond what training has seen. The price is "
        "that neighbours move together.",
    )
