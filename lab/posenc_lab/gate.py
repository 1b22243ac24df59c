"""Mutation testing of the kit: how many small changes of its code its tests detect.

    python -m posenc_lab.gate [--sample N] [--seed TEXT] [--module NAME] [--jobs N]

Each mutant is one change of one module in a room (a package of the kit that judges). The tests run
in a separate process, which loads the changed code instead of the module's file, as do its child
processes; the checkout is not touched. This prints every surviving mutant, and fails if more than
MOST survive.
"""

import argparse
import ast
import marshal
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date
from functools import cache, partial
from pathlib import Path
from types import CodeType

import posenc_conformance
from posenc_lab.mutation import Mutant, code_of, mutants
from posenc_lab.results import share, table

ROOT = Path(__file__).resolve().parents[2]
KIT = Path(posenc_conformance.__path__[0])
FILES = {
    path.stem.removeprefix("test_"): path.relative_to(ROOT).as_posix()
    for path in ROOT.glob("tests/*/test_*.py")
}


def tests_of(*names: str) -> tuple[str, ...]:
    """Return the paths of test files by name."""
    return tuple(FILES[name] for name in names)


TESTS: Mapping[str, tuple[str, ...]] = {
    "judge": (
        *tests_of(
            "error_model", "bounded", "truth_cache", "subject", "asked", "process", "failures"
        ),
        *tests_of("masked", "broadcast", "limits"),
        *tests_of("miniatures", "engines", "repro"),
    ),
    "diagnose": (
        *tests_of("pattern", "recover", "explain", "predictors", "state", "failures", "named"),
        *tests_of("naming", "recovered"),
        *tests_of("miniatures", "engines", "telling", "repro"),
    ),
    "checks": (
        *tests_of("asked", "invariant", "failures", "state", "named", "limits", "memory"),
        *tests_of("miniatures", "engines", "everywhere"),
    ),
    "deployed": tests_of("endpoint", "deployed"),
}
"""The most relevant tests of each room, those that detect most in the least time first. A test
file named like the mutated module runs before them."""
OWN: Mapping[str, tuple[str, ...]] = {
    "checks.deployed": tests_of("deployed"),
    "checks.engine_mistakes": tests_of("engines", "reported_engines"),
    "checks.engine_questions": tests_of("engines"),
    "checks.model_adapter": tests_of("engines"),
}
"""The first tests of modules whose test file has another name."""
STEP = 12
"""One in STEP miniatures is judged, the same ones in each run."""
MOST = 0.1
"""Share of mutants that may survive: many are equivalent to the true code."""
PATIENCE = 3
"""Time limit of the tests, as a multiple of their time without a mutant."""
HOUR = 3600.0
STARTING = 20.0
"""Extra seconds for starting processes on a busy machine."""
QUIETLY = ("-q", "-n", "0", "--tb=no", "-p", "no:cacheprovider")
HOOK = """
import marshal, os, sys
from importlib.machinery import PathFinder, SourceFileLoader

class Changed(SourceFileLoader):
    def get_code(self, name):
        with open(os.environ["POSENC_MUTANT_CODE"], "rb") as file:
            return marshal.load(file)

class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != os.environ.get("POSENC_MUTANT"):
            return None
        spec = PathFinder.find_spec(name, path, target)
        spec.loader = Changed(name, spec.origin)
        return spec

sys.meta_path.insert(0, Finder)
"""
"""A ``sitecustomize`` with which every Python process imports the changed module."""


@dataclass(frozen=True)
class Subject:
    """A mutant, by its module and its number among that module's mutants."""

    module: str
    number: int

    @property
    def room(self) -> str:
        """The module's package in the kit."""
        return self.module.split(".")[1]

    @property
    def mutant(self) -> Mutant:
        return parsed(self.module)[1][self.number]

    def __str__(self) -> str:
        path = file_of(self.module)
        shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
        return f"{shown}:{self.mutant.line}: `{self.mutant.change}`"


@dataclass(frozen=True)
class Fate:
    """The fate of a mutant."""

    subject: Subject
    by: str
    """The test that failed, or ``time``; empty if it survived."""

    @property
    def survived(self) -> bool:
        return not self.by


# Modules and their mutants.


def modules() -> list[str]:
    """Return every module of the rooms."""
    return [
        f"posenc_conformance.{room}.{path.stem}".removesuffix(".__init__")
        for room in TESTS
        for path in sorted((KIT / room).glob("*.py"))
    ]


def file_of(module: str) -> Path:
    path = KIT.joinpath(*module.split(".")[1:])
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


@cache
def parsed(module: str) -> tuple[ast.Module, tuple[Mutant, ...]]:
    source = file_of(module).read_text(encoding="utf-8")
    tree = ast.parse(source)
    return tree, tuple(mutants(tree, source))


def code(subject: Subject) -> CodeType:
    """Return the code of the mutated module."""
    return code_of(parsed(subject.module)[0], subject.mutant, str(file_of(subject.module)))


def subjects(some: Sequence[str], sample: int | None, seed: str) -> list[Subject]:
    """Return the mutants of some modules, or a seeded sample of them, in order."""
    every = [Subject(module, number) for module in some for number in range(len(parsed(module)[1]))]
    if sample is None or sample >= len(every):
        return every
    drawn = random.Random(seed).sample(range(len(every)), sample)
    return [every[index] for index in sorted(drawn)]


