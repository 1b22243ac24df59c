"""xPos: bounds, invariants and deviations."""

from collections.abc import Iterator

import numpy as np

from posenc_conformance.diagnose.predictors import other_conventions, predict_case
from posenc_conformance.families.encodings import wrong_base
from posenc_conformance.families.linearity import linear_in
from posenc_conformance.families.rotary import (
    LAYOUT_SWAPPED,
    ROWS,
    Rotation,
    far,
    few_heads,
    few_rows,
    positions_shifted,
    progression,
    small_head,
    written_channels,
)
from posenc_conformance.families.rotary_tables import backward_readings, forward_readings
from posenc_conformance.judge.arrays import Floats, Ints, fine
from posenc_conformance.judge.bounded import Answer
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.deviation import Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments

FARTHEST = 4
"""The largest distance from the centre in checks, in scale bases: it scales pair 0 by 150 or 1/150,
which float16 still represents."""
START = 2000


def frequencies(case: Case) -> Floats:
    """Compute the frequency of each pair, in radians per position."""
    return progression(case.arguments["base"], case.arguments["x"].shape[-1])


def zeta(case: Case) -> Floats:
    """Compute zeta of each pair, the factor by which a score falls per scale base."""
    size = case.arguments["x"].shape[-1]
    return np.asarray((np.arange(0, size, 2) / size + 0.4) / 1.4)


def exponents(case: Case) -> Floats:
    """Compute the exponent of zeta for each row: [n, 1]."""
    positions = case.arguments["positions"]
    return exponents_at(case, positions, int(np.max(positions, initial=-1)) + 1)


