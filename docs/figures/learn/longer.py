import numpy as np

from blocks import length_blocks as length
from pages import figures_of
from pictures.animations import Axis, Choice, Moving, Note, Pick, Series, Shown, Slider

TASKS = {"what followed last time": "recall", "the token three back": "back"}
SCHEMES = {
    "sinusoid": "sinusoidal",
    "RoPE": "rope",
    "RoPE with YaRN": "yarn",
    "T5's bias": "t5-bias-128",
    "ALiBi": "alibi",
}
BIN, TRAINED, TESTED = (
    length.read_results()["settings"][name] for name in ("bin", "trained_length", "tested_length")
)


def squeezed() -> Moving:
    """Tokens of a text on a wave whose beginning was seen in training"""
    figure: Moving = figures_of("schemes/position-interpolation.md").squeezed()
    return figure


def _mean(task: str, scheme: str) -> list[float]:
    """Return the mean accuracy of all seeds, for each bin of positions."""
    curves = [run["accuracy_by_place"] for run in length.seeds(task, scheme)]
    return [round(float(value), 4) for value in np.mean(curves, axis=0)]


def beyond() -> Moving:
    """What small models still know beyond the length of their training"""
    measured = {
        words: {name: _mean(task, scheme) for name, scheme in SCHEMES.items()}
        for words, task in TASKS.items()
    }
    unlearned = [name for name, scheme in SCHEMES.items() if not length.learned("back", scheme)]

    def shown(position: int, task: str) -> Shown:
        curves = {
            name: [
                (BIN * n + (BIN + 1) / 2, value)
                for n, value in enumerate(accuracies[: position // BIN])
            ]
            for name, accuracies in measured[task].items()
        }
        words = ", ".join(
            f"{name} {int(100 * curve[-1][1] + 0.5)}\u00a0%" for name, curve in curves.items()
        )
        where = "never seen in training" if position > TRAINED else "as in training"
        return Shown(
            {name: [curve] for name, curve in curves.items()}
            | {"now": [[curve[-1]] for curve in curves.values()]},
            f"Positions {position - BIN + 1} to {position}, {where}: {words}.",
        )

    return Moving(
        module="beyond",
        sliders=(Slider("position", "position", range(BIN, TESTED + 1, BIN), TESTED),),
        choices=(Choice("task", "the model says", tuple(TASKS)),),
        x=Axis(0, TESTED, "position", (0, 50, 100, 150, 200)),
        y=Axis(0, 1.04, "share of right answers", (0, 0.5, 1)),
        height=260,
        series=(
            *(
                Series(name, name, colour)
                for name, colour in zip(SCHEMES, (1, 0, 2, 3, 7), strict=True)
            ),
            Series("now", "", 7, "dot"),
        ),
        shown=shown,
        description="Five curves over the positions. Up to the trained length all are high. Beyond "
        "it the sinusoid falls first, then T5's bias and RoPE, all three nearly to the bottom. "
        "RoPE with YaRN stays on top, and ALiBi a little below it.",
        caption=f"Small models, trained with texts of {TRAINED} tokens and tested with {TESTED}: "
        f"means of {len(length.read_results()['seeds'])} for each encoding. "
        f"{' and '.join(unlearned)} never learned the second task.",
        background=[[(TRAINED, 0), (TRAINED, 1.04)]],
        notes=(Note(TRAINED - 3, 0.06, "trained", "end"), Note(TRAINED + 3, 0.06, "new")),
        pick=Pick("position", "x", 0, BIN),
        data=measured,
    )
