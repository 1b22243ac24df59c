"""Positions of sweeps, and the rows chosen from tables."""

import numpy as np
import pytest

from posenc_conformance.judge.positions import positions_up_to, rows_to_show


@pytest.mark.parametrize("largest", [1, 2, 3, 100, 4095, 4096, 2**31, 2**53])
def test_sweeps_reach_around_every_power_of_two(largest: int) -> None:
    positions = positions_up_to(largest).tolist()
    assert positions[0] == 0
    assert positions[-1] == largest
    assert positions == sorted(set(positions))
    for exponent in range(largest.bit_length()):
        near = {2**exponent - 1, 2**exponent, 2**exponent + 1}
        assert {position for position in near if position <= largest} <= set(positions)


def test_an_odd_position_lies_between_powers_of_two() -> None:
    positions = positions_up_to(2**20)
    for exponent in range(3, 20):
        low, high = 2**exponent, 2 ** (exponent + 1)
        (between,) = (position for position in positions if low + 1 < position < high - 1)
        assert between % 2 == 1
        assert low + 2**exponent / 2 < between < low + 3 * 2**exponent / 4


def test_a_sweep_has_no_more_positions_than_it_needs() -> None:
    assert positions_up_to(0).tolist() == [0]
    assert positions_up_to(8).tolist() == [0, 1, 2, 3, 4, 5, 7, 8]
    assert len(positions_up_to(2**53)) < 4 * 54


def test_every_row_of_a_short_table_is_chosen() -> None:
    for count in (0, 1, 47, 48):
        assert rows_to_show(count).tolist() == list(range(count))


@pytest.mark.parametrize("count", [49, 1000, 10**6])
def test_the_first_rows_and_the_last_of_a_long_table_are_chosen(count: int) -> None:
    rows = rows_to_show(count)
    assert rows[:24].tolist() == list(range(24))
    assert rows[-1] == count - 1
    assert len(rows) <= 48
    assert np.all(np.diff(rows) > 0)
    assert np.ptp(np.diff(rows[-4:])) <= 1  # evenly
