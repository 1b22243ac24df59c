"""Rotary embedding of three axes with waves tiled over each axis: V-JEPA 2."""

from collections.abc import Callable, Iterator
from itertools import permutations

import numpy as np

import posenc
from posenc_conformance.diagnose.predictors import predict_case, rounded_angles
from posenc_conformance.families.rotary import POLAR, ROWS, far, progression
from posenc_conformance.judge.arrays import Floats, fine, round_to
from posenc_conformance.judge.bounded import Exact
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.deviation import Prediction
from posenc_conformance.judge.positions import positions_up_to
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments
from posenc_conformance.schemes.rotary.axial_rope.axial_rotation import TOKENS

BASE = 10000.0


def axis_width(case: Case) -> int:
    """Return the number of channels of each of the three axes."""
    return int(case.arguments["x"].shape[-1] // 6 * 2)


def places(case: Case) -> Floats:
    """Return the position of each token on the axis of each channel: [n, channels]."""
    axis = np.repeat(np.arange(3), axis_width(case))
    return np.asarray(case.arguments["positions"][axis].T, dtype=np.float64)


def frequencies(case: Case) -> Floats:
    """Compute the frequency of each channel in radians per position."""
    return np.tile(progression(BASE, axis_width(case)), 6)


def turned(case: Case, angles: Floats, short: str = "float64") -> Floats:
    """Compute the result for other angles, one per row and channel.

    Cosines and sines are rounded to the dtype ``short``.
    """
    x = case.arguments["x"]
    out, own = np.array(x, dtype=np.float64), x[..., : angles.shape[-1]]
    cos, sin = (round_to(wave(angles), short) for wave in (np.cos, np.sin))
    beside = np.stack([-own[..., 1::2], own[..., 0::2]], axis=-1).reshape(own.shape)
    out[..., : angles.shape[-1]] = own * cos + beside * sin
    return out


def error_terms(case: Case) -> ErrorTerms:
    """Return the scale, which is the length of the pair, and the angle.

    The scale of channels that pass through is 0, because they must not change at all.
    """
    x, omega = case.arguments["x"], frequencies(case)
    scale, angle = np.zeros(x.shape), np.zeros(x.shape)
    own = x[..., : len(omega)]
    scale[..., : len(omega)] = np.repeat(np.hypot(own[..., 0::2], own[..., 1::2]), 2, axis=-1)
    lost = np.abs(places(case) * omega) * (1 + np.abs(np.log(omega)))
    angle[..., : len(omega)] = lost + POLAR / case.scheme.accuracy.angle
    return ErrorTerms(scale, angle)


def arguments(trial: Trial) -> ArgumentDict:
    """Draw two heads and a few tokens of a video."""
    head_dim = trial.choose("head_dim", (16, 6, 12, 14, 20, 64, 80, 88))
    start = np.array([[trial.position(ROWS)] for _ in range(3)])
    return {
        "x": np.roll(fine((2, ROWS, head_dim)), start[0, 0] % 5),
        "positions": start + TOKENS[:3],
    }


def sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Make a call that reaches the largest position on one axis, nearly as far on the others."""
    place = positions_up_to(largest)
    return far(parameters, largest, 64) | {
        "positions": np.stack([place, place - place // 3, place - place // 5])
    }


def sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield small and large heads, divisible by six or not, and many tokens."""
    for head_dim in (6, 7, 8, 10, 12, 18, 32, 64, 80, 96, 128, 256):
        yield {"x": fine((2, 2, head_dim)), "positions": np.array([[1, 7], [3, 2], [5, 4]])}
    frames = np.indices((5, 15, 15)).reshape(3, -1)
    yield {"x": fine((5 * 15 * 15, 12)), "positions": frames}


def identity_at_zero(trial: Trial) -> None:
    """Check that the first patch of the first frame, at 0 on all axes, is unchanged."""
    chosen = arguments(trial)
    answer = trial.answer(**(chosen | {"positions": 0 * chosen["positions"]}))
    x = answer.case.arguments["x"]
    trial.assert_zero(answer - Exact(x), "position 0 on all axes is not the identity")


def determinant(trial: Trial) -> None:
    """Check that a pair's determinant is the cosine of the difference of its channels' angles.

    The determinant is the area spanned by the results of the two unit vectors.
    """
    chosen = arguments(trial)
    first = np.zeros_like(chosen["x"])
    first[..., 0::2] = 1
    u = trial.answer(**(chosen | {"x": first}))
    v = trial.answer(**(chosen | {"x": 1 - first}))
    angles = places(u.case) * frequencies(u.case)
    size = angles.shape[-1]
    area = u[..., 0:size:2] * v[..., 1:size:2] - u[..., 1:size:2] * v[..., 0:size:2]
    trial.assert_zero(
        area - np.cos(angles[:, 0::2] - angles[:, 1::2]),
        "the determinant of a pair is not cos(a - b), a and b the angles of its channels",
    )


def one_pair(trial: Trial) -> None:
    """Check that an axis with a single pair turns as in rotary embedding."""
    chosen = arguments(trial)
    chosen["x"] = chosen["x"][..., :6]
    answer = trial.answer(**chosen)
    expected = posenc.axial_rope(answer.case.arguments["x"], chosen["positions"], [2, 2, 2])
    trial.assert_zero(answer - Exact(expected), "with one pair on each axis it is not a rotation")


def rest_passes(trial: Trial) -> None:
    """Check that channels beyond the three axes are returned bit for bit."""
    chosen = arguments(trial)
    answer = trial.answer(**chosen)
    beyond = slice(3 * axis_width(answer.case), None)
    trial.assert_none(
        answer,
        (answer.values != answer.case.arguments["x"])[..., beyond],
        "channels beyond the three axes are changed",
    )


def model(words: str, angles: Callable[[Case], Floats]) -> Callable[..., Iterator[Prediction]]:
    """Make a model that predicts channels turned by other angles: [n, channels]."""

    def models(case: Case, got: Floats) -> Iterator[Prediction]:
        yield Prediction(words, turned(case, angles(case)))

    return models


def paired_angles(case: Case) -> Floats:
    """Compute the same angle for both channels of a pair."""
    omega = np.repeat(progression(BASE, axis_width(case)), 2)
    return places(case) * np.tile(omega, 3)


def halves(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the waves applied to halves of each axis, where they make a rotation."""
    width = axis_width(case)
    if width > 2:
        out = np.array(case.arguments["x"], dtype=np.float64)
        out[..., : 3 * width] = posenc.axial_rope(
            out[..., : 3 * width],
            case.arguments["positions"],
            [width] * 3,
            layout="half-per-axis",
        )
        yield Prediction("matches channels paired as halves of each axis, not as neighbours", out)


def shared_out(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the remaining channels given to the first or the last axis."""
    head_dim, side = case.arguments["x"].shape[-1], axis_width(case)
    remaining = head_dim - 2 * side
    if remaining == side or remaining % 2:
        return
    for words, widths in (("first", (remaining, side, side)), ("last", (side, side, remaining))):
        axis = np.repeat(np.arange(3), widths)
        omega = np.concatenate([np.tile(progression(BASE, width), 2) for width in widths])
        seen = np.asarray(case.arguments["positions"][axis].T, dtype=np.float64)
        yield Prediction(
            f"matches the channels left over given to the {words} axis",
            turned(case, seen * omega),
        )


def exponents(case: Case) -> Floats:
    """Compute angles with exponents divided by head_dim instead of the axis's width."""
    width, head_dim = axis_width(case), case.arguments["x"].shape[-1]
    omega = BASE ** (-np.arange(0, width, 2) / head_dim)
    return np.asarray(places(case) * np.tile(omega, 6))


def axes_swapped(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the result with the positions of the axes exchanged."""
    for order in list(permutations(range(3)))[1:]:
        names = ", ".join(map(str, order))
        yield from predict_case(
            case.with_arguments(positions=case.arguments["positions"][list(order)]),
            f"matches positions of the axes in the order {names}",
        )


def low_precision(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict angles in a narrow dtype.

    All steps are narrow, as in released code, or only one.
    """
    width, largest = axis_width(case), np.abs(places(case)).max(initial=0)
    for dtype in ("bfloat16", "float16"):
        if dtype == "float16" and largest > np.finfo(np.float16).max:
            continue
        # The base itself is 9,984 in bfloat16.
        base = round_to(np.full(width // 2, BASE), dtype)
        power = round_to(base ** round_to(np.arange(0, width, 2) / width, dtype), dtype)
        omega = np.tile(round_to(1 / power, dtype), 6)
        angles = round_to(round_to(places(case), dtype) * omega, dtype)
        yield Prediction(
            f"matches every step from the exponents on in {dtype}", turned(case, angles)
        )
    yield from rounded_angles(
        places(case),
        frequencies(case),
        lambda angles: turned(case, angles),
        lambda angles, short: turned(case, angles, short),
    )
