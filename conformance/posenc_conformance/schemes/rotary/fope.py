"""FoPE: bounds, invariants and deviations."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import posenc
from posenc_conformance.diagnose.predictors import (
    BASES,
    negated_positions,
    other_conventions,
    rounded_angles,
    shifted_positions,
)
from posenc_conformance.judge.arrays import Floats, fine, round_to
from posenc_conformance.judge.bounded import Answer, Exact
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.deviation import Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.measured_frequencies import PairFrequencies, fit_frequencies
from posenc_conformance.judge.positions import positions_up_to
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments

ROWS = 5
MATRICES = ("sin_coef", "cos_coef")


def remaining(head_dim: int, length: int, base: float) -> int:
    """Count the frequencies of RoPE that turn more than once over the length."""
    every = float(base) ** (-2 * np.arange(head_dim // 2) / head_dim)
    return int(np.sum(every > 2 * np.pi / length))


def coefficients(shape: tuple[int, int]) -> dict[str, Floats]:
    """Return two matrices near the identity, like trained ones."""
    near = np.eye(*shape)
    return {name: near + fine(shape, 11 * i) / 2 for i, name in enumerate(MATRICES, 1)}


def chosen_for(
    x: Floats, positions: Any, length: int, base: float, mixed: int | None = None
) -> ArgumentDict:
    """Return arguments with a column for each remaining frequency, or for the first ``mixed``."""
    head_dim = x.shape[-1]
    rows = remaining(head_dim, length, base)
    columns = rows if mixed is None else min(rows, mixed)
    chosen = {
        "x": x,
        "positions": np.asarray(positions),
        "original_max_position_embeddings": length,
        "base": base,
    }
    return chosen | coefficients((rows, columns))


def arguments(trial: Trial) -> ArgumentDict:
    """Draw two heads and a few consecutive rows."""
    head_dim = trial.choose("head_dim", (16, 4, 8, 2, 12, 64))
    length = trial.choose("original_max_position_embeddings", (512, 64, 4096, 1_000_000))
    base = trial.choose("base", (10000.0, 500000.0, 100.0))
    start = trial.position(ROWS)
    x = fine((2, ROWS, head_dim), start % 5)
    mixed = trial.choose("mixed", (None, max(1, head_dim // 4), 1))
    return chosen_for(x, start + np.arange(ROWS), length, base, mixed)


def sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Make a call at all powers of two up to the largest position, with every frequency."""
    positions, head_dim = positions_up_to(largest), parameters.get("head_dim", 16)
    length, base = (
        parameters.get("original_max_position_embeddings", 4096),
        parameters.get("base", 10000.0),
    )
    return chosen_for(fine((len(positions), head_dim)), positions, length, base)


def sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield few and many channels, few and many frequencies, and many rows."""
    for head_dim, rows, length, mixed in (
        (2, 3, 7, None),
        (4, 3, 7, None),
        (6, 6, 64, None),
        (16, 3, 512, 4),
        (64, 3, 4096, None),
        (128, 3, 512, 32),
        (256, 2, 262144, None),
        (8, 4, 512, 2),
        (4, 1025, 1024, None),
    ):
        x = fine((rows, head_dim))
        yield chosen_for(x, 3 * np.arange(rows), length, 10000.0, mixed)
    yield chosen_for(fine((2, 260)), 3 * np.arange(2), 4096, 100.0)  # all 130 frequencies remain


def frequencies(case: Case) -> Floats:
    """Return the frequencies that remain, in radians per position."""
    head_dim = case.arguments["x"].shape[-1]
    base = float(case.arguments.get("base", 10000.0))
    number = len(case.arguments["sin_coef"])
    return np.asarray(base ** (-2 * np.arange(number) / head_dim))


def places(case: Case) -> Floats:
    """Return the positions as a column."""
    return np.asarray(case.arguments["positions"][:, None], dtype=np.float64)


def halves(x: Floats) -> tuple[Floats, Floats]:
    """Return the first and the second channels of the pairs."""
    half = x.shape[-1] // 2
    return x[..., :half], x[..., half:]


def padded(case: Case, sums: Floats, value: float) -> Floats:
    """Extend ``sums`` to all pairs, with ``value`` for the pairs without a column."""
    missing = case.arguments["x"].shape[-1] // 2 - sums.shape[-1]
    return np.pad(sums, [(0, 0), (0, missing)], constant_values=value)


def error_terms(case: Case) -> ErrorTerms:
    """Return the scale, a sum of magnitudes of channels times coefficients, and the angle."""
    w = frequencies(case)
    angle = np.abs(places(case)) * w
    lost = angle * (1 + np.abs(np.log(w))) + (len(w) + 3) / case.scheme.accuracy.angle
    sizes = {name: np.abs(case.arguments[name]).astype(np.float64) for name in MATRICES}
    rest = 1.0 if case.conventions["rest"] == "ones" else 0.0
    scales, losses = [], []
    first, second = (np.abs(part) for part in halves(case.arguments["x"]))
    for own, other in ((first, second), (second, first)):
        sin, cos = (sizes[name].sum(axis=0, keepdims=True) for name in MATRICES)
        scales.append(own * padded(case, cos, rest) + other * padded(case, sin, rest))
        sin, cos = (lost @ sizes[name] for name in MATRICES)
        losses.append(own * padded(case, cos, 0.0) + other * padded(case, sin, 0.0))
    scale, loss = np.concatenate(scales, axis=-1), np.concatenate(losses, axis=-1)
    return ErrorTerms(scale, np.divide(loss, scale, out=np.zeros_like(loss), where=scale > 0))


def turned(
    case: Case,
    angles: Floats | None = None,
    matrices: tuple[Floats, Floats] | None = None,
    rest: tuple[float, float] | None = None,
    finish: Callable[[Floats], Floats] = np.asarray,
) -> Floats:
    """Compute the result for these angles, matrices, and sine and cosine of the rest.

    None stands for the right value. ``finish`` maps the sums of waves to their replacements.
    """
    angle = places(case) * frequencies(case) if angles is None else angles
    sines, cosines = (case.arguments[name] for name in MATRICES) if matrices is None else matrices
    if rest is None:
        rest = (1.0, 1.0) if case.conventions["rest"] == "ones" else (0.0, 1.0)
    sin = padded(case, finish(np.sin(angle) @ sines), rest[0])
    cos = padded(case, finish(np.cos(angle) @ cosines), rest[1])
    first, second = halves(case.arguments["x"])
    return np.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)


def mixed_parts(answer: Answer) -> tuple[Answer, Answer]:
    """Return the first and second channels of the pairs that have a column of coefficients."""
    half = answer.values.shape[-1] // 2
    mixed = answer.case.arguments["sin_coef"].shape[1]
    return answer[..., :mixed], answer[..., half : half + mixed]


def plain_where_alone(trial: Trial) -> None:
    """Check that pairs turn as in RoPE if the coefficients are the identity."""
    chosen = arguments(trial)
    shape = chosen["sin_coef"].shape
    chosen |= {name: np.eye(*shape) for name in MATRICES}
    answer = trial.answer(**chosen)
    expected = np.asarray(
        posenc.rope(
            answer.case.arguments["x"].astype(np.float64),
            chosen["positions"],
            base=chosen["base"],
            layout="half",
        )
    )
    half = expected.shape[-1] // 2
    for part, start in zip(mixed_parts(answer), (0, half), strict=True):
        exact = Exact(expected[..., start : start + shape[1]])
        trial.assert_zero(part - exact, "the identity does not turn pairs as RoPE does")


def origin(trial: Trial) -> None:
    """Check that a pair at position 0 is multiplied by its column's sum of cosine coefficients."""
    chosen = arguments(trial) | {"positions": np.zeros(ROWS, dtype=np.int64)}
    answer = trial.answer(**chosen)
    x = answer.case.arguments["x"]
    column = answer.case.arguments["cos_coef"].astype(np.float64).sum(axis=0)
    half = x.shape[-1] // 2
    for part, start in zip(mixed_parts(answer), (0, half), strict=True):
        scaled = x[..., start : start + len(column)].astype(np.float64) * column
        trial.assert_zero(part - scaled, "at position 0 a pair is not its column's sum of cosines")


def additive(trial: Trial) -> None:
    """Check that the mixed pairs are additive in the coefficients."""
    chosen = arguments(trial)
    odd = np.arange(len(chosen["sin_coef"]))[:, None] % 2
    both = [{name: chosen[name] * rows for name in MATRICES} for rows in (odd, 1 - odd)]
    whole = mixed_parts(trial.answer(**chosen))
    parts = [mixed_parts(trial.answer(**(chosen | part))) for part in both]
    for i in range(2):
        trial.assert_zero(parts[0][i] + parts[1][i] - whole[i], "frequencies do not add up")


