"""The mistake that each golden of Fourier features alone catches."""

import numpy as np

from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from tests.golden_mistakes.common import Mistake


def under(**conventions: str) -> Mistake:
    """The result under other conventions."""
    return lambda case: case.under(**conventions).truth


def octaves_end_at(last: int) -> Mistake:
    """Frequencies that stop doubling."""

    def mistake(case: Case) -> Array:
        x, count = case.arguments["x"], case.arguments["num_frequencies"]
        factor = np.pi if case.conventions["factor"] == "pi" else 1.0
        octaves = factor * 2.0 ** np.minimum(np.arange(count), last)
        angles = x[..., None] * octaves
        waves = np.stack([np.sin(angles), np.cos(angles)], axis=-1)
        if case.conventions["order"] == "by-frequency":
            waves = np.moveaxis(waves, -3, -1)
        features = waves.reshape(*x.shape[:-1], -1)
        if case.conventions["include_input"] == "first":
            features = np.concatenate([x, features], axis=-1)
        return features

    return mistake


def cut_off_at_1(case: Case) -> Array:
    """Coordinates held within [-1, 1]."""
    return case.changed(x=np.clip(case.arguments["x"], -1, 1)).truth


def side_by_side(case: Case) -> Array:
    """For each frequency, sine and cosine of the first coordinate, then of the second."""
    out = case.changed().truth.copy()
    coords, count = case.arguments["x"].shape[-1], case.arguments["num_frequencies"]
    waves = out[..., coords:].reshape(-1, count, 2, coords)
    out[..., coords:] = np.moveaxis(waves, -1, -2).reshape(len(out), -1)
    return out


def second_coordinate_ignored(case: Case) -> Array:
    """The first coordinate alone."""
    x = case.arguments["x"].copy()
    x[..., 1:] = 0
    return case.changed(x=x).truth


def turns_at_most(limit: float) -> Mistake:
    """Projections cut off at some turns."""

    def mistake(case: Case) -> Array:
        turns = np.clip(case.arguments["x"] @ case.arguments["b"].T, -limit, limit)
        parts = [np.cos(2 * np.pi * turns), np.sin(2 * np.pi * turns)]
        if case.conventions["waves"] == "sin-cos":
            parts.reverse()
        return np.concatenate(parts, axis=-1)

    return mistake


MISTAKES: dict[str, Mistake] = {
    "nerf-paper-3d": under(order="by-frequency"),
    "nerf-paper-10-frequencies": octaves_end_at(7),
    "nerf-paper-beyond-1": cut_off_at_1,
    "nerf-code-3d": side_by_side,
    "nerf-code-10-frequencies": octaves_end_at(7),
    "gaussian-paper-2d": second_coordinate_ignored,
    "gaussian-paper-10-turns": turns_at_most(8),
    "gaussian-code-2d": second_coordinate_ignored,
    "gaussian-code-10-turns": turns_at_most(8),
}
