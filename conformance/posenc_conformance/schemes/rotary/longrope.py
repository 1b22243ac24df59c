"""LongRoPE: bounds, invariants and deviations."""

from collections.abc import Iterator
from itertools import product

import numpy as np

from posenc_conformance.diagnose.predictors import (
    negated_positions,
    other_conventions,
    predict_case,
)
from posenc_conformance.families.encodings import wrong_base
from posenc_conformance.families.lengths import no_sweep
from posenc_conformance.families.linearity import linear_in
from posenc_conformance.families.rotary import (
    LAYOUT_SWAPPED,
    ROWS,
    UNSCALED,
    Rotation,
    far,
    few_rows,
    partial,
    plain_rope,
    positions_shifted,
    progression,
    rest_passes,
    rotary_dim,
    small_head,
    some_channels,
    written_channels,
)
from posenc_conformance.families.rotary_scaling import SMALLEST_NORMAL
from posenc_conformance.families.rotary_tables import backward_readings, reduced, tables_mixed
from posenc_conformance.judge.arrays import Floats, fine
from posenc_conformance.judge.bounded import Exact
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.deviation import Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.measured_frequencies import read_as_given
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments

ROOM = 640
"""The distance by which checks may move positions without changing the choice of factors."""


def factors_for(pairs: int, longest: float) -> Floats:
    """Return factors that rise from 1 to about ``longest``, unevenly, like searched ones."""
    rising = longest ** (np.arange(pairs) / max(pairs - 1, 1))
    return np.asarray(np.round(rising * (1 + np.arange(pairs) % 3 / 16), 4))


def lists_for(pairs: int) -> dict[str, Floats]:
    """Return short and long factors."""
    return {"short_factors": factors_for(pairs, 3.0), "long_factors": factors_for(pairs, 48.0)}


def is_long(case: Case) -> bool:
    """Return whether the long factors are the right ones."""
    inputs = case.arguments
    length = int(np.max(inputs["positions"], initial=-1)) + 1
    return bool(
        case.conventions["choice"] == "long" or length > inputs["original_max_position_embeddings"]
    )


def chosen_factors(case: Case) -> Floats:
    """Return the right factors of the case."""
    factors: Floats = case.arguments["long_factors" if is_long(case) else "short_factors"]
    return factors


def frequencies(case: Case) -> Floats:
    """Return the frequency of each pair, in radians per position."""
    return progression(case.arguments["base"], rotary_dim(case)) / chosen_factors(case)


def longer(case: Case) -> Floats:
    """Compute the factor that scales every pair's length."""
    inputs = case.arguments
    if inputs.get("attention_factor") is not None:
        return np.asarray([inputs["attention_factor"]], dtype=np.float64)
    grown = np.log(max(inputs["factor"], 1.0))
    if case.conventions["amplitude"] == "yarn":
        return np.asarray([0.1 * grown + 1])
    return np.asarray([np.sqrt(1 + grown / np.log(inputs["original_max_position_embeddings"]))])


def plain_frequencies(case: Case) -> Floats:
    """Compute RoPE's frequencies, which the frequencies call divides by its factors."""
    return progression(case.arguments["base"], 2 * len(case.arguments["factors"]))


def frequency_terms(case: Case) -> ErrorTerms:
    """Return the frequency as the scale, and the error of a float32 power as the angle.

    In float16 the scale is at least the smallest normal number, below which there are fewer digits.
    """
    plain = plain_frequencies(case)
    least = SMALLEST_NORMAL.get(case.dtype, 0.0)
    scale = np.maximum(plain / case.arguments["factors"], least)
    return ErrorTerms(scale, 1 + np.abs(np.log(plain)))


def frequencies_arguments(trial: Trial) -> ArgumentDict:
    """Draw factors for a few numbers of pairs, and a base."""
    pairs = trial.choose("pairs", (4, 2, 3, 8, 48, 64))
    longest = trial.pick.one_of((3.0, 48.0, 1.0))
    return {
        "factors": factors_for(pairs, longest),
        "base": trial.choose("base", (10000.0, 500000.0, 100.0)),
    }


