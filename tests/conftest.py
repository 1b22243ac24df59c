import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.building import CHECKOUT, SITE, built

pytest_plugins = ["pytester", "tests.remembered", "tests.shares", "tests.costs"]
TERMINAL = (
    "CLICOLOR",
    "COLUMNS",
    "FORCE_COLOR",
    "LINES",
    "NO_COLOR",
    "PY_COLORS",
    "TERM",
)
PYTORCH = CHECKOUT / "tests" / "pytorch"
ENDING = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)


@pytest.fixture(scope="session", autouse=True)
def usual_process() -> Iterator[None]:
    """Shield tests from what the run inherits from nohup, a script, a terminal or a login."""
    for signum in ENDING:
        if signal.getsignal(signum) is signal.SIG_IGN:
            signal.signal(signum, _usual(signum))
    umask = os.umask(0o022)
    with pytest.MonkeyPatch.context() as patch:
        for name in (*TERMINAL, "LANGUAGE", "PYTEST_ADDOPTS"):
            patch.delenv(name, raising=False)
        for name in [name for name in os.environ if name.startswith("LC_")]:
            patch.delenv(name)
        patch.setenv("LANG", "C.UTF-8")
        yield
    os.umask(umask)


def _usual(number: signal.Signals) -> Any:
    return signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL


@pytest.hookimpl(tryfirst=True)  # before marks are selected
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests that need PyTorch; let one worker build the site while the others run tests."""
    for item in items:
        if PYTORCH in item.path.parents or "torch" in getattr(item, "fixturenames", ()):
            item.add_marker("torch")
    with_site = [item for item in items if _needs_site(item)]
    others = [item for item in items if not _needs_site(item)]
    items[:] = [*with_site[:1], *others, *with_site[1:]]


def _needs_site(item: pytest.Item) -> bool:
    return "site" in getattr(item, "fixturenames", ())


@pytest.fixture(scope="session")
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the built site, one for all workers of pytest-xdist: the first one builds it.

    ``POSENC_SITE`` names a folder with a site that was just built.
    """
    name = os.environ.get("POSENC_SITE")
    folder = Path(name) if name else _shared_site(tmp_path_factory)
    request.config.stash[SITE] = folder
    return folder


def _shared_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # Imported here: pytest loads this file for `pytest --impl=...` in the checkout too, where only
    # the kit is installed.
    from filelock import FileLock

    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    folder = shared / "site"
    with FileLock(shared / "site.lock"):
        if not folder.exists():
            done = built(CHECKOUT / "mkdocs.yml", shared / "unfinished-site")
            assert done.returncode == 0, done.stdout + done.stderr
            (shared / "unfinished-site").rename(folder)
    return folder


@pytest.fixture(scope="session")
def page_schemes() -> list[Any]:
    """Return the schemes as the build passes them to the explorer's page."""
    content: list[Any] = _content("explorer_data")["schemes"]
    return content


@pytest.fixture(scope="session")
def page_models() -> list[Any]:
    """Return the models as the build passes them to the explorer's page."""
    content: list[Any] = _content("model_data")
    return content


def _content(module: str) -> Any:
    from tests.site.explorer import told  # needs Node; see above

    return told(module)
