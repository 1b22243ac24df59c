"""Rotary embedding: bounds, invariants and deviations."""

from collections.abc import Iterator

import numpy as np

from posenc_conformance.diagnose.predictors import (
    bases,
    iterated,
    negated_positions,
    predict_case,
    rounded_base,
    shifted_positions,
)
from posenc_conformance.families.fitted_base import fitted_base
from posenc_conformance.families.linearity import linear_in
from posenc_conformance.families.rotary import (
    LAYOUT_SWAPPED,
    ROWS,
    Rotation,
    all_channels_rotated,
    far,
    few_heads,
    few_rows,
    forward_of,
    partial,
    progression,
    read_channels,
    rest_passes,
    rotary_dim,
    some_channels,
    written_channels,
)
from posenc_conformance.families.rotary_tables import (
    as_in_whole_head,
    backward_readings,
    cut_from_wider,
    of_other_heads,
    reduced,
    tables_mixed,
)
from posenc_conformance.judge.arrays import PRECISE, Floats, fine
from posenc_conformance.judge.bounded import Exact
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.deviation import Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments


def frequencies(case: Case) -> Floats:
    """Return the frequency of each pair, in radians per position."""
    return progression(case.arguments.get("base", 10000.0), rotary_dim(case))


def arguments(trial: Trial) -> ArgumentDict:
    """Draw two heads and a few consecutive positions."""
    head_dim = trial.choose("head_dim", (8, 4, 6, 16, 64, 80, 128))
    extra = some_channels(trial, head_dim)
    rows = few_rows(head_dim, trial.position(ROWS))
    return extra | rows | {"base": trial.choose("base", (10000.0, 500000.0, 1e6, 100.0))}


def sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Make a call of one head of 128 channels, at all powers of two up to the largest position."""
    return far(parameters, largest, base=10000.0)


def sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield small and large head dimensions, powers of two and not, and many rows."""
    yield from few_heads(
        (2, 4, 6, 10, 12, 16, 24, 48, 64, 80, 96, 112, 128, 130, 160, 192, 256, 512)
    )(case)
    yield {"x": fine((2049, 4)), "positions": np.arange(2049)}


ROTATION = Rotation(arguments, frequencies)
BACKWARD = ROTATION.backward


def pass_through(trial: Trial) -> None:
    """Check that channels from rotary_dim on are returned bit for bit."""
    rest_passes(trial, partial(trial, arguments(trial)))


def vjp_inverse(trial: Trial) -> None:
    """Check that the result, rotated forward, is the upstream gradient."""
    answer = trial.answer(**arguments(trial))
    case, gradient = answer.case, answer.case.arguments["x"]
    first, second = (answer[..., channel] for channel in written_channels(case))
    to_first, to_second = (Exact(gradient[..., channel]) for channel in read_channels(case))
    cos, sin = np.cos(ROTATION.angles(case)), np.sin(ROTATION.angles(case))
    passing = np.arange(rotary_dim(case), gradient.shape[-1])
    for residual in (
        first * cos - second * sin - to_first,
        first * sin + second * cos - to_second,
        answer[..., passing] - Exact(gradient[..., passing]),
    ):
        trial.assert_zero(residual, "turned forward, it is not the gradient given")


def estimated_base(case: Case, got: Floats) -> float | None:
    """Estimate the base from the slowest pair's angle at the first position other than 0.

    In a short dtype, or far from position 0, it is fitted to all pairs.
    """
    rotated = rotary_dim(case)
    positions = case.arguments["positions"]
    rows = np.flatnonzero((positions != 0) & (np.abs(positions) < 32))
    if rotated < 4:
        return None
    if case.dtype not in PRECISE or not rows.size:
        return fitted_base(case, got, ROTATION.places(case), frequencies)
    row, pair = rows[0], rotated // 2 - 1
    x = case.arguments["x"]
    before, after = (
        source[..., row, channel[0][pair]] + 1j * source[..., row, channel[1][pair]]
        for source, channel in ((x, read_channels(case)), (got, written_channels(case)))
    )
    turn = np.sum(after * np.conj(before))
    omega = float(np.angle(turn)) / positions[row]
    return rounded_base(omega ** (-rotated / (rotated - 2))) if omega > 0 else None


