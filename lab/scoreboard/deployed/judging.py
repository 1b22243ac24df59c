"""Judging an engine on one model: write the probe, convert it, serve it, run the kit."""

import hashlib
import os
import platform
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep

from posenc_conformance import __version__
from posenc_conformance.checks.deployed import CONTEXT
from posenc_conformance.commands.judge.running import HEALTH, answers, end, free_port
from posenc_conformance.commands.judge.table import SERVERS
from posenc_conformance.commands.probe import SPELLINGS, write_gguf, write_probe
from posenc_conformance.deployed.engine import has_probe, is_encoder, model_of
from posenc_conformance.errors import UserError
from posenc_conformance.models.file import load_all, model_named
from posenc_conformance.report.difference import read_report
from posenc_conformance.report.layout import Report
from scoreboard.deployed.engines import Engine
from scoreboard.deployed.kept import REFUSED, UNJUDGED, Cell, Results, findings_of
from scoreboard.environments import environment
from scoreboard.judging import commit, cpu, versions
from scoreboard.kept import PACKAGES
from scoreboard.table import ROOT

STARTING = 240
"""Seconds until an engine must answer. vLLM takes half a minute on an idle machine."""
GOING_ON = 60
"""Seconds left for an engine whose output shows a problem; it may recover and start."""
JUDGING = 900
"""Seconds for a run of the kit, several times as long as the slowest engine took."""
LOOKED_AT = 40
"""Number of last lines of an engine's output to search for a problem."""
PROBLEM = re.compile(r"(?:^|[\s)])[\w.]*(?:Error|Exception|error loading model): ")
PREFIX = re.compile(r".*(?=error loading model: )")
"""The text before the reason in llama.cpp's log: a time, and an earlier unterminated line."""
LONGEST = 160
"""Maximum length in characters of a stored message."""
ALONE = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
"""Variables for one thread, so that the machine stays usable, and no access to other hosts."""
LONG = 8192
"""Context length in tokens for engines that need one, longer than any text of the kit."""
REACH_BEYOND = 256
"""Tokens that the window check needs beyond the window."""


NOT_MADE = {"verdict": UNJUDGED, "says": "the adapter of its layers does not make this model"}


class Refused(Exception):
    """The engine refuses a probe; the message is the engine's own."""


