"""Fonts for tests: a browser with this configuration sees none of the machine's.

``ordinary`` has the widths of Arial and Helvetica, which the style sheet of the site asks for.
``wide`` is DejaVu, the only font of many small Linux systems, which is about a tenth wider.
"""

from pathlib import Path
from typing import Literal

import fontpkg_arimo
import matplotlib

Fonts = Literal["ordinary", "wide"]
SANS: dict[Fonts, str] = {"ordinary": "Arimo", "wide": "DejaVu Sans"}
MONOSPACE = "DejaVu Sans Mono"
# Both need DejaVu: Arimo has no monospaced font and few symbols.
FOLDERS = (Path(fontpkg_arimo.ROOT) / "files", Path(matplotlib.get_data_path()) / "fonts" / "ttf")
FILES: dict[Fonts, tuple[str, ...]] = {
    "ordinary": ("Arimo*", "DejaVuSans*"),
    "wide": ("DejaVuSans*",),
}
# Hinting fits glyphs to pixels, differently on each machine; without it, widths are the font's.
CONFIGURATION = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig>
  {folders}
  <cachedir>{cache}</cachedir>
  <selectfont>
    <rejectfont><glob>*</glob></rejectfont>
    <acceptfont>{files}</acceptfont>
  </selectfont>
  {aliases}
  <match target="pattern">
    <edit name="antialias" mode="assign"><bool>true</bool></edit>
    <edit name="autohint" mode="assign"><bool>false</bool></edit>
    <edit name="hinting" mode="assign"><bool>false</bool></edit>
    <edit name="hintstyle" mode="assign"><const>hintnone</const></edit>
    <edit name="rgba" mode="assign"><const>none</const></edit>
  </match>
</fontconfig>
"""


def environment(fonts: Fonts, folder: Path) -> dict[str, str]:
    """Return variables for a process that sees only these fonts, with its files in a folder."""
    names = {"Arial", "Helvetica", "sans-serif", "serif", "system-ui"}
    aliases = dict.fromkeys(sorted(names), SANS[fonts]) | {"monospace": MONOSPACE}
    configuration = CONFIGURATION.format(
        folders="".join(f"<dir>{part}</dir>" for part in FOLDERS),
        cache=folder / "cache",
        files="".join(f"<glob>*/{part}</glob>" for part in FILES[fonts]),
        aliases="".join(_alias(name, font) for name, font in aliases.items()),
    )
    file = folder / "fonts.conf"
    file.write_text(configuration, encoding="utf-8")
    return {"FONTCONFIG_FILE": str(file)}


def _alias(name: str, font: str) -> str:
    return (
        f'<alias binding="same"><family>{name}</family>'
        f"<prefer><family>{font}</family></prefer></alias>"
    )
