import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from blocks import length_blocks as length
from pictures.picture import COLOURS, Picture, grid

PANELS = (
    ("absolute, or nothing", ("sinusoidal", "learned", "nope")),
    ("distance in the scores", ("transformer-xl", "xpos", "rope")),
    ("biases", ("alibi", "kerple", "fire", "t5-bias-50", "t5-bias-128")),
    (
        "RoPE, rescaled at the test",
        ("rope", "yarn", "dynamic-ntk", "ntk-aware", "position-interpolation"),
    ),
)
CHANCE = 1 / length.read_results()["settings"]["symbols"]


def recall_by_position() -> Picture:
    """Accuracy at recalling what followed last time, position by position"""
    return Picture(
        _by_position("recall"),
        "Four panels of curves over positions 1 to 200. Up to 100 nearly all curves lie near 1. "
        "After 100, learned and sinusoidal fall to chance within some tens of positions, RoPE "
        "from about 120 on. Transformer-XL, KERPLE and YaRN stay near 1.",
        "Recalling what followed last time. Thick lines are means over five seeds, thin lines the "
        "seeds. Training ended at the dotted line; the dashed line is chance.",
    )


def back_by_position() -> Picture:
    """Accuracy at naming the token three places back, position by position"""
    return Picture(
        _by_position("back"),
        "Four panels of curves over positions 1 to 200, for the second task. ALiBi, KERPLE, FIRE "
        "and the model without positions are low everywhere. Learned and sinusoidal fall at 100, "
        "RoPE later.",
        "Naming the token three places back, shown in the same way.",
    )


def every_seed() -> Picture:
    """Accuracy of every single model at trained and at longer positions"""
    tasks = ("recall", "back")
    figure, plots = grid(1, 2, height=4.6, sharey=True)
    names = list(length.schemes("recall"))
    for plot, task in zip(plots[0], tasks, strict=True):
        for row, name in enumerate(names):
            for part, marker, colour in (("within", "o", COLOURS[0]), ("beyond", "d", COLOURS[1])):
                values = [run[part]["accuracy"] for run in length.seeds(task, name)]
                plot.plot(
                    values,
                    [row + (0.16 if part == "beyond" else -0.16)] * len(values),
                    linestyle="none",
                    marker=marker,
                    markersize=4,
                    fillstyle="none",
                    color=colour,
                    label={"within": "1 to 100", "beyond": "101 to 200"}[part] if not row else None,
                )
        plot.axvline(CHANCE, linestyle="--", linewidth=0.8)
        plot.set(title=task, xlabel="accuracy", xlim=(0, 1.03))
        plot.set_yticks(range(len(names)), names)
        plot.grid(axis="y", alpha=0.2)
    plots[0][0].invert_yaxis()
    figure.legend(*plots[0][0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return Picture(
        figure,
        "One row for each scheme and two panels for the two tasks. Circles, for trained positions, "
        "lie near 1 for most schemes; diamonds, for positions beyond, lie anywhere between chance "
        "and 1. Marks of one row lie close together, but for a few schemes.",
        "Every model: five seeds, at positions 1 to 100 and 101 to 200 of the same sequences. The "
        "dashed line is chance.",
    )


def _by_position(task: str) -> Figure:
    figure, plots = grid(2, 2, height=6.4, sharex=True, sharey=True)
    for plot, (title, names) in zip([*plots[0], *plots[1]], PANELS, strict=True):
        for name, colour in zip(names, COLOURS, strict=False):
            _curves(plot, task, name, colour)
        plot.axvline(100, linestyle=":", linewidth=1)
        plot.axhline(CHANCE, linestyle="--", linewidth=0.8)
        plot.set(ylim=(0, 1.03))
        plot.legend(
            title=title, alignment="left", ncols=2, loc="lower left", bbox_to_anchor=(0, 1),
            fontsize=8, handlelength=1.2, columnspacing=1,
        )  # fmt: skip
    for plot in plots[1]:
        plot.set(xlabel="position")
    for row in plots:
        row[0].set(ylabel="accuracy")
    return figure


def _curves(plot: Axes, task: str, name: str, colour: str) -> None:
    curves = np.array([run["accuracy_by_place"] for run in length.seeds(task, name)])
    bin_ = length.read_results()["settings"]["bin"]
    middles = bin_ * (np.arange(curves.shape[1]) + 0.5) + 0.5
    for curve in curves:
        plot.plot(middles, curve, color=colour, linewidth=0.5, alpha=0.5)
    plot.plot(middles, curves.mean(axis=0), color=colour, label=name)
