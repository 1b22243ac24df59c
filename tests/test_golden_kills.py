"""Each golden catches a mistake that no other golden of its group catches."""

from collections import Counter
from collections.abc import Iterator

import pytest

from posenc_conformance.checks.golden import golden_case
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.knowledge import KnownScheme
from posenc_conformance.registry import load_all
from posenc_lab.killing import (
    group,
    killers,
    own_mistakes,
    own_name,
    wrong_miniature_caught,
)

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


@pytest.mark.remembered(miniatures=True)
@pytest.mark.parametrize("scheme", SCHEMES.values(), ids=SCHEMES)
def test_goldens_catch_what_nothing_else_catches(scheme: KnownScheme) -> None:
    """Each catches a mistake that no other of its group does, and fails a wrong implementation.

    The mistake may be made for goldens; the implementation is one that the kit judges whole. And no
    mistake is made for a golden that catches a wrong implementation alone.
    """
    missing = [*_catching_nothing(scheme), *_not_needed(scheme)]
    if missing:
        pytest.fail("\n".join(missing), pytrace=False)


def _catching_nothing(scheme: KnownScheme) -> Iterator[str]:
    file = f"lab/posenc_lab/miniatures/wrong/{scheme.module_name}.py"
    for golden in scheme.goldens:
        call, combination, options = group(golden)
        chosen = "".join(f", {name}={value}" for name, value in options)
        where = f"{scheme.path.name}::golden::{golden.id} (of {call}, {combination}{chosen})"
        if golden.id not in killers(scheme):
            yield (
                f"{where} catches no mistake alone. A wrong miniature is missing which only it "
                f"catches of its group: {golden.kills!r}, in {file}"
            )
        if not wrong_miniature_caught(scheme, golden):
            yield (
                f"{where} fails none of the wrong miniatures that claim it. One that is wrong "
                f"there is missing: {golden.kills!r}, in {file}"
            )


def _not_needed(scheme: KnownScheme) -> Iterator[str]:
    file = f"lab/posenc_lab/golden_mistakes/{scheme.module_name}.py"
    for golden in own_mistakes(scheme):
        found = killers(scheme).get(golden, own_name(golden))
        if (scheme.id, golden) not in GOLDENS:
            yield f"{file} is for {golden}, which is no golden"
        elif found != own_name(golden):
            yield f"{file} need not have {golden}, which alone catches {found!r}"


def test_kills_are_unique_within_their_group() -> None:
    for scheme in SCHEMES.values():
        counted = Counter((*group(golden), golden.kills) for golden in scheme.goldens)
        assert [key for key, count in counted.items() if count > 1] == []


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
