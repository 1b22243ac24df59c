"""How many channels of a head each axis has."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from posenc_conformance.diagnose.mistakes import Model
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.trial import Trial


def arguments(trial: Trial) -> dict[str, Any]:
    """A size of a head."""
    return {"head_dim": trial.choose("head_dim", (64, 16, 32, 128, 48, 96, 80, 256))}


def sizes(case: Case) -> Iterator[dict[str, Any]]:
    """Heads whose sixth is whole and not, large and small."""
    return ({"head_dim": head_dim} for head_dim in (16, 32, 48, 80, 112, 160, 192, 512))


def widths_add_up(trial: Trial) -> None:
    """The three widths are head_dim together."""
    answer = trial.answer(**arguments(trial))
    wrong = answer.values.sum() != answer.case.arguments["head_dim"]
    trial.never(answer, np.array([wrong]), "the widths do not add up to head_dim")


def widths_are_pairs(trial: Trial) -> None:
    """Every width is even and above zero."""
    answer = trial.answer(**arguments(trial))
    wrong = (answer.values % 2 != 0) | (answer.values <= 0)
    trial.never(answer, wrong, "an axis has no whole pairs")


def sides_alike(trial: Trial) -> None:
    """Height and width have as many channels."""
    answer = trial.answer(**arguments(trial))
    wrong = answer.values[1] != answer.values[2]
    trial.never(answer, np.array([wrong]), "height and width have different widths")


def model(
    words: str, widths: Callable[[int], tuple[int, int, int]]
) -> Callable[..., Iterator[Model]]:
    """The head shared out in another way."""

    def models(case: Case, got: Floats) -> Iterator[Model]:
        yield Model(words, np.array(widths(int(case.arguments["head_dim"])), dtype=np.float64))

    return models


def thirds(head_dim: int) -> tuple[int, int, int]:
    """A third for height and for width, even or not."""
    side = head_dim // 3
    return head_dim - 2 * side, side, side


def rest_to_width(head_dim: int) -> tuple[int, int, int]:
    """Three equal axes, what is left going to the last."""
    side = head_dim // 6 * 2
    return side, side, head_dim - 2 * side
