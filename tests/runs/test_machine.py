"""Conditions of known failures, and the machines that meet them."""

import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest

from posenc_conformance.errors import UserError
from posenc_conformance.report import machine

CPUINFO = """processor\t: 0
flags\t\t: fpu sse2 avx512f

processor\t: 1
flags\t\t: fpu
"""


class Written(type(Path())):  # type: ignore[misc]  # a class that depends on the system
    """A path in a system with this processor."""

    def read_text(self, *arguments: object, **named: object) -> str:
        return CPUINFO


class Nowhere(type(Path())):  # type: ignore[misc]  # a class that depends on the system
    """A path in a system without information on its processor."""

    def read_text(self, *arguments: object, **named: object) -> str:
        raise OSError


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Pretend to run on a certain machine, with a release candidate of a package."""
    monkeypatch.setattr(machine, "Path", Written)
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(machine, "version", version)
    machine.cpu_features.cache_clear()
    yield
    machine.cpu_features.cache_clear()


def version(package: str) -> str:
    if package != "mine":
        raise PackageNotFoundError
    return "2.0rc1"


@pytest.mark.parametrize(
    ("conditions", "holds"),
    [
        ({}, True),
        ({"cpu": "avx512f"}, True),
        ({"cpu": "amx_bf16"}, False),
        ({"cpu": "avx5"}, False),
        ({"no-cpu": "amx_bf16"}, True),
        ({"no-cpu": "sse2"}, False),
        ({"system": "Linux"}, True),
        ({"system": "Darwin"}, False),
        ({"machine": "x86_64"}, True),
        ({"machine": "arm64"}, False),
        ({"versions": {"mine": ">=1.9"}}, True),
        ({"versions": {"mine": ">=2.0rc1"}}, True),
        ({"versions": {"mine": ">=2.0"}}, False),
        ({"versions": {"mine": ">=1.9", "posenc": ">=1"}}, False),
        ({"cpu": "avx512f", "system": "Linux"}, True),
        ({"cpu": "avx512f", "system": "Darwin"}, False),
    ],
)
def test_conditions_hold_on_this_machine_or_not(conditions: dict[str, Any], holds: bool) -> None:
    assert machine.applies("here", conditions) == holds


def test_an_unknown_processor_has_no_features(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(machine, "Path", Nowhere)
    machine.cpu_features.cache_clear()
    assert not machine.applies("here", {"cpu": "sse2"})
    assert machine.applies("here", {"no-cpu": "sse2"})


@pytest.mark.parametrize(
    "conditions",
    [
        "linux",
        ["linux"],
        {"cpu": 1},
        {"versions": "mine>=1"},
        {"versions": {"mine": "much newer"}},
        {"weekday": "Friday"},
        {"system": "Darwin", "weekday": "Friday"},
    ],
)
def test_an_invalid_condition_is_refused(conditions: Any) -> None:
    """It is refused even after a condition that this machine does not meet."""
    with pytest.raises(UserError):
        machine.applies("here", conditions)
