"""Requests to a process, which is restarted when it is lost."""

import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from posenc_conformance.errors import in_line
from posenc_conformance.remote.process import Process, ProcessDied
from posenc_conformance.remote.wire import Malformed, Message, Received, Transport, shortened

STARTING = 5
"""The time limit for starting, as a multiple of the time limit of a call."""
LAST_LINES = 12
"""The number of last printed lines that are shown when a process is lost."""


@dataclass(frozen=True)
class Limits:
    """The limits of one call."""

    seconds: float = 60.0
    starting: float = STARTING * 60.0
    memory: int = 0
    """In bytes; 0 for no limit."""


@dataclass(frozen=True)
class Command:
    """How a process is started."""

    words: Sequence[str]
    folder: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict)


class Peer:
    """A process that answers requests, one after the other."""

    def __init__(
        self,
        command: Command,
        transport: Callable[[], Transport],
        limits: Limits,
        first: Message,
        listen: Callable[[str], None],
    ) -> None:
        # Every process first gets the request ``first``; its printed output goes to ``listen``.
        self.limits = limits
        self.starts = 0
        """How often the process was started."""
        self._command, self._transport, self._first = command, transport, first
        self._listen = listen
        self._process: Process | None = None
        self._number = 0
        self._wire = transport()

    def describe(self) -> Message:
        """Start a new process and return its answer to the first request.

        Raises ProcessDied if it gives no answer.
        """
        self.end()
        return self._started().message

    def ask(self, request: Message) -> Received:
        """Send a request and return the answer, which has a result or an error.

        Raises ProcessDied if there is no answer. The process is then ended, and the next request
        restarts it.
        """
        if self._process is None:
            self._started()
        return self._ask(request, self.limits.seconds)

    def refuse(self, why: Malformed, said: Received) -> ProcessDied:
        """End the process because of a malformed result, and return the reason."""
        return self._lost(ProcessDied(_against(Malformed(why.why, said.text))))

    def end(self) -> None:
        """Send the process a goodbye and end it, if it is running."""
        process, self._process = self._process, None
        if process is None:
            return
        try:
            self._number += 1
            goodbye = self._wire.encode({"id": self._number, "request": "goodbye"})
            process.exchange(goodbye, self._wire.take, 1.0, 0)
            process.leave()
        except (ProcessDied, Malformed):
            pass
        finally:
            process.end()

    def _started(self) -> Received:
        command = self._command
        self._process = Process(command.words, command.folder, command.environment)
        weakref.finalize(self, self._process.end)
        self._wire = self._transport()
        self._number = 0
        self.starts += 1
        return self._ask(self._first, self.limits.starting)

    def _ask(self, request: Message, seconds: float) -> Received:
        process = self._process
        assert process is not None
        try:
            if stray := process.stray():
                raise Malformed("it sent an unrequested line", shortened(stray.split(b"\n")[0]))
            self._number += 1
            data = self._wire.encode({"id": self._number, **request})
            answer = process.exchange(data, self._wire.take, seconds, self.limits.memory)
            _demand_answer(answer, self._number)
        except Malformed as problem:
            raise self._lost(ProcessDied(_against(problem))) from None
        except ProcessDied as reason:
            raise self._lost(reason) from None
        except BaseException:  # else a late answer would be taken for the next one
            self._process = None
            process.end()
            raise
        if heard := process.heard():
            self._listen(heard)
        return answer

    def _lost(self, reason: ProcessDied) -> ProcessDied:
        """End the process and return the reason, with the last lines that it printed."""
        process, self._process = self._process, None
        if process is None:
            return reason
        lines = process.heard().strip().splitlines()
        process.end()
        if not lines:
            return reason
        shown = "\n".join(f"  {in_line(line)}" for line in lines[-LAST_LINES:])
        return type(reason)(f"{reason}; it had printed\n{shown}")


def _against(problem: Malformed) -> str:
    return f"broke the protocol: {problem.why}\nline       {problem.said or '(empty)'}"


def _demand_answer(said: Received, number: int) -> None:
    """Raise Malformed unless a message is an answer to the request of this number."""
    message, text = said.message, said.text
    if message.get("id") != number or isinstance(message.get("id"), bool):
        shown = in_line(repr(message.get("id")))
        raise Malformed(f"request {number} got an answer with the id {shown}", text)
    if ("result" in message) == ("error" in message):
        both = "both a result and an error" if "result" in message else "no result and no error"
        raise Malformed(f"the answer has {both}", text)
    error = message.get("error", {"type": "", "message": ""})
    if not isinstance(error, dict) or not all(
        isinstance(error.get(name), str) for name in ("type", "message")
    ):
        raise Malformed("the error has no type and message", text)
