"""How many small changes of the kit itself its tests find.

    python -m posenc_lab.gate [--sample N] [--seed TEXT] [--module NAME] [--jobs N]

Each mutant is one change of one module of the rooms that judge. The tests run in a process of their
own, in which, as in all that it starts, this module has other code than that of its file; the
checkout is not touched. What survives the nearest tests, which take seconds, faces further ones,
which know the rest of the product and take minutes. ``gate.yaml`` lists the survivors that somebody
looked at, each with the reason why it is no mistake. If more than a few in a hundred of the others
survive, this fails.
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
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import date
from functools import cache, partial
from itertools import chain
from pathlib import Path
from types import CodeType
from typing import Any

import posenc_conformance
from posenc_lab.miniatures import right, wrong
from posenc_lab.miniatures.mistakes import STEPS, WRONG
from posenc_lab.miniatures.styles import RIGHT
from posenc_lab.mutants import reviewed
from posenc_lab.mutation import Mutant, code_of, mutants
from posenc_lab.results import share, table

ROOT = Path(__file__).resolve().parents[2]
KIT = Path(posenc_conformance.__path__[0])
EQUIVALENT = Path(__file__).with_name("gate.yaml")


def tests_of(*names: str) -> tuple[str, ...]:
    return tuple(f"tests/test_{name}.py" for name in names)


SAID_WHILE_IT_RUNS = tuple(
    f"tests/test_telling.py::test_{name}"
    for name in (
        "a_run_announces_its_size_and_its_largest_call",
        "a_slow_run_says_what_it_waits_for",
        "costs_are_told_of_long_runs_alone",
    )
)
"""The others of that file start runs of their own."""
NEAREST: Mapping[str, tuple[str, ...]] = {
    "judge": tests_of(
        *("error_model", "bounded", "truths", "subject", "asked", "process", "failures", "masked"),
        *("broadcast", "limits"),
    ),
    "diagnose": tests_of(
        *("pattern", "recover", "explain", "mistakes", "state", "failures", "named", "naming"),
        "recovered",
    ),
    "report": (*tests_of("scorecard", "document", "badge", "cli"), *SAID_WHILE_IT_RUNS),
    "checks": tests_of("asked", "invariant", "failures", "state", "named", "limits", "memory"),
    "remote": tests_of("programs", "here", "memory"),
}
"""Of each room the tests that know most about it, in seconds, those that find most first. A test
file that is called as the mutated module runs before them."""
OF_ENGINES = tuple(
    f"tests/test_engines.py::test_{name}"
    for name in (
        "right_engines_pass",
        "numbers_that_are_mistaken_are_told",
        "layers_that_are_taken_for_others_are_listed",
        "tables_that_end_too_early_are_wrong_beyond_the_original_context_alone",
        "a_claim_that_ends_early_is_said_to",
        "what_an_engine_does_to_its_configuration_does_not_stay",
        "all_checks_of_a_model_are_counted",
        "the_original_context_is_asked_to_its_very_end_and_right_beyond",
        "an_image_of_four_patches_is_asked_of_who_turns_by_three_axes",
        "a_short_context_is_asked_to_its_end_and_nothing_of_it_twice",
        "who_claims_nothing_of_models_is_refused",
        "of_three_axes_none_may_be_beyond_the_claim",
        "the_widest_of_several_claims_says_how_far_is_asked",
        "a_bias_of_more_keys_than_are_claimed_is_not_asked",
        "rows_are_asked_to_the_last_and_queries_at_the_end_of_all_keys",
        "claims_that_mean_nothing_are_refused",
        "wrong_engines_are_rejected_and_named",
    )
)
OWN: Mapping[str, tuple[str, ...]] = {
    "checks.engine_mistakes": (*OF_ENGINES, *tests_of("reported_engines")),
    "checks.engine_questions": OF_ENGINES,
    "checks.model": OF_ENGINES,
    "remote.adapter": tests_of("remote_adapter", "apart"),
    "remote.process": tests_of("remote_process", "programs"),
    "remote.worker": tests_of("load", "apart"),
}
"""The same of modules whose tests are in a file of another name."""
MINIATURES = "miniatures"
"""Stands for the tests of some right and wrong implementations."""
FURTHER: Mapping[str, tuple[str, ...]] = {
    "judge": (MINIATURES, *tests_of("engines", "repro")),
    "diagnose": (MINIATURES, *tests_of("engines", "telling", "repro")),
    "report": tests_of("telling", "scoreboard", "hostile", "engines", "circumstances"),
    "checks": (MINIATURES, *tests_of("engines", "everywhere")),
    "remote": tests_of("hostile", "circumstances", "engines"),
}
"""Of each room tests that know the rest of the product, in minutes, those that find most first."""
RICH = ("rope", "alibi", "sinusoidal", "t5_bias", "learned")
"""Schemes whose calls have most of what there is: of their miniatures more are judged."""
MOST = 0.03
"""Share of mutants that may survive."""
PATIENCE = 3
"""A mutant may take so many times as long as the tests do without one."""
HOUR = 3600.0
STARTING = 20.0
"""Seconds more, for the start of processes on a busy machine."""
QUIETLY = ("-q", "-n", "0", "--tb=no", "-p", "no:cacheprovider")
HOOK = """
import marshal, os, sys, traceback
from importlib.machinery import PathFinder, SourceFileLoader

