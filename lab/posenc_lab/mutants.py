"""How many small changes of the reference itself the kit finds.

    python -m posenc_lab.mutants [--scheme ID] [--module NAME] [--sample N] [--write FILE]

Each mutant is a copy of one module of ``posenc`` with one change, in a package of its own beside
the true one, which gives the truth. It claims what the reference claims, and is judged like any
implementation until the first check fails. ``equivalent.yaml`` lists the survivors that somebody
looked at, each with the reason why it is no mistake; the others are holes of the kit.
"""

import argparse
import ast
import json
import os
import resource
import signal
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cache, partial
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from pathlib import Path
from threading import Timer
from types import CodeType, FrameType, ModuleType
from typing import Any

import numpy as np
import yaml

import posenc
from posenc_conformance.adapters.claims import ATTRIBUTE
from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.implementations.reference import Reference
from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.error_model import error_ratio
from posenc_conformance.judge.knowledge import KnownScheme
from posenc_conformance.judge.subject import Subject
from posenc_conformance.registry import load_all
from posenc_lab.first_failure import LEVELS, checks, failing, without_diagnosis
from posenc_lab.mutation import Mutant, code_of, mutants
from posenc_lab.results import read_record, share, table, write

LEFT = ("refusal", "allowed", "equivalent", "holes")
KILLED = ("raised", *LEVELS, "endless")
SURVIVED = ("refusal", "allowed", "same", "unjudged")
"""It refuses less, of which the spec says nothing; it differs by less than the bound, hence is
right; it never differs; it differs only where the kit does not look, because of a mask or because
the bound exceeds the value. The last two need a reason, or are holes."""
MOST = 6
"""Schemes that judge a mutant at most: who passes six passes the others, too."""
SECONDS = 20
"""Of the processor's time, for one check; the slowest takes a third of one."""
SILENCE = 900
"""Seconds after which a process that says nothing is taken for dead."""
MEMORY = 4 * 2**30
BATCH = 60
EQUIVALENT = Path(__file__).with_name("equivalent.yaml")
FOLDER = Path(posenc.__path__[0])


@dataclass(frozen=True)
class Fate:
    """What became of a mutant."""

    module: str
    number: int
    line: int
    text: str
    change: str
    by: str
    """Level of the check that failed, ``raised``, ``endless``; of a survivor ``same``, ``allowed``,
    ``unjudged`` or ``refusal``."""
    check: str = ""
    share: float = 0.0
    """Of a survivor: largest difference from the reference, in units of the bound."""

    @property
    def survived(self) -> bool:
        """Whether no check failed."""
        return self.by in SURVIVED

    @property
    def key(self) -> tuple[str, str, str]:
        """What a reviewed survivor is listed under."""
        return self.module, self.text, self.change


# Modules and their mutants.


def modules() -> list[str]:
    """Everything in the package that computes."""
    found = [path.relative_to(FOLDER) for path in sorted(FOLDER.rglob("*.py"))]
    return [_name(path) for path in found if path.name != "__init__.py"]


def _name(path: Path) -> str:
    return ".".join(("posenc", *path.with_suffix("").parts))


def file_of(module: str) -> Path:
    return FOLDER.joinpath(*module.split(".")[1:]).with_suffix(".py")


@cache
def parsed(module: str) -> tuple[ast.Module, tuple[Mutant, ...]]:
    source = file_of(module).read_text(encoding="utf-8")
    tree = ast.parse(source)
    return tree, tuple(mutants(tree, source))


