"""The pytest plugin.

Every pytest run on the machine imports it, so it imports nothing of the kit until ``--impl`` asks.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from posenc_conformance.collect import SpecFile
    from posenc_conformance.run import Run

RUN = "posenc-run"


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of the kit."""
    group = parser.getgroup("posenc", "conformance of positional encodings")
    group.addoption(
        "--impl",
        metavar="NAME",
        help="judge this implementation: a registered name (see 'posenc list'), "
        "module:attribute, or the path of an adapter file",
    )
    group.addoption(
        "--posenc-report",
        metavar="FILE",
        help="write everything that the scorecard shows, and every check, as JSON",
    )
    group.addoption(
        "--posenc-known",
        metavar="FILE",
        help="checks that are known to fail, with reasons; see 'posenc known'",
    )
    group.addoption(
        "--posenc-precision",
        action="store_true",
        help="show how the error grows with position, for every claim that has positions",
    )
    group.addoption(
        "--posenc-examples",
        metavar="N",
        type=int,
        default=3,
        help="examples that Hypothesis draws per invariant (default: 3)",
    )
    group.addoption(
        "--posenc-seed",
        metavar="N",
        type=int,
        default=0,
        help="draw other examples; every run with the same seed draws the same (default: 0)",
    )
    group.addoption(
        "--posenc-robust",
        action="store_true",
        help="fail where bad input is answered instead of refused (otherwise only shown)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Load the implementation and put the installed spec in place of missing arguments."""
    name = config.getoption("impl")
    if name is None:
        return
    from posenc_conformance.errors import UserError

    try:
        if not name:
            raise UserError(
                "--impl is empty, perhaps because a variable is not set",
                "say which implementation to judge: --impl=NAME",
            )
        from posenc_conformance.run import Run

        run = Run.of(config)
    except UserError as error:
        raise pytest.UsageError(str(error)) from error.__cause__
    config.pluginmanager.register(run, RUN)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> "SpecFile | None":
    """Collect a scheme file."""
    run: Run | None = parent.config.pluginmanager.get_plugin(RUN)
    if run is None or file_path.suffix != ".yaml":
        return None
    from posenc_conformance.collect import SpecFile
    from posenc_conformance.spec import is_scheme_file

    if not is_scheme_file(file_path):
        return None
    return SpecFile.from_parent(parent, path=file_path, nodeid=file_path.name)
