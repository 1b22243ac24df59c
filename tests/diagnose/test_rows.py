"""Right formula, wrong positions: they are recovered from the rows of the result."""

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
FAR = np.array([8, 32768, 131034, 131071])
Answer = tuple[Case, Floats]


def turned(
    positions: Any, used: Any, *, dim: int = 16, dtype: str = "float64", kind: Any = np.float64
) -> Answer:
    """Return a case of RoPE at ``positions``, and its result at the positions ``used``."""
    scheme = next(candidate for candidate in schemes() if candidate.id == "rope")
    call = scheme.calls["rope"]
    arguments = {"x": fine((2, len(positions), dim)) + 1, "positions": positions, "base": 10000.0}
    case = Case(scheme, call, call.combinations["half"].conventions, arguments, dtype)
    output = halves(arguments["x"], np.outer(used, omega(dim, 10000.0)))
    return case, np.asarray(output.astype(kind).astype(np.float64))


@pytest.mark.parametrize(
    ("positions", "used", "words"),
    [
        (CACHED, np.concatenate([np.arange(6), np.arange(6)]), "restart at 0 in each stretch"),
        (ODD, np.arange(6), "rows stand at 0, 1, 2, …: positions"),
        (ODD, np.full(6, 7), "every row has the position of the first one"),
        (ODD, np.zeros(6, int), "nothing is rotated"),
        (FAR, FAR % 65536, "restart at 0 after every 65536"),
        (FAR, np.minimum(FAR, 65535), "positions beyond 65535 are taken for 65535"),
        (
            np.array([3, 1023, 4095, 5]),
            np.array([3, 1023, 1023, 5]),
            "restart at 0 after every 1024, or positions beyond 1023 are taken for 1023",
        ),
        (ODD, np.sort(ODD), "sorted"),
        (PROMPT, PROMPT[::-1], "in reverse"),
        (CACHED, np.minimum(CACHED, 102), "positions beyond 102 are taken for 102"),
        (PROMPT, np.where(PROMPT == 5, 6, PROMPT), "rows stand at 6; asked for 5"),
    ],
)
def test_the_positions_of_rows_are_described(positions: Any, used: Any, words: str) -> None:
    answer = turned(positions, used)
    rows = read_rows(*answer)
    assert rows is not None
    assert np.array_equal(rows, np.broadcast_to(used, rows.shape))
    assert words in describe_rows([answer])


def looked_up(positions: Any, used: Any, period: int) -> Answer:
    """Return a case of a learned table whose rows repeat, and its result at ``used``."""
    scheme = next(candidate for candidate in schemes() if candidate.id == "learned")
    call = scheme.calls["learned"]
    table = np.resize(np.random.default_rng(1).standard_normal((period, 3)), (2048, 3))
    arguments = {"positions": np.asarray(positions), "table": table}
    case = Case(scheme, call, call.combinations["plain"].conventions, arguments, "float64")
    return case, table[np.asarray(used)]


@pytest.mark.parametrize("period", [126, 2048])
def test_a_row_that_repeats_is_not_taken_for_an_equal_one(period: int) -> None:
    """With a period of 126, row 253 is row 127 too, and row 252 is row 0."""
    for asked in ([2045, 2046, 2047], [252, 253, 254, 255, 256]):
        words = describe_rows([looked_up(asked, np.array(asked) % 256, period)])
        assert words == "positions restart at 0 after every 256"


def test_a_distance_is_told_only_if_one_row_fits() -> None:
    asked = np.array([40, 41, 42, 50])
    assert describe_rows([looked_up(asked, asked + 5, 2048)]) == (
        "every row stands 5 later than it should"
    )
    assert describe_rows([looked_up(asked, asked + 5, 8)]) == ""


def test_positions_are_described_in_a_narrow_dtype() -> None:
    case, output = turned(CACHED, np.r_[0:6, 0:6], dim=64, dtype="float32", kind=np.float32)
    assert "restart at 0" in describe_rows([(case, output)])


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
def test_results_without_wrong_positions_are_not_described(change: Callable[..., Floats]) -> None:
    case, output = turned(PROMPT, PROMPT)
    assert describe_rows([(case, change(case, output))]) == ""


