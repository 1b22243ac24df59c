"""The cost of ``check`` relative to the call that it judges, and of importing it.

    python -m benchmarks.one_result

The call is rotary embedding by the plain formula in NumPy, in float32. Each figure is the median
ratio of two wall times, taken alternately in one process; the first round is discarded. The time of
the reference's exact values of the same call is a lower bound for any check.
"""

import subprocess
import sys
from itertools import pairwise
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

import posenc
from posenc_conformance import check
from posenc_lab.results import table

SHAPES = ((2, 8, 128, 64), (1, 32, 4096, 128))
ROUNDS = 7
BASE = 500_000.0
IMPORTS = {
    "numpy": "import numpy",
    "numpy and check": "import numpy; from posenc_conformance import check; check",
}


def rope(x: Any, positions: Any) -> Any:
    """Rotate x in the half layout, with angles in float64 and products in float32."""
    half = x.shape[-1] // 2
    angles = np.outer(positions, BASE ** (-np.arange(half) / half))
    c, s = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
    a, b = x[..., :half], x[..., half:]
    return np.concatenate([a * c - b * s, b * c + a * s], -1)


def times(shape: tuple[int, ...]) -> tuple[list[float], list[float], list[float]]:
    """Return the seconds of the call, of its exact values and of its check, in each round."""
    taken: tuple[list[float], list[float], list[float]] = [], [], []
    for seed in range(ROUNDS + 1):
        x = np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)
        positions, exact = np.arange(shape[-2]), x.astype(np.float64)
        marks = [perf_counter()]
        result = rope(x, positions)
        marks.append(perf_counter())
        posenc.rope(exact, positions, base=BASE, layout="half")
        marks.append(perf_counter())
        check(result, "rope", x=x, positions=positions, base=BASE, layout="half")
        marks.append(perf_counter())
        if seed:
            for column, (start, end) in zip(taken, pairwise(marks), strict=True):
                column.append(end - start)
    return taken


def ratio(some: list[float], calls: list[float]) -> str:
    """Format the median ratio of ``some`` times to those of the call."""
    return f"{median(taken / own for taken, own in zip(some, calls, strict=True)):.1f}"


def seconds(code: str) -> float:
    """Return the least wall time of a new process that runs ``code``."""
    times = []
    for _ in range(ROUNDS):
        start = perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        times.append(perf_counter() - start)
    return min(times)


def main() -> None:
    """Print both tables."""
    rows = []
    for shape in SHAPES:
        calls, truths, checks = times(shape)
        size, long = " × ".join(map(str, shape)), f"{1000 * median(checks):.1f}"
        rows.append([size, ratio(checks, calls), ratio(truths, calls), long])
    print(table(["x", "check ÷ call", "exact values ÷ call", "check, ms"], rows), "\n")
    took = {name: seconds(code) for name, code in IMPORTS.items()}
    more = took["numpy and check"] - took["numpy"]
    print(f"importing check takes {1000 * more:.0f} ms beyond NumPy")


if __name__ == "__main__":
    main()