def tests_for(module: str) -> list[str]:
    """Return the tests that judge a mutant of a module, the most relevant first."""
    within = module.split(".")[1:]
    own = OWN.get(".".join(within), tests_of(*FILES.keys() & {within[-1]}))
    return [*dict.fromkeys((*own, *TESTS[within[0]]))]


# Running tests.


@dataclass(frozen=True)
class Bench:
    """A folder with the hook, and with a cache that contains no verdict on the true code."""

    folder: Path

    @classmethod
    def made(cls, folder: Path) -> "Bench":
        (folder / "sitecustomize.py").write_text(HOOK, encoding="utf-8")
        return cls(folder)

    def killer(self, subject: Subject, tests: Sequence[str], seconds: float) -> str:
        """Return the first test that fails with a mutant, or ``time``; empty if none does."""
        with tempfile.NamedTemporaryFile(dir=self.folder, suffix=".code") as file:
            file.write(marshal.dumps(code(subject)))
            file.flush()
            changed = {"POSENC_MUTANT": subject.module, "POSENC_MUTANT_CODE": file.name}
            return self.failing(tests, seconds, changed)

    def failing(
        self, tests: Sequence[str], seconds: float, changed: Mapping[str, str] | None = None
    ) -> str:
        """Return the first test that fails, or ``time``; empty if none does."""
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", "-x", *QUIETLY, *tests],
            cwd=ROOT,
            env={**os.environ, **self._environment(), **(changed or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            return "time"
        finally:
            _end(process)
        return "" if process.returncode == 0 else _culprit(output)

    def _environment(self) -> dict[str, str]:
        before = os.environ.get("PYTHONPATH")
        return {
            "PYTHONPATH": os.pathsep.join([str(self.folder), *([before] if before else [])]),
            "XDG_CACHE_HOME": str(self.folder / "cache"),
            "POSENC_LAB_STORE": "fresh",  # verdicts on a mutant don't apply to the true code
            "POSENC_LISTS": str(STEP),
            "POSENC_DRAW": "gate",
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        }


def _end(process: "subprocess.Popen[str]") -> None:
    """Kill the process and its children."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    finally:
        process.wait()


def _culprit(said: str) -> str:
    """Return the first failure that pytest lists; if it lists none, its last line."""
    words = (line.split() for line in said.splitlines() if line.startswith(("FAILED ", "ERROR ")))
    last = said.strip().rpartition("\n")[2]
    return next((parts[1] for parts in words if len(parts) > 1), f"the run itself ({last})")


def seconds_of(bench: Bench, room: str, tests: Iterable[str]) -> float:
    """Return how many seconds the tests of a room take.

    Raises SystemExit if one fails without a mutant: then every mutant would seem detected.
    """
    began = time.monotonic()
    if failed := bench.failing([*dict.fromkeys(tests)], HOUR):
        raise SystemExit(f"{room}: {failed} fails without any change: nothing can be told")
    return time.monotonic() - began


def fates_of(some: Sequence[Subject], jobs: int) -> Iterator[Fate]:
    """Yield the fates of mutants under the tests of their modules, in order."""
    of_room: dict[str, list[str]] = {}
    for mutant in some:
        of_room.setdefault(mutant.room, []).extend(tests_for(mutant.module))
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        bench = Bench.made(Path(folder))
        usual = pool.map(partial(seconds_of, bench), of_room, of_room.values())
        limits = {
            room: STARTING + PATIENCE * seconds
            for room, seconds in zip(of_room, usual, strict=True)
        }

        def fate(subject: Subject) -> Fate:
            tests = tests_for(subject.module)
            return Fate(subject, bench.killer(subject, tests, limits[subject.room]))

        yield from pool.map(fate, some)


# The results.


def render(fates: Sequence[Fate]) -> str:
    """Return a table of the counts, and the survivors."""
    rooms = dict.fromkeys(fate.subject.room for fate in fates)
    rows = [
        _row(room, [result for result in fates if result.subject.room == room]) for room in rooms
    ]
    lines = [table(HEADER, [*rows, _row("all", fates)]), ""]
    for fate in fates:
        if fate.survived:
            lines += [f"- {fate.subject}", f"  in `{fate.subject.mutant.text}`"]
    return "\n".join(lines)


HEADER = ("room", "mutants", "killed", "survivors", "killed of all")


def _row(name: str, fates: Sequence[Fate]) -> list[object]:
    killed = sum(not fate.survived for fate in fates)
    return [name, len(fates), killed, len(fates) - killed, share(killed, len(fates))]


def passed(fates: Sequence[Fate]) -> bool:
    """Return whether few enough mutants survived."""
    return sum(fate.survived for fate in fates) <= MOST * len(fates)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, metavar="N", help="so many mutants; all if not given")
    parser.add_argument(
        "--seed", default=date.today().isoformat(), help="of the sample; today's date if not given"
    )
    parser.add_argument("--module", help="only this one, such as posenc_conformance.judge.case")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args()
    if options.module and options.module not in modules():
        parser.error(f"{options.module} is not among {', '.join(modules())}")
    chosen = subjects(
        [options.module] if options.module else modules(), options.sample, options.seed
    )
    fates = []
    for fate in fates_of(chosen, options.jobs):
        fates.append(fate)
        print(
            f"{len(fates)}/{len(chosen)} {fate.subject}: {fate.by or 'SURVIVED'}", file=sys.stderr
        )
    print(f"seed {options.seed}\n\n{render(fates)}")
    if not passed(fates):
        raise SystemExit(f"more than {MOST:.0%} survive")


if __name__ == "__main__":
    main()
