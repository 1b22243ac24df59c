"""What encodings share, most of them made of sines and cosines."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from posenc_conformance.diagnose.mistakes import Model, attempt, bases
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.judge.bounded import Answer
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.trial import Trial

CIRCLE = "sine and cosine of a pair do not lie on the unit circle"


@dataclass(frozen=True)
class Waves:
    """Sines and cosines of an answer, pair by pair."""

    sin: Answer
    cos: Answer
    factor: float = 1.0
    """What both are multiplied by."""

    def __getitem__(self, index: Any) -> "Waves":
        return Waves(self.sin[index], self.cos[index], self.factor)


def on_circles(trial: Trial, waves: Waves, what: str = CIRCLE) -> None:
    """Demand that each pair lies on its circle."""
    sin, cos = waves.sin, waves.cos
    trial.zero(sin * sin + cos * cos - waves.factor**2, what)


def at_twice_the_angle(trial: Trial, once: Waves, twice: Waves, what: str) -> None:
    """Demand sin 2a = 2 sin a cos a and cos 2a = cos² a - sin² a."""
    sin, cos = once.sin, once.cos
    trial.zero(2 * sin * cos - twice.sin * once.factor, what)
    trial.zero(cos * cos - sin * sin - twice.cos * once.factor, what)


def dot_products(rows: Answer) -> Answer:
    """Dot product of every two rows."""
    return (rows[:, None] * rows[None]).sum(axis=-1)


def along_diagonals(dots: Answer) -> Answer:
    """By how much dot products of neighbouring rows change: nothing, if distance alone counts."""
    return dots[1:, 1:] - dots[:-1, :-1]


def all_different(trial: Trial, answer: Answer, what: str) -> None:
    """Demand that rows differ, wherever the truth differs by more than errors."""
    rows, truth, bound = answer.values, answer.case.truth, answer.bound
    equal = np.all(rows[:, None] == rows[None], axis=-1) & ~np.eye(len(rows), dtype=bool)
    gap = np.max(np.abs(truth[:, None] - truth[None]) - bound[:, None] - bound[None], axis=-1)
    trial.never(answer, equal & (gap > 0), what)


def channels_alike(trial: Trial, answer: Answer) -> None:
    """Demand one number in all channels of a row."""
    wrong = answer.values != answer.values[:, :1]
    trial.never(answer, wrong, "the channels of a row differ")


def wrong_base(case: Case, got: Floats) -> Iterator[Model]:
    """Another base."""
    yield from bases(case, None)


def one_row_for_all(case: Case, got: Floats) -> Iterator[Model]:
    """One row at every position: that of their number, or of the last or first one."""
    positions = case.arguments["positions"]
    if len(positions) < 2:
        return
    last = int(positions[-1])
    for row in dict.fromkeys((len(positions), last + 1, last, int(positions[0]))):
        alike = case.changed(positions=np.full_like(positions, row))
        yield from attempt(alike, f"matches the row of position {row} at every position")
