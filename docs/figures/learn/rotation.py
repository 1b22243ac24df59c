import numpy as np

import posenc
from pages import figures_of
from pictures.animations import (
    Axis,
    Choice,
    Moving,
    Note,
    Pick,
    Point,
    Series,
    Shown,
    Slider,
    Stroke,
)
from pictures.picture import Picture

BASE = 16
"""A base with which hands of so few channels turn visibly."""
DIM, BACK, FARTHEST = 8, 3, 16
LAYOUTS = {"neighbours": "interleaved", "halves": "half"}
TOKENS, PROMPT = 8, 3


def arrows() -> Picture:
    """One pair of a query and of a key, turned by their positions"""
    figure: Picture = figures_of("schemes/rope.md").arrows()
    return figure


def turning() -> Moving:
    """Four pairs of a query and a key, turned by their positions"""
    figure: Moving = figures_of("schemes/rope.md").turning()
    return figure


def _channels(layout: str) -> list[tuple[int, int]]:
    """Return the two channels of each pair."""
    half = DIM // 2
    return [(2 * t, 2 * t + 1) if layout == "neighbours" else (t, t + half) for t in range(half)]


def _scores(weights: str, code: str) -> list[float]:
    """Return the score by distance of a query and a key that fit best at distance 3."""
    query, key = np.zeros(DIM), np.zeros(DIM)
    for t, (first, second) in enumerate(_channels(weights)):
        angle = BACK * BASE ** (-2 * t / DIM)
        query[first], query[second] = np.cos(angle), -np.sin(angle)
        key[first] = 1
    distances = np.arange(FARTHEST + 1)
    queries = np.tile(query, (len(distances), 1))
    turned = posenc.rope(queries, distances, base=BASE, layout=LAYOUTS[code])
    return [float(row @ key) / 4 for row in turned]


def _brackets(layout: str, start: float, step: float) -> list[Stroke]:
    """Join the two channels of each pair; those of halves overlap, so each has its own height."""
    return [
        [
            (1 + 2 * first, start),
            (1 + 2 * first, start + step * (t + 1 if layout == "halves" else 1)),
            (1 + 2 * second, start + step * (t + 1 if layout == "halves" else 1)),
            (1 + 2 * second, start),
        ]
        for t, (first, second) in enumerate(_channels(layout))
    ]


def _written(score: float) -> str:
    return f"{score:.2f}".replace("-", "−")


def layouts() -> Moving:
    """Parameters of one layout with code of the other"""

    def shown(distance: int, weights: str, code: str) -> Shown:
        right, got = _scores(weights, weights), _scores(weights, code)
        (first, second), (turned, other) = _channels(weights)[0], _channels(code)[0]
        agree = (
            f"Both pair channel {first} with {second}."
            if weights == code
            else f"The weights pair channel {first} with {second}, the code turns {turned} with "
            f"{other}."
        )
        tokens = "token" if distance == 1 else "tokens"
        return Shown(
            {
                "weights": [list(enumerate(right)), *_brackets(weights, 1.85, -0.12)],
                "code": [list(enumerate(got)), *_brackets(code, 2.45, 0.12)],
                "now": [[(distance, got[distance])]],
            },
            f"{agree} The score {distance} {tokens} back is {_written(got[distance])}; right is "
            f"{_written(right[distance])}.",
        )

    boxes: list[list[Point]] = [
        [(x - 0.6, 1.9), (x + 0.6, 1.9), (x + 0.6, 2.4), (x - 0.6, 2.4), (x - 0.6, 1.9)]
        for x in range(1, 2 * DIM, 2)
    ]
    return Moving(
        module="layouts",
        sliders=(Slider("distance", "distance", range(FARTHEST + 1), BACK),),
        choices=(
            Choice("weights", "weights for", tuple(LAYOUTS)),
            Choice("code", "code for", tuple(reversed(LAYOUTS))),
        ),
        x=Axis(-1.2, FARTHEST, "how many tokens back the key stands", range(0, FARTHEST + 1, 4)),
        y=Axis(-1.05, 3),
        height=330,
        series=(
            Series("weights", "as the weights were trained", 0),
            Series("code", "as the code turns them", 1),
            Series("now", "", 1, "dot"),
        ),
        shown=shown,
        description="Eight boxes for the channels 0 to 7. Brackets below them join 0 with 1, 2 "
        "with 3 and so on: the pairs of the weights. Brackets above join 0 with 4, 1 with 5 and so "
        "on: the pairs of the code. Under this, two curves of the score by distance. One "
        "has its peak of 1 at distance 3, the other stays lower.",
        caption="This head has learned to look three tokens back. It does so when the code pairs "
        "the channels as they were trained. With the other layout, each channel turns with the "
        "wrong partner, and mostly at the wrong speed. No error is raised.",
        background=[*boxes, [(0, -1.05), (0, 1.05)], [(0, 0), (FARTHEST, 0)]],
        notes=(
            *(Note(1 + 2 * n, 2.07, f"{n}", "middle") for n in range(DIM)),
            *(Note(-0.2, y - 0.05, words, "end") for y, words in ((1, "1"), (0, "0"), (-1, "−1"))),
            Note(0.3, 1.12, "score"),
        ),
        pick=Pick("distance", "x", -0.5),
    )


