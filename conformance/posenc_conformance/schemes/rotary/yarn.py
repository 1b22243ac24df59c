"""YaRN: bounds, invariants and deviations."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

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
    all_channels_rotated,
    far,
    few_heads,
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
from posenc_conformance.families.rotary_scaling import SMALLEST_NORMAL, between
from posenc_conformance.families.rotary_tables import backward_readings, forward_readings
from posenc_conformance.judge.arrays import Floats, fine
from posenc_conformance.judge.bounded import Exact
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.deviation import DeviationModel, Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.measured_frequencies import read_as_given
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments

USUAL_BASE = 10_000.0


@dataclass(frozen=True)
class Recipe:
    """The parameters that determine frequencies, and switches for mistakes with them."""

    size: int
    base: float
    factor: float
    length: float
    fast: float
    slow: float
    ramp: str
    bounds_size: int
    """The number of channels from which the bounds of the ramp are computed."""
    last: int
    """The upper limit of the ramp's end."""
    inverted: bool = False
    rounded_early: bool = False
    """Whether the numerators of the bounds are rounded, not the bounds themselves."""
    base_of_ramp: float | None = None
    """The base from which the bounds are computed, if it is not that of the frequencies."""

    @property
    def bounds(self) -> tuple[float, float]:
        """The start and the end of the ramp, as pair indices."""
        low, high = (
            self.bounds_size * np.log(self.length / (2 * np.pi * beta))
            for beta in (self.fast, self.slow)
        )
        divisor = 2 * np.log(self.base_of_ramp or self.base)
        if self.rounded_early:
            low, high = np.floor(low), np.ceil(high)
        low, high = low / divisor, high / divisor
        if self.ramp == "index" and not self.rounded_early:
            low, high = np.floor(low), np.ceil(high)
        low, high = max(low, 0.0), min(high, float(self.last))
        return low, high if low != high else high + 0.001


@dataclass(frozen=True)
class Curves:
    """The frequencies of a recipe and their parts, pair by pair."""

    plain: Floats
    """The frequencies without any scaling."""
    kept: Floats
    """The part of each frequency that is not divided by the factor."""
    frequencies: Floats
    """The frequencies, in radians per position."""
    sensitivity: Floats
    """The relative change of each frequency, in units of the relative roundings on the ramp."""


