from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from matplotlib.axes import Axes

import posenc
from pictures.animations import Axis, Choice, Moving, Sentence, Series, Shown, Slider
from pictures.picture import COLOURS, Picture, arrow, box, grid

WORDS = ("dog", "bites", "man")
PLACES = (1.3, 4.3, 7.3)
CHANNELS, MOST, LETTERS = 8, 6, 6


def _words(plot: Axes, title: str) -> None:
    plot.set(xlim=(0, 8.6), ylim=(0, 5.4), aspect="equal")
    plot.axis("off")
    plot.set_title(title, fontsize=10)
    for x, word in zip(PLACES, WORDS, strict=True):
        box(plot, x, 0.8, word, width=2.0)


def paths() -> Picture:
    """How news travels from word to word in three kinds of network"""
    figure, plots = grid(1, 3, 7.4, 1.8)
    recurrent, convolution, transformer = plots[0]
    for plot, title in (
        (recurrent, "recurrent network"),
        (convolution, "convolution"),
        (transformer, "transformer"),
    ):
        _words(plot, title)
    for x in PLACES:
        box(recurrent, x, 4.0, "", COLOURS[0], 2.0)
        arrow(recurrent, (x, 1.3), (x, 3.5))
        box(convolution, x, 4.0, "", COLOURS[1], 2.0)
        box(transformer, x, 4.0, "", COLOURS[2], 2.0)
        for from_x in PLACES:
            arrow(transformer, (from_x, 1.3), (x, 3.5))
            if abs(x - from_x) < 4:
                arrow(convolution, (from_x, 1.3), (x, 3.5))
    for left, right in pairwise(PLACES):
        arrow(recurrent, (left + 1.1, 4.0), (right - 1.1, 4.0))
    return Picture(
        figure,
        "Three drawings above the words dog, bites and man. In the recurrent network each word has "
        "an arrow up to a memory, and the memories are joined from word to word. In the "
        "convolution each place has arrows only from its word and the neighbours. In the "
        "transformer each place has arrows from all three words.",
        "A recurrent network hands its memory on from word to word. A convolution sees the "
        "neighbours. A transformer sees all words at once, and every arrow is alike.",
    )


def _embedding(word: str) -> list[float]:
    """Return numbers from −2 to 2, the same for the same letters: FNV-1a and a generator."""
    state = 2166136261
    for byte in word.lower().encode():
        state = (state ^ byte) * 16777619 % 2**32
    result = []
    for _ in range(CHANNELS):
        state = (state * 1664525 + 1013904223) % 2**32
        result.append(4 * state / 2**32 - 2)
    return result


def _attention(words: Sequence[str], positions: str) -> np.ndarray:
    """Compute the weights of one head; each query is the row of its token, moved by a channel."""
    places = np.arange(len(words))
    rows = np.array([_embedding(word) for word in words])
    if positions == "sinusoid":
        rows = rows + posenc.sinusoidal(places, CHANNELS)
    queries, keys = np.roll(rows, 1, axis=1), rows
    if positions == "RoPE":
        queries, keys = (posenc.rope(each, places) for each in (queries, keys))
    return np.asarray(posenc.attention_weights(queries, keys))


def _difference(words: Sequence[str], positions: str) -> float:
    """Return the largest difference from the weights of the same words in alphabetical order."""
    order = sorted(range(len(words)), key=lambda n: words[n])
    weights = _attention(words, positions)[np.ix_(order, order)]
    return float(np.abs(_attention([words[n] for n in order], positions) - weights).max())


def _said(words: Sequence[str], positions: str) -> str:
    if len(words) < 2:
        return "Type two words or more."
    most = _difference(words, positions)
    if most < 0.005:
        return (
            "With the words in the order of the alphabet, every word would take the same from "
            "every other."
        )
    return f"With the words in the order of the alphabet, weights would differ by up to {most:.2f}."


def your_sentence() -> Moving:
    """How much each word of a sentence takes from each other"""

    def shown(words: Sequence[str], moved: int, positions: str) -> Shown:
        typed = range(len(words))
        order = [*words, *words][moved % max(len(words), 1) :][: len(words)]
        places = [(n - moved) % len(words) for n in typed]
        weights = _attention(order, positions) if words else np.zeros((0, 0))
        names = [word if len(word) <= LETTERS else f"{word[: LETTERS - 1]}…" for word in order]
        names += [""] * (MOST - len(words))
        halves = 0.48 * np.sqrt(weights)
        return Shown(
            {
                # In the order as typed, so that a square glides to the new place of its words.
                "weight": [
                    [(m + 0.5 - half, n + 0.5 - half), (m + 0.5 + half, n + 0.5 + half)]
                    for n in places
                    for m in places
                    for half in [float(halves[n, m])]
                ]
            },
            _said(order, positions),
            {"x": names, "y": names},
        )

    return Moving(
        module="sentence",
        sentence=Sentence(
            "words",
            "your sentence",
            ("the", "dog", "bites", "the", "man"),
            ((), ("One",), ("b", "a"), ("Größe", "naïve", "sonnig", "überraschend", "a", "A")),
        ),
        choices=(Choice("positions", "positions", ("none", "sinusoid", "RoPE")),),
        sliders=(Slider("moved", "words moved", range(MOST), 0),),
        x=Axis(0, MOST, "from this word", [n + 0.5 for n in range(MOST)], letters=LETTERS),
        y=Axis(MOST, 0, "this word takes", [n + 0.5 for n in range(MOST)], letters=LETTERS),
        height=370,
        series=(Series("weight", "weight, as area; a full square is 1", 0, "box"),),
        shown=shown,
        description="A table with a row and a column for each word of “the dog bites the man”. "
        "A square in each cell shows a weight. The two rows of “the” are alike.",
        caption="A toy: the numbers of a word come from a hash of its letters and mean nothing, "
        "there is one head, and nothing was trained. Move words, or play: the first word goes to "
        "the end. Without positions the squares move with their words, and none changes its size.",
    )
