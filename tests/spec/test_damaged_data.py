"""Scheme files, goldens and the cache after accidents: one message, and no traceback."""

import json
import os
from pathlib import Path

import pytest

from posenc_conformance.commands.main import main
from posenc_conformance.errors import UserError
from posenc_conformance.registry import load_scheme
from posenc_conformance.scheme_file import cache as kept
from posenc_conformance.scheme_file.read import paths_by_name

ALIBI = paths_by_name()["alibi"].read_text(encoding="utf-8")


def scheme_file(tmp_path: Path, old: str, new: str) -> Path:
    path = tmp_path / "alibi.yaml"
    assert old in ALIBI
    path.write_text(ALIBI.replace(old, new, 1), encoding="utf-8")
    return path


def line_of(path: Path, text: str) -> int:
    lines = path.read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


@pytest.mark.parametrize(
    "value",
    ["2020-13-45", "2020-02-30 25:61:61", "9" * 5000, "1" + "0" * 400, "!!int x", "{[1, 2]: 3}"],
)
def test_an_impossible_value_is_reported_with_its_line(tmp_path: Path, value: str) -> None:
    path = scheme_file(tmp_path, "\ntitle: ", f"\nodd: {value}\ntitle: ")
    with pytest.raises(UserError, match=f"alibi.yaml:{line_of(path, 'odd: ')}:") as raised:
        load_scheme(path)
    assert raised.value.hint


BOMB = "\nodd:\n  - &a [x, x, x, x, x, x, x, x]\n" + "".join(
    f"  - &{chr(98 + n)} [{', '.join(['*' + chr(97 + n)] * 9)}]\n" for n in range(20)
)


@pytest.mark.parametrize(
    "odd",
    [BOMB, "\nodd: " + "[" * 3000 + "]" * 3000, "\nodd: &a [*a]"],
    ids=["aliases", "deep", "circular"],
)
def test_a_structure_without_end_is_refused(tmp_path: Path, odd: str) -> None:
    path = scheme_file(tmp_path, "\ntitle: ", f"{odd}\ntitle: ")
    with pytest.raises(UserError, match=r"alibi\.yaml"):
        load_scheme(path)


def test_an_alias_bomb_in_a_goldens_arguments_is_refused(tmp_path: Path) -> None:
    first = "&a [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]"
    more = [f"&{chr(98 + n)} [{', '.join(['*' + chr(97 + n)] * 9)}]" for n in range(12)]
    bomb = f"arguments: {{q: [{', '.join([first, *more])}], "
    path = scheme_file(tmp_path, "arguments: {", bomb)
    with pytest.raises(UserError, match=r"alibi\.yaml"):
        load_scheme(path)


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"\x00\x01", b"id: \x07"])
def test_a_file_that_is_no_text_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "alibi.yaml"
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"alibi\.yaml"):
        load_scheme(path)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "posenc"


@pytest.mark.parametrize("content", ["[]", "{}", "null", '{"id": "rope"}', "[" * 5000, "", "\x00"])
def test_a_wrong_file_in_the_cache_is_not_taken_for_a_scheme(
    tmp_path: Path, cache: Path, content: str
) -> None:
    path = scheme_file(tmp_path, "\ntitle: ", "\n# of this test\ntitle: ")
    load_scheme(path)
    (cached,) = cache.iterdir()
    cached.write_text(content, encoding="utf-8")
    load_scheme.cache_clear()
    assert load_scheme(path).id == "alibi"
    assert len(cached.read_text(encoding="utf-8")) > len(content)


def test_a_valid_entry_under_another_name_is_not_taken_either(tmp_path: Path, cache: Path) -> None:
    kept.keep("0" * 64, {"id": "other"})
    kept.keep("1" * 64, {"id": "mine"})
    os.replace(cache / ("0" * 64), cache / ("1" * 64))
    assert kept.recall("0" * 64) is None
    assert kept.recall("1" * 64) is None


@pytest.mark.slow
def test_the_cache_keeps_the_newest_and_leaves_other_files_alone(cache: Path) -> None:
    for number in range(kept.MOST + 5):
        kept.keep(f"{number:064x}", number)
        os.utime(cache / f"{number:064x}", (number, number))
    (cache / "somebodys.json").write_text(json.dumps(1), encoding="utf-8")
    kept.keep("f" * 64, "last")
    assert len(list(cache.iterdir())) == kept.MOST + 1
    assert kept.recall("f" * 64) == "last"
    assert kept.recall(f"{0:064x}") is None
    assert (cache / "somebodys.json").exists()


@pytest.mark.parametrize("mode", ["--check", "--write"])
@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ("alibi", "my-own", "Add a scheme"),
        ("  alibi_slopes:", "  my_slopes:", "my_slopes"),
        ("heads: 12", "heads: -12", "slopes-12"),
    ],
    ids=["no modules", "no reference", "refused arguments"],
)
def test_goldens_that_cannot_be_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], mode: str, old: str, new: str, word: str
) -> None:
    text = ALIBI
    if old == "alibi":
        text = text.replace("\nid: alibi", "\nid: my-own").replace("id: alibi", "id: my-own", 1)
    elif "slopes:" in old:
        text = text.replace("alibi_slopes", "my_slopes")
    else:
        text = text.replace(old, new)
    path = tmp_path / ("my-own.yaml" if old == "alibi" else "alibi.yaml")
    path.write_text(text, encoding="utf-8")
    assert main(["goldens", mode, str(path)]) in (1, 2)
    printed = capsys.readouterr()
    assert word in printed.out + printed.err
    assert mode == "--check" or "hint" in printed.err
    assert path.read_text(encoding="utf-8") == text
