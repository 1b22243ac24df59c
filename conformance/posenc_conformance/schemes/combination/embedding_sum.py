"""Sum of embedding and sinusoid: bounds, invariants and deviations."""

from collections.abc import Callable, Iterator

import numpy as np

from posenc_conformance.diagnose.predictors import (
    bases,
    other_conventions,
    rounded_angles,
    rounded_base,
    shifted_positions,
)
from posenc_conformance.families.encodings import (
    Waves,
    along_diagonals,
    dot_products,
    on_circles,
    one_row_for_all,
)
from posenc_conformance.judge.arrays import Floats, fine, round_to
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.deviation import Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.measured_frequencies import (
    INTERLEAVED,
    PairFrequencies,
    fit_wave_frequencies,
)
from posenc_conformance.judge.positions import positions_up_to
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments

ROWS = 6


def frequencies(dim: int, base: float) -> Floats:
    """Return the frequency of each pair of a sinusoid, in radians per position."""
    return np.asarray(base ** -(np.arange(0, dim, 2) / dim))


def interleaved(angles: Floats) -> Floats:
    """Interleave the sine and the cosine of each angle along the last axis."""
    waves = np.stack([np.sin(angles), np.cos(angles)], axis=-1)
    return waves.reshape(*angles.shape[:-1], 2 * angles.shape[-1])


def angle_terms(positions: Floats, omega: Floats) -> Floats:
    """Compute the angle term of each channel of a sinusoid: [n, dim]."""
    angle = np.abs(positions)[:, None] * omega * (1 + np.abs(np.log(omega)))
    return np.repeat(angle, 2, axis=1)


def estimated_shift(seen: Floats, true: Floats, omega: Floats) -> float:
    """Estimate the shift of positions from the slowest pair of encodings [..., dim].

    Return nan if that pair is not finite everywhere.
    """
    turn = (seen[..., -1] + 1j * seen[..., -2]) * (true[..., -1] - 1j * true[..., -2])
    return float(np.angle(np.sum(turn)) / omega[-1]) if np.isfinite(turn).all() else np.nan


def estimated_base(encoding: Floats, positions: Floats) -> float | None:
    """Estimate the base from the slowest pair of a low position's encoding [n, dim].

    Return None if there is no second pair, no low position, or no base that fits.
    """
    dim = encoding.shape[1]
    rows = np.flatnonzero((positions > 0) & (positions < 32))
    if dim < 4 or not rows.size:
        return None
    sin, cos = encoding[rows[0], -2:]
    omega = np.arctan2(sin, cos) / positions[rows[0]]
    return rounded_base(omega ** (-dim / (dim - 2))) if omega > 0 else None


def base(case: Case) -> float:
    """Return the base of the case."""
    return float(case.arguments.get("base", 10000.0))


def places(case: Case) -> Floats:
    """Return the positions as floats."""
    return np.asarray(case.arguments["positions"], dtype=np.float64)


def own_frequencies(case: Case) -> Floats:
    """Return the frequencies of the case's sinusoid, in radians per position."""
    return frequencies(case.shape[-1], base(case))


def embedding(case: Case) -> Floats:
    """Return the embedding, scaled by the convention."""
    scaled = case.conventions["embedding_scale"] == "d^1/2"
    return np.asarray(case.arguments["x"] * (case.shape[-1] ** 0.5 if scaled else 1.0))


def encoding(case: Case) -> Floats:
    """Compute the encoding that is added to the embedding: [n, dim]."""
    return interleaved(places(case)[:, None] * own_frequencies(case))


def error_terms(case: Case) -> ErrorTerms:
    """Return the sum of both parts' magnitudes as scale, and the angle.

    The encoding has magnitude 1. The angle is that of the encoding, relative to the scale.
    """
    scale = np.abs(embedding(case)) + 1
    return ErrorTerms(scale, angle_terms(places(case), own_frequencies(case)) / scale)


