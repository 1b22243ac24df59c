"""Train at length 100, test at 200: one small decoder for each scheme, task and seed.

    python -m posenc_lab.length [--write docs/data/length.json] [--processes N]
    python -m posenc_lab.length --smoke

The first command takes minutes on two cores and prints how many. ``--smoke`` takes seconds and
hardly trains: it compares the models' computations with posenc, and shows that training works.
"""

import argparse
import os
import platform
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from posenc_lab.length.positions import SCHEMES, TESTED, TRAINED
from posenc_lab.length.smoke import smoke
from posenc_lab.length.summary import summary
from posenc_lab.length.tasks import TASKS
from posenc_lab.length.training import Job, Result, Settings, describe, job, questions
from posenc_lab.results import table, write

SEEDS = (1, 2, 3, 4, 5)
"""Seed 0 was used to choose the tasks, steps and learning rate; it is not reported."""


def in_processes(jobs: Sequence[Job], processes: int) -> Iterator[tuple[list[Result], float]]:
    """Run jobs in parallel; yield their results in the order of the jobs."""
    os.environ["OMP_NUM_THREADS"] = "1"
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        yield from pool.map(job, jobs)


def processor() -> str:
    """Return the model name of the CPU."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())


def render(entries: Sequence[dict[str, Any]], task: str) -> str:
    """Return a table of accuracies of a task in percent: mean, half interval, minimum, maximum."""

    def cell(part: dict[str, float]) -> str:
        mean, half, least, largest = (100 * part[name] for name in ("mean", "half", "min", "max"))
        return f"{mean:.1f} ± {half:.1f} ({least:.1f} to {largest:.1f})"

    rows = [
        [entry["scheme"], *map(cell, entry["accuracy"].values()), cell(entry["accuracy_lost"])]
        for entry in entries
        if entry["task"] == task
    ]
    return table(
        [task, f"alone at {TRAINED}", f"1 to {TRAINED}", f"{TRAINED + 1} to {TESTED}", "lost"], rows
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="only the test of this benchmark")
    parser.add_argument("--processes", type=int, default=2, help="models trained side by side")
    parser.add_argument("--write", type=Path, metavar="FILE", help="results as JSON")
    options = parser.parse_args()
    start = time.perf_counter()
    if options.smoke:
        smoke()
        print(f"{time.perf_counter() - start:.0f} s")
        return
    jobs = list(product(TASKS, SCHEMES, SEEDS))
    recorded_results: list[dict[str, Any]] = []
    cpu = 0.0
    for number, (trained_results, seconds) in enumerate(in_processes(jobs, options.processes), 1):
        cpu += seconds
        recorded_results += [result.plain() for result in trained_results]
        first = trained_results[0]
        print(
            f"{number:3} of {len(jobs)}: {first.task}, {first.scheme}, seed {first.seed}: "
            f"{first.within.accuracy:.1%} within, {first.beyond.accuracy:.1%} beyond",
            file=sys.stderr,
        )
    entries = summary(recorded_results)
    for task in TASKS:
        print(f"{render(entries, task)}\n")
    elapsed = time.perf_counter() - start
    print(f"{elapsed / 60:.1f} minutes, {cpu / 60:.1f} of CPU, in {options.processes} processes")
    run = {
        "cpu": processor(),
        "processes": options.processes,
        "seconds": round(elapsed),
        "cpu_seconds": round(cpu),
    }
    recorded = {
        "run": run,
        "settings": describe(Settings()),
        "seeds": SEEDS,
        "questions": {name: questions(task, Settings()) for name, task in TASKS.items()},
        "results": recorded_results,
        "summary": entries,
    }
    write(options.write, recorded, "torch")


if __name__ == "__main__":
    main()
