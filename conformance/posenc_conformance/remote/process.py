"""A process that answers requests: its output, time, memory and end."""

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from posenc_conformance.errors import UserError
from posenc_conformance.remote.process_tree import NAME, end_family, memory_of, new_mark

T = TypeVar("T")

PIECE = 2**20
HEARD = 2**16
"""The number of last bytes kept of the output printed during a call."""
TICK = 0.05
"""Seconds between two measurements of memory."""
GRACE = 2.0
"""Seconds that a process has to end by itself."""


class ProcessDied(Exception):
    """The process gave no answer and has ended. The text says why and begins with a verb."""


class GaveNoAnswer(ProcessDied):
    """The process was ended because an answer took longer than allowed."""


class Process:
    """A process with three pipes, in a session of its own, so that Ctrl-C reaches only the kit."""

    def __init__(
        self, command: Sequence[str], folder: Path | None, environment: Mapping[str, str]
    ) -> None:
        self._mark = new_mark()
        try:
            self._process = subprocess.Popen(
                command,
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=folder,
                env={**os.environ, **environment, NAME: self._mark},
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise UserError(
                f"{command[0]} cannot be started: {reason}",
                "it must be a program that can be executed"
                + (f", as seen from {folder}" if folder else ""),
            ) from None
        self._streams = [
            stream
            for stream in (self._process.stdin, self._process.stdout, self._process.stderr)
            if stream is not None
        ]
        self._in, self._out, self._err = (stream.fileno() for stream in self._streams)
        for number in (self._in, self._out, self._err):
            os.set_blocking(number, False)
        self._poll = select.poll()
        self._poll.register(self._out, select.POLLIN)
        self._poll.register(self._err, select.POLLIN)
        self._ended = False
        self._said = bytearray()
        self._heard = bytearray()

    def heard(self) -> str:
        """Return what the process has printed to standard error since the last call."""
        with contextlib.suppress(OSError):
            while self._hear():
                pass
        text = bytes(self._heard).decode("utf-8", "backslashreplace")
        self._heard.clear()
        return text

    def exchange(
        self, data: bytes, take: Callable[[bytearray], T | None], seconds: float, memory: int
    ) -> T:
        """Write ``data``, and read until ``take`` returns an answer.

        ``memory`` is in bytes; 0 is no limit. Raises ProcessDied if no answer will come, or takes
        more time or memory than allowed, and any error of ``take``.
        """
        now = time.monotonic()
        end, look = now + seconds, now + TICK
        unsent = self._write(memoryview(data))
        if unsent:
            self._poll.register(self._in, select.POLLOUT)
        try:
            while True:
                answer = take(self._said) if self._said else None
                if answer is not None:
                    return answer
                now = time.monotonic()
                if now > look:
                    look = now + TICK
                    if memory and (used := self.memory(memory)) > memory:
                        allowed = f"{amount(memory)} are allowed, see --posenc-memory"
                        raise ProcessDied(f"took {amount(used)} of memory; {allowed}")
                    if self._process.poll() is not None and not self._has_said_more():
                        raise self._over()  # its child may keep its streams open
                if now > end:
                    raise GaveNoAnswer(f"gave no answer within {seconds:g} s, see --posenc-timeout")
                for descriptor, _ in self._poll.poll(1000 * (min(end, look) - now)):
                    if descriptor == self._out:
                        self._read()
                    elif descriptor == self._in:
                        unsent = self._write(unsent)
                        if not unsent:
                            self._poll.unregister(self._in)
                    elif not self._hear():
                        self._poll.unregister(self._err)
        finally:
            if unsent:
                self._poll.unregister(self._in)

    def stray(self) -> bytes:
        """Return the unrequested output of the process."""
        with contextlib.suppress(BlockingIOError, ProcessDied):
            self._read()
        return bytes(self._said)

    def _has_said_more(self) -> bool:
        """Return whether the process has output that is not read yet."""
        poll = select.poll()
        poll.register(self._out, select.POLLIN)
        return bool(poll.poll(0))

    def memory(self, most: int = 0) -> int:
        """Return the bytes of memory that the process and its children use.

        Returns 0 if that is unknown; below ``most``, shared memory may be counted several times.
        """
        return memory_of(self._process.pid, most)

    def end(self) -> None:
        """Kill the process with everything that it has started."""
        if self._ended:  # its number may belong to another process by now
            return
        self._ended = True
        end_family(self._process.pid, self._mark)
        self._close()

    def leave(self) -> None:
        """Give the process a short time to end by itself, then kill it."""
        with contextlib.suppress(subprocess.TimeoutExpired, OSError):
            self._streams[0].close()
            self._process.wait(GRACE)
        self.end()

    def _close(self) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(GRACE)
        for stream in self._streams:
            with contextlib.suppress(OSError):
                stream.close()

    def _write(self, data: memoryview) -> memoryview:
        """Write as much of ``data`` as the pipe accepts, and return the rest."""
        try:
            return data[os.write(self._in, data[:PIECE]) :]
        except BlockingIOError:
            return data
        except OSError:
            raise self._over() from None

    def _read(self) -> None:
        piece = os.read(self._out, PIECE)
        if not piece:
            raise self._over()
        self._said += piece

    def _hear(self) -> bool:
        piece = os.read(self._err, PIECE)
        self._heard += piece
        if len(self._heard) > HEARD:
            del self._heard[:-HEARD]
        return bool(piece)

    def _over(self) -> ProcessDied:
        """Return why the process has closed a stream, usually because it has ended."""
        try:
            code = self._process.wait(GRACE)
        except subprocess.TimeoutExpired:
            return ProcessDied("closed its standard streams")
        if code < 0:
            return ProcessDied(f"was ended by signal {-code} ({_signal(-code)})")
        return ProcessDied(f"exited with status {code}")


def amount(size: int) -> str:
    """Format a number of bytes for people."""
    return f"{size / 1e9:.3g} GB" if size >= 10**9 else f"{size / 1e6:.3g} MB"


def spare() -> int:
    """Return nine tenths of the machine's available memory; 0 if that is unknown.

    In a container, it is at most nine tenths of the memory left to the container.
    """
    sizes = [_available(), _left_of_container()]
    return min((9 * size // 10 for size in sizes if size), default=0)


def _available() -> int:
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return 0


def _left_of_container() -> int:
    folder = Path("/sys/fs/cgroup")
    with contextlib.suppress(OSError, ValueError):
        limit = int((folder / "memory.max").read_text(encoding="ascii"))
        used = int((folder / "memory.current").read_text(encoding="ascii"))
        lines = (folder / "memory.stat").read_text(encoding="ascii").splitlines()
        given_back = sum(int(line.split()[1]) for line in lines if line.startswith("file "))
        return max(1, limit - used + given_back)
    return 0


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"
