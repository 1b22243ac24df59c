from itertools import chain
from typing import Any

import numpy as np

import posenc
from pictures.picture import COLOURS, Picture, axes, draw_frame, grid, shade

Mask = np.ndarray[Any, Any]


def _product(above: Mask, below: Mask) -> Mask:
    return np.asarray(above.astype(int) @ below.astype(int) > 0)


def patterns() -> Picture:
    """Eight patterns, and what two layers of them reach"""
    n = 24
    masks = {
        "causal": posenc.causal_mask(n, n),
        "window, 5 keys": posenc.sliding_window(n, n, 5),
        "window, both sides": posenc.sliding_window(n, n, 4, reach="half-each-side"),
        "dilated, 4 keys, 3 apart": posenc.dilated_window(n, n, 3, 3, reach="window-before"),
        "strided, stride 5": posenc.strided_mask(n, n, 5),
        "fixed, blocks of 5": posenc.fixed_mask(n, n, 5, 1),
        "chunks of 6": posenc.chunked_mask(n, n, 6),
        "BigBird, blocks of 3": posenc.bigbird_mask(n, n, 3),
    }
    figure, plots = grid(2, 4, 7.4, 4.1)
    for plot, (title, mask) in zip(chain.from_iterable(plots), masks.items(), strict=True):
        shade(plot, _product(mask, mask) & ~mask, COLOURS[1], alpha=0.4)
        shade(plot, mask, COLOURS[0])
        draw_frame(plot)
        plot.set_title(title, fontsize=9)
    plots[0][0].set_ylabel("query")
    plots[1][0].set_ylabel("query")
    for plot in plots[1]:
        plot.set_xlabel("key")
    return Picture(
        figure,
        "Eight square maps of query and key. Causal fills the lower triangle. A window is a band "
        "along the diagonal, and two layers double its width. The dilated window has stripes three "
        "apart, and two layers add more such stripes but nothing between them. For the strided "
        "and the fixed pattern two layers fill the lower triangle. For chunks they add nothing. "
        "BigBird has a band of blocks and full first and last rows and columns; two layers fill "
        "the square.",
        "Green: what a query sees in one layer. Orange: what two layers reach beyond it. Strided, "
        "fixed and BigBird are then complete; chunks and one dilation never will be.",
    )


def reach() -> Picture:
    """Keys that the last of 256 queries reaches, by the number of layers"""
    n, most = 256, 8

    def alike(mask: Mask) -> list[Mask]:
        return [mask] * most

    stacks = {
        "strided, stride 16": alike(posenc.strided_mask(n, n, 16)),
        "3 keys, dilations 1, 3, 9, …": [
            posenc.dilated_window(n, n, 2, 3**t, reach="window-before") for t in range(most)
        ],
        "window of 16 keys": alike(posenc.sliding_window(n, n, 16)),
        "16 keys, dilation 3": alike(posenc.dilated_window(n, n, 15, 3, reach="window-before")),
        "chunks of 16": alike(posenc.chunked_mask(n, n, 16)),
    }
    figure, plot = axes(7.0, 3.4)
    for (name, masks), colour, marker in zip(stacks.items(), COLOURS, "os^Dv", strict=False):
        row, counts = np.eye(n, dtype=bool)[-1:], [1]
        for mask in masks:
            row = _product(row, mask)
            counts.append(int(row.sum()))
        plot.plot(range(most + 1), counts, color=colour, marker=marker, markersize=4, label=name)
    plot.set(xlabel="layers", ylabel="keys reached", yscale="log")
    plot.set_yticks([1, 4, 16, 64, 256], ["1", "4", "16", "64", "256"])
    plot.minorticks_off()
    plot.legend(loc="lower right")
    return Picture(
        figure,
        "Curves of reached keys against layers, from 1 key at no layer. Strided reaches all 256 "
        "keys after 2 layers. Three keys with growing dilations triple the number with each layer "
        "and reach all after 6. The window grows by 15 keys with each layer. With dilation 3 the "
        "curve stops at 86. Chunks stay at 16.",
        "Strided reaches everything in two layers. Dilations that grow by 3 multiply the reach by "
        "3, a window adds 15 keys per layer, one dilation stops at a third of the keys, and a "
        "chunk never grows.",
    )
