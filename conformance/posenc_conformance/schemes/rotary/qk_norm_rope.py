"""Rotary embedding of RMS-normed queries and keys: bounds, invariants and deviations."""

from collections.abc import Iterator

import numpy as np

from posenc_conformance.diagnose.predictors import (
    other_conventions,
    predict_case,
    rounded_angles,
    short_tables,
)
from posenc_conformance.families.layers import centred
from posenc_conformance.families.rotary import (
    LAYOUT_SWAPPED,
    POLAR,
    channels,
    in_dtype,
    progression,
)
from posenc_conformance.judge.arrays import Floats, Ints, fine
from posenc_conformance.judge.bounded import Exact
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.deviation import Prediction
from posenc_conformance.judge.error_model import right_rows
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.measured_frequencies import PairFrequencies, fit_frequencies
from posenc_conformance.judge.positions import positions_up_to
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments

LENGTHS = (6, 7, 17, 33)
"""Numbers of rows to draw from."""
OF_ROOT = 4
"""The number of roundings in the mean, the sum with eps, the root and the quotient."""
FIXED = (1e-6, 1e-5, 1e-8, 0.0)
"""Values of eps that programs hard-code."""
BOTH = ("q", "k")


def width(case: Case) -> int:
    """Count the rotated channels."""
    return int(case.arguments.get("rotary_dim") or case.arguments["q"].shape[-1])


def pairs_of(case: Case) -> tuple[Ints, Ints]:
    """Return the channels of the first and of the second member of each pair."""
    return channels(width(case), str(case.conventions["layout"]))


def frequencies(case: Case) -> Floats:
    """Return the frequency of each pair, in radians per position."""
    return progression(case.arguments.get("base", 10000.0), width(case))


def rows_of(case: Case) -> Floats:
    """Return the query heads, then the key heads: [heads, n, head_dim]."""
    return np.concatenate([case.arguments[name] for name in BOTH])


def roots(case: Case) -> Floats:
    """Compute the root mean square of each row, with eps: [heads, n, 1]."""
    mean = (rows_of(case) ** 2).mean(axis=-1, keepdims=True)
    return np.asarray(np.sqrt(mean + case.arguments["eps"]))


def factors(case: Case) -> Floats:
    """Return the factors from the norm weights, per channel: [heads, 1, head_dim]."""
    more = case.conventions["norm_weight"] == "one-plus"
    parts = [
        np.broadcast_to(
            case.arguments[f"{name}_weight"] + more,
            (len(case.arguments[name]), 1, case.shape[-1]),
        )
        for name in BOTH
    ]
    return np.concatenate(parts)


def normed(case: Case) -> Floats:
    """Return the normed rows before rotation."""
    return np.asarray(rows_of(case) / roots(case) * factors(case))


def turned(case: Case, rows: Floats) -> Floats:
    """Rotate rows by their positions."""
    return by_angles(case, rows, case.arguments["positions"][:, None] * frequencies(case))


def by_angles(case: Case, rows: Floats, angles: Floats, dtype: str = "float64") -> Floats:
    """Rotate rows by these angles, with cosines and sines in ``dtype``."""
    cos, sin = in_dtype(angles, dtype)
    (first, second), out = pairs_of(case), rows.copy()
    out[..., first] = rows[..., first] * cos - rows[..., second] * sin
    out[..., second] = rows[..., first] * sin + rows[..., second] * cos
    return out