def positions_shifted(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict positions shifted by an estimate from the slowest pair's angle, or by one or two."""
    first, second = (channel[-1] for channel in written_channels(case))
    estimate = np.nan
    if np.isfinite(case.truth).all():
        seen, true = (y[..., first] + 1j * y[..., second] for y in (got, case.truth))
        estimate = np.angle(np.sum(seen * np.conj(true))) / frequencies(case)[-1]
    yield from shifted_positions(case, estimate)


def wrong_base(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the result with another base."""
    yield from bases(case, estimated_base(case, got))


def head_dim_frequencies(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict frequencies computed from head_dim, under partial rotation."""
    rotated, head_dim = rotary_dim(case), case.arguments["x"].shape[-1]
    if rotated < head_dim:
        base = case.arguments.get("base", 10000.0) ** (rotated / head_dim)
        yield from predict_case(
            case.with_arguments(base=base),
            "matches frequencies computed from head_dim, not rotary_dim",
        )


def iterated_frequencies(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the angle, or frequency, of each pair computed from that of the pair before."""
    places, omega = ROTATION.places(case), ROTATION.frequencies(case)
    yield from iterated(places, omega, lambda angles: ROTATION.turned(case, angles))


def part_of_an_angle(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict all angles of a single row multiplied; of several rows, frequencies are read."""
    if case.arguments["positions"].size == 1:
        for by in (1 / 8, 1 / 4, 1 / 2, 2, 4, 8):
            words = f"matches angles {by:g} times as large as they should be"
            yield ROTATION.predict(case, words, by * ROTATION.angles(case))


def exponent_to_the_end(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict evenly spaced exponents that reach 1.

    For a single pair this is no mistake.
    """
    pairs = rotary_dim(case) // 2
    if pairs > 1:
        omega = np.asarray(case.arguments.get("base", 10000.0) ** -np.linspace(0, 1, pairs))
        yield ROTATION.with_frequencies(case, omega, "matches exponents t/(d/2-1), not 2t/d")


def converts(case: Case) -> bool:
    """Return whether pairs are read from other channels than they are written to."""
    return not np.array_equal(read_channels(case)[0], written_channels(case)[0])


def turned_forward(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the gradient turned forward, or given to the forward pass."""
    yield from BACKWARD.turned_forward(case, got)
    if converts(case):
        output = ROTATION.turned(forward_of(case), ROTATION.angles(case))
        yield Prediction("matches the forward pass, given the gradient", output)


def unrotated(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict no rotation, and channels that stay where they are or are put in another order."""
    yield from ROTATION.unrotated(case, got)
    if converts(case):
        still = 0 * ROTATION.angles(case)
        words = "matches channels in their new order without any rotation"
        yield Prediction(words, ROTATION.turned(case, still))
        if case.call.kind == "gradient":
            words = "matches channels in the order of the forward pass without any rotation"
            yield Prediction(words, ROTATION.turned(forward_of(case), still))


def layout_not_reversed(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict channels read and written as in the forward pass, or in another layout."""
    forward = forward_of(case)
    if converts(case):
        output = ROTATION.turned(forward, BACKWARD.angles(case))
        yield Prediction("matches channels read and written as in the forward pass", output)
    yield from LAYOUT_SWAPPED(case, got)


KNOWLEDGE = {
    "rope": CallKnowledge(
        error_terms=ROTATION.error_terms,
        arguments=arguments,
        sweep=sweep,
        sizes=sizes,
        frequencies=ROTATION.read_frequencies,
        invariants={
            "isometry": ROTATION.isometry,
            "identity-at-zero": ROTATION.identity_at_zero,
            "relative-scores": ROTATION.relative_scores,
            "scores-of-ones": ROTATION.scores_of_ones,
            "composition": ROTATION.composition,
            "linearity": linear_in("x", ROTATION.arguments),
            "pair-locality": ROTATION.pair_locality,
            "pass-through": pass_through,
            "layout-permutation": ROTATION.layout_permutation,
            "chunks": ROTATION.chunks,
        },
        deviations={
            "layout-swapped": LAYOUT_SWAPPED,
            "positions-shifted": positions_shifted,
            "sign-flipped": negated_positions,
            "head-dim-frequencies": head_dim_frequencies,
            "rotary-dim-ignored": all_channels_rotated,
            "unrotated": unrotated,
            "degrees": ROTATION.degrees,
            "exponent-halved": ROTATION.exponent_halved,
            "exponent-doubled": ROTATION.at_frequencies(
                lambda case: frequencies(case) ** 2, "matches exponents 4t/d instead of 2t/d"
            ),
            "exponent-to-the-end": exponent_to_the_end,
            "tables-mixed": tables_mixed(ROTATION),
            "wrong-base": wrong_base,
            "low-precision-angles": ROTATION.low_precision_angles,
            "iterated-frequencies": iterated_frequencies,
        },
        readings=(
            part_of_an_angle,
            as_in_whole_head(ROTATION),
            of_other_heads(ROTATION),
            cut_from_wider(ROTATION),
            reduced(ROTATION),
        ),
    ),
    "rope_vjp": CallKnowledge(
        error_terms=BACKWARD.error_terms,
        arguments=arguments,
        sweep=sweep,
        sizes=few_heads((2, 6, 48, 80, 128, 130, 256)),
        frequencies=BACKWARD.read_frequencies,
        readings=backward_readings(BACKWARD),
        invariants={
            "vjp-inverse": vjp_inverse,
            "vjp-isometry": BACKWARD.isometry,
            "vjp-linearity": linear_in("x", BACKWARD.arguments),
        },
        deviations={
            "backward-is-forward": turned_forward,
            "backward-layout-not-reversed": layout_not_reversed,
            "backward-unrotated": unrotated,
        },
    ),
}
