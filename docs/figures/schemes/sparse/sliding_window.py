import numpy as np

import posenc
from pictures.animations import Axis, Moving, Series, Shown, Slider
from pictures.picture import COLOURS, Picture, draw_frame, grid, shade


def reaches() -> Picture:
    """Four readings of a window of 4"""
    figure, plots = grid(1, 4, 7.4, 2.3)
    names = ("window-keys", "window-before", "window-each-side", "half-each-side")
    for plot, reach in zip(plots[0], names, strict=True):
        mask = posenc.sliding_window(14, 14, 4, reach=reach)
        shade(plot, mask, COLOURS[0])
        row = 0 * mask
        row[7] = mask[7]
        shade(plot, row, COLOURS[1])
        draw_frame(plot)
        plot.set_title(reach, fontsize=9)
        plot.set_xlabel(f"{mask[7].sum()} keys")
    plots[0][0].set_ylabel("query")
    return Picture(
        figure,
        "Four bands of 14 queries and 14 keys with the row of query 7 marked: 4 keys up to the "
        "query, 5 keys up to the query, 9 keys with the query in the middle, and 5 keys with the "
        "query in the middle.",
        "The same number, 4, read in four ways. The row of one query is marked; it has 4, 5, 9 and "
        "5 keys.",
    )


def layers() -> Moving:
    """Keys that a query sees directly, and through several layers"""
    tokens = 24

    def boxes(mask: np.ndarray) -> list[list[tuple[float, float]]]:
        rows = [(query, np.flatnonzero(row)) for query, row in enumerate(mask)]
        return [[(float(keys[0]), query), (float(keys[-1]) + 1, query + 1)] for query, keys in rows]

    def shown(window: int, layers: int) -> Shown:
        sees = posenc.sliding_window(tokens, tokens, window)
        reached = np.linalg.matrix_power(sees.astype(np.int64), layers) > 0
        return Shown(
            {"reached": boxes(reached), "seen": boxes(sees)},
            f"The last query sees {sees[-1].sum()} of {tokens} keys. After {layers} "
            f"{'layer' if layers == 1 else 'layers'} it can know of {reached[-1].sum()}.",
        )

    return Moving(
        module="sliding-window",
        sliders=(
            Slider("window", "window", range(1, 13), 4),
            Slider("layers", "layers", range(1, 9), 3),
        ),
        x=Axis(0, tokens, "key", (0, 8, 16, 24)),
        y=Axis(tokens, 0, "query", (0, 8, 16, 24)),
        height=300,
        series=(
            Series("reached", "known through the layers", 7, "box"),
            Series("seen", "seen in one layer", 0, "box"),
        ),
        shown=shown,
        description="A square of 24 queries and 24 keys. Along the diagonal lies a band of 4 keys "
        "for each query, and beside it a paler one that reaches 10 keys back.",
        caption="With the reading window-keys. Each layer adds a window less one key to what a "
        "token can know of.",
    )
