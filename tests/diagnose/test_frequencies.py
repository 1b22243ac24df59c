"""Frequencies, offset and length are read from pairs that turn, and from nothing else."""

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
    scheme = next(each for each in schemes() if each.id == "rope")
    call = scheme.calls["rope"]
    given = {"x": np.ones((12, 8)), "positions": np.arange(12), "base": 10000.0}
    return Case(scheme, call, call.combinations["half"].conventions, given, dtype)


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
    """What is read of pairs that turn like this."""
    before = fine((2, len(places), 4)) + 2 + 1j * fine((2, len(places), 4), 7)
    angles = np.multiply.outer(places, np.asarray(frequencies)) + offset
    after = length * before * np.exp(1j * angles) + more
    shape = np.full(after.shape, bound)
    return fit_frequencies(case(dtype), (before, after), places[:, None], ASKED, shape, **options)


def only(found: list[PairFrequencies] | None) -> PairFrequencies:
    assert found is not None
    (one,) = found
    return one


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
def test_what_float32_loses_of_an_angle_is_no_difference(dtype: str, same: bool) -> None:
    """At position 11 a tenth of a millionth of the frequency is more than a millionth radian."""
    turns = only(read(dtype=dtype))
    assert turns.are(ASKED * (1 + 1e-7)) == same
    assert not turns.are(ASKED * (1 + 1e-6))


def test_whole_turns_between_two_rows_are_lost_and_that_is_known() -> None:
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
    """It is read from rows that lie further away by what a frequency is uncertain by."""
    places, least = PLACES + first, NEAR * (1 + first)
    assert only(read(offset=0.95 * least, places=places)).offset == 0
    assert only(read(offset=1.05 * least, places=places)).offset == pytest.approx(1.05 * least)
    last = np.array([0, 0, 0, 4 / 3])  # of which a quarter is the mean
    assert only(read(offset=0.95 * least * last, places=places))
    assert read(offset=1.05 * least * last, places=places) is None
    assert only(read(offset=0.1 * least, places=-places)).first == first


@pytest.mark.parametrize("length", [0.25, 1.0, 4.0])
@pytest.mark.parametrize("shape", [(4,), (12, 1)])
def test_lengths_are_one_to_a_thousandth(length: float, shape: tuple[int, ...]) -> None:
    """Of all pairs, and of each in all rows, however little a result must be right."""
    one = np.zeros(shape)
    one[2] = NEAR
    found = only(read(length=length * (1 - 0.95 * one), bound=0.1))
    assert found.length == pytest.approx(length, rel=NEAR)
    assert read(length=length * (1 - 1.05 * one), bound=0.1) is None


@pytest.mark.parametrize(("length", "read_as"), [(0.95, 1.0), (1.05, 1 + 1.05 * NEAR)])
def test_a_length_that_is_nearly_right_is_right(length: float, read_as: float) -> None:
    assert only(read(length=1 + length * NEAR)).length == pytest.approx(read_as, rel=1e-9)


def test_what_stays_at_one_place_cannot_be_read() -> None:
    assert read(places=np.full(12, 3.0)) == []


def test_axes_are_progressions_of_their_own() -> None:
    first, second = read(axis=np.array([0, 0, 1, 1])) or []
    assert first.frequencies == pytest.approx(ASKED[:2])
    assert second.frequencies == pytest.approx(ASKED[2:])
    assert first.numbers.tolist() == second.numbers.tolist() == [0, 1]
    assert first.dim == second.dim == 4
    assert first.of_axis
    assert not only(read()).of_axis
    assert only(read(dim=10)).dim == 10


def test_frequencies_that_are_given_are_compared_as_they_are() -> None:
    turns = PairFrequencies(np.arange(4.0), ASKED, ASKED, 8, {"base": 10000.0})
    assert turns.are(ASKED * (1 + 5e-6))
    assert not turns.are(ASKED * (1 + 5e-5))
    assert turns.near(ASKED * (1 + 5e-4))
    assert not turns.near(ASKED * (1 + 5e-3))
    assert turns.plain == pytest.approx(ASKED)
    assert not turns.aliased(np.array([100.0]))
    assert turns.above_noise(ASKED).all()


def test_what_is_uncertain_is_no_difference() -> None:
    turns = PairFrequencies(np.arange(4.0), ASKED, ASKED, 8, {}, noise=1e-4)
    assert turns.near(ASKED + 9e-5)
    assert not turns.near(ASKED + 2e-3)
    assert turns.above_noise(np.array([0.2, -0.2, 0.05, 0])).tolist() == [True, True, False, False]
    assert turns.base == 10000


def test_pairs_that_seem_to_turn_much_faster_are_blurred() -> None:
    turns = only(read())
    assert not turns.aliased(np.array([16.0, -16, 1]))
    assert turns.aliased(np.array([1, 16.1]))
    assert turns.aliased(np.array([-16.1, 1]))


OMEGA, PLACE, SIZE, UNIT = 0.1, 100.0, 2.0, 1e-6


def lost(offset: float) -> float:
    """What rounding may cost the angle at that place."""
    return float(4 * UNIT * (OMEGA * PLACE + offset) * (1 - np.log(OMEGA)))


def pair(error: float, bound: float, offset: float = 0.0, length: float = 1.0) -> Paired:
    """One that turns, and is off by an error along its length."""
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
def test_pairs_turn_as_far_as_bound_and_rounding_say(
    bound: float, length: float, offset: float
) -> None:
    """What was estimated says no more than a thousandth of the length."""
    estimated = 0 if (offset, length) == (0, 1) else NEAR
    for sign in (1, -1):
        allowed = sign * (max(1, length) * bound + length * SIZE * (lost(offset) + estimated))
        for share, turns in ((0.99, True), (1.01, False)):
            found = pair(share * allowed, bound, offset, length)
            assert found.turn(np.full(1, OMEGA), offset, length) == turns


@pytest.mark.parametrize("bound", [0.0, 0.01, 4.0])
@pytest.mark.parametrize("length", [0.5, 1.0, 3.0])
def test_pairs_turn_evenly_as_far_as_bound_and_noise_say(bound: float, length: float) -> None:
    allowed = 3 * max(1, length) * bound + length * SIZE * (lost(0.5) + 3e-6)
    for share, turns in ((0.99, True), (1.01, False)):
        found = pair(share * allowed, bound, 0.5, length)
        assert found.evenly(np.full(1, OMEGA), np.full(1, 0.5), length) == turns


def test_rounding_costs_an_angle_more_the_further_its_frequency_is_from_1() -> None:
    one = pair(0.0, 0.0)
    for omega, growth in ((1.0, 1), (np.e, 2), (1 / np.e, 2), (-1 / np.e, 2), (0.0, 1)):
        found = one.lost(np.full(1, -5.0), np.full(1, omega))
        assert found == pytest.approx(4 * UNIT * 5 * growth)


@pytest.mark.parametrize(("share", "alike"), [(0.7, True), (1.4, False)])
def test_rows_of_one_place_turn_alike(share: float, alike: bool) -> None:
    """Two batches that differ by more than a thousandth of the largest are no pairs that turn."""
    before = np.abs(fine((2, 12, 4)) + 2 + 1j * fine((2, 12, 4), 7))
    off = share * NEAR * before.max(axis=(0, 1)) * np.array([1, -1])[:, None, None]
    assert (read(more=off, bound=0.1) is not None) == alike
