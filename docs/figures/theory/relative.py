import numpy as np

import posenc
from pictures.picture import COLOURS, DIVERGING, INK, SEQUENTIAL, Picture, draw_frame, grid, shade


def four_maps() -> Picture:
    """Position terms of four schemes, as maps of query and key"""
    n = 48
    rows = posenc.sinusoidal(np.arange(n), 16)
    drawn = np.random.default_rng(5).standard_normal((16, 16))
    ones, none = np.ones(1), np.zeros(1)
    fire = posenc.fire_bias(ones, none, ones[None], none, n, n, threshold=8)
    maps = {
        "added sinusoids, some A": rows @ drawn @ rows.T,
        "ALiBi, symmetric": posenc.alibi_bias(8, n, n, form="symmetric")[2],
        "T5, some table": posenc.t5_bias(np.sin(3.0 * np.arange(32))[:, None], n, n)[0],
        "FIRE's input, L = 8": fire[0],
    }
    figure, plots = grid(1, 4, 7.4, 2.3)
    for plot, (title, values) in zip(plots[0], maps.items(), strict=True):
        shown = np.ma.masked_invalid(values)
        plot.imshow(shown, cmap=DIVERGING if shown.min() < 0 < shown.max() else SEQUENTIAL)
        draw_frame(plot, title)
        plot.set_xlabel("key")
    plots[0][0].set_ylabel("query")
    return Picture(
        figure,
        "Four square maps. The first, of absolute positions and a matrix drawn at random, is "
        "chequered and differs along its diagonals. ALiBi's and T5's consist of stripes parallel "
        "to the main diagonal. FIRE's is a triangle whose bands fan out from the first key once "
        "the query is past the threshold.",
        "What position adds to a logit. With an added encoding and any matrix, a diagonal is not "
        "constant. A bias by distance is: ALiBi's and T5's maps are Toeplitz. FIRE's bands widen "
        "with the query as soon as it has passed the threshold.",
    )


def shifted() -> Picture:
    """The relative shift of 3 queries and 5 keys"""
    queries, keys = 3, 5
    listed = np.broadcast_to(np.arange(keys - 1, -1, -1), (queries, keys))
    whose = np.broadcast_to(np.arange(queries)[:, None], (queries, keys))

    def trick(values: np.ndarray) -> np.ndarray:
        padded = np.pad(values, ((0, 0), (1, 0)), constant_values=-1)
        return padded.reshape(keys + 1, queries)[1:].reshape(queries, keys)

    figure, plots = grid(1, 2, 7.2, 2.2)
    for plot, rows, distance in zip(
        plots[0], (whose, trick(whose)), (listed, trick(listed)), strict=True
    ):
        for query in range(queries):
            shade(plot, rows == query, COLOURS[query], alpha=0.55)
        for i, j in np.ndindex(queries, keys):
            shown = str(distance[i, j]) if rows[i, j] >= 0 else "0"
            plot.text(j, i, shown, ha="center", va="center")
            if rows[i, j] != i:
                plot.plot([j - 0.4, j + 0.4], [i + 0.4, i - 0.4], color=INK, linewidth=1)
        draw_frame(plot)
        plot.set_yticks(range(queries), [f"query {i + 1}" for i in range(queries)])
    plots[0][0].set_title("products, by distance")
    plots[0][1].set_title("after the shift, by key")
    plots[0][1].set_xticks(range(keys), [f"key {j + 1}" for j in range(keys)])
    return Picture(
        figure,
        "Before the shift, three rows of five cells, one colour for each query, with the distances "
        "4, 3, 2, 1, 0 in each. After it, the first row holds 2, 1, 0, then a struck-out padding "
        "zero and a struck-out 4 in the second row's colour. The second row holds 3, 2, 1, 0 and a "
        "struck-out zero. The third is as before.",
        "Numbers are distances, colours the query that was multiplied. After the shift each row "
        "ends with distance 0 at the query's own key. The struck-out entries after it are a zero "
        "of the padding, then distances of the next query.",
    )
