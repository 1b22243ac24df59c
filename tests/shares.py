"""Run a share of the long lists of tests, drawn by the commit, and all that a change touched.

With ``POSENC_SHARE=n``, one in n of the tests marked ``draws`` and of the items passed to ``drawn``
runs, and one in 2n of the tests marked ``slow``; none for a scheme whose file says that it has no
known use. All tests run for a scheme, or for a door of the kit, whose files differ from the digests
in ``tests/judged.json``. ``POSENC_DRAW`` repeats the draw of another commit. Without
``POSENC_SHARE`` everything runs.

``python -m tests.shares`` runs all tests of what has changed, and then writes the digests.
"""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.building import CHECKOUT


def _whole_number(variable: str) -> int:
    """Return a number above zero from the environment, or 1.

    Raises UsageError, which pytest shows without a traceback.
    """
    text = os.environ.get(variable) or "1"
    if not text.isdecimal() or int(text) == 0:
        raise pytest.UsageError(f"{variable}={text} is no whole number above zero")
    return int(text)


Item = TypeVar("Item")
SHARE = _whole_number("POSENC_SHARE")
LISTED = _whole_number("POSENC_LISTS") if "POSENC_LISTS" in os.environ else SHARE
"""The share of lists within tests, if it differs from that of the tests."""
RARELY = 2
"""Factor by which a slow test is drawn less often than others."""
JUDGED = Path(__file__).with_name("judged.json")
HOMES = (
    "reference/posenc/schemes",
    "conformance/posenc_conformance/schemes",
    "conformance/posenc_conformance/oracle",
    "lab/posenc_lab/miniatures/right",
    "lab/posenc_lab/miniatures/wrong",
)
"""Folders with the modules of schemes, each in the folder of its family."""
KIT = "conformance/posenc_conformance"
DOORS = {
    "adapters": "arrays broadcast limits masked one_line quiet",
    "commands": "badge cli named naming",
    "commands/export": "export export_command",
    "commands/identify": "damaged_data identify pickles",
    "commands/init": "init init_batches init_beside init_biases init_cos_sin init_forms "
    "init_in_place init_keys init_late init_layouts init_masks init_methods init_mistakes "
    "init_nearest init_packages init_places init_scaled init_sizes init_states init_told "
    "plain_library",
    "commands/judge": "engine_table judge",
    "commands/new": "new own_schemes",
    "commands/repro": "repro",
    "deployed": "deployed deployed_board projection_biases reported_engines saved_requests",
    "files.py": "writers",
    "door.py": "damaged_data door fuzzing",
    "pictures": "page pictures plot",
    "models": "engines models spellings",
    "pytest_run": "apart hostile in_tests other_plugins outcomes plugin telling words writers",
    "remote": "apart circumstances hostile limits memory programs",
    "report": "badge plugin scoreboard telling words",
    "scheme_file": "damaged_data new own_schemes spec versions",
    "testing": (
        "biases_told check lengths_and_pairs one_cause one_result places_on_axes places_told "
        "practices results_of_both scores_told short_places spoken taken told_by_readings "
        "true_everywhere"
    ),
}
"""Parts of the kit that users meet, and the test files that try them."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the tests that are not drawn."""
    left_out = [item for item in items if not _runs(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if _runs(item)]


def pytest_report_header() -> str | None:
    """Report how to draw the same tests again."""
    return f"share: one of {SHARE}, POSENC_DRAW={draw()}" if SHARE > 1 else None


def drawn(
    items: Iterable[Item], name: Callable[[Item], str], scheme: str | None = None
) -> list[Item]:
    """Return a share of ``items``, or all of them if ``scheme`` has changed.

    An item is drawn by its ``name``, whatever the others are: a fault that makes 50 of them fail
    escapes one of eight with a probability of (7/8)^50 = 0.13 %.
    """
    whole = scheme is not None and scheme in changed()
    if LISTED > 1 and scheme in without_use() and not whole:
        return []
    return [item for item in items if whole or is_drawn(name(item), LISTED)]


def is_drawn(name: str, share: int, draw_by: str | None = None) -> bool:
    """Return whether ``name`` is drawn, which happens to one name in ``share``."""
    text = f"{draw() if draw_by is None else draw_by} {name}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) % share == 0


@cache
def draw() -> str:
    """Return the seed of the draw: ``POSENC_DRAW``, or the commit, or the day if there is none."""
    if "POSENC_DRAW" in os.environ:
        return os.environ["POSENC_DRAW"]
    command = ["git", "rev-parse", "--short=12", "HEAD"]
    try:
        done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    except OSError:  # no git
        return date.today().isoformat()
    return done.stdout.strip() or date.today().isoformat()


@cache
def changed() -> frozenset[str]:
    """Return the schemes, by the name of their modules, and the doors that have changed."""
    judged = json.loads(JUDGED.read_text(encoding="utf-8"))
    return frozenset(name for name, digest in digests().items() if judged.get(name) != digest)


@cache
def without_use() -> frozenset[str]:
    """Return the names of the modules of schemes that no judged library and no model uses."""
    return frozenset(
        path.stem.replace("-", "_")
        for path in _scheme_files()
        if "\nknown-use: none\n" in path.read_text(encoding="utf-8")
    )


def digests() -> dict[str, str]:
    """Return a digest of the files of each scheme, by the name of its modules, and of each door."""
    schemes = {
        path.stem.replace("-", "_"): _digest(_files_of_scheme(path)) for path in _scheme_files()
    }
    return schemes | {door: _digest(_files_of_door(door)) for door in DOORS}


def _scheme_files() -> list[Path]:
    paths = (CHECKOUT / "spec").glob("*/*.yaml")
    return sorted(path for path in paths if path.parent.name != "models")


def _files_of_scheme(path: Path) -> list[Path]:
    name = f"{path.parent.name}/{path.stem}.py".replace("-", "_")
    return [path, *(CHECKOUT / home / name for home in HOMES)]


def _files_of_door(door: str) -> list[Path]:
    """Return the files of a door, without those of the doors within it."""
    place = CHECKOUT / KIT / door
    within = [CHECKOUT / KIT / other for other in DOORS if other.startswith(f"{door}/")]
    paths = sorted(place.rglob("*")) if place.is_dir() else [place]
    return [
        path
        for path in paths
        if path.suffix in (".py", ".json", ".txt", ".yaml") and not {*within} & {*path.parents}
    ]


def _digest(paths: Iterable[Path]) -> str:
    """Return a digest of files; docstrings and comments of Python do not count."""
    digest = hashlib.sha256()
    for path in paths:
        if path.exists():
            digest.update(_code(path) if path.suffix == ".py" else path.read_bytes())
    return digest.hexdigest()[:16]


def _code(path: Path) -> bytes:
    from posenc_lab.dependencies import digest_of_code  # not for `pytest --impl=…` in the checkout

    return digest_of_code(path.read_bytes()).encode()


def _runs(item: pytest.Item) -> bool:
    share = _share_of(item)
    if SHARE == 1 or _has_changed(item):
        return True
    return _scheme_of(item) not in without_use() and is_drawn(_name_of(item), share)


def _has_changed(item: pytest.Item) -> bool:
    """Return whether a test belongs to a changed scheme or tests a changed door."""
    file = item.path.stem.removeprefix("test_")
    return _scheme_of(item) in changed() or any(
        file in DOORS[door].split() for door in changed() & DOORS.keys()
    )


def _name_of(item: pytest.Item) -> str:
    """Return the name by which a test is drawn, that of its xdist group if it has one."""
    group = item.get_closest_marker("xdist_group")
    return str(group.args[0]) if group else item.nodeid


def _share_of(item: pytest.Item) -> int:
    if SHARE == 1:
        return 1
    if item.get_closest_marker("slow"):
        return RARELY * SHARE
    return SHARE if item.get_closest_marker("draws") else 1


def _scheme_of(item: pytest.Item) -> str | None:
    """Return the scheme of a test, by its parameters."""
    parameters: Mapping[str, Any] = item.callspec.params if hasattr(item, "callspec") else {}
    scheme = parameters.get("scheme")
    if "subject" in parameters:
        scheme = parameters["subject"].scheme
    elif isinstance(parameters.get("call"), str):
        scheme = _scheme_of_call(parameters["call"])
    if scheme is None:
        return None
    return str(scheme if isinstance(scheme, str) else scheme.module_name).replace("-", "_")


@cache
def _scheme_of_call(call: str) -> str | None:
    from posenc_lab.judging import schemes  # not for `pytest --impl=…` in the checkout

    return next((scheme.module_name for scheme in schemes() if call in scheme.calls), None)


def main() -> int:
    """Run all tests of what has changed; if they pass, write the digests."""
    current = digests()
    print(f"changed: {', '.join(sorted(changed())) or 'nothing'}")
    if changed():
        # With this share, hardly anything runs but what has changed.
        done = subprocess.run(["make", "test", f"SHARE={2**62}"], cwd=CHECKOUT, check=False)
        if done.returncode:
            return done.returncode
    JUDGED.write_text(json.dumps(current, indent=0, sort_keys=True) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
