"""The known results of each library for which the kit has adapters."""

import subprocess
import sys

import pytest

from posenc_conformance.adapters.find import registered
from scoreboard.environments import name_of
from scoreboard.table import libraries

SHIPPED = {
    adapter.name: library
    for library in libraries()
    if library.is_shipped
    for adapter in (*library.beside, *library.adapters)
}


def chosen(name: str) -> object:
    """Return a name as a parameter; nightly with JAX, which compiles for every new shape."""
    compiles = any(name_of(requirement) == "jax" for requirement in SHIPPED[name].install)
    return pytest.param(name, marks=[pytest.mark.nightly] if compiles else [])


def test_the_table_has_every_library_of_the_kit() -> None:
    assert {*SHIPPED} == {*registered()} - {"reference"}


@pytest.mark.parametrize("name", [chosen(name) for name in SHIPPED])
def test_library_gives_its_known_results(name: str) -> None:
    judged = [sys.executable, "-m", "scoreboard.conformance", name, "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(judged, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
