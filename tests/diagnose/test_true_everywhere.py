"""What is said of a wrong result holds for all of it, and if two causes fit, both are named."""

from typing import Any

import numpy as np
import pytest

from posenc_conformance import check, expected
from posenc_conformance.judge.arrays import Array, round_to

ROWS, DIM = 300, 32
PLACES = np.arange(ROWS)
X = np.random.default_rng(6).standard_normal((2, ROWS, DIM)).astype(np.float32)
GIVEN: dict[str, Any] = {"x": X, "positions": PLACES, "base": 10_000.0, "layout": "half"}


def told(result: Any, call: str, **given: Any) -> list[str]:
    with pytest.raises(AssertionError) as wrong:
        check(result, call, **given)
    return str(wrong.value).splitlines()


def waves(dim: int = DIM, places: Array = PLACES) -> tuple[Any, Any]:
    """Return cosines and sines of angles that are computed in float32, as most code does."""
    omega = np.float32(1) / np.float32(10_000) ** (np.arange(0, dim, 2, dtype=np.float32) / dim)
    angles = np.outer(places.astype(np.float32), omega.astype(np.float32))
    return np.cos(angles), np.sin(angles)


def turned(x: Array, cos: Array, sin: Array) -> Any:
    first, second = np.split(x, 2, axis=-1)
    return np.concatenate([first * cos - second * sin, first * sin + second * cos], axis=-1)


@pytest.mark.parametrize(("call", "more"), [("rope", {}), ("yarn", {"factor": 4.0})])
@pytest.mark.parametrize("first", [128, 256, 299])
def test_the_first_row_that_is_left_is_that_of_the_whole(call: str, more: Any, first: int) -> None:
    given = GIVEN | more
    if more:
        given["original_max_position_embeddings"] = 64
    result = expected(call, dtype="float32", **given)
    assert check(result, call, **given).worst <= 1
    result[:, first:] = X[:, first:]
    lines = told(result, call, **given)
    assert lines[0].endswith(f"the last rows are left as they were given, here from row {first} on")
    assert "growing" not in lines[1]


def test_a_middle_block_of_rows_is_not_called_the_last_rows() -> None:
    result = expected("rope", dtype="float32", **GIVEN)
    result[:, 100:290] = X[:, 100:290]
    assert "the last rows" not in told(result, "rope", **GIVEN)[0]


def test_a_shift_of_the_first_rows_is_not_said_of_every_row() -> None:
    result = expected("rope", dtype="float32", **GIVEN | {"positions": PLACES + 17})
    assert "17" in told(result, "rope", **GIVEN)[0]
    result[:, 270:] = expected("rope", dtype="float32", **GIVEN)[:, 270:]
    assert "every row" not in told(result, "rope", **GIVEN)[0]


def test_growth_is_said_of_wrong_values_alone() -> None:
    scaled = expected("rope", dtype="float32", rotary_dim=16, rotation="partial", **GIVEN)
    scaled[..., 16:] *= np.float32(1.1386)
    pattern = told(scaled, "rope", rotary_dim=16, rotation="partial", **GIVEN)[1]
    assert "channel 16 and later only" in pattern
    assert "growing" not in pattern


@pytest.mark.parametrize("width", [16, 24])
def test_last_channels_turned_by_ordinary_angles_are_told(width: int) -> None:
    asked = GIVEN | {"rotary_dim": width, "rotation": "partial"}
    cos, sin = waves(width)
    right = np.concatenate([turned(X[..., :width], cos, sin), X[..., width:]], axis=-1)
    assert check(right, "rope", **asked).worst <= 1
    last = np.concatenate([X[..., :-width], turned(X[..., -width:], cos, sin)], axis=-1)
    words = "the last channels are turned in place of the first ones"
    assert words in told(last, "rope", **asked)[0]


@pytest.mark.parametrize("words", ["cosines and sines", "cosines alone are", "sines alone are"])
@pytest.mark.parametrize("short", ["float16", "bfloat16"])
def test_short_tables_of_ordinary_angles_are_told(short: str, words: str) -> None:
    x, places = X[:1, :64], PLACES[:64]
    given = GIVEN | {"x": x, "positions": places}
    cos, sin = waves(places=places)
    assert check(turned(x, cos, sin), "rope", **given).worst <= 1
    cos = cos if words.startswith("sines") else round_to(cos, short).astype(np.float32)
    sin = sin if words.startswith("cosines alone") else round_to(sin, short).astype(np.float32)
    assert f": {words} in {short}" in told(turned(x, cos, sin), "rope", **given)[0]


