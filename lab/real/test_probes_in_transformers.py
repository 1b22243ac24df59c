"""Probes of every family, run by transformers: the weights are what the family's code reads."""

from pathlib import Path

import pytest

from posenc_conformance.checks import Options
from posenc_conformance.checks.deployed import checks, subjects_of
from posenc_conformance.checks.execution import execute
from posenc_conformance.commands.main import main
from posenc_conformance.deployed.engine import find_deployed
from posenc_conformance.deployed.families import FAMILIES
from posenc_conformance.judge.verdict import Verdict
from posenc_conformance.models.file import Model, load_all

LENGTH = 512
"""Tokens of the longest text: transformers takes long for more."""
ASKED = ("distance-1", "distance-64", "prefill")


def smallest(type: str) -> Model | None:
    """Return the model of a type that has the fewest layers."""
    known = [model for model in load_all() if model.configuration.type == type]
    return min(known, key=lambda each: each.config.get("num_hidden_layers", 0), default=None)


MODELS = [model for type in FAMILIES if (model := smallest(type)) is not None]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.id)
@pytest.mark.parametrize("spelling", ["released", "transformers-5"])
def test_transformers_reads_a_probe(model: Model, spelling: str, tmp_path: Path) -> None:
    out = str(tmp_path / "probe")
    given = ["probe", model.id, "--out", out, "--dtype", "float32", "--spelling", spelling]
    assert main(given) == 0
    engine = find_deployed(out, None, [], "float32")
    found = {
        check.id: execute(check, Options(1))
        for check in checks(engine, subjects_of(engine, "float32"), LENGTH)
        if check.id.startswith(ASKED)
    }
    assert len(found) >= len(ASKED)
    assert {id: each.text for id, each in found.items() if each.verdict != Verdict.PASSED} == {}
