"""The pytest plugin.

Every pytest run on the machine imports it, so it imports nothing else of the kit until needed.
"""

import os
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

RUN = "posenc-run"
"""Name of the plugin that is registered once something is judged."""
CONFORMANCE = "posenc_conformance.testing.conformance"
"""Module of the class of ``conformance(...)`` objects."""


SETTINGS, TABLE = "pyproject.toml", b"tool.posenc"
REPORT, PAGE = "--posenc-report", "--posenc-html"
ONLY_TELLING = {
    *("-h", "--help", "-V", "--version", "--co", "--collect-only", "--collectonly"),
    *("--markers", "--fixtures", "--funcargs", "--fixtures-per-test", "--cache-show"),
}
"""Options with which no test runs, so that no report is written."""

OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "report": {
        "metavar": "FILE",
        "help": "write everything that the scorecard shows, and every check, as JSON",
    },
    "html": {
        "metavar": "FILE",
        "help": "write one page of the run, with pictures of what is wrong, as HTML",
    },
    "known": {
        "metavar": "FILE",
        "help": "checks that are known to fail, with reasons; see 'posenc known'",
    },
    "schemes": {
        "metavar": "FOLDER",
        "action": "append",
        "default": [],
        "help": "also use the scheme files in this folder; their modules must be beside them",
    },
    "model": {
        "metavar": "NAME",
        "action": "append",
        "default": [],
        "help": "for an engine: judge only this model, given by its name (see "
        "'posenc model') or as the path of a config.json",
    },
    "dtype": {
        "metavar": "NAME",
        "default": "",
        "help": "for an engine that serves a probe: the shortest dtype in which it computes or "
        "keeps anything, float32, bfloat16 or float16; tf32 if it is float32 and only products of "
        "matrices are shorter (default: bfloat16)",
    },
    "cache": {
        "metavar": "NAME",
        "default": "",
        "help": "for an engine that serves a probe: what it keeps keys as, if that is shorter than "
        "its dtype: int8, int4, float8_e4m3 or float8_e5m2",
    },
    "device": {
        "metavar": "NAME",
        "default": "",
        "help": "for --impl=FOLDER: PyTorch's device, such as cuda, mps or xpu (default: cpu)",
    },
    "attention": {
        "metavar": "NAME",
        "default": "",
        "help": "for --impl=FOLDER: the attention of transformers: eager, sdpa, flex_attention, "
        "flash_attention_2 (default: that of transformers)",
    },
    "compile": {
        "action": "store_true",
        "help": "for --impl=FOLDER: compile the model with torch.compile",
    },
    "static-cache": {
        "action": "store_true",
        "help": "for --impl=FOLDER: keep keys in a cache of fixed length",
    },
    "shift": {
        "metavar": "N",
        "type": int,
        "default": 0,
        "help": "for an engine that serves a probe: it goes on when its context of N tokens is "
        "full, without the first of them",
    },
    "context": {
        "metavar": "N",
        "type": int,
        "default": 0,
        "help": "for an engine that serves a probe: tokens of the longest text that it is given "
        "(at least 512; default: 4352)",
    },
    "precision": {
        "action": "store_true",
        "help": "show how the error grows with position, for every claim that has positions",
    },
    "examples": {
        "metavar": "N",
        "type": int,
        "help": "examples that Hypothesis draws per invariant (default: 3)",
    },
    "largest": {
        "metavar": "MB",
        "type": int,
        "help": "skip calls whose inputs and result take more memory than this in float64; what a "
        "library needs besides them is not counted (default: 512)",
    },
    "seed": {
        "metavar": "N",
        "type": int,
        "default": 0,
        "help": "draw other examples; every run with the same seed draws the same (default: 0)",
    },
    "robust": {
        "action": "store_true",
        "help": "fail if bad input is answered instead of refused, or empty input refused instead "
        "of answered (by default, both are only reported)",
    },
    "timeout": {
        "metavar": "SECONDS",
        "type": float,
        "help": "end a call that takes longer (default: 60); starting may take five times as long",
    },
    "memory": {
        "metavar": "AMOUNT",
        "help": "end a call that takes more memory than this, such as 4GB; 0 sets no limit "
        "(default: nine tenths of what the machine has left)",
    },
    "python": {
        "metavar": "PATH",
        "default": "",
        "help": "the interpreter, or virtual environment, in which the adapter runs; it needs "
        "numpy and ml-dtypes",
    },
    "apart": {
        "action": "store_true",
        "help": "run the adapter in a process of its own, so that it may crash or hang; the "
        "default for registered libraries, for programs, and if you set a limit or an interpreter",
    },
    "here": {
        "action": "store_true",
        "help": "run the adapter in pytest's own process: for breakpoint(), print and coverage",
    },
}
"""The options ``--posenc-NAME``, which a project may also set in its table ``[tool.posenc]``."""
IMPLEMENTATION = pytest.StashKey[str]()
"""What the table ``[tool.posenc]`` names as the implementation."""


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Add the kit's options."""
    config = pluginmanager.get_plugin("pytestconfig")
    if isinstance(config, pytest.Config):  # as early as possible: other options may be wrong
        _remove_old_report(config.invocation_params.args)
    group = parser.getgroup("posenc", "conformance of positional encodings")
    group.addoption(
        "--impl",
        metavar="NAME",
        help="judge this implementation: a registered name (see 'posenc list'), "
        "module:attribute, the path of an adapter file, a module or file without an adapter, as "
        "'posenc init' claims it, a program: './build/adapter --flag', or "
        "an engine that runs a probe: its address, http://localhost:8000/v1, the probe's folder, "
        "for transformers, or logits:module:function",
    )
    parser.addini(
        "posenc_impl",
        "judge this implementation beside the tests of the project: what --impl takes, with paths "
        "seen from the file of settings",
        default="",
    )
    for name, given in OPTIONS.items():
        group.addoption(f"--posenc-{name}", **given)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config, args: list[str]) -> None:
    """Read the project's settings, and remove an old report that they name.

    That is before a conftest.py can fail. The settings come first, so that the command line wins.
    """
    path = early_config.inipath or Path("pytest.ini")
    file = path if path.name == SETTINGS else early_config.rootpath / SETTINGS
    if file.is_file() and TABLE in file.read_bytes():
        from posenc_conformance.errors import UserError
        from posenc_conformance.pytest_run.settings import read_settings

        try:
            settings = read_settings(file, OPTIONS)
        except UserError as error:
            raise pytest.UsageError(str(error)) from None
        early_config.stash[IMPLEMENTATION] = settings.implementation
        if "PYTEST_XDIST_WORKER" not in os.environ:  # a worker is given the options of the run
            args[:0] = settings.arguments(args)
    _remove_old_report(args)


