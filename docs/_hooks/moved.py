"""Pages at old addresses, each of which leads to where its content is now."""

import html
from pathlib import Path

from blocks.scheme_blocks import schemes
from pages import in_reference
from posenc_conformance.scheme_file.scheme import Scheme

OLD = "-reference"
"""Ending of the former second page of a scheme."""
ON_SCHEME = "convention|check|executed"
"""Beginnings of the ids that moved to the page of the scheme."""


def write(site: Path) -> None:
    """Write a page at each old address."""
    for scheme in schemes().values():
        folder = site / "schemes" / f"{scheme.id}{OLD}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "index.html").write_text(page(scheme), encoding="utf-8")


def page(scheme: Scheme) -> str:
    """Write the page that stands where the reference of a scheme was."""
    place = in_reference(f"schemes/{scheme.id}.md", scheme.id)
    title = html.escape(scheme.title)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width">\n'
        '<meta name="robots" content="noindex">\n'
        f"<title>{title}: reference</title>\n"
        f'<link rel="canonical" href="{place}">\n'
        "<script>\n"
        f"const there = /^#({ON_SCHEME})/.test(location.hash)\n"
        f'  ? "../{scheme.id}/" + location.hash.replace("#check-", "#claim-")\n'
        f'  : "{place}" + location.hash\n'
        "location.replace(there)\n</script>\n</head>\n<body>\n"
        f'<h1>{title}: reference</h1>\n<p>It is now <a href="{place}">on another page</a>, and '
        f'the scheme is explained <a href="../{scheme.id}/">on its own</a>.</p>\n'
        "</body>\n</html>\n"
    )
