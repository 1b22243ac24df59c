"""Findings: known mistakes of released libraries, from the files of known failures.

Each file under ``tests/known`` begins with a comment: library, version and remarks. Its entries are
checks that fail; checks that fail for the same reason are one finding.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import yaml
from mkdocs.exceptions import PluginError

from markup import code, paragraph, prose, thread
from pages import DOCS
from posenc_conformance.checks import LEVELS
from posenc_conformance.checks.model_adapter import LEVEL as MODEL

FOLDER = DOCS.parent / "tests" / "known"
COMMENT = re.compile(r"\A(?:#.*\n)*")
HEAD = re.compile(r"(?P<library>[\w-]+) (?P<version>\d[\w.]*\w.*?)[.:](?:\s|$)")
INNER = r"\((?:[^()]|\([^()]*\))*\)"
NAME = re.compile(
    rf"(?<!\w)([A-Za-z][a-z0-9]*_\w+|_\w+|[A-Z][a-z0-9]+[A-Z]\w+|[a-z]+{INNER}(?:\.[a-z]+{INNER})*)"
)


@dataclass(frozen=True)
class Finding:
    """A reason why checks of a library fail."""

    reason: str
    link: str
    checks: tuple[str, ...]

    @property
    def levels(self) -> list[str]:
        """Levels of the checks that fail, in the order of the kit."""
        failed = {check.split("::")[1] for check in self.checks}
        return [level for level in (*LEVELS, MODEL) if level in failed]


@dataclass(frozen=True)
class Judged:
    """The content of one adapter's file of known failures."""

    adapter: str
    library: str
    version: str
    remark: str
    findings: tuple[Finding, ...]

    @property
    def reasons(self) -> dict[str, tuple[str, ...]]:
        """Failing checks by reason."""
        return {finding.reason: finding.checks for finding in self.findings}


def read_known(path: Path) -> Judged:
    """Read a file of known failures.

    Raises PluginError if its first comment does not name library and version.
    """
    text = path.read_text(encoding="utf-8")
    comment = " ".join(line.lstrip("# ") for line in COMMENT.findall(text)[0].splitlines())
    head = HEAD.match(comment)
    if head is None:
        raise PluginError(
            f"{path.name} must begin with a comment that names library and version, such as "
            f"'# timm 1.0.31. What was found.', not with {comment[:60]!r}"
        )
    reasons: dict[tuple[str, str], list[str]] = {}
    for entry in yaml.safe_load(text)["failures"]:
        reason = entry["reason"]
        if when := entry.get("when"):
            reason += f" (where {', '.join(f'{name} is {value}' for name, value in when.items())})"
        ids = entry["ids"] if "ids" in entry else [entry["id"]]
        reasons.setdefault((reason, entry.get("link", "")), []).extend(ids)
    return Judged(
        path.stem,
        head["library"],
        head["version"],
        comment[len(head[0]) :].strip(),
        tuple(Finding(reason, link, tuple(ids)) for (reason, link), ids in reasons.items()),
    )


def all_judged() -> list[Judged]:
    """Read all files of known failures."""
    return [read_known(path) for path in sorted(FOLDER.glob("*.yaml"))]


def count() -> int:
    """Count the reasons why checks fail, over all libraries."""
    return sum(len({finding.reason for finding in file.findings}) for file in all_judged())


def listed(some: Iterable[Judged]) -> str:
    """List the findings in the known-failure files of one library, each reason once."""
    judged = list(some)
    reasons = dict.fromkeys(finding.reason for file in judged for finding in file.findings)
    text = ""
    for file in judged:
        mine = [finding for finding in file.findings if finding.reason in reasons]
        text += paragraph(_typed(file.remark)) if file.remark else ""
        for finding in sorted(mine, key=lambda finding: (*LEVELS, MODEL).index(finding.levels[0])):
            del reasons[finding.reason]
            text += _render(finding, [a for a in judged if finding.reason in a.reasons])
    return text


def _render(found: Finding, where: Iterable[Judged]) -> str:
    """Show a finding with the adapters that show it and their checks."""
    text, count = "", 0
    for file in where:
        checks = file.reasons[found.reason]
        count += len(checks)
        items = "".join(f"<li>{code(check)}</li>" for check in checks)
        text += paragraph(f"Reproduce: {code(f'make conformance IMPL={file.adapter}')}")
        text += f"<ul>{items}</ul>"
    seen = paragraph(f"Discussed in {thread(found.link)}.") if found.link else ""
    number = f"{count} checks" if count > 1 else "1 check"
    return (
        f'\n<details class="golden"><summary>{_typed(found.reason)} '
        f"<small>({', '.join(found.levels)}: {number})</small></summary>{seen}{text}</details>\n\n"
    )


def _typed(text: str) -> str:
    """Mark up identifiers in a plain text as code."""
    pieces = NAME.split(text)
    return "".join(code(piece) if n % 2 else prose(piece) for n, piece in enumerate(pieces))