def code():
    with open(os.environ["POSENC_MUTANT_CODE"], "rb") as file:
        return marshal.load(file)

class Changed(SourceFileLoader):
    def get_code(self, name):
        return code()

class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != os.environ.get("POSENC_MUTANT"):
            return None
        spec = PathFinder.find_spec(name, path, target)
        spec.loader = Changed(name, spec.origin)
        return spec

def run():
    status = 0
    try:
        exec(code(), sys.modules["__main__"].__dict__)
    except SystemExit as ending:
        status = ending.code or 0
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    os._exit(status)

sys.meta_path.insert(0, Finder)
if os.environ.get("POSENC_MUTANT_FILE") in sys.orig_argv:
    sys.modules["__main__"].__file__ = os.environ["POSENC_MUTANT_FILE"]
    run()
"""
"""Every process of Python that is started with it in its path has the changed module, whether it
imports that or, as the worker does, runs it by the path of its file."""


@dataclass(frozen=True)
class Subject:
    """A mutant of a module, by its number among all of that module."""

    module: str
    number: int

    @property
    def room(self) -> str:
        """The package of the kit that the module is in."""
        return self.module.split(".")[1]

    @property
    def mutant(self) -> Mutant:
        return parsed(self.module)[1][self.number]

    @property
    def key(self) -> tuple[str, str, str]:
        """What a reviewed survivor is listed under."""
        return self.module, self.mutant.text, self.mutant.change

    def __str__(self) -> str:
        path = file_of(self.module)
        shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
        return f"{shown}:{self.mutant.line}: `{self.mutant.change}`"


@dataclass(frozen=True)
class Fate:
    """What became of a mutant."""

    subject: Subject
    by: str
    """The test that failed, or ``time``; empty if it survived."""
    further: bool = False
    """Whether it survived the nearest tests, and faced further ones."""

    @property
    def survived(self) -> bool:
        return not self.by


# Modules and their mutants.


def modules() -> list[str]:
    """Every module of the rooms."""
    return [
        f"posenc_conformance.{room}.{path.stem}".removesuffix(".__init__")
        for room in NEAREST
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
    """The code of the module with the change."""
    return code_of(parsed(subject.module)[0], subject.mutant, str(file_of(subject.module)))


def subjects(some: Sequence[str], sample: int | None, seed: str) -> list[Subject]:
    """The mutants of some modules, or some of them, drawn from a seed, in order.

    Those that were reviewed are taken out of what was drawn: so a seed means the same mutants,
    whatever is reviewed.
    """
    found = [Subject(module, number) for module in some for number in range(len(parsed(module)[1]))]
    if sample is not None and sample < len(found):
        drawn = random.Random(seed).sample(range(len(found)), sample)
        found = [found[index] for index in sorted(drawn)]
    known = reviewed(EQUIVALENT)
    return [each for each in found if each.key not in known]


def nearest(module: str) -> tuple[str, ...]:
    """The tests that judge a mutant of a module."""
    within = module.split(".")[1:]
    (named,) = tests_of(within[-1])
    own = OWN.get(".".join(within), (named,) if (ROOT / named).is_file() else ())
    return tuple(dict.fromkeys((*own, *NEAREST[within[0]])))


def further(module: str) -> tuple[str, ...]:
    """The tests that judge a mutant which survives the nearest ones."""
    near = nearest(module)
    some = FURTHER[module.split(".")[1]]
    tests = chain.from_iterable(of_miniatures() if t == MINIATURES else (t,) for t in some)
    return tuple(each for each in tests if each not in near)


@cache
def of_miniatures() -> tuple[str, ...]:
    """The tests of some right and wrong implementations, the same each time."""
    assert right.__path__, wrong.__path__  # importing them fills the lists
    rich = [each for each in WRONG if each.__module__.rpartition(".")[2] in RICH]
    tests = {
        "test_wrong_is_rejected_and_named": {*_every(12, WRONG), *_every(4, rich)},
        "test_right_passes": _every(8, RIGHT),
        "test_what_the_wrong_ones_change_is_right": _every(5, STEPS),
    }
    (file,) = tests_of("miniatures")
    return tuple(f"{file}::{test}[{name}]" for test, some in tests.items() for name in sorted(some))


def _every(step: int, miniatures: Iterable[Any]) -> list[str]:
    """One in so many of their names, as ids of tests have them, but for those that ids change."""
    names = Counter(str(each.__name__).strip("_").replace(" ", "-") for each in miniatures)
    return sorted(name for name, n in names.items() if n == 1 and name.isascii())[::step]


# Running tests.


@dataclass(frozen=True)
class Bench:
    """A folder with the hook, and with a cache in which nothing is known of the true code."""

    folder: Path

    @classmethod
    def made(cls, folder: Path) -> "Bench":
        (folder / "sitecustomize.py").write_text(HOOK, encoding="utf-8")
        return cls(folder)

    def killer(self, subject: Subject, tests: Sequence[str], seconds: float) -> str:
        """The test that fails with a mutant, or ``time``; empty if none does."""
        with tempfile.NamedTemporaryFile(dir=self.folder, suffix=".code") as file:
            file.write(marshal.dumps(code(subject)))
            file.flush()
            changed = {
                "POSENC_MUTANT": subject.module,
                "POSENC_MUTANT_CODE": file.name,
                "POSENC_MUTANT_FILE": str(file_of(subject.module)),
            }
            return self.failing(tests, seconds, changed)

    def failing(
        self, tests: Sequence[str], seconds: float, changed: Mapping[str, str] | None = None
    ) -> str:
        """The first test that fails, or ``time``; empty if none does."""
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
            said, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            return "time"
        finally:
            _end(process)
        return "" if process.returncode == 0 else _culprit(said)

    def _environment(self) -> dict[str, str]:
        before = os.environ.get("PYTHONPATH")
        return {
            "PYTHONPATH": os.pathsep.join([str(self.folder), *([before] if before else [])]),
            "XDG_CACHE_HOME": str(self.folder / "cache"),
            "POSENC_LAB_STORE": "fresh",  # what a mutant was found to be says nothing of the truth
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        }


def _end(process: "subprocess.Popen[str]") -> None:
    """End what is left of it, with all that it has started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    finally:
        process.wait()


