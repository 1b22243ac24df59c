"""Loading adapters, here or in a worker, where they have the same names as here."""

import os

import numpy as np
import pytest

from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.checks.smoke import smallest_case
from posenc_conformance.errors import UserError
from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.calling import ask
from posenc_conformance.remote import load as loading
from posenc_conformance.remote.command_line import Manifest
from posenc_conformance.remote.load import How, Isolation, load
from posenc_conformance.remote.peer import Command, Limits
from posenc_conformance.remote.worker import HELD, Answering
from posenc_lab.judging import schemes


@pytest.mark.slow
def test_the_reference_may_run_in_a_process_of_its_own() -> None:
    """It claims exactly the schemes that it is given."""
    chosen = [entry for entry in schemes() if entry.id in ("integer", "binary")]
    loaded = load("reference", How(Isolation.APART), chosen)
    try:
        claimed = subjects(loaded.adapter, chosen)
        assert {entry.scheme.id for entry in claimed} == {"integer", "binary"}
        for subject in claimed:
            case = smallest_case(subject, subject.dtypes[0])
            assert np.array_equal(ask(subject, case), case.truth)
    finally:
        loaded.end()


@pytest.mark.parametrize("place", [Isolation.HERE, Isolation.APART])
def test_an_unknown_name_is_one_message(place: Isolation) -> None:
    with pytest.raises(UserError) as raised:
        load("refrence", How(place), schemes())
    assert "reference" in raised.value.cause + raised.value.hint


def test_a_worker_keeps_a_limited_number_of_results() -> None:
    class Counting:
        def integer(self, positions: Array) -> Array:
            return positions + 1

    adapter = Answering(Counting())
    for number in range(HELD + 2):
        arguments = {"0": np.arange(3)}
        answer = adapter.call(
            {"id": number, "call": "integer", "rest": {}, "arrays": arguments, "keep": True}
        )
        assert answer["result"] is True
        assert len(adapter.kept) == min(number + 1, HELD)
    assert [*adapter.kept] == [*range(2, HELD + 2)]


@pytest.fixture
def spare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretend that the machine has 10**9 bytes to spare."""
    monkeypatch.setattr(loading, "spare", lambda: 10**9)


PROGRAM = Command(["program"])
USUAL = Limits(60.0, 300.0, 10**9)


@pytest.mark.usefixtures("spare")
@pytest.mark.parametrize(
    ("how", "manifest", "limits"),
    [
        (How(), None, USUAL),
        (How(), Manifest(PROGRAM, "program"), USUAL),
        (How(seconds=2.0), None, Limits(2.0, 10.0, 10**9)),
        (How(memory=5), None, Limits(60.0, 300.0, 5)),
        (How(memory=0), None, Limits(60.0, 300.0, 0)),
        (How(), Manifest(PROGRAM, "program", seconds=3.0), Limits(3.0, 15.0, 10**9)),
        (How(), Manifest(PROGRAM, "program", starting=7.0), Limits(60.0, 7.0, 10**9)),
        (How(), Manifest(PROGRAM, "program", memory=8), Limits(60.0, 300.0, 8)),
        (How(), Manifest(PROGRAM, "program", memory=0), Limits(60.0, 300.0, 0)),
        (
            How(seconds=2.0, memory=5),
            Manifest(PROGRAM, "program", seconds=3.0, starting=7.0, memory=8),
            Limits(2.0, 7.0, 5),
        ),
    ],
)
def test_limits_come_from_options_then_manifest_then_defaults(
    how: How, manifest: Manifest | None, limits: Limits
) -> None:
    assert loading._limits(how, manifest) == limits


def test_limits_are_shown_in_words() -> None:
    assert "2.5 s and 8 GB for" in loading._in_words(Limits(2.5, 1.0, 8 * 10**9))
    assert "60 s for" in loading._in_words(Limits(60.0, 1.0, 0))


def test_a_process_of_its_own_needs_posix(monkeypatch: pytest.MonkeyPatch) -> None:
    loading._demand_poll("an adapter can run there")
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(os, "name", "nt")
        with pytest.raises(UserError, match="an adapter can run there only on POSIX systems"):
            loading._demand_poll("an adapter can run there")
