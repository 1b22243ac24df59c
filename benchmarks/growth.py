"""Measure whether the cost of a run grows faster than the number of claims.

    python -m benchmarks.growth

Each number of claims is judged in its own process. The claims are the first ones in a fixed shuffle
of all that the reference claims, so each number includes the claims of the smaller ones.
"""

import subprocess
import sys
import time
from random import Random

from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.checks.execution import execute
from posenc_conformance.implementations.reference import Reference
from posenc_conformance.registry import load_readable
from posenc_lab.first_failure import OPTIONS, checks
from posenc_lab.results import table

CLAIMS = tuple(2**n for n in range(8))


def judge(count: int) -> tuple[int, float]:
    """Judge ``count`` methods under one combination each; return number of checks and seconds."""
    schemes = load_readable()
    claimed = subjects(Reference(), schemes)
    Random(0).shuffle(claimed)
    start = time.process_time()
    executions = [execute(check, OPTIONS) for check in checks(claimed[:count], schemes)]
    return len(executions), time.process_time() - start


def main() -> None:
    if len(sys.argv) > 1:
        print(*judge(int(sys.argv[1])))
        return
    rows = []
    for count in CLAIMS:
        command = [sys.executable, "-m", "benchmarks.growth", str(count)]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        number, seconds = int(output[0]), float(output[1])
        rows.append((count, number, f"{seconds:.2f}", f"{1000 * seconds / number:.2f}"))
    print(table(["claims", "checks", "seconds", "milliseconds a check"], rows))


if __name__ == "__main__":
    main()
