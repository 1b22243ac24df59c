"""Frequencies, offset and length are recovered from rotated pairs, and from nothing else."""

from typing import Any

import numpy as np
import pytest

from posenc_conformance.judge.arrays import Array, fine
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.measured_frequencies import (
    NEAR,
    Paired,
    PairFrequencies,
    fit_frequencies,
)
from posenc_lab.judging import schemes

ASKED = 10000.0 ** (-np.arange(4) / 4)
PLACES = np.arange(12.0)


def case(dtype: str = "float64") -> Case:
    scheme = next(candidate for candidate in schemes() if candidate.id == "rope")
    call = scheme.calls["rope"]
    arguments = {"x": np.ones((12, 8)), "positions": np.arange(12), "base": 10000.0}
    return Case(scheme, call, call.combinations["half"].conventions, arguments, dtype)


def read(
    frequencies: Any = ASKED,
    offset: Any = 0.0,
    length: Any = 1.0,
    places: Array = PLACES,
    bound: float = 1e-12,
    more: Any = 0.0,
    dtype: str = "float64",
    **options: Any,
) -> list[PairFrequencies] | None:
    """Recover frequencies from pairs that are rotated with these parameters."""
    before = fine((2, len(places), 4)) + 2 + 1j * fine((2, len(places), 4), 7)
    angles = np.multiply.outer(places, np.asarray(frequencies)) + offset
    after = length * before * np.exp(1j * angles) + more
    shape = np.full(after.shape, bound)
    return fit_frequencies(case(dtype), (before, after), places[:, None], ASKED, shape, **options)


def only(found: list[PairFrequencies] | None) -> PairFrequencies:
    assert found is not None
    (single,) = found
    return single


def test_frequencies_are_read() -> None:
    turns = only(read(1.1 * ASKED))
    assert turns.frequencies == pytest.approx(1.1 * ASKED, rel=1e-9)
    assert turns.numbers.tolist() == [0, 1, 2, 3]
    assert (turns.dim, turns.offset, turns.length) == (8, 0, 1)
    assert turns.are(1.1 * ASKED)
    assert not turns.are(ASKED)
    assert turns.asked.tolist() == ASKED.tolist()


@pytest.mark.parametrize("frequencies", [-ASKED, ASKED[::-1], np.full(4, 0.5), 3 * ASKED])
def test_any_frequencies_below_half_a_turn_are_read(frequencies: Array) -> None:
    assert only(read(frequencies)).frequencies == pytest.approx(frequencies, rel=1e-9)


@pytest.mark.parametrize(("dtype", "same"), [("float64", False), ("float32", True)])
def test_rounding_of_angles_in_float32_makes_no_difference(dtype: str, same: bool) -> None:
    """At position 11, an error of 1e-7 of the frequency is more than 1e-6 radians."""
    turns = only(read(dtype=dtype))
    assert turns.are(ASKED * (1 + 1e-7)) == same
    assert not turns.are(ASKED * (1 + 1e-6))


def test_whole_turns_between_two_rows_are_known_to_be_lost() -> None:
    turns = only(read(ASKED + 2 * np.pi))
    assert turns.frequencies == pytest.approx(ASKED, abs=1e-9)
    assert turns.turn == pytest.approx(np.full(4, 2 * np.pi))
    assert turns.near(ASKED + 2 * np.pi)
    assert not turns.near(ASKED + np.pi)
    far = only(read(ASKED, places=4 * PLACES))
    assert far.turn == pytest.approx(np.full(4, np.pi / 2))


@pytest.mark.parametrize("offset", [1.0, -0.5, 0.01])
def test_an_offset_is_read(offset: float) -> None:
    assert only(read(offset=offset)).offset == pytest.approx(offset)
    assert only(read(offset=NEAR / 2)).offset == 0


@pytest.mark.parametrize("length", [2.0, 0.5, 1.01])
def test_a_length_is_read(length: float) -> None:
    assert only(read(length=length)).length == pytest.approx(length)
    assert only(read(length=1 + NEAR / 2)).length == 1


def test_unequal_offsets_and_lengths_are_no_turns() -> None:
    assert read(offset=np.array([0, 0, 0, 0.1])) is None
    assert read(length=np.array([1, 1, 1, 1.1])) is None
    assert read(length=np.linspace(1, 1.1, 12)[:, None]) is None
    assert read(more=0.1) is None
    assert read(offset=np.where(np.arange(12) > 8, 0.1, 0)[:, None]) is None


@pytest.mark.parametrize("first", [0, 1, 9])
def test_an_offset_is_as_certain_as_the_first_row_is_near(first: int) -> None:
    """The offset is extrapolated from the rows with an uncertain frequency."""
    places, least = PLACES + first, NEAR * (1 + first)
    assert only(read(offset=0.95 * least, places=places)).offset == 0
    assert only(read(offset=1.05 * least, places=places)).offset == pytest.approx(1.05 * least)
    last = np.array([0, 0, 0, 4 / 3])  # 1 off their mean
    assert only(read(offset=0.95 * least * last, places=places))
    assert read(offset=1.05 * least * last, places=places) is None
    assert only(read(offset=0.1 * least, places=-places)).first == first


@pytest.mark.parametrize("length", [0.25, 1.0, 4.0])
@pytest.mark.parametrize("shape", [(4,), (12, 1)])
def test_lengths_must_agree_to_a_thousandth(length: float, shape: tuple[int, ...]) -> None:
    """They must agree in all pairs and in all rows, however wide the bound is."""
    error = np.zeros(shape)
    error[2] = NEAR
    result = only(read(length=length * (1 - 0.95 * error), bound=0.1))
    assert result.length == pytest.approx(length, rel=NEAR)
    assert read(length=length * (1 - 1.05 * error), bound=0.1) is None


