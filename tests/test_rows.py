"""Right formula, wrong positions: where rows stand is read from the result."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from posenc_conformance.diagnose.rows import describe_rows, read_rows
from posenc_conformance.judge.arrays import Floats, fine
from posenc_conformance.judge.case import Case
from posenc_lab.judging import schemes
from tests.turning import halves, omega

PROMPT = np.arange(12)
CACHED = np.concatenate([np.arange(6), 100 + np.arange(6)])
ODD = np.array([7, 3, 3, 40, 0, 9])
Answer = tuple[Case, Floats]


def turned(
    positions: Any, used: Any, *, dim: int = 16, dtype: str = "float64", kind: Any = np.float64
) -> Answer:
    """RoPE at positions other than those that are asked for."""
    scheme = next(each for each in schemes() if each.id == "rope")
    call = scheme.calls["rope"]
    given = {"x": fine((2, len(positions), dim)) + 1, "positions": positions, "base": 10000.0}
    case = Case(scheme, call, call.combinations["half"].conventions, given, dtype)
    output = halves(given["x"], np.outer(used, omega(dim, 10000.0)))
    return case, np.asarray(output.astype(kind).astype(np.float64))


@pytest.mark.parametrize(
    ("positions", "used", "words"),
    [
        (CACHED, np.concatenate([np.arange(6), np.arange(6)]), "begin at 0 again in each stretch"),
        (ODD, np.arange(6), "by their numbers"),
        (ODD, np.full(6, 7), "where the first one should"),
        (ODD, np.zeros(6, int), "position 0"),
        (ODD, np.sort(ODD), "put in order"),
        (PROMPT, PROMPT[::-1], "in reverse"),
        (CACHED, np.minimum(CACHED, 102), "positions beyond 102 are taken for 102"),
        (PROMPT, np.where(PROMPT == 5, 6, PROMPT), "rows stand at 6; asked for 5"),
    ],
)
def test_where_rows_stand_is_told(positions: Any, used: Any, words: str) -> None:
    answer = turned(positions, used)
    rows = read_rows(*answer)
    assert rows is not None
    assert rows.tolist() == used.tolist()
    assert words in describe_rows([answer])


def test_in_a_short_dtype_too() -> None:
    case, output = turned(CACHED, np.r_[0:6, 0:6], dim=64, dtype="float32", kind=np.float32)
    assert "again" in describe_rows([(case, output)])


@pytest.mark.parametrize(
    "change",
    [
        lambda case, output: output,
        lambda case, output: output + 0.1,
        lambda case, output: np.where(output == output.max(), np.nan, output),
        lambda case, output: output[..., ::-1],
    ],
    ids=["right", "another error", "nan", "another layout"],
)
def test_nothing_is_told_of_rows_that_stand_nowhere(change: Callable[..., Floats]) -> None:
    case, output = turned(PROMPT, PROMPT)
    assert describe_rows([(case, change(case, output))]) == ""


def test_words_hold_for_all_answers() -> None:
    """Of two answers, one counts from 0 in each stretch, and the other by rows."""
    first = turned(CACHED, np.r_[0:6, 0:6])
    second = turned(np.r_[0:6, 50:56], np.arange(12))
    said = describe_rows([first, second])
    assert "again" not in said
    assert "by their numbers" not in said
    assert said.startswith("rows stand at")


def test_few_rows_tell_nothing() -> None:
    assert describe_rows([turned(np.array([5, 6]), np.array([0, 1]))]) == ""
    assert describe_rows([]) == ""


def test_rows_of_a_table_stand_somewhere_too() -> None:
    scheme = next(each for each in schemes() if each.id == "sinusoidal")
    call = scheme.calls["sinusoidal"]
    given = {"positions": ODD, "dim": 8, "base": 10000.0}
    case = Case(scheme, call, call.combinations["paper"].conventions, given, "float64")
    other = case.with_arguments(positions=np.arange(6))
    assert "by their numbers" in describe_rows([(case, np.asarray(other.truth))])
