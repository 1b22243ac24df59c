"""Embedding and sinusoid side by side: bounds, invariants and deviations."""

from collections.abc import Iterator
from typing import TypeVar

import numpy as np

from posenc_conformance.diagnose.predictors import (
    bases,
    other_conventions,
    rounded_angles,
    shifted_positions,
)
from posenc_conformance.families.encodings import Waves, dot_products, on_circles
from posenc_conformance.judge.arrays import Floats, fine, round_to
from posenc_conformance.judge.bounded import ARITHMETIC, Answer, Exact
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
from posenc_conformance.schemes.combination.embedding_sum import (
    angle_terms,
    base,
    estimated_base,
    estimated_shift,
    frequencies,
    interleaved,
    places,
    to_the_end,
)

ROWS = 6


def shape(case: Case) -> tuple[int, ...]:
    """Return the shape of x with ``encoding_dim`` more channels."""
    *rows, dim = case.arguments["x"].shape
    return *rows, dim + case.arguments["encoding_dim"]


def beside(case: Case, content: Floats, encoding: Floats) -> Floats:
    """Join the two parts in the order of the case; they broadcast to the rows of the result."""
    rows = case.shape[:-1]
    parts = [np.broadcast_to(part, (*rows, part.shape[-1])) for part in (content, encoding)]
    if case.conventions["order"] == "encoding-first":
        parts.reverse()
    return np.concatenate(parts, axis=-1)


T = TypeVar("T", Answer, Floats)


def apart(case: Case, result: T) -> tuple[T, T]:
    """Split a result into its content and its encoding channels."""
    wide, dim = case.arguments["encoding_dim"], case.arguments["x"].shape[-1]
    if case.conventions["order"] == "encoding-first":
        return result[..., wide:], result[..., :wide]
    return result[..., :dim], result[..., dim:]


def own_frequencies(case: Case) -> Floats:
    """Return the frequencies of the case's sinusoid."""
    return frequencies(case.arguments["encoding_dim"], base(case))


def encoding(case: Case) -> Floats:
    """Compute the encoding next to the embedding: [n, encoding_dim]."""
    return interleaved(places(case)[:, None] * own_frequencies(case))


def error_terms(case: Case) -> ErrorTerms:
    """Return scale 1 and the angle of the encoding.

    The embedding must be copied exactly.
    """
    content = np.zeros(case.arguments["x"].shape[-1:])
    angle = angle_terms(places(case), own_frequencies(case))
    scale = beside(case, content, np.ones(case.arguments["encoding_dim"]))
    return ErrorTerms(scale, beside(case, content, angle))


def arguments(trial: Trial) -> ArgumentDict:
    """Draw two sequences of a few consecutive positions."""
    start = trial.position(ROWS)
    return {
        "x": fine((2, ROWS, trial.choose("dim", (3, 1, 4, 8))), start % 5),
        "positions": start + np.arange(ROWS),
        "encoding_dim": trial.choose("encoding_dim", (8, 2, 4, 6, 64)),
        "base": trial.choose("base", (10000.0, 500000.0, 1e6, 100.0)),
    }


def sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Reach all powers of two up to the largest position, for 64 channels."""
    positions = positions_up_to(largest)
    others = {name: value for name, value in parameters.items() if name != "dim"}
    x = fine((len(positions), parameters.get("dim", 2)))
    return {"x": x, "positions": positions, "encoding_dim": 64, "base": 10000.0, **others}


def sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield few and many channels of either part, powers of two and others, and many rows."""
    few = np.array([1, 7])
    for wide in (2, 4, 6, 10, 16, 48, 100, 128, 256, 300, 512, 1024):
        yield {"x": fine((2, 3)), "positions": few, "encoding_dim": wide}
    for dim in (1, 2, 5, 64, 256, 300, 769):
        yield {"x": fine((2, dim)), "positions": few, "encoding_dim": 4}
    yield {"x": fine((2049, 1)), "positions": np.arange(2049), "encoding_dim": 2}


def content_passes(trial: Trial) -> None:
    """Check that the embedding is copied unchanged."""
    answer = trial.answer(**arguments(trial))
    content, _ = apart(answer.case, answer.values)
    trial.assert_none(answer, content != answer.case.arguments["x"], "the embedding is changed")


def encoding_alone(trial: Trial) -> None:
    """Check that the encoding depends neither on the embedding nor on the sequence."""
    chosen = arguments(trial)
    answer = trial.answer(**chosen)
    other = trial.answer(**(chosen | {"x": -2 * chosen["x"]}))
    first, second = (apart(result.case, result.values)[1] for result in (answer, other))
    for wrong in (second != first, first[1] != first[0]):
        trial.assert_none(answer, wrong, "the encoding depends on the embedding or the sequence")


def circles(trial: Trial) -> None:
    """Check that sin² + cos² = 1."""
    answer = trial.answer(**arguments(trial))
    _, encoded = apart(answer.case, answer)
    waves = Waves(encoded[..., 0::2], encoded[..., 1::2])
    on_circles(trial, waves, "the encoding's pairs do not lie on circles of radius 1")


def dots_add_up(trial: Trial) -> None:
    """Check that a dot product is that of the embeddings plus a function of the distance."""
    answer = trial.answer(**arguments(trial))
    x = answer.case.arguments["x"][0]
    place = places(answer.case)
    apart_by = (place[:, None] - place)[..., None] * own_frequencies(answer.case)
    truth = x @ x.T + np.cos(apart_by).sum(axis=-1)
    trial.assert_zero(
        dot_products(answer[0]) - truth,
        "a dot product is not that of the embeddings plus one of the distance",
    )