def arguments(trial: Trial) -> ArgumentDict:
    """Draw two heads and a few consecutive positions.

    Positions that move up by ROOM stay on their side of the original length.
    """
    head_dim = trial.choose("head_dim", (8, 4, 6, 16, 64, 96, 128))
    extra = some_channels(trial, head_dim)
    size = extra.get("rotary_dim", head_dim)
    if trial.can("attention") and trial.pick.integer(0, 1):
        explicit = trial.choose("attention_factor", (1.25, 0.75, 1.0))
        extra |= {"attention": "explicit", "attention_factor": explicit}
    trained = trial.choose("original_max_position_embeddings", (4096, 8192, 32))
    start = trial.position(ROWS)
    if start < trained < start + ROOM:
        fits = trained + ROOM <= trial.scope.max_position
        start = trained if fits else max(0, trained - ROOM)
    return {
        **few_rows(head_dim, start),
        **lists_for(size // 2),
        "base": trial.choose("base", (10000.0, 500000.0, 100.0)),
        "factor": trial.choose("factor", (32.0, 4.0, 2.5)),
        "original_max_position_embeddings": trained,
        **extra,
    }


def sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Make a call of one head of 96 channels, at all powers of two up to the largest position."""
    size = parameters.get("rotary_dim", parameters.get("head_dim", 96))
    usual = {"base": 10000.0, "factor": 32.0, "original_max_position_embeddings": 4096}
    return far(parameters, largest, 96, **lists_for(size // 2), **usual)


def frequencies_sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield small and large numbers of pairs, powers of two and not."""
    return (
        {"factors": factors_for(n, 8.0)} for n in (1, 2, 3, 6, 8, 32, 48, 64, 65, 128, 256, 300)
    )


def sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield small and large head dimensions, powers of two and not, and many rows.

    Then yield lengths on both sides of the original one, and small factors.
    """
    for head_dim in (2, 4, 6, 16, 64, 96, 128, 130, 256, 512):
        x = fine((2, head_dim))
        yield {"x": x, "positions": np.array([1, 7]), **lists_for(head_dim // 2)}
    yield {"x": fine((1025, 2)), "positions": np.arange(1025), **lists_for(1)}
    trained = case.arguments["original_max_position_embeddings"]
    for largest, where in product((trained - 1, trained), (np.s_[:], np.s_[::-1])):
        yield {"x": fine((2, 8)), "positions": np.array([3, largest])[where], **lists_for(4)}
    yield from few_factors()


def backward_sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield a few head sizes, lengths on both sides of the original one, and small factors."""
    for head_dim in (2, 6, 96, 128, 130, 256):
        x = fine((2, 2, head_dim))
        yield {"x": x, "positions": np.array([1, 7]), **lists_for(head_dim // 2)}
    trained = case.arguments["original_max_position_embeddings"]
    for largest, where in product((trained - 1, trained), (np.s_[:], np.s_[::-1])):
        yield {"x": fine((2, 8)), "positions": np.array([3, largest])[where], **lists_for(4)}
    yield from few_factors()


def few_factors() -> Iterator[ArgumentDict]:
    """Yield factors a little above and below 1.

    Below 1, pairs keep their length.
    """
    for factor in (1.5, 0.5):
        chosen = {"x": fine((2, 8)), "positions": np.array([1, 7]), **lists_for(4)}
        yield chosen | {"factor": factor}


ROTATION = Rotation(arguments, frequencies, amplitude=longer)
BACKWARD = ROTATION.backward


def frequencies_unit(trial: Trial) -> None:
    """Check that factors of 1 give the frequencies of RoPE."""
    chosen = frequencies_arguments(trial)
    answer = trial.answer(**(chosen | {"factors": np.ones_like(chosen["factors"])}))
    plain = plain_frequencies(answer.case)
    trial.assert_zero(
        answer - plain,
        "with factors of 1 the frequencies are not base ** (-2t / rotary_dim)",
    )


def frequencies_reciprocal(trial: Trial) -> None:
    """Check that twice the factors give half the frequencies."""
    chosen = frequencies_arguments(trial)
    once = trial.answer(**chosen)
    twice = trial.answer(**(chosen | {"factors": 2 * chosen["factors"]}))
    trial.assert_zero(2 * twice - once, "twice the factors do not halve the frequencies")


def unit_factors(trial: Trial) -> None:
    """Check that factors of 1 and an unextended context give plain RoPE."""
    chosen = arguments(trial)
    if "attention_factor" in chosen:
        return
    ones = {name: np.ones_like(chosen[name]) for name in ("short_factors", "long_factors")}
    answer = trial.answer(**(chosen | ones | {"factor": 1.0}))
    trial.assert_zero(answer - Exact(plain_rope(answer.case)), "with factors of 1 this is not RoPE")


def pass_through(trial: Trial) -> None:
    """Check that channels from rotary_dim on are returned bit for bit, not scaled."""
    chosen = partial(trial, arguments(trial))
    rest_passes(trial, chosen | lists_for(chosen["rotary_dim"] // 2))


# Models of mistakes: frequencies.


def frequencies_multiplied(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict frequencies multiplied by the factors."""
    omega = plain_frequencies(case) * case.arguments["factors"]
    yield Prediction("matches frequencies multiplied by the factors", omega)


def frequencies_unscaled(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the frequencies of RoPE."""
    yield Prediction("matches the frequencies of RoPE, undivided", plain_frequencies(case))


def frequencies_factors_reversed(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the factors in reverse order."""
    omega = plain_frequencies(case) / case.arguments["factors"][::-1]
    yield Prediction("matches the factors in reverse order", omega)


# Models of mistakes: rotation.


def choice_swapped(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the other list of factors."""
    long = is_long(case)
    plain = progression(case.arguments["base"], rotary_dim(case))
    other = case.arguments["short_factors" if long else "long_factors"]
    used, right = ("short", "long") if long else ("long", "short")
    words = f"matches the {used} factors where the {right} ones are right"
    if case.conventions["choice"] == "long" and not is_long(case.with_conventions(choice="length")):
        words += ", at a short length"
    yield ROTATION.with_frequencies(case, plain / other, words)


def backward_choice_swapped(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict a gradient turned back by the other list of factors."""
    used, right = ("short", "long") if is_long(case) else ("long", "short")
    plain = progression(case.arguments["base"], rotary_dim(case))
    omega = plain / case.arguments[f"{used}_factors"]
    words = f"matches the gradient turned back by the {used} factors, not the {right} ones"
    yield BACKWARD.with_frequencies(case, omega, words)


def choice_by_row(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict factors chosen for each row by its own position."""
    inputs = case.arguments
    plain = progression(inputs["base"], rotary_dim(case))
    far = inputs["positions"][:, None] >= inputs["original_max_position_embeddings"]
    omega = plain / np.where(far, inputs["long_factors"], inputs["short_factors"])
    yield ROTATION.with_frequencies(case, omega, "matches factors chosen row by row")


def factors_multiplied(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict a rotation by frequencies multiplied by the factors."""
    omega = progression(case.arguments["base"], rotary_dim(case)) * chosen_factors(case)
    yield ROTATION.with_frequencies(case, omega, "matches frequencies multiplied by the factors")


def factors_ignored(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict a rotation by the frequencies of RoPE."""
    omega = progression(case.arguments["base"], rotary_dim(case))
    yield ROTATION.with_frequencies(case, omega, "matches the frequencies of RoPE, undivided")


def head_dim_frequencies(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict frequencies computed from head_dim, under partial rotation."""
    size, head_dim = rotary_dim(case), case.arguments["x"].shape[-1]
    if size < head_dim:
        omega = progression(case.arguments["base"], head_dim)[: size // 2] / chosen_factors(case)
        yield ROTATION.with_frequencies(
            case, omega, "matches frequencies computed from head_dim, not rotary_dim"
        )


def amplified(case: Case, factor: Floats, words: str) -> Prediction:
    """Predict the rotated channels scaled by another factor."""
    out = case.truth.copy()
    both = np.concatenate(written_channels(case))
    out[..., both] *= factor / longer(case)
    return Prediction(words, out)


def amplitude_missing(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict pairs that keep their length."""
    yield amplified(case, np.ones(1), "matches pairs that are not made longer")


def amplitude_squared(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the factor that scales lengths squared: its root missing, or applied twice."""
    yield amplified(case, longer(case) ** 2, "matches the square of the factor of length")


def amplitude_of_extended_length(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict scaled lengths with the logarithm of the extended context as the divisor."""
    inputs = case.arguments
    if case.conventions["amplitude"] == "su" and inputs.get("attention_factor") is None:
        grown = np.log(max(inputs["factor"], 1.0))
        below = np.log(inputs["original_max_position_embeddings"]) + grown
        yield amplified(case, np.sqrt([1 + grown / below]), "matches ln(s L) in place of ln(L)")


def attention_ignored(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the result without attention_factor."""
    if case.arguments.get("attention_factor") is not None:
        yield from predict_case(
            case.with_arguments(attention_factor=None), "matches attention_factor ignored"
        )


def sign_flipped(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict angles of the opposite sign.

    The factors are chosen by the negative positions or by the right ones.
    """
    yield from negated_positions(case, got)
    turned = ROTATION.turned(case, -ROTATION.angles(case))
    yield Prediction("matches angles of the opposite sign", turned)


KNOWLEDGE = {
    "longrope_frequencies": CallKnowledge(
        error_terms=frequency_terms,
        arguments=frequencies_arguments,
        sweep=no_sweep,
        sizes=frequencies_sizes,
        shape=lambda case: case.arguments["factors"].shape,
        frequencies=read_as_given(lambda case: plain_frequencies(case) / case.arguments["factors"]),
        invariants={
            "frequencies-unit": frequencies_unit,
            "frequencies-reciprocal": frequencies_reciprocal,
        },
        deviations={
            "factors-multiplied": frequencies_multiplied,
            "factors-ignored": frequencies_unscaled,
            "frequencies-factors-reversed": frequencies_factors_reversed,
            "frequencies-wrong-base": wrong_base,
        },
    ),
    "longrope": CallKnowledge(
        error_terms=ROTATION.error_terms,
        arguments=arguments,
        sweep=sweep,
        sizes=sizes,
        frequencies=ROTATION.read_frequencies,
        readings=(reduced(ROTATION), tables_mixed(ROTATION)),
        invariants={
            "length": ROTATION.isometry,
            "unturned-at-zero": ROTATION.identity_at_zero,
            "relative-scores": ROTATION.relative_scores,
            "scores-of-ones": ROTATION.scores_of_ones,
            "linearity": linear_in("x", ROTATION.arguments),
            "pair-locality": ROTATION.pair_locality,
            "pass-through": pass_through,
            "unit-factors": unit_factors,
        },
        deviations={
            "layout-swapped": LAYOUT_SWAPPED,
            "choice-swapped": choice_swapped,
            "choice-by-row": choice_by_row,
            "factors-multiplied": factors_multiplied,
            "factors-ignored": factors_ignored,
            "attention-ignored": attention_ignored,
            "amplitude-swapped": other_conventions(
                "amplitude", "matches the length of {value}; {claimed} was claimed"
            ),
            "amplitude-missing": amplitude_missing,
            "amplitude-squared": amplitude_squared,
            "amplitude-of-extended-length": amplitude_of_extended_length,
            "positions-shifted": positions_shifted,
            "sign-flipped": sign_flipped,
            "head-dim-frequencies": head_dim_frequencies,
            "wrong-base": wrong_base,
            "low-precision-angles": ROTATION.low_precision_angles,
        },
    ),
    "longrope_vjp": CallKnowledge(
        error_terms=BACKWARD.error_terms,
        arguments=arguments,
        sweep=small_head(sweep),
        sizes=backward_sizes,
        frequencies=BACKWARD.read_frequencies,
        readings=(backward_choice_swapped, *backward_readings(BACKWARD)),
        invariants=BACKWARD.backward_invariants,
        deviations=BACKWARD.backward_deviations
        | {
            "backward-inverse": BACKWARD.inverse,
            "backward-factor-missing": BACKWARD.amplitude_missing,
            "backward-unscaled": BACKWARD.at_frequencies(
                lambda case: progression(case.arguments["base"], rotary_dim(case)), UNSCALED
            ),
        },
    ),
}
