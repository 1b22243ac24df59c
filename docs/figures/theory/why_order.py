import numpy as np

import posenc
from pictures.picture import SEQUENTIAL, Picture, grid

WORDS = ("dog", "bites", "man")


def _matrix(rows: int, columns: int, step: int, modulus: int) -> np.ndarray:
    return step * np.arange(rows * columns).reshape(rows, columns) % modulus - modulus // 2


def dog_bites_man() -> Picture:
    """Attention weights of two sentences, without and with positions"""
    figure, plots = grid(2, 2, 6.4, 5.6)
    embeddings = _matrix(3, 4, 2, 7) / 2
    to_query, to_key = _matrix(4, 4, 9, 11) / 5, _matrix(4, 4, 4, 11) / 5
    places = posenc.sinusoidal([0, 1, 2], 4)
    for across, order in enumerate(([0, 1, 2], [2, 1, 0])):
        back = np.argsort(order)
        for down, added in enumerate((0 * places, places)):
            rows = embeddings[order] + added
            weights = posenc.attention_weights(rows @ to_query, rows @ to_key)
            weights = weights[np.ix_(back, back)]
            plot = plots[down][across]
            plot.imshow(weights, cmap=SEQUENTIAL, vmin=0, vmax=0.9)
            for (i, j), weight in np.ndenumerate(weights):
                colour = "white" if weight < 0.5 else "black"
                plot.text(j, i, f"{weight:.2f}", ha="center", va="center", color=colour)
            sentence = " ".join(WORDS[index] for index in order)
            how = "with positions" if down else "without positions"
            plot.set_title(f"“{sentence}”,\n{how}", fontsize=10)
            plot.set_xticks(range(3), WORDS)
            plot.set_yticks(range(3), WORDS)
            plot.spines[:].set_visible(False)
    plots[1][0].set(xlabel="taken of", ylabel="by")
    return Picture(
        figure,
        "Four tables of three by three weights. Without positions the tables of both sentences are "
        "equal. With positions they differ in every cell: the dog takes 0.07 of bites where it is "
        "bitten and 0.33 where it bites.",
        "Weights by word: row by row, what a word takes of each. Above, without positions, both "
        "sentences have the same table. Below, with the sinusoidal encoding, they do not.",
    )
