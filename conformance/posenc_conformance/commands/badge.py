"""``posenc badge``: a report's verdict on each scheme, in one line, for a README."""

import html
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from posenc_conformance.door import LARGEST_CONFIGURATION, read_json, read_text
from posenc_conformance.errors import UserError, in_line
from posenc_conformance.files import Writer, make_folder, shown
from posenc_conformance.report.difference import read_report

GOOD, KNOWN, BAD = "brightgreen", "yellow", "red"
SHADES = {GOOD: "#2d7a0b", KNOWN: "#7d6400", BAD: "#b92d20"}
"""Background colours dark enough for white text, with a contrast of at least 4.5."""
NARROW, WIDE, USUAL = "fijl.,:;!|' ()[]^", "mwMW", 6.6
TITLE = re.compile("<title>(.*?)</title>")
MESSAGE = re.compile(
    r"conforms(, 2\^\d+)?|\d+ known failures?|\d+ of \d+ fail(, \d+ blocked)?|\d+ blocked"
)
"""The messages of badges; a badge with another message is not the kit's."""
SHOWN = 2
"""The most combinations that a label names. With more, it names only the scheme."""


@dataclass(frozen=True)
class Badge:
    """A badge that shows the verdict on one scheme."""

    name: str
    label: str
    message: str
    color: str

    @property
    def endpoint(self) -> str:
        """The badge as JSON for shields.io."""
        fields = {
            "schemaVersion": 1,
            "label": self.label,
            "message": self.message,
            "color": self.color,
            "isError": self.color == BAD,
        }
        return json.dumps(fields, indent=1) + "\n"

    @property
    def svg(self) -> str:
        """The badge as an SVG picture."""
        left, right = (round(_width(text)) + 12 for text in (self.label, self.message))
        label, message = html.escape(self.label), html.escape(self.message)
        texts = "".join(
            f'<text x="{x}" y="14" textLength="{width - 12}">{text}</text>'
            for x, width, text in ((6, left, label), (left + 6, right, message))
        )
        letters = 'fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11"'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" '
            f'role="img" aria-label="{label}: {message}"><title>{label}: {message}</title>'
            f'<rect width="{left}" height="20" fill="#444"/>'
            f'<rect x="{left}" width="{right}" height="20" fill="{SHADES[self.color]}"/>'
            f"<g {letters}>{texts}</g></svg>\n"
        )


def badges(report: Mapping[str, Any]) -> list[Badge]:
    """Make a badge for each scheme that the report has a verdict on.

    Raises UserError for a run that was interrupted, left out claimed checks, or had none.
    """
    if reason := report.get("interrupted"):
        raise UserError(
            f"the run did not finish: {in_line(reason)}", "run it again and let it finish"
        )
    if left := report["summary"]["not_selected"]:
        raise UserError(
            f"the run left out {left:,} of the claimed checks",
            "a badge needs all of them: run pytest without -k, -m or names of files",
        )
    grouped: dict[str, list[Mapping[str, Any]]] = {}
    for check in report["checks"]:
        grouped.setdefault(check["scheme"], []).append(check)
    if not grouped:
        raise UserError("the report has no checks", "see whether the adapter claims anything")
    return [_badge(scheme, checks) for scheme, checks in grouped.items()]


def _badge(scheme: str, checks: Sequence[Mapping[str, Any]]) -> Badge:
    combinations = list(dict.fromkeys(check["combination"] for check in checks))
    named = len(combinations) <= SHOWN and combinations != ["standard"]
    label = in_line(" ".join([scheme, ", ".join(combinations)]) if named else scheme)
    verdicts = [check["verdict"] for check in checks]
    failed, blocked = verdicts.count("failed"), verdicts.count("blocked")
    if failed or blocked:
        failures = f"{failed} of {len(verdicts)} fail" if failed else ""
        blocks = f"{blocked} blocked" if blocked else ""
        return Badge(scheme, label, ", ".join(filter(None, (failures, blocks))), BAD)
    if count := verdicts.count("known"):
        return Badge(scheme, label, f"{count} known failure{'s' * (count > 1)}", KNOWN)
    reaches = [int(check["horizon"]) for check in checks if check["horizon"] is not None]
    reach = f", 2^{min(reaches).bit_length() - 1}" if reaches and min(reaches) > 0 else ""
    return Badge(scheme, label, f"conforms{reach}", GOOD)


def write(report: Path, folder: Path, *, force: bool = False) -> Iterator[str]:
    """Write the badges of a report into a folder, and yield a line for each.

    Raises UserError, before anything is written, for an unusable report or folder and, unless
    ``force`` is given, for a file that would be lost.
    """
    drawn = badges(read_report(report))
    for badge in drawn:
        if not re.fullmatch(r"[\w-]+", badge.name):
            raise UserError(
                f"{in_line(badge.name)!r} is not a scheme", "the report was changed by hand"
            )
    contents = {
        folder / f"{badge.name}.{kind}": text
        for badge in drawn
        for kind, text in (("json", badge.endpoint), ("svg", badge.svg))
    }
    make_folder(folder)
    Writer(_is_badge, "is no badge of posenc, and would be lost", force).write(contents)
    for badge in drawn:
        paths = " and ".join(shown(folder / f"{badge.name}.{kind}") for kind in ("json", "svg"))
        yield f"{paths}: {badge.label}: {badge.message}"


def _is_badge(path: Path) -> bool:
    """Return whether a file is exactly the badge of some label, message and colour."""
    hint = "name another folder"
    text = read_text(path, hint).replace("\r\n", "\n")  # Git may have changed line ends
    if path.suffix == ".svg":
        title = TITLE.search(text)
        label, _, message = html.unescape(title[1] if title else "").partition(": ")
    else:
        document = read_json(path, LARGEST_CONFIGURATION, hint)
        label, message = (
            str(document.get(key) if isinstance(document, dict) else "")
            for key in ("label", "message")
        )
    if label.split(" ")[0] != path.stem or not MESSAGE.fullmatch(message):
        return False
    drawn = [Badge(path.stem, label, message, color) for color in SHADES]
    return text in [badge.svg if path.suffix == ".svg" else badge.endpoint for badge in drawn]


def _width(text: str) -> float:
    """Estimate the width of a text in pixels; the picture stretches the text to exactly that."""
    return sum(3.9 if letter in NARROW else 9.6 if letter in WIDE else USUAL for letter in text)
