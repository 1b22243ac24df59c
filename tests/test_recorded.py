"""What the site shows of the benchmarks was measured with the miniatures that there are now."""

import json
from collections import Counter
from typing import Any

import pytest
from benchmarks.matrix import home
from benchmarks.mutants import parsed

from tests.building import CHECKOUT
from tests.miniatures import right, wrong
from tests.miniatures.mistakes import WRONG
from tests.miniatures.styles import RIGHT

assert right.__path__, wrong.__path__  # importing them fills the lists


def recorded(name: str) -> dict[str, Any]:
    path = CHECKOUT / "docs" / "data" / f"{name}.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def wrong_of_each_scheme() -> dict[str, int]:
    return dict(Counter(home(each.call) for each in WRONG))


def test_the_matrix_has_every_miniature() -> None:
    data = recorded("matrix")
    counts = {scheme: group["wrong"] for scheme, group in data["schemes"].items()}
    assert counts == wrong_of_each_scheme(), "run python -m benchmarks.matrix"
    assert sum(data["right"].values()) == len(RIGHT), "run python -m benchmarks.matrix"


def test_the_comparison_has_every_miniature() -> None:
    data = recorded("today")
    counts = {scheme: ways["the kit"]["asked"] for scheme, ways in data["wrong"].items()}
    assert counts == wrong_of_each_scheme(), "run python -m benchmarks.today"


def test_the_mutants_are_those_of_the_reference() -> None:
    modules = recorded("mutants")["modules"]
    assert modules
    for name, kinds in modules.items():
        assert sum(kinds.values()) == len(parsed(name)[1]), (
            f"{name}: run python -m benchmarks.mutants"
        )


@pytest.mark.parametrize(
    "name", ["calibrate", "length", "matrix", "mutants", "sensitivity", "today"]
)
def test_results_name_the_versions_that_gave_them(name: str) -> None:
    assert {"python", "numpy", "posenc"} <= set(recorded(name)["versions"])