def arguments(trial: Trial) -> ArgumentDict:
    """Draw two sequences of a few consecutive positions."""
    start = trial.position(ROWS)
    return {
        "x": fine((2, ROWS, trial.choose("dim", (8, 2, 4, 6, 16, 64))), start % 5),
        "positions": start + np.arange(ROWS),
        "base": trial.choose("base", (10000.0, 500000.0, 1e6, 100.0)),
    }


def sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Reach all powers of two up to the largest position, with 64 channels."""
    positions = positions_up_to(largest)
    others = {name: value for name, value in parameters.items() if name != "dim"}
    x = fine((len(positions), parameters.get("dim", 64)))
    return {"x": x, "positions": positions, "base": 10000.0, **others}


def sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield few and many channels, powers of two and others, and many rows."""
    for dim in (2, 4, 6, 10, 16, 48, 64, 100, 128, 256, 300, 512, 1024):
        yield {"x": fine((2, dim)), "positions": np.array([1, 7])}
    yield {"x": fine((2049, 4)), "positions": np.arange(2049)}


def content_by_difference(trial: Trial) -> None:
    """Check that the encoding cancels in the difference of two results."""
    chosen = arguments(trial)
    y = trial.answer(**chosen)
    other = trial.answer(**(chosen | {"x": np.roll(chosen["x"], 3) / 2}))
    trial.assert_zero(
        y - embedding(y.case) - (other - embedding(other.case)),
        "two results at one position do not differ by their scaled embeddings",
    )


def same_for_the_batch(trial: Trial) -> None:
    """Check that the first and the second sequence have the same encoding."""
    answer = trial.answer(**arguments(trial))
    added = answer - embedding(answer.case)
    trial.assert_zero(
        added[1] - added[0], "two sequences with the same positions have different encodings"
    )


def origin(trial: Trial) -> None:
    """Check that 0, 1, 0, 1, … is added at position 0."""
    answer = trial.answer(**(arguments(trial) | {"positions": np.zeros(ROWS, dtype=np.int64)}))
    added = answer - embedding(answer.case)
    message = "at position 0 something other than (sine 0, cosine 1) is added"
    trial.assert_zero(added - np.arange(answer.case.shape[-1]) % 2, message)


def zero_content(trial: Trial) -> None:
    """Check that pairs lie on circles of radius 1 if the embedding is 0."""
    chosen = arguments(trial)
    answer = trial.answer(**(chosen | {"x": 0 * chosen["x"]}))
    waves = Waves(answer[..., 0::2], answer[..., 1::2])
    on_circles(trial, waves, "the encoding's pairs do not lie on circles of radius 1")


def zero_content_dots(trial: Trial) -> None:
    """Check that dot products along each diagonal are equal if the embedding is 0."""
    chosen = arguments(trial)
    answer = trial.answer(**(chosen | {"x": 0 * chosen["x"]}))
    trial.assert_zero(
        along_diagonals(dot_products(answer[0])),
        "the dot product of two encodings depends on more than their distance",
    )


