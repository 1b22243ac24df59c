"""The fuzzer: its findings, and a few inputs for every reader."""

import contextlib
from pathlib import Path
from random import Random

import pytest

from posenc_conformance.errors import UserError
from posenc_lab.fuzzing.kinds import KINDS, read_quietly
from posenc_lab.fuzzing.mutators import mutated, mutated_document
from posenc_lab.fuzzing.trials import FORESEEN, content_of, trials
from tests.building import CHECKOUT

pytestmark = pytest.mark.remembered(shipped=True, also=("tests/found", "tests/planted.py"))

FEW = {"identify": 30, "own scheme": 6}
"""Numbers of inputs for slow readers."""
FOUND = sorted((CHECKOUT / "tests" / "found").glob("*/*"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("planted", "what"),
    [
        ("raises", "KeyError"),
        ("loops", "hangs"),
        ("takes memory", "MemoryError"),
        ("dies", "ended its process with -9"),
    ],
)
def test_harm_is_found(planted: str, what: str) -> None:
    tally = trials(planted, 0, 0, 3, 60, each=0.5, worker="tests.planted")
    assert tally.tried == 3
    assert {finding.what for finding in tally.findings} == {what}


@pytest.mark.slow
def test_reading_and_refusing_are_no_findings() -> None:
    for planted in ("right", "refuses", "raises behind the door"):
        tally = trials(planted, 0, 0, 3, 60, worker="tests.planted")
        assert (tally.tried, tally.findings) == (3, [])
        assert bool(tally.caught) == (planted == "raises behind the door")


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_inputs_are_reproducible_and_differ(name: str) -> None:
    made = [content_of(name, 1, number) for number in range(12)]
    assert made == [content_of(name, 1, number) for number in range(12)]
    assert len(set(made)) > 6
    assert made != [content_of(name, 2, number) for number in range(12)]


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_no_reader_is_hurt_by_some_inputs(name: str) -> None:
    tally = trials(name, 0, 0, FEW.get(name, 100), 60)
    assert tally.tried
    assert tally.findings == []


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_unchanged_inputs_are_read(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A fuzzer whose inputs are all refused right away finds nothing."""
    for name_of in ("mutated", "mutated_document", "mutated_call"):
        monkeypatch.setattr(f"posenc_lab.fuzzing.kinds.{name_of}", lambda _, data, *__: data)
    kind = KINDS[name]
    path = tmp_path / kind.name
    read = 0
    for number in range(6):
        path.write_bytes(kind.make(Random(number)))
        with contextlib.suppress(*kind.refusals):
            read_quietly(kind, path)
            read += 1
    assert read > 2


@pytest.mark.parametrize("path", FOUND, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_earlier_findings_are_read_or_refused(path: Path, tmp_path: Path) -> None:
    kind = KINDS[path.parent.name]
    copied = tmp_path / kind.name
    copied.write_bytes(path.read_bytes())
    cause: BaseException | None = None
    try:
        read_quietly(kind, copied)
    except kind.refusals as error:
        cause = error.__cause__
    assert cause is None or isinstance(cause, (*FORESEEN, UserError))


def test_mutators_change_something_and_stay_small() -> None:
    random = Random(0)
    assert len({mutated(random, b"[1, 2, 3]", [b"else"]) for _ in range(100)}) > 80
    documents = [mutated_document(random, {"a": [1, {"b": 2}]}, ["c"]) for _ in range(100)]
    assert len({repr(document) for document in documents}) > 50
