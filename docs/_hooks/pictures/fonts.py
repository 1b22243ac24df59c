"""The letters of the site: from packages that are installed, cut down to what pages need.

So a page asks nobody else for them, and looks the same where a machine has no fonts but DejaVu.
Both typefaces have the SIL Open Font License, whose text is published beside them.
"""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unicodedata import normalize

import fontpkg_inter
import fontpkg_jetbrains_mono
from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont
from fontTools.ttLib.tables._c_m_a_p import CmapSubtable
from fontTools.varLib.instancer import instantiateVariableFont

FOLDER = "assets/fonts"
LETTERS = ((0x20, 0x7F), (0xA0, 0x100), (0x2010, 0x2027), (0x2212, 0x2213))
"""What sentences are written with, as ranges of code points; the rest is from the reader's fonts.

Formulas have fonts of their own, and a telephone must not wait for letters that are on few pages.
"""
LINES = (*LETTERS, (0x2500, 0x2580))
"""What code and terminals are written with: tables have lines."""
VARIABLES = ((0x1D434, 0x1D467), (0x1D6E2, 0x1D71B), (0x210E, 0x210E))
"""Slanted letters of formulas, first and last: Latin, Greek, and the h, which has another place.

Browsers write a variable with these. Fonts of text do not have them, and a small Linux may have no
other font: it would show boxes. So text's own slanted letters stand in for them.
"""


@dataclass(frozen=True)
class Cut:
    """One weight of a typeface: where it comes from, and the name of its file."""

    package: str
    file: str
    axes: tuple[tuple[str, float], ...]
    name: str
    letters: tuple[tuple[int, int], ...] = LETTERS


TEXT, CODE = str(fontpkg_inter.ROOT), str(fontpkg_jetbrains_mono.ROOT)
CUTS = (
    Cut(TEXT, "Inter[opsz,wght].ttf", (("wght", 400), ("opsz", 14)), "text.woff2"),
    Cut(TEXT, "Inter[opsz,wght].ttf", (("wght", 700), ("opsz", 14)), "text-bold.woff2"),
    Cut(TEXT, "Inter-Italic[opsz,wght].ttf", (("wght", 400), ("opsz", 14)), "text-italic.woff2"),
    Cut(
        TEXT,
        "Inter-Italic[opsz,wght].ttf",
        (("wght", 400), ("opsz", 14)),
        "variables.woff2",
        tuple((first, last + 1) for first, last in VARIABLES),
    ),
    Cut(CODE, "JetBrainsMono[wght].ttf", (("wght", 400),), "code.woff2", LINES),
)


def files() -> Iterator[tuple[str, bytes]]:
    """Make each font and each licence: its address on the site, and its content."""
    for cut in CUTS:
        yield f"{FOLDER}/{cut.name}", _made(cut)
    for name, package in (("text", TEXT), ("code", CODE)):
        yield f"{FOLDER}/{name}-licence.txt", Path(package, "LICENSE").read_bytes()


def write(site: Path) -> None:
    """Put the fonts beside the style sheet that asks for them."""
    for address, content in files():
        path = site / address
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _made(cut: Cut) -> bytes:
    font = TTFont(Path(cut.package, "files", cut.file))
    if cut.name == "variables.woff2":
        _stand_in(font)
    options = Options(layout_features=["kern"], hinting=False)
    subsetter = Subsetter(options)
    subsetter.populate(unicodes=[letter for few in cut.letters for letter in range(*few)])
    subsetter.subset(font)  # first, since fewer letters are quicker to fix at a weight
    fixed = instantiateVariableFont(font, dict(cut.axes))
    fixed.flavor = "woff2"
    written = io.BytesIO()
    fixed.save(written)
    return written.getvalue()


def _stand_in(font: TTFont) -> None:
    """Let slanted letters of text stand where formulas look for theirs."""
    glyphs = font.getBestCmap()
    table = CmapSubtable.newSubtable(12)
    table.platformID, table.platEncID, table.language = 3, 10, 0
    table.cmap = glyphs | {
        place: glyphs[plain]
        for first, last in VARIABLES
        for place in range(first, last + 1)
        if (plain := ord(normalize("NFKC", chr(place)))) in glyphs
    }
    font["cmap"].tables = [table]
