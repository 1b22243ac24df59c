"""Changes that an implementation makes to the process that it shares with its caller."""

import locale
import random
import sys
import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import posenc
from posenc_conformance import claims
from posenc_conformance.judge.process_state import find_changes_by
from posenc_lab.judging import judge
from posenc_lab.miniatures.styles import Array

pytestmark = pytest.mark.remembered(shipped=True)

WRONG: dict[str, Callable[[], object]] = {
    "NumPy's random state": lambda: np.random.seed(0),  # noqa: NPY002
    "NumPy's random state, by 1": lambda: np.random.seed(1),  # noqa: NPY002
    "Python's random state": lambda: random.seed(0),
    "Python's random state, by 2": lambda: random.seed(2),
    "floating-point errors": lambda: np.seterr(all="ignore"),
    "print options": lambda: np.set_printoptions(precision=3),
    "filters of warnings": lambda: warnings.simplefilter("ignore"),
    "the locale": lambda: locale.setlocale(locale.LC_ALL, "C.UTF-8"),
}
RIGHT: dict[str, Callable[[], object]] = {
    "nothing": lambda: None,
    "drawn numbers": lambda: (np.random.rand(), random.random()),  # noqa: NPY002
    "as many as there are seeds": lambda: random.seed(random.random()),
    "a generator of its own": lambda: np.random.default_rng(0).random(),
    "a warning caught": lambda: _quiet(),
    "errors silenced for a while": lambda: _silenced(),
}


def _quiet() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")


def _silenced() -> None:
    with np.errstate(all="ignore"):
        np.float64(1) / np.float64(0)


def doing(action: Callable[[], object]) -> object:
    class Adapter:
        @claims("half")
        def rope(self, x: Array, positions: Array, *, base: float) -> Any:
            action()
            return posenc.rope(x, positions, base=base, layout="half")

    return Adapter()


def verdicts(action: Callable[[], object]) -> dict[str, tuple[str, str]]:
    outcomes = judge(doing(action), ["smoke", "behaviour"])
    return {run.check.id.partition("[")[0]: (run.verdict, run.text) for run in outcomes}


@pytest.mark.parametrize("what", WRONG)
def test_a_change_that_remains_is_named(what: str) -> None:
    before = np.geterr(), np.get_printoptions(), locale.setlocale(locale.LC_ALL)
    try:
        verdict, text = verdicts(WRONG[what])["process-untouched"]
    finally:
        np.seterr(**before[0])
        np.set_printoptions(**before[1])
        locale.setlocale(locale.LC_ALL, before[2])
    assert verdict == "failed"
    assert what.partition(",")[0] in text


@pytest.mark.parametrize("what", RIGHT)
def test_a_change_that_is_undone_passes(what: str) -> None:
    assert {verdict for verdict, _ in verdicts(RIGHT[what]).values()} == {"passed"}


@pytest.mark.torch
def test_modules_of_torch_may_be_made_but_torch_not_seeded() -> None:
    import torch

    assert verdicts(lambda: torch.nn.Linear(2, 2))["process-untouched"][0] == "passed"
    for action in (
        lambda: torch.manual_seed(0),
        lambda: torch.set_default_dtype(torch.float64),
    ):
        verdict, text = verdicts(action)["process-untouched"]
        torch.set_default_dtype(torch.float32)
        assert verdict == "failed"
        assert "PyTorch" in text


def test_a_change_by_the_first_call_only_counts_as_an_import() -> None:
    """In a worker that was restarted, any check may make the first call."""
    waiting = [lambda: warnings.simplefilter("ignore")]
    before = list(warnings.filters)
    assert find_changes_by(lambda: waiting and waiting.pop()()) == []
    assert list(warnings.filters) == before


class FakeTorch:
    """The part of PyTorch that is inspected: drawing advances its state, and a seed sets it."""

    float32, float64 = "float32", "float64"

    def __init__(self) -> None:
        self.state, self.dtype = 7, "float32"
        self.random = SimpleNamespace(
            get_rng_state=lambda: self.state,
            set_rng_state=lambda state: setattr(self, "state", state),
        )

    def get_default_dtype(self) -> str:
        return self.dtype

    def set_default_dtype(self, dtype: str) -> None:
        self.dtype = dtype

    def manual_seed(self, seed: int) -> None:
        self.state = 1000 * seed

    def draw(self) -> None:
        self.state += 1

    @staticmethod
    def equal(one: int, other: int) -> bool:
        return one == other


@pytest.mark.parametrize(
    ("action", "changed"),
    [
        (lambda torch: None, []),
        (lambda torch: torch.draw(), []),
        (lambda torch: torch.manual_seed(5), ["PyTorch's random state"]),
        (lambda torch: (torch.manual_seed(5), torch.draw()), ["PyTorch's random state"]),
        (lambda torch: torch.set_default_dtype("float64"), ["PyTorch's default dtype"]),
    ],
)
def test_changes_to_torch_are_reported_and_undone(
    action: Callable[[FakeTorch], object], changed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = FakeTorch()
    monkeypatch.setitem(sys.modules, "torch", torch)
    assert find_changes_by(lambda: action(torch)) == changed
    assert torch.state in (7, 7 + 2, 5000, 5001)
    assert torch.dtype == ("float64" if "dtype" in "".join(changed) else "float32")
