"""The explorer's JavaScript, judged by the kit like any other implementation."""

import importlib.util
import re
import shutil
from pathlib import Path
from types import ModuleType

import pytest

from posenc_conformance.judge.knowledge import KnownScheme
from posenc_conformance.registry import load_all
from posenc_lab.judging import diagnoses, failed, judge, schemes
from tests.building import CHECKOUT
from tests.site.explorer import EXPLORER, MODULES, exported


def example() -> ModuleType:
    """Import the adapter, which is no module of a package."""
    path = CHECKOUT / "docs" / "examples" / "explorer.py"
    spec = importlib.util.spec_from_file_location("posenc_explorer_example", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


Explorer = example().Explorer


SHOWN = [scheme for scheme in schemes() if scheme.id in exported()]


def test_every_module_is_a_scheme_and_every_export_one_of_its_calls() -> None:
    calls = {scheme.id: set(scheme.calls) for scheme in load_all()}
    for scheme, names in exported().items():
        assert names, scheme
        assert names <= calls[scheme], scheme
    index = (MODULES / "schemes" / "index.js").read_text("utf-8")
    assert set(re.findall(r'"\./.+/(.+)\.js"', index)) == set(exported())


@pytest.mark.remembered(also=(*EXPLORER, "docs/examples/explorer.py"))
@pytest.mark.parametrize("scheme", SHOWN, ids=lambda scheme: scheme.id)
def test_every_export_is_claimed_and_right_in_every_combination(scheme: KnownScheme) -> None:
    verdicts = judge(Explorer(), among=[scheme])
    assert not failed(verdicts), [(verdict.id, verdict.text) for verdict in failed(verdicts)]
    assert {verdict.verdict for verdict in verdicts} <= {"passed", "not_claimed"}
    judged = {
        (verdict.check.subject.call.name, verdict.check.subject.combination.name)
        for verdict in verdicts
        if verdict.verdict == "passed"
    }
    assert judged == {
        (name, combination)
        for name in exported()[scheme.id]
        for combination in scheme.calls[name].combinations
    }


@pytest.mark.remembered(shipped=True, also=EXPLORER)
@pytest.mark.parametrize(
    ("file", "right", "wrong", "named"),
    [
        (
            "waves.js",
            "return angles.flatMap((_, t) => [sines[t], cosines[t]]);",
            "return angles.flatMap((_, t) => [cosines[t], sines[t]]);",
            "waves-swapped",
        ),
        ("schemes/absolute/sinusoidal.js", "1 / pairs;", "2 / pairs;", "exponent-doubled"),
        (
            "schemes/rotary/rope.js",
            "half: [PAIR.half, PAIR.half]",
            "half: [PAIR.interleaved, PAIR.interleaved]",
            "layout-swapped",
        ),
        ("schemes/bias/alibi.js", "-8 * (index + 1)", "-8 * index", "slopes-spread-wrongly"),
        (
            "schemes/rotary/yarn.js",
            "1 - clipped((t - low)",
            "clipped((t - low)",
            "ramp-inverted",
        ),
        ("masks.js", "allowed(k_len - q_len + i, key)", "allowed(i, key)", "queries-from-zero"),
        ("schemes/rotary/xpos.js", "(downscale ? -1 : 1)", "1", "downscale-swapped"),
    ],
)
def test_one_broken_line_is_rejected_and_named(
    tmp_path: Path, file: str, right: str, wrong: str, named: str
) -> None:
    folder = tmp_path / "explorer"
    shutil.copytree(MODULES, folder)
    text = (folder / file).read_text("utf-8")
    assert text.count(right) == 1
    (folder / file).write_text(text.replace(right, wrong), "utf-8")
    verdicts = judge(Explorer(folder), levels=("smoke", "golden"))
    assert failed(verdicts)
    assert named in diagnoses(verdicts)
