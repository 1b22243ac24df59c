"""``posenc judge``: write a probe, start an engine with it, judge it, and end it."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

from posenc_conformance.checks.deployed import CONTEXT
from posenc_conformance.commands.judge import running
from posenc_conformance.commands.judge.asked import Asked, asked, noting
from posenc_conformance.commands.judge.environment import environment
from posenc_conformance.commands.judge.plan import (
    SHORTEST_FIRST,
    Line,
    Plan,
    Request,
    address_of,
    make_plan,
)
from posenc_conformance.commands.judge.run_options import demand_options
from posenc_conformance.commands.judge.table import Engine, demand_places, read_table
from posenc_conformance.commands.probe import demand_spelling, save_gguf, save_probe
from posenc_conformance.deployed.engine import model_of
from posenc_conformance.deployed.http.client import Client
from posenc_conformance.deployed.http.endpoint import connect
from posenc_conformance.errors import UserError, in_line
from posenc_conformance.files import demand_folder, demand_place, is_draft, shown

WRITTEN = ("probe", "probe.gguf")
"""What a run leaves in its folder, and a later one may write over."""
FAILED = 1
RUNS = (0, FAILED)
"""Exit statuses of pytest that come with a verdict."""
INTERRUPTED = 130
"""The exit status after Ctrl-C, as that of a shell."""
OWN = re.compile(r"\s|\{")
"""What only the command of an own engine has: a blank or a brace."""


@dataclass(frozen=True)
class Order:
    """What the user has typed."""

    engine: str
    model: str
    out: str | None = None
    dtype: str | None = None
    spelling: str = "released"
    gguf: bool = False
    all_heads: bool = False
    environment: str | None = None
    port: int | None = None
    name: str = ""
    tables: tuple[str, ...] = ()
    wait: float = 600.0
    """Seconds that a converter may take, and an engine until it answers."""
    plan: bool = False
    """Whether to print the lines and run nothing."""
    verbose: bool = False
    judge_options: tuple[str, ...] = ()
    engine_options: tuple[str, ...] = ()
    typed: tuple[str, ...] = ()
    """The arguments as they were typed."""


def judge(order: Order) -> int:
    """Judge an engine; return 0 if it passes, 1 if it fails, and 2 if there is no verdict.

    Raises UserError for an engine or a model that is not known, for an engine that is not installed
    or does not start, and for a folder in which something would be lost.
    """
    demand_options(order.judge_options)
    demand_spelling(order.spelling)
    _demand_order(order)
    try:
        with running.ended_by_signals(), _work_folder(order) as folder:
            request = _request(order, folder)
            plan = make_plan(request, os.environ)
            if order.plan:
                print("\n".join(map(str, plan.lines)))
                return 0
            demand_place(folder)
            _demand_installed(request)
            return _run(order, request, plan)
    except KeyboardInterrupt:
        print("posenc: interrupted; what was started has been ended", file=sys.stderr)
        return INTERRUPTED


def _demand_order(order: Order) -> None:
    """Raise UserError for a model before its engine."""
    table = read_table(order.tables)
    engine, other = (
        bool(OWN.search(name)) or table.knows(name) for name in (order.engine, order.model)
    )
    if engine or not other:
        return
    try:
        model_of(order.engine)
    except UserError:
        return
    words = in_line(shlex.join(("posenc", "judge", order.model, order.engine)))
    raise UserError(
        f"{in_line(order.engine)} is a model, and {in_line(order.model)} an engine: "
        "they are exchanged",
        f"the engine comes first: {words}",
    )


@contextmanager
def _work_folder(order: Order) -> Iterator[Path]:
    """Provide the folder of a run: a new one that goes with the run, or the user's own."""
    if order.out is not None:
        _demand_ours(order.out)
        yield Path(order.out)
        return
    if order.plan:
        yield Path("judged")
        return
    with TemporaryDirectory(prefix="posenc-judge-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def _demand_ours(out: str) -> None:
    """Raise UserError for a folder that has anything but the probe of an earlier run."""
    if not out:
        raise UserError("--out= names nothing", "say where to write, or leave it out")
    path = Path(out)
    demand_folder(path)
    entries = sorted(entry.name for entry in path.iterdir()) if path.is_dir() else []
    foreign = [name for name in entries if name not in WRITTEN and not is_draft(name)]
    if foreign:
        raise UserError(
            f"{shown(path)} has {', '.join(map(in_line, foreign[:3]))} in it, and nothing is "
            "written there",
            "give a folder that is new or empty",
        )


def _request(order: Order, folder: Path) -> Request:
    model = model_of(order.model)
    engine = _engine(order)
    return Request(
        engine=engine,
        model=model,
        name=order.model,
        folder=folder,
        dtype=order.dtype or engine.dtypes[0],
        port=running.free_port(order.port),
        environment=environment(order.environment),
        spelling=order.spelling,
        all_heads=order.all_heads,
        context=_context(order.judge_options),
        engine_options=order.engine_options,
        judge_options=order.judge_options,
    )


def _engine(order: Order) -> Engine:
    """Return the engine that the user means: one of the table, or a command."""
    if not OWN.search(order.engine):
        engine = read_table(order.tables).engine(order.engine)
        if order.gguf and not engine.gguf:
            raise UserError(f"{engine.title} loads no GGUF file", "leave out --gguf")
        return replace(engine, name=order.name or engine.name)
    needed = ["folder"] * (order.out is None) + ["port"] * (order.port is None)
    demand_places(f"the command {in_line(order.engine)}", order.engine, needed)
    title = in_line(order.engine.split()[0], 80) if order.engine.split() else "nothing"
    return Engine(
        id="own",
        is_own=True,
        title=title,
        dtypes=SHORTEST_FIRST,
        gguf=order.gguf,
        serve=order.engine,
        name=order.name,
    )


def _context(options: Sequence[str]) -> int:
    """Return the tokens of the longest text that the options allow."""
    for option in options:
        name, _, value = option.partition("=")
        if name == "--posenc-context" and value.isdecimal():
            return int(value)
    return CONTEXT


def _demand_installed(request: Request) -> None:
    engine, place = request.engine, request.environment
    if not engine.serve and not place.is_own:
        raise UserError(
            f"{engine.title} is loaded by the kit itself, which has no other environment",
            "leave out --environment, and run posenc where it is installed",
        )
    absent = place.absent_modules(engine.modules) if engine.modules else frozenset()
    if missing := [*place.missing(engine, absent)]:
        install = f"install it: {engine.install}; " if engine.install else ""
        raise UserError(
            f"{engine.title} is not installed in {shown(place.python.parent.parent)}: "
            f"{', '.join(missing)} is missing",
            f"{install}if it is installed elsewhere, say where: --environment=FOLDER",
        )


def _run(order: Order, request: Request, plan: Plan) -> int:
    """Run the lines of a plan, each printed before."""
    title = request.engine.title
    _print(plan.probe)
    _write(request)
    if plan.convert:
        _print(plan.convert)
        with running.running(plan.convert, os.environ, echo=order.verbose) as converter:
            running.wait_for_end(converter, order.wait, f"the converter of {title}")
    if plan.serve is None:
        return _judged(plan.judge, os.environ)
    _print(plan.serve)
    with (
        running.running(plan.serve, os.environ, echo=order.verbose) as started,
        TemporaryDirectory(prefix="posenc-judge-", ignore_cleanup_errors=True) as folder,
    ):
        seconds = running.wait_for_answer(started, request.port, order.wait, request.engine, _tell)
        print(f"{title} answers after {seconds:.0f} s", flush=True)
        _demand_probe(request, started)
        notes = Path(folder, "notes")
        code = _judged(plan.judge, noting(notes, os.environ))
        return _told(order, title, started, code, asked(notes))


def _demand_probe(request: Request, started: running.Started) -> None:
    """Raise UserError if the engine does not say under which name it serves the probe."""
    try:
        connect(Client.of(address_of(request), None))
    except UserError as error:
        raise UserError(
            f"{error.cause}; {started.last_words}",
            "if it serves the probe under a name that it does not list, say which: --name=NAME",
        ) from None


def _told(order: Order, title: str, started: running.Started, code: int, run: Asked) -> int:
    """Tell what became of the engine; return 2 for one that ended before it was judged."""
    if started.status is not None and code:
        # The last question that failed is the one that was not answered.
        before = max(run.answered - 1, 0)
        many = f"after {before} of {run.count} questions" if run.count else "while it was judged"
        _tell(f"no verdict: the engine ended ({started.ending}) {many}; {started.last_words}")
        return 2
    if started.status is not None:
        _tell(f"{title} {started.status} after it was judged; {started.last_words}")
    elif code not in RUNS:
        _tell(f"there is no verdict on {title}; {started.last_words}")
    if code == FAILED and run.failed:
        place = [*order.typed, "--"].index("--")
        words = ("posenc", *order.typed[:place], "-k", run.failed[0], *order.typed[place:])
        _tell(f"the engine has been ended; for one check alone:\n$ {shlex.join(words)}")
    return code


def _write(request: Request) -> None:
    arguments = (request.name, str(request.probe), request.dtype)
    if request.engine.gguf:
        written = save_gguf(*arguments, all_heads=request.all_heads)
    else:
        written = save_probe(*arguments, request.spelling, all_heads=request.all_heads)
    print(written.line, flush=True)


def _judged(line: Line, environ: Mapping[str, str]) -> int:
    """Run the kit's pytest; return 0, 1, or 2 without a verdict."""
    _print(line)
    began = monotonic()
    # -P, since a folder of the user's must not stand in for a module.
    command = [sys.executable, "-P", "-m", *line.words]
    code = subprocess.run(command, env=environ, check=False).returncode
    print(f"judged in {monotonic() - began:.0f} s", flush=True)
    return code if code in RUNS else 2


def _print(line: Line) -> None:
    print(f"$ {line}", flush=True)


def _tell(words: str) -> None:
    print(f"posenc: {words}", file=sys.stderr, flush=True)