@lru_cache(maxsize=512)
def curves(asked: Recipe) -> Curves:
    """Compute the curves of a recipe.

    A frequency is ``theta * (1 / s + (1 - 1 / s) * share)``. Where the share is small, its rounding
    weighs up to s - 1 times as much. On a ramp in t, the sensitivity of the share is the distance
    of the ramp's end from 0, divided by the ramp's span. On a ramp in turns, it is the number of
    turns divided by their span, and the turns carry the rounding of theta.
    """
    plain = progression(asked.base, asked.size)
    if asked.ramp == "rotations":
        turned = asked.length * plain / (2 * np.pi)
        share = np.clip((turned - asked.slow) / (asked.fast - asked.slow), 0, 1)
        carried = turned / abs(asked.fast - asked.slow) * (2 + np.abs(np.log(plain)))
    else:
        low, high = asked.bounds
        share = 1 - np.clip((np.arange(asked.size // 2) - low) / (high - low), 0, 1)
        carried = np.full(plain.shape, high / abs(high - low))
    share = 1 - share if asked.inverted else share
    omega = plain * (share + (1 - share) / asked.factor)
    weight = (1 - 1 / asked.factor) * plain / omega
    on_ramp = (share > 0) & (share < 1)
    return Curves(plain, share, omega, np.where(on_ramp, weight * (1 + carried), 0.0))


def recipe(case: Case) -> Recipe:
    """Return the recipe for a case's arguments."""
    inputs = case.arguments
    size = inputs["rotary_dim"] if case.call.kind == "frequencies" else rotary_dim(case)
    return Recipe(
        size=size,
        base=inputs["base"],
        factor=inputs["factor"],
        length=inputs["original_max_position_embeddings"],
        fast=inputs.get("beta_fast", 32.0),
        slow=inputs.get("beta_slow", 1.0),
        ramp=str(case.conventions["ramp"]),
        bounds_size=size,
        last=size - 1,
    )


def frequencies(case: Case) -> Floats:
    """Compute the frequency of each pair, in radians per position."""
    return curves(recipe(case)).frequencies


def longer(case: Case) -> Floats:
    """Compute the factor that scales every pair's length."""
    inputs = case.arguments
    if inputs.get("attention_factor") is not None:
        return np.asarray([inputs["attention_factor"]], dtype=np.float64)
    if case.conventions["temperature"] == "none":
        return np.ones(1)
    if case.conventions["temperature"] == "seven-hundredths":
        return np.asarray([0.07 * np.log(inputs["factor"]) + 1])
    grown = 0.1 * np.log(inputs["factor"])
    if inputs.get("mscale") is None:
        return np.asarray([grown + 1])
    return np.asarray([(grown * inputs["mscale"] + 1) / (grown * inputs["mscale_all_dim"] + 1)])


class Ramped(Rotation):
    """A rotation whose float32 frequencies also have the rounding error of the ramp."""

    def error_terms(self, case: Case) -> ErrorTerms:
        """Return the error terms of any rotation, plus the error of angles from the ramp."""
        terms = super().error_terms(case)
        more = np.abs(self.angles(case)) * curves(recipe(case)).sensitivity
        angle = np.array(terms.angle)
        for written in written_channels(case):
            angle[..., written] += more
        return ErrorTerms(terms.scale, angle)


def frequency_terms(case: Case) -> ErrorTerms:
    """Return the frequency as the scale, and the errors of a power and the ramp as the angle.

    In float16 the scale is at least the smallest normal number, below which there are fewer digits.
    """
    right = curves(recipe(case))
    grown = 1 + np.abs(np.log(right.plain)) + right.sensitivity
    least = SMALLEST_NORMAL.get(case.dtype, 0.0)
    return ErrorTerms(np.maximum(right.frequencies, least), grown)


def chosen_recipe(trial: Trial) -> ArgumentDict:
    """Draw the parameters of the frequencies."""
    return {
        "base": trial.choose("base", (10000.0, 500000.0, 1000.0, 1e6)),
        "factor": trial.choose("factor", (4.0, 16.0, 40.0, 1.5)),
        "original_max_position_embeddings": trial.choose(
            "original_max_position_embeddings", (4096, 256, 8192, 32768)
        ),
        "beta_fast": trial.choose("beta_fast", (32.0, 16.0, 48.0)),
        "beta_slow": trial.choose("beta_slow", (1.0, 2.0, 0.5)),
    }


def weighed(trial: Trial) -> bool:
    """Return whether the claimed temperature weighs its logarithm by mscale."""
    return trial.subject.combination.conventions["temperature"] == "scaled"


def chosen_amplitude(trial: Trial) -> ArgumentDict:
    """Draw nothing, or one of the ways to set the factor that scales lengths."""
    if trial.subject.combination.conventions["temperature"] == "none":
        return {}
    ways = [way for way in trial.can("attention") if way == "explicit" or weighed(trial)]
    way = trial.pick.one_of((None, *ways))
    if way == "explicit":
        factor = trial.choose("attention_factor", (1.25, 0.75))
        return {"attention": way, "attention_factor": factor}
    if way == "mscale":
        above = trial.choose("mscale", (0.875, 0.707))
        below = trial.choose("mscale_all_dim", (0.5, 1.25, 0.707))
        return {"attention": way, "mscale": above, "mscale_all_dim": below}
    return {}


def frequencies_arguments(trial: Trial) -> ArgumentDict:
    """Draw a number of channels and a recipe."""
    return {
        "rotary_dim": trial.choose("rotary_dim", (8, 4, 6, 16, 64, 80, 128)),
        **chosen_recipe(trial),
    }


def arguments(trial: Trial) -> ArgumentDict:
    """Draw two heads and a few consecutive positions."""
    head_dim = trial.choose("head_dim", (8, 4, 6, 16, 64, 80, 128))
    extra = some_channels(trial, head_dim)
    return {
        **few_rows(head_dim, trial.position(ROWS)),
        **chosen_recipe(trial),
        **chosen_amplitude(trial),
        **extra,
    }


def sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Make a call of one head of 128 channels, at all powers of two up to the largest position."""
    return far(
        parameters, largest, base=10000.0, factor=16.0, original_max_position_embeddings=4096
    )


def frequencies_sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield small and large sizes, powers of two and not.

    The last ramp begins where it ends.
    """
    for size in (2, 4, 6, 12, 16, 64, 80, 96, 128, 130, 256, 512):
        yield {"rotary_dim": size}
    if case.conventions["ramp"] == "index":
        turn = int(2 * np.pi * case.arguments.get("beta_slow", 1.0))
        yield {"rotary_dim": 8, "original_max_position_embeddings": turn}


def sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield small and large head dimensions, powers of two and not, and many rows."""
    for head_dim in (2, 4, 6, 16, 64, 80, 128, 130, 256, 512):
        yield {"x": fine((2, head_dim)), "positions": np.array([1, 7])}
    yield {"x": fine((1025, 2)), "positions": np.arange(1025)}


ROTATION = Ramped(arguments, frequencies, amplitude=longer)
BACKWARD = ROTATION.backward


def frequencies_factor_one(trial: Trial) -> None:
    """Check that factor 1 gives the frequencies of RoPE."""
    chosen = frequencies_arguments(trial) | {"factor": 1.0}
    answer = trial.answer(**chosen)
    plain = progression(chosen["base"], chosen["rotary_dim"])
    trial.assert_zero(
        answer - plain,
        "with factor 1 the frequencies are not base ** (-2t / rotary_dim)",
    )


def frequencies_between(trial: Trial) -> None:
    """Check that no frequency is raised, and none is divided by more than the factor."""
    answer = trial.answer(**frequencies_arguments(trial))
    plain = curves(recipe(answer.case)).plain
    between(trial, answer, plain, "a frequency is not between theta / factor and theta")


def frequencies_affine(trial: Trial) -> None:
    """Check that frequencies are affine in 1 / factor.

    That is, w(1) - 3 w(2) + 2 w(4) = 0.
    """
    chosen = frequencies_arguments(trial)
    factors = (1.0, 2.0, 4.0)
    one, two, four = (trial.answer(**(chosen | {"factor": factor})) for factor in factors)
    trial.assert_zero(
        3 * two - one - 2 * four,
        "the frequencies at factors 1, 2 and 4 are not a straight line in 1 / factor",
    )


def factor_one(trial: Trial) -> None:
    """Check that factor 1 gives plain RoPE."""
    chosen = arguments(trial) | {"factor": 1.0}
    if "attention_factor" in chosen:
        return
    answer = trial.answer(**chosen)
    trial.assert_zero(
        answer - Exact(plain_rope(answer.case)), "with factor 1 the result is not RoPE"
    )


def pass_through(trial: Trial) -> None:
    """Check that channels from rotary_dim on are returned bit for bit, not scaled."""
    rest_passes(trial, partial(trial, arguments(trial)))


# Models of mistakes: other frequencies.

Mistaken = Callable[[Case, Recipe], Iterator[tuple[str, Floats]]]
"""Yields the explanations of a mistake, each with the frequencies that it gives."""


def recipes(words: str, change: Callable[[Recipe], Recipe]) -> Mistaken:
    """Make a mistake that has the frequencies of another recipe."""
    return lambda case, asked: iter([(words, curves(change(asked)).frequencies)])


def blends(words: str, blend: Callable[[Recipe, Curves], Floats]) -> Mistaken:
    """Make a mistake that combines frequencies differently."""
    return lambda case, asked: iter([(words, np.asarray(blend(asked, curves(asked))))])


def factor_in_power(asked: Recipe, right: Curves) -> Floats:
    """Compute frequencies with the base multiplied by the factor before the power is taken."""
    slow = progression(asked.base * asked.factor, asked.size)
    return right.kept * right.plain + (1 - right.kept) * slow


def ntk_base(case: Case, asked: Recipe) -> Iterator[tuple[str, Floats]]:
    """Yield fast pairs at the frequencies of NTK-aware scaling's base.

    That base is undefined for a single pair.
    """
    if asked.size > 2:
        raised = asked.base * asked.factor ** (asked.size / (asked.size - 2))
        right, fast = curves(asked), progression(raised, asked.size)
        mixed = right.kept * fast + (1 - right.kept) * right.plain / asked.factor
        yield "fast pairs of the NTK-aware base", np.asarray(mixed)


def head_dim_bounds(case: Case, asked: Recipe) -> Iterator[tuple[str, Floats]]:
    """Yield frequencies with the ramp of the whole head, under partial rotation."""
    head_dim = case.arguments["x"].shape[-1]
    if asked.size < head_dim:
        other = replace(asked, bounds_size=head_dim, last=head_dim - 1)
        yield "bounds of the ramp from head_dim, not rotary_dim", curves(other).frequencies


def head_dim_frequencies(case: Case, asked: Recipe) -> Iterator[tuple[str, Floats]]:
    """Yield the frequencies of the whole head, under partial rotation."""
    head_dim = case.arguments["x"].shape[-1]
    if asked.size < head_dim:
        whole = replace(asked, size=head_dim, bounds_size=head_dim, last=head_dim - 1)
        omega = curves(whole).frequencies[: asked.size // 2]
        yield "frequencies from head_dim, not rotary_dim", omega


def of_frequencies(mistaken: Mistaken) -> DeviationModel:
    """Make a model of mistaken frequencies for the frequencies call."""

    def models(case: Case, got: Floats) -> Iterator[Prediction]:
        for words, omega in mistaken(case, recipe(case)):
            yield Prediction(f"matches {words}", omega)

    return models


def of_rotation(mistaken: Mistaken) -> DeviationModel:
    """Make a model of mistaken frequencies for rotated queries and keys."""

    def models(case: Case, got: Floats) -> Iterator[Prediction]:
        for words, omega in mistaken(case, recipe(case)):
            yield ROTATION.with_frequencies(case, omega, f"matches {words}")

    return models


# Models of mistakes: another length, position or base.


def amplified(case: Case, factor: Floats, words: str) -> Prediction:
    """Predict the rotated channels scaled by another factor."""
    out = case.truth.copy()
    both = np.concatenate(written_channels(case))
    out[..., both] *= factor / longer(case)
    return Prediction(words, out)


def temperature_swapped(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict pairs of another length: that of another rule, or their own."""
    claimed = case.conventions["temperature"]
    for value in case.scheme.conventions["temperature"].values:
        if value != claimed:
            missing = ", the attention factor is missing" * (value == "none")
            words = f"matches temperature {value}{missing}; {claimed} was claimed"
            yield from predict_case(case.with_conventions(temperature=value), words)


def temperature_squared(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the whole gain of the logits applied to queries or keys alone."""
    yield amplified(case, longer(case) ** 2, "matches pairs made longer twice")


def rotated_twice(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the rotation applied to its own result."""
    yield from predict_case(case.with_arguments(x=case.truth), "matches the rotation applied twice")


def temperature_inverted(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the factor that scales lengths inverted, its square root, or both."""
    factor = longer(case)
    yield amplified(case, 1 / factor, "matches pairs made shorter, not longer")
    yield amplified(case, factor**0.5, "matches the square root of the factor of length")
    yield amplified(case, factor**-0.5, "matches 0.1 ln(factor) + 1 taken for the temperature")


def attention_ignored(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict attention_factor or mscale ignored."""
    names = ("attention_factor", "mscale", "mscale_all_dim")
    options = [name for name in names if case.arguments.get(name) is not None]
    if options:
        without = case.with_arguments(**dict.fromkeys(options))
        yield from predict_case(without, f"matches {' and '.join(options)} ignored")


def grown(case: Case, weight: float = 1.0) -> Floats:
    """Compute 0.1 times ``weight`` times the logarithm of the factor, plus 1."""
    return np.asarray([0.1 * weight * np.log(case.arguments["factor"]) + 1])


def attention_on_top(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict attention_factor times the factor that it replaces."""
    explicit = case.arguments.get("attention_factor")
    if explicit is not None:
        words = "matches attention_factor times 0.1 ln(factor) + 1, not in its place"
        yield amplified(case, explicit * grown(case), words)


def attention_in_logarithm(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict attention_factor taken for the weight of the logarithm."""
    explicit = case.arguments.get("attention_factor")
    if explicit is not None:
        words = "matches 0.1 attention_factor ln(factor) + 1, not attention_factor itself"
        yield amplified(case, grown(case, explicit), words)


def mscale_all_dim_alone(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict only the denominator of the quotient of mscale and mscale_all_dim."""
    below = case.arguments.get("mscale_all_dim")
    if below is not None:
        words = "matches 0.1 mscale_all_dim ln(factor) + 1, not the quotient with mscale's"
        yield amplified(case, grown(case, below), words)


RAMP_SWAPPED = other_conventions("ramp", "matches the {value} ramp; {claimed} was claimed")

SHARED: Mapping[str, Mistaken] = {
    "ramp-inverted": recipes(
        "a ramp that runs the other way", lambda asked: replace(asked, inverted=True)
    ),
    "betas-swapped": recipes(
        "beta_fast and beta_slow exchanged",
        lambda asked: replace(asked, fast=asked.slow, slow=asked.fast),
    ),
    "end-clamped-to-pairs": recipes(
        "a ramp that ends at the last pair at most",
        lambda asked: replace(asked, last=asked.size // 2 - 1),
    ),
    "bounds-rounded-early": recipes(
        "bounds rounded before they are divided by 2 ln base, not after",
        lambda asked: replace(asked, rounded_early=asked.ramp == "index"),
    ),
    "extended-length": recipes(
        "turns counted within the extended length",
        lambda asked: replace(asked, length=asked.length * asked.factor),
    ),
    "factor-squared": recipes(
        "slow pairs divided by factor ** 2", lambda asked: replace(asked, factor=asked.factor**2)
    ),
    "factor-ignored": blends("the frequencies of RoPE, unscaled", lambda asked, right: right.plain),
    "interpolated-everywhere": blends(
        "all frequencies divided by the factor", lambda asked, right: right.plain / asked.factor
    ),
    "factor-in-power": blends("slow pairs of base * factor, not divided by it", factor_in_power),
    "ntk-base": ntk_base,
    "wavelengths-blended": blends(
        "wavelengths blended in place of frequencies",
        lambda asked, right: right.plain / (right.kept + (1 - right.kept) * asked.factor),
    ),
}


def ramp_of_usual_base(case: Case, asked: Recipe) -> Iterator[tuple[str, Floats]]:
    """Yield frequencies with the bounds of the ramp for the usual base, whatever base is given."""
    if asked.ramp != "rotations" and asked.base != USUAL_BASE:
        other = replace(asked, base_of_ramp=USUAL_BASE)
        words = f"bounds of the ramp computed with base {USUAL_BASE:g}, not with the base given"
        yield words, curves(other).frequencies


KNOWLEDGE = {
    "yarn_frequencies": CallKnowledge(
        error_terms=frequency_terms,
        arguments=frequencies_arguments,
        sweep=no_sweep,
        sizes=frequencies_sizes,
        frequencies=read_as_given(frequencies),
        readings=(of_frequencies(ramp_of_usual_base),),
        invariants={
            "frequencies-factor-one": frequencies_factor_one,
            "frequencies-between": frequencies_between,
            "frequencies-affine": frequencies_affine,
        },
        deviations={
            "frequencies-ramp-swapped": RAMP_SWAPPED,
            **{name: of_frequencies(mistake) for name, mistake in SHARED.items()},
            "wrong-base": wrong_base,
        },
    ),
    "yarn": CallKnowledge(
        error_terms=ROTATION.error_terms,
        arguments=arguments,
        sweep=sweep,
        sizes=sizes,
        frequencies=ROTATION.read_frequencies,
        readings=(of_rotation(ramp_of_usual_base), *forward_readings(ROTATION)),
        invariants={
            "length": ROTATION.isometry,
            "unturned-at-zero": ROTATION.identity_at_zero,
            "relative-scores": ROTATION.relative_scores,
            "scores-of-ones": ROTATION.scores_of_ones,
            "composition": ROTATION.composition,
            "linearity": linear_in("x", ROTATION.arguments),
            "pair-locality": ROTATION.pair_locality,
            "pass-through": pass_through,
            "layout-permutation": ROTATION.layout_permutation,
            "factor-one": factor_one,
        },
        deviations={
            "layout-swapped": LAYOUT_SWAPPED,
            "ramp-swapped": RAMP_SWAPPED,
            "attention-ignored": attention_ignored,
            "attention-on-top": attention_on_top,
            "attention-in-logarithm": attention_in_logarithm,
            "mscale-all-dim-alone": mscale_all_dim_alone,
            "temperature-swapped": temperature_swapped,
            "temperature-squared": temperature_squared,
            "temperature-inverted": temperature_inverted,
            "rotated-twice": rotated_twice,
            "positions-shifted": positions_shifted,
            "sign-flipped": negated_positions,
            "head-dim-bounds": of_rotation(head_dim_bounds),
            "head-dim-frequencies": of_rotation(head_dim_frequencies),
            "rotary-dim-ignored": all_channels_rotated,
            **{name: of_rotation(mistake) for name, mistake in SHARED.items()},
            "wrong-base": wrong_base,
            "low-precision-angles": ROTATION.low_precision_angles,
        },
    ),
    "yarn_vjp": CallKnowledge(
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
            "backward-factor-missing": BACKWARD.amplitude_missing,
            "backward-unscaled": BACKWARD.at_frequencies(
                lambda case: curves(recipe(case)).plain, UNSCALED
            ),
        },
    ),
}