def test_a_description_holds_for_all_answers() -> None:
    """One answer counts from 0 in each stretch, the other counts rows."""
    first = turned(CACHED, np.r_[0:6, 0:6])
    second = turned(np.r_[0:6, 50:56], np.arange(12))
    text = describe_rows([first, second])
    assert "again" not in text
    assert "are ignored" not in text
    assert text.startswith("rows stand at")


def test_few_rows_are_not_described() -> None:
    assert describe_rows([turned(np.array([5, 6]), np.array([0, 1]))]) == ""
    assert describe_rows([]) == ""


def test_the_positions_of_rows_of_a_table_are_described() -> None:
    scheme = next(candidate for candidate in schemes() if candidate.id == "sinusoidal")
    call = scheme.calls["sinusoidal"]
    arguments = {"positions": ODD, "dim": 8, "base": 10000.0}
    case = Case(scheme, call, call.combinations["paper"].conventions, arguments, "float64")
    other = case.with_arguments(positions=np.arange(6))
    assert "rows stand at 0, 1, 2, …: positions" in describe_rows([(case, np.asarray(other.truth))])


def kernel(name: str, used: Any, **given: Any) -> Answer:
    """Return a case of a kernel, and its result at the positions ``used``."""
    scheme = next(candidate for candidate in schemes() if candidate.id == "rope-kernel")
    call = scheme.calls[name]
    conventions = next(iter(call.combinations.values())).conventions
    case = Case(scheme, call, conventions, {**given, "base": 10000.0}, "float64")
    x = given["x"]
    places = np.broadcast_to(used, x.shape[:-1])
    angles = places[..., None] * omega(x.shape[-1], 10000.0)
    return case, np.asarray(halves(x, angles))


HEADS = np.arange(3)[:, None]
X = fine((2, 3, 5, 16)) + 1
TWO = np.array([[16, 17, 18, 19, 20], [40, 41, 42, 43, 44]])
PACKED = np.array([0, 1, 2, 0, 1])


@pytest.mark.parametrize(
    ("name", "given", "used", "words"),
    [
        (
            "rope_batched",
            {"positions": TWO},
            TWO[0],
            "every sequence has the positions of the first one",
        ),
        ("rope_batched", {"positions": TWO}, np.arange(5), "rows stand at 0, 1, 2, …: positions"),
        ("rope_batched", {"positions": TWO}, HEADS, "at the number of its head"),
        ("rope_batched", {"positions": TWO}, TWO[:, None] + HEADS, "one later than the one before"),
        ("rope_batched", {"positions": TWO}, TWO[:, None] - 7, "stands 7 earlier than it should"),
        (
            "rope_offsets",
            {"offsets": TWO[:, 0]},
            np.arange(5),
            "rows stand at 0, 1, 2, …: positions",
        ),
        (
            "rope_offsets",
            {"offsets": TWO[:, 0]},
            TWO[0],
            "every sequence has the positions of the first one",
        ),
        (
            "rope_batched",
            {"positions": TWO},
            np.where(HEADS == 1, TWO[:, None] // 2, TWO[:, None]),
            "at leading index (0, 1), rows stand at 8, 8, 9, 9, 10; asked for 16, 17, 18, 19, 20",
        ),
        (
            "rope_batched",
            {"positions": TWO},
            np.where(np.arange(5) % 2, 0, TWO[:, None]),
            "rows stand at 0, 0; asked for 17, 19",
        ),
    ],
)
def test_the_positions_of_rows_of_kernels_are_described(
    name: str, given: dict[str, Any], used: Any, words: str
) -> None:
    assert words in describe_rows([kernel(name, used, x=X, **given)])


def test_rows_of_many_sequences_are_read() -> None:
    where = 100 * np.arange(1, 7)[:, None] + np.arange(5)
    x = fine((6, 2, 5, 16)) + 1
    answer = kernel("rope_batched", where[:, None] + 5, x=x, positions=where)
    assert "5 later" in describe_rows([answer])


def test_packed_rows_that_do_not_restart_are_described() -> None:
    arguments = {"x": X[0], "cu_seqlens": np.array([0, 3, 5]), "offsets": np.array([0, 0])}
    assert describe_rows([kernel("rope_packed", PACKED, **arguments)]) == ""  # which is right
    assert "rows stand at 0, 1, 2, …: positions" in describe_rows(
        [kernel("rope_packed", np.arange(5), **arguments)]
    )
