import numpy as np

import posenc
from pictures.animations import Axis, Moving, Series, Shown, Slider

WORDS = ("dog", "bites", "man")
SCORES = (4.0, 1.0, 5.0)
"""Scores of the query of *bites* with each word."""


def shares() -> Moving:
    """What bites takes from each word, by the score of man"""

    def shown(score: int, divisor: int) -> Shown:
        keys = np.array([[*SCORES[:2], score]]).T / divisor
        weights = posenc.attention_weights([[1.0]], keys)[0].tolist()
        words = ", ".join(
            f"{weight:.2f} from {word}" for word, weight in zip(WORDS, weights, strict=True)
        )
        return Shown(
            {
                word: [[(place + 0.15, 0.0), (place + 0.85, weight)]]
                for place, (word, weight) in enumerate(zip(WORDS, weights, strict=True))
            },
            f"Bites takes {words}.",
        )

    return Moving(
        module="softmax",
        sliders=(
            Slider("score", "score with man", range(-2, 11), 5),
            Slider("divisor", "scores divided by", (1, 2, 4, 8), 2),
        ),
        x=Axis(0, 3),
        y=Axis(0, 1, "share", (0, 0.5, 1)),
        height=190,
        series=tuple(Series(word, word, place, "box") for place, word in enumerate(WORDS)),
        shown=shown,
        description="Three bars. The share of dog is about a third, that of bites below a tenth, "
        "and that of man more than a half.",
        caption="Raise the score with man and the others lose, though their own scores stay. "
        "Divide by more, and the shares become alike.",
    )