def cache() -> Moving:
    """A cache of turned keys, token by token"""
    middles = (3.2, 2.0)
    turn = np.linspace(0, 2 * np.pi, 37)
    rims = [
        [(n + 0.42 * float(np.cos(a)), y + 0.42 * float(np.sin(a))) for a in turn]
        for y in middles
        for n in range(TOKENS)
    ]

    def hands(rows: np.ndarray) -> list[Stroke]:
        return [
            [(n, y), (n + 0.42 * float(row[2 * t]), y + 0.42 * float(row[2 * t + 1]))]
            for t, y in enumerate(middles)
            for n, row in enumerate(rows)
        ]

    def keys_and_scores(positions: list[int]) -> tuple[np.ndarray, list[float]]:
        keys = posenc.rope(np.tile([1.0, 0.0], (len(positions), 2)), positions, base=BASE)
        return keys, [float(key @ keys[-1]) / 2 for key in keys]

    def shown(tokens: int, positions: str) -> Shown:
        places = list(range(tokens))
        given = [0 if positions == "restart at 0" and n >= PROMPT else n for n in places]
        (_, right), (keys, got) = keys_and_scores(places), keys_and_scores(given)
        return Shown(
            {
                "key": hands(keys),
                "query": hands(np.tile(keys[-1], (tokens, 1))),
                "score": [[(n - 0.3, 0), (n + 0.3, score)] for n, score in enumerate(got)],
                "right": [[(n - 0.4, score), (n + 0.4, score)] for n, score in enumerate(right)],
            },
            f"Token {tokens - 1} gets position {given[-1]}. Its query has with the key before it "
            f"the score {_written(got[-2])}; right is {_written(right[-2])}.",
            {"x": [*map(str, given), *[""] * (TOKENS - tokens)]},
        )

    return Moving(
        module="cache",
        sliders=(Slider("tokens", "tokens", range(PROMPT, TOKENS + 1), 5),),
        choices=(Choice("positions", "positions", ("go on", "restart at 0")),),
        x=Axis(
            -1.3, TOKENS - 0.5, "position by which each key was turned", range(TOKENS), letters=1
        ),
        y=Axis(-1.1, 3.7),
        height=290,
        series=(
            Series("key", "key, turned once and kept", 0, "hand"),
            Series("query", "query of the newest token", 1, "hand"),
            Series("score", "score", 2, "box"),
            Series("right", "right score", 7),
        ),
        shown=shown,
        description="Two rows of clocks, one column for each token, a fast pair above and a slow "
        "one below. Each clock with a key has a second hand, that of the query. Below, a bar for "
        "the score of each key; it ends at a line that marks the right score.",
        caption="The first three tokens are the prompt, read in one call. Each later token comes "
        "alone: one key is added, the others stay. Choose “restart at 0”: a program counts the "
        "tokens of each call from 0. New keys and queries are not turned, and the scores are "
        "those of other distances.",
        background=[*rims, [(-0.5, 0), (TOKENS - 0.5, 0)]],
        notes=(
            Note(-0.55, 3.12, "fast", "end"),
            Note(-0.55, 1.92, "slow", "end"),
            Note(-0.55, 0.9, "1", "end"),
            Note(-0.55, -0.06, "0", "end"),
            Note(-0.55, -1.05, "−1", "end"),
        ),
    )
