"""Each room has a budget of lines, so that a change shows what it adds.

``python -m tests.project.test_budgets [COSTS]`` writes the budgets: the current lines and a tenth
more, and the same of the seconds in a file of costs, if one is given; see ``tests/costs.py``.
"""

import json
import math
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from tests.building import CHECKOUT, tracked_files
from tests.costs import seconds_of_rooms

FILE = Path(__file__).with_name("budgets.yaml")
HEADROOM = 1.1
SLACK = 1.25
"""A budget above this many times its lines is out of date: the room has become lighter."""
DEEP = (
    "conformance/posenc_conformance",
    "docs",
    "lab",
    "lab/posenc_lab",
    "lab/scoreboard",
    "spec",
    "tests",
)
"""Folders whose subfolders are rooms."""
BINARY = (".gz", ".woff2", ".png", ".gguf", ".pt", ".npz")


def room_of(path: Path) -> str:
    """Return the room of a file, by its path in the checkout; all schemes of the spec are one."""
    folder = path.parent
    if not folder.parts or folder.parts[0].startswith("."):
        return "top"
    depth = max((len(Path(deep).parts) for deep in DEEP if folder.is_relative_to(deep)), default=0)
    room = "/".join(folder.parts[: depth + 1])
    return "spec" if room.startswith("spec/") and room != "spec/models" else room


def lines_of_rooms() -> Counter[str]:
    """Count the lines of all tracked files of text, by room."""
    lines: Counter[str] = Counter()
    for path in tracked_files():
        if path.suffix not in BINARY:
            lines[room_of(path.relative_to(CHECKOUT))] += path.read_bytes().count(b"\n")
    return lines


@pytest.fixture(scope="module")
def lines() -> Counter[str]:
    counts = lines_of_rooms()
    if not counts:
        pytest.skip("an archive has no list of files")
    return counts


def budgets() -> dict[str, int]:
    limits: dict[str, int] = yaml.safe_load(FILE.read_text(encoding="utf-8"))["lines"]
    return limits


def test_each_room_has_a_budget(lines: Counter[str]) -> None:
    assert set(lines) == set(budgets())


@pytest.mark.parametrize(("room", "budget"), budgets().items())
def test_a_room_stays_within_its_budget(room: str, budget: int, lines: Counter[str]) -> None:
    assert lines[room] <= budget, (
        f"{room} has {lines[room]} lines, and its budget is {budget}: remove something, or "
        f"raise it in {FILE.name} with the reason in the commit"
    )
    assert budget <= max(lines[room] * SLACK, lines[room] + 20), f"{room} is lighter: lower it"


def main() -> None:
    """Write the budgets of all rooms."""
    written = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    written["lines"] = _with_headroom(lines_of_rooms())
    if len(sys.argv) > 1:
        costs = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
        written["seconds"] = _with_headroom(seconds_of_rooms(costs))
    text = "# Lines of each room, and processor seconds of its tests, with a tenth of headroom.\n"
    FILE.write_text(text + yaml.safe_dump(written), encoding="utf-8")


def _with_headroom(rooms: Mapping[str, float]) -> dict[str, int]:
    return {room: math.ceil(amount * HEADROOM) for room, amount in sorted(rooms.items())}


if __name__ == "__main__":
    main()
