"""Sum of embedding and sinusoid: bounds, invariants and deviations."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from posenc_conformance.diagnose.mistakes import (
    Model,
    bases,
    other_conventions,
    rounded_angles,
    rounded_base,
    shifted_positions,
)
from posenc_conformance.diagnose.turns import INTERLEAVED, Turns, turns_of_waves
from posenc_conformance.families.encodings import (
    Waves,
    along_diagonals,
    dot_products,
    on_circles,
    one_row_for_all,
)
from posenc_conformance.judge.arrays import Floats, fine
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.positions import reaching
from posenc_conformance.judge.trial import Trial

ROWS = 6


def frequencies(dim: int, base: float) -> Floats:
    """Radians per position of each pair of a sinusoid."""
    return np.asarray(base ** -(np.arange(0, dim, 2) / dim))


def interleaved(angles: Floats) -> Floats:
    """Sine and cosine of each angle in turn, along the last axis."""
    waves = np.stack([np.sin(angles), np.cos(angles)], axis=-1)
    return waves.reshape(*angles.shape[:-1], 2 * angles.shape[-1])


def angle_terms(positions: Floats, omega: Floats) -> Floats:
    """Growth of the error of each channel of a sinusoid: [n, dim]."""
    angle = np.abs(positions)[:, None] * omega * (1 + np.abs(np.log(omega)))
    return np.repeat(angle, 2, axis=1)


def estimated_shift(seen: Floats, true: Floats, omega: Floats) -> float:
    """Estimate the position from the slowest pair of an encoding [..., dim]."""
    turn = (seen[..., -1] + 1j * seen[..., -2]) * (true[..., -1] - 1j * true[..., -2])
    return float(np.angle(np.sum(turn)) / omega[-1]) if np.isfinite(turn).all() else np.nan


def estimated_base(encoding: Floats, positions: Floats) -> float | None:
    """Estimate the base from the slowest pair of a low position's encoding [n, dim]."""
    dim = encoding.shape[1]
    rows = np.flatnonzero((positions > 0) & (positions < 32))
    if dim < 4 or not rows.size:
        return None
    sin, cos = encoding[rows[0], -2:]
    omega = np.arctan2(sin, cos) / positions[rows[0]]
    return rounded_base(omega ** (-dim / (dim - 2))) if omega > 0 else None


def base(case: Case) -> float:
    """The base asked for."""
    return float(case.arguments.get("base", 10000.0))


def places(case: Case) -> Floats:
    """Positions as numbers."""
    return np.asarray(case.arguments["positions"], dtype=np.float64)


def own_frequencies(case: Case) -> Floats:
    """Those of the case's sinusoid."""
    return frequencies(case.shape[-1], base(case))


def embedding(case: Case) -> Floats:
    """The scaled embedding."""
    scaled = case.conventions["embedding_scale"] == "d^1/2"
    return np.asarray(case.arguments["x"] * (case.shape[-1] ** 0.5 if scaled else 1.0))


def encoding(case: Case) -> Floats:
    """What is added to it: [n, dim]."""
    return interleaved(places(case)[:, None] * own_frequencies(case))


def error_terms(case: Case) -> ErrorTerms:
    """The scale is that of both parts; angles concern the encoding alone, whose size is 1."""
    scale = np.abs(embedding(case)) + 1
    return ErrorTerms(scale, angle_terms(places(case), own_frequencies(case)) / scale)


def arguments(trial: Trial) -> dict[str, Any]:
    """Two sequences of a few positions in a row."""
    start = trial.position(ROWS)
    return {
        "x": fine((2, ROWS, trial.choose("dim", (8, 2, 4, 6, 16, 64))), start % 5),
        "positions": start + np.arange(ROWS),
        "base": trial.choose("base", (10000.0, 500000.0, 1e6, 100.0)),
    }


def sweep(parameters: Mapping[str, Any], largest: int) -> dict[str, Any]:
    """All powers of two up to the largest position, for 64 channels."""
    positions = reaching(largest)
    rest = {name: value for name, value in parameters.items() if name != "dim"}
    x = fine((len(positions), parameters.get("dim", 64)))
    return {"x": x, "positions": positions, "base": 10000.0, **rest}


def sizes(case: Case) -> Iterator[dict[str, Any]]:
    """Few and many channels, powers of two and not, and many rows."""
    for dim in (2, 4, 6, 10, 16, 48, 64, 100, 128, 256, 300, 512, 1024):
        yield {"x": fine((2, dim)), "positions": np.array([1, 7])}
    yield {"x": fine((2049, 4)), "positions": np.arange(2049)}


def content_by_difference(trial: Trial) -> None:
    """The encoding cancels."""
    chosen = arguments(trial)
    one = trial.answer(**chosen)
    other = trial.answer(**(chosen | {"x": np.roll(chosen["x"], 3) / 2}))
    trial.zero(
        one - embedding(one.case) - (other - embedding(other.case)),
        "two results at one position do not differ by their scaled embeddings",
    )


def same_for_the_batch(trial: Trial) -> None:
    """The encoding of the first sequence is that of the second."""
    answer = trial.answer(**arguments(trial))
    added = answer - embedding(answer.case)
    trial.zero(
        added[1] - added[0], "two sequences with the same positions have different encodings"
    )


