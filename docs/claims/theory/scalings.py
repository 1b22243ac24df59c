import math
from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt
import sympy

import posenc

Array = npt.NDArray[np.floating]

DIM, LENGTH, FACTOR = 128, 4096, 16
SCALED: dict[str, Any] = {"factor": FACTOR, "original_max_position_embeddings": LENGTH}


def _theta() -> Array:
    return posenc.position_interpolation_frequencies(DIM, factor=1)


def _turns() -> Array:
    """Compute the turns of each pair within L by the definition, independently of posenc."""
    with mpmath.workdps(30):
        turns = [
            LENGTH * mpmath.mpf(10000) ** (-mpmath.mpf(2 * t) / DIM) / (2 * mpmath.pi)
            for t in range(DIM // 2)
        ]
    return np.array([float(count) for count in turns])


def _slow() -> npt.NDArray[np.bool]:
    return _turns() < 1


def _llama3() -> Array:
    return posenc.llama3_frequencies(
        DIM, base=10000.0, low_freq_factor=1, high_freq_factor=4, **SCALED
    )


def fastest_pair() -> None:
    """The first frequency under every scaling: divided by s in interpolation, else unchanged."""
    scaled = {
        "interpolation": posenc.position_interpolation_frequencies(DIM, factor=FACTOR),
        "NTK-aware": posenc.ntk_aware_frequencies(DIM, factor=FACTOR),
        "dynamic NTK": posenc.dynamic_ntk_frequencies(DIM, length=FACTOR * LENGTH, **SCALED),
        "YaRN": posenc.yarn_frequencies(DIM, **SCALED),
        "Llama 3": _llama3(),
    }
    ratios = {name: frequencies[0] / _theta()[0] for name, frequencies in scaled.items()}
    assert ratios == {name: 1 / 16 if name == "interpolation" else 1 for name in scaled}


def many_turns() -> tuple[str, ...]:
    """Turns of the first pair, the last pair with at least one, and those with less than two."""
    turns = _turns()
    assert np.allclose(LENGTH * _theta() / (2 * np.pi), turns, rtol=1e-12)
    last = int(np.flatnonzero(turns >= 1)[-1])
    assert not _slow()[: last + 1].any()
    hardly = np.flatnonzero((turns >= 1) & (turns < 2))
    assert (np.diff(hardly) == 1).all()
    assert hardly[-1] == last
    return (
        f"Pairs 0 to {last} have",
        f"first of them {turns[0]:.0f}",
        f"pairs {hardly[0]} to {last} less than twice",
        f"pair {last} hardly once, with {turns[last]:.3f} turns",
    )


def few_turns() -> tuple[str, ...]:
    """The pairs below one turn, and the degrees that the last one turns within L and within sL."""
    slow = np.flatnonzero(_slow())
    assert len(slow) == 18
    degrees = 360 * _turns()[-1]
    seen = degrees + min(degrees, FACTOR * degrees - 360)
    assert round(8 * seen / (FACTOR * degrees)) == 1
    return (
        f"Pairs {slow[0]} to {slow[-1]}, eighteen of them",
        f"gone {degrees:.1f} degrees",
        f"go {FACTOR * degrees:.0f} degrees",
    )


def base() -> None:
    """SymPy solves the two end conditions for b'; posenc's line has these ends and is straight."""
    b, new, s, d, t = sympy.symbols("b c s d t", positive=True)
    line = -2 * t / d * sympy.log(new)
    last = {t: d / 2 - 1}
    expected = (-2 * t / d * sympy.log(b)).subs(last) - sympy.log(s)
    (solution,) = sympy.solve(sympy.Eq(line.subs(last), expected), sympy.log(new))
    zero = solution - sympy.log(b * s ** (d / (d - 2)))
    assert sympy.simplify(sympy.expand_log(zero, force=True)) == 0
    assert line.subs(t, 0) == 0
    logs = np.log(posenc.ntk_aware_frequencies(DIM, factor=FACTOR))
    assert logs[0] == 0
    assert math.isclose(logs[-1], math.log(_theta()[-1] / FACTOR))
    assert np.allclose(np.diff(logs), logs[1], rtol=1e-12)


def out_of_bounds() -> tuple[str, ...]:
    """Slow pairs that go further in sL tokens than they did in L."""
    divided = _theta() / posenc.ntk_aware_frequencies(DIM, factor=FACTOR)
    beyond = _slow() & (divided < FACTOR * (1 - 1e-12))
    assert int(beyond.sum()) == 17
    first = int(np.flatnonzero(beyond)[0])
    return (
        f"pair {first} is divided by {divided[first]:.1f}",
        f"needs {FACTOR}",
        f"goes {FACTOR / divided[first]:.2f} times",
    )


def stretch_needed() -> str:
    """With that stretch, pair 46 and all later ones are divided by at least 16; with less, not."""
    needed = FACTOR ** (63 / 46)
    for stretch, enough in ((needed, True), (0.99 * needed, False)):
        divided = _theta() / posenc.ntk_aware_frequencies(DIM, factor=stretch)
        assert bool((divided[_slow()] >= FACTOR * (1 - 1e-9)).all()) == enough
    return f"about {needed:.1f}"


def dynamic_end() -> str:
    """SymPy: g(sL) = s² - s + 1 and g(L) = 1; each slow pair is divided by 16 or more."""
    s, length, full = sympy.symbols("s L l", positive=True)
    stretch = s * full / length - (s - 1)
    assert sympy.expand(stretch.subs(full, s * length) - (s**2 - s + 1)) == 0
    assert sympy.simplify(stretch.subs(full, length)) == 1
    divided = _theta() / posenc.dynamic_ntk_frequencies(DIM, length=FACTOR * LENGTH, **SCALED)
    assert (divided[_slow()] >= FACTOR).all()
    return f"\\(s^2 - s + 1\\), {divided[-1]:.0f} in our example"


def by_parts() -> str:
    """posenc's paper ramp divides only the slow pairs by s and keeps those of 32 turns or more."""
    share = posenc.yarn_frequencies(DIM, ramp="rotations", **SCALED) / _theta()
    assert np.array_equal(np.isclose(share, 1 / FACTOR, rtol=1e-12), _slow())
    unchanged = np.isclose(share, 1, rtol=1e-12)
    assert np.array_equal(unchanged, _turns() >= 32)
    return f"pairs 0 to {np.flatnonzero(unchanged)[-1]} stay"


def log_ramp() -> None:
    """posenc's ramp with unrounded ends is the formula with logarithms; rounded, it is close."""
    formula = np.clip(np.log(_turns()) / math.log(32), 0, 1)
    for ramp, tolerance in (("untruncated", 1e-12), ("index", 0.05)):
        ratio = posenc.yarn_frequencies(DIM, ramp=ramp, **SCALED) / _theta()
        share = (ratio - 1 / FACTOR) / (1 - 1 / FACTOR)
        assert np.allclose(share, formula, atol=tolerance)
    paper = posenc.yarn_frequencies(DIM, ramp="rotations", **SCALED) / _theta()
    assert not np.allclose((paper - 1 / FACTOR) / (1 - 1 / FACTOR), formula, atol=0.1)


def paper_code() -> str:
    """The largest ratio of the two, and its pair."""
    ratio = posenc.yarn_frequencies(DIM, **SCALED) / posenc.yarn_frequencies(
        DIM, ramp="rotations", **SCALED
    )
    return f"At pair {ratio.argmax()} the code's frequency is {ratio.max():.2f} times"


def llama3_kept() -> None:
    """Fifteen more pairs are kept with bounds 1 and 4 than with 1 and 32."""
    counts = [
        int(np.isclose(frequencies, _theta(), rtol=1e-12).sum())
        for frequencies in (_llama3(), posenc.yarn_frequencies(DIM, ramp="rotations", **SCALED))
    ]
    assert counts[0] - counts[1] == 15
    assert np.allclose(
        _llama3(),
        posenc.yarn_frequencies(DIM, ramp="rotations", beta_fast=4, beta_slow=1, **SCALED),
        rtol=1e-12,
    )


def dilution() -> tuple[str, ...]:
    """The two weights; with ln s added, the weight differs from the first by less than 1/n."""

    def weight(logit: float, keys: int) -> float:
        return math.exp(logit) / (math.exp(logit) + keys - 1)

    for logit in (0.0, 3.0, 10.0, 20.0):
        before = weight(logit, LENGTH)
        after = weight(logit + math.log(FACTOR), FACTOR * LENGTH)
        assert abs(before - after) < 1 / LENGTH
    return (
        f"that is {weight(10, LENGTH):.2f} among",
        f"{weight(10, FACTOR * LENGTH):.2f} among 65,536",
    )


def temperature() -> tuple[str, ...]:
    """m from the length of a vector rotated by posenc.yarn; its square is the factor of logits."""
    turned = posenc.yarn([[1.0, 0.0]], [7], **SCALED)
    m = math.hypot(*turned[0])
    assert math.isclose(m, 0.1 * math.log(FACTOR) + 1, rel_tol=1e-12)
    return "\\(m = 0.1 \\ln s + 1\\)", f"logits {m * m:.2f}"


def log_lengths() -> None:
    """SymPy: 1 + ln s / ln L = ln(sL) / ln L; posenc.longrope has this length."""
    s, length = sympy.symbols("s L", positive=True)
    zero = 1 + sympy.log(s) / sympy.log(length) - sympy.log(s * length) / sympy.log(length)
    assert sympy.simplify(sympy.expand_log(zero)) == 0
    turned = posenc.longrope([[1.0, 0.0]], [7], [1.0], [2.0], **SCALED)
    assert math.isclose(
        turned[0] @ turned[0], math.log(FACTOR * LENGTH) / math.log(LENGTH), rel_tol=1e-12
    )


def no_new_angle() -> None:
    """In 65,536 tokens no slow pair goes further than in 4,096 under any of the four."""
    for frequencies in (
        posenc.position_interpolation_frequencies(DIM, factor=FACTOR),
        posenc.yarn_frequencies(DIM, ramp="rotations", **SCALED),
        posenc.yarn_frequencies(DIM, **SCALED),
        _llama3(),
    ):
        reached = FACTOR * LENGTH * frequencies[_slow()]
        assert (reached <= LENGTH * _theta()[_slow()] * (1 + 1e-12)).all()
    unscaled = FACTOR * LENGTH * _theta()[_slow()]
    assert (unscaled > LENGTH * _theta()[_slow()]).all()


def angles_between() -> str:
    """The share of the interpolated angles of pair 63 that are no multiples of the trained step."""
    frequency = posenc.position_interpolation_frequencies(DIM, factor=FACTOR)[63]
    steps = np.arange(FACTOR * LENGTH) * (frequency / _theta()[63])
    never = ~np.isclose(steps, np.round(steps), rtol=0, atol=1e-9)
    return f"{100 * never.mean():.2f} %"


def full_turns() -> str:
    """The largest base from the formula, checked from both sides; and the pairs of Llama 3."""

    def short(base: float) -> int:
        frequencies = posenc.position_interpolation_frequencies(DIM, base=base, factor=1)
        return int((8192 * frequencies < 2 * math.pi).sum())

    largest = (8192 / (2 * math.pi)) ** (DIM / (DIM - 2))
    assert short(0.999 * largest) == 0
    assert short(1.001 * largest) == 1
    assert short(500000) == 29
    return f"{largest:,.0f} for"
