"""The preview picture of a shared page: its title above a wave.

Such pictures need absolute addresses, so they are drawn only if the site's address is known.
"""

import math
from pathlib import Path
from textwrap import wrap

import matplotlib as mpl
from mkdocs.structure.pages import Page
from PIL import Image, ImageDraw, ImageFont

SIZE = (1200, 630)
GROUND, INK, PALE = "#00594f", "#ffffff", "#4db6ac"
LETTERS = Path(mpl.get_data_path(), "fonts", "ttf", "DejaVuSans.ttf")

_titles: dict[str, str] = {}


def add(page: Page) -> None:
    """Record a page's title, and set the address of its picture."""
    name = page.file.src_uri.removesuffix(".md").replace("/", "-")
    page.meta["card"] = f"cards/{name}.png"
    _titles[page.meta["card"]] = str(page.title)


def write(site: Path) -> None:
    """Draw the pictures of all pages."""
    for name, title in _titles.items():
        path = site / name
        path.parent.mkdir(exist_ok=True)
        draw(title).save(path, optimize=True)


def draw(title: str) -> Image.Image:
    """Draw the picture for a title."""
    image = Image.new("RGB", SIZE, GROUND)
    pen = ImageDraw.Draw(image)
    for pair in range(4):
        frequency = 0.05 / 2**pair
        points = [(x, 500 + 55 * math.sin(frequency * x)) for x in range(0, SIZE[0] + 4, 4)]
        pen.line(points, fill=PALE, width=4)
    pen.text((80, 70), "posenc", fill=PALE, font=ImageFont.truetype(str(LETTERS), 44))
    lines = "\n".join(wrap(title, 26)[:3])
    pen.text((80, 150), lines, fill=INK, font=ImageFont.truetype(str(LETTERS), 68), spacing=16)
    return image.quantize(32)
