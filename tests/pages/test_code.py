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
    assert {*code.FOLDER.rglob("*.py")} == {code.path(*each) for each in SHOWN}


@pytest.mark.draws
@pytest.mark.parametrize("scheme", NUMPY)
def test_numpy_is_judged_as_the_page_says(scheme: str) -> None:
    said = code.judge_code(scheme, "numpy")
    assert said.pop("failed") == []
    assert said.items() <= code.recorded()[scheme]["numpy"].items(), "run python -m posenc_lab.code"


def test_verdicts_belong_to_the_code_shown() -> None:
    said = {each: code.recorded()[each[0]][each[1]] for each in SHOWN}
    changed = [each for each in SHOWN if said[each]["code"] != code.digest(*each)]
    assert changed == [], "run python -m posenc_lab.code"
    assert min(each["passed"] for each in said.values()) > 10


def test_no_other_verdicts_are_stored() -> None:
    kept = [(scheme, library) for scheme, some in code.recorded().items() for library in some]
    assert sorted(kept) == sorted(SHOWN)


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
    some: list[dict[str, Any]] = [{"rope": {}}, {"rope": {}, "yarn": {}}]
    for kept in some:
        code.RECORD.write_text(json.dumps({"schemes": kept}), encoding="utf-8")
        os.utime(code.RECORD, ns=(0, len(kept)))
        assert code.recorded() == kept
        assert code.recorded() is code.recorded()
    assert code.claimed() is code.claimed()
