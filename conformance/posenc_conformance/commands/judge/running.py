"""Start an engine, wait until it answers, and end it with all that it has started."""

import os
import signal
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from threading import Thread
from time import monotonic, sleep
from typing import IO

from posenc_conformance.commands.judge.plan import HOST, Line
from posenc_conformance.commands.judge.table import Engine
from posenc_conformance.errors import UserError, in_line

LAST_PORT = 2**16 - 1
HEALTH = "/health"
"""The address that is asked until an engine answers, which may have no such page."""
ASKING = 5.0
"""Seconds that an answer may take while an engine starts."""
PAUSE = 0.2
"""Seconds between two looks at an engine that starts."""
ENDING = 10.0
"""Seconds that an engine has to end by itself."""
TELLING = 15.0
"""Seconds between two messages about an engine that is waited for."""
PIECE = 2**12
MOST_PIECES = 16
"""Pieces of output that are kept: the last ones."""
LAST_LINES = 20
"""Lines of output that are shown of an engine that fails."""


class Started:
    """A program that runs in a process group of its own, and the last part of its output."""

    def __init__(self, line: Line, environ: Mapping[str, str], *, echo: bool = False) -> None:
        """Start a program; raise UserError if that is not possible."""
        self._pieces: deque[bytes] = deque(maxlen=MOST_PIECES)
        try:
            self.process = subprocess.Popen(
                line.words,
                env={**environ, **line.variables},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                bufsize=0,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise UserError(
                f"{in_line(line.words[0])} cannot be started: {error}", "see whether it is there"
            ) from error
        assert self.process.stdout is not None
        self._reader = Thread(target=self._read, args=(self.process.stdout, echo), daemon=True)
        self._reader.start()

    def _read(self, stream: IO[bytes], echo: bool) -> None:
        """Read all output, so that the program never waits, and keep the last of it."""
        with suppress(OSError, ValueError):  # it is closed while it is read
            while piece := stream.read(PIECE):
                self._pieces.append(piece)
                if echo:
                    sys.stderr.write(piece.decode("utf-8", "replace"))

    @property
    def status(self) -> str | None:
        """How the program ended; None while it runs."""
        code = self.process.poll()
        if code is None:
            return None
        return f"was ended by signal {-code}" if code < 0 else f"ended with status {code}"

    @property
    def ending(self) -> str:
        """How the program ended, in two words."""
        code = self.process.poll() or 0
        return f"signal {-code}" if code < 0 else f"code {code}"

    @property
    def last_words(self) -> str:
        """The last lines of the output, for people."""
        if self.status is not None:
            self._reader.join(1)  # the rest may still be in the pipe
        text = b"".join([*self._pieces]).decode("utf-8", "replace")
        lines = [in_line(line) for line in text.splitlines() if line.strip()][-LAST_LINES:]
        return "\n  ".join(["its last lines:", *lines]) if lines else "it printed nothing"

    @property
    def last_line(self) -> str:
        """The last line of the output; empty if there is none."""
        text = b"".join([*self._pieces][-1:]).decode("utf-8", "replace")
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return in_line(lines[-1], 100) if lines else ""


def end(process: subprocess.Popen[bytes]) -> None:
    """End a program and all processes of its group, by force if they do not end by themselves."""
    try:
        _signal(process, signal.SIGTERM)
        until = monotonic() + ENDING
        while monotonic() < until and _lives(process):
            sleep(0.05)
    finally:  # also if somebody interrupts the waiting
        _kill(process)
        process.wait()


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            process.terminate()
        else:
            os.killpg(process.pid, number)


def _kill(process: subprocess.Popen[bytes]) -> None:
    if sys.platform == "win32":
        process.kill()
    else:
        _signal(process, signal.SIGKILL)


def _lives(process: subprocess.Popen[bytes]) -> bool:
    """Return whether a process of the group runs."""
    if process.poll() is None or sys.platform == "win32":
        return process.poll() is None
    try:
        os.killpg(process.pid, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


@contextmanager
def running(line: Line, environ: Mapping[str, str], *, echo: bool = False) -> Iterator[Started]:
    """Run a program while the context lasts, and end it whatever happens."""
    started = Started(line, environ, echo=echo)
    try:
        yield started
    finally:
        end(started.process)


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Turn the signals that end a program into exceptions, so that engines are ended as well."""

    def leave(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    numbers = [signal.SIGTERM] if sys.platform == "win32" else [signal.SIGTERM, signal.SIGHUP]
    before = {number: signal.signal(number, leave) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def wait_for_end(started: Started, seconds: float, title: str) -> None:
    """Wait until a converter has ended.

    Raises UserError if it fails, or takes longer than ``seconds``.
    """
    try:
        code = started.process.wait(seconds)
    except subprocess.TimeoutExpired:
        raise UserError(
            f"{title} was not through after {seconds:g} s; {started.last_words}",
            "--wait=SECONDS gives it more",
        ) from None
    if code:
        raise UserError(
            f"{title} {started.status}; {started.last_words}",
            "if it cannot convert the probe, see whether it converts the model",
        )


def wait_for_answer(
    started: Started, port: int, seconds: float, engine: Engine, tell: Callable[[str], None]
) -> float:
    """Wait until an engine answers at a port, and return the seconds that it took.

    Raises UserError if it ends before, or does not answer in time.
    """
    title = engine.title
    began = told = monotonic()
    while (now := monotonic()) < began + seconds:
        if started.status is not None:
            raise UserError(
                f"{title} {started.status} before it answered; {started.last_words}",
                _help(engine),
            )
        if answers(port):
            return monotonic() - began
        if now > told + TELLING:
            told = now
            tell(f"waiting for {title} since {now - began:.0f} s: {started.last_line}")
        sleep(PAUSE)
    raise UserError(
        f"{title} did not answer at port {port} within {seconds:g} s; {started.last_words}",
        f"--wait=SECONDS gives it more time; {_help(engine)}",
    )


def _help(engine: Engine) -> str:
    """Return what helps an engine that does not start."""
    if engine.is_own:
        return "see that the line above starts it, and that it answers at {port}"
    needs = f"it needs {engine.needs}; " if engine.needs else ""
    return f"{needs}posenc engines {engine.id} has all that is known"


def answers(port: int) -> bool:
    """Return whether an engine answers, and does not say that it is loading."""
    connection = HTTPConnection(HOST, port, timeout=ASKING)
    try:
        connection.request("GET", HEALTH)
        return connection.getresponse().status != HTTPStatus.SERVICE_UNAVAILABLE
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def free_port(wanted: int | None = None) -> int:
    """Return a port that nothing listens at: the wanted one, or any.

    Raises UserError if the wanted one is taken, or is no port.
    """
    if wanted is not None and not 0 < wanted <= LAST_PORT:
        raise UserError(
            f"--port={wanted} is out of range",
            f"give a port from 1 to {LAST_PORT}, or leave it out: a free one is taken",
        )
    with socket.socket() as listener:
        if os.name == "posix":  # a port that was just left counts as free
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, wanted or 0))
        except OSError as error:
            raise UserError(
                f"--port={wanted} cannot be used: {error}",
                "end what listens there, or leave out --port: a free one is taken",
            ) from error
        port: int = listener.getsockname()[1]
        return port
