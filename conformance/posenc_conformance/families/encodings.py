"""Shared parts of encoding schemes, most of which consist of sines and cosines."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from posenc_conformance.diagnose.predictors import bases, predict_case
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.judge.bounded import Answer
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.deviation import Prediction
from posenc_conformance.judge.trial import Trial

CIRCLE = "sine and cosine of a pair do not lie on the unit circle"


def growth(omega: Floats) -> Floats:
    """Compute 1 + |ln w| of each frequency w, which the error of a power grows by; 0 for 0."""
    return np.where(omega > 0, 1 + np.abs(np.log(np.where(omega > 0, omega, 1))), 0)


def errors_of(angles: Floats, places: Floats, omega: Floats) -> Floats:
    """Compute the errors of a mistake's angles, in units of u times ``accuracy.angle``.

    They grow with the frequency that the call has at these places, or with that of the angles
    themselves: code may compute either.
    """
    rate = np.abs(angles) / np.maximum(np.abs(places), 1)
    return np.abs(angles) * np.maximum(growth(rate), growth(omega))


@dataclass(frozen=True)
class Waves:
    """The sines and the cosines in an answer, one of each per pair."""

    sin: Answer
    cos: Answer
    factor: float = 1.0
    """The number by which sines and cosines are multiplied."""

    def __getitem__(self, index: Any) -> "Waves":
        return Waves(self.sin[index], self.cos[index], self.factor)


def on_circles(trial: Trial, waves: Waves, what: str = CIRCLE) -> None:
    """Check that each pair of sine and cosine lies on the circle of radius ``waves.factor``."""
    sin, cos = waves.sin, waves.cos
    trial.assert_zero(sin * sin + cos * cos - waves.factor**2, what)


def at_twice_the_angle(trial: Trial, once: Waves, twice: Waves, what: str) -> None:
    """Check that sin 2a = 2 sin a cos a and cos 2a = cos² a - sin² a."""
    sin, cos = once.sin, once.cos
    trial.assert_zero(2 * sin * cos - twice.sin * once.factor, what)
    trial.assert_zero(cos * cos - sin * sin - twice.cos * once.factor, what)


def dot_products(rows: Answer) -> Answer:
    """Compute the dot product of every pair of rows."""
    return (rows[:, None] * rows[None]).sum(axis=-1)


def along_diagonals(dots: Answer) -> Answer:
    """Compute the change in each dot product when both rows move on by one.

    It is 0 if the dot product depends only on the distance.
    """
    return dots[1:, 1:] - dots[:-1, :-1]


def all_different(trial: Trial, answer: Answer, what: str) -> None:
    """Check that rows differ wherever their true rows differ by more than the error bounds."""
    rows, truth, bound = answer.values, answer.case.truth, answer.bound
    equal = np.all(rows[:, None] == rows[None], axis=-1) & ~np.eye(len(rows), dtype=bool)
    gap = np.max(np.abs(truth[:, None] - truth[None]) - bound[:, None] - bound[None], axis=-1)
    trial.assert_none(answer, equal & (gap > 0), what)


def channels_alike(trial: Trial, answer: Answer) -> None:
    """Check that all channels of a row contain the same number."""
    wrong = answer.values != answer.values[:, :1]
    trial.assert_none(answer, wrong, "the channels of a row differ")


def wrong_base(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the result with another base in common use."""
    yield from bases(case, None)


def one_row_for_all(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the same row at every position.

    It is the row of the last position, of the one after it, of the first, or of the position that
    equals the number of positions.
    """
    positions = case.arguments["positions"]
    if len(positions) < 2:
        return
    last = int(positions[-1])
    for row in dict.fromkeys((len(positions), last + 1, last, int(positions[0]))):
        alike = case.with_arguments(positions=np.full_like(positions, row))
        yield from predict_case(alike, f"matches the row of position {row} at every position")
