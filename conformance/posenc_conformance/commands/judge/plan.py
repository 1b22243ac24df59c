"""The lines that judge an engine, from the probe to the verdict."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from posenc_conformance.checks.deployed import CONTEXT
from posenc_conformance.commands.judge.environment import Environment
from posenc_conformance.commands.judge.table import SERVERS, Engine
from posenc_conformance.deployed.engine import is_encoder
from posenc_conformance.errors import UserError, in_line
from posenc_conformance.models.file import Model

SHORTEST_FIRST = ("bfloat16", "float16", "float32")
"""Dtypes by the digits that they keep."""
LONG = 8192
"""Tokens for which an engine is started, if the texts are shorter."""
MARGIN = 512
"""Tokens that an engine needs beyond the longest text: it must not be full before its end."""
HOST = "127.0.0.1"


@dataclass(frozen=True)
class Line:
    """A line that can be typed."""

    words: tuple[str, ...]
    variables: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        """Return the line as a shell takes it."""
        settings = [f"{name}={shlex.quote(value)}" for name, value in self.variables.items()]
        return in_line(" ".join([*settings, shlex.join(self.words)]), 10_000)


@dataclass(frozen=True)
class Request:
    """What is to be judged, and how."""

    engine: Engine
    model: Model
    name: str
    """The model, as the user named it."""
    folder: Path
    """The folder for the probe, and for what is made of it."""
    dtype: str
    port: int
    environment: Environment
    spelling: str = "released"
    all_heads: bool = False
    context: int = CONTEXT
    engine_options: tuple[str, ...] = ()
    """Options for the command that serves the probe."""
    judge_options: tuple[str, ...] = ()
    """Options for the run that judges it."""

    @property
    def probe(self) -> Path:
        """The folder or file of the probe."""
        return self.folder / ("probe.gguf" if self.engine.gguf else "probe")

    @property
    def out(self) -> Path:
        """What a converter makes of the probe."""
        return self.folder / "converted"


@dataclass(frozen=True)
class Plan:
    """The lines of a run, in their order."""

    probe: Line
    judge: Line
    convert: Line | None = None
    serve: Line | None = None

    @property
    def lines(self) -> tuple[Line, ...]:
        """All lines."""
        return tuple(filter(None, (self.probe, self.convert, self.serve, self.judge)))


def make_plan(request: Request, settings: Mapping[str, str]) -> Plan:
    """Return the lines that judge an engine; ``settings`` are the variables that are set already.

    Raises UserError for an encoder, which a server cannot be asked about, for a dtype that the
    engine does not have, and for options that nothing takes.
    """
    engine = request.engine
    _demand_possible(request)
    kept = {name: value for name, value in engine.variables.items() if name not in settings}
    convert = serve = None
    if engine.convert:
        convert = Line(_words(engine.convert, request), kept)
    if engine.serve:
        serve = Line((*_words(engine.serve, request), *request.engine_options), kept)
    return Plan(_probe(request), _judge(request), convert, serve)


def claimed_dtype(engine: Engine, dtype: str) -> str:
    """Return the shortest dtype in an engine, whose cache may be shorter than all else."""
    return min(dtype, engine.cache or dtype, key=SHORTEST_FIRST.index)


def _demand_possible(request: Request) -> None:
    engine, model = request.engine, request.model
    if engine.serve and is_encoder(model):
        raise UserError(
            f"{model.title} completes nothing, so {engine.title} cannot be asked about it",
            f"judge what transformers makes of it: posenc judge transformers {request.name}",
        )
    if request.dtype not in engine.dtypes:
        raise UserError(
            f"--dtype={in_line(request.dtype)} is no dtype that {engine.title} has",
            f"give {' or '.join(engine.dtypes)}",
        )
    if request.engine_options and not engine.serve:
        options = in_line(shlex.join(request.engine_options))
        raise UserError(
            f"{engine.title} has no command that takes {options}",
            "leave out what stands after --",
        )


def _probe(request: Request) -> Line:
    words = ["posenc", "probe", request.name, "--out", str(request.probe)]
    words += ["--dtype", request.dtype]
    if request.engine.gguf:
        words.append("--gguf")
    elif request.spelling != "released":
        words += ["--spelling", request.spelling]
    if request.all_heads:
        words.append("--all-heads")
    return Line(tuple(words))


def _judge(request: Request) -> Line:
    engine = request.engine
    impl = address_of(request) if engine.serve else str(request.probe)
    words = ["pytest", "-p", "no:cacheprovider", f"--impl={impl}"]
    words.append(f"--posenc-model={request.name}")
    if not any(word.startswith("--posenc-dtype=") for word in request.judge_options):
        words.append(f"--posenc-dtype={claimed_dtype(engine, request.dtype)}")
    return Line((*words, *request.judge_options))


def address_of(request: Request) -> str:
    """Return the address at which an engine answers, with the name of the probe there."""
    name = f"#{request.engine.name}" if request.engine.name else ""
    return f"http://{HOST}:{request.port}/v1{name}"


def _words(command: str, request: Request) -> tuple[str, ...]:
    """Return the words of a command, with all names in braces replaced."""
    context = request.model.meaning.context.extended or LONG
    places = {
        "folder": str(request.out if request.engine.convert else request.probe),
        "probe": str(request.probe),
        "out": str(request.out),
        "port": str(request.port),
        "tokens": str(min(context, max(LONG, request.context + MARGIN))),
        "dtype": request.dtype,
        "python": str(request.environment.python),
        "servers": str(SERVERS),
    }
    words = [word.format(**places) for word in _split(command)]
    return (request.environment.program(words[0]) or words[0], *words[1:])


def _split(command: str) -> Sequence[str]:
    try:
        return shlex.split(command)
    except ValueError as error:
        raise UserError(
            f"{in_line(command)}: {error}", "close what is quoted, as for a shell"
        ) from error