def origin(trial: Trial) -> None:
    """0, 1, 0, 1, … at position 0."""
    answer = trial.answer(**(arguments(trial) | {"positions": np.zeros(ROWS, dtype=np.int64)}))
    added = answer - embedding(answer.case)
    what = "at position 0 something other than (sine 0, cosine 1) is added"
    trial.zero(added - np.arange(answer.case.shape[-1]) % 2, what)


def zero_content(trial: Trial) -> None:
    """Circles of radius 1."""
    chosen = arguments(trial)
    answer = trial.answer(**(chosen | {"x": 0 * chosen["x"]}))
    waves = Waves(answer[..., 0::2], answer[..., 1::2])
    on_circles(trial, waves, "the encoding's pairs do not lie on circles of radius 1")


def zero_content_dots(trial: Trial) -> None:
    """Dot products along each diagonal are equal."""
    chosen = arguments(trial)
    answer = trial.answer(**(chosen | {"x": 0 * chosen["x"]}))
    trial.zero(
        along_diagonals(dot_products(answer[0])),
        "the dot product of two encodings depends on more than their distance",
    )


def wrong_embedding_scale(case: Case, got: Floats) -> Iterator[Model]:
    """Factors that no combination has."""
    x, dim = case.arguments["x"], case.shape[-1]
    for name, factor in (("d", dim), ("1/sqrt(d)", dim**-0.5), ("1/d", 1 / dim)):
        yield Model(f"matches embeddings times {name}", x * factor + encoding(case))


def encoding_scaled(case: Case, got: Floats) -> Iterator[Model]:
    """A factor on the encoding."""
    root = case.shape[-1] ** 0.5
    own = encoding(case)
    yield Model("matches an encoding times sqrt(d)", embedding(case) + root * own)
    yield Model("matches an encoding divided by sqrt(d)", embedding(case) + own / root)
    yield Model(
        "matches an encoding, but no embedding, times sqrt(d)", case.arguments["x"] + root * own
    )


def encoding_missing(case: Case, got: Floats) -> Iterator[Model]:
    """Content alone."""
    yield Model("matches the embedding without any encoding", embedding(case))
    yield Model("matches x itself", case.arguments["x"])


def batch_for_sequence(case: Case, got: Floats) -> Iterator[Model]:
    """Positions counted along the axis before the rows."""
    if len(case.shape) > 2:
        batch = np.arange(case.shape[-3], dtype=np.float64)
        own = interleaved(batch[:, None] * own_frequencies(case))
        yield Model(
            "matches the index along the batch taken for the position",
            embedding(case) + own[:, None],
        )


def layout_swapped(case: Case, got: Floats) -> Iterator[Model]:
    """Halves instead of turns."""
    own = encoding(case)
    for name, order in (("sin-cos", (0, 1)), ("cos-sin", (1, 0))):
        halves = np.concatenate([own[:, part::2] for part in order], axis=1)
        yield Model(f"matches the {name} layout exactly", embedding(case) + halves)


def positions_shifted(case: Case, got: Floats) -> Iterator[Model]:
    """Positions off by as much as the slowest pair's angle says."""
    added = got - embedding(case)
    yield from shifted_positions(
        case, estimated_shift(added, encoding(case), own_frequencies(case))
    )


def wrong_base(case: Case, got: Floats) -> Iterator[Model]:
    """Another base."""
    added = (got - embedding(case)).reshape(-1, *case.shape[-2:])
    yield from bases(case, estimated_base(added[0], places(case)) if len(added) else None)


def to_the_end(frequencies: Floats) -> Floats:
    """Frequencies whose exponents reach 1 at the last pair, and so go by t/(d/2-1)."""
    pairs = len(frequencies)
    return frequencies ** (pairs / (pairs - 1)) if pairs > 1 else frequencies


def exponent_to_the_end(case: Case, got: Floats) -> Iterator[Model]:
    """Evenly spaced exponents with their end point."""
    angles = places(case)[:, None] * to_the_end(own_frequencies(case))
    yield Model("matches exponents t/(d/2-1)", from_angles(case)(angles))


def from_angles(case: Case) -> Callable[[Floats], Floats]:
    """What angles [n, pairs] would give."""
    return lambda angles: embedding(case) + interleaved(angles)


def low_precision_angles(case: Case, got: Floats) -> Iterator[Model]:
    """Positions, frequencies and angles in a narrow dtype."""
    yield from rounded_angles(places(case)[:, None], own_frequencies(case), from_angles(case))


def turns(case: Case, output: Floats) -> Iterator[list[Turns] | None]:
    """Frequencies read from what is added."""
    added = output - embedding(case)
    yield turns_of_waves(
        case, added, case.bound, INTERLEAVED, places(case)[:, None], own_frequencies(case)
    )


TURNS = {"embedding_sum": turns}
ERROR_TERMS = {"embedding_sum": error_terms}
ARGUMENTS = {"embedding_sum": arguments}
SWEEPS = {"embedding_sum": sweep}
SIZES = {"embedding_sum": sizes}
INVARIANTS = {
    "embedding_sum": {
        "content-by-difference": content_by_difference,
        "same-for-the-batch": same_for_the_batch,
        "origin": origin,
        "zero-content": zero_content,
        "zero-content-dots": zero_content_dots,
    }
}
DEVIATIONS = {
    "embedding_sum": {
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
    }
}
