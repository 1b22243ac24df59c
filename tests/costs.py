"""Record the cost of each test; in a share of the tests, fail one that is too slow for its marks.

A cost is processor time of the process and of the child processes that it has waited for.
``POSENC_COSTS=FILE`` stores the costs of a run, and ``python -m tests.costs FILE`` prints the
largest, by function.
"""

import json
import os
import resource
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.building import CHECKOUT
from tests.shares import SHARE

MOST = 1.0
"""The most seconds for a test that is not marked as slow, on a machine as in ``USUAL``."""
USUAL = 0.07
"""Seconds that ``_sample`` takes on the machine on which tests were marked."""
NOISE = 2.0
"""Largest slowdown of a test while the other core is busy; 1.9 was seen."""
EXEMPT = ("slow", "draws", "always")
BESIDE = tuple(CHECKOUT / "tests" / name for name in ("languages", "pytorch", "site"))
"""Folders whose tests run in other targets than `make test`."""
COST = "posenc cost"


def spent() -> float:
    """Return seconds of processor time, of this process and of children that it has waited for."""
    both = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Measure a test without its fixtures; fail one that takes too long for its marks."""
    begin = spent()
    result = yield
    cost = spent() - begin
    item.user_properties.append((COST, cost))
    if SHARE > 1 and cost > MOST and _must_be_quick(item):
        most = limit(_sample())
        assert cost <= most, (
            f"it took {cost:.2f} s of processor time, and {most:.2f} s is the most here: "
            "make it quicker, or mark it as slow"
        )
    return result


def _must_be_quick(item: pytest.Item) -> bool:
    is_beside = any(folder in item.path.parents for folder in BESIDE)
    return not is_beside and not any(map(item.get_closest_marker, EXEMPT))


def limit(sample: float) -> float:
    """Return the most seconds for a test on a machine with this ``sample``."""
    return MOST * NOISE * max(1.0, sample / USUAL)


def _sample() -> float:
    """Return the seconds that a fixed piece of work takes on this machine."""
    begin = time.process_time()
    total = 0
    for number in range(1_000_000):
        total ^= number * number
    return time.process_time() - begin


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Keep the cost of a test for the end of the run."""
    if report.when == "call" and "PYTEST_XDIST_WORKER" not in os.environ:
        FOUND[report.nodeid] = dict(report.user_properties).get(COST, 0.0)


FOUND: dict[str, Any] = {}


def pytest_sessionfinish() -> None:
    """Write the costs into the file that ``POSENC_COSTS`` names."""
    name = os.environ.get("POSENC_COSTS")
    if name and "PYTEST_XDIST_WORKER" not in os.environ:
        text = json.dumps({key: round(float(cost), 3) for key, cost in FOUND.items()}, indent=0)
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text + "\n", encoding="utf-8")


def main(file: str) -> None:
    """Print the costliest functions: sum, mean and maximum of their costs, and number of runs."""
    costs: dict[str, list[float]] = defaultdict(list)
    for name, cost in json.loads(Path(file).read_text(encoding="utf-8")).items():
        costs[name.partition("[")[0]].append(cost)
    print(f"{sum(map(sum, costs.values())):9.1f} s in all\n      sum    mean     max   times")
    for name, times in sorted(costs.items(), key=lambda item: -sum(item[1]))[:60]:
        mean = sum(times) / len(times)
        print(f"{sum(times):9.2f} {mean:7.2f} {max(times):7.2f} {len(times):7d}  {name}")


if __name__ == "__main__":
    main(sys.argv[1])
