"""Trials of inputs: a reader runs in a separate process, with limits of time and memory."""

import contextlib
import json
import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
import traceback
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from time import monotonic
from types import FrameType

import yaml

from posenc_conformance.errors import UserError
from posenc_lab.fuzzing.kinds import KINDS, Kind, read_quietly

SECONDS = 10
"""Processor time allowed per input."""
MEMORY = 2**30
"""Bytes allowed per input, in addition to what the process already uses."""
STARTING = 60
FORESEEN = (
    EOFError,
    NotImplementedError,  # zipfile, for an archive of a later version or with odd encryption
    OSError,
    RecursionError,
    ValueError,
    yaml.YAMLError,
    zipfile.BadZipFile,
    zlib.error,
)
"""Exceptions of libraries for damaged files; the kit's ``door`` turns them into messages."""


@dataclass(frozen=True)
class Finding:
    """A forbidden behaviour of a reader."""

    kind: str
    number: int
    """Number of the input, which with the seed reproduces it."""
    what: str
    where: str
    """The deepest line of the kit in the traceback."""


@dataclass
class Tally:
    """The outcomes of the inputs of one kind."""

    tried: int = 0
    read: int = 0
    refused: int = 0
    caught: dict[str, int] = field(default_factory=dict)
    """Number of refused inputs with an unforeseen cause, by its type and line."""
    findings: list[Finding] = field(default_factory=list)


class _Hang(BaseException):
    """An input took too long."""


def content_of(name: str, seed: int, number: int) -> bytes:
    """Return the input with this number, which is the same for the same seed."""
    return KINDS[name].make(Random(f"{name}-{seed}-{number}"))


def trials(
    name: str,
    seed: int,
    first: int,
    count: int,
    seconds: float,
    *,
    each: float = SECONDS,
    worker: str = __name__,
) -> Tally:
    """Give inputs of one kind to its reader, in separate processes.

    If a process dies, a new one continues after the input that killed it. ``each`` is the limit per
    input in seconds, and ``worker`` the module that runs as the process.
    """
    tally, end = Tally(), monotonic() + seconds
    number = first
    while number < first + count and (number == first or monotonic() < end):
        left = max(0.0, end - monotonic())
        words = [worker, name, *map(str, (seed, number, first + count, left, each))]
        number = _process(words, number, STARTING + 2 * each, tally)
    return tally


def _process(asked: Sequence[str], number: int, silence: float, tally: Tally) -> int:
    """Run one process and record its outcomes; return the number after its last input."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", *asked]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as child:
        assert child.stdout is not None
        unfinished, hangs = b"", False
        while True:
            if not select.select([child.stdout], [], [], silence)[0]:
                hangs = True
                child.kill()
                break
            piece = os.read(child.stdout.fileno(), 2**16)
            if not piece:
                break
            *lines, unfinished = (unfinished + piece).split(b"\n")
            for line in lines:
                _note(tally, **json.loads(line))
                number += 1
    if child.returncode != 0:
        tally.tried += 1
        problem = "hangs" if hangs else f"ended its process with {child.returncode}"
        tally.findings.append(Finding(asked[1], number, problem, ""))
        number += 1
    return number


def _note(tally: Tally, *, number: int, came: str, what: str = "", where: str = "") -> None:
    tally.tried += 1
    if came == "read":
        tally.read += 1
    elif came == "refused":
        tally.refused += 1
    elif came == "caught":
        tally.refused += 1
        tally.caught[f"{what} in {where}"] = tally.caught.get(f"{what} in {where}", 0) + 1
    else:
        tally.findings.append(Finding(came, number, what, where))


# In the process.


def work(asked: Sequence[str]) -> None:
    """Read inputs one after the other, and print the outcome of each."""
    name, seed, first, last = asked[0], *map(int, asked[1:4])
    seconds, limit = map(float, asked[4:])
    kind, end = KINDS[name], monotonic() + seconds
    signal.signal(signal.SIGPROF, _out_of_time)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / kind.name
        path.write_bytes(content_of(name, seed, first))
        with contextlib.suppress(Exception):  # load what every input needs before the limit
            read_quietly(kind, path)
        _limit_memory()
        for number in range(first, last):
            if number > first and monotonic() > end:
                return
            path.write_bytes(content_of(name, seed, number))
            report = {"number": number, **_outcome(name, kind, path, limit)}
            sys.stdout.write(json.dumps(report) + "\n")
            sys.stdout.flush()


def _outcome(name: str, kind: Kind, path: Path, seconds: float) -> dict[str, str]:
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        read_quietly(kind, path)
        return {"came": "read"}
    except kind.refusals as error:
        cause = error.__cause__
        if isinstance(cause, MemoryError):
            return _finding(name, cause)
        if cause is None or isinstance(cause, (*FORESEEN, UserError)):
            return {"came": "refused"}
        return {**_finding(name, cause), "came": "caught"}
    except _Hang as error:
        return {**_finding(name, error), "what": "hangs"}
    except Exception as error:
        return _finding(name, error)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _finding(name: str, error: BaseException) -> dict[str, str]:
    ours = [
        f"{Path(frame.filename).name}:{frame.lineno}"
        for frame in traceback.extract_tb(error.__traceback__)
        if "posenc" in frame.filename and frame.filename != __file__
    ]
    return {"came": name, "what": type(error).__name__, "where": ours[-1] if ours else ""}


def _out_of_time(number: int, frame: FrameType | None) -> None:
    raise _Hang


def _limit_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    most = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


if __name__ == "__main__":
    work(sys.argv[1:])
