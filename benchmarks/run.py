"""The cost of the kit, measured on whole processes, in units comparable across machines.

    python -m benchmarks.run [IMPL]
    python -m benchmarks.run --apart [IMPL [PATH ...]]

A unit is the processor time of adding 20 million integers in a Python loop, measured next to each
figure. Only the run on several cores is a ratio of wall times. The reference's arithmetic is
compared with plain formulas in NumPy.

With ``--apart``, only isolation is measured: the processor time of a run with the implementation in
its own process, in units of a run in the judge's process, alternately. If PATHs are given, only
those files run.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.formulas import ratios
from posenc_lab.results import table

HERE = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
ONE = """
import numpy as np
from posenc_conformance import claims


class Adapter:
    @claims("half", dtype="float32", base=10000.0)
    def rope(self, x, positions):
        half = x.shape[-1] // 2
        angles = positions[..., None] * 10000.0 ** (-np.arange(half) / half)
        a, b, c, s = x[..., :half], x[..., half:], np.cos(angles), np.sin(angles)
        return np.concatenate([a * c - b * s, a * s + b * c], -1).astype(x.dtype)
"""
"""The adapter of a user who tests one kernel."""
NOTHING = """
import pytest


@pytest.mark.parametrize("number", range({}))
def test_nothing(number):
    pass
"""
"""Empty tests, which cost only pytest's own time."""


@dataclass(frozen=True)
class Cost:
    """The cost of a process."""

    processor: float
    """Seconds of processor time, including child processes."""
    wall: float
    peak: float
    """Peak memory in megabytes."""


def unit() -> float:
    """Measure the processor seconds of one unit."""
    start = time.process_time()
    total = 0
    for number in range(20_000_000):
        total += number
    return time.process_time() - start


def cost(command: list[str], folder: Path) -> Cost:
    """Measure the cost of a command run in ``folder``; its output and exit status are ignored."""
    start = time.perf_counter()
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=_kept(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, _, used = os.wait4(process.pid, 0)
    process.returncode = 0
    wall = time.perf_counter() - start
    return Cost(used.ru_utime + used.ru_stime, wall, used.ru_maxrss / 1024)


def _kept() -> dict[str, str]:
    """Return the environment, with writing of bytecode enabled."""
    return {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}


def apart(impl: str, paths: Sequence[str] = ()) -> list[tuple[str, str]]:
    """Measure the cost of isolation; both kinds of runs alternate, so a busy machine slows both."""
    here, isolated = list[float](), list[float]()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "mine.py").write_text(ONE, encoding="utf-8")
        for judged in ([*HERE, impl, *paths], [*HERE, "--impl=mine.py", "rope.yaml"]):
            for _ in range(2):
                here.append(cost([*judged, "--posenc-here"], folder).processor)
                isolated.append(cost([*judged, "--posenc-apart"], folder).processor)
    whole, mine = (sum(isolated[at : at + 2]) / sum(here[at : at + 2]) for at in (0, 2))
    return [
        ("run in a process of its own / in the judge's", f"{whole:.2f}"),
        ("the same of one's own scheme", f"{mine:.2f}"),
    ]


def _checks(impl: str, folder: Path) -> int:
    """Count an implementation's checks; this also leaves all bytecode in place."""
    command = [*HERE, impl, "--collect-only"]
    done = subprocess.run(command, cwd=folder, env=_kept(), capture_output=True, text=True)
    return len(re.findall(r"^\S+::", done.stdout, re.M))


def main() -> None:
    names = [argument for argument in sys.argv[1:] if argument != "--apart"]
    impl = f"--impl={names[0] if names else 'reference'}"
    if "--apart" in sys.argv[1:]:
        print(table(["what", "ratio"], apart(impl, names[1:])))
        return
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "mine.py").write_text(ONE, encoding="utf-8")
        mine = [*HERE, "--impl=mine.py"]

        def measured(what: str, command: list[str]) -> Cost:
            measurement = cost(command, folder)
            rows.append((what, f"{measurement.processor / unit():.2f} units"))
            return measurement

        checks = _checks(impl, folder)
        (folder / "test_nothing.py").write_text(NOTHING.format(checks), encoding="utf-8")
        measured("empty run of pytest", [*HERE, "--ignore=test_nothing.py"])
        measured(f"collection of {checks:,} empty tests", [*HERE, "--co", "test_nothing.py"])
        measured(f"run of {checks:,} empty tests", [*HERE, "test_nothing.py"])
        measured("collection of everything", [*HERE, impl, "--collect-only"])
        path = measured("one scheme of one's own, float32", [*mine, "rope.yaml"])
        marked = measured("the same, selected by -m", [*mine, "-m", "rope"])
        rows.append(("-m rope / rope.yaml", f"{marked.processor / path.processor:.2f}"))
        whole = measured("whole run", [*HERE, impl])
        rows.append(("peak memory", f"{whole.peak:.0f} MB"))
        two = cost([*HERE, impl, "-n", "2"], folder)
        rows.append(("whole run, -n 2 / one process", f"{two.wall / whole.wall:.2f}"))
    rows += apart(impl)
    rows += [(what, f"{ratio:.2f}") for what, ratio in ratios()]
    print(table(["what", "cost"], rows))


if __name__ == "__main__":
    main()