@pytest.mark.parametrize(("length", "read_as"), [(0.95, 1.0), (1.05, 1 + 1.05 * NEAR)])
def test_a_length_near_one_counts_as_one(length: float, read_as: float) -> None:
    assert only(read(length=1 + length * NEAR)).length == pytest.approx(read_as, rel=1e-9)


def test_rows_at_one_position_show_no_frequency() -> None:
    assert read(places=np.full(12, 3.0)) == []


def test_each_axis_has_its_own_progression() -> None:
    first, second = read(axis=np.array([0, 0, 1, 1])) or []
    assert first.frequencies == pytest.approx(ASKED[:2])
    assert second.frequencies == pytest.approx(ASKED[2:])
    assert first.numbers.tolist() == second.numbers.tolist() == [0, 1]
    assert first.dim == second.dim == 4
    assert first.of_axis
    assert not only(read()).of_axis
    assert only(read(dim=10)).dim == 10


def test_given_frequencies_are_compared_as_they_are() -> None:
    turns = PairFrequencies(np.arange(4.0), ASKED, ASKED, 8, {"base": 10000.0})
    assert turns.are(ASKED * (1 + 5e-6))
    assert not turns.are(ASKED * (1 + 5e-5))
    assert turns.near(ASKED * (1 + 5e-4))
    assert not turns.near(ASKED * (1 + 5e-3))
    assert turns.plain == pytest.approx(ASKED)
    assert not turns.aliased(np.array([100.0]))
    assert turns.above_noise(ASKED).all()


def test_noise_makes_no_difference() -> None:
    turns = PairFrequencies(np.arange(4.0), ASKED, ASKED, 8, {}, noise=1e-4)
    assert turns.near(ASKED + 9e-5)
    assert not turns.near(ASKED + 2e-3)
    assert turns.above_noise(np.array([0.2, -0.2, 0.05, 0])).tolist() == [True, True, False, False]
    assert turns.base == 10000


def test_pairs_that_should_turn_much_faster_are_aliased() -> None:
    turns = only(read())
    assert not turns.aliased(np.array([16.0, -16, 1]))
    assert turns.aliased(np.array([1, 16.1]))
    assert turns.aliased(np.array([-16.1, 1]))


OMEGA, PLACE, SIZE, UNIT = 0.1, 100.0, 2.0, 1e-6


def lost(offset: float) -> float:
    """Return the error that rounding may cause in the angle at PLACE."""
    return float(4 * UNIT * (OMEGA * PLACE + offset) * (1 - np.log(OMEGA)))


def pair(error: float, bound: float, offset: float = 0.0, length: float = 1.0) -> Paired:
    """Return a rotated pair with an error along its length."""
    turned = length * SIZE * np.exp(1j * (OMEGA * PLACE + offset))
    return Paired(
        np.full((1, 1), SIZE + 0j),
        np.full((1, 1), turned * (1 + error / abs(turned))),
        np.full((1, 1), PLACE),
        np.full((1, 1), bound),
        UNIT,
    )


@pytest.mark.parametrize("bound", [0.0, 0.01, 4.0])
@pytest.mark.parametrize("length", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("offset", [0.0, 0.25])
def test_pairs_may_be_off_by_bound_and_rounding(bound: float, length: float, offset: float) -> None:
    """An estimated offset or length allows a thousandth of the length in addition."""
    estimated = 0 if (offset, length) == (0, 1) else NEAR
    for sign in (1, -1):
        allowed = sign * (max(1, length) * bound + length * SIZE * (lost(offset) + estimated))
        for share, turns in ((0.99, True), (1.01, False)):
            paired = pair(share * allowed, bound, offset, length)
            assert paired.turn(np.full(1, OMEGA), offset, length) == turns


@pytest.mark.parametrize("bound", [0.0, 0.01, 4.0])
@pytest.mark.parametrize("length", [0.5, 1.0, 3.0])
def test_pairs_may_turn_unevenly_by_bound_and_noise(bound: float, length: float) -> None:
    allowed = 3 * max(1, length) * bound + length * SIZE * (lost(0.5) + 3e-6)
    for share, turns in ((0.99, True), (1.01, False)):
        paired = pair(share * allowed, bound, 0.5, length)
        assert paired.evenly(np.full(1, OMEGA), np.full(1, 0.5), length) == turns


def test_rounding_costs_an_angle_more_the_further_its_frequency_is_from_1() -> None:
    paired = pair(0.0, 0.0)
    for omega, growth in ((1.0, 1), (np.e, 2), (1 / np.e, 2), (-1 / np.e, 2), (0.0, 1)):
        error = paired.lost(np.full(1, -5.0), np.full(1, omega))
        assert error == pytest.approx(4 * UNIT * 5 * growth)


@pytest.mark.parametrize(("share", "alike"), [(0.7, True), (1.4, False)])
def test_rows_at_one_position_turn_alike(share: float, alike: bool) -> None:
    """Two batches that differ by more than a thousandth of the largest are no rotated pairs."""
    before = np.abs(fine((2, 12, 4)) + 2 + 1j * fine((2, 12, 4), 7))
    off = share * NEAR * before.max(axis=(0, 1)) * np.array([1, -1])[:, None, None]
    assert (read(more=off, bound=0.1) is not None) == alike
