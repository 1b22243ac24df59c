import numpy as np

import posenc
from pictures.picture import COLOURS, Picture, axes


def counting() -> Picture:
    """Positions seen by the last of 16 tokens, for three kinds of gates"""
    n = 16
    stops = np.isin(np.arange(n), [3, 7, 12])
    kinds = {
        "all gates open": np.full(n, 40.0),
        "open at three full stops": np.where(stops, 40.0, -40.0),
        "keys of zeros: gates of one half": np.zeros(n),
    }
    counting = np.arange(n + 2.0)[:, None]
    figure, plot = axes(7.0, 3.0)
    for (name, keys), colour, marker in zip(kinds.items(), COLOURS, "os^", strict=False):
        k = keys[None, :, None]
        logits = posenc.cope_scores(np.ones((1, 1, 1)), k, counting)[0, 0]
        plot.plot(
            np.arange(n), logits - keys, color=colour, marker=marker, linestyle=":", label=name
        )
    plot.set(xlabel="key; the query stands at 15", ylabel="position of the key", ylim=(-0.6, 17))
    plot.set_xticks(range(0, n, 3))
    plot.set_yticks(range(0, n + 1, 4))
    plot.legend()
    return Picture(
        figure,
        "Three rows of dots over keys 0 to 15. With all gates open they fall in a line from 16 at "
        "key 0 to 1 at key 15. With half-open gates the line is half as high. With gates open at "
        "keys 3, 7 and 12 the dots form steps: 3 up to key 3, 2 up to key 7, 1 up to key 12 and 0 "
        "behind.",
        "Open gates count tokens, half-open ones count halves, and gates that open at full stops "
        "count sentences.",
    )
