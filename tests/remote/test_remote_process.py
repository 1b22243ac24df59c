"""A worker's process: its memory, its messages, and its end."""

import os
import sys
import time
from pathlib import Path

import pytest

from posenc_conformance.errors import UserError
from posenc_conformance.remote import process, process_tree
from posenc_conformance.remote.process import Process, ProcessDied, amount, spare

HOLDS = "import time; held = b'x' * 200_000_000; print('ready', flush=True); time.sleep(60)"


def started(code: str) -> Process:
    return Process([sys.executable, "-c", code], None, {})


def line(buffer: bytearray) -> bytes | None:
    return bytes(buffer) if buffer.endswith(b"\n") else None


class Nowhere(type(Path())):  # type: ignore[misc]  # a class that depends on the system
    """A path in a system that has no /proc."""

    def read_text(self, *arguments: object, **named: object) -> str:
        raise OSError


PS = """#!/bin/sh
[ "$1 $2 $3" = "-o rss= -p" ] || exit 1
sed -n 's/^VmRSS:[^0-9]*\\([0-9]*\\) kB$/ \\1/p' "/proc/$4/status"
"""
"""Stand-in for `ps`: not every Linux has it, and only systems without /proc need it."""


@pytest.mark.parametrize("by_proc", [True, False])
def test_the_memory_of_a_process_is_measured(
    by_proc: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not by_proc:
        (tmp_path / "ps").write_text(PS)
        (tmp_path / "ps").chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
        monkeypatch.setattr(process_tree, "Path", Nowhere)
    it = started(HOLDS)
    try:
        it.exchange(b"", line, 30, 0)
        assert 200e6 < it.memory() < 300e6
    finally:
        it.end()


def test_spare_memory_is_the_smallest_known_amount(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert spare() > 2**20
    monkeypatch.setattr(process, "_available", lambda: 1000)
    monkeypatch.setattr(process, "_left_of_container", lambda: 100)
    assert spare() == 90
    monkeypatch.setattr(process, "_left_of_container", lambda: 0)
    assert spare() == 900
    monkeypatch.setattr(process, "_available", lambda: 0)
    assert spare() == 0


@pytest.mark.parametrize(
    ("size", "shown"),
    [(999_999_999, "1e+03 MB"), (10**9, "1 GB"), (1_500_000_000, "1.5 GB"), (250_000, "0.25 MB")],
)
def test_amounts_are_shown_in_the_unit_that_suits(size: int, shown: str) -> None:
    assert amount(size) == shown


def test_a_process_beyond_its_limits_is_lost() -> None:
    it = started("import time; time.sleep(60)")
    with pytest.raises(ProcessDied, match=r"within 0\.3 s"):
        it.exchange(b"", line, 0.3, 0)
    it.end()
    it = started(HOLDS.replace("print('ready', flush=True); ", ""))
    with pytest.raises(ProcessDied, match="150 MB are allowed"):
        it.exchange(b"", line, 30, 150_000_000)
    it.end()


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("raise SystemExit(0)", "status 0"),
        ("raise SystemExit(7)", "status 7"),
        ("import os; os.kill(os.getpid(), 15)", r"signal 15 \(SIGTERM\)"),
        ("import os; os.kill(os.getpid(), 1)", r"signal 1 \(SIGHUP\)"),
    ],
)
def test_the_exit_status_or_signal_is_reported(code: str, said: str) -> None:
    it = started(code)
    with pytest.raises(ProcessDied, match=said):
        it.exchange(b"", line, 30, 0)
    it.end()


def test_a_large_message_goes_through_in_pieces() -> None:
    it = started("import sys; print(len(sys.stdin.readline()), 'x' * 3_000_000, flush=True)")
    answer = it.exchange(b"y" * 3_000_000 + b"\n", line, 30, 0)
    assert answer.startswith(b"3000001 x")
    assert len(answer) == len("3000001 ") + 3_000_001
    it.end()


def test_the_end_of_printed_text_is_kept() -> None:
    it = started("import sys; sys.stderr.write('a' * 100_000 + 'end'); print('said', flush=True)")
    it.exchange(b"", line, 30, 0)
    heard = ""
    while not heard.endswith("end"):
        heard += it.heard()
    assert len(heard) <= process.HEARD + 2**16
    it.end()
    it.end()  # a second time does no harm


def test_a_process_that_cannot_be_started_is_one_message(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be started"):
        Process(["./no-such-program"], tmp_path, {})


def test_nothing_is_left_of_a_process_that_was_ended() -> None:
    it = started("import time; time.sleep(60)")
    it.end()
    assert it._process.returncode == -9
    assert all(stream.closed for stream in it._streams)


CHILD = "import time; held = b'x' * 200_000_000; print('ready', flush=True); time.sleep(60)"
FORKS = """
import os, time
held = b'x' * 200_000_000
for _ in range(4):
    if not os.fork():
        time.sleep(60)
        os._exit(0)
print('ready', flush=True)
time.sleep(60)
"""
DAEMON = """
import os, sys, time
if not os.fork():
    os.setsid()
    if os.fork():
        os._exit(0)
    print(os.getpid(), flush=True)
    time.sleep(600)
os.wait()
{then}
"""


def test_the_memory_of_children_is_counted() -> None:
    it = started(f"import subprocess, sys; subprocess.run([sys.executable, '-c', {CHILD!r}])")
    try:
        it.exchange(b"", line, 30, 0)
        assert 200e6 < it.memory() < 350e6
        with pytest.raises(ProcessDied, match="of memory"):
            it.exchange(b"", lambda _: None, 30, 150_000_000)
    finally:
        it.end()


@pytest.mark.parametrize(
    "code",
    [FORKS, FORKS.replace("print", "os.fork() or os._exit(0)\ntime.sleep(1)\nprint")],
    ids=["children", "one-has-ended"],
)
def test_memory_that_is_shared_is_counted_once(code: str) -> None:
    it = started(code)
    try:
        it.exchange(b"", line, 30, 0)
        assert 200e6 < it.memory() < 350e6
        with pytest.raises(ProcessDied, match="no answer"):
            it.exchange(b"", lambda _: None, 0.3, 400_000_000)
    finally:
        it.end()


def test_a_daemon_is_ended_too() -> None:
    it = started(DAEMON.format(then="time.sleep(60)"))
    daemon = int(it.exchange(b"", line, 30, 0))
    assert Path(f"/proc/{daemon}").exists()
    it.end()
    for _ in range(500):  # it is gone once its new parent has noticed
        try:
            state = Path(f"/proc/{daemon}/stat").read_text(encoding="ascii").split()[2]
        except OSError:
            return
        if state == "Z":
            return
        time.sleep(0.01)
    raise AssertionError(f"{daemon} is still there")


def test_a_process_that_ends_is_over_although_its_child_holds_its_streams() -> None:
    it = started(DAEMON.format(then="os._exit(3)"))
    try:
        it.exchange(b"", line, 30, 0)
        with pytest.raises(ProcessDied, match="exited with status 3"):
            it.exchange(b"", lambda _: None, 30, 0)
    finally:
        it.end()
