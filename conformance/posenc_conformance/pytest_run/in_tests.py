"""The pytest collector for a ``conformance(...)`` in a test file."""

import pytest

from posenc_conformance.errors import UserError
from posenc_conformance.pytest_run.items import ConformanceInTest
from posenc_conformance.pytest_run.options import Request
from posenc_conformance.pytest_run.planning import plan_test
from posenc_conformance.pytest_run.run import NAME, Run
from posenc_conformance.testing.conformance import Conformance


def collect(
    config: pytest.Config, parent: pytest.Collector, name: str, asked: object
) -> ConformanceInTest | None:
    """Return a collector for a ``conformance(...)`` in a test file; None for any other object.

    Raises CollectError, which pytest shows without a traceback.
    """
    if not isinstance(asked, Conformance):
        return None
    try:
        plan = plan_test(asked, config, parent.path.parent)
        run = run_of(config)
    except UserError as error:
        raise parent.CollectError(f"{parent.nodeid}::{name}: {error}") from None
    collector = ConformanceInTest.from_parent(parent, name=name, plan=plan)
    run.judge(plan, f"{collector.nodeid}::")
    return collector


def run_of(config: pytest.Config) -> Run:
    """Return the kit's Run, creating it on first use."""
    run = config.pluginmanager.get_plugin(NAME)
    if run is None:
        run = Run(config, Request.of(config))
        config.pluginmanager.register(run, NAME)
    return run
