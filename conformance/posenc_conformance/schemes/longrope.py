"""LongRoPE: bounds, invariants and deviations."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from posenc_conformance.diagnose.mistakes import (
    Model,
    attempt,
    negated_positions,
    other_conventions,
)
from posenc_conformance.diagnose.turns import given
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
from posenc_conformance.families.rotary_scaling import SMALLEST_NORMAL, three_calls
from posenc_conformance.judge.arrays import Floats, fine
from posenc_conformance.judge.bounded import Exact
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.trial import Trial

ROOM = 640
"""Positions that checks may move to from a start; the choice of factors must be the same there."""


def factors_for(pairs: int, longest: float) -> Floats:
    """Factors that rise from 1 to about the longest, unevenly, as searched ones do."""
    rising = longest ** (np.arange(pairs) / max(pairs - 1, 1))
    return np.asarray(np.round(rising * (1 + np.arange(pairs) % 3 / 16), 4))


def lists_for(pairs: int) -> dict[str, Floats]:
    """Short and long factors."""
    return {"short_factors": factors_for(pairs, 3.0), "long_factors": factors_for(pairs, 48.0)}


def is_long(case: Case) -> bool:
    """Whether the long factors are the right ones."""
    given = case.arguments
    length = int(np.max(given["positions"], initial=-1)) + 1
    return bool(
        case.conventions["choice"] == "long" or length > given["original_max_position_embeddings"]
    )


def chosen_factors(case: Case) -> Floats:
    """The factors that are the right ones for the case."""
    factors: Floats = case.arguments["long_factors" if is_long(case) else "short_factors"]
    return factors


def frequencies(case: Case) -> Floats:
    """Radians per position of each pair."""
    return progression(case.arguments["base"], rotary_dim(case)) / chosen_factors(case)


def longer(case: Case) -> Floats:
    """By what every pair is made longer."""
    given = case.arguments
    if given.get("attention_factor") is not None:
        return np.asarray([given["attention_factor"]], dtype=np.float64)
    grown = np.log(max(given["factor"], 1.0))
    if case.conventions["amplitude"] == "yarn":
        return np.asarray([0.1 * grown + 1])
    return np.asarray([np.sqrt(1 + grown / np.log(given["original_max_position_embeddings"]))])


def plain_frequencies(case: Case) -> Floats:
    """Frequencies of the frequencies call without any factors."""
    return progression(case.arguments["base"], 2 * len(case.arguments["factors"]))


def frequency_terms(case: Case) -> ErrorTerms:
    """The scale is the frequency; what a float32 power loses stands in place of the angle.

    Below its normal numbers float16 keeps fewer digits, and the scale stays what it is there.
    """
    plain = plain_frequencies(case)
    least = SMALLEST_NORMAL.get(case.dtype, 0.0)
    scale = np.maximum(plain / case.arguments["factors"], least)
    return ErrorTerms(scale, 1 + np.abs(np.log(plain)))


def frequencies_arguments(trial: Trial) -> dict[str, Any]:
    """A few sizes."""
    pairs = trial.choose("pairs", (4, 2, 3, 8, 48, 64))
    longest = trial.pick.one_of((3.0, 48.0, 1.0))
    return {
        "factors": factors_for(pairs, longest),
        "base": trial.choose("base", (10000.0, 500000.0, 100.0)),
    }


def arguments(trial: Trial) -> dict[str, Any]:
    """Two heads and a few positions in a row, with room on their side of the original length."""
    head_dim = trial.choose("head_dim", (8, 4, 6, 16, 64, 96, 128))
    extra = some_channels(trial, head_dim)
    size = extra.get("rotary_dim", head_dim)
    if trial.can("attention") and trial.pick.integer(0, 1):
        given = trial.choose("attention_factor", (1.25, 0.75, 1.0))
        extra |= {"attention": "explicit", "attention_factor": given}
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


def sweep(parameters: Mapping[str, Any], largest: int) -> dict[str, Any]:
    """All powers of two up to the largest position, for one head of 96 channels."""
    size = parameters.get("rotary_dim", parameters.get("head_dim", 96))
    usual = {"base": 10000.0, "factor": 32.0, "original_max_position_embeddings": 4096}
    return far(parameters, largest, 96, **lists_for(size // 2), **usual)


def frequencies_sizes(case: Case) -> Iterator[dict[str, Any]]:
    """Small and large, powers of two and not."""
    return (
        {"factors": factors_for(n, 8.0)} for n in (1, 2, 3, 6, 8, 32, 48, 64, 65, 128, 256, 300)
    )


def sizes(case: Case) -> Iterator[dict[str, Any]]:
    """Small and large heads, powers of two and not, many rows, both sides of a length, factors."""
    for head_dim in (2, 4, 6, 16, 64, 96, 128, 130, 256, 512):
        x = fine((2, head_dim))
        yield {"x": x, "positions": np.array([1, 7]), **lists_for(head_dim // 2)}
    yield {"x": fine((1025, 2)), "positions": np.arange(1025), **lists_for(1)}
    trained = case.arguments["original_max_position_embeddings"]
    for last in (trained - 1, trained):
        yield {"x": fine((2, 8)), "positions": np.array([3, last]), **lists_for(4)}
    yield from few_factors()


def backward_sizes(case: Case) -> Iterator[dict[str, Any]]:
    """A few sizes of heads, and both sides of a length."""
    for head_dim in (2, 6, 96, 128, 130, 256):
        x = fine((2, 2, head_dim))
        yield {"x": x, "positions": np.array([1, 7]), **lists_for(head_dim // 2)}
    trained = case.arguments["original_max_position_embeddings"]
    for last in (trained - 1, trained):
        yield {"x": fine((2, 8)), "positions": np.array([3, last]), **lists_for(4)}
    yield from few_factors()


def few_factors() -> Iterator[dict[str, Any]]:
    """Texts that grow a little longer, and shorter: then no pair is made longer."""
    for factor in (1.5, 0.5):
        given = {"x": fine((2, 8)), "positions": np.array([1, 7]), **lists_for(4)}
        yield given | {"factor": factor}


ROTATION = Rotation(arguments, frequencies, amplitude=longer)
BACKWARD = ROTATION.backward


def frequencies_unit(trial: Trial) -> None:
    """Factors of 1 leave the frequencies of RoPE."""
    chosen = frequencies_arguments(trial)
    answer = trial.answer(**(chosen | {"factors": np.ones_like(chosen["factors"])}))
    plain = plain_frequencies(answer.case)
    trial.zero(
        answer - plain,
        "with factors of 1 the frequencies are not base ** (-2t / rotary_dim)",
    )


def frequencies_reciprocal(trial: Trial) -> None:
    """Twice the factors, half the frequencies."""
    chosen = frequencies_arguments(trial)
    once = trial.answer(**chosen)
    twice = trial.answer(**(chosen | {"factors": 2 * chosen["factors"]}))
    trial.zero(2 * twice - once, "twice the factors do not halve the frequencies")


def unit_factors(trial: Trial) -> None:
    """Factors of 1 and no longer texts leave RoPE."""
    chosen = arguments(trial)
    if "attention_factor" in chosen:
        return
    ones = {name: np.ones_like(chosen[name]) for name in ("short_factors", "long_factors")}
    answer = trial.answer(**(chosen | ones | {"factor": 1.0}))
    trial.zero(answer - Exact(plain_rope(answer.case)), "with factors of 1 this is not RoPE")


def pass_through(trial: Trial) -> None:
    """Channels from rotary_dim on are returned bit by bit, not made longer."""
    chosen = partial(trial, arguments(trial))
    rest_passes(trial, chosen | lists_for(chosen["rotary_dim"] // 2))


# Models of mistakes: frequencies.


def frequencies_multiplied(case: Case, got: Floats) -> Iterator[Model]:
    """Multiplied by the factors."""
    omega = plain_frequencies(case) * case.arguments["factors"]
    yield Model("matches frequencies multiplied by the factors", omega)


def frequencies_unscaled(case: Case, got: Floats) -> Iterator[Model]:
    """The frequencies of RoPE."""
    yield Model("matches the frequencies of RoPE, undivided", plain_frequencies(case))


def frequencies_factors_reversed(case: Case, got: Floats) -> Iterator[Model]:
    """The first factor for the last pair."""
    omega = plain_frequencies(case) / case.arguments["factors"][::-1]
    yield Model("matches the factors in reverse order", omega)


# Models of mistakes: rotation.


def choice_swapped(case: Case, got: Floats) -> Iterator[Model]:
    """The other list of factors."""
    long = is_long(case)
    plain = progression(case.arguments["base"], rotary_dim(case))
    other = case.arguments["short_factors" if long else "long_factors"]
    used, wanted = ("short", "long") if long else ("long", "short")
    words = f"matches the {used} factors where the {wanted} ones are right"
    if case.conventions["choice"] == "long" and not is_long(case.under(choice="length")):
        words += ", at a short length"
    yield ROTATION.with_frequencies(case, plain / other, words)


def choice_by_row(case: Case, got: Floats) -> Iterator[Model]:
    """Each row by its own position."""
    given = case.arguments
    plain = progression(given["base"], rotary_dim(case))
    far = given["positions"][:, None] >= given["original_max_position_embeddings"]
    omega = plain / np.where(far, given["long_factors"], given["short_factors"])
    yield ROTATION.with_frequencies(case, omega, "matches factors chosen row by row")


def factors_multiplied(case: Case, got: Floats) -> Iterator[Model]:
    """Multiplied by the factors."""
    omega = progression(case.arguments["base"], rotary_dim(case)) * chosen_factors(case)
    yield ROTATION.with_frequencies(case, omega, "matches frequencies multiplied by the factors")


def factors_ignored(case: Case, got: Floats) -> Iterator[Model]:
    """The frequencies of RoPE."""
    omega = progression(case.arguments["base"], rotary_dim(case))
    yield ROTATION.with_frequencies(case, omega, "matches the frequencies of RoPE, undivided")


def head_dim_frequencies(case: Case, got: Floats) -> Iterator[Model]:
    """Under partial rotation, exponents from head_dim."""
    size, head_dim = rotary_dim(case), case.arguments["x"].shape[-1]
    if size < head_dim:
        omega = progression(case.arguments["base"], head_dim)[: size // 2] / chosen_factors(case)
        yield ROTATION.with_frequencies(
            case, omega, "matches frequencies computed from head_dim, not rotary_dim"
        )


def amplified(case: Case, factor: Floats, words: str) -> Model:
    """The rotated channels made longer by another factor."""
    out = case.truth.copy()
    both = np.concatenate(written_channels(case))
    out[..., both] *= factor / longer(case)
    return Model(words, out)


def amplitude_missing(case: Case, got: Floats) -> Iterator[Model]:
    """Pairs that keep their length."""
    yield amplified(case, np.ones(1), "matches pairs that are not made longer")


def amplitude_squared(case: Case, got: Floats) -> Iterator[Model]:
    """The root forgotten, or the factor applied twice."""
    yield amplified(case, longer(case) ** 2, "matches the square of the factor of length")


def amplitude_of_extended_length(case: Case, got: Floats) -> Iterator[Model]:
    """The logarithm of the extended length below the fraction line."""
    given = case.arguments
    if case.conventions["amplitude"] == "su" and given.get("attention_factor") is None:
        grown = np.log(max(given["factor"], 1.0))
        below = np.log(given["original_max_position_embeddings"]) + grown
        yield amplified(case, np.sqrt([1 + grown / below]), "matches ln(s L) in place of ln(L)")


def attention_ignored(case: Case, got: Floats) -> Iterator[Model]:
    """attention_factor left out of account."""
    if case.arguments.get("attention_factor") is not None:
        yield from attempt(case.changed(attention_factor=None), "matches attention_factor ignored")


def sign_flipped(case: Case, got: Floats) -> Iterator[Model]:
    """Angles of the opposite sign, with the factors that the positions themselves choose."""
    yield from negated_positions(case, got)
    turned = ROTATION.turned(case, -ROTATION.angles(case))
    yield Model("matches angles of the opposite sign", turned)


TURNS = three_calls(
    "longrope",
    given(lambda case: plain_frequencies(case) / case.arguments["factors"]),
    ROTATION.turns,
    BACKWARD.turns,
)
ERROR_TERMS = three_calls("longrope", frequency_terms, ROTATION.error_terms, BACKWARD.error_terms)
ARGUMENTS = three_calls("longrope", frequencies_arguments, arguments, arguments)
SWEEPS: dict[str, Any] = three_calls("longrope", no_sweep, sweep, small_head(sweep))
SIZES = three_calls("longrope", frequencies_sizes, sizes, backward_sizes)
SHAPES = {"longrope_frequencies": lambda case: case.arguments["factors"].shape}
INVARIANTS = {
    "longrope_frequencies": {
        "frequencies-unit": frequencies_unit,
        "frequencies-reciprocal": frequencies_reciprocal,
    },
    "longrope": {
        "length": ROTATION.isometry,
        "unturned-at-zero": ROTATION.identity_at_zero,
        "relative-scores": ROTATION.relative_scores,
        "scores-of-ones": ROTATION.scores_of_ones,
        "linearity": linear_in("x", ROTATION.arguments),
        "pair-locality": ROTATION.pair_locality,
        "pass-through": pass_through,
        "unit-factors": unit_factors,
    },
    "longrope_vjp": BACKWARD.backward_invariants,
}
DEVIATIONS = {
    "longrope_frequencies": {
        "factors-multiplied": frequencies_multiplied,
        "factors-ignored": frequencies_unscaled,
        "frequencies-factors-reversed": frequencies_factors_reversed,
        "frequencies-wrong-base": wrong_base,
    },
    "longrope": {
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
    "longrope_vjp": BACKWARD.backward_deviations
    | {
        "backward-inverse": BACKWARD.inverse,
        "backward-factor-missing": BACKWARD.amplitude_missing,
        "backward-unscaled": BACKWARD.at_frequencies(
            lambda case: progression(case.arguments["base"], rotary_dim(case)), UNSCALED
        ),
    },
}
