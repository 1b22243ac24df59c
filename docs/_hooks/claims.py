"""Claims: sentences of a page that are executed, each by the function that it names.

``<!-- claim:first-rise -->`` at the end of a sentence stands for the function ``first_rise`` in the
page's module under ``docs/claims``. Its docstring says what it verifies. It fails by raising an
exception; the paragraph must contain the texts that it returns, so that no printed number drifts.
"""

import html
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
from mkdocs.exceptions import PluginError

from blocks.site_blocks import in_repository, repository
from markup import code, heading, link, paragraph
from pages import DOCS, module_of, pages_with, path_of, root_of

MARK = re.compile(r"<!--\s*claim:(?P<id>[a-z0-9-]+)\s*-->")
ITEM = re.compile(r"^\s*(?:[-*]|\d+\.)\s", re.M)

Check = Callable[[], str | tuple[str, ...] | None]


@dataclass(frozen=True)
class Claim:
    """A sentence of a page and the check that executes it."""

    page: str
    id: str
    number: int
    text: str
    check: Check

    @property
    def test(self) -> str:
        """Id of the test that runs the claim."""
        claim = f"{self.page.removesuffix('.md')}::{self.id}"
        return f"tests/pages/test_claims.py::test_claim_holds[{claim}]"

    def verify(self) -> None:
        """Run the check; raises AssertionError if it fails or the text prints other values."""
        printed = self.check() or ()
        words = " ".join(MARK.sub("", self.text).split())
        for expected in (printed,) if isinstance(printed, str) else printed:
            assert expected in words, f"{self.page} must print {expected!r} where it says: {words}"


def claims_of(page: str, markdown: str) -> list[Claim]:
    """Return the claims of a page in their order.

    Raises PluginError for a mark without a function, a function without a mark or docstring, and a
    repeated mark.
    """
    checks = _checks(module_of("claims", page))
    marks = list(MARK.finditer(markdown))
    names = [mark["id"] for mark in marks]
    for name in dict.fromkeys([*names, *checks]):
        if names.count(name) != 1 or name not in checks:
            where = path_of("claims", page).relative_to(DOCS.parent)
            raise PluginError(
                f"{page}: the claim {name!r} stands {names.count(name)} times on the page and "
                f"has {'a' if name in checks else 'no'} function in {where}; both must be once"
            )
        if not inspect.getdoc(checks[name]):
            raise PluginError(f"{page}: the function of the claim {name!r} needs a docstring")
    return [
        Claim(page, mark["id"], number, _block(markdown, mark.start()), checks[mark["id"]])
        for number, mark in enumerate(marks, 1)
    ]


def _checks(module: ModuleType | None) -> dict[str, Check]:
    return {
        name.replace("_", "-"): function
        for name, function in vars(module or object).items()
        if inspect.isfunction(function)
        and function.__module__ == getattr(module, "__name__", None)
        and not name.startswith("_")
    }


def all_claims() -> Iterator[Claim]:
    """Yield every claim of every page."""
    pages_with("claims")
    for path in sorted(DOCS.rglob("*.md")):
        page = path.relative_to(DOCS).as_posix()
        yield from claims_of(page, path.read_text(encoding="utf-8"))


def _block(markdown: str, place: int) -> str:
    """Return the paragraph, list item or table row around a place in a page."""
    start = markdown.rfind("\n\n", 0, place) + 2 if "\n\n" in markdown[:place] else 0
    end = markdown.find("\n\n", place)
    block = markdown[start : end if end >= 0 else len(markdown)]
    if block.lstrip().startswith("|"):
        line = markdown.rfind("\n", 0, place) + 1
        return markdown[line : markdown.find("\n", place) + 1 or None]
    begins = [match.start() for match in ITEM.finditer(block)]
    before = max((begin for begin in begins if begin <= place - start), default=0)
    after = min((begin for begin in begins if begin > place - start), default=len(block))
    return block[before:after]


def _summary(claim: Claim) -> str:
    """Return the first paragraph of a check's docstring, in one line."""
    return " ".join((inspect.getdoc(claim.check) or "").partition("\n\n")[0].split())


def published() -> dict[str, Path]:
    """Return the module of each page with claims, by the address at which it is published."""
    return {_address(page): path_of("claims", page) for page in pages_with("claims")}


def _address(page: str) -> str:
    module = path_of("claims", page).relative_to(DOCS / "claims")
    return f"executed/{module.with_suffix('.txt').as_posix()}"


def module_place(page: str) -> str:
    """Return where a reader finds the checks of a page: in the repository or the published copy."""
    if repository():
        return in_repository(path_of("claims", page).relative_to(DOCS.parent).as_posix())
    return root_of(page) + _address(page)


def check_place(claim: Claim) -> str:
    """Return where a reader finds the check of a claim."""
    if not repository():
        # A browser scrolls to these words, or else shows the file from its top.
        return f"{module_place(claim.page)}#:~:text=def%20{claim.check.__name__}"
    lines, first = inspect.getsourcelines(claim.check)
    return f"{module_place(claim.page)}#L{first}-L{first + len(lines) - 1}"


def badge(claim: Claim) -> str:
    """Make the small number after the sentence, which links to its check."""
    summary = html.escape(_summary(claim), quote=True)
    return (
        f'<a class="claim" id="claim-{claim.id}" href="{html.escape(check_place(claim))}" '
        f'title="{summary}" '
        f'aria-label="executed claim {claim.number}">{claim.number}</a>'
    )


def appendix(claims: list[Claim]) -> str:
    """Make the end of the page: how to run its checks, and where their code is."""
    if not claims:
        return ""
    module = claims[0].test.partition("::")[0]
    page = claims[0].page.removesuffix(".md")
    checks = link(module_place(claims[0].page), "Checks")
    run = code(f"pytest {module} -k {page}::")
    return heading(2, "What is executed", "executed") + paragraph(f"{checks}: {run}")


def on_page(page: str, markdown: str) -> tuple[dict[str, str], str]:
    """Make the badges of a page, by the ids of its claims, and its appendix."""
    listed = claims_of(page, markdown)
    return {claim.id: badge(claim) for claim in listed}, appendix(listed)


def overview() -> str:
    """Tabulate the number of claims on each page, with links to the checks."""
    rows = [
        [f"[{page.removesuffix('.md')}]({page}#executed)", str(len(list(group)))]
        for page, group in groupby(all_claims(), lambda claim: claim.page)
    ]
    listed = "\n".join(f"| {page} | {count} |" for page, count in rows)
    count = sum(int(count) for _, count in rows)
    return f"\nThere are {count} of them.\n\n| page | statements |\n|---|---|\n{listed}\n\n"


def rounded(function: Callable[..., Any], *values: npt.ArrayLike) -> Any:
    """Compute a function of float32 numbers, rounded to float32: the same on every processor.

    NumPy's own float32 functions differ between kinds of processors.
    """
    exact = [np.asarray(array, np.float32).astype(np.float64) for array in values]
    return np.asarray(function(*exact)).astype(np.float32)
