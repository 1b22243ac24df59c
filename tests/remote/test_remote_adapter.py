"""Handling the answers of another process."""

from typing import Any

import numpy as np
import pytest

from posenc_conformance.judge.misbehaviour import Breakdown, Escape, Misbehaviour, Refusal
from posenc_conformance.remote.adapter import Program, When, Worker
from posenc_conformance.remote.process import ProcessDied
from posenc_conformance.remote.wire import Message, Received


class Peer:
    """A process that gives one answer to everything."""

    def __init__(self, answer: Message | None) -> None:
        self.answer, self.starts = answer, 1
        self.asked: list[Message] = []

    def ask(self, request: Message) -> Received:
        self.asked.append(request)
        if self.answer is None:
            raise ProcessDied("exited with status 3")
        return Received({"id": 7, **self.answer}, "")


def peer(answer: Message | None) -> Any:
    return Peer(answer)


def worker(answer: Message | None) -> Worker:
    return Worker(peer(answer), "rope", [], "mine.py:3", None)


def condition(answer: Message | None) -> When:
    return When(peer(answer), "rope", 2, {"place": "mine.py:3", "parameters": []})


FAILED = {"error": {"type": "", "kind": "refusal", "message": "raised ValueError: odd"}}


def test_a_condition_returns_the_result_or_raises_the_error_of_the_worker() -> None:
    assert condition({"result": True})(base=1.0) is True
    assert condition({"result": False})() is False
    with pytest.raises(RuntimeError, match="ValueError: odd"):
        condition(FAILED)()
    with pytest.raises(RuntimeError, match="status 3"):
        condition(None)()


@pytest.mark.parametrize(
    ("kind", "raised"), [("refusal", Refusal), ("escape", Escape), ("form", Misbehaviour)]
)
def test_errors_in_the_worker_are_raised_here(kind: str, raised: type[Misbehaviour]) -> None:
    answer = {"error": {"type": "", "kind": kind, "message": "raised ValueError: odd"}}
    with pytest.raises(raised, match="odd") as caught:
        worker(answer)()
    assert caught.type is raised
    with pytest.raises(Breakdown, match="status 3"):
        worker(None)()


def test_a_kept_result_is_lost_with_its_process() -> None:
    array = np.arange(3.0)
    it = peer({"result": True, "arrays": {"the result": array}})
    held = Worker(it, "rope", [], "mine.py:3", None).hold()
    assert np.array_equal(held.now(), array)
    assert held.write(0) is True
    it.starts += 1
    for ask in (held.now, lambda: held.write(0)):
        with pytest.raises(Breakdown):
            ask()
    assert [message["request"] for message in it.asked] == ["call", "now", "write"]


def test_a_missing_result_cannot_be_held() -> None:
    with pytest.raises(Misbehaviour, match="return"):
        worker({"result": None, "arrays": {}}).hold()


@pytest.mark.parametrize(("type", "declined"), [("NotImplementedError", True), ("Error", False)])
def test_a_program_declines_by_the_name_of_an_exception(type: str, declined: bool) -> None:
    answer = {"error": {"type": type, "message": "not this"}}
    it = Program(peer(answer), "rope", [], "mine", ("x",))
    with pytest.raises(Refusal) as raised:
        it(np.zeros(2))
    assert isinstance(raised.value.__cause__, NotImplementedError) == declined
