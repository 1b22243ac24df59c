"""Folders that pytest's settings put on the search path of modules."""

import sys
from contextlib import suppress

import pytest


class _Reader:
    """A plugin that reads the setting ``pythonpath`` and ends pytest before anything is loaded."""

    def __init__(self) -> None:
        self.folders: list[str] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_load_initial_conftests(self, early_config: pytest.Config) -> None:
        self.folders += map(str, early_config.getini("pythonpath"))
        pytest.exit("read")


def add_search_path() -> list[str]:
    """Put the folders of the setting ``pythonpath`` first, as a run of pytest here does.

    Returns them. The kit's own plugin is left out, since it would remove an old report.
    """
    reader = _Reader()
    with suppress(pytest.exit.Exception):
        pytest.main(["-p", "no:posenc"], plugins=[reader])
    sys.path[:0] = reader.folders
    return reader.folders
