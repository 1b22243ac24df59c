"""The explorer's answers, through Node, to pasted numbers of the reference."""

import json
import math
import re
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import posenc
from posenc_conformance.registry import load_all
from tests.site.explorer import EXPLORER, identified

pytestmark = pytest.mark.remembered(shipped=True, also=EXPLORER)

COMBINATIONS: dict[str, dict[str, Any]] = {
    name: dict(combination.conventions)
    for scheme in load_all()
    if scheme.id == "sinusoidal"
    for name, combination in scheme.calls["sinusoidal"].combinations.items()
}


def printed(rows: Any, decimals: int, separator: str = ", ") -> str:
    lines = (separator.join(f"{value:.{decimals}f}" for value in row) for row in rows)
    return "\n".join(lines)


def names(answer: Any, call: str) -> set[str]:
    return {match["combination"] for match in answer["matches"] if match["call"] == call}


def same_numbers(rows: Any, place: int, decimals: int) -> set[str]:
    """Return the combinations that have these numbers in the row at the same place."""
    result = set()
    for name, conventions in COMBINATIONS.items():
        token = place - int(conventions["first_position"])
        if token >= 0:
            other = posenc.sinusoidal([token], rows.shape[1], **conventions)
            if np.abs(other - rows).max() < 10.0**-decimals:
                result.add(name)
    return result


@pytest.mark.parametrize("decimals", [8, 4])
@pytest.mark.parametrize("name", COMBINATIONS)
def test_a_row_of_every_combination_is_named(
    page_schemes: list[Any], name: str, decimals: int
) -> None:
    conventions = COMBINATIONS[name]
    cases = [(3, 16), (100, 64), (4095, 512)]
    rows = [posenc.sinusoidal([token], dim, **conventions) for token, dim in cases]
    answers = identified(page_schemes, *(printed(row, decimals) for row in rows))
    for (token, _), row, answer in zip(cases, rows, answers, strict=True):
        place = token + int(conventions["first_position"])
        expected = same_numbers(row, place, decimals)
        assert name in expected
        assert names(answer, "sinusoidal") == expected
        (own,) = [
            match
            for match in answer["matches"]
            if (match["call"], match["combination"]) == ("sinusoidal", name)
        ]
        assert own["where"].startswith(f"position {token},")
        assert re.search(r"base 10000\b", own["where"])
        assert own["mistake"] is None
        assert own["residual"] <= 0.5000001 * 10.0**-decimals


def test_combinations_with_different_numbers_are_told_apart(page_schemes: list[Any]) -> None:
    row = posenc.sinusoidal([7], 64, layout="sin-cos")
    (answer,) = identified(page_schemes, printed(row, 4))
    assert names(answer, "sinusoidal") == {"concat"}


def test_several_rows_another_base_and_an_odd_dim_are_named(page_schemes: list[Any]) -> None:
    several = printed(posenc.sinusoidal(range(5, 9), 32), 6, "\t")
    base = printed(posenc.sinusoidal([9], 64, base=500000.0), 6)
    odd = printed(posenc.sinusoidal([9], 33, odd_dim="cut"), 6)
    wheres = [
        answer["matches"][0]["where"] for answer in identified(page_schemes, several, base, odd)
    ]
    assert wheres == [
        "positions 5 to 8, base 10000",
        "position 9, base 500000",
        "position 9, base 10000, odd_dim cut",
    ]


def test_truncated_numbers_are_named(page_schemes: list[Any]) -> None:
    row = posenc.sinusoidal([1], 16)
    cut = " ".join(f"{math.trunc(value * 1e4) / 1e4:.4f}" for value in row[0])
    (answer,) = identified(page_schemes, cut)
    assert names(answer, "sinusoidal") == {"paper"}


def test_the_prints_of_libraries_are_read(page_schemes: list[Any]) -> None:
    table = posenc.sinusoidal(range(3), 24, dtype=np.float32)
    rows = ",\n        ".join(f"[{', '.join(f'{v: .4f}' for v in row)}]" for row in table)
    texts = [str(table), repr(table), f"tensor([{rows}], dtype=torch.float32)", str(table.tolist())]
    for text, answer in zip(texts, identified(page_schemes, *texts), strict=True):
        assert names(answer, "sinusoidal") == {"paper"}, text


def test_other_schemes_are_named(page_schemes: list[Any]) -> None:
    def line(values: npt.ArrayLike) -> str:
        return " ".join(map(repr, np.asarray(values).tolist()))

    bias = posenc.alibi_bias(8, 4, 6)[2]
    texts = {
        "alibi_slopes": line(posenc.alibi_slopes(12)),
        "alibi_bias": "\n".join(map(line, bias)),
        "t5_bucket": line(posenc.t5_bucket(np.arange(-20, 21))),
        "binary": line(posenc.binary([13], 8)[0]),
        "normalized": "\n".join(map(line, posenc.normalized(7, 2))),
        "integer": "17 17 17",
        "timestep": printed(posenc.timestep([999], 32, frequency_shift=0), 6),
        "sincos_2d": printed(posenc.sincos_2d(4, 6, 32), 6),
        "llama3_frequencies": line(
            posenc.llama3_frequencies(
                128,
                factor=8.0,
                low_freq_factor=1.0,
                high_freq_factor=4.0,
                original_max_position_embeddings=8192,
                dtype=np.float32,
            )
        ),
        "deberta_bucket": line(posenc.deberta_bucket(np.arange(-300, 300))),
    }
    for call, answer in zip(texts, identified(page_schemes, *texts.values()), strict=True):
        assert call in {match["call"] for match in answer["matches"]}, (call, answer)


