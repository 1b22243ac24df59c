"""Time2Vec: one linear channel and waves of learned frequencies.

Source: Kazemi et al. 2019, "Time2Vec: Learning a Vector Representation of Time", arXiv 1907.05321,
equation 1.
"""

from decimal import Decimal

import numpy as np
import numpy.typing as npt

from posenc import arguments
from posenc.elementary import add, dot, pair, total
from posenc.exact import turns
from posenc.schemes.absolute.timestep import sincos_of_pair

__all__ = ["time2vec"]

LINEAR = ("first", "last")
WAVES = ("sin", "cos")
RADIAN = turns((Decimal(1),))


def time2vec(
    x: npt.ArrayLike,
    w: npt.ArrayLike,
    b: npt.ArrayLike,
    *,
    linear: str = "first",
    wave: str = "sin",
) -> npt.NDArray[np.floating]:
    """Return one channel linear in time, and waves in all other channels.

    One channel of ``x @ w + b`` stays as it is; ``wave`` is applied to all others.

    Parameters
    ----------
    x : array of shape [..., inputs]
        Times.
    w : array of shape [inputs, dim]
        Frequencies in radians per unit of time, and the slope of the linear channel.
    b : array of shape [dim]
        Phases, and the intercept of the linear channel.
    linear : "first" or "last"
        Which channel is linear.
    wave : "sin" or "cos"
        The periodic function.

    Returns
    -------
    array of shape [..., dim] and the dtype of the arrays

    Raises
    ------
    TypeError
        If an array is not floating.
    ValueError
        If an argument is out of its domain.
    """
    arguments.choice("linear", linear, LINEAR)
    arguments.choice("wave", wave, WAVES)
    arrays = [np.asarray(array) for array in (x, w, b)]
    arguments.finite(**dict(zip("xwb", arrays, strict=True)))
    times, frequencies, phases = (array.astype(np.float64) for array in arrays)
    expected = (times.shape[-1:] or (0,)) + phases.shape
    if phases.ndim != 1 or not len(phases) or frequencies.shape != expected:
        raise ValueError(
            f"x, w and b have shapes {times.shape}, {frequencies.shape} and {phases.shape}; "
            "they must be [..., inputs], [inputs, dim] and [dim]"
        )
    angles = add(dot(times[..., None, :], frequencies.T), pair(phases))
    periodic = sincos_of_pair(angles, RADIAN)
    waves = (periodic.sin if wave == "sin" else periodic.cos).high[..., 0]
    straight = np.arange(len(phases)) == (0 if linear == "first" else len(phases) - 1)
    return np.where(straight, total(angles), waves).astype(np.result_type(*arrays))