def exponents_at(case: Case, positions: Ints, length: int) -> Floats:
    """Compute the exponents of rows at other positions, of a sequence of another length."""
    inputs = case.arguments
    center = {"zero": 0, "ceiling": -(-length // 2), "floor": length // 2}[
        str(case.conventions["center"])
    ]
    steps = (positions - center)[:, None] / inputs["scale_base"]
    return np.asarray(-steps if inputs["downscale"] else steps, dtype=np.float64)


def scale(case: Case) -> Floats:
    """Compute the factor that scales the length of each row's pairs: [n, pairs]."""
    return np.asarray(zeta(case) ** exponents(case))


class Scaled(Rotation):
    """A rotation whose float32 scale also has an error, which grows with the exponent."""

    def error_terms(self, case: Case) -> ErrorTerms:
        """Return the error terms of any rotation, plus the error of a float32 power of zeta."""
        terms = super().error_terms(case)
        more = np.abs(exponents(case)) * (1 + np.abs(np.log(zeta(case))))
        angle = np.array(terms.angle)
        for written in written_channels(case):
            angle[..., written] += more
        return ErrorTerms(terms.scale, angle)


def arguments(trial: Trial) -> ArgumentDict:
    """Draw two heads and a few consecutive positions."""
    head_dim = trial.choose("head_dim", (8, 4, 6, 16, 64, 80, 128))
    start = trial.position(ROWS, START)
    return few_rows(head_dim, start) | {
        "base": trial.choose("base", (10000.0, 500000.0, 100.0)),
        "scale_base": trial.choose("scale_base", (512.0, 768.0, 640.0)),
        "downscale": trial.choose("downscale", (0, 1)),
    }


def sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Make a call of one head of 64 channels, at all powers of two up to the largest position.

    The scale base is large enough, or the positions small enough, for the scale to stay within
    float16.
    """
    scale_base = float(max(512, 2 ** max(0, (largest // FARTHEST).bit_length())))
    scale_base = parameters.get("scale_base", scale_base)
    reach = min(largest, int(FARTHEST * scale_base))
    return far(parameters, reach, 64, base=10000.0, scale_base=scale_base, downscale=0)


def sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield small and large head dimensions, powers of two and not, and many rows."""
    for head_dim in (2, 4, 6, 16, 64, 80, 128, 130, 256, 512):
        yield {"x": fine((2, head_dim)), "positions": np.array([1, 70])}
    yield {"x": fine((1025, 2)), "positions": np.arange(1025)}


ROTATION = Scaled(arguments, frequencies, amplitude=scale)
BACKWARD = ROTATION.backward


def partners(answer: Answer, x: Floats) -> Floats:
    """Compute the true keys made of x if the answer has queries, else the true queries."""
    other = 1 - answer.case.arguments["downscale"]
    return answer.case.with_arguments(x=x, downscale=other).truth


def scores(answer: Answer, others: Floats) -> Answer:
    """Compute the dot product of every row of an answer with every row of ``others``."""
    return (answer[..., :, None, :] * others[..., None, :, :]).sum(axis=-1)


def relative_scores(trial: Trial) -> None:
    """Check that scores depend only on the offset.

    All rows have the same query and the same key.
    """
    chosen = arguments(trial)
    query, key = chosen["x"][..., :1, :], chosen["x"][..., 1:2, :]
    rows = np.ones((ROWS, 1))
    answer = trial.answer(**(chosen | {"x": query * rows}))
    products = scores(answer, partners(answer, key * rows))
    trial.assert_zero(
        products[..., 1:, 1:] - products[..., :-1, :-1],
        "the score of a query and a key changes when both move by 1",
    )


def scores_of_ones(trial: Trial) -> None:
    """Check that the score of all-ones query and key is 2 Σ zeta^(δ/B) cos(w δ).

    It does not depend on the centre.
    """
    chosen = arguments(trial)
    ones = np.ones_like(chosen["x"])
    answer = trial.answer(**(chosen | {"x": ones}))
    rows = np.arange(ROWS)
    offset = (rows[:, None] - rows)[..., None]
    power = (-offset if chosen["downscale"] else offset) / chosen["scale_base"]
    size = zeta(answer.case) ** power
    expected = 2 * (size * np.cos(offset * frequencies(answer.case))).sum(axis=-1)
    trial.assert_zero(
        scores(answer, partners(answer, ones)) - expected,
        "the score of two rows of ones is not 2 Σ zeta^((m - n)/B) cos(w (m - n))",
    )


def reciprocal(trial: Trial) -> None:
    """Check that x as a query times x as a key gives its squared length, pair by pair."""
    chosen = arguments(trial)
    query, key = (trial.answer(**(chosen | {"downscale": role})) for role in (0, 1))
    x = query.case.arguments["x"]
    first, second = written_channels(query.case)
    products = query * key - x**2
    trial.assert_zero(
        products[..., first] + products[..., second],
        "a row as a query times the same row as a key is not its squared length",
    )


# Models of mistakes.


def rescaled(case: Case, other: Floats, words: str) -> Prediction:
    """Predict correctly turned pairs with another scale."""
    out = case.truth.copy()
    ratio = other / scale(case)
    for written in written_channels(case):
        out[..., written] *= ratio
    return Prediction(words, out)


def downscale_swapped(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict queries scaled as keys, or keys as queries."""
    taken, meant = ("queries", "keys") if case.arguments["downscale"] else ("keys", "queries")
    yield from predict_case(
        case.with_arguments(downscale=1 - case.arguments["downscale"]),
        f"matches {meant} scaled as {taken}",
    )


def scale_missing(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict RoPE without a scale."""
    yield rescaled(case, np.ones(1), "matches RoPE without any scale")


def scale_squared(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the square of the scale: the whole decay of a score, on queries or keys alone."""
    yield rescaled(case, scale(case) ** 2, "matches the square of the scale")


def scales_misplaced(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict scales repeated for the other layout of pairs."""
    right = scale(case)
    half = case.conventions["layout"] == "half"
    other = np.repeat(right, 2, axis=-1) if half else np.tile(right, 2)
    plain = rescaled(case, np.ones(1), "").output
    words = "matches scales repeated as if pairs were " + ("neighbours" if half else "halves")
    yield Prediction(words, plain * other)


def zeta_wrong(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict other formulas for zeta."""
    size, power = case.arguments["x"].shape[-1], exponents(case)
    t = np.arange(size // 2)
    for words, other in (
        ("zeta = 2t/d + 0.4, not divided by 1.4", 2 * t / size + 0.4),
        ("zeta = (t/d + 0.4) / 1.4", (t / size + 0.4) / 1.4),
        ("zeta = (2t/d + 1) / 2", (2 * t / size + 1) / 2),
        ("zeta in reverse order", zeta(case)[::-1]),
    ):
        yield rescaled(case, other**power, f"matches {words}")


def other_gamma(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict another gamma than 0.4 in zeta."""
    size, power = case.arguments["x"].shape[-1], exponents(case)
    for tenths in (1, 2, 3, 5, 6, 7, 8, 9):
        gamma = tenths / 10
        other = (np.arange(0, size, 2) / size + gamma) / (1 + gamma)
        yield rescaled(case, other**power, f"matches a gamma of {gamma:g} in zeta, not 0.4")


def scale_of_other_rows(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict right angles, with the scale of rows counted from the first one of the call."""
    positions = case.arguments["positions"]
    rows, length = np.arange(len(positions)), int(np.max(positions, initial=-1)) + 1
    for words, places, whole in (
        ("of rows counted from 0 in each call, around its own centre", rows, len(rows)),
        ("of the first rows of the table, whatever the positions", rows, length),
        ("whose centre is that of the rows of the call", positions, len(rows)),
    ):
        power = exponents_at(case, places, whole)
        yield rescaled(case, zeta(case) ** power, f"matches the scale {words}; angles are right")


def wrong_scale_base(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict another scale base."""
    claimed = case.arguments["scale_base"]
    for other in (512.0, 256.0, 1024.0, 1.0):
        if other != claimed:
            power = exponents(case) * claimed / other
            with np.errstate(over="ignore", invalid="ignore"):
                model = rescaled(case, zeta(case) ** power, f"matches scale_base {other:g}")
            if np.all(np.isfinite(model.output)):
                yield model


def sign_flipped(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict angles of the opposite sign, with the right scale."""
    yield Prediction(
        "matches angles of the opposite sign", ROTATION.turned(case, -ROTATION.angles(case))
    )


KNOWLEDGE = {
    "xpos": CallKnowledge(
        error_terms=ROTATION.error_terms,
        arguments=arguments,
        sweep=sweep,
        sizes=sizes,
        frequencies=ROTATION.read_frequencies,
        invariants={
            "length": ROTATION.isometry,
            "unturned-at-zero": ROTATION.identity_at_zero,
            "relative-scores": relative_scores,
            "scores-of-ones": scores_of_ones,
            "reciprocal": reciprocal,
            "linearity": linear_in("x", ROTATION.arguments),
            "pair-locality": ROTATION.pair_locality,
            "layout-permutation": ROTATION.layout_permutation,
        },
        deviations={
            "layout-swapped": LAYOUT_SWAPPED,
            "center-swapped": other_conventions(
                "center", "matches the centre {value}; {claimed} was claimed"
            ),
            "downscale-swapped": downscale_swapped,
            "scale-missing": scale_missing,
            "scale-squared": scale_squared,
            "scales-misplaced": scales_misplaced,
            "zeta-wrong": zeta_wrong,
            "wrong-scale-base": wrong_scale_base,
            "positions-shifted": positions_shifted,
            "sign-flipped": sign_flipped,
            "wrong-base": wrong_base,
            "low-precision-angles": ROTATION.low_precision_angles,
        },
        readings=(other_gamma, scale_of_other_rows, *forward_readings(ROTATION)),
    ),
    "xpos_vjp": CallKnowledge(
        error_terms=BACKWARD.error_terms,
        arguments=arguments,
        sweep=small_head(sweep),
        sizes=few_heads((2, 6, 80, 128)),
        frequencies=BACKWARD.read_frequencies,
        readings=backward_readings(BACKWARD),
        invariants=BACKWARD.backward_invariants,
        deviations=BACKWARD.backward_deviations
        | {
            "backward-inverse": BACKWARD.inverse,
            "backward-scale-missing": BACKWARD.amplitude_missing,
        },
    ),
}