def _remove_old_report(args: Sequence[str]) -> None:
    """Remove the report of an earlier run: this run may fail before it writes its own.

    The arguments of a pytest-xdist worker name no report.
    """
    after = dict(pairwise(args))
    for option in (REPORT, PAGE):
        files = [text.partition("=")[2] for text in args if text.startswith(f"{option}=")]
        files += [after[option]] if option in after else []
        if files and not ONLY_TELLING & {*args}:
            from posenc_conformance.report import document, page

            writer = document.WRITER if option == REPORT else page.WRITER
            document.remove_old(files[-1], writer)


def pytest_configure(config: pytest.Config) -> None:
    """Load the implementation and replace missing arguments by the installed spec."""
    if config.option.help or config.option.version:
        return
    config.pluginmanager.register(InTests(config), "posenc-in-tests")
    name = config.getoption("impl")
    set_up = _set_up(config) if _is_left_to_settings(config) else ""
    if name is None and not set_up:
        return
    from posenc_conformance.errors import UserError

    try:
        if not name and not set_up:
            raise UserError(
                "--impl is empty, perhaps because a variable is not set",
                "say which implementation to judge: --impl=NAME",
            )
        from posenc_conformance.commands.init.in_memory import load_or_guess
        from posenc_conformance.pytest_run.planning import plan_run
        from posenc_conformance.pytest_run.run import NAME, Run

        if set_up:
            config.option.impl = set_up
        plan = plan_run(config, load_or_guess, beside_tests=bool(set_up))
        run = Run(config, plan.request, alone=not set_up)
        run.judge(plan)
    except UserError as error:
        raise pytest.UsageError(str(error)) from error.__cause__
    config.pluginmanager.register(run, NAME)


def _is_left_to_settings(config: pytest.Config) -> bool:
    """Return whether the setting ``posenc_impl`` counts: the command line has no ``--impl``.

    A pytest-xdist worker gets the setting's value as if it were on its command line.
    """
    return config.getoption("impl") is None or hasattr(config, "workerinput")


def _set_up(config: pytest.Config) -> str:
    """Return the implementation that the settings name; empty if it is missing or does not apply.

    It does not apply if the command line names tests but no scheme or model.
    """
    name: str = config.getini("posenc_impl") or config.stash.get(IMPLEMENTATION, "")
    named = config.args_source is pytest.Config.ArgsSource.ARGS
    if not name or (named and not any(".yaml" in argument for argument in config.args)):
        return ""
    file, suffix, attribute = name.partition(".py")
    home = config.inipath.parent if config.inipath else config.rootpath
    return f"{home / file}.py{attribute}" if suffix and (home / f"{file}.py").is_file() else name


class InTests:
    """Hooks for test files that use ``conformance(...)``."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config

    def pytest_pycollect_makeitem(
        self, collector: pytest.Module | pytest.Class, name: str, obj: object
    ) -> pytest.Collector | None:
        """Make tests from a ``conformance(...)`` object whose name pytest collects as a test."""
        # Look at the type: reading an attribute of an external object may run any code.
        if type(obj).__module__ != CONFORMANCE or not collector.funcnamefilter(name):
            return None
        from posenc_conformance.pytest_run.in_tests import collect

        return collect(self.config, collector, name, obj)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record the results that pytest-xdist workers report."""
        if self.config.pluginmanager.hasplugin(RUN):
            return
        if any(name == "posenc" for name, _ in report.user_properties):
            from posenc_conformance.pytest_run.in_tests import run_of

            run_of(self.config).pytest_runtest_logreport(report)