def rest_stands(trial: Trial) -> None:
    """Check that pairs beyond the columns do not depend on the position."""
    chosen = arguments(trial)
    chosen["x"] = np.broadcast_to(chosen["x"][:, :1], chosen["x"].shape).copy()
    answer = trial.answer(**chosen)
    half = answer.values.shape[-1] // 2
    beyond = slice(chosen["sin_coef"].shape[1], half)
    for start in (0, half):
        unmixed = answer[..., start + beyond.start : start + half]
        trial.assert_zero(
            unmixed[:, 1:] - unmixed[:, :1], "a pair beyond the columns depends on the position"
        )


def backward_positions(trial: Trial) -> None:
    """Check that the results at a position and its negative add up to twice the cosine part."""
    chosen = arguments(trial)
    forth = mixed_parts(trial.answer(**chosen))
    back = mixed_parts(trial.answer(**(chosen | {"positions": -chosen["positions"]})))
    without = chosen | {"sin_coef": np.zeros_like(chosen["sin_coef"])}
    cosines = mixed_parts(trial.answer(**without))
    for i in range(2):
        trial.assert_zero(
            forth[i] + back[i] - cosines[i] * 2, "sines do not change sign with the position"
        )


def other_matrices(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict coefficients of sines and cosines swapped or shared."""
    sines, cosines = (np.asarray(case.arguments[name], dtype=np.float64) for name in MATRICES)
    yield Prediction(
        "matches sines and cosines with each other's coefficients",
        turned(case, matrices=(cosines, sines)),
    )
    for name, matrix in (("sines", sines), ("cosines", cosines)):
        yield Prediction(
            f"matches the coefficients of {name} for both", turned(case, matrices=(matrix, matrix))
        )


def transposed(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict transposed coefficients, if the matrices are square."""
    sines, cosines = (case.arguments[name] for name in MATRICES)
    if sines.shape[0] == sines.shape[1]:
        yield Prediction(
            "matches rows of coefficients where columns belong",
            turned(case, matrices=(sines.T, cosines.T)),
        )


def ignored(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict no coefficients, only those of the diagonal, or the identity added."""
    own = [np.asarray(case.arguments[name], dtype=np.float64) for name in MATRICES]
    eye = np.eye(*own[0].shape)
    for words, made in (
        ("matches the identity for coefficients", lambda matrix: eye),
        ("matches the diagonal of the coefficients alone", lambda matrix: matrix * eye),
        ("matches the identity added to the coefficients", lambda matrix: matrix + eye),
    ):
        yield Prediction(words, turned(case, matrices=(made(own[0]), made(own[1]))))


def normalized(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict columns divided by their sums, so that they add up to 1."""
    sines, cosines = (np.asarray(case.arguments[name], dtype=np.float64) for name in MATRICES)
    with np.errstate(all="ignore"):
        changed = (sines / sines.sum(axis=0), cosines / cosines.sum(axis=0))
    yield Prediction("matches columns divided by their sums", turned(case, matrices=changed))


def rest_swapped(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict other sines and cosines for the pairs without a column."""
    yield from other_conventions("rest", "matches the rest {value} exactly; {claimed} was claimed")(
        case, got
    )
    yield Prediction("matches zeros for the rest", turned(case, rest=(0.0, 0.0)))
    yield Prediction("matches the sine of 1 and the cosine of 0", turned(case, rest=(1.0, 0.0)))


def layout_swapped(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict neighbouring channels as pairs."""
    x = case.arguments["x"]
    apart = np.concatenate([x[..., 0::2], x[..., 1::2]], axis=-1)
    first, second = halves(turned(case.with_fields(arguments={**case.arguments, "x": apart})))
    output = np.stack([first, second], axis=-1).reshape(x.shape)
    yield Prediction("matches pairs of neighbouring channels", output)


def negated(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict sines of the opposite sign, with or without those of the rest."""
    yield from negated_positions(case, got)
    if case.conventions["rest"] == "ones":
        angle = -places(case) * frequencies(case)
        yield Prediction(
            "matches sines of the opposite sign", turned(case, angle, rest=(-1.0, 1.0))
        )


def shifted(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict positions that start too early or too late."""
    yield from shifted_positions(case, np.nan)


def exponents(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict a progression over the remaining frequencies, or over single channels."""
    base, number = float(case.arguments.get("base", 10000.0)), len(frequencies(case))
    head_dim = case.arguments["x"].shape[-1]
    for words, step in (
        ("over the frequencies that remain", 1 / number),
        ("of t / head_dim", 1 / head_dim),
    ):
        w = base ** (-step * np.arange(number))
        yield Prediction(f"matches exponents {words}", turned(case, places(case) * w))


def slow_kept(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the slowest frequencies in place of the fastest."""
    base, number = float(case.arguments.get("base", 10000.0)), len(frequencies(case))
    head_dim = case.arguments["x"].shape[-1]
    w = base ** (-2 * np.arange(head_dim // 2 - number, head_dim // 2) / head_dim)
    yield Prediction("matches the slowest frequencies kept", turned(case, places(case) * w))


def wrong_base(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the result with another base and as many frequencies."""
    head_dim = case.arguments["x"].shape[-1]
    for base in (*BASES, 5e6):
        w = base ** (-2 * np.arange(len(frequencies(case))) / head_dim)
        yield Prediction(f"matches base {base:g}", turned(case, places(case) * w))


def narrow_angles(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict positions, frequencies, angles or coefficients in a narrow dtype."""
    yield from rounded_angles(
        places(case),
        frequencies(case),
        lambda angle: turned(case, angle),
        lambda angle, dtype: turned(case, angle, finish=lambda sums: round_to(sums, dtype)),
    )
    for dtype in ("bfloat16", "float16"):
        rounded = [round_to(case.arguments[name], dtype) for name in MATRICES]
        output = turned(case, matrices=(rounded[0], rounded[1]))
        yield Prediction(f"matches coefficients in {dtype}", output)


def read_frequencies(case: Case, output: Floats) -> Iterator[list[PairFrequencies] | None]:
    """Read the frequencies from the sums of waves.

    The list is empty unless there are as many sums as frequencies.
    """
    number, mixed = case.arguments["sin_coef"].shape
    if number != mixed:
        yield []
        return
    first, second = (part[..., :mixed] for part in halves(case.arguments["x"]))
    own, other = (part[..., :mixed] for part in halves(output))
    square = (first**2 + second**2).sum(axis=tuple(range(first.ndim - 2)))
    lead = tuple(range(first.ndim - 2))
    sums = {
        "cos_coef": (own * first + other * second).sum(axis=lead) / square,
        "sin_coef": (other * first - own * second).sum(axis=lead) / square,
    }
    try:
        inverse = {name: np.linalg.inv(case.arguments[name]) for name in MATRICES}
    except np.linalg.LinAlgError:  # mixed frequencies cannot be told apart
        yield []
        return
    cos, sin = (sums[name] @ inverse[name] for name in ("cos_coef", "sin_coef"))
    longest = max(np.abs(matrix).sum(axis=0).max() for matrix in inverse.values())
    bound = case.bound.max() / np.sqrt(square.min()) * longest * np.ones(1)
    yield fit_frequencies(
        case,
        (np.ones(1), cos + 1j * sin),
        places(case),
        frequencies(case),
        bound,
        dim=case.arguments["x"].shape[-1],
    )


KNOWLEDGE = {
    "fope": CallKnowledge(
        error_terms=error_terms,
        arguments=arguments,
        sweep=sweep,
        sizes=sizes,
        frequencies=read_frequencies,
        invariants={
            "identity-is-rope": plain_where_alone,
            "origin": origin,
            "additive": additive,
            "rest-stands": rest_stands,
            "opposite-positions": backward_positions,
        },
        deviations={
            "rest-swapped": rest_swapped,
            "coefficients-exchanged": other_matrices,
            "coefficients-transposed": transposed,
            "coefficients-ignored": ignored,
            "columns-normalized": normalized,
            "layout-swapped": layout_swapped,
            "negated-angles": negated,
            "positions-shifted": shifted,
            "exponents-wrong": exponents,
            "slowest-kept": slow_kept,
            "wrong-base": wrong_base,
            "low-precision-angles": narrow_angles,
        },
    ),
}
