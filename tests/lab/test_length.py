"""The recorded results of ``posenc_lab.length`` are whole and agree with themselves."""

import math
import operator
from collections import Counter
from itertools import product
from typing import Any

import mpmath
import pytest

from posenc_lab.length.summary import STUDENT, spread, summary
from posenc_lab.results import path_of, read_record

RESCALED = {"position-interpolation", "ntk-aware", "dynamic-ntk", "yarn"}


@pytest.fixture(scope="module")
def data() -> dict[str, Any]:
    return read_record(path_of("length"))


def test_every_scheme_has_every_task_and_seed(data: dict[str, Any]) -> None:
    tasks = data["settings"]["steps"]
    schemes = {row["scheme"] for row in data["results"]}
    assert schemes >= RESCALED | {"nope", "sinusoidal", "learned", "rope", "alibi", "t5-bias-128"}
    assert len(data["seeds"]) >= 5
    counts = Counter((row["task"], row["scheme"], row["seed"]) for row in data["results"])
    assert counts == Counter(product(tasks, schemes, data["seeds"]))


def test_rescaled_schemes_have_the_trained_model_of_rope(data: dict[str, Any]) -> None:
    for row in data["results"]:
        trained = "rope" if row["scheme"] in RESCALED else row["scheme"]
        assert row["trained"] == trained, row["scheme"]


def test_versions_are_recorded(data: dict[str, Any]) -> None:
    assert set(data["versions"]) == {"python", "numpy", "torch", "posenc"}
    assert set(data["run"]) == {"cpu", "processes", "seconds", "cpu_seconds"}


def test_the_summary_follows_from_the_results(data: dict[str, Any]) -> None:
    assert summary(data["results"]) == data["summary"]
    data["results"][0]["beyond"]["accuracy"] += 0.01
    assert summary(data["results"]) != data["summary"]
    data["results"][0]["beyond"]["accuracy"] -= 0.01


@pytest.mark.parametrize("score", ["accuracy", "loss"])
def test_parts_follow_from_places(data: dict[str, Any], score: str) -> None:
    settings = data["settings"]
    bins = settings["trained_length"] // settings["bin"]
    for row in data["results"]:
        counts = data["questions"][row["task"]]
        places = row[f"{score}_by_place"]
        assert len(places) == len(counts) == settings["tested_length"] // settings["bin"]
        for part, span in (("within", slice(bins)), ("beyond", slice(bins, None))):
            mean = sum(map(operator.mul, places[span], counts[span])) / sum(counts[span])
            assert math.isclose(row[part][score], mean, rel_tol=1e-4, abs_tol=1e-6), row["scheme"]


def test_later_tokens_change_nothing_except_with_dynamic_scaling(data: dict[str, Any]) -> None:
    moved = {
        row["scheme"]
        for row in data["results"]
        if not math.isclose(row["alone"]["loss"], row["within"]["loss"], rel_tol=1e-3)
    }
    assert moved == {"dynamic-ntk"}


def test_students_points_are_students() -> None:
    for freedom, point in STUDENT.items():
        n = mpmath.mpf(freedom)
        inside = 1 - mpmath.betainc(n / 2, 0.5, 0, n / (n + point**2), regularized=True)
        assert abs(inside - 0.95) < 1e-4, freedom
    assert spread([1.0, 2.0, 3.0]) == {"mean": 2.0, "half": 2.4843, "min": 1.0, "max": 3.0}
