import math
from typing import Any

import mpmath
import numpy as np

import posenc
from posenc_conformance.models.file import load_all

MODEL: dict[str, Any] = {"factor": 16, "original_max_position_embeddings": 4096}


def temperatures() -> tuple[str, ...]:
    """Squared lengths of a unit vector rotated by posenc.yarn, with and without temperature."""
    squares = []
    for factor in (4, 16, 32):
        model = MODEL | {"factor": factor}
        turned = posenc.yarn([[1.0, 0.0]], [5], **model)[0]
        squares.append(float(turned @ turned))
        assert math.isclose(squares[-1], (math.log(factor) / 10 + 1) ** 2, rel_tol=1e-12)
        plain = posenc.yarn([[1.0, 0.0]], [5], temperature="none", **model)[0]
        assert math.isclose(plain @ plain, 1, rel_tol=1e-12)
    return ("{:.2f}, {:.2f} and {:.2f}".format(*squares),)


def dynamic() -> str:
    """posenc.yarn with factor 1 is posenc.rope; and the length of a pair with factor 2."""
    pair = [[1.0, 0.0, 0.0, 0.0]]
    length: dict[str, Any] = {"original_max_position_embeddings": 4096}
    plain = posenc.yarn(pair, [77], factor=max(1, 4000 / 4096), layout="half", **length)
    assert np.allclose(plain, posenc.rope(pair, [77], layout="half"), atol=1e-12)
    longer = posenc.yarn(pair, [77], factor=max(1, 8192 / 4096), layout="half", **length)[0]
    return f"{math.sqrt(longer @ longer):.3f} times"


def telechat3() -> str:
    """Squared lengths with the two weights, from posenc."""
    squares = []
    for temperature in ("scaled", "seven-hundredths"):
        turned = posenc.yarn([[1.0, 0.0]], [5], temperature=temperature, **(MODEL | {"factor": 4}))[
            0
        ]
        squares.append(float(turned @ turned))
    assert math.isclose(squares[1], (0.07 * math.log(4) + 1) ** 2, rel_tol=1e-12)
    return f"{100 * (squares[0] / squares[1] - 1):.1f} %"


def _row(pair: int) -> tuple[str, ...]:
    """Write the row of a pair in the table.

    Turns and the frequencies of paper and code are computed from their definitions, with mpmath;
    posenc's must agree with both.
    """
    with mpmath.workdps(30):
        theta = mpmath.mpf(10000) ** (-mpmath.mpf(pair) / 64)
        turns = 4096 * theta / (2 * mpmath.pi)
        share = min(mpmath.mpf(1), max(mpmath.mpf(0), (turns - 1) / 31))
        paper = float(share + (1 - share) / 16)
        ends = [
            64 * mpmath.log(4096 / (2 * mpmath.pi * beta)) / mpmath.log(10000) for beta in (32, 1)
        ]
        low, high = int(mpmath.floor(ends[0])), int(mpmath.ceil(ends[1]))
        weight = min(1.0, max(0.0, (high - pair) / (high - low)))
        code = weight + (1 - weight) / 16
    assert (low, high) == (20, 46)
    ratio = posenc.yarn_frequencies(128, **MODEL)[pair] / float(theta)
    assert math.isclose(ratio, code, rel_tol=1e-12)
    both = posenc.yarn_frequencies(128, ramp="rotations", **MODEL)[pair] / float(theta)
    assert math.isclose(both, paper, rel_tol=1e-12)

    def shown(number: float, places: int) -> str:
        return "1" if math.isclose(number, 1) else f"{number:.{places}f}"

    return (
        f"| {pair} | {float(turns):.{2 if turns > 1.5 else 3}f} | {shown(paper, 4)} "
        f"| {shown(code, 4)} | {shown(code / paper, 3)}",
    )


def pair_20() -> tuple[str, ...]:
    """The row of the first pair of the ramp, where both keep the frequency."""
    return _row(20)


def pair_21() -> tuple[str, ...]:
    """The row of the next pair, where the code keeps less."""
    return _row(21)


def pair_30() -> tuple[str, ...]:
    """The row of a pair inside the ramp."""
    return _row(30)


def pair_38() -> tuple[str, ...]:
    """The row of the pair where the two differ most."""
    ratio = posenc.yarn_frequencies(128, **MODEL) / posenc.yarn_frequencies(
        128, ramp="rotations", **MODEL
    )
    assert ratio.argmax() == 38
    return _row(38)


def pair_45() -> tuple[str, ...]:
    """The row of the last pair that makes a turn."""
    return _row(45)


def pair_46() -> tuple[str, ...]:
    """The row of the first pair that makes no full turn: both divide it by 16."""
    return _row(46)


def two_weights() -> None:
    """Lengths of vectors rotated by posenc.yarn with two weights, equal or not."""
    for a, c in ((1.0, 1.0), (0.707, 0.707), (1.0, 0.5)):
        turned = posenc.yarn([[1.0, 0.0]], [5], mscale=a, mscale_all_dim=c, **MODEL)[0]
        expected = (a * math.log(16) / 10 + 1) / (c * math.log(16) / 10 + 1)
        assert math.isclose(math.hypot(*turned), expected, rel_tol=1e-12)
        assert (a == c) == math.isclose(expected, 1)


def furthest() -> tuple[str, ...]:
    """The largest value on a fine grid, checked with mpmath's root of the derivative."""

    def ratio(turns: mpmath.mpf) -> mpmath.mpf:
        code = 1 + 15 * mpmath.log(turns) / mpmath.log(32)
        return code / (1 + 15 * (turns - 1) / 31)

    place = mpmath.findroot(lambda turns: mpmath.diff(ratio, turns), 3)
    grid = np.linspace(1, 32, 31001)
    assert max(float(ratio(turns)) for turns in grid[::10]) <= ratio(place)
    limit = 31 / mpmath.log(32)
    for turns in (1.5, 3, 20):
        far = (1 + 1e12 * mpmath.log(turns) / mpmath.log(32)) / (1 + 1e12 * (turns - 1) / 31)
        assert mpmath.almosteq(far, limit * mpmath.log(turns) / (turns - 1), 1e-9)
    huge = (1 + 1e9 * mpmath.log(1.000001) / mpmath.log(32)) / (1 + 1e9 * mpmath.mpf(0.000001) / 31)
    assert 0.9 * limit < huge < limit
    return f"is {float(ratio(place)):.2f}, at {float(place):.2f}", f"about {float(limit):.2f}"


def ramps_run_forwards() -> None:
    """Both ends of the ramp of every model here that has YaRN."""
    groups = [group for model in load_all() for group in model.meaning.groups]
    ramps = [group.parameters for group in groups if group.scheme == "yarn"]
    assert len(ramps) > 5
    for told in ramps:
        width = told.get("rotary_dim", told["head_dim"])
        start, end = (
            width
            * math.log(told["original_max_position_embeddings"] / (2 * math.pi * turns))
            / (2 * math.log(told["base"]))
            for turns in (told.get("beta_fast", 32), told.get("beta_slow", 1))
        )
        assert max(math.floor(start), 0) <= min(math.ceil(end), width - 1)
