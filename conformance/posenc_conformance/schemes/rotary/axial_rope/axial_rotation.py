"""Rotary embedding of several axes of a head: bounds, invariants and deviations."""

from collections.abc import Callable, Iterator, Mapping
from itertools import permutations

import numpy as np
import numpy.typing as npt

import posenc
from posenc_conformance.diagnose.predictors import predict_case
from posenc_conformance.errors import apart
from posenc_conformance.families.encodings import wrong_base
from posenc_conformance.families.rotary import (
    ROWS,
    Rotation,
    far,
    progression,
    read_channels,
)
from posenc_conformance.judge.arrays import Floats, fine
from posenc_conformance.judge.bounded import Exact
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.deviation import Prediction
from posenc_conformance.judge.positions import positions_up_to
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments

Index = npt.NDArray[np.int64]


def axes(case: Case) -> Index:
    """Return the axis of each pair."""
    widths = case.arguments["widths"]
    return np.repeat(np.arange(len(widths)), widths // 2)


def numbers(case: Case) -> Index:
    """Return the index of each pair within its axis."""
    return np.concatenate([np.arange(width // 2) for width in case.arguments["widths"]])


def base_of(case: Case) -> float:
    """Return the base of the call, or the default."""
    return float(case.arguments.get("base", 10000.0))


def frequencies(case: Case) -> Floats:
    """Compute the frequency of each pair in radians per position."""
    widths = case.arguments["widths"].tolist()
    return np.concatenate([progression(base_of(case), width) for width in widths])


def places(case: Case) -> Floats:
    """Return the position of each token on the axis of each pair: [n, pairs]."""
    return np.asarray(case.arguments["positions"][axes(case)].T, dtype=np.float64)


def widths_of(head_dim: int) -> Index:
    """Choose three widths in FLUX's proportions, all different if the head is wide enough."""
    first = max(2, head_dim // 16 * 2)
    second = max(2, (head_dim - first) // 4 * 2 - 2)
    return np.array([first, second, head_dim - first - second])


TOKENS = np.array([[0, 0, 0, 1, 1, 1], [0, 0, 1, 0, 0, 1], [0, 1, 0, 0, 1, 0], [1, 0, 0, 1, 0, 0]])
"""Positions of tokens, different on each axis."""
RELEASED: Mapping[int, tuple[tuple[int, ...], ...]] = {
    128: ((16, 56, 56), (32, 32, 32, 32), (44, 42, 42), (32, 48, 48)),
    64: ((16, 24, 24), (32, 32), (24, 20, 20)),
    96: ((32, 32, 32),),
}
"""Axis widths of released models, by head_dim."""


def arguments(trial: Trial) -> ArgumentDict:
    """Draw two heads and a few tokens of a video."""
    head_dim = trial.choose("head_dim", (16, 6, 12, 64, 96, 128))
    own = tuple(widths_of(head_dim).tolist())
    chosen = trial.pick.one_of((own, *RELEASED.get(head_dim, ())))
    start = np.array([[trial.position(ROWS)] for _ in chosen])
    extra = {}
    if trial.can("domain") and trial.pick.integer(0, 1):
        extra = {"domain": "negative"}
        start = -start - 3
    return extra | {
        "x": np.roll(fine((2, ROWS, head_dim)), start[0, 0] % 5),
        "positions": start + TOKENS[: len(chosen)],
        "widths": np.array(chosen),
        # No model uses the first base, so its roots are not the base of another model.
        "base": trial.choose("base", (1000.0, 10000.0, 256.0, 2000.0)),
    }


def sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Make a call that reaches the largest position on one axis, nearly as far on the others."""
    place = positions_up_to(largest)
    widths = widths_of(parameters.get("head_dim", 64))
    return far(parameters, largest, 64, widths=widths, base=10000.0) | {
        "positions": np.stack([place, place - place // 3, place - place // 5])
    }


def sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield one to five axes, small and large heads, and many tokens."""
    for widths in (
        (2, 2, 2),
        (8,),
        (2, 6),
        (4, 2, 6),
        (32, 32),
        (10, 22, 44),
        (16, 56, 56),
        (32, 32, 32, 32),
        (2, 4, 6, 8, 10),
        (64, 96, 96),
    ):
        place = np.array([[1, 7], [3, 2], [5, 4], [2, 9], [6, 3]])[: len(widths)]
        yield {
            "x": fine((2, 2, sum(widths))),
            "positions": place,
            "widths": np.array(widths),
        }
    frames = np.indices((5, 15, 15)).reshape(3, -1)
    yield {"x": fine((5 * 15 * 15, 6)), "positions": frames, "widths": np.array([2, 2, 2])}


ROTATION = Rotation(arguments, frequencies, places, axis=axes)


def each_axis_is_rope(trial: Trial) -> None:
    """Check that the channels of each axis turn as rope turns a head of these channels."""
    answer = trial.answer(**arguments(trial))
    case = answer.case
    x, axis = case.arguments["x"], axes(case)
    for number, place in enumerate(case.arguments["positions"]):
        own = np.stack([channel[axis == number] for channel in read_channels(case)], axis=-1)
        expected = posenc.rope(x[..., own.ravel()], place, base=base_of(case), layout="interleaved")
        trial.assert_zero(
            answer[..., own.ravel()] - Exact(expected),
            f"the channels of axis {number} are not turned as rope turns a head of their number",
        )


def other_angles(
    words: str, angles: Callable[[Case], Floats]
) -> Callable[..., Iterator[Prediction]]:
    """Make a model that predicts pairs turned by other ``angles``: [n, pairs]."""

    def models(case: Case, got: Floats) -> Iterator[Prediction]:
        yield ROTATION.predict(case, words, angles(case))

    return models


def axes_swapped(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the result with the positions of the axes exchanged."""
    count = len(case.arguments["widths"])
    if count > 4:
        return
    for order in list(permutations(range(count)))[1:]:
        names = ", ".join(map(str, order))
        yield from predict_case(
            case.with_arguments(positions=case.arguments["positions"][list(order)]),
            f"matches positions of the axes in the order {names}",
        )


def widths_swapped(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the widths of the axes in another order, or equal."""
    widths = case.arguments["widths"]
    count, head_dim = len(widths), int(widths.sum())
    if count > 4:
        return
    for order in dict.fromkeys(tuple(widths[list(o)]) for o in permutations(range(count))):
        if order != tuple(widths):
            words = ", ".join(map(str, order))
            yield from predict_case(
                case.with_arguments(widths=np.array(order)), f"matches axes of {words} channels"
            )
    side = head_dim // count // 2 * 2
    equal = np.array([head_dim - side * (count - 1)] + [side] * (count - 1))
    if not np.array_equal(equal, widths):
        yield from predict_case(case.with_arguments(widths=equal), "matches axes of equal widths")


def one_axis_for_all(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict every pair turned by the position on the same axis."""
    if len(case.arguments["widths"]) == 1:
        return
    for number, place in enumerate(case.arguments["positions"]):
        angles = place[:, None] * frequencies(case)
        words = f"matches the position on axis {number} used for every pair"
        yield ROTATION.predict(case, words, angles)


def other_base(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict another base in common use, or that of another image model."""
    yield from wrong_base(case, got)
    for base in (256.0, 2000.0):
        if base != base_of(case):
            yield from predict_case(
                case.with_arguments(base=base),
                "matches base {}; {} was asked for".format(*apart(base, base_of(case), digits=6)),
            )


def one_progression(case: Case) -> Floats:
    """Compute angles with one progression of frequencies over the head, as in m-rope."""
    return places(case) * progression(base_of(case), len(axes(case)) * 2)


def head_dim_exponents(case: Case) -> Floats:
    """Compute angles with exponents divided by head_dim instead of the axis's width."""
    return places(case) * base_of(case) ** (-numbers(case) / len(axes(case)))


def negative_reversed(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict negative positions looked up from the wrong end of their table."""
    where = case.arguments["positions"]
    if (where >= 0).all():
        return
    for size in (4096, 1024, 512, -int(where.min())):
        turned = np.where(where < 0, -1 - size - where, where)
        yield from predict_case(
            case.with_arguments(positions=turned),
            f"matches a table of {size} negative positions read from its other end",
        )
