"""``posenc init`` and ``--impl`` where an adapter lies beside a library, and where nothing fits."""

from pathlib import Path

import pytest

from posenc_conformance.adapters.find import load_adapter, lying_by
from posenc_conformance.commands.init.calls.other_schemes import OTHERS
from posenc_conformance.commands.init.guess import HINTS
from posenc_conformance.commands.init.in_memory import load_here
from posenc_conformance.commands.main import main
from posenc_conformance.errors import UserError
from posenc_conformance.registry import load_all
from tests.commands.initialised import written

pytestmark = pytest.mark.remembered(shipped=True)
RIGHT = """
import numpy as np

def causal_mask(q_len, k_len):
    return np.arange(k_len)[None] <= np.arange(k_len - q_len, k_len)[:, None]
"""
WRONG = RIGHT.replace("<=", "<")
UNKNOWN = "\ndef chunk_mask(tree, knots):\n    return tree + knots\n"
SAID = "which lies here, is not"


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("lib", "lib_adapter.py"),
        ("pack.lib", "lib_adapter.py"),
        ("my-lib", "my_lib_adapter.py"),
        ("lib:Rope.apply", "Rope_apply_adapter.py"),
        ("lib.py", "lib_adapter.py"),
        ("src/lib.py", "src/lib_adapter.py"),
        ("src/lib.py", "lib_adapter.py"),
    ],
)
def test_an_adapter_is_known_by_its_name(folder: Path, name: str, file: str) -> None:
    Path(file).parent.mkdir(exist_ok=True)
    Path("other_adapter.py").touch()
    assert lying_by(name) is None
    Path(file).touch()
    assert lying_by(name) == Path(file)


@pytest.mark.parametrize("name", ["", "\0", "x" * 5000, "/", "a:", ".py", "tcp://x:y"])
def test_an_odd_name_has_no_adapter(folder: Path, name: str) -> None:
    assert lying_by(name) is None


def test_a_library_beside_its_adapter_says_which_is_judged(folder: Path) -> None:
    path = written(folder, "lies_here", RIGHT)
    first, *_ = load_here("lies_here").notes
    assert first.startswith("lies_here itself is judged")
    assert f"{path.name}, {SAID}: for that, pytest --impl={path.name}" in first
    path.unlink()
    assert SAID not in load_here("lies_here:causal_mask").notes[0]


def test_a_name_without_library_leads_to_the_adapter_that_lies_here(folder: Path) -> None:
    Path("not_there_adapter.py").touch()
    with pytest.raises(UserError) as problem:
        load_adapter("not_there")
    assert "--impl=not_there_adapter.py judges" in problem.value.hint


def test_a_library_without_a_scheme_leads_to_the_adapter_that_lies_here(folder: Path) -> None:
    Path("holds_none.py").write_text(UNKNOWN, encoding="utf-8")
    Path("holds_none_adapter.py").touch()
    with pytest.raises(UserError) as problem:
        load_here("holds_none")
    assert "--impl=holds_none_adapter.py judges" in problem.value.hint


def test_an_adapter_that_is_there_stays_and_the_ways_on_are_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("stays.py").write_text(RIGHT, encoding="utf-8")
    Path("stays_adapter.py").write_text("mine", encoding="utf-8")
    assert main(["init", "stays"]) == 2
    hint = capsys.readouterr().err.partition("hint: ")[2]
    assert "--impl=stays_adapter.py, " in hint
    assert "--impl=stays; " in hint
    assert "--force" in hint
    assert Path("stays_adapter.py").read_text("utf-8") == "mine"


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (RIGHT, ""),
        (WRONG, "1 of 1, causal_mask; "),
        (RIGHT + UNKNOWN, "1 of 2, chunk_mask; "),
        (UNKNOWN, "1 of 1, chunk_mask; "),
        (WRONG + UNKNOWN, "2 of 2, causal_mask, chunk_mask; "),
    ],
)
def test_what_fits_nothing_is_counted_in_the_last_line(
    folder: Path, capsys: pytest.CaptureFixture[str], source: str, says: str
) -> None:
    name = f"counted_{len(source)}_{source.count('<=')}"
    written(folder, name, source)
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith(f"FITS NOTHING: {says}" if says else "wrote ")


@pytest.mark.parametrize(
    ("name", "scheme"),
    [
        ("apply_multimodal_rotary_pos_emb", "m-rope"),
        ("compute_axial_cis", "rope-2d"),
        ("axial_rotary_embedding", "axial-rope"),
        ("opt_learned_positional_embedding", "learned"),
        ("rel_shift", "transformer-xl"),
        ("apply_rotary_pos_emb_2d", "rope-2d"),
        ("apply_rotary_pos_emb", ""),
        ("axis_of_position", ""),
        ("position_ids", ""),
    ],
)
def test_a_part_of_a_scheme_that_is_not_tried_is_told_with_the_way_on(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str, scheme: str
) -> None:
    library = f"named_{name}"
    written(folder, library, RIGHT + f"\ndef {name}(tree, knots):\n    return tree + knots\n")
    said = capsys.readouterr().out
    told = f"not judged: {name}: named after {scheme}, "
    assert (told in said) if scheme else ("named after" not in said)
    if scheme:
        assert f"posenc init {library} {scheme} writes" in said
        Path(f"{library}_adapter.py").unlink()
        path = written(folder, library, Path(f"{library}.py").read_text("utf-8"), scheme)
        assert "    # def " in path.read_text("utf-8")
        assert "named after" not in capsys.readouterr().out


def test_every_scheme_that_is_told_is_in_the_spec_and_not_tried() -> None:
    known = {scheme.id: {*scheme.calls} for scheme in load_all()}
    assert {*OTHERS} <= {*known}
    assert not any(known[scheme] & {*HINTS} for scheme in OTHERS)
