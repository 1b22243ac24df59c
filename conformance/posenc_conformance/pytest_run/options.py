"""The options of the command line, read from pytest."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from posenc_conformance.adapters import FLOATS
from posenc_conformance.checks import Options
from posenc_conformance.checks.deployed import CONTEXT, SHORTEST
from posenc_conformance.deployed.callables import Running
from posenc_conformance.deployed.engine import PRODUCTS
from posenc_conformance.deployed.http.endpoint import is_endpoint
from posenc_conformance.deployed.kv_cache import CACHES
from posenc_conformance.errors import UserError
from posenc_conformance.judge.subject import MEMORY_OF_A_CALL
from posenc_conformance.remote.load import How
from posenc_conformance.report import document, page


@dataclass(frozen=True)
class Request:
    """The options of a run."""

    options: Options
    robust: bool
    precision: bool
    report_file: Path | None
    page_file: Path | None
    known_file: Path | None
    memory_of_a_call: int
    """Bytes that the inputs and the result of a call may take."""
    worker: bool
    """Whether this is a pytest-xdist worker, which writes no report."""

    @classmethod
    def of(cls, config: pytest.Config) -> "Request":
        """Read the request from pytest's options.

        Raises UserError for values that are impossible.
        """
        examples = config.getoption("posenc_examples")
        examples = Options.examples if examples is None else examples
        if examples < 1:
            raise UserError(f"--posenc-examples={examples} draws nothing", "give at least 1")
        largest = config.getoption("posenc_largest")
        if largest is not None and largest < 1:
            raise UserError(f"--posenc-largest={largest} rules out all calls", "give at least 1")
        worker = hasattr(config, "workerinput")
        name, file = config.getoption("posenc_report"), config.getoption("posenc_known")
        page_name = config.getoption("posenc_html")
        report_file = None if name is None or worker else document.place(name, document.WRITER)
        page_file = None if page_name is None or worker else document.place(page_name, page.WRITER)
        if report_file is not None and report_file == page_file:
            raise UserError(
                "--posenc-report and --posenc-html name the same file", "give each its own name"
            )
        return cls(
            Options(examples, config.getoption("posenc_seed")),
            config.getoption("posenc_robust"),
            config.getoption("posenc_precision"),
            report_file,
            page_file,
            None if file is None else Path(file),
            MEMORY_OF_A_CALL if largest is None else largest * 2**20,
            worker,
        )


def read_how(config: pytest.Config) -> How:
    """Read from pytest's options where the implementation runs, and within which limits.

    Raises UserError for options that contradict each other, and for impossible limits.
    """
    seconds, memory, python = (
        config.getoption(f"posenc_{name}") for name in ("timeout", "memory", "python")
    )
    here, apart = config.getoption("posenc_here"), config.getoption("posenc_apart")
    return How.of(seconds, memory, python, here=here, apart=apart)


def read_seconds_of_deployed(config: pytest.Config) -> float | None:
    """Read the time limit for an endpoint's answer, in seconds; None if not given.

    Raises UserError for limits that cannot be enforced: code in pytest's own process cannot be
    ended, and an endpoint already runs elsewhere.
    """
    how, name = read_how(config), config.getoption("impl")
    timed = is_endpoint(name)
    options = [
        option
        for option, is_given in (
            ("--posenc-timeout", how.seconds is not None and not timed),
            ("--posenc-memory", how.memory is not None),
            ("--posenc-python", bool(how.python)),
            ("--posenc-apart", config.getoption("posenc_apart")),
        )
        if is_given
    ]
    if options:
        where = "elsewhere" if timed else "in pytest's own process, which cannot be limited"
        raise UserError(
            f"{' and '.join(options)} cannot be held: what --impl names runs {where}",
            "leave it out; 'timeout 600 pytest …' of the shell ends a run that hangs",
        )
    return how.seconds


def read_dtype(config: pytest.Config) -> str:
    """Read the shortest dtype in which a deployed engine computes or stores values.

    Raises UserError for an unknown dtype.
    """
    name: str = config.getoption("posenc_dtype") or "bfloat16"
    names = (*FLOATS, *PRODUCTS)
    if name not in names:
        raise UserError(f"--posenc-dtype={name} is not known", f"give one of {', '.join(names)}")
    return name


def read_cache(config: pytest.Config) -> str:
    """Read the format of a deployed engine's KV cache; empty if not given.

    Raises UserError for an unknown format.
    """
    name: str = config.getoption("posenc_cache")
    if name and name not in CACHES:
        raise UserError(f"--posenc-cache={name} is not known", f"give one of {', '.join(CACHES)}")
    return name


def read_running(config: pytest.Config) -> Running:
    """Read how transformers runs a probe in a folder."""
    return Running(
        config.getoption("posenc_device"),
        config.getoption("posenc_attention"),
        config.getoption("posenc_compile"),
        config.getoption("posenc_static_cache"),
    )


def read_shift(config: pytest.Config) -> int | None:
    """Read the context size beyond which an engine drops the first tokens; None if not given.

    Raises UserError if it is too short for any check.
    """
    size: int = config.getoption("posenc_shift")
    if size and size < SHORTEST:
        raise UserError(f"--posenc-shift={size} is too short", f"give at least {SHORTEST}")
    return size or None


def read_context(config: pytest.Config) -> int:
    """Read the length of the longest text for a deployed engine, in tokens.

    Raises UserError if it is too short for any check.
    """
    length: int = config.getoption("posenc_context") or CONTEXT
    if length < SHORTEST:
        raise UserError(f"--posenc-context={length} is too short", f"give at least {SHORTEST}")
    return length
