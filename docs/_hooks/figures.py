"""Figures: drawn while the site is built, by functions beside the pages that show them.

``<!-- figure:clock-hands -->`` stands for the function ``clock_hands`` in the page's module under
``docs/figures``. Its docstring is the title; it returns a Picture. What is drawn becomes SVG inside
the page, whose lines and letters follow the reader's theme.
"""

import html
import inspect
import io
import re
from collections.abc import Callable

import matplotlib as mpl
from mkdocs.exceptions import PluginError

from pages import module_of
from picture import INK, SETTINGS, Picture

MARK = re.compile(r'<div class="figure-here" id="(?P<id>[a-z0-9-]+)"></div>')
IMAGE_ID = re.compile(r'(<image\b[^>]*?) id="[^"]*"')


def mark(page: str, name: str) -> str:
    """What stands for a figure until the page is HTML."""
    _drawer(page, name)
    return f'\n<div class="figure-here" id="{name}"></div>\n'


def rendered(page: str, content: str) -> str:
    """A page's HTML with its figures."""
    return MARK.sub(lambda match: _shown(page, match["id"]), content)


def _drawer(page: str, name: str) -> Callable[[], Picture]:
    module = module_of("figures", page)
    found: Callable[[], Picture] | None = getattr(module, name.replace("-", "_"), None)
    if found is None:
        where = f"docs/figures/{page.replace('-', '_').removesuffix('.md')}.py"
        raise PluginError(f"{page}: the figure {name!r} has no function in {where}")
    return found


def _shown(page: str, name: str) -> str:
    draw = _drawer(page, name)
    title = inspect.getdoc(draw)
    if not title:
        raise PluginError(
            f"{page}: the function of the figure {name!r} needs a docstring, its title"
        )
    with mpl.rc_context(SETTINGS):
        picture = draw()
        text = io.StringIO()
        picture.figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    body = text.getvalue()
    body = body[body.index("<svg") :].strip()
    opening, _, rest = body.partition(">")
    width, height = re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', opening)[0]
    rest = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", rest, flags=re.S)
    rest = IMAGE_ID.sub(r"\1", rest)  # made from its pixels, so two equal images would share it
    rest = re.sub(r'\bid="', f'id="{name}-', rest)
    rest = re.sub(r'(href="|url\()#', rf"\g<1>#{name}-", rest)
    rest = rest.replace(INK, "currentColor")
    rest = re.sub(r"\n\s*", "\n", rest)
    return (
        f'<figure class="drawn" id="figure-{name}">'
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'viewBox="0 0 {width} {height}" style="max-width: {float(width) / 72:.2f}in" role="img" '
        f'aria-labelledby="{name}-title {name}-description">'
        f'<title id="{name}-title">{html.escape(title)}</title>'
        f'<desc id="{name}-description">{html.escape(picture.description)}</desc>'
        f"{rest}<figcaption>{html.escape(picture.caption, quote=False)}</figcaption></figure>"
    )