def low_precision(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict positions, frequencies or angles in a narrow dtype, and tables of them."""
    where = np.asarray(case.arguments["positions"][:, None], np.float64)

    def result(angles: Floats, dtype: str = "float64") -> Floats:
        return by_angles(case, normed(case), angles, dtype)

    yield from short_tables(where * frequencies(case), result)
    yield from rounded_angles(where, frequencies(case), result, result)


def error_terms(case: Case) -> ErrorTerms:
    """Return the scale, the length of the pair or the magnitude of the channel, and the angle."""
    rows, omega, (first, second) = normed(case), frequencies(case), pairs_of(case)
    lost = case.arguments["positions"][:, None] * omega * (1 + np.abs(np.log(omega)))
    scale = np.abs(rows)
    of_root = (rows.shape[-1] / 2 + OF_ROOT) / case.scheme.accuracy.angle
    angles = np.full(rows.shape, of_root)
    for channel in (first, second):
        scale[..., channel] = np.hypot(rows[..., first], rows[..., second])
        angles[..., channel] += np.abs(lost) + POLAR / case.scheme.accuracy.angle
    return ErrorTerms(scale, angles)


def read_frequencies(case: Case, output: Floats) -> Iterator[list[PairFrequencies] | None]:
    """Read frequencies of all rows in the claimed layout, then in the other."""
    claimed = str(case.conventions["layout"])
    flat = (-1, case.shape[-1])
    rows, result, allowed = (array.reshape(flat) for array in (normed(case), output, case.bound))
    places = np.tile(case.arguments["positions"], case.shape[0])[:, None]
    for layout in dict.fromkeys((claimed, *case.scheme.conventions["layout"].values)):
        first, second = channels(width(case), str(layout))
        yield fit_frequencies(
            case,
            (rows[:, first] + 1j * rows[:, second], result[:, first] + 1j * result[:, second]),
            places,
            frequencies(case),
            allowed[:, first] + allowed[:, second],
            f", in the {layout} layout" * (layout != claimed),
        )


# Arguments.


def weights(head_dim: int) -> ArgumentDict:
    """Return weights of queries and keys that differ in every channel."""
    return {"q_weight": fine((head_dim,), 20), "k_weight": fine((head_dim,), 31)}


def given(heads: int, key_heads: int, positions: Ints, head_dim: int) -> ArgumentDict:
    """Return the arrays among the arguments of a call."""
    n = len(positions)
    rows = {"q": fine((heads, n, head_dim)), "k": fine((key_heads, n, head_dim), 5)}
    return {**rows, **weights(head_dim), "positions": positions}


def arguments(trial: Trial) -> ArgumentDict:
    """Draw some heads of a few rows."""
    claimed = trial.scope.parameters
    many, few = claimed.get("heads", (2, 1, 3, 4)), claimed.get("key_heads", (1, 2))
    counts = [(count, least) for count in many for least in few if count % least == 0] or [(2, 1)]
    heads, key_heads = trial.pick.one_of(counts)
    n, size = trial.pick.one_of(LENGTHS), trial.choose("head_dim", (8, 4, 6, 16, 64, 80, 128))
    chosen = given(heads, key_heads, trial.position(n) + np.arange(n), size)
    numbers: ArgumentDict = {
        "eps": trial.choose("eps", (1e-6, 1e-2, 1e-5)),
        "base": trial.choose("base", (10000.0, 500000.0, 1e6, 100.0)),
    }
    if trial.can("rotation") and size >= 4 and trial.pick.integer(0, 1):
        widths = [count for count in (size // 4 * 2, 2, size - 2) if count >= 2]
        numbers |= {"rotation": "partial", "rotary_dim": trial.choose("rotary_dim", widths)}
    return chosen | numbers


def sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Make a call at all powers of two up to the largest position."""
    sizes: ArgumentDict = {"heads": 1, "key_heads": 1, "head_dim": 128, **parameters}
    chosen = given(sizes["heads"], sizes["key_heads"], positions_up_to(largest), sizes["head_dim"])
    own = {name: parameters[name] for name in ("eps", "base", "rotary_dim") if name in parameters}
    return {**chosen, "eps": 1e-6, "base": 10000.0, **own}


def sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield row counts that no block divides, head sizes, many heads, and a row of zeros."""
    for rows, dim in (
        *((2, dim) for dim in (2, 4, 6, 10, 16, 48, 64, 80, 96, 128, 130, 256, 512)),
        *((rows, 4) for rows in (1, 31, 65, 129, 1000, 2049)),
    ):
        yield given(2, 1, 5 + np.arange(rows), dim)
    for heads, key_heads in ((32, 8), (7, 7), (9, 1), (130, 2)):
        yield given(heads, key_heads, 5 + np.arange(3), 4)
    with_zeros = given(2, 1, np.arange(3), 8)
    for name in BOTH:
        with_zeros[name] = with_zeros[name] * np.array([1, 0, 2.0**-9])[:, None]
    yield with_zeros


# Invariants.


def heads_alone(trial: Trial) -> None:
    """Check that each head has the same result alone."""
    chosen = arguments(trial)
    whole = trial.answer(**chosen)
    heads = len(chosen["q"])
    for head, row in enumerate(rows_of(whole.case)):
        single = trial.answer(**(chosen | {"q": row[None], "k": row[None]}))
        own = single[:1] if head < heads else single[1:]
        which = f"query head {head}" if head < heads else f"key head {head - heads}"
        trial.assert_zero(whole[head : head + 1] - own, f"{which} is not what it is alone")


def norm_at_zero(trial: Trial) -> None:
    """Check that the result at position 0 is the norm with its weight."""
    chosen = arguments(trial)
    answer = trial.answer(**(chosen | {"positions": 0 * chosen["positions"]}))
    expected = normed(answer.case)
    rounding = 2.0**-48 * np.abs(expected)
    trial.assert_zero(
        (answer - Exact(expected)).allowing(rounding), "position 0 is not the norm with its weight"
    )


def rows_of_length(trial: Trial) -> None:
    """Check that rows normed with a weight of 1 have the length that the norm gives them."""
    chosen = arguments(trial)
    weight = np.ones(chosen["q"].shape[-1]) - (
        trial.subject.combination.conventions["norm_weight"] == "one-plus"
    )
    answer = trial.answer(**(chosen | {"q_weight": weight, "k_weight": weight}))
    square = ((rows_of(answer.case) / roots(answer.case)) ** 2).sum(axis=-1)
    trial.assert_zero((answer * answer).sum(axis=-1) - square, "a row has not the length of a norm")


# Models of mistakes.


def norm_left_out(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict rotation without the norm, or without its weight."""
    yield Prediction("matches rotation alone, without norm", turned(case, rows_of(case)))
    plain = rows_of(case) / roots(case)
    yield Prediction("matches the norm without its weight", turned(case, plain))


def rotary_dim_ignored(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the whole head rotated."""
    if width(case) < case.shape[-1]:
        yield from predict_case(
            case.with_arguments(rotary_dim=None),
            "matches all channels rotated; rotary_dim was ignored",
        )


def norm_of_rotated(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the mean square of only the rotated channels."""
    if width(case) < case.shape[-1]:
        mean = (rows_of(case)[..., : width(case)] ** 2).mean(axis=-1, keepdims=True)
        rows = rows_of(case) / np.sqrt(mean + case.arguments["eps"]) * factors(case)
        yield Prediction("matches the norm of the rotated channels alone", turned(case, rows))
        right = normed(case)
        right[..., : width(case)] = rows[..., : width(case)]
        words = "matches rotated channels with a norm of their own"
        yield Prediction(words, turned(case, right))


def weight_behind(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the weight multiplied after the rotation."""
    behind = turned(case, rows_of(case) / roots(case)) * factors(case)
    yield Prediction("matches the weight multiplied after the rotation", behind)


def one_weight_for_both(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict one weight for queries and keys, or the two exchanged."""
    q, k = case.arguments["q_weight"], case.arguments["k_weight"]
    for words, first, second in (
        ("the queries' weight for both", q, q),
        ("the keys' weight for both", k, k),
        ("the two weights exchanged", k, q),
    ):
        yield from predict_case(
            case.with_arguments(q_weight=first, k_weight=second), f"matches {words}"
        )


def mean_subtracted(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict a layer norm: the mean is subtracted first."""
    rows = centred(rows_of(case), (-1,))
    mean = (rows**2).mean(axis=-1, keepdims=True)
    rows = rows / np.sqrt(mean + case.arguments["eps"]) * factors(case)
    yield Prediction("matches a layer norm: the mean of a row is subtracted", turned(case, rows))


def partner_misread(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict heads, all that are wrong, in which pairs turn without their other member.

    A kernel that holds several heads may exchange the members of a pair in one of them only.
    """
    rows, (first, second) = normed(case), pairs_of(case)
    right = np.asarray(right_rows(got, case.truth, case.bound).all(axis=-1))
    angles = case.arguments["positions"][:, None] * frequencies(case)
    cos, sin = np.cos(angles), np.sin(angles)
    for words, minus, plus in (
        ("the part with sin is missing", 0, 0),
        ("each value stands in place of the other one of its pair", -sin, sin),
        ("each value stands in place of the other one of its pair, without minus", sin, sin),
    ):
        model = rows.copy()
        for channel, more in ((first, minus), (second, plus)):
            model[..., channel] = rows[..., channel] * (cos + more)
        everywhere = np.where(right[:, None, None], case.truth, model)
        yield Prediction(f"matches {words}", everywhere)


def norm_over_heads(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict one mean square for all heads of a token."""
    heads = len(case.arguments["q"])
    squares = (rows_of(case) ** 2).mean(axis=-1, keepdims=True)
    means = squares.copy()
    for part in (slice(0, heads), slice(heads, None)):
        means[part] = squares[part].mean(axis=0)
    rows = rows_of(case) / np.sqrt(means + case.arguments["eps"]) * factors(case)
    yield Prediction("matches one norm for all heads of a token", turned(case, rows))


def sum_for_mean(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the root of the sum of squares."""
    squares = (rows_of(case) ** 2).sum(axis=-1, keepdims=True)
    rows = rows_of(case) / np.sqrt(squares + case.arguments["eps"]) * factors(case)
    yield Prediction("matches the root of the sum of squares", turned(case, rows))


def eps_misplaced(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict eps added to the root, or another eps."""
    rows, eps = rows_of(case), case.arguments["eps"]
    mean = (rows**2).mean(axis=-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        outside = rows / (np.sqrt(mean) + eps) * factors(case)
        yield Prediction("matches eps added to the root", turned(case, outside))
        for other in FIXED:
            if other != eps:
                fixed = rows / np.sqrt(mean + other) * factors(case)
                yield Prediction(f"matches an eps of {other:g}", turned(case, fixed))


KNOWLEDGE = {
    "qk_norm_rope": CallKnowledge(
        error_terms=error_terms,
        arguments=arguments,
        sweep=sweep,
        sizes=sizes,
        shape=lambda case: (
            len(case.arguments["q"]) + len(case.arguments["k"]),
            *case.arguments["q"].shape[1:],
        ),
        frequencies=read_frequencies,
        readings=(mean_subtracted, low_precision, partner_misread),
        tied=(("k", -3), ("q_weight", None), ("k_weight", None)),
        invariants={
            "heads-alone": heads_alone,
            "norm-at-zero": norm_at_zero,
            "rows-of-length": rows_of_length,
        },
        deviations={
            "layout-swapped": LAYOUT_SWAPPED,
            "norm-weight-swapped": other_conventions(
                "norm_weight", "matches a weight that is {value}; {claimed} was claimed"
            ),
            "norm-left-out": norm_left_out,
            "rotary-dim-ignored": rotary_dim_ignored,
            "norm-of-rotated-channels": norm_of_rotated,
            "weight-behind-rotation": weight_behind,
            "one-weight-for-both": one_weight_for_both,
            "norm-over-heads": norm_over_heads,
            "sum-for-mean": sum_for_mean,
            "eps-misplaced": eps_misplaced,
        },
    ),
}
