"""Record the cost of each test; in a share of the tests, fail one that is too slow for its marks.

A cost is processor time of the process and of the child processes that it has waited for.
``POSENC_COSTS=FILE`` stores the costs of a run, and ``python -m tests.costs FILE`` prints the
largest, by function. ``python -m tests.costs --budgets FILE`` compares each folder of tests with
its budget of seconds.
"""

import json
import os
import resource
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

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
SAMPLE = "sample"
BUDGETS = CHECKOUT / "tests" / "project" / "budgets.yaml"


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
        costs = FOUND | {SAMPLE: _sample()}
        text = json.dumps({key: round(float(cost), 3) for key, cost in costs.items()}, indent=0)
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text + "\n", encoding="utf-8")


def seconds_of_rooms(costs: Mapping[str, float]) -> dict[str, float]:
    """Sum the costs of tests by folder, in seconds of the machine of ``USUAL``.

    ``costs`` maps the ids of tests to seconds, and ``SAMPLE`` to those of the sample in that run.
    """
    speed, rooms = USUAL / costs[SAMPLE], defaultdict[str, float](float)
    for name, cost in costs.items():
        if name != SAMPLE:
            rooms[name.partition("::")[0].rpartition("/")[0]] += cost * speed
    return dict(sorted(rooms.items()))


def over_budget(costs: Mapping[str, float], budgets: Mapping[str, float]) -> list[str]:
    """Return a line for each folder whose tests cost more seconds than its budget."""
    return [
        f"{room}: {seconds:.0f} s, and its budget is {budgets.get(room, 0):.0f} s"
        for room, seconds in seconds_of_rooms(costs).items()
        if seconds > budgets.get(room, 0)
    ]


def compare(file: str) -> int:
    """Print the folders over their budgets; return 1 if there are any."""
    budgets = yaml.safe_load(BUDGETS.read_text(encoding="utf-8"))["seconds"]
    lines = over_budget(json.loads(Path(file).read_text(encoding="utf-8")), budgets)
    print("\n".join(lines) or "all folders of tests are within their budgets")
    return bool(lines)


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
    if sys.argv[1] == "--budgets":
        sys.exit(compare(sys.argv[2]))
    main(sys.argv[1])
