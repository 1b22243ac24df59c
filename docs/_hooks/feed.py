"""A feed of the findings, for readers who want to follow new ones.

A feed needs absolute addresses, so it is written only if the address of the site is known.
"""

from pathlib import Path
from xml.etree import ElementTree

from scoreboard.cells import Finding, findings

from blocks.scoreboard_blocks import by_library, libraries_of

ADDRESS = "findings.xml"
ATOM = "http://www.w3.org/2005/Atom"


def content(site: str) -> str:
    """Write the feed of a site as Atom: an entry for each finding, with the day it was judged."""
    feed = ElementTree.Element("feed", xmlns=ATOM)
    dated = [(day, candidate) for candidate in findings() if (day := judged(candidate))]
    _fields(feed, id=f"{site}{ADDRESS}", title="posenc: findings in released libraries")
    _fields(feed, updated=max(day for day, _ in dated))
    ElementTree.SubElement(ElementTree.SubElement(feed, "author"), "name").text = "posenc"
    ElementTree.SubElement(feed, "link", rel="self", href=f"{site}{ADDRESS}")
    for day, finding in sorted(dated, key=lambda candidate: candidate[0], reverse=True):
        library = libraries_of(finding)[0]
        address = f"{site}scoreboard/{library.name}/#finding-{finding.id}"
        entry = ElementTree.SubElement(feed, "entry")
        _fields(entry, id=address, title=f"{library.title}: {finding.title}", updated=day)
        ElementTree.SubElement(entry, "link", href=address)
        _fields(entry, summary=finding.means)
    return ElementTree.tostring(feed, encoding="unicode", xml_declaration=True)


def _fields(parent: ElementTree.Element, **texts: str) -> None:
    for name, text in texts.items():
        ElementTree.SubElement(parent, name).text = text


def judged(found: Finding) -> str:
    """Return when the library of a finding was judged; empty if none of its reports is shown."""
    reports = by_library().get(libraries_of(found)[0].name, [])
    return str(reports[0].content["measured"]["date"]) if reports else ""


def write(site: Path, address: str) -> None:
    """Write the feed and robots.txt into a site with a known address."""
    (site / ADDRESS).write_text(content(address), encoding="utf-8")
    robots = f"User-agent: *\nAllow: /\nSitemap: {address}sitemap.xml\n"
    (site / "robots.txt").write_text(robots, encoding="utf-8")