@cache
def needs(module: str) -> frozenset[str]:
    """A module and all modules of the package that it imports, directly or not."""
    found = {module}
    for node in ast.walk(ast.parse(file_of(module).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "posenc":
            names = [f"{node.module}.{each.name}" for each in node.names]
            for name in (str(node.module), *names):
                if name in modules() and name not in found:
                    found |= needs(name)
    return frozenset(found)


def judges(module: str, schemes: Sequence[KnownScheme]) -> list[KnownScheme]:
    """The schemes whose results may depend on a module: its own, then those that need least."""
    needed = {each: needs(f"posenc.schemes.{each.module_name}") for each in schemes}
    some = [each for each in schemes if module in needed[each]]
    own = module.removeprefix("posenc.schemes.")
    return sorted(some, key=lambda each: (each.module_name != own, len(needed[each])))


# A mutant as an implementation.


class _Changed(MetaPathFinder, Loader):
    """Gives a module of other code than that of its file."""

    def __init__(self, module: str, code: CodeType) -> None:
        self.module, self.code = module, code

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        return spec_from_loader(name, self) if name == self.module else None

    def exec_module(self, module: ModuleType) -> None:
        exec(self.code, module.__dict__)


@contextmanager
def _own_package(finder: _Changed) -> Iterator[None]:
    """While it lasts, ``import posenc.…`` makes modules anew; afterwards nobody finds them."""
    true = {name: each for name, each in sys.modules.items() if _is_ours(name)}
    for name in true:
        del sys.modules[name]
    package = ModuleType("posenc")
    package.__path__ = [str(FOLDER)]
    sys.modules["posenc"] = package
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if _is_ours(name)]:
            del sys.modules[name]
        sys.modules.update(true)


def _is_ours(name: str) -> bool:
    return name == "posenc" or name.startswith("posenc.")


def calls_of(
    schemes: Iterable[KnownScheme], module: str, code: CodeType
) -> dict[str, Callable[..., Any]]:
    """The calls of some schemes in a package of its own, of which one module has other code."""
    found: dict[Any, Any] = {}
    with _own_package(_Changed(module, code)):
        for scheme in schemes:
            home = import_module(f"posenc.schemes.{scheme.module_name}")
            found |= {name: getattr(home, name) for name in scheme.calls}
    return found


@dataclass
class Seen:
    """How far results are from those of the reference, over a run."""

    same: bool = True
    """Bit for bit."""
    share: float = 0.0
    """Largest difference that the kit judges, in units of the bound."""


@dataclass(frozen=True, eq=False)
class Compared(Subject):
    """A claim whose results are compared with those of the reference."""

    seen: Seen = field(default_factory=Seen)

    def run(self, case: Case) -> Array:
        """The result."""
        output = super().run(case)
        twin = replace(self, method=partial(getattr(Reference, self.call.name), None))
        true = twin.invoke(case, case.inputs)
        if output.tobytes() != true.tobytes():
            apart = np.abs(output.astype(np.float64) - true.astype(np.float64))
            ratio = error_ratio(np.where(case.judged, apart, 0.0), case.bound)
            self.seen.same = False
            self.seen.share = max(self.seen.share, float(ratio.max(initial=0.0)))
        return output


def adapter_of(calls: Mapping[str, Callable[..., Any]]) -> object:
    """An implementation that claims of these calls what the reference claims of them."""

    def method(name: str) -> Callable[..., Any]:
        def call(self: object, *arguments: Any, **keywords: Any) -> Any:
            return calls[name](*arguments, **keywords)

        setattr(call, ATTRIBUTE, getattr(getattr(Reference, name), ATTRIBUTE))
        return call

    return type("Mutant", (), {name: method(name) for name in calls})()


def claims_of(
    calls: Mapping[str, Callable[..., Any]], schemes: Sequence[KnownScheme], seen: Seen
) -> list[Subject]:
    """What is judged: every claim, watched."""
    return [
        Compared(
            each.scheme,
            each.call,
            each.combination,
            each.scopes,
            each.method,
            each.keywords,
            seen,
        )
        for each in subjects(adapter_of(calls), schemes)
    ]


# Judging.


class Endless(BaseException):
    """A check takes far longer than it may; not an Exception, so that nobody else takes it."""


def _give_up(number: int, frame: FrameType | None) -> None:
    raise Endless


def judge(module: str, number: int, schemes: Sequence[KnownScheme]) -> Fate:
    """The fate of one mutant; what it computes may not take the process down with it."""
    tree, all_mutants = parsed(module)
    mutant, seen = all_mutants[number], Seen()

    def fate(by: str, check: str = "") -> Fate:
        change = (mutant.line, mutant.text, mutant.change)
        return Fate(module, number, *change, by, check, seen.share)

    signal.signal(signal.SIGPROF, _give_up)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        code = code_of(tree, mutant, f"{module} (mutated)")
        claimed = claims_of(calls_of(schemes, module, code), schemes, seen)
        for check in checks(claimed, schemes):
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            if found := failing(check):
                by = "raised" if found.raised else found.level
                return fate(by, f"{found.scheme}::{found.level}::{found.id}")
    except Endless:
        return fate("endless")
    except Exception as error:
        return fate("raised", repr(error))
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return fate(survival(mutant, seen))


def survival(mutant: Mutant, seen: Seen) -> str:
    """Why nothing failed, as far as one can tell without looking."""
    if seen.same:
        return "refusal" if mutant.refusal else "same"
    return "allowed" if seen.share > 0 else "unjudged"


def _work() -> None:
    """Do what standard input asks for, in a process of limited memory."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    task = json.load(sys.stdin)
    known = {each.id: each for each in load_all()}
    if "module" not in task:
        for name in task["schemes"]:
            print(json.dumps(reached_by(known[name])), flush=True)
        return
    killer = ""
    with without_diagnosis():
        for number, names in zip(task["numbers"], task["schemes"], strict=True):
            # Whoever killed the one before may well kill this one, which is on a line nearby.
            order = [*(killer for name in names if name == killer), *names]
            fate = judge(task["module"], number, [known[name] for name in dict.fromkeys(order)])
            killer = fate.check.split("::")[0] or killer
            print(json.dumps(asdict(fate)), flush=True)


# Who reaches which line.


def reached_by(scheme: KnownScheme) -> dict[str, list[int]]:
    """The lines of each module that run when the kit judges a scheme of the reference."""
    files = {str(file_of(module)): module for module in modules()}
    lines: dict[str, set[int]] = {module: set() for module in modules()}

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        module = files.get(frame.f_code.co_filename)
        if module is None:
            return None
        seen = lines[module]

        def local(frame: FrameType, event: str, argument: Any) -> Any:
            seen.add(frame.f_lineno)
            return local

        seen.add(frame.f_lineno)
        return local

    unchanged = compile(file_of("posenc.exact").read_bytes(), str(file_of("posenc.exact")), "exec")
    sys.settrace(trace)
    try:
        calls = calls_of([scheme], "posenc.exact", unchanged)
        for check in checks(subjects(adapter_of(calls), [scheme]), [scheme]):
            failing(check)
    finally:
        sys.settrace(None)
    return {module: sorted(found) for module, found in lines.items() if found}


# Many mutants, in processes of their own.


@dataclass(frozen=True)
class Batch:
    """Some mutants of one module, and who judges each; or schemes whose lines are asked for."""

    module: str
    numbers: tuple[int, ...]
    schemes: tuple[tuple[str, ...], ...]


Reach = Mapping[str, Mapping[str, Sequence[int]]]
"""Of each scheme the lines of each module that run when the kit judges the reference of it."""


def reach(schemes: Sequence[KnownScheme], jobs: int) -> Reach:
    """Asked of some schemes."""
    parts = [[each.id for each in schemes[i::jobs]] for i in range(jobs)]
    with ThreadPoolExecutor(jobs) as pool:
        answers = list(pool.map(lambda names: read_output({"schemes": names}), parts))
    return {
        name: json.loads(line)
        for names, lines in zip(parts, answers, strict=True)
        for name, line in zip(names, lines, strict=True)
    }


def modules_for(schemes: Sequence[KnownScheme], only: str | None, chosen: str | None) -> list[str]:
    """Modules that some scheme needs; or those that one scheme alone needs; or one module."""
    return [
        module
        for module in modules()
        if (some := [each.id for each in judges(module, schemes)])
        and only in (None, *(some if len(some) == 1 else ()))
        and chosen in (None, module)
    ]


def batches(
    some: Sequence[str], schemes: Sequence[KnownScheme], known: Reach, step: int
) -> list[Batch]:
    """Every ``step``-th mutant of some modules."""
    found = []
    for module in some:
        numbers = range(0, len(parsed(module)[1]), step)
        judged = judges(module, schemes)
        who = {n: judges_of(parsed(module)[1][n], module, judged, known) for n in numbers}
        for start in range(0, len(numbers), BATCH):
            few = tuple(numbers[start : start + BATCH])
            found.append(Batch(module, few, tuple(who[n] for n in few)))
    return found


def fates_of(some: Sequence[str], jobs: int, step: int = 1) -> list[Fate]:
    """What becomes of every ``step``-th mutant of some modules, in order."""
    schemes = load_all()
    many = [users for module in some if len(users := judges(module, schemes)) > MOST]
    asked = [each for each in schemes if any(each in users for users in many)]
    todo = batches(some, schemes, reach(asked, jobs), step)
    found: list[Fate] = []
    with ThreadPoolExecutor(jobs) as pool:
        for batch, fates in zip(todo, pool.map(run, todo), strict=True):
            found += fates
            print(f"{batch.module}: {len(found)} judged in all", file=sys.stderr)
    return found


def judges_of(
    mutant: Mutant, module: str, schemes: Sequence[KnownScheme], known: Reach
) -> tuple[str, ...]:
    """The schemes whose checks run the changed statement: a few of those that need little else."""
    if mutant.span is None or len(schemes) <= MOST:
        return tuple(each.id for each in schemes)
    first, last = mutant.span
    return tuple(
        each.id
        for each in schemes
        if any(first <= line <= last for line in known[each.id].get(module, ()))
    )[:MOST]


def run(batch: Batch) -> list[Fate]:
    """The fates of a batch; a process that dies or says nothing any more has met one, too."""
    fates: list[Fate] = []
    while (done := len(fates)) < len(batch.numbers):
        rest = replace(batch, numbers=batch.numbers[done:], schemes=batch.schemes[done:])
        fates += [Fate(**json.loads(line)) for line in read_output(asdict(rest))]
        if (done := len(fates)) < len(batch.numbers):
            number = batch.numbers[done]
            lost = parsed(batch.module)[1][number]
            fates.append(
                Fate(batch.module, number, lost.line, lost.text, lost.change, "endless", "process")
            )
    return fates


def read_output(task: Mapping[str, Any]) -> list[str]:
    """What a process said about a task before it ended or was ended."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "posenc_lab.mutants", "--work"]
    process = subprocess.Popen(
        command,
        cwd=Path(__file__).resolve().parents[2],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    json.dump(task, process.stdin)
    process.stdin.close()
    lines: list[str] = []
    while line := _line(process):
        lines.append(line)
    process.wait()
    return lines


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    timer = Timer(SILENCE, process.kill)
    timer.start()
    try:
        return process.stdout.readline()
    finally:
        timer.cancel()


# Survivors that somebody looked at, and what came out.


def reviewed(path: Path = EQUIVALENT) -> dict[tuple[str, str, str], str]:
    """Why each reviewed survivor is no mistake."""
    found: dict[Any, Any] = {}
    for module, entries in yaml.safe_load(path.read_text(encoding="utf-8")).items():
        for entry in entries:
            for change in entry["changes"]:
                found[module, entry["line"], change] = entry["why"]
    return found


def report(fates: Sequence[Fate]) -> dict[str, Any]:
    """Counts per module, and every survivor."""
    known = reviewed()
    by_module: dict[str, Counter[str]] = {}
    lists: dict[str, list[dict[str, Any]]] = {"allowed": [], "equivalent": [], "holes": []}
    for fate in fates:
        kind = fate.by
        if kind in ("same", "unjudged"):
            kind = "equivalent" if fate.key in known else "holes"
        by_module.setdefault(fate.module, Counter())[kind] += 1
        if kind in lists:
            lists[kind].append({**_to_dict(fate), "why": known.get(fate.key, "")})
    return {"modules": {name: dict(counts) for name, counts in by_module.items()}, **lists}


def _to_dict(fate: Fate) -> dict[str, Any]:
    told = {"module": fate.module, "line": fate.line, "text": fate.text, "change": fate.change}
    return {**told, "kind": fate.by, "share of the bound": float(f"{fate.share:.2g}")}


def render(found: Mapping[str, Any]) -> str:
    """The counts as a table, and the holes."""
    rows = [_row(name, Counter(counts)) for name, counts in found["modules"].items()]
    whole = sum((Counter(counts) for counts in found["modules"].values()), Counter())
    header = ["module", "mutants", *KILLED, *LEFT, "killed of the others"]
    lines = [table(header, [*rows, _row("all", whole)]), ""]
    for hole in found["holes"]:
        lines.append(f"- {hole['module']}:{hole['line']}: `{hole['text']}`")
        lines.append(f"  `{hole['change']}` ({hole['kind']})")
    return "\n".join(lines)


def _row(name: str, counts: Counter[str]) -> list[object]:
    killed = sum(counts[column] for column in KILLED)
    numbers = [counts[column] for column in (*KILLED, *LEFT)]
    return [name, counts.total(), *numbers, share(killed, killed + counts["holes"])]


def stale(fates: Sequence[Fate]) -> list[tuple[str, str, str]]:
    """Reviewed survivors that are not there any more."""
    return sorted(reviewed().keys() - {fate.key for fate in fates if fate.survived})


def merged(before: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
    """Results of some modules in the place of what a record has of them; the rest stays."""
    lists = {
        name: sorted(
            [each for each in before[name] if each["module"] not in found["modules"]] + found[name],
            key=lambda each: (each["module"], each["line"], each["change"]),
        )
        for name in ("allowed", "equivalent", "holes")
    }
    return {"modules": {**before["modules"], **found["modules"]}, **lists}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scheme", metavar="ID", help="only modules that no other scheme needs")
    parser.add_argument("--module", help="only this module, such as posenc.exact")
    parser.add_argument("--sample", type=int, default=1, metavar="N", help="every N-th mutant")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument(
        "--write", type=Path, metavar="FILE", help="results as JSON; with --module within the file"
    )
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        _work()
        return
    some = modules_for(load_all(), given.scheme, given.module)
    fates = fates_of(some, given.jobs, given.sample)
    found = report(fates)
    print(render(found))
    if (given.scheme, given.module, given.sample) == (None, None, 1):
        for key in stale(fates):
            print("- listed as a survivor, but killed or gone:", *key)
    if given.module and given.write and given.write.exists():
        found = merged(read_record(given.write), found)
    write(given.write, found)


if __name__ == "__main__":
    main()
