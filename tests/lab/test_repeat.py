"""Repeated runs, in any order and in any process, give the same results."""

from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from posenc_lab.repeat import ORDER, WRONG, Way, pytest_collection_modifyitems, repeated, ways

pytestmark = pytest.mark.remembered(shipped=True)

RESTLESS = """
import os
from posenc_conformance import claims


class Adapter:
    @claims(dtype="float64")
    def alibi_slopes(self, heads):
        return [2.0 ** (-8 * (n + 1) / heads) for n in range(heads)] * int(os.environ["TIMES"])
"""


@pytest.mark.slow
def test_a_wrong_adapter_is_judged_the_same_in_every_way(tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text(WRONG, encoding="utf-8")
    every = {way.name: way for way in islice(ways(), 6)}
    chosen = [every[name] for name in ("as usual", "random order", "all of it at once")]
    changed = repeated("wrong.py", ["rope.yaml::smoke", "rope.yaml::golden"], chosen, tmp_path)
    assert [(way.name, lines) for way, lines in changed] == [(way.name, []) for way in chosen[1:]]


@pytest.mark.slow
def test_a_different_answer_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "restless.py").write_text(RESTLESS, encoding="utf-8")
    chosen = [Way(n, environment={"TIMES": n}) for n in ("1", "2")]
    ((_, lines),) = repeated("restless.py", ["alibi.yaml::smoke"], chosen, tmp_path)
    assert any("smoke" in line and line.endswith(": passed, then failed") for line in lines)
    assert "exit status 0, then 1" in lines


def test_the_order_depends_on_the_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    orders = []
    for seed in ("", "1", "1", "2"):
        monkeypatch.setenv(ORDER, seed)
        items: list[Any] = list(range(20))
        pytest_collection_modifyitems(items)
        assert sorted(items) == list(range(20))
        orders.append(items)
    assert orders[0] == list(range(20))
    assert orders[1] == orders[2]
    assert orders[1] != orders[3] != orders[0]
