"""Each golden catches a wrong implementation, and goldens cover everything that can be claimed."""

from collections import Counter

import pytest

from posenc_conformance.checks.golden import golden_case
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.knowledge import KnownScheme
from posenc_conformance.registry import load_all
from posenc_lab import killing
from posenc_lab.killing import caught_by, group

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


@pytest.mark.slow
@pytest.mark.remembered(miniatures=True)
@pytest.mark.parametrize("scheme", SCHEMES.values(), ids=SCHEMES)
def test_goldens_catch_wrong_implementations(scheme: KnownScheme) -> None:
    """Each golden fails a wrong miniature, which the kit as a whole must also reject."""
    file = f"lab/posenc_lab/miniatures/wrong/{scheme.package_name}/{scheme.module_name}.py"
    missing = [
        f"{scheme.path.name}::golden::{golden.id} fails no wrong miniature. "
        f"One that is wrong there is missing in {file}: {golden.kills!r}"
        for golden in scheme.goldens
        if not caught_by(scheme, golden)
    ]
    if missing:
        pytest.fail("\n".join(missing), pytrace=False)


@pytest.mark.slow
def test_a_golden_that_catches_nothing_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Miniatures that are wrong only elsewhere do not count for a golden."""
    scheme = SCHEMES["alibi"]
    (golden,) = (entry for entry in scheme.goldens if entry.id == "slopes-8")
    every = killing.wrong_subjects(scheme)
    assert caught_by(scheme, golden)
    elsewhere = [entry for entry in every if entry.name == "SlopesRepeatFromHead9"]
    monkeypatch.setattr(killing, "wrong_subjects", lambda _: elsewhere)
    assert elsewhere
    assert not caught_by(scheme, golden)


def test_kills_are_unique_within_their_group() -> None:
    for scheme in SCHEMES.values():
        counted = Counter((*group(golden), golden.kills) for golden in scheme.goldens)
        assert [key for key, count in counted.items() if count > 1] == []


def cases(call: str) -> list[Case]:
    """Return the goldens of a call as cases."""
    return [
        golden_case(scheme, golden, "float64")
        for scheme, golden in GOLDENS.values()
        if golden.call == call
    ]


def test_golden_coverage() -> None:
    """There are many goldens, and each combination and each value of an option has one."""
    assert len(GOLDENS) >= 60
    groups = {group(golden) for _, golden in GOLDENS.values()}
    for scheme in SCHEMES.values():
        for call in scheme.calls.values():
            covered = {combination for name, combination, _ in groups if name == call.name}
            assert covered == set(call.combinations), f"{call.name}: a combination has no golden"
            chosen = {option for name, _, point in groups if name == call.name for option in point}
            for option in call.options:
                values = set(scheme.conventions[option].values) - WITHOUT_RESULT
                assert {(option, value) for value in values} <= chosen, (
                    f"{call.name}: a value of {option} has no golden"
                )


def test_golden_coverage_of_odd_dimensions_and_partial_rotation() -> None:
    """Goldens cover partial rotation in each combination, and each rule for odd dimensions."""
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
    goldens = cases(call)
    assert {case.arguments["base"] for case in goldens} >= BASES
    assert {position for case in goldens for position in case.arguments["positions"]} >= POSITIONS