@dataclass(frozen=True)
class Bench:
    """An engine in its environment, ready to be judged."""

    engine: Engine
    home: Path
    judged: dict[str, Mapping[str, object]] = field(default_factory=dict)
    """The result of each served checkpoint, by its digest."""

    def judge(self, model: str, spelling: str, context: int) -> Cell:
        """Judge one model in one spelling."""
        made: dict[str, object] = {}
        with TemporaryDirectory(prefix="deployed-") as folder:
            try:
                made = self._judge(Path(folder), model, spelling, context)
            except Refused as error:
                of_probe = any(words in str(error) for words in self.engine.of_probe)
                verdict = UNJUDGED if of_probe else REFUSED
                made = {"verdict": verdict, "says": _plain(str(error), folder)}
            except UserError as error:
                made = {"verdict": UNJUDGED, "says": _plain(error.cause, folder)}
        return _cell(model, spelling, context, made)

    def judge_layers(self, models: Sequence[str]) -> Iterator[Cell]:
        """Judge the engine's own layers on several models in one run.

        Raises UserError if the run leaves no report.
        """
        with TemporaryDirectory(prefix="deployed-") as folder:
            report = Path(folder) / "report.json"
            told = [str(model_named(model).path) for model in models]
            told += [f"--posenc-python={self.home}", f"--posenc-timeout={STARTING}"]
            places, seconds = {"root": str(ROOT)}, JUDGING * len(models)
            words = self._run(places, told, report, Path(folder), seconds)
            if not report.is_file() or not report.stat().st_size:
                raise UserError(words, "see above")
            document = _whole(report)
        for model in models:
            checks = [
                check for check in document["checks"] if check["id"].startswith(f"{model}.yaml::")
            ]
            made = findings_of({**document, "checks": checks})
            yield _cell(model, SPELLINGS[0], 0, made if checks else NOT_MADE)

    def _judge(self, folder: Path, model: str, spelling: str, context: int) -> dict[str, object]:
        places = {
            "probe": str(folder / "probe"),
            "out": str(folder / "converted"),
            "home": str(self.home),
            "servers": str(SERVERS),
            "port": str(free_port()),
            "tokens": str(min(model_of(model).meaning.context.extended or LONG, LONG)),
        }
        self._write(places["probe"], model, spelling)
        if self.engine.convert:
            self._convert(places)
        # Identical bytes load alike, whatever the spelling in which the probe was written.
        digest = f"{model} {digest_of(Path(places['out' if self.engine.convert else 'probe']))}"
        if digest not in self.judged:
            self.judged[digest] = self._ask(places, model, context, folder)
        return dict(self.judged[digest])

    def _ask(
        self, places: Mapping[str, str], model: str, context: int, folder: Path
    ) -> Mapping[str, object]:
        """Serve the probe, and run the kit."""
        with self._served(places, folder / "log") as alive:
            report = folder / "report.json"
            told = [
                f"--posenc-model={model}",
                f"--posenc-dtype={self.engine.dtype}",
                f"--posenc-context={context}",
            ]
            words = self._run(places, told, report, folder, JUDGING)
            if report.is_file() and report.stat().st_size:
                return findings_of(_whole(report))
            problem = own_words(_text(folder / "log"))
            if problem or not alive():
                raise Refused(problem or _last(_text(folder / "log")))
            raise Refused(words) if self.engine.inside else UserError(words, "see above")

    def _write(self, place: str, model: str, spelling: str) -> None:
        """Write the probe of a model.

        Raises UserError if there is none in this format.
        """
        if self.engine.gguf:
            progress = write_gguf(model, place, self.engine.probe)
        else:
            progress = write_probe(model, place, self.engine.probe, spelling)
        for _ in progress:
            pass

    def _variables(self, places: Mapping[str, str]) -> dict[str, str]:
        own = {name: value.format(**places) for name, value in self.engine.variables.items()}
        return {**os.environ, **ALONE, **own}

    def _convert(self, places: Mapping[str, str]) -> None:
        done = subprocess.run(
            _words(self.engine.convert, places),
            env=self._variables(places),
            cwd=Path(places["out"]).parent,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise Refused(own_words(done.stderr) or _last(done.stderr))

    @contextmanager
    def _served(self, places: Mapping[str, str], log: Path) -> Iterator[Callable[[], bool]]:
        """Serve the probe while the context lasts; yield a function that tells if it is alive.

        Raises Refused if the engine ends or reports a problem before it answers, and UserError if
        it never answers.
        """
        if not self.engine.serve:
            yield lambda: True
            return
        with log.open("w", encoding="utf-8") as file:
            process = subprocess.Popen(
                _words(self.engine.serve, places),
                env=self._variables(places),
                cwd=log.parent,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            _wait(process, int(places["port"]), log)
            yield lambda: process.poll() is None
        finally:
            end(process)

    def _run(
        self,
        places: Mapping[str, str],
        told: Sequence[str],
        report: Path,
        folder: Path,
        seconds: float,
    ) -> str:
        """Run the kit; return its error message in case there is no report.

        Raises UserError if it takes longer: a report that it had begun says less than it seems.
        """
        python = self.home / "bin" / "python" if self.engine.inside else Path(sys.executable)
        command = [str(python), "-m", "pytest", "-q", "--tb=no", "-p", "no:cacheprovider", *told]
        command += [f"--impl={self.engine.impl.format(**places)}", f"--posenc-report={report}"]
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                env={**os.environ, **ALONE},
                capture_output=True,
                text=True,
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            late = f"the kit was not through after {seconds:g} s"
            raise UserError(late, "judge it where nothing else runs") from None
        return _of_the_kit(done.stdout + done.stderr)


def _whole(path: Path) -> Report:
    """Read the report of a run that was through. Raises UserError for another one."""
    report = read_report(path)
    if reason := report.get("interrupted"):
        raise UserError(f"the kit was not through: {reason}", "judge it again")
    return report


def _cell(model: str, spelling: str, context: int, made: Mapping[str, object]) -> Cell:
    date = datetime.now(UTC).isoformat(timespec="seconds")
    facts = {"date": date, "kit": __version__, "commit": commit(), "context": context}
    return Cell(**{"model": model, "spelling": spelling, **facts, **made})  # type: ignore[arg-type]


def bench_for(engine: Engine) -> Bench:
    """Return an engine with its environment, which is created if it is missing.

    Raises UserError if the engine can't be installed.
    """
    return Bench(engine, environment(engine.library(sys.executable)))


def nothing_yet(bench: Bench) -> Results:
    """Return the results of an engine without any cells."""
    installed = versions(bench.home)
    numbers = {re.sub("[-_.]+", "-", name).lower(): number for name, number in installed.items()}
    shown = {name: numbers[name] for name in (*bench.engine.shows, "python") if name in numbers}
    return Results(bench.engine.name, bench.engine.pinned, shown, platform.platform(), cpu())


def models(names: Sequence[str]) -> list[str]:
    """Return the ids of the models ``names``; without names, of all whose probes can be served.

    Raises UserError for an unknown name.
    """
    if names:
        return [model_named(name).id for name in names]
    return [model.id for model in load_all() if has_probe(model) and not is_encoder(model)]


def context_of(model: str, usual: int) -> int:
    """Return the length of texts: ``usual``, or longer if the model's window needs it.

    Windows that need more than CONTEXT, the kit's default, don't count.
    """
    reaches = [group.reach or 0 for group in model_named(model).meaning.groups]
    needed = max(reaches) + REACH_BEYOND
    return max(usual, needed) if needed <= CONTEXT else usual


def digest_of(path: Path) -> str:
    """Hash a file, or all files of a folder and their names."""
    digest = hashlib.sha256()
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if file.is_file():
            digest.update(f"{file.relative_to(path)} {file.stat().st_size} ".encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()


def own_words(log: str) -> str:
    """Return the last problem in an engine's output; empty if there is none."""
    lines = [line for line in log.splitlines() if HEALTH not in line][-LOOKED_AT:]
    problems = [PREFIX.sub("", line).strip() for line in lines if PROBLEM.search(line)]
    return problems[-1] if problems else ""


def _words(command: str, places: Mapping[str, str]) -> list[str]:
    return [word.format(**places) for word in shlex.split(command)]


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    """Wait until the engine has finished loading and answers.

    Raises Refused if it ends, or never answers after logging a problem; UserError on a timeout.
    """
    until = monotonic() + STARTING
    problem_seen = False
    while monotonic() < until:
        if process.poll() is not None:
            raise Refused(own_words(_text(log)) or _last(_text(log)))
        if answers(port):
            return
        if not problem_seen and own_words(_text(log)):
            problem_seen, until = True, min(until, monotonic() + GOING_ON)
        sleep(0.2)
    if problem := own_words(_text(log)):
        raise Refused(problem)  # the server keeps running without the model
    raise UserError(f"it did not answer within {STARTING} s", "look at its output")


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


def _last(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "nothing")


def _of_the_kit(text: str) -> str:
    """Return the kit's first error line; the last line if there is none."""
    errors = [line for line in text.splitlines() if line.startswith("ERROR")]
    return errors[0].removeprefix("ERROR: ") if errors else _last(text)


def _plain(text: str, folder: str) -> str:
    """Return a message without this machine's paths, shortened to LONGEST."""
    shortened = PACKAGES.sub(
        r"\1", text.replace(f"{folder}{os.sep}", "").replace(f"{ROOT}{os.sep}", "")
    )
    return shortened if len(shortened) <= LONGEST else f"{shortened[:LONGEST].rstrip()} …"
