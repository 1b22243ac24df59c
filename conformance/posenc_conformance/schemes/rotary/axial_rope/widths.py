"""The division of a head's channels among three axes."""

from collections.abc import Callable, Iterator

import numpy as np

from posenc_conformance.judge.arrays import Floats
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.deviation import Prediction
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict


def arguments(trial: Trial) -> ArgumentDict:
    """Draw the size of a head."""
    return {"head_dim": trial.choose("head_dim", (64, 16, 32, 128, 48, 96, 80, 256))}


def sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield small and large heads, divisible by six or not."""
    return ({"head_dim": head_dim} for head_dim in (16, 32, 48, 80, 112, 160, 192, 512))


def widths_add_up(trial: Trial) -> None:
    """Check that the three widths add up to head_dim."""
    answer = trial.answer(**arguments(trial))
    wrong = answer.values.sum() != answer.case.arguments["head_dim"]
    trial.assert_none(answer, np.array([wrong]), "the widths do not add up to head_dim")


def widths_are_pairs(trial: Trial) -> None:
    """Check that every width is even and positive."""
    answer = trial.answer(**arguments(trial))
    wrong = (answer.values % 2 != 0) | (answer.values <= 0)
    trial.assert_none(answer, wrong, "an axis has no whole pairs")


def sides_alike(trial: Trial) -> None:
    """Check that height and width have equally many channels."""
    answer = trial.answer(**arguments(trial))
    wrong = answer.values[1] != answer.values[2]
    trial.assert_none(answer, np.array([wrong]), "height and width have different widths")


def model(
    words: str, widths: Callable[[int], tuple[int, int, int]]
) -> Callable[..., Iterator[Prediction]]:
    """Make a model that predicts another split of the head."""

    def models(case: Case, got: Floats) -> Iterator[Prediction]:
        yield Prediction(words, np.array(widths(int(case.arguments["head_dim"])), dtype=np.float64))

    return models


def thirds(head_dim: int) -> tuple[int, int, int]:
    """Give a third of the head to height and to width, even or not."""
    side = head_dim // 3
    return head_dim - 2 * side, side, side


def rest_to_width(head_dim: int) -> tuple[int, int, int]:
    """Split the head into three equal axes, and give the rest to the last one."""
    side = head_dim // 6 * 2
    return side, side, head_dim - 2 * side
