"""Binary positions: bounds, invariants and deviations."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from posenc_conformance.diagnose.predictors import (
    other_conventions,
    predict_case,
    shifted_positions,
)
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.judge.bounded import Answer
from posenc_conformance.judge.case import Case, exact_terms
from posenc_conformance.judge.deviation import Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.positions import positions_up_to
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments

ROWS = 9
FAR = 131_071
"""The largest position in ``sizes``, for implementations that claim no largest position."""


def arguments(trial: Trial) -> ArgumentDict:
    """Draw up to ROWS consecutive positions that ``dim`` digits can write."""
    dim = trial.choose("dim", (16, 1, 2, 3, 8, 12, 24))
    last = min(trial.scope.max_position, 2**dim - 1, 4095)
    start = trial.pick.integer(0, max(0, last + 1 - ROWS))
    return {"positions": np.arange(start, min(start + ROWS, last + 1)), "dim": dim}


def sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Make a call at all powers of two up to the largest position, with its number of digits."""
    dim = parameters.get("dim", max(1, largest.bit_length()))
    return {"positions": positions_up_to(min(largest, 2**dim - 1)), "dim": dim}


def sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield few and many digits, multiples of eight and others, and many rows."""
    for dim in (1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 24, 32, 33, 64, 65):
        last = min(2**dim - 1, FAR)
        yield {"dim": dim, "positions": np.array([0, 1, last - last // 3, last])}
    yield {"dim": 12, "positions": np.arange(2049)}


def digits(case: Case, positions: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the digits of ``positions``, the lowest first: [n, dim]."""
    shifts = np.minimum(np.arange(case.arguments["dim"]), 62)
    return np.asarray(positions[:, None] >> shifts & 1)


def laid_out(case: Case, lowest_first: npt.NDArray[np.int64]) -> Floats:
    """Arrange digits in the order and with the levels of the case."""
    ordered = lowest_first if case.conventions["order"] == "lsb-first" else lowest_first[:, ::-1]
    signed = case.conventions["levels"] == "plus-minus-one"
    return np.asarray(2 * ordered - 1 if signed else ordered, dtype=np.float64)


def read(answer: Answer) -> Floats:
    """Read the digits from an answer, the lowest first: [n, dim].

    A value other than the two levels gives a number other than 0 and 1.
    """
    values = answer.values
    if answer.case.conventions["levels"] == "plus-minus-one":
        values = (values + 1) / 2
    return values if answer.case.conventions["order"] == "lsb-first" else values[:, ::-1]


def reads_back(trial: Trial) -> None:
    """Check that the sum of the digits, each times its power of two, is the position."""
    answer = trial.answer(**arguments(trial))
    total = read(answer) @ 2.0 ** np.arange(answer.values.shape[1])
    wrong = total != answer.case.arguments["positions"]
    trial.assert_none(answer, wrong, "the digits do not add up to the position")


def period(trial: Trial) -> None:
    """Check that digit k flips after 2**k positions and repeats after 2**(k+1)."""
    chosen = arguments(trial)
    reach = min(2 ** chosen["dim"] - 1, trial.scope.max_position)
    most = (reach - int(chosen["positions"][-1])).bit_length() - 2
    if most < 0:
        return
    k = trial.pick.integer(0, min(most, chosen["dim"] - 1))
    moved = np.concatenate([chosen["positions"] + step for step in (0, 2**k, 2 ** (k + 1))])
    answer = trial.answer(**(chosen | {"positions": moved}))
    here, half, whole = np.split(read(answer)[:, k], 3)
    trial.assert_none(
        answer, whole != here, f"digit {k} does not repeat after 2**{k + 1} positions"
    )
    trial.assert_none(
        answer, half != 1 - here, f"digit {k} is not the other after 2**{k} positions"
    )


def hamming(case: Case) -> Floats:
    """Count the digits in which every two positions differ: [n, n]."""
    own = digits(case, case.arguments["positions"])
    return np.asarray((own[:, None] != own[None]).sum(axis=-1), dtype=np.float64)


def dot_products(trial: Trial) -> None:
    """Check that a dot product counts the digits that are 1 in both positions.

    With levels of plus and minus one it counts the equal digits minus the different ones.
    """
    answer = trial.answer(**arguments(trial))
    own = digits(answer.case, answer.case.arguments["positions"]).astype(np.float64)
    truth = own @ own.T
    if answer.case.conventions["levels"] == "plus-minus-one":
        truth = own.shape[1] - 2 * hamming(answer.case)
    product = answer.values @ answer.values.T
    trial.assert_none(answer, product != truth, "a dot product does not count the digits shared")


def distance(trial: Trial) -> None:
    """Check that squared distances count the digits that differ."""
    answer = trial.answer(**arguments(trial))
    y = answer.values
    unit = 4 if answer.case.conventions["levels"] == "plus-minus-one" else 1
    square = ((y[:, None] - y[None]) ** 2).sum(axis=-1)
    wrong = square != unit * hamming(answer.case)
    trial.assert_none(answer, wrong, "a squared distance does not count the digits that differ")


def complement(trial: Trial) -> None:
    """Check that position 2^d - 1 - p has the inverted digits of p."""
    chosen = arguments(trial)
    last = 2 ** chosen["dim"] - 1
    if last > trial.scope.max_position:
        return
    both = np.concatenate([chosen["positions"], last - chosen["positions"]])
    answer = trial.answer(**(chosen | {"positions": both}))
    here, other = np.split(read(answer), 2)
    trial.assert_none(answer, here != 1 - other, "2^d - 1 - p does not have the other digits of p")


def digits_inverted(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict every digit inverted."""
    own = digits(case, case.arguments["positions"])
    yield Prediction("matches every digit exchanged", laid_out(case, 1 - own))


def gray_code(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict Gray's code."""
    positions = case.arguments["positions"]
    own = digits(case, positions ^ positions >> 1)
    yield Prediction("matches Gray's code", laid_out(case, own))


def positions_shifted(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict shifted positions, first by the shift of the first wrong row."""
    answer = Answer(case, got, got, got)
    values = read(answer) @ 2.0 ** np.minimum(np.arange(got.shape[1]), 62)
    apart = (values - case.arguments["positions"])[values != case.arguments["positions"]]
    yield from shifted_positions(case, float(apart[0]) if apart.size else np.nan)


def positions_in_a_byte(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict positions modulo 256."""
    yield from predict_case(
        case.with_arguments(positions=case.arguments["positions"] % 256),
        "matches positions modulo 256",
    )


def left_aligned(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the first ``dim`` digits of positions written in one, two, four or eight bytes."""
    dim = case.arguments["dim"]
    for bits in (8, 16, 32, 64):
        if dim < bits:
            own = digits(case, case.arguments["positions"] >> (bits - dim))
            yield Prediction(f"matches the first {dim} of {bits} digits", laid_out(case, own))


KNOWLEDGE = {
    "binary": CallKnowledge(
        error_terms=exact_terms,
        arguments=arguments,
        sweep=sweep,
        sizes=sizes,
        invariants={
            "reads-back": reads_back,
            "period": period,
            "dot-products": dot_products,
            "distance": distance,
            "complement": complement,
        },
        deviations={
            "order-swapped": other_conventions(
                "order", "matches the digits {value}; {claimed} was claimed"
            ),
            "levels-swapped": other_conventions(
                "levels", "matches the levels {value}; {claimed} was claimed"
            ),
            "digits-inverted": digits_inverted,
            "gray-code": gray_code,
            "positions-in-a-byte": positions_in_a_byte,
            "left-aligned": left_aligned,
            "positions-shifted": positions_shifted,
        },
    ),
}
