"""What a process has started: its memory is counted, and it is ended with the process.

On Linux ``/proc`` tells the children of a process, and what was started with a mark in its
environment, however far it has gone off: what it starts inherits the mark. Elsewhere only the group
of the process is known.
"""

import contextlib
import os
import secrets
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

NAME = "POSENC_PROCESS"
"""The variable that holds the mark."""
ROUNDS = 5
"""How often it is looked for what is still there: it may start others while it is ended."""


def new_mark() -> str:
    """Return a mark that no other process has."""
    return secrets.token_hex(16)


def family(pid: int) -> list[int]:
    """List a process and all that it has started, as far as their parents are still there."""
    found = [pid]
    for each in found:  # grows on the way
        found += [child for child in _children(each) if child not in found]
    return found


def _children(pid: int) -> Iterator[int]:
    with contextlib.suppress(OSError, ValueError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError, ValueError):
                yield from map(int, (thread / "children").read_text(encoding="ascii").split())


def memory_of(pid: int, most: int = 0) -> int:
    """Return the bytes of memory that a process and its children use; 0 where that is not told.

    If that may be more than ``most``, what they share is counted once.
    """
    members = family(pid)
    used = sum(map(_resident, members))
    if len(members) > 1 and used > most:
        return sum(_share(each) or _resident(each) for each in members)  # some may have ended
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
    """Return the bytes of a process, those that several share as parts; 0 if that is not told."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0


def end_family(pid: int, mark: str) -> None:
    """End a process with its group, all that it has started, and all that has its mark."""
    members = family(pid)[1:]
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    for _ in range(ROUNDS):
        for each in members:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(each, signal.SIGKILL)
        members = list(_marked(mark))
        if not members:
            return


def _marked(mark: str) -> Iterator[int]:
    """Find the processes that have a mark in their environment."""
    wanted = f"{NAME}={mark}".encode()
    with contextlib.suppress(OSError):
        for each in Path("/proc").iterdir():
            if each.name.isdigit():
                with contextlib.suppress(OSError):  # another user's, or it has just ended
                    if wanted in (each / "environ").read_bytes().split(b"\0"):
                        yield int(each.name)