def wrong_embedding_scale(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict embeddings times factors that no combination has."""
    x, dim = case.arguments["x"], case.shape[-1]
    for name, factor in (("d", dim), ("1/sqrt(d)", dim**-0.5), ("1/d", 1 / dim)):
        yield Prediction(f"matches embeddings times {name}", x * factor + encoding(case))


def encoding_scaled(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict a factor on the encoding, with and without the factor on the embedding."""
    root = case.shape[-1] ** 0.5
    own, bound = encoding(case), root * case.bound  # of angles that are as long as before
    yield Prediction("matches an encoding times sqrt(d)", embedding(case) + root * own, bound=bound)
    yield Prediction("matches an encoding divided by sqrt(d)", embedding(case) + own / root)
    yield Prediction(
        "matches an encoding, but no embedding, times sqrt(d)",
        case.arguments["x"] + root * own,
        bound=bound,
    )


def encoding_missing(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the content only: the scaled embedding, or x itself."""
    yield Prediction("matches the embedding without any encoding", embedding(case))
    yield Prediction("matches x itself", case.arguments["x"])


def batch_for_sequence(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict positions counted along the axis before the rows."""
    if len(case.shape) > 2:
        batch = np.arange(case.shape[-3], dtype=np.float64)
        own = interleaved(batch[:, None] * own_frequencies(case))
        yield Prediction(
            "matches the index along the batch taken for the position",
            embedding(case) + own[:, None],
        )


def layout_swapped(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict sines and cosines in halves instead of interleaved."""
    own = encoding(case)
    for name, order in (("sin-cos", (0, 1)), ("cos-sin", (1, 0))):
        halves = np.concatenate([own[:, part::2] for part in order], axis=1)
        yield Prediction(f"matches the {name} layout exactly", embedding(case) + halves)


def positions_shifted(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict shifted positions, first by the shift estimated from the slowest pair's angle."""
    added = got - embedding(case)
    yield from shifted_positions(
        case, estimated_shift(added, encoding(case), own_frequencies(case))
    )


def wrong_base(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the result with another base."""
    added = (got - embedding(case)).reshape(-1, *case.shape[-2:])
    yield from bases(case, estimated_base(added[0], places(case)) if len(added) else None)


def to_the_end(frequencies: Floats) -> Floats:
    """Change frequencies so that their exponents reach 1 at the last pair.

    The exponents are then t/(d/2-1). A single frequency is not changed.
    """
    pairs = len(frequencies)
    return frequencies ** (pairs / (pairs - 1)) if pairs > 1 else frequencies


def exponent_to_the_end(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict evenly spaced exponents that include their end point."""
    angles = places(case)[:, None] * to_the_end(own_frequencies(case))
    yield Prediction("matches exponents t/(d/2-1)", from_angles(case)(angles))


def from_angles(case: Case) -> Callable[[Floats], Floats]:
    """Return a function that computes the result from angles [n, pairs]."""
    return lambda angles: embedding(case) + interleaved(angles)


def low_precision_angles(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict positions, frequencies and angles in a narrow dtype, and tables of them."""
    yield from rounded_angles(
        places(case)[:, None],
        own_frequencies(case),
        from_angles(case),
        lambda angles, dtype: embedding(case) + round_to(interleaved(angles), dtype),
    )


def read_frequencies(case: Case, output: Floats) -> Iterator[list[PairFrequencies] | None]:
    """Read the frequencies from the encoding added to the embedding."""
    added = output - embedding(case)
    yield fit_wave_frequencies(
        case, added, case.bound, INTERLEAVED, places(case)[:, None], own_frequencies(case)
    )


KNOWLEDGE = {
    "embedding_sum": CallKnowledge(
        error_terms=error_terms,
        arguments=arguments,
        sweep=sweep,
        sizes=sizes,
        frequencies=read_frequencies,
        invariants={
            "content-by-difference": content_by_difference,
            "same-for-the-batch": same_for_the_batch,
            "origin": origin,
            "zero-content": zero_content,
            "zero-content-dots": zero_content_dots,
        },
        deviations={
            "embedding-scale-swapped": other_conventions(
                "embedding_scale", "matches the embedding scale {value}; {claimed} was claimed"
            ),
            "wrong-embedding-scale": wrong_embedding_scale,
            "encoding-missing": encoding_missing,
            "encoding-scaled": encoding_scaled,
            "batch-for-sequence": batch_for_sequence,
            "one-row-for-all": one_row_for_all,
            "layout-swapped": layout_swapped,
            "positions-shifted": positions_shifted,
            "exponent-to-the-end": exponent_to_the_end,
            "wrong-base": wrong_base,
            "low-precision-angles": low_precision_angles,
        },
    ),
}