@pytest.mark.parametrize("keys", [40, 300])
def test_a_decoded_query_at_0_is_no_opposite_sign(keys: int) -> None:
    table = np.random.default_rng(0).standard_normal((32, 3)).astype(np.float32)
    given: dict[str, Any] = {"table": table, "max_distance": 128, "direction": "causal"}
    right = expected("t5_bias", dtype="float32", q_len=keys, k_len=keys, **given)
    asked = given | {"q_len": 1, "k_len": keys}
    assert check(right[:, -1:], "t5_bias", **asked).worst <= 1
    lines = told(right[:, :1], "t5_bias", **asked)
    assert lines[0].startswith("matches a single query that stands at position 0")
    assert lines[1] == "or         matches distances of the opposite sign (query minus key)"
    opposite = np.flip(right, axis=(1, 2))
    several = given | {"q_len": keys, "k_len": keys}
    assert "[bias-sign-flipped;" in told(opposite, "t5_bias", **several)[0]


def test_a_bias_of_zeros_is_told() -> None:
    sizes = {"heads": 8, "q_len": 9, "k_len": 9}
    assert "every value is 0" in told(np.zeros((8, 9, 9), np.float32), "alibi_bias", **sizes)[0]


def test_both_causes_are_told_where_they_give_the_same() -> None:
    given = GIVEN | {"scale_base": 1024.0, "downscale": 1}
    lines = told(
        expected("xpos", dtype="float32", **given | {"scale_base": 512.0}), "xpos", **given
    )
    assert {"matches the square of the scale", "matches scale_base 512"} <= {
        line.removeprefix("or ").strip().partition(" [")[0] for line in lines[:2]
    }
    others = given | {"scale_base": 300.0}
    lines = told(expected("xpos", dtype="float32", **given), "xpos", **others)
    assert "matches scale_base 1024" in lines[0]
    assert not lines[1].startswith("or")


def test_sequences_that_start_at_0_are_told_beside_the_first_ones_offset() -> None:
    edges = [0, 7, 20, 25]
    given: dict[str, Any] = {
        "x": X[:, :25],
        "cu_seqlens": edges,
        "base": 10_000.0,
        "layout": "half",
    }
    for first in (0, 3):
        asked = given | {"offsets": [first, 100, 7]}
        result = expected("rope_packed", dtype="float32", **given, offsets=[0, 0, 0])
        lines = told(result, "rope_packed", **asked)
        both = "\n".join(lines[:2])
        assert "sequences that all start at position 0" in both
        assert ("the first sequence's offset for all" in both) == (first == 0)


@pytest.mark.parametrize("call", ["dynamic_ntk_frequencies", "dynamic_ntk"])
@pytest.mark.parametrize("power", ["d/(d-2)", "d/(d-1)", "1.05"])
def test_another_power_of_the_stretch_is_no_other_base(call: str, power: str) -> None:
    d = 64
    scaling = {"factor": 4.0, "original_max_position_embeddings": 2048, "length": 3600}
    exponent = {"d/(d-2)": d / (d - 2), "d/(d-1)": d / (d - 1), "1.05": 1.05}[power]
    base = 10_000.0 * (4 * 3600 / 2048 - 3) ** exponent
    given: dict[str, Any] = {"rotary_dim": d, "base": 10_000.0, **scaling}
    result = base ** -(np.arange(0, d, 2) / d)
    if call == "dynamic_ntk":
        x = np.random.default_rng(1).standard_normal((1, 9, d))
        given = {"x": x, "positions": np.arange(9), "base": 10_000.0, "layout": "half", **scaling}
        result = expected("rope", x=x, positions=np.arange(9), base=base, layout="half")
    if power == "d/(d-2)":
        assert check(result, call, **given).worst <= 1
        return
    first = told(result, call, **given)[0]
    assert "wrong-base" not in first
    assert ("power d/(d-1) in place" in first) == (power == "d/(d-1)")
    if power == "d/(d-2)":
        assert "where base 10000 and factor 4 is given" in first
