"""Running a case, and rating its outcome: good, poor or bad, and why."""

import contextlib
import io
import json
import os
import resource
import secrets
import select
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

import numpy as np

from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.checks.smoke import require_computable, smallest_case
from posenc_conformance.commands.main import main
from posenc_conformance.errors import UNSHOWN, UserError
from posenc_conformance.judge.calling import ask
from posenc_conformance.judge.misbehaviour import Misbehaviour
from posenc_conformance.judge.subject import Subject
from posenc_conformance.remote.load import How, load
from posenc_lab.fuzzing.kinds import KINDS, reports
from posenc_lab.hostile.files import File, files
from posenc_lab.hostile.programs import WRONG, Program
from posenc_lab.judging import schemes

SECONDS = 10
"""Time allowed per case: processor time for files, wall-clock time for programs."""
WAITING = 60
LEAVING = 10
"""Seconds within which a killed process must be gone."""
MEMORY = 2**30
NAME = "POSENC_STAGE"
"""An environment variable of the program, which its child processes inherit."""
LONGEST = 1500
"""Length in characters of the longest readable message."""
TOLD: Mapping[str, Callable[[str], Sequence[str]]] = {
    **dict.fromkeys(
        ("array", "arrays", "tensors", "checkpoint", "text"), lambda path: ["identify", path]
    ),
    **dict.fromkeys(("model", "gguf"), lambda path: ["model", path]),
    "diff": lambda path: ["diff", path, str(Path(path).with_name("right.json"))],
    "badge": lambda path: ["badge", path, "--to", str(Path(path).with_name("badges"))],
}
"""The command line that reads a file of each kind; other kinds go directly to their readers."""


class Rating(StrEnum):
    """How good the outcome of a case is."""

    GOOD = "good"
    POOR = "poor"
    BAD = "bad"


@dataclass(frozen=True)
class Outcome:
    """The rating of a case, and the reason."""

    rating: Rating
    why: str = ""


@dataclass(frozen=True)
class Said:
    """The kit's output for a file, and the memory that it took."""

    code: int
    out: str
    err: str
    error: str = ""
    """The traceback, if there was one."""
    memory: int = 0


def of_file(case: File) -> Outcome:
    """Give a file to its reader in a separate process, and rate the output."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / case.file
        path.write_bytes(case.written)
        path.with_name("right.json").write_bytes(json.dumps(reports()[0]).encode())
        _warm_up(case.kind)
        output = _forked(lambda: _read(case.kind, path))
    if isinstance(output, str):
        return Outcome(Rating.BAD, output)
    return rate_file(case, output)


@cache
def _warm_up(kind: str) -> None:
    """Read a right file in this process, so that modules are loaded only once."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / KINDS[kind].name
        path.with_name("right.json").write_bytes(json.dumps(reports()[0]).encode())
        path.write_bytes(next(file.written for file in files() if file.kind == kind))
        _captured(lambda: _read(kind, path))


def rate_file(case: File, said: Said) -> Outcome:
    """Rate the output for a file."""
    text = said.out + said.err
    if said.error:
        return Outcome(Rating.BAD, f"traceback: {said.error}")
    if said.memory > MEMORY or "more memory than there is" in text:
        return Outcome(Rating.BAD, f"took {said.memory >> 20:,} MiB")
    if not _is_tame(text):
        return Outcome(Rating.BAD, "characters that do something to a terminal")
    if said.code < 2 and case.says is None:
        return Outcome(Rating.GOOD)
    if said.code < 2:
        return Outcome(Rating.BAD, f"taken as right: {said.out[:200]!r}")
    if case.says is None:
        return Outcome(Rating.BAD, f"refused although it is right: {said.err[:300]!r}")
    return _of_words(said.err, case.file, case.says)


def _of_words(text: str, name: str, says: str) -> Outcome:
    cause, _, hint = text.partition("hint: ")
    if name not in cause:
        return Outcome(Rating.POOR, f"does not name {name}: {text[:300]!r}")
    if says not in cause:
        return Outcome(Rating.POOR, f"does not name {says}: {text[:300]!r}")
    if not hint.strip():
        return Outcome(Rating.POOR, f"does not say what to do: {text[:300]!r}")
    if len(text) > LONGEST:
        return Outcome(Rating.POOR, f"{len(text):,} characters long")
    return Outcome(Rating.GOOD)


def _is_tame(text: str) -> bool:
    return not UNSHOWN.search(text) and "\nposenc: all is well" not in text


