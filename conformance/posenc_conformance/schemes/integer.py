"""The position itself: bounds, invariants and deviations."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from posenc_conformance.diagnose.mistakes import Model, attempt, shifted_positions
from posenc_conformance.families.encodings import channels_alike
from posenc_conformance.families.encodings import dot_products as dots
from posenc_conformance.judge.arrays import Floats, narrowed
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.positions import reaching
from posenc_conformance.judge.trial import Trial

ROWS = 9
LARGEST_FLOAT16 = 65504


def error_terms(case: Case) -> ErrorTerms:
    """The scale is the position; no number, so that nothing is judged, where float16 ends."""
    size = np.abs(case.arguments["positions"]).astype(np.float64)[:, None]
    beyond = (size > LARGEST_FLOAT16) & (case.dtype == "float16")
    return ErrorTerms(np.where(beyond, np.nan, size), np.zeros(()))


def arguments(trial: Trial) -> dict[str, Any]:
    """A few positions in a row."""
    return {
        "positions": trial.position(ROWS) + np.arange(ROWS),
        "dim": trial.choose("dim", (4, 1, 2, 3, 7, 64)),
    }


def sweep(parameters: Mapping[str, Any], largest: int) -> dict[str, Any]:
    """All powers of two up to what float16 holds, or to the largest position."""
    return {"positions": reaching(min(largest, LARGEST_FLOAT16)), "dim": 3, **parameters}


def sizes(case: Case) -> Iterator[dict[str, Any]]:
    """Few and many channels, powers of two and not, and many rows."""
    for dim in (1, 2, 3, 5, 8, 16, 31, 64, 100, 128, 257, 512, 1000):
        yield {"dim": dim, "positions": np.array([0, 1, 7])}
    yield {"dim": 2, "positions": np.arange(2049)}


def equal_channels(trial: Trial) -> None:
    """One number in all channels."""
    channels_alike(trial, trial.answer(**arguments(trial)))


def origin(trial: Trial) -> None:
    """Zeros at position 0."""
    answer = trial.answer(**(arguments(trial) | {"positions": np.zeros(2, dtype=np.int64)}))
    trial.never(answer, answer.values != 0, "position 0 is not zero")


def step(trial: Trial) -> None:
    """One more for the next position."""
    answer = trial.answer(**arguments(trial))
    trial.zero(answer[1:] - answer[:-1] - 1, "neighbours do not differ by 1")


def one_direction(trial: Trial) -> None:
    """Each row is the first one's multiple."""
    answer = trial.answer(**arguments(trial))
    place = answer.case.arguments["positions"][:, None]
    trial.zero(answer * place[0] - answer[:1] * place, "rows are not multiples of each other")


def dot_products(trial: Trial) -> None:
    """d m n for every two rows."""
    answer = trial.answer(**arguments(trial))
    place, dim = answer.case.arguments["positions"], answer.case.arguments["dim"]
    trial.zero(dots(answer) - dim * np.outer(place, place), "a dot product is not d m n")


def positions_shifted(case: Case, got: Floats) -> Iterator[Model]:
    """Other positions, by as much as the values are too large."""
    known = np.isfinite(case.truth)
    estimate = float(np.median((got - case.truth)[known])) if known.any() else np.nan
    yield from shifted_positions(case, estimate)


def row_numbers(case: Case, got: Floats) -> Iterator[Model]:
    """Rows counted from 0 or 1."""
    numbers = np.arange(len(case.arguments["positions"]))
    for first in (0, 1):
        yield from attempt(
            case.changed(positions=numbers + first), f"matches row numbers counted from {first}"
        )


def channel_numbers(case: Case, got: Floats) -> Iterator[Model]:
    """A range along the channels."""
    for first in (0, 1):
        row = first + np.arange(case.shape[1], dtype=np.float64)
        yield Model(f"matches channel numbers counted from {first}", 0 * case.truth + row)


def normalized_after_all(case: Case, got: Floats) -> Iterator[Model]:
    """Divided by the largest position, or by the number of rows, or one less."""
    rows = len(case.arguments["positions"])
    divisors = {
        "the largest position": np.max(case.arguments["positions"], initial=0),
        "the number of positions": rows,
        "the number of positions less one": rows - 1,
    }
    for name, divisor in divisors.items():
        if divisor > 0:
            yield Model(f"matches positions divided by {name}", case.truth / float(divisor))


def narrow_positions(case: Case, got: Floats) -> Iterator[Model]:
    """Rounded to a narrow dtype."""
    for dtype in ("bfloat16", "float16"):
        yield Model(f"matches positions in {dtype}", narrowed(case.truth, dtype))


def positions_wrapped(case: Case, got: Floats) -> Iterator[Model]:
    """Cut to a few bits."""
    for kind in (np.int8, np.uint8, np.int16, np.uint16, np.int32):
        yield from attempt(
            case.changed(positions=case.arguments["positions"].astype(kind).astype(np.int64)),
            f"matches positions held in {np.dtype(kind).name}",
        )


ERROR_TERMS = {"integer": error_terms}
ARGUMENTS = {"integer": arguments}
SWEEPS = {"integer": sweep}
SIZES = {"integer": sizes}
INVARIANTS = {
    "integer": {
        "equal-channels": equal_channels,
        "origin": origin,
        "step": step,
        "one-direction": one_direction,
        "dot-products": dot_products,
    }
}
DEVIATIONS = {
    "integer": {
        "positions-shifted": positions_shifted,
        "row-numbers": row_numbers,
        "channel-numbers": channel_numbers,
        "normalized-after-all": normalized_after_all,
        "positions-wrapped": positions_wrapped,
        "narrow-positions": narrow_positions,
    }
}
