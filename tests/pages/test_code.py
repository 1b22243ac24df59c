"""The code on pages is right, and its verdicts there are those of the kit."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from posenc_lab import code
from posenc_lab.judging import schemes

pytestmark = pytest.mark.remembered(shipped=True, also=("docs/data",))

SHOWN = code.schemes_with_code()
NUMPY = [scheme for scheme, library in SHOWN if library == "numpy"]


def test_every_file_is_shown() -> None:
    assert {*code.FOLDER.rglob("*.py")} == {code.path(*pair) for pair in SHOWN}


@pytest.mark.draws
@pytest.mark.parametrize("scheme", NUMPY)
def test_numpy_is_judged_as_the_page_says(scheme: str) -> None:
    now = code.judge_code(scheme, "numpy")
    assert now.pop("failed") == []
    assert now.items() <= code.recorded()[scheme]["numpy"].items(), "run python -m posenc_lab.code"


def test_verdicts_belong_to_the_code_shown() -> None:
    verdicts = {entry: code.recorded()[entry[0]][entry[1]] for entry in SHOWN}
    changed = [entry for entry in SHOWN if verdicts[entry]["code"] != code.digest(*entry)]
    assert changed == [], "run python -m posenc_lab.code"
    assert min(entry["passed"] for entry in verdicts.values()) > 10


def test_no_other_verdicts_are_stored() -> None:
    stored = [(scheme, name) for scheme, libraries in code.recorded().items() for name in libraries]
    assert sorted(stored) == sorted(SHOWN)


def test_the_claims_are_combinations_of_a_scheme_in_numpy() -> None:
    calls = {scheme.id: scheme.calls for scheme in schemes()}
    for id, claimed in code.claimed().items():
        for call, combination in claimed.items():
            assert combination in calls[id][call].combinations
        assert id in NUMPY


@pytest.mark.slow
def test_wrong_code_is_not_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = code.path("rope", "numpy").read_text(encoding="utf-8")
    wrong = text.replace("first * cos - second * sin", "first * cos + second * sin")
    assert wrong != text
    claims: dict[str, Any] = {"rope": {"rope": "interleaved"}}
    (tmp_path / "claims.yaml").write_text(json.dumps(claims), encoding="utf-8")
    monkeypatch.setattr(code, "FOLDER", tmp_path)
    code.path("rope", "numpy").parent.mkdir(parents=True)
    code.path("rope", "numpy").write_text(wrong, encoding="utf-8")
    monkeypatch.setattr(code, "RECORD", tmp_path / "code.json")
    with pytest.raises(SystemExit, match="is wrong"):
        code.update([("rope", "numpy")])
    assert code.recorded() == {}


def test_files_are_read_again_only_after_a_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(code, "RECORD", tmp_path / "code.json")
    assert code.recorded() == {}
    contents: list[dict[str, Any]] = [{"rope": {}}, {"rope": {}, "yarn": {}}]
    for content in contents:
        code.RECORD.write_text(json.dumps({"schemes": content}), encoding="utf-8")
        os.utime(code.RECORD, ns=(0, len(content)))
        assert code.recorded() == content
        assert code.recorded() is code.recorded()
    assert code.claimed() is code.claimed()
