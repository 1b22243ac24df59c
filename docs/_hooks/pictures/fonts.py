"""The fonts of the site, from installed packages, reduced to the characters that pages need.

So pages load no fonts from other sites, and look the same on machines with no fonts but DejaVu.
Both typefaces have the SIL Open Font License, whose text is published with them.
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
"""Characters of prose, as ranges of code points; others come from the reader's fonts.

Formulas have separate fonts, and a phone must not wait for characters that few pages use.
"""
LINES = (*LETTERS, (0x2500, 0x2580))
"""Characters of code and terminals, including those that draw the lines of tables."""
VARIABLES = ((0x1D434, 0x1D467), (0x1D6E2, 0x1D71B), (0x210E, 0x210E))
"""Ranges of mathematical italics: Latin, Greek, and the h, which has a separate code point.

Browsers show variables with these. Text fonts lack them, and a minimal Linux may have no other
font and show boxes. So the italics of the text font replace them.
"""


@dataclass(frozen=True)
class Cut:
    """One weight of a typeface: its source, and the name of its file."""

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
    """Yield the address on the site and the content of each font and each licence."""
    for cut in CUTS:
        yield f"{FOLDER}/{cut.name}", _made(cut)
    for name, package in (("text", TEXT), ("code", CODE)):
        yield f"{FOLDER}/{name}-licence.txt", Path(package, "LICENSE").read_bytes()


def write(site: Path) -> None:
    """Write the fonts to where the style sheet loads them from."""
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
    subsetter.subset(font)  # first, since fewer glyphs are faster to instantiate
    fixed = instantiateVariableFont(font, dict(cut.axes))
    fixed.flavor = "woff2"
    written = io.BytesIO()
    fixed.save(written)
    return written.getvalue()


def _stand_in(font: TTFont) -> None:
    """Map the code points of mathematical italics to the font's own italic letters."""
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
