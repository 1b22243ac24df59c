"""A description of an implementation that holds for all of its wrong answers."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from posenc_conformance.diagnose.recover import recover
from posenc_conformance.judge.arrays import Array, Floats, fine
from posenc_conformance.judge.case import Case
from posenc_lab.judging import schemes
from tests.turning import halves, omega

Answer = tuple[Case, Floats]


def rope(dim: int = 16, base: float = 10000.0, dtype: str = "float64", start: int = 0) -> Case:
    scheme = next(candidate for candidate in schemes() if candidate.id == "rope")
    call = scheme.calls["rope"]
    arguments = {"x": fine((8, dim)) + 1, "positions": start + np.arange(8), "base": base}
    return Case(scheme, call, call.combinations["half"].conventions, arguments, dtype)


def answer(
    frequencies: Callable[[int, float], Array],
    *,
    offset: float = 0.0,
    length: float = 1.0,
    **of_case: Any,
) -> Answer:
    case = rope(**of_case)
    x, base = case.arguments["x"], case.arguments["base"]
    angles = np.outer(case.arguments["positions"], frequencies(x.shape[-1], base)) + offset
    return case, length * halves(x, angles)


def said(*answers: Answer, right: tuple[Answer, ...] = ()) -> str:
    return recover(answers, right)


def both(frequencies: Callable[[int, float], Array], **changed: Any) -> str:
    """Describe two answers of different sizes and bases."""
    small = answer(frequencies, dim=12, base=500.0, **changed)
    return said(answer(frequencies, **changed), small)


def numbers(dim: int) -> Array:
    return np.arange(dim // 2)


@pytest.mark.parametrize(
    ("frequencies", "formula"),
    [
        (lambda d, b: b ** (-numbers(d) / d), "base^(-t/d)"),
        (lambda d, b: b ** (-4 * numbers(d) / d), "base^(-4t/d)"),
        (lambda d, b: b ** (-(2 * numbers(d) + 1) / d), "base^(-(2t+1)/d)"),
        (lambda d, b: b ** (-(numbers(d) + 1) / d), "base^(-(t+1)/d)"),
        (lambda d, b: b ** (-2 * numbers(d) / (d - 1)), "base^(-2t/(d-1))"),
        (lambda d, b: b ** (-numbers(d) / (d / 2 - 1)), "base^(-t/(d/2-1))"),
        (lambda d, b: b ** (-2 * numbers(d) / (d + 2)), "base^(-2t/(d+2))"),
        (lambda d, b: b ** (-2 * (d / 2 - 1 - numbers(d)) / d), "base^(-2(d/2-1-t)/d)"),
        (lambda d, b: 2 * np.pi * omega(d, b), "2π·base^(-2t/d)"),
        (lambda d, b: np.pi * omega(d, b), "π·base^(-2t/d)"),
        (lambda d, b: 2 * omega(d, b), "2·base^(-2t/d)"),
        (lambda d, b: omega(d, b) / 2, "1/2·base^(-2t/d)"),
    ],
)
def test_a_formula_is_named_next_to_the_right_one(frequencies: Any, formula: str) -> None:
    assert both(frequencies) == f"pair t turns at {formula}; asked for base^(-2t/d)"


def test_the_other_direction_is_said_in_words() -> None:
    said = both(lambda dim, base: -omega(dim, base))
    assert said == "every pair is turned the other way: sin has the opposite sign"


def of_factor(frequencies: Any, dim: int, base: float, factor: float) -> Answer:
    """Return an answer with these frequencies to a call of position interpolation."""
    scheme = next(candidate for candidate in schemes() if candidate.id == "position-interpolation")
    call = scheme.calls["position_interpolation_frequencies"]
    conventions = next(iter(call.combinations.values())).conventions
    arguments = {"rotary_dim": dim, "base": base, "factor": factor}
    case = Case(scheme, call, conventions, arguments, "float64")
    return case, np.asarray(frequencies(dim, base, factor))


@pytest.mark.parametrize(
    ("frequencies", "formula"),
    [
        (lambda d, b, s: s * omega(d, b), "factor·base^(-2t/d)"),
        (lambda d, b, s: omega(d, b) / s**2, "base^(-2t/d)/factor²"),
        (lambda d, b, s: omega(d, b) / s**0.5, "base^(-2t/d)/√factor"),
        (lambda d, b, s: omega(d, b * s ** (d / max(d - 2, 1))), "(base·factor^(d/(d-2)))^(-2t/d)"),
        (lambda d, b, s: omega(d, b * s), "(base·factor)^(-2t/d)"),
        (lambda d, b, s: omega(d, b * s**2), "(base·factor²)^(-2t/d)"),
        (lambda d, b, s: omega(d, b * s ** ((d - 2) / d)), "(base·factor^((d-2)/d))^(-2t/d)"),
        (lambda d, b, s: omega(d, b), "base^(-2t/d)"),
        (lambda d, b, s: b ** (-2 * (numbers(d) + 1) / d), "base^(-2(t+1)/d)"),
    ],
)
def test_a_formula_of_base_and_factor_is_named(frequencies: Any, formula: str) -> None:
    """It is named even next to a result of one pair, which any formula of powers fits."""
    sizes = ((16, 10000.0, 4.0), (12, 500.0, 3.0), (2, 500.0, 2.0))
    text = said(*(of_factor(frequencies, *size) for size in sizes))
    assert text.startswith(f"pair t turns at {formula}; asked for base^(-2t/d)/factor")


def test_growing_powers_are_written_without_two_signs() -> None:
    assert "turns at base^(2t/d)" in said(answer(lambda d, b: 1 / omega(d, b), dim=6, base=2.0))


def test_inverted_frequencies_are_named_as_such() -> None:
    assert "inverted" in said(answer(lambda d, b: 1 / omega(d, b), dim=6, base=2.0))


def test_exchanged_cosines_and_sines_are_named_as_such() -> None:
    exchanged = answer(lambda d, b: -omega(d, b), offset=np.pi / 2)
    assert said(exchanged) == "cos and sin are exchanged"
    assert "exchanged" not in said(answer(omega, offset=np.pi / 2))


def test_one_frequency_for_all_is_named() -> None:
    assert both(lambda d, b: np.full(d // 2, 0.3)).startswith("every pair turns at 0.3;")


@pytest.mark.parametrize("part", [1.1, 0.9, 1.01, 0.99])
def test_one_factor_for_all_is_named(part: float) -> None:
    text = both(lambda d, b: part * omega(d, b))
    assert text == f"every pair turns at {part:g} times its right frequency"


def test_factors_are_named_and_told_apart_to_two_thousandths() -> None:
    words = "every pair turns at"
    assert not both(lambda d, b: 1.0015 * omega(d, b)).startswith(words)
    assert both(lambda d, b: 1.0025 * omega(d, b)).startswith(words)
    for other, alike in ((1.1015, True), (1.1025, False)):
        text = said(
            answer(lambda d, b: 1.1 * omega(d, b)),
            answer(lambda d, b, part=other: part * omega(d, b), dim=12),  # type: ignore[misc]
        )
        assert text.startswith(words) == alike


def test_another_base_for_each_call_is_named() -> None:
    assert "and the base B is" in both(lambda d, b: omega(d, 3 * b))
    assert "30000 where 10000 is asked for" in both(lambda d, b: omega(d, 3 * b))


def test_another_factor_for_each_call_is_named() -> None:
    text = said(
        answer(lambda d, b: 1.1 * omega(d, b)), answer(lambda d, b: 1.3 * omega(d, b), dim=12)
    )
    assert "the same multiple" in text
    assert "1.1 to 1.3" in text


def test_pairs_that_turn_differently_are_named_for_the_largest_call() -> None:
    def some(d: int, b: float) -> Array:
        return np.where(numbers(d) < 3, 1, 1.5) * omega(d, b)

    text = said(answer(some, dim=12, base=100.0), answer(some, base=100.0))
    assert "5 of 8 measured pairs, from pair 3 on, turn at 1.5 times" in text
    growing = answer(lambda d, b: np.linspace(1, 1.5, d // 2) * omega(d, b), base=100.0)
    assert "7 of 8 measured pairs, from pair 1 on, turn at 1.071 to 1.5 times" in said(growing)


@pytest.mark.parametrize("offset", [1.0, -0.25])
def test_an_offset_is_named_with_and_without_a_formula(offset: float) -> None:
    assert both(omega, offset=offset) == f"{offset:g} radians are added to every angle"
    more = both(lambda d, b: 2 * omega(d, b), offset=offset)
    assert more.startswith("pair t turns at 2·")
    assert more.endswith(f"{offset:g} radians are added to every angle")


def test_different_offsets_are_no_offset() -> None:
    assert said(answer(omega, offset=1.0), answer(omega, offset=0.9, dim=12)) == ""


def test_lengths_are_named() -> None:
    assert both(omega, length=2.0) == "pairs are 2 times as long as they should be"
    assert said(answer(omega, length=2.0), answer(omega, length=3.0, dim=12)) == (
        "pairs are 2 to 3 times as long as they should be"
    )


def test_right_small_calls_are_mentioned() -> None:
    wrong, right = answer(lambda d, b: 2 * omega(d, b)), answer(omega, dim=12)
    assert "in 1 of 2 small calls" in said(wrong, right=(right,))
    few = answer(omega, dim=4)
    assert "small calls" not in said(wrong, right=(few,))


def test_unreadable_answers_are_not_described() -> None:
    case, output = answer(lambda d, b: 2 * omega(d, b))
    assert said((case, output + 0.3)) == ""
    narrow = answer(lambda d, b: 2 * omega(d, b), dtype="bfloat16")
    assert said(narrow) == ""
    assert said((case, output), narrow) == ""
    assert said() == ""
    assert both(omega) == ""


def test_few_pairs_show_no_formula() -> None:
    text = said(answer(lambda d, b: b ** (-numbers(d) / d), dim=4, base=16.0))
    assert "base^(-t/d)" not in text
    assert "2·base" not in said(answer(lambda d, b: 2 * omega(d, b), dim=4))
    assert "2·base" in said(answer(lambda d, b: 2 * omega(d, b), dim=6))
