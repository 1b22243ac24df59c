"""Each golden catches a mistake that no other golden of its group catches."""

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

from posenc_conformance.checks.golden import golden_case
from posenc_conformance.judge.arrays import DTYPES
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.error_model import Comparison, compare
from posenc_conformance.judge.subject import EXACT
from posenc_conformance.scheme_file.model import Golden, Scheme, Value
from posenc_conformance.scheme_file.read import load_all
from tests.golden_mistakes import MISTAKES
from tests.golden_mistakes.common import Mistake

SCHEMES = {scheme.id: scheme for scheme in load_all()}
GOLDENS = {
    (scheme.id, golden.id): (scheme, golden)
    for scheme in SCHEMES.values()
    for golden in scheme.goldens
}
POSITIONS = {0, 1, 127, 4095, 131071, 1048575, 2**31}
BASES = {10000, 500000, 1000000}
WITHOUT_RESULT = {"refuse"}
"""Values of optional conventions that promise an exception, which a golden cannot show."""


def group(golden: Golden) -> tuple[str, str, tuple[tuple[str, Value], ...]]:
    """What a golden shares with those that are claimed together with it."""
    return golden.call, golden.combination, tuple(sorted(golden.options.items()))


def others(scheme: Scheme, golden: Golden) -> Iterator[Golden]:
    return (each for each in scheme.goldens if each is not golden and group(each) == group(golden))


def dtypes(scheme: Scheme, golden: Golden, names: tuple[str, ...]) -> tuple[str, ...]:
    dtype = scheme.calls[golden.call].dtype
    return (dtype,) if dtype in EXACT else names


def judged(scheme: Scheme, golden: Golden, mistake: Mistake, dtype: str) -> Comparison:
    """The mistake's answer to a golden, compared with the printed truth."""
    case = golden_case(scheme, golden, dtype)
    output = np.asarray(mistake(case), dtype=np.float64)
    assert output.shape == case.shape, f"the mistake gives {output.shape}, not {case.shape}"
    return compare(case, output, case.terms)


def test_every_golden_has_its_mistake() -> None:
    named = {(scheme, golden) for scheme, mistakes in MISTAKES.items() for golden in mistakes}
    assert named == set(GOLDENS)


@pytest.mark.parametrize("key", GOLDENS, ids="::".join)
def test_golden_catches_its_mistake(key: tuple[str, str]) -> None:
    scheme, golden = GOLDENS[key]
    mistake = MISTAKES[scheme.id][golden.id]
    for dtype in dtypes(scheme, golden, ("float64", "float32")):
        found = judged(scheme, golden, mistake, dtype)
        assert not found.right, (
            f"{scheme.path.name}::golden::{golden.id} does not catch {golden.kills!r} in {dtype}: "
            f"the worst error is {found.worst:.3g} of its bound"
        )


@pytest.mark.parametrize("key", GOLDENS, ids="::".join)
def test_no_other_golden_catches_it(key: tuple[str, str]) -> None:
    scheme, golden = GOLDENS[key]
    mistake = MISTAKES[scheme.id][golden.id]
    for other in others(scheme, golden):
        for dtype in dtypes(scheme, other, tuple(DTYPES)):
            found = judged(scheme, other, mistake, dtype)
            assert found.right, (
                f"{scheme.path.name}::golden::{other.id} too catches {golden.kills!r}, the mistake "
                f"of {golden.id}: in {dtype}, at {found.index}, {found.got} for {found.expected}"
            )


@pytest.mark.parametrize("scheme", SCHEMES.values(), ids=SCHEMES)
def test_kills_are_unique_within_their_group(scheme: Scheme) -> None:
    counted = Counter((*group(golden), golden.kills) for golden in scheme.goldens)
    assert [key for key, count in counted.items() if count > 1] == []


@pytest.mark.parametrize("key", GOLDENS, ids="::".join)
def test_the_reference_passes(key: tuple[str, str]) -> None:
    scheme, golden = GOLDENS[key]
    for dtype in dtypes(scheme, golden, tuple(DTYPES)):
        found = judged(scheme, golden, lambda case: case.changed().truth, dtype)
        assert found.right, f"{golden.id} rejects the reference in {dtype} at {found.index}"


def cases(call: str) -> list[Case]:
    """The goldens of a call, as cases."""
    return [
        golden_case(scheme, golden, "float64")
        for scheme, golden in GOLDENS.values()
        if golden.call == call
    ]


def test_golden_coverage() -> None:
    """Goldens are many, and none of what the spec lets an implementation claim is without."""
    assert len(GOLDENS) >= 60
    groups = {group(golden) for _, golden in GOLDENS.values()}
    for scheme in SCHEMES.values():
        for call in scheme.calls.values():
            found = {combination for name, combination, _ in groups if name == call.name}
            assert found == set(call.combinations), f"{call.name}: a combination has no golden"
            chosen = {option for name, _, point in groups if name == call.name for option in point}
            for option in call.options:
                values = set(scheme.conventions[option].values) - WITHOUT_RESULT
                assert {(option, value) for value in values} <= chosen, (
                    f"{call.name}: a value of {option} has no golden"
                )


def test_golden_coverage_of_odd_dimensions_and_partial_rotation() -> None:
    """Each rule for odd dimensions where a combination leaves it open; each layout of heads."""
    groups = {group(golden) for _, golden in GOLDENS.values()}
    for name in SCHEMES["rope"].calls["rope"].combinations:
        assert ("rope", name, (("rotation", "partial"),)) in groups, (
            f"{name} has no partial rotation"
        )
    scheme = SCHEMES["sinusoidal"]
    for combination in scheme.calls["sinusoidal"].combinations.values():
        if "odd_dim" not in combination.conventions:
            for rule in set(scheme.conventions["odd_dim"].values) - WITHOUT_RESULT:
                point = (("odd_dim", rule),)
                assert ("sinusoidal", combination.name, point) in groups, (combination.name, rule)


def test_golden_coverage_of_sizes() -> None:
    dims = {case.arguments["dim"] for case in cases("sinusoidal")}
    assert {min(dims), max(dims)} == {2, 512}
    assert {8, 16, 64, 96, 128, 256, 384} <= dims
    assert {64, 80, 128, 256} <= {case.parameter("head_dim") for case in cases("rope")}


@pytest.mark.parametrize("call", ["sinusoidal", "rope"])
def test_golden_coverage_of_bases_and_positions(call: str) -> None:
    found = cases(call)
    assert {case.arguments["base"] for case in found} >= BASES
    assert {position for case in found for position in case.arguments["positions"]} >= POSITIONS
