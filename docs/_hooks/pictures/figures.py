"""Figures, drawn when the site is built by functions in the modules of their pages.

``<!-- figure:clock-hands -->`` stands for the function ``clock_hands`` in the page's module under
``docs/figures``. Its docstring is the title; it returns a Picture, or a Moving, which has sliders.
The drawing becomes inline SVG, whose lines and text follow the reader's theme.
"""

import base64
import html
import inspect
import io
import math
import re
from collections.abc import Callable

import matplotlib as mpl
import numpy as np
from mkdocs.exceptions import PluginError
from PIL import Image

from pages import DOCS, module_of, path_of
from pictures.animations import Moving
from pictures.moving_html import html_of
from pictures.picture import INK, SETTINGS, Picture, for_telephone

MARK = re.compile(r'<div class="figure-here" id="(?P<id>[a-z0-9-]+)"></div>')
TELEPHONE = 358
"""Width of a page's content in a window of 390 pixels."""
READABLE = 9
"""Smallest readable font size in pixels; with a smaller one, a figure is redrawn or scrolls."""
EMBEDDED = re.compile(r"(?<=data:image/png;base64,)[A-Za-z0-9+/=\s]+")
GROUP = re.compile(r"<g\b[^>]*>|</g>")
PLAIN_GROUP = re.compile(r'<g(?: id="[^"]*")?/?>')
STYLE = re.compile(r'<defs>\s*<style type="text/css">\*\{[^}]*\}</style>\s*</defs>')
"""Styles of line ends, which the site's style sheet sets for all figures."""
TICK = re.compile(
    r'<defs>\s*<path id="(?P<id>[^"]+)" d="M 0 0\s+L (?P<step>[-\d.]+ [-\d.]+)\s*"'
    r"(?P<style>[^>]*)/>\s*</defs>"
)
IMAGE_ID = re.compile(r'(<image\b[^>]*?) id="[^"]*"')


def mark(page: str, name: str) -> str:
    """Make the placeholder of a figure until the page is HTML."""
    _drawer(page, name)
    return f'\n<div class="figure-here" id="{name}"></div>\n'


def rendered(page: str, content: str) -> str:
    """Draw the figures of a page into its HTML."""
    return MARK.sub(lambda match: _render(page, match["id"]), content)


def _drawer(page: str, name: str) -> Callable[[], Picture | Moving]:
    module = module_of("figures", page)
    drawer: Callable[[], Picture | Moving] | None = getattr(module, name.replace("-", "_"), None)
    if drawer is None:
        where = path_of("figures", page).relative_to(DOCS.parent)
        raise PluginError(f"{page}: the figure {name!r} has no function in {where}")
    return drawer


def _render(page: str, name: str) -> str:
    draw = _drawer(page, name)
    title = inspect.getdoc(draw)
    if not title:
        raise PluginError(
            f"{page}: the function of the figure {name!r} needs a docstring, its title"
        )
    with mpl.rc_context(SETTINGS):
        picture = draw()
        if isinstance(picture, Moving):
            return html_of(name, title, picture, root_of(page))
        drawn = [_svg(name, title, picture)]
        small = READABLE / smallest_letter(drawn[0])
        if small > 1 and picture.diagram:
            drawn = [_scrolling(drawn[0], small)]
        elif small > 1:
            with for_telephone():
                narrow = draw()
            assert isinstance(narrow, Picture)
            drawn += [_svg(f"narrow-{name}", title, narrow)]
    kind = "drawn twice" if drawn[1:] else "drawn"
    return (
        f'<figure class="{kind}" id="figure-{name}">{"".join(drawn)}'
        f"<figcaption>{html.escape(picture.caption, quote=False)}</figcaption></figure>"
    )


def root_of(page: str) -> str:
    """Return the relative address of the site's root from a page."""
    return "../" * (page.count("/") + (not page.endswith("index.md")))


def _scrolling(svg: str, times: float) -> str:
    """Let a figure scroll sideways on screens narrower than ``times`` phone widths."""
    least = f'style="min-width: {math.ceil(TELEPHONE * times)}px; '
    wider = svg.replace('style="', least, 1)
    return f'<div class="wide">{wider}</div>'


def smallest_letter(svg: str) -> float:
    """Compute the smallest font size of a figure, in pixels, on a phone."""
    width = float(re.findall(r'viewBox="0 0 ([\d.]+)', svg)[0])
    shown = max(TELEPHONE, *(float(least) for least in re.findall(r"min-width: (\d+)px", svg)), 0)
    sizes = [float(size) for size in re.findall(r"font(?:-size)?: (?:[a-z]+ )*([\d.]+)px", svg)]
    return min(sizes, default=READABLE) * min(shown / width, 96 / 72)


def _svg(name: str, title: str, picture: Picture) -> str:
    text = io.StringIO()
    picture.figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    body = text.getvalue()
    body = body[body.index("<svg") :].strip()
    opening, _, content = body.partition(">")
    width, height = re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', opening)[0]
    content = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", content, flags=re.S)
    content = EMBEDDED.sub(lambda match: smaller(match[0]), content)
    content = IMAGE_ID.sub(r"\1", content)  # a hash of the pixels, which equal images would share
    content = re.sub(r'\bid="', f'id="{name}-', content)
    content = re.sub(r'(href="|url\()#', rf"\g<1>#{name}-", content)
    content = content.replace(INK, "currentColor")
    content = STYLE.sub("", content)
    content = with_one_path_of_ticks(without_groups(re.sub(r"\n\s*", "\n", content)))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'viewBox="0 0 {width} {height}" style="max-width: {float(width) / 72:.2f}in" role="img" '
        f'aria-labelledby="{name}-title {name}-description">'
        f'<title id="{name}-title">{html.escape(title)}</title>'
        f'<desc id="{name}-description">{html.escape(picture.description)}</desc>'
        f"{content}"
    )


def without_groups(svg: str) -> str:
    """Remove groups that have nothing but an id, which are half of all elements."""
    dropped: list[bool] = []

    def kept(found: re.Match[str]) -> str:
        if found[0].startswith("</"):
            return "" if dropped.pop() else found[0]
        plain = PLAIN_GROUP.fullmatch(found[0]) is not None
        if not found[0].endswith("/>"):
            dropped.append(plain)
        return "" if plain else found[0]

    return GROUP.sub(kept, svg)


def with_one_path_of_ticks(svg: str) -> str:
    """Draw all ticks of an axis as one path, instead of one ``<use>`` for each."""
    for mark in TICK.finditer(svg):
        use = re.compile(rf'<use xlink:href="#{mark["id"]}" x="([^"]+)" y="([^"]+)"[^>]*/>')
        ticks = "".join(f"M{x},{y}l{mark['step']}" for x, y in use.findall(svg))
        svg = use.sub("", svg.replace(mark[0], f'<path d="{ticks}"{mark["style"]}/>'))
    return svg


def smaller(encoded: str) -> str:
    """Encode the same pixels as a PNG with a palette, if all colours fit into one."""
    with Image.open(io.BytesIO(base64.b64decode(encoded))) as image:
        pixels = np.asarray(image.convert("RGBA"))
    colours, places = np.unique(pixels.view(np.uint32), return_inverse=True)
    if len(colours) > 256:
        return encoded
    small = Image.fromarray(places.reshape(pixels.shape[:2]).astype(np.uint8), "P")
    small.putpalette(colours.view(np.uint8).tobytes(), "RGBA")
    stream = io.BytesIO()
    small.save(stream, "png", optimize=True)
    return base64.b64encode(stream.getvalue()).decode("ascii")
