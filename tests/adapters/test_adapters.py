import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from posenc_conformance.adapters import (
    by_heads,
    headed,
    in_sequence,
    in_stretches,
    once,
    rows_of,
    span,
)
from posenc_conformance.adapters.claims import claims_on
from posenc_conformance.adapters.find import load_adapter
from posenc_conformance.errors import UserError

POSITIONS = np.array([3, 0, 3, 7, 4, 3])


def rows(*leading: int) -> Any:
    shape = (*leading, len(POSITIONS), 2)
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def plus_positions(x: Any, first: int = 0) -> Any:
    return x + np.arange(first, first + x.shape[-2], dtype=x.dtype)[:, None]


def test_helpers_import_no_framework() -> None:
    code = (
        "import sys, posenc_conformance.adapters.torch, posenc_conformance.adapters.jax; "
        "assert not {'torch', 'jax'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


class TestOnce:
    def test_the_same_parameters_give_the_same_thing(self) -> None:
        make = once(lambda *arguments, **parameters: object())
        factors = np.array([1.0, 2.0])
        first = make(64, base=1e4, factors=factors, rope={"kind": "yarn", "ends": [1, 2]})
        again = make(64, base=1e4, factors=factors.copy(), rope={"ends": [1, 2], "kind": "yarn"})
        assert first is again

    @pytest.mark.parametrize(
        "other", [[1, 3], (1, 2), [1.0, 2], np.array([1, 2]), {"a": 1}, None, [True, 2]]
    )
    def test_other_parameters_give_another(self, other: Any) -> None:
        make = once(lambda value: object())
        assert make([1, 2]) is not make(other)

    def test_it_keeps_the_most_recently_used(self) -> None:
        make = once(lambda value: object(), size=2)
        recent, dropped = make(1), make(2)
        make(1)
        make(3)
        assert make(1) is recent
        assert make(2) is not dropped


class TestByHeads:
    @pytest.mark.parametrize(
        ("form", "expected"),
        [("bhnd", (1, 6, 6, 2)), ("bnhd", (1, 6, 6, 2)), ("hnd", (6, 6, 2))],
    )
    def test_the_function_sees_heads(self, form: str, expected: tuple[int, ...]) -> None:
        seen = []
        x = rows(2, 3)

        def double(heads: Any) -> Any:
            seen.append(heads)
            return 2 * heads

        np.testing.assert_array_equal(by_heads(double, x, form=form), 2 * x)
        assert seen[0].shape == expected
        head_4 = seen[0][0, :, 4] if form == "bnhd" else seen[0].reshape(6, 6, 2)[4]
        np.testing.assert_array_equal(head_4, x[1, 1])

    @pytest.mark.parametrize("form", ["bhnd", "bnhd", "hnd"])
    @pytest.mark.parametrize("leading", [(), (1,), (2, 0), (5, 1, 2)])
    def test_any_leading_axes(self, leading: tuple[int, ...], form: str) -> None:
        x = rows(*leading)
        np.testing.assert_array_equal(by_heads(lambda heads: -heads, x, form=form), -x)

    def test_queries_keys_and_values(self) -> None:
        q, k, v = np.ones((2, 4, 3)), np.ones((2, 5, 3)), np.ones((2, 5, 7))
        result = by_heads(lambda q, k, v: q @ k.swapaxes(-1, -2) @ v, q, k, v)
        np.testing.assert_array_equal(result, np.full((2, 4, 7), 15.0))

    def test_an_unknown_form_is_refused(self) -> None:
        with pytest.raises(ValueError, match="nhbd"):
            headed(rows(), "nhbd")


class TestInSequence:
    @pytest.mark.parametrize("leading", [(), (2, 3)])
    def test_rows_are_placed_at_their_positions(self, leading: tuple[int, ...]) -> None:
        x = rows(*leading)
        expected = x + POSITIONS[:, None].astype(np.float32)
        np.testing.assert_array_equal(in_sequence(plus_positions, x, POSITIONS), expected)

    def test_a_repeated_position_takes_another_call(self) -> None:
        seen: list[Any] = []

        def keep(sequence: Any) -> Any:
            seen.append(sequence)
            return sequence

        in_sequence(keep, rows(), POSITIONS)
        assert [array.shape for array in seen] == [(8, 2)] * 3
        np.testing.assert_array_equal(seen[0][[3, 0, 7, 4]], rows()[[0, 1, 3, 4]])
        np.testing.assert_array_equal(seen[0][[1, 2, 5, 6]], 0)
        np.testing.assert_array_equal(seen[2][3], rows()[5])

    def test_no_positions_give_an_empty_sequence(self) -> None:
        seen: list[tuple[int, ...]] = []

        def keep(sequence: Any) -> Any:
            seen.append(sequence.shape)
            return sequence

        assert in_sequence(keep, rows(3)[:, :0], POSITIONS[:0]).shape == (3, 0, 2)
        assert seen == [(3, 0, 2)]

    def test_a_sequence_may_be_longer(self) -> None:
        seen: list[int] = []

        def keep(sequence: Any) -> Any:
            seen.append(len(sequence))
            return plus_positions(sequence)

        result = in_sequence(keep, rows(), POSITIONS, length=64)
        assert set(seen) == {64}
        np.testing.assert_array_equal(result, rows() + POSITIONS[:, None].astype(np.float32))

    def test_a_position_too_large_for_a_sequence_is_refused(self) -> None:
        with pytest.raises(ValueError, match="max_position"):
            in_sequence(plus_positions, rows()[:1], np.array([2**31]))


def test_each_run_of_consecutive_positions_is_one_call() -> None:
    seen: list[tuple[int, int]] = []
    positions, x = np.array([5, 6, 7, 2, 9, 10]), rows()

    def turn(x: Any, first: int) -> Any:
        seen.append((first, len(x)))
        return plus_positions(x, first)

    np.testing.assert_array_equal(in_stretches(turn, x, positions), x + positions[:, None])
    assert seen == [(5, 3), (2, 1), (9, 2)]
    assert in_stretches(turn, x[:0], positions[:0]).shape == (0, 2)


def test_rows_of_a_table() -> None:
    lengths = []

    def table(length: int) -> Any:
        lengths.append(length)
        return np.arange(length)[:, None]

    np.testing.assert_array_equal(rows_of(table, POSITIONS), POSITIONS[:, None])
    np.testing.assert_array_equal(rows_of(table, POSITIONS, length=20), POSITIONS[:, None])
    assert rows_of(table, POSITIONS[:0]).shape == (0, 1)
    assert lengths == [8, 20, 0]


@pytest.mark.parametrize(
    ("positions", "exact", "power"),
    [([], 0, 64), ([0], 1, 64), ([63], 64, 64), ([64], 65, 128), ([5, 127], 128, 128)],
)
def test_span(positions: list[int], exact: int, power: int) -> None:
    at = np.array(positions, np.int64)
    assert (span(at), span(at, power_of_two=True)) == (exact, power)


READY = """
from types import SimpleNamespace
from posenc_conformance import adapters
settings = SimpleNamespace(heads=4)
def causal(q_len, k_len):
    return [[j <= i + k_len - q_len for j in range(k_len)] for i in range(q_len)]
Adapter = adapters.mask(causal)
"""


def test_an_adapter_of_one_line_is_found_in_its_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(READY)
    assert claims_on(load_adapter(str(path)).adapter).keys() == {"causal_mask"}
    path.write_text(READY + "Other = adapters.mask(causal, call='sliding_window')\n")
    with pytest.raises(UserError) as raised:
        load_adapter(str(path))
    assert f"{path}:Adapter or {path}:Other" in raised.value.hint
