"""What the kit knows of logits that are sums of separate terms for content and for position."""

import numpy as np
import numpy.typing as npt

from posenc_conformance.judge.arrays import Floats
from posenc_conformance.judge.bounded import Answer
from posenc_conformance.judge.trial import Trial

Integers = npt.NDArray[np.int64]


def products(rows: Floats, columns: Floats) -> Floats:
    """Dot product of every row of one array with every row of the other."""
    return np.asarray(rows @ np.swapaxes(columns, -1, -2))


def seen(answer: Answer) -> npt.NDArray[np.bool_]:
    """Which logits are not hidden."""
    return np.isfinite(answer.case.truth)


def shown(answer: Answer) -> Floats:
    """The logits, with 0 where they are hidden."""
    return np.where(seen(answer), answer.values, 0.0)


def exact(answer: Answer, trial: Trial, wrong: npt.NDArray[np.bool_], what: str) -> None:
    """Demand that nothing is wrong."""
    trial.within(answer, wrong.astype(np.float64), np.zeros(wrong.shape), what)


def allowed(trial: Trial, name: str, value: int) -> bool:
    """Whether the claim lets a size have this value."""
    return value in trial.scope.parameters.get(name, (value,))