def test_noise_is_not_named_and_the_nearest_is_reported(page_schemes: list[Any]) -> None:
    noise = np.random.default_rng(0).uniform(-1, 1, size=(3, 1, 64))
    for row, answer in zip(
        noise, identified(page_schemes, *(printed(row, 4) for row in noise)), strict=True
    ):
        assert answer["matches"] == []
        assert 0.3 < answer["nearest"]["residual"] < 2, row


def test_one_wrong_number_is_not_overlooked(page_schemes: list[Any]) -> None:
    row = posenc.sinusoidal([40], 64)
    row[0, 20] += 0.001
    (answer,) = identified(page_schemes, printed(row, 4))
    assert answer["matches"] == []
    nearest = answer["nearest"]
    assert (nearest["call"], nearest["combination"]) == ("sinusoidal", "paper")
    assert nearest["where"] == "position 40, base 10000"
    assert nearest["residual"] == pytest.approx(0.001, abs=0.0001)


def test_wrong_angles_are_named_as_such(page_schemes: list[Any]) -> None:
    degrees = printed(posenc.sinusoidal(np.deg2rad([50.0]), 64), 6)
    negative = printed(posenc.sinusoidal([-50], 64), 6)
    answers = identified(page_schemes, degrees, negative)
    for answer, mistake in zip(
        answers, ("angles taken for degrees", "angles of the opposite sign"), strict=True
    ):
        assert names(answer, "sinusoidal") == {"paper"}
        assert {match["mistake"] for match in answer["matches"]} == {mistake}
        assert all(match["where"].startswith("position 50,") for match in answer["matches"])


def without_zeros(rows: npt.NDArray[np.float64]) -> str:
    return json.dumps(np.round(rows, 6).tolist())


@pytest.mark.parametrize(
    "text",
    [
        ", ".join(f"{value:.6f}" for value in np.sin(1.37 * np.arange(6400))),
        " ".join(f"{1 - value / 6400:.8f}" for value in range(6400)),
        without_zeros(np.random.default_rng(0).uniform(-1, 1, (80, 80))),
        without_zeros(np.cos(np.outer(np.arange(100), 1e4 ** -(np.arange(64) / 64)))),
        str(np.tril(np.ones((80, 80), dtype=np.bool_)).tolist()),
    ],
    ids=["one-line", "falling", "noise", "cosines", "mask"],
)
def test_6400_numbers_take_less_than_a_second(
    page_schemes: list[Any], page_models: list[Any], text: str
) -> None:
    (answer,) = identified(page_schemes, text, models=page_models)
    assert answer["seconds"] < 1


@pytest.mark.parametrize("text", ["", "no numbers", "[1, 2], [1, 2, 3]", "float32"])
def test_text_without_a_table_has_no_answer(page_schemes: list[Any], text: str) -> None:
    assert identified(page_schemes, text) == [None]


def test_the_full_stop_of_a_sentence_belongs_to_no_number(page_schemes: list[Any]) -> None:
    row = printed(posenc.sinusoidal([7], 8), 6)
    (answer,) = identified(page_schemes, f"It is {row}.")
    assert "paper" in names(answer, "sinusoidal")


ODD = {
    "not-a-number": ("0.5 nan 0.25", "NaN"),
    "infinity": ("[0.5, inf, 0.25]", "Infinity"),
    "beyond-float64": ("0.5 1e999", "1e999"),
    "as-in-c": ("0.84f, 0.54f", "0.84f"),
    "hexadecimal": ("0x1F 0x2A", "0x1F"),
    "two-points": ("1.2.3 0.5", "1.2.3"),
    "underscores": ("1_000 2_000", "1_000"),
    "values-left-out": ("[0.0, ..., 1.0, ..., 0.5, 0.25]", "left out"),
    "ellipsis": ("0.8415 0.5403 …", "left out"),
    "a-very-long-number": ("0.5 " + "1" * 10**5 + "x", "digits"),
    "a-very-long-text": ("0.5 " * 2**18, "characters"),
    "very-many-numbers": ("1 " * 2**15, "numbers"),
    "blanks": ("1" + " " * 2**18 + "x", ""),
    "blank-lines": ("1 2" + " \n" * 2**17 + "3 4x", "4x"),
    "brackets": ("[" * 2**18, ""),
}
"""Odd input, and words of its refusal: silently dropping a part would misname the rest."""
READ = {
    "a-mask": "[[0, -inf], [0, 0]]",
    "a-float32-in-words": "float32: 0.5 0.25",
    "numbers-in-words": "[np.float32(0.5), np.float32(0.25)]",
    "an-exponent": "1e-7 2.5E+3 -.5 3.",
    "an-end-of-a-sentence": "It is 0.5, 0.25.",
    "complex-numbers": "[1.+0.j, 0.5403023+0.841471j]",
    "imaginary-last": "[1.0 + 0.0i, 0.5 - 0.8i]",
    "truth-values": "True False",
}


@pytest.mark.parametrize("name", ODD)
def test_odd_input_is_quickly_refused_with_a_reason(page_schemes: list[Any], name: str) -> None:
    text, reason = ODD[name]
    (answer,) = identified(page_schemes, text)
    if reason:
        assert reason in answer["refused"]
    assert (answer or {}).get("seconds", 0) < 2


@pytest.mark.parametrize("name", READ)
def test_usual_input_is_not_refused(page_schemes: list[Any], name: str) -> None:
    (answer,) = identified(page_schemes, READ[name])
    assert "refused" not in answer