def _culprit(said: str) -> str:
    """The first failure that pytest lists; what else went wrong if it lists none."""
    words = (line.split() for line in said.splitlines() if line.startswith(("FAILED ", "ERROR ")))
    last = said.strip().rpartition("\n")[2]
    return next((found[1] for found in words if len(found) > 1), f"the run itself ({last})")


def seconds_of(bench: Bench, room: str, tests: Iterable[str]) -> float:
    """How long tests of a room take.

    Raises SystemExit if one fails without a mutant: then every mutant would look found.
    """
    began = time.monotonic()
    if failed := bench.failing([*dict.fromkeys(tests)], HOUR):
        raise SystemExit(f"{room}: {failed} fails without any change: nothing can be told")
    return time.monotonic() - began


def fates_of(some: Sequence[Subject], jobs: int) -> Iterator[Fate]:
    """What becomes of mutants: of those that the nearest tests find first, then of the others."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        bench = Bench.made(Path(folder))
        left = []
        for fate in _faced(bench, pool, some, nearest):
            if fate.survived:
                print(f"{fate.subject}: survives the nearest tests", file=sys.stderr)
                left.append(fate.subject)
            else:
                yield fate
        for fate in _faced(bench, pool, left, further):
            yield replace(fate, further=True)


def _faced(
    bench: Bench, pool: Executor, some: Sequence[Subject], tests: Callable[[str], tuple[str, ...]]
) -> Iterator[Fate]:
    """What becomes of mutants before the tests that judge those of a module, in order."""
    of_room: dict[str, list[str]] = {}
    for each in some:
        of_room.setdefault(each.room, []).extend(tests(each.module))
    usual = pool.map(partial(seconds_of, bench), of_room, of_room.values())
    limits = {
        room: STARTING + PATIENCE * seconds for room, seconds in zip(of_room, usual, strict=True)
    }

    def fate(subject: Subject) -> Fate:
        by = bench.killer(subject, tests(subject.module), limits[subject.room])
        return Fate(subject, by)

    yield from pool.map(fate, some)


# What came out.


def render(fates: Sequence[Fate]) -> str:
    """The counts as a table, and the survivors."""
    rooms = dict.fromkeys(fate.subject.room for fate in fates)
    rows = [_row(room, [each for each in fates if each.subject.room == room]) for room in rooms]
    lines = [table(HEADER, [*rows, _row("all", fates)]), ""]
    for fate in fates:
        if fate.survived:
            lines += [f"- {fate.subject}", f"  in `{fate.subject.mutant.text}`"]
    return "\n".join(lines)


HEADER = ("room", "mutants", "killed", "by further tests", "survivors", "killed of all")


def _row(name: str, fates: Sequence[Fate]) -> list[object]:
    killed = sum(not fate.survived for fate in fates)
    later = sum(fate.further and not fate.survived for fate in fates)
    return [name, len(fates), killed, later, len(fates) - killed, share(killed, len(fates))]


def passed(fates: Sequence[Fate]) -> bool:
    """Whether few enough survived."""
    return sum(fate.survived for fate in fates) <= MOST * len(fates)


def stale() -> list[tuple[str, str, str]]:
    """Reviewed survivors that are not there any more."""
    there = {Subject(m, n).key for m in modules() for n in range(len(parsed(m)[1]))}
    return sorted(reviewed(EQUIVALENT).keys() - there)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, metavar="N", help="so many mutants; all if not given")
    parser.add_argument(
        "--seed", default=date.today().isoformat(), help="of the sample; today's date if not given"
    )
    parser.add_argument("--module", help="only this one, such as posenc_conformance.judge.case")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    given = parser.parse_args()
    if given.module and given.module not in modules():
        parser.error(f"{given.module} is not among {', '.join(modules())}")
    some = subjects([given.module] if given.module else modules(), given.sample, given.seed)
    fates = []
    for fate in fates_of(some, given.jobs):
        fates.append(fate)
        print(f"{len(fates)}/{len(some)} {fate.subject}: {fate.by or 'SURVIVED'}", file=sys.stderr)
    print(f"seed {given.seed}\n\n{render(fates)}")
    if not passed(fates):
        raise SystemExit(f"more than {MOST:.0%} survive")


if __name__ == "__main__":
    main()