def _read(kind: str, path: Path) -> int:
    if kind in TOLD:
        return main(TOLD[kind](str(path)))
    try:
        KINDS[kind].read(path)
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _forked(act: Callable[[], int]) -> Said | str:
    """Run ``act`` in a child process; return its output, or how the process died."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _limit()
        with contextlib.suppress(BaseException), os.fdopen(writer, "w") as stream:
            json.dump(vars(_captured(act)), stream)
        os._exit(0)
    os.close(writer)
    parts, end = [], time.monotonic() + WAITING
    while select.select([reader], [], [], max(0.0, end - time.monotonic()))[0]:
        part = os.read(reader, 2**16)
        if not part:
            break
        parts.append(part)
    else:
        os.kill(child, signal.SIGKILL)
    os.close(reader)
    status = os.waitpid(child, 0)[1]
    if status or not parts:
        return f"its process was lost: {status}"
    return Said(**json.loads(b"".join(parts)))


def _limit() -> None:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    most = pages * resource.getpagesize() + 2 * MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))


def _captured(act: Callable[[], int]) -> Said:
    out, err, error, code = io.StringIO(), io.StringIO(), "", 0
    before = _peak()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            code = act()
        except SystemExit as left:
            code = int(left.code or 0)
        except BaseException:
            error = traceback.format_exc()[-600:]
    return Said(code, out.getvalue(), err.getvalue(), error, _peak() - before)


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


# Programs.


class Stage:
    """A running program that misbehaves on demand."""

    def __init__(self, folder: Path, command: str, *, seconds: int = 2) -> None:
        """Start the program, and end it when a call takes more than ``seconds``."""
        self.folder = folder
        manifest = folder / "odd.toml"
        limits = f"limits = {{seconds = {seconds}, starting = 60, memory = '120MB'}}"
        self.mark = secrets.token_hex(8)
        own = f"environment = {{{NAME} = '{self.mark}'}}"
        manifest.write_text(f"posenc-program = 1\ncommand = '{command}'\n{limits}\n{own}\n")
        self.manifest = manifest
        self.there = load(str(manifest), How(), schemes())
        (self.subject,) = subjects(self.there.adapter, schemes())

    def of_program(self, case: Program) -> Outcome:
        """Let the program run a case's code, and rate the kit's reaction."""
        (self.folder / "mischief.py").write_text(case.code, encoding="utf-8")
        begun, before = time.monotonic(), _peak()
        outcome = _rate(case, self.subject)
        if time.monotonic() - begun > SECONDS:
            return Outcome(Rating.BAD, f"took {time.monotonic() - begun:.0f} s")
        if _peak() - before > MEMORY:
            return Outcome(Rating.BAD, f"took {_peak() - before >> 20:,} MiB")
        if (self.folder / "mischief.py").exists():
            return Outcome(Rating.BAD, "was not asked")
        return outcome if outcome.rating is Rating.BAD else self._next() or outcome

    def _next(self) -> Outcome | None:
        """Call again, twice at most: leftover output may spoil one call."""
        for _ in range(2):
            with contextlib.suppress(Misbehaviour):
                if _is_right(self.subject):
                    return None
        return Outcome(Rating.BAD, "the next call is not answered")

    def of_description(self, case: Program) -> Outcome:
        """Start a program with a case's description of itself, and rate the kit's reaction."""
        place = self.folder / "description.py"
        place.write_text(case.code, encoding="utf-8")
        text = self.manifest.read_text().replace("starting = 60", "starting = 4")
        other = self.manifest.with_name("described.toml")
        other.write_text(text)
        try:
            program = load(str(other), How(), schemes())
            try:
                for subject in subjects(program.adapter, schemes()):
                    require_computable(subject)
            finally:
                program.end()
            title = " ".join([program.name, *program.versions, *program.versions.values()])
        except UserError as error:
            if case.says is None:
                return Outcome(Rating.BAD, f"refused although it is right: {error}"[:300])
            return _of_message(f"{error}", case.says)
        except Exception:
            return Outcome(Rating.BAD, f"traceback: {traceback.format_exc()[-600:]}")
        finally:
            place.unlink()
        return Outcome(
            Rating.GOOD if case.says is None else Rating.BAD, f"taken as right: {title[:80]}"
        )

    def end(self) -> int:
        """End the program; return how many of its processes are still running."""
        self.there.end()
        until = time.monotonic() + LEAVING
        while self.running() and time.monotonic() < until:
            time.sleep(0.01)
        return self.running()

    def running(self) -> int:
        """Count the program and its descendants."""
        return len(list(_marked(self.mark)))


def _rate(case: Program, subject: Subject) -> Outcome:
    try:
        right = _is_right(subject)
    except Misbehaviour as wrong:
        if case.says is None:
            return Outcome(Rating.BAD, f"refused although it is right: {wrong}"[:300])
        return _of_message(str(wrong), "" if case.says is WRONG else case.says)
    except Exception:
        return Outcome(Rating.BAD, f"traceback: {traceback.format_exc()[-600:]}")
    if right is not (case.says is None):
        return Outcome(Rating.BAD, "taken as right" if right else "a wrong answer")
    return Outcome(Rating.GOOD)


def _of_message(text: str, says: str) -> Outcome:
    if not _is_tame(text):
        return Outcome(Rating.BAD, "characters that do something to a terminal")
    if says not in text:
        return Outcome(Rating.POOR, f"does not say {says}: {text[:300]!r}")
    if len(text) > 2 * LONGEST:
        return Outcome(Rating.POOR, f"{len(text):,} characters long")
    return Outcome(Rating.GOOD)


def _is_right(subject: Subject) -> bool:
    case = smallest_case(subject, "float64")
    return bool(np.allclose(ask(subject, case), case.truth, rtol=1e-12, atol=0))


def _marked(mark: str) -> Iterator[int]:
    """Find a stage's program and its descendants by the environment that they inherit."""
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and int(process.name) != os.getpid():
            with contextlib.suppress(OSError):
                if f"{NAME}={mark}".encode() in (process / "environ").read_bytes():
                    yield int(process.name)
