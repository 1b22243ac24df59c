"""The README shows current results."""

import re

import pytest

from posenc_lab.readme import CODE, README, addresses, shape, table, urls, written

TEXT = README.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.always
def test_the_readme_is_up_to_date() -> None:
    assert shape(written(TEXT)) == shape(TEXT), "run python -m posenc_lab.readme"


@pytest.mark.slow
@pytest.mark.always
def test_outdated_parts_are_rewritten() -> None:
    old = TEXT.replace(table(), "| rotary | `rope` |\n")
    old = re.sub(r"^(rope +half .*?)\d+( +0)", r"\g<1>1\2", old, flags=re.M)
    old = re.sub(r"\d+ more checks", "1 more checks", old)
    assert len({TEXT, old, old.replace("1 more checks", "")}) == 3
    assert shape(written(old)) == shape(TEXT)


def test_addresses_come_from_the_project() -> None:
    assert addresses(urls()) in TEXT
    known = {"Source": "https://example.org/posenc.git", "Documentation": "https://example.org/"}
    assert "    git clone https://example.org/posenc.git\n" in addresses(known)
    assert "sources of https://example.org/." in addresses(known)


def test_links_lead_to_files() -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", TEXT)
    assert links
    assert not [link for link in links if not (README.parent / link).exists()]


def test_its_code_is_short() -> None:
    """The test is four lines, and the adapter is about ten."""
    test, adapter = CODE.findall(TEXT)
    assert len(test.partition("def test_my_rope")[2].splitlines()) == 4
    assert len([line for line in adapter.splitlines() if line]) <= 12
