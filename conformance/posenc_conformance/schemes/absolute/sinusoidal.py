"""Sinusoidal encoding: bounds, invariants and deviations."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from posenc_conformance.diagnose.predictors import (
    bases,
    iterated,
    negated_positions,
    other_conventions,
    rounded_angles,
    rounded_base,
    shifted_positions,
)
from posenc_conformance.errors import apart
from posenc_conformance.families.encodings import (
    Waves,
    all_different,
    along_diagonals,
    at_twice_the_angle,
    dot_products,
    errors_of,
    on_circles,
    one_row_for_all,
)
from posenc_conformance.judge.arrays import Array, Floats, round_to
from posenc_conformance.judge.bounded import Answer, Exact
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.deviation import Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.measured_frequencies import PairFrequencies, fit_wave_frequencies
from posenc_conformance.judge.positions import positions_up_to, rows_to_show
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments

ROWS = 9
SIN, COS, ZERO = 0, 1, 2


def channels(case: Case) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the pair number of each channel, and the channel's kind: SIN, COS or ZERO."""
    dim = case.arguments["dim"]
    odd_dim = case.conventions.get("odd_dim") if dim % 2 else None
    even = dim - 1 if odd_dim == "zero" else dim + dim % 2
    if case.conventions["layout"] == "interleaved":
        pair, kind = np.arange(even) // 2, np.arange(even) % 2
    else:
        pair, kind = np.arange(even) % (even // 2), np.arange(even) // (even // 2)
        if case.conventions["layout"] == "cos-sin":
            kind = 1 - kind
    if odd_dim == "zero":
        pair, kind = np.append(pair, 0), np.append(kind, ZERO)
    return pair[:dim], kind[:dim]


def exponents(case: Case) -> Floats:
    """Compute the exponent of each pair, whose frequency is ``base ** -exponent``."""
    dim = case.arguments["dim"]
    odd_dim = case.conventions.get("odd_dim") if dim % 2 else None
    pairs = dim // 2 if odd_dim == "zero" else (dim + 1) // 2
    if case.conventions["denominator"] == "d/2-1":
        denominator = float(max(pairs - 1, 1))
    else:
        denominator = dim / 2 if odd_dim == "uneven" else float(pairs)
    return np.arange(pairs, dtype=np.float64) / denominator


def places(case: Case) -> Floats:
    """Return the positions, counted from the convention's first position."""
    return np.asarray(case.arguments["positions"] + case.conventions["first_position"], np.float64)


def factor(case: Case) -> float:
    """Return the output scale."""
    dim = float(case.arguments["dim"])
    factors: dict[str, float] = {
        "1": 1.0,
        "d^-1/2": dim**-0.5,
        "(2/d)^1/2": (2 / dim) ** 0.5,
    }
    return factors[str(case.conventions["scale"])]


def frequencies(case: Case) -> Floats:
    """Compute the frequency of each pair, in radians per position."""
    return np.asarray(case.arguments.get("base", 10000.0) ** -exponents(case))


def error_terms(case: Case) -> ErrorTerms:
    """Return as scale the output scale, or 0 in a column of zeros, and the angle per channel."""
    omega = frequencies(case)
    pair, kind = channels(case)
    angle = np.abs(places(case))[:, None] * omega * (1 + np.abs(np.log(omega)))
    return ErrorTerms(np.where(kind == ZERO, 0.0, factor(case)), angle[:, pair])


def arguments(trial: Trial) -> ArgumentDict:
    """Draw a few consecutive positions, and the dim and base."""
    sizes = [8, 2, 4, 6, 16, 64, 96, 128]
    odd = [value for value in trial.can("odd_dim") if value != "refuse"]
    extra: ArgumentDict = {}
    if odd and trial.pick.integer(0, 1):
        sizes = [5, 3, 9, 65]
        extra["odd_dim"] = trial.pick.one_of(odd)
    if trial.subject.combination.conventions["single_pair"] == "refuse":
        sizes = [size for size in sizes if size > 3]
    return extra | {
        "positions": trial.position(ROWS) + np.arange(ROWS),
        "dim": trial.choose("dim", sizes),
        "base": trial.choose("base", (10000.0, 500000.0, 1e6, 100.0)),
    }


def sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Make a call of 66 channels, at all powers of two up to the largest position."""
    return {"positions": positions_up_to(largest), "dim": 66, "base": 10000.0, **parameters}


def sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield few and many channels, powers of two and others, and many rows."""
    smallest = 4 if case.conventions["single_pair"] == "refuse" else 2
    few = {"positions": np.array([0, 1, 7])}
    dims = (2, 4, 6, 10, 12, 16, 24, 48, 64, 96, 100, 128, 130, 192, 256, 384, 512, 768, 1024)
    yield from ({"dim": dim, **few} for dim in dims if dim >= smallest)
    yield {"dim": 4, "positions": np.arange(2049)}


def circles(answer: Answer) -> Waves:
    """Pick the sine and the cosine of each pair that has both, in any layout."""
    pair, kind = channels(answer.case)
    whole = [t for t in range(pair.max() + 1) if np.sum((pair == t) & (kind != ZERO)) == 2]
    sin, cos = (
        answer[:, [int(np.flatnonzero((pair == t) & (kind == wave))[0]) for t in whole]]
        for wave in (SIN, COS)
    )
    return Waves(sin, cos, factor(answer.case))


def turn(waves: Waves, start: Any, end: Any) -> tuple[Answer, Answer]:
    """Compute cosine and sine (times factor squared) of the rotation from ``start`` to ``end``."""
    (s, c), (s_end, c_end) = ((waves[rows].sin, waves[rows].cos) for rows in (start, end))
    return c * c_end + s * s_end, c * s_end - s * c_end


def norm(trial: Trial) -> None:
    """Check that sine and cosine of each pair lie on a circle around 0."""
    on_circles(
        trial,
        circles(trial.answer(**arguments(trial))),
        "the two channels of a pair do not lie on a circle around 0",
    )


def dot_by_offset(trial: Trial) -> None:
    """Check that dot products along each diagonal are equal."""
    waves = circles(trial.answer(**arguments(trial)))
    dots = dot_products(waves.sin) + dot_products(waves.cos)
    trial.assert_zero(
        along_diagonals(dots), "the dot product of two rows depends on more than their distance"
    )


def shift_is_rotation(trial: Trial) -> None:
    """Check that the rotation from p to p+k is the same at every p."""
    waves = circles(trial.answer(**arguments(trial)))
    k = trial.pick.integer(1, ROWS - 2)
    rows = np.arange(ROWS - k)
    for part in turn(waves, rows, rows + k):
        trial.assert_zero(
            part[1:] - part[:-1], f"moving by {k} positions is not the same rotation everywhere"
        )


def group_law(trial: Trial) -> None:
    """Check that rotating by k, then by l, is rotating by k+l."""
    waves = circles(trial.answer(**arguments(trial)))
    k = trial.pick.integer(1, ROWS - 2)
    more = trial.pick.integer(1, ROWS - 1 - k)
    rows = np.arange(1)
    cos_k, sin_k = turn(waves, rows, rows + k)
    cos_m, sin_m = turn(waves, rows, rows + more)
    cos, sin = turn(waves, rows, rows + k + more)
    square = waves.factor**2
    for residual in (
        cos_k * cos_m - sin_k * sin_m - cos * square,
        sin_k * cos_m + cos_k * sin_m - sin * square,
    ):
        trial.assert_zero(
            residual,
            f"rotating by {k} and then by {more} positions is not rotating by {k + more}",
        )


def recurrence(trial: Trial) -> None:
    """Check that the sum of a row's neighbours is the same multiple of the row everywhere."""
    answer = trial.answer(**arguments(trial))
    both, middle = answer[2:] + answer[:-2], answer[1:-1]
    trial.assert_zero(
        both[1:] * middle[:-1] - both[:-1] * middle[1:],
        "PE(p+1) + PE(p-1) is not the same multiple of PE(p) at every p",
    )


def double_angle(trial: Trial) -> None:
    """Check that sin 2a = 2 sin a cos a and cos 2a = cos² a - sin² a.

    a and 2a are the angles at positions p and 2p.
    """
    first = trial.subject.combination.conventions["first_position"]
    chosen = arguments(trial)
    positions = chosen["positions"] // 2 + first
    chosen["positions"] = np.concatenate([positions - first, 2 * positions - first])
    waves = circles(trial.answer(**chosen))
    at_twice_the_angle(
        trial,
        waves[:ROWS],
        waves[ROWS:],
        "the angle at twice the position is not twice the angle",
    )


def origin(trial: Trial) -> None:
    """Check that at position 0 every sine is 0 and every cosine 1, times the scale."""
    answer = trial.answer(**(arguments(trial) | {"positions": np.arange(2)}))
    _, kind = channels(answer.case)
    expected = np.where(kind == COS, factor(answer.case), 0.0)
    trial.assert_zero(answer[:1] - Exact(expected), "position 0 is not (sine 0, cosine 1)")


def distance(trial: Trial) -> None:
    """Check that the squared distance of the first row from each other row is 4 Σ sin²(w δ/2)."""
    answer = trial.answer(**arguments(trial))
    waves, rows = circles(answer), np.arange(1, ROWS)
    sin, cos = (part[1:] - part[:1] for part in (waves.sin, waves.cos))
    omega = frequencies(answer.case)[: sin.values.shape[1]]
    expected = 4 * np.sum(np.sin(np.outer(rows, omega) / 2) ** 2, axis=1)
    trial.assert_zero(
        (sin * sin + cos * cos).sum(axis=1) - expected * waves.factor**2,
        "the distance of two rows is not that of their positions on the circles",
    )


def uniqueness(trial: Trial) -> None:
    """Check that rows differ wherever the truth differs by more than the error bounds."""
    chosen = arguments(trial)
    spread = min(64, trial.scope.max_position + 1)
    chosen["positions"] = trial.position(spread) + np.arange(spread)
    all_different(trial, trial.answer(**chosen), "two positions have the same row")


def reflection(trial: Trial) -> None:
    """Check that negating the position negates the sines but not the cosines."""
    chosen = arguments(trial)
    first = trial.subject.combination.conventions["first_position"]
    positions = chosen["positions"]
    chosen["positions"] = np.concatenate([positions - first, -positions - first])
    answer = trial.answer(**chosen)
    _, kind = channels(answer.case)
    ahead, behind = answer[:ROWS], answer[ROWS:]
    trial.assert_zero(
        behind - ahead * np.where(kind == SIN, -1, 1),
        "PE(-p) is not PE(p) with the sines negated",
    )


def derivative(trial: Trial) -> None:
    """Check that the symmetric difference quotient at real positions is exact for any step."""
    chosen = arguments(trial)
    step = trial.pick.one_of((0.5, 0.25, 0.125))
    positions = chosen["positions"].astype(np.float64)
    chosen["positions"] = np.concatenate([positions, positions + step, positions - step])
    answer = trial.answer(**chosen)
    waves = circles(answer)
    middle, after, before = (waves[i * ROWS : (i + 1) * ROWS] for i in range(3))
    change = 2 * np.sin(step * frequencies(answer.case)[: waves.sin.values.shape[1]])
    for residual in (
        after.sin - before.sin - middle.cos * change,
        after.cos - before.cos + middle.sin * change,
    ):
        trial.assert_zero(
            residual, "PE(p+h) - PE(p-h) is not 2 sin(w h) times the quarter-turned PE(p)"
        )


def estimated_base(case: Case, got: Floats) -> float | None:
    """Estimate the base from the slowest pair's angle at the first position other than 0.

    Return None if the angle does not determine it.
    """
    pair, kind = channels(case)
    exponent = exponents(case)
    slowest = int(pair.max())
    rows = np.flatnonzero((places(case) != 0) & (np.abs(places(case)) < 32))
    if not rows.size or exponent[slowest] == 0:
        return None
    sin = got[rows[0], (pair == slowest) & (kind == SIN)]
    cos = got[rows[0], (pair == slowest) & (kind == COS)]
    if not (sin.size and cos.size):
        return None
    omega = np.arctan2(sin[0], cos[0]) / places(case)[rows[0]]
    return rounded_base(omega ** (-1 / exponent[slowest])) if omega > 0 else None


def positions_shifted(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict shifted positions.

    The first shift is estimated from the angle of the slowest pair; the others are one or two.
    """
    pair, kind = channels(case)
    slowest = pair == pair.max()
    sin, cos = slowest & (kind == SIN), slowest & (kind == COS)
    estimate = np.nan
    if sin.any() and cos.any() and np.isfinite(case.truth).all():
        seen, true = (y[:, cos] + 1j * y[:, sin] for y in (got, case.truth))
        estimate = np.angle(np.sum(seen * np.conj(true))) / frequencies(case)[-1]
    yield from shifted_positions(case, estimate)


def wrong_base(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict another base: the estimated one, then those in common use."""
    yield from bases(case, estimated_base(case, got))


def from_angles(case: Case, angles: Floats) -> Floats:
    """Compute the result for these angles, one per pair."""
    pair, kind = channels(case)
    theta = angles[:, pair]
    waves = np.where(kind == SIN, np.sin(theta), np.cos(theta))
    return np.asarray(np.where(kind == ZERO, 0.0, factor(case) * waves))


def of_angles(case: Case, words: str, angles: Floats) -> Prediction:
    """Predict the result for these angles, one per pair, which round by their own size."""
    return Prediction(
        words, from_angles(case, angles), terms=lambda: terms_of(case, angles[:, channels(case)[0]])
    )


def terms_of(case: Case, theta: Floats) -> ErrorTerms:
    """Return the error terms of sines and cosines of other angles, one per channel."""
    omega = frequencies(case)[channels(case)[0]]
    return ErrorTerms(case.terms.scale, errors_of(theta, places(case)[:, None], omega))


other_scales = other_conventions("scale", "matches the scale {value}; {claimed} was claimed")


def wrong_scale(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict another scale of the spec, or the factor that fits best."""
    yield from other_scales(case, got)
    finite = np.isfinite(case.truth)
    truth = np.where(finite, case.truth, 0.0)
    best = float(np.sum(truth * got) / np.sum(truth**2)) if np.any(truth) else 1.0
    yield Prediction(
        f"matches every value multiplied by {apart(best, 1, digits=6)[0]}", case.truth * best
    )


def degrees(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict angles read as degrees, or converted to degrees."""
    angles = np.outer(places(case), frequencies(case))
    yield of_angles(case, "matches angles taken for degrees", np.deg2rad(angles))
    words = "matches angles turned into degrees, of which sines are taken"
    yield of_angles(case, words, np.rad2deg(angles))


def swapped_waves(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict sines and cosines exchanged, in the same layout."""
    angles = np.pi / 2 - np.outer(places(case), frequencies(case))
    yield of_angles(case, "matches sine and cosine swapped", angles)


def odd_channel_exponent(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict a separate frequency for each channel."""
    words = "matches a cosine with its own exponent, (2t+1)/d instead of 2t/d"
    yield _channel_by_channel(case, words, 1)


def next_frequency(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict cosines that have the frequency of the next pair, where the last pair has none."""
    pair, kind = channels(case)
    moved = pair + (kind == COS)
    if case.arguments["dim"] % 2 and moved.max() < len(exponents(case)):
        theta = np.outer(places(case), frequencies(case))[:, moved]
        waves = np.where(kind == SIN, np.sin(theta), np.cos(theta))
        output = np.where(kind == ZERO, 0.0, factor(case) * waves)
        words = "matches a cosine with the frequency of the next pair"
        yield Prediction(words, output, terms=lambda: terms_of(case, theta))


def other_odd_rule(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict another rule for an odd number of channels."""
    if case.arguments["dim"] % 2 and "odd_dim" in case.conventions:
        words = "matches the rule {value} for an odd number of channels; {claimed} was claimed"
        yield from other_conventions("odd_dim", words)(case, got)


def channel_for_pair(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict an exponent with the channel number in place of the pair number."""
    words = "matches exponents 2c/d in channel c, with c in the place of the pair"
    yield _channel_by_channel(case, words, 2)


def _channel_by_channel(case: Case, words: str, times: int) -> Prediction:
    """Predict the result if the exponent of each channel c were ``times * c / d``."""
    dim, base = case.arguments["dim"], case.arguments.get("base", 10000.0)
    pair, kind = channels(case)
    theta = np.outer(places(case), base ** -(times * (2 * pair + (kind == COS)) / dim))
    waves = np.where(kind == SIN, np.sin(theta), np.cos(theta))
    output = np.where(kind == ZERO, 0.0, factor(case) * waves)
    return Prediction(words, output, terms=lambda: terms_of(case, theta))


def step_rounded_down(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the step of the exponent rounded down to a whole number."""
    steps = -np.log(case.arguments.get("base", 10000.0)) / case.arguments["dim"] / np.array([1, 2])
    for step in dict.fromkeys(np.floor(steps).tolist()):
        omega = np.exp(2 * np.arange(len(exponents(case))) * step)
        words = f"matches frequencies exp({2 * step:.0f} t): the step of the exponent rounded down"
        yield of_angles(case, words, np.outer(places(case), omega))


def exponent_doubled(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the exponent 4t/d.

    It results from iterating over even numbers and doubling them again.
    """
    angles = np.outer(places(case), frequencies(case) ** 2)
    yield of_angles(case, "matches exponents twice as large", angles)


def exponent_halved(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the exponent t/d."""
    angles = np.outer(places(case), frequencies(case) ** 0.5)
    yield of_angles(case, "matches exponents half as large", angles)


def low_precision_angles(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict positions, frequencies or angles in a narrow dtype, and tables of them."""
    yield from rounded_angles(
        places(case)[:, None],
        frequencies(case),
        lambda angles: from_angles(case, angles),
        lambda angles, dtype: round_to(from_angles(case, angles), dtype),
    )


def iterated_frequencies(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the angle, or frequency, of each pair computed from that of the pair before."""
    yield from iterated(
        places(case)[:, None], frequencies(case), lambda angles: from_angles(case, angles)
    )


def cancelling_logarithms(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict frequencies exp((1 - e) L - L) in float32, where L is the logarithm of the base."""
    whole = np.float32(np.log(case.arguments.get("base", 10000.0)))
    share = np.float32(1) - exponents(case).astype(np.float32)
    angles = places(case)[:, None].astype(np.float32) * np.exp(share * whole - whole)
    words = "matches frequencies exp((1 - e) ln(base) - ln(base)), in float32"
    yield Prediction(words, from_angles(case, angles.astype(np.float64)))


def tables(array: Array) -> Iterator[tuple[ArgumentDict, Array]]:
    """Read an array as a table with a row for each position, from 0 on.

    An odd number of rows is also read as one for each offset of a key from a query, the largest
    first or last: the table of Transformer-XL and of the Conformer.
    """
    if array.ndim != 2 or array.shape[1] < 2:
        return
    rows = rows_to_show(len(array))
    rules = [{}] if array.shape[1] % 2 == 0 else [{"odd_dim": n} for n in ("zero", "cut", "uneven")]
    middle, odd = divmod(len(array), 2)
    for positions in (rows, middle - rows, rows - middle) if odd and middle else (rows,):
        for rule in rules:
            arguments = {"positions": positions, "dim": array.shape[1], "base": 10000.0}
            yield arguments | rule, array[rows]


def read_frequencies(case: Case, output: Floats) -> Iterator[list[PairFrequencies] | None]:
    """Read frequencies from a table, in the claimed layout, then in the others."""
    claimed = case.conventions["layout"]
    if case.arguments["dim"] % 2:
        return
    for layout in dict.fromkeys((claimed, *case.scheme.conventions["layout"].values)):
        pair, kind = channels(case.with_conventions(layout=layout))
        sin, cos = (
            np.flatnonzero(kind == wave)[np.argsort(pair[kind == wave])] for wave in (SIN, COS)
        )
        yield fit_wave_frequencies(
            case,
            output,
            case.bound,
            (sin, cos),
            places(case)[:, None],
            frequencies(case),
            f", in the {layout} layout" * (layout != claimed),
            amplitude=factor(case),
        )


KNOWLEDGE = {
    "sinusoidal": CallKnowledge(
        error_terms=error_terms,
        arguments=arguments,
        sweep=sweep,
        sizes=sizes,
        frequencies=read_frequencies,
        identify=tables,
        invariants={
            "norm": norm,
            "dot-by-offset": dot_by_offset,
            "shift-is-rotation": shift_is_rotation,
            "group-law": group_law,
            "recurrence": recurrence,
            "double-angle": double_angle,
            "origin": origin,
            "distance": distance,
            "uniqueness": uniqueness,
            "reflection": reflection,
            "derivative": derivative,
        },
        deviations={
            "layout-swapped": other_conventions(
                "layout", "matches the {value} layout exactly; {claimed} was claimed"
            ),
            "positions-shifted": positions_shifted,
            "sign-flipped": negated_positions,
            "denominator-swapped": other_conventions(
                "denominator", "matches the exponent denominator {value}; {claimed} was claimed"
            ),
            "wrong-scale": wrong_scale,
            "waves-swapped": swapped_waves,
            "degrees": degrees,
            "odd-channel-exponent": odd_channel_exponent,
            "exponent-doubled": exponent_doubled,
            "exponent-halved": exponent_halved,
            "channel-for-pair": channel_for_pair,
            "step-rounded-down": step_rounded_down,
            "one-row-for-all": one_row_for_all,
            "wrong-base": wrong_base,
            "low-precision-angles": low_precision_angles,
            "iterated-frequencies": iterated_frequencies,
            "cancelling-logarithms": cancelling_logarithms,
        },
        readings=(other_odd_rule, next_frequency),
    ),
}
