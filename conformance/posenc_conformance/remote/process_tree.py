"""The descendants of a process: they are counted in its memory, and ended with it.

On Linux, ``/proc`` shows the children of a process, and which processes have its mark in their
environment: descendants inherit the mark, even if they detach. Elsewhere only the group of the
process is known.
"""

import contextlib
import os
import secrets
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

NAME = "POSENC_PROCESS"
"""The environment variable that contains the mark."""
ROUNDS = 5
"""Rounds of looking for survivors, which may start others while they are ended."""


def new_mark() -> str:
    """Return a mark that no other process has."""
    return secrets.token_hex(16)


def family(pid: int) -> list[int]:
    """List a process and its descendants, except those below an ended parent."""
    members = [pid]
    for member in members:  # grows during the loop
        members += [child for child in _children(member) if child not in members]
    return members


def _children(pid: int) -> Iterator[int]:
    with contextlib.suppress(OSError, ValueError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError, ValueError):
                yield from map(int, (thread / "children").read_text(encoding="ascii").split())


def memory_of(pid: int, most: int = 0) -> int:
    """Return the bytes of memory that a process and its children use; 0 if that is unknown.

    If that may be more than ``most``, shared memory is counted once.
    """
    members = family(pid)
    used = sum(map(_resident, members))
    if len(members) > 1 and used > most:
        return sum(_share(member) or _resident(member) for member in members)  # some may have ended
    return used


def _resident(pid: int) -> int:
    with contextlib.suppress(OSError, ValueError, IndexError):
        pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    with contextlib.suppress(OSError, ValueError):
        shown = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True)
        return int(shown.stdout) * 1024
    return 0


def _share(pid: int) -> int:
    """Return the memory of a process, with its part of shared pages, in bytes; 0 if unknown."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0


def end_family(pid: int, mark: str) -> None:
    """Kill a process with its group, its descendants, and all processes with its mark."""
    members = family(pid)[1:]
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    for _ in range(ROUNDS):
        for member in members:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(member, signal.SIGKILL)
        members = list(_marked(mark))
        if not members:
            return


def _marked(mark: str) -> Iterator[int]:
    """Find the processes that have a mark in their environment."""
    entry = f"{NAME}={mark}".encode()
    with contextlib.suppress(OSError):
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit():
                with contextlib.suppress(OSError):  # another user's, or it has just ended
                    if entry in (folder / "environ").read_bytes().split(b"\0"):
                        yield int(folder.name)
