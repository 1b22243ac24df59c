"""The reference against the oracle: at most one unit in the last place of the scale."""

import inspect
import operator
from collections.abc import Iterator
from typing import Any, cast

import mpmath
import numpy as np
import pytest

import posenc
from posenc_conformance import oracle
from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.commands.goldens import oracle_values, unit
from posenc_conformance.implementations.reference import Reference
from posenc_conformance.judge.arrays import lattice
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.knowledge import KnownScheme
from posenc_conformance.judge.subject import Subject
from posenc_conformance.oracle.bias import t5_bias
from posenc_lab.judging import schemes as all_schemes
from posenc_lab.reference_error import ELEMENTS, FAR, drawn_cases, sampled_error

SUBJECTS = subjects(Reference(), all_schemes())


def near_multiples_of_pi(frequency: mpmath.mpf) -> list[int]:
    """Return positions whose angle is as near to a multiple of π as that of any smaller one.

    At these positions the sine is smallest and a rounded angle does the most harm.
    """
    nearest = []
    ratio = mpmath.mpf(mpmath.pi) / frequency
    before, now = (0, 1), (1, 0)
    while now[0] <= FAR:
        whole = int(mpmath.floor(ratio))
        before, now = now, (whole * now[0] + before[0], whole * now[1] + before[1])
        if 0 < now[0] <= FAR:
            nearest.append(now[0])
        if ratio == whole:
            break
        ratio = 1 / (ratio - whole)
    return nearest


