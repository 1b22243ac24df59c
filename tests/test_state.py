"""What is kept of an earlier call is told as that, and what is not kept never is."""

from typing import Any

import numpy as np
import pytest

from posenc_conformance import claims
from posenc_lab.judging import diagnoses, failed, judge
from posenc_lab.miniatures.mistakes import Array
from tests.turning import first_lines, halves, omega

pytestmark = pytest.mark.remembered(shipped=True)


class Turning:
    """Rotary embedding whose base goes through a step."""

    def base(self, base: float) -> float:
        return base

    @claims("half")
    def rope(self, x: Array, positions: Array, *, base: float, layout: str) -> Array:
        return halves(x, np.outer(positions, omega(x.shape[-1], self.base(base))))


class KeepsTheFirst(Turning):
    """As a module that makes its frequencies once."""

    kept: float | None = None

    def base(self, base: float) -> float:
        if self.kept is None:
            self.kept = base
        return self.kept


class KeepsForSizes:
    """As a cache keyed by the number of rows and channels."""

    def __init__(self) -> None:
        self.kept: dict[Any, float] = {}

    @claims("half")
    def rope(self, x: Array, positions: Array, *, base: float, layout: str) -> Array:
        base = self.kept.setdefault(x.shape[-2:], base)
        return halves(x, np.outer(positions, omega(x.shape[-1], base)))


class HardCoded(Turning):
    """No state: one base for all."""

    def base(self, base: float) -> float:
        return 10000.0


class KeepsTheLast(Turning):
    """The base of the call before."""

    kept: float = 10000.0

    def base(self, base: float) -> float:
        before, self.kept = self.kept, base
        return before


class KeepsTheFirstPeriod:
    """Frequencies kept by their number."""

    def __init__(self) -> None:
        self.kept: dict[int, float] = {}

    @claims("adm")
    def timestep(
        self, positions: Array, dim: int, *, max_period: float, scale: float, dtype: str, **_: Any
    ) -> Array:
        period = self.kept.setdefault(dim, max_period)
        half = dim // 2
        frequencies = period ** (-np.arange(half) / half)
        angles = scale * np.outer(np.asarray(positions, np.float64), frequencies)
        odd = np.zeros((len(positions), dim % 2))
        return np.concatenate([np.cos(angles), np.sin(angles), odd], axis=1).astype(dtype)


@pytest.mark.parametrize(
    ("made", "number"),
    [(KeepsTheFirst, "base 1428.57"), (KeepsTheFirstPeriod, "max_period 1428.57")],
)
def test_what_is_kept_of_the_first_call_is_told(made: type, number: str) -> None:
    verdicts = judge(made())
    assert diagnoses(verdicts) == []
    lines = [line for line in first_lines(verdicts) if line.startswith("keeps something")]
    assert lines
    assert f"keeps something of the first call: matches {number} of that call" in lines[0]


def test_what_is_kept_for_a_size_is_no_other_base() -> None:
    verdicts = judge(KeepsForSizes())
    assert diagnoses(verdicts) == []
    said = "keeps something of the first call: matches base 1428.57 of that call"
    assert any(said in line for line in first_lines(verdicts))


def test_what_is_kept_of_the_last_call_is_no_other_base() -> None:
    verdicts = judge(KeepsTheLast())
    assert diagnoses(verdicts) == []
    assert any("earlier call" in line for line in first_lines(verdicts))


def test_one_base_for_all_is_not_told_as_kept() -> None:
    verdicts = judge(HardCoded())
    assert diagnoses(verdicts)[:1] == ["wrong-base"]
    assert not [line for line in first_lines(verdicts) if "call" in line]


def test_a_first_call_that_is_wrong_is_seen() -> None:
    """As of tables that are not yet there."""

    class Warming(Turning):
        calls = 0

        def base(self, base: float) -> float:
            self.calls += 1
            return base if self.calls > 1 else 2 * base

    verdicts = judge(Warming())
    assert failed(verdicts)
    assert diagnoses(verdicts) == []
