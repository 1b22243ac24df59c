"""Small pieces of HTML and Markdown, and markup of the spec's plain text."""

import html
import re
from collections.abc import Iterable, Sequence

IDENTIFIER = re.compile(r"\b[a-z0-9]{2,}(?:_[a-z0-9]+)+\b|\b[a-z]+(?:_[a-z0-9]{2,})+\b")
INNER = r"(?:[^()]|\([^()]*\))*"


def code(text: object) -> str:
    """Mark up a text as code; short code does not wrap."""
    shown = html.escape(str(text), quote=False)
    return f'<code class="short">{shown}</code>' if len(shown) < 28 else f"<code>{shown}</code>"


def prose(text: str) -> str:
    """Mark up a plain-text sentence of the spec, with identifiers, indices and powers."""
    shown = html.escape(text, quote=False).replace("&gt;=", "≥").replace("&lt;=", "≤")
    shown = IDENTIFIER.sub(lambda match: f"<code>{match[0]}</code>", shown)
    pieces = re.split(r"(<code>.*?</code>)", shown)
    return "".join(piece if piece.startswith("<code>") else _raised(piece) for piece in pieces)


def _raised(text: str) -> str:
    text = re.sub(r"_\{([^{}]*)\}", r"<sub>\1</sub>", text)
    text = re.sub(r"\b(\w)_(\w)\b(?!\()", r"\1<sub>\2</sub>", text)
    text = re.sub(rf"\^\(({INNER})\)", r"<sup>\1</sup>", text)
    text = re.sub(r"\^(-?\w+)", r"<sup>\1</sup>", text)
    return text.replace(" - ", " − ")


def paragraph(*parts: str) -> str:
    """Make a paragraph of pieces of HTML."""
    return f"<p>{' '.join(part for part in parts if part)}</p>\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Make a table of HTML cells, which scrolls sideways if it is wider than the page."""
    top = "".join(f"<th>{cell}</th>" for cell in head)
    body = "".join("<tr>" + "".join(map(_cell, row)) + "</tr>\n" for row in rows)
    return (
        f'\n<div class="wide"><table>\n<thead><tr>{top}</tr></thead>\n'
        f"<tbody>\n{body}</tbody>\n</table></div>\n\n"
    )


def _cell(content: str) -> str:
    words = re.sub("<[^>]*>", "", content)
    return f'<td class="prose">{content}</td>' if len(words) > 60 else f"<td>{content}</td>"


def heading(level: int, text: str, anchor: str) -> str:
    """Make a Markdown heading, which appears in the table of contents."""
    return f"\n{'#' * level} {text} {{ #{anchor} }}\n\n"


def fenced(text: str, language: str = "text", title: str = "", kind: str = "") -> str:
    """Make a block of text or code; ``kind`` is the style sheet's class for a block of output."""
    options = f" .no-copy .{kind}" if kind else ""
    options += f' title="{title}"' if title else ""
    return f"\n```{{ .{language}{options} }}\n{text.rstrip()}\n```\n\n"


def link(url: str, text: str) -> str:
    """Make a link; ``text`` is HTML."""
    return f'<a href="{html.escape(url)}">{text}</a>'


def thread(url: str) -> str:
    """Make a link named after the thread or page that it leads to."""
    match = re.match(r"https://github\.com/([^/]+/[^/]+)/(?:pull|issues)/(\d+)$", url)
    name = f"{match[1]}#{match[2]}" if match else url.removeprefix("https://")
    return link(url, html.escape(name))