def positions(base: float, pairs: int, seed: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    random = np.random.default_rng(seed)
    with mpmath.workdps(60):
        hard = near_multiples_of_pi(mpmath.mpf(1))
        hard += near_multiples_of_pi(mpmath.mpf(base) ** (-mpmath.mpf(1) / pairs))
    spread = [int(random.integers(0, 2**power)) for power in range(1, 54)]
    edges = [0, 1, 2**24 + 1, 2**31, 2**31 - 1, 2**52 + 1, FAR - 1, FAR]
    return np.array(sorted({*hard, *spread, *edges}), dtype=np.int64)


def cases() -> Iterator[Any]:
    by_id = {scheme.id: scheme for scheme in all_schemes()}
    sizes = ((2, 1e4), (64, 1e4), (128, 5e5), (512, 1e6), (96, 123.456))
    for dim, base in sizes:
        where = positions(base, dim // 2, dim)
        for name, combination in by_id["sinusoidal"].calls["sinusoidal"].combinations.items():
            if dim > 2 or combination.conventions["single_pair"] == "unit":
                inputs = {"positions": where, "dim": dim, "base": base}
                yield pytest.param(
                    by_id["sinusoidal"], "sinusoidal", name, inputs, id=f"{name}-{dim}"
                )
        for name in by_id["rope"].calls["rope"].combinations:
            inputs = {"x": lattice((len(where), dim)), "positions": where, "base": base}
            yield pytest.param(by_id["rope"], "rope", name, inputs, id=f"{name}-{dim}")
    for heads in (1, 3, 8, 12, 33, 64):
        for name in by_id["alibi"].calls["alibi_slopes"].combinations:
            inputs = {"heads": heads}
            yield pytest.param(by_id["alibi"], "alibi_slopes", name, inputs, id=f"{name}-{heads}")
        for name in by_id["alibi"].calls["alibi_bias"].combinations:
            inputs = {"heads": heads, "q_len": 2, "k_len": 3001}
            yield pytest.param(by_id["alibi"], "alibi_bias", name, inputs, id=f"{name}-{heads}")


def worst_error(scheme: KnownScheme, call: str, name: str, arguments: dict[str, Any]) -> float:
    """Return the largest error in units in the last place, over a sample of elements."""
    definition = scheme.calls[call]
    conventions = dict(definition.combinations[name].conventions)
    if "odd_dim" in conventions:
        conventions["odd_dim"] = "refuse"
    case = Case(scheme, definition, conventions, arguments, "float64")
    truth = case.truth
    random = np.random.default_rng(len(truth))
    worst = 0.0
    with mpmath.workdps(oracle.DIGITS):
        exact = oracle_values(case)
        for row in np.ndindex(truth.shape[:-1]):
            width = truth.shape[-1]
            for last in random.choice(width, min(ELEMENTS, width), replace=False):
                index = (*row, int(last))
                value = exact(index)
                if value is None:
                    assert not np.isfinite(truth[index])
                    continue
                error = abs(mpmath.mpf(truth[index].item()) - value)
                worst = max(worst, float(error / unit(case, index, float(value))))
    return worst


@pytest.mark.always
@pytest.mark.remembered
@pytest.mark.parametrize(("scheme", "call", "name", "arguments"), list(cases()))
def test_at_most_one_ulp(
    scheme: KnownScheme, call: str, name: str, arguments: dict[str, Any], record_property: Any
) -> None:
    worst = worst_error(scheme, call, name, arguments)
    record_property("worst ulp", worst)
    assert worst <= 1, f"{call} {name}: {worst} ulp"


@pytest.mark.slow
@pytest.mark.always
@pytest.mark.remembered
@pytest.mark.parametrize(
    "subject", SUBJECTS, ids=[f"{entry.call.name}-{entry.label}" for entry in SUBJECTS]
)
def test_every_call_at_most_one_ulp(subject: Subject, record_property: Any) -> None:
    worst = 0.0
    with mpmath.workdps(oracle.DIGITS):
        for case in drawn_cases(subject):
            worst = max(worst, sampled_error(case))
    record_property("worst ulp", worst)
    assert worst <= 1, f"{worst} ulp"


@pytest.mark.parametrize("direction", ["bidirectional", "causal"])
@pytest.mark.parametrize(
    ("buckets", "distance"), [(32, 128), (64, 128), (320, 800), (32, 1024), (34, 27), (48, 81)]
)
def test_buckets_are_exact(direction: str, buckets: int, distance: int) -> None:
    relative = np.concatenate([np.arange(-2 * distance, 2 * distance), [-(2**31), 2**31, 2**53]])
    arguments = {"relative_position": relative, "num_buckets": buckets, "max_distance": distance}
    got = posenc.t5_bucket(
        relative, direction=direction, num_buckets=buckets, max_distance=distance
    )
    with mpmath.workdps(oracle.DIGITS):
        exact = t5_bias.VALUES["t5_bucket"](arguments, {"direction": direction})
        assert got.tolist() == [int(exact((i,))) for i in range(len(relative))]


def test_every_call_of_a_scheme_is_exported_by_posenc() -> None:
    for scheme in all_schemes():
        for call in scheme.calls:
            assert callable(getattr(posenc, call)), call
            assert call in posenc.__all__


@pytest.mark.parametrize(
    ("call", "error", "word"),
    [
        (lambda: posenc.sinusoidal([0], 7), ValueError, "dim"),
        (lambda: posenc.sinusoidal([0], 0), ValueError, "dim"),
        (lambda: posenc.sinusoidal([0], dim=cast("int", 8.0)), TypeError, "dim"),
        (lambda: posenc.sinusoidal([2**53 + 2], 8), ValueError, "positions"),
        (lambda: posenc.sinusoidal(["a"], 8), TypeError, "positions"),
        (lambda: posenc.sinusoidal([[0]], 8), ValueError, "positions"),
        (lambda: posenc.sinusoidal([0], 8, base=0), ValueError, "base"),
        (lambda: posenc.sinusoidal([0], 8, layout="halves"), ValueError, "layout"),
        (lambda: posenc.rope(np.ones((2, 7)), [0, 1]), ValueError, "head_dim"),
        (lambda: posenc.rope(np.ones((2, 8), int), [0, 1]), TypeError, "x"),
        (lambda: posenc.rope(np.ones((2, 8)), [0.5, 1]), TypeError, "positions"),
        (lambda: posenc.rope(np.ones((3, 8)), [0, 1]), ValueError, "positions"),
        (lambda: posenc.rope(np.ones((2, 8)), [0, 1], rotary_dim=9), ValueError, "rotary_dim"),
        (lambda: posenc.alibi_slopes(0), ValueError, "heads"),
        (lambda: posenc.alibi_slopes(True), TypeError, "heads"),
        (lambda: posenc.alibi_bias(2, 3, 2), ValueError, "q_len"),
        (lambda: posenc.t5_bucket([1.0]), TypeError, "relative_position"),
        (lambda: posenc.t5_bucket([1], num_buckets=7), ValueError, "num_buckets"),
        (lambda: posenc.t5_bucket([1], max_distance=8), ValueError, "max_distance"),
        (lambda: posenc.t5_bias(np.ones(4), 1, 1), ValueError, "table"),
    ],
)
def test_bad_arguments_are_named(call: Any, error: type[Exception], word: str) -> None:
    with pytest.raises(error, match=word):
        call()


def test_unknown_name_is_an_attribute_error_that_lists_the_known_ones() -> None:
    with pytest.raises(AttributeError, match="sinusoidal"):
        operator.attrgetter("sinusiodal")(posenc)


def test_inputs_are_left_alone_and_results_are_fresh() -> None:
    x = lattice((4, 8))
    before = x.copy()
    first = posenc.rope(x, np.arange(4), rotary_dim=4)
    first[...] = 7
    assert np.array_equal(x, before)
    assert not np.any(posenc.rope(x, np.arange(4), rotary_dim=4) == 7)


def test_positions_may_differ_by_batch_row() -> None:
    x = lattice((2, 3, 8))
    both = posenc.rope(x, np.array([[0, 1, 2], [7, 5, 9]]))
    assert np.array_equal(both[0], posenc.rope(x[0], [0, 1, 2]))
    assert np.array_equal(both[1], posenc.rope(x[1], [7, 5, 9]))


def test_minus_infinity_in_a_bias_hides_a_key() -> None:
    q = lattice((2, 5, 4))
    hidden = posenc.alibi_bias(2, 5, 5)
    shown = posenc.attention_with_bias(
        q, q, q, np.where(np.isinf(hidden), 0, hidden), mask="causal"
    )
    assert np.array_equal(posenc.attention_with_bias(q, q, q, hidden), shown)
    with pytest.raises(ValueError, match="all keys"):
        posenc.attention_with_bias(q, q, q, np.full((5, 5), -np.inf))
    with pytest.raises(ValueError, match="finite"):
        posenc.attention_with_bias(q, q, q, np.full((5, 5), np.nan))


@pytest.mark.parametrize(("buckets", "limit"), [(20, 81), (46, 804)])
def test_deberta_buckets_at_whole_logarithms(buckets: int, limit: int) -> None:
    """Logarithms in steps: whole at 20; at 1532 off by 2e-9, which float64 cannot resolve."""
    distance = np.arange(buckets // 2 + 1, 2 * limit + 10)
    middle = mpmath.mpf(buckets) / 2
    with mpmath.workdps(50):
        step = mpmath.log((limit - 1) / middle) / (middle - 1)
        exact = [mpmath.log(int(n) / middle) / step for n in distance]
        whole = [
            mpmath.nint(x) if abs(x - mpmath.nint(x)) < 1e-40 else mpmath.ceil(x) for x in exact
        ]
    expected = [buckets // 2 + int(x) for x in whole]
    result = posenc.deberta_bucket(
        distance, num_buckets=buckets, max_relative_positions=limit, far="growing"
    )
    assert result.tolist() == expected


@pytest.mark.parametrize("leading", [(0,), (3, 0), (0, 4)])
def test_no_rows_give_no_rows(leading: tuple[int, ...]) -> None:
    rotated = posenc.rope(np.zeros((*leading, 8)), np.arange(leading[-1]))
    assert rotated.shape == (*leading, 8)
    assert posenc.sinusoidal(np.arange(0), 8).shape == (0, 8)


def test_defaults_of_the_reference_are_those_of_the_spec() -> None:
    """A claim that does not mention a convention means what a call without the keyword does."""
    for scheme in all_schemes():
        for call in scheme.calls.values():
            parameters = inspect.signature(getattr(posenc, call.name)).parameters
            for name, axis in scheme.conventions.items():
                conventions = {claim.conventions.get(name) for claim in call.combinations.values()}
                if name in parameters and axis.default in conventions - {None}:
                    assert parameters[name].default == axis.default, (call.name, name)


def test_rotary_schemes_have_one_default_layout() -> None:
    rotary = [scheme for scheme in all_schemes() if "half" in _layouts(scheme)]
    assert rotary
    for scheme in rotary:
        assert scheme.conventions["layout"].default == "interleaved", scheme.id


def _layouts(scheme: KnownScheme) -> list[object]:
    return list(scheme.conventions["layout"].values) if "layout" in scheme.conventions else []


HEADS = lattice((2, 5, 12))
HERE = np.array([0, 1, 70, 4000, 131071])
UNSCALED = {
    "dynamic_ntk": {"factor": 1.0, "original_max_position_embeddings": 4096, "length": 4096},
    "llama3": {
        "factor": 1.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    },
    "ntk_aware": {"factor": 1.0},
    "p_rope": {"proportion": 1.0},
    "position_interpolation": {"factor": 1.0},
    "yarn": {"factor": 1.0, "original_max_position_embeddings": 4096},
}


@pytest.mark.parametrize("call", UNSCALED)
def test_a_scaling_by_one_is_rope(call: str) -> None:
    scaled = getattr(posenc, call)(HEADS, HERE, base=10000.0, **UNSCALED[call])
    assert np.array_equal(scaled, posenc.rope(HEADS, HERE))


def test_factors_and_axes_that_change_nothing_are_rope() -> None:
    rope, ones = posenc.rope(HEADS, HERE), np.ones(6)
    longrope = posenc.longrope(
        HEADS, HERE, ones, ones, factor=1.0, original_max_position_embeddings=4096
    )
    assert np.array_equal(longrope, rope)
    assert np.array_equal(posenc.m_rope(HEADS, np.stack([HERE] * 3), [2, 2, 2]), rope)
    assert np.array_equal(posenc.axial_rope(HEADS, HERE[None], [12]), rope)
    angles = HERE[:, None] * posenc.position_interpolation_frequencies(12, factor=1.0)
    turned = posenc.rope_apply(HEADS, np.cos(angles), np.sin(angles))
    assert np.allclose(turned, rope, atol=1e-9)
