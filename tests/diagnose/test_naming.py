"""A name explains all answers of a claim; mistakes without one are recovered from results."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import posenc
from posenc_conformance import claims
from posenc_conformance.judge.case import case_described_by
from posenc_conformance.judge.error_model import agrees
from posenc_conformance.registry import load_scheme
from posenc_conformance.scheme_file.read import paths_by_name
from posenc_conformance.testing.naming import name_mistake
from posenc_lab.judging import diagnoses, failed, judge
from posenc_lab.miniatures.base import Array
from tests.turning import first_lines, halves, omega

pytestmark = pytest.mark.remembered(shipped=True)

Frequencies = Callable[[int, float], Array]
LEVELS = ("smoke", "golden", "invariant")


def rotary(frequencies: Frequencies, offset: float = 0.0) -> object:
    class Turning:
        @claims("half")
        def rope(self, x: Array, positions: Array, *, base: float, layout: str) -> Array:
            return halves(x, offset + np.outer(positions, frequencies(x.shape[-1], base)))

    return Turning()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("frequencies", "offset", "said"),
    [
        (lambda d, b: b ** (-2 * (np.arange(d // 2) + 1) / d), 0.0, "base^(-2(t+1)/d)"),
        (lambda d, b: b ** (-2 * np.arange(d // 2) / (d + 2)), 0.0, "base^(-2t/(d+2))"),
        (lambda d, b: omega(d, b)[::-1], 0.0, "base^(-2(d/2-1-t)/d)"),
        (lambda d, b: 2 * np.pi * omega(d, b), 0.0, "2π·base^(-2t/d)"),
        (lambda d, b: np.ones(d // 2), 0.0, "every pair turns at 1;"),
        (omega, 1.0, "1 radians are added to every angle"),
    ],
)
def test_an_unknown_formula_is_recovered(
    frequencies: Frequencies, offset: float, said: str
) -> None:
    verdicts = judge(rotary(frequencies, offset), LEVELS)
    assert diagnoses(verdicts) == []
    lines = [line for line in first_lines(verdicts) if line.startswith("no known deviation: ")]
    assert lines
    assert len(set(lines)) == 1
    assert said in lines[0]
    assert offset or "asked for base^(-2t/d)" in lines[0]


def test_another_base_for_each_size_is_no_base() -> None:
    """At any single size, evenly spaced exponents that reach 1 look like another base."""
    verdicts = judge(rotary(lambda d, b: b ** -np.linspace(0, 1, max(d // 2, 2))[: d // 2]), LEVELS)
    assert diagnoses(verdicts)[:1] == ["exponent-to-the-end"]


@pytest.mark.slow
def test_two_mistakes_that_cancel_are_no_explanation() -> None:
    """The root of the square of the base is the base: the residual must have another cause."""
    verdicts = judge(rotary(lambda d, b: omega(d, b) * (1 + 1e-3)), LEVELS)
    assert not [name for name in diagnoses(verdicts) if "exponent" in name]


@pytest.mark.slow
def test_a_wrap_far_out_is_no_shift() -> None:
    """Far out, a wrap looks like shifted positions, but those would show near by."""

    class Wrapping:
        @claims("half")
        def rope(self, x: Array, positions: Array, *, base: float, layout: str) -> Array:
            return halves(x, np.outer(positions % 8192, omega(x.shape[-1], base)))

    verdicts = judge(Wrapping(), LEVELS)
    assert failed(verdicts)
    assert diagnoses(verdicts) == []


@pytest.mark.slow
def test_state_of_earlier_calls_is_reported() -> None:
    class Counting:
        def __init__(self) -> None:
            self.calls = 0

        @claims("half")
        def rope(self, x: Array, positions: Array, *, base: float, layout: str) -> Array:
            self.calls += 1
            return halves(x, np.outer(positions, omega(x.shape[-1], base) / self.calls))

    verdicts = judge(Counting(), LEVELS)
    assert diagnoses(verdicts) == []
    assert any("counts its calls" in line for line in first_lines(verdicts))


@pytest.mark.slow
def test_nondeterminism_is_not_reported_as_state() -> None:
    class Racing:
        """RoPE with a race: its result is doubled now and then."""

        def __init__(self) -> None:
            self.chance = np.random.default_rng(5)

        @claims("half")
        def rope(self, x: Array, positions: Array, *, base: float, layout: str) -> Array:
            result = halves(x, np.outer(positions, omega(x.shape[-1], base)))
            return result * (1 + (self.chance.random() < 0.4))

    lines = first_lines(judge(Racing(), LEVELS))
    assert [line for line in lines if "it is not deterministic" in line]
    blamed = ("earlier", "memory", "in between", "writing", "since the first")
    assert not [line for line in lines if any(word in line for word in blamed)]


@pytest.mark.slow
@pytest.mark.parametrize("left_of_the_last_call", [0.0, 0.01])
def test_sums_whose_order_changes_are_right(left_of_the_last_call: float) -> None:
    """Atomic additions on a GPU come in any order, but one call must not affect the next."""

    class Adding:
        def __init__(self) -> None:
            self.chance = np.random.default_rng(5)
            self.last = 0.0

        @claims("causal")
        def t5_bias_vjp(self, gradient: Array, *, num_buckets: int, max_distance: int) -> Array:
            heads, q_len, k_len = gradient.shape
            far = np.arange(k_len) - (np.arange(q_len)[:, None] + k_len - q_len)
            sizes = {"num_buckets": num_buckets, "max_distance": max_distance}
            rows = posenc.t5_bucket(far, direction="causal", **sizes).ravel()
            order = self.chance.permutation(rows.size)
            result = np.full((num_buckets, heads), self.last, gradient.dtype)
            np.add.at(result, rows[order], gradient.reshape(heads, -1).T[order])
            self.last = left_of_the_last_call * float(result.sum())
            return result

    result = failed(judge(Adding(), ("smoke", "golden", "behaviour")))
    assert bool(result) == bool(left_of_the_last_call)


def ids(lengths: Array, counted_on: slice) -> Array:
    """Return ids of packed sequences, some of which continue those before."""
    begins = np.cumsum(lengths) - lengths
    begins[counted_on] = 0
    return np.asarray(np.arange(lengths.sum()) - np.repeat(begins, lengths))


def test_a_name_that_other_answers_contradict_is_not_reported() -> None:
    """With two sequences, a last one that continues looks like all of them continuing."""

    class LastCountedOn:
        @claims("from-zero")
        def packed_position_ids(self, lengths: Array) -> Array:
            return ids(lengths, slice(-1, None))

    class AllCountedOn:
        @claims("from-zero")
        def packed_position_ids(self, lengths: Array) -> Array:
            return ids(lengths, slice(None))

    verdicts = judge(LastCountedOn(), LEVELS)
    assert diagnoses(verdicts) == []
    assert any("rows stand at" in line for line in first_lines(verdicts))
    assert diagnoses(judge(AllCountedOn(), LEVELS))[:1] == ["not-restarted"]


@pytest.mark.slow
def test_the_report_has_the_recovered_formula() -> None:
    verdicts = judge(rotary(lambda d, b: 2 * np.pi * omega(d, b)), ("smoke", "golden"))
    texts: set[Any] = {verdict.outcome.recovered for verdict in failed(verdicts)}
    assert texts == {"pair t turns at 2π·base^(-2t/d); asked for base^(-2t/d)"}


def test_a_base_for_each_length_is_reported_as_such() -> None:
    """In some answers, steps at powers of two look like a length kept from another call."""

    class Stepping:
        @claims("standard")
        def dynamic_ntk_frequencies(
            self,
            rotary_dim: int,
            *,
            base: float,
            original_max_position_embeddings: int,
            length: int,
            dtype: str,
            **_: Any,
        ) -> Array:
            steps = np.ceil(np.log2(max(length / original_max_position_embeddings, 1)))
            stretch = 2.0 ** (steps + 1) - 1 if steps > 0 else 1.0
            power = rotary_dim / max(rotary_dim - 2, 1)
            return omega(rotary_dim, base * stretch**power).astype(dtype)

    verdicts = judge(Stepping(), (*LEVELS, "behaviour"))
    assert diagnoses(verdicts) == []
    texts = {entry.outcome.recovered for entry in failed(verdicts)}
    assert all("pair t turns at B^(-2t/d), and the base B is " in entry for entry in texts), texts


@pytest.mark.slow
def test_a_name_that_fits_one_answer_of_many_is_not_reported() -> None:
    """In some answers, a factor that is too large by 1/3 looks like another base."""

    class Rounding:
        @claims("half")
        def position_interpolation(
            self, x: Array, positions: Array, *, base: float, factor: float, **_: Any
        ) -> Array:
            short = factor < 4
            return halves(x, np.outer(positions, omega(x.shape[-1], base)) / (factor + short / 3))

    verdicts = judge(Rounding(), (*LEVELS, "behaviour"))
    assert failed(verdicts)
    assert diagnoses(verdicts) == []


@pytest.mark.slow
def test_a_name_that_right_answers_refute_is_not_reported() -> None:
    """The base is wrong only at positions beyond 1000, as from a table that is rebuilt."""

    class Growing:
        @claims("half")
        def rope(self, x: Array, positions: Array, *, base: float, layout: str) -> Array:
            far = positions.max(initial=0) > 1000
            return halves(x, np.outer(positions, omega(x.shape[-1], 500.0 if far else base)))

    verdicts = judge(Growing(), LEVELS)
    assert failed(verdicts)
    assert diagnoses(verdicts) == []


ROTARY = (
    *("llama3", "yarn", "longrope", "position-interpolation", "ntk-aware", "dynamic-ntk", "p-rope"),
    "xpos",
)


@pytest.mark.parametrize("id", ROTARY)
def test_a_missing_rotation_is_reported_for_every_scheme(id: str) -> None:
    scheme = load_scheme(paths_by_name()[id])
    reported = []
    for golden in scheme.goldens:
        case = case_described_by(scheme, golden, "float32")
        unrotated = case.arguments.get("x")
        if case.call.kind != "rotary" or unrotated is None or agrees(case, unrotated):
            continue
        places = np.abs(unrotated - case.truth)
        where = tuple(int(index) for index in np.unravel_index(places.argmax(), places.shape))
        diagnosis = name_mistake(case, np.asarray(unrotated, np.float64), where)
        if diagnosis.deviation is None:  # a single position may be a shift
            reported.append("nothing is rotated" in diagnosis.recovered)
    assert reported
    assert all(reported)