def tied_sum(trial: Trial) -> None:
    """Check that the two parts of a row add up to embedding plus encoding."""
    chosen = arguments(trial)
    wide = chosen["encoding_dim"]
    if trial.choose("dim", (wide,)) != wide:
        return
    answer = trial.answer(**(chosen | {"x": fine((2, ROWS, wide))}))
    content, encoded = apart(answer.case, answer)
    # The sinusoid computed here has the rounding error of its angle in float64.
    angle = angle_terms(places(answer.case), own_frequencies(answer.case))
    total = (content + encoded).allowing(ARITHMETIC * angle)
    trial.assert_zero(
        total - Exact(answer.case.arguments["x"]) - encoding(answer.case),
        "embedding and encoding do not add up to their sum",
    )


def content_scaled(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the embedding times the root of its channels, or divided by it."""
    x = case.arguments["x"]
    root = x.shape[-1] ** 0.5
    for name, factor in (("sqrt(dim)", root), ("1/sqrt(dim)", 1 / root)):
        content = round_to(x * factor, case.dtype)
        yield Prediction(
            f"matches an embedding times {name}", beside(case, content, encoding(case))
        )


def content_rounded(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict an embedding rounded to a narrow dtype."""
    for dtype in ("bfloat16", "float16"):
        content = round_to(case.arguments["x"], dtype)
        yield Prediction(f"matches an embedding in {dtype}", beside(case, content, encoding(case)))


def frequencies_of_another_width(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict exponents 2t/d with another number of channels for d."""
    dim, wide = case.arguments["x"].shape[-1], case.arguments["encoding_dim"]
    for name, width in (("the embedding", dim), ("the whole row", dim + wide)):
        omega = base(case) ** -(np.arange(0, wide, 2) / width)
        own = interleaved(places(case)[:, None] * omega)
        output = beside(case, case.arguments["x"], own)
        yield Prediction(f"matches exponents 2t/d with the width of {name} for d", output)


def batch_for_sequence(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict positions counted along the axis before the rows."""
    if len(case.shape) > 2:
        batch = np.arange(case.shape[-3], dtype=np.float64)
        own = interleaved(batch[:, None] * own_frequencies(case))[:, None]
        output = beside(case, case.arguments["x"], own)
        yield Prediction("matches the index along the batch taken for the position", output)


def layout_swapped(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict sines and cosines in halves instead of interleaved."""
    own = encoding(case)
    for name, order in (("sin-cos", (0, 1)), ("cos-sin", (1, 0))):
        halves = np.concatenate([own[:, part::2] for part in order], axis=1)
        output = beside(case, case.arguments["x"], halves)
        yield Prediction(f"matches the {name} layout exactly", output)


def positions_shifted(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict shifted positions, first by the shift estimated from the slowest pair's angle."""
    seen = apart(case, got)[1]
    yield from shifted_positions(case, estimated_shift(seen, encoding(case), own_frequencies(case)))


def exponent_to_the_end(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict evenly spaced exponents that include their end point."""
    own = interleaved(places(case)[:, None] * to_the_end(own_frequencies(case)))
    yield Prediction("matches exponents t/(d/2-1)", beside(case, case.arguments["x"], own))


def wrong_base(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the result with another base."""
    seen = apart(case, got)[1]
    seen = seen.reshape(-1, *seen.shape[-2:])
    yield from bases(case, estimated_base(seen[0], places(case)) if len(seen) else None)


def low_precision_angles(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict positions, frequencies and angles in a narrow dtype, and tables of them."""
    x = case.arguments["x"]
    yield from rounded_angles(
        places(case)[:, None],
        own_frequencies(case),
        lambda angles: beside(case, x, interleaved(angles)),
        lambda angles, dtype: beside(case, x, round_to(interleaved(angles), dtype)),
    )


def read_frequencies(case: Case, output: Floats) -> Iterator[list[PairFrequencies] | None]:
    """Read the frequencies from the encoding next to the embedding."""
    added, bound = (apart(case, values)[1] for values in (output, case.bound))
    yield fit_wave_frequencies(
        case, added, bound, INTERLEAVED, places(case)[:, None], own_frequencies(case)
    )


KNOWLEDGE = {
    "concatenation": CallKnowledge(
        error_terms=error_terms,
        arguments=arguments,
        sweep=sweep,
        sizes=sizes,
        shape=shape,
        frequencies=read_frequencies,
        invariants={
            "content-passes": content_passes,
            "encoding-alone": encoding_alone,
            "circles": circles,
            "dots-add-up": dots_add_up,
            "tied-sum": tied_sum,
        },
        deviations={
            "order-swapped": other_conventions(
                "order", "matches the order {value}; {claimed} was claimed"
            ),
            "content-scaled": content_scaled,
            "content-rounded": content_rounded,
            "frequencies-of-another-width": frequencies_of_another_width,
            "batch-for-sequence": batch_for_sequence,
            "layout-swapped": layout_swapped,
            "positions-shifted": positions_shifted,
            "exponent-to-the-end": exponent_to_the_end,
            "wrong-base": wrong_base,
            "low-precision-angles": low_precision_angles,
        },
    ),
}
