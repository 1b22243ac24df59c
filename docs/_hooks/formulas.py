"""Conversion of TeX formulas to MathML when the site is built, so that no page needs a script."""

import html
import re
from collections.abc import Iterator
from xml.etree import ElementTree

from latex2mathml.converter import convert
from mkdocs.exceptions import PluginError

FORMULA = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\\(?P<open>[(\[])(?P<tex>.*?)\\[)\]]</(?P=tag)>', re.S
)
NAMESPACE = "http://www.w3.org/1998/Math/MathML"
ARITY = {
    "mfrac": 2, "mroot": 2, "msub": 2, "msup": 2, "msubsup": 3, "munder": 2, "mover": 2,
    "munderover": 3,
}  # fmt: skip
THIN = "0.167em"
LONG = 25
"""Characters of a formula that may not fit on a phone, especially in a table or a list."""
RELATIONS = "⟸⟹⟺⇐⇒⇔"
BARS = "|‖"


def rendered(page: str, content: str) -> str:
    """Convert every formula that arithmatex marked in a page's HTML to MathML.

    Raises PluginError with the page and the formula if one cannot be converted.
    """

    def replaced(match: re.Match[str]) -> str:
        tex = html.unescape(match["tex"]).strip()
        try:
            return mathml(tex, block=match["open"] == "[")
        except Exception as error:  # the converter raises many kinds of errors
            raise PluginError(f"{page}: the formula {tex!r} cannot be shown: {error}") from error

    return FORMULA.sub(replaced, content)


def mathml(tex: str, *, block: bool) -> str:
    """Convert one formula to MathML.

    Raises ValueError for mistakes that the converter does not report.
    """
    text = convert(tex, display="block" if block else "inline")
    ElementTree.register_namespace("", NAMESPACE)
    root = ElementTree.fromstring(text)
    for problem in _problems(root):
        raise ValueError(problem)
    for parent in list(root.iter()):
        _space(parent)
    _unwrap(root)
    root.set("alttext", tex)
    if not block and len("".join(root.itertext())) > LONG:
        root.set("class", "long")
    shown = ElementTree.tostring(root, encoding="unicode")
    return f'<div class="formula">{shown}</div>' if block else shown


def _problems(root: ElementTree.Element) -> Iterator[str]:
    for element in root.iter():
        name = _name(element)
        if name == "merror" or "\\" in (element.text or ""):
            yield f"unknown command {element.text or ''}"
        if len(element) != ARITY.get(name, len(element)):
            yield f"{name} with {len(element)} parts instead of {ARITY[name]}"


def _space(parent: ElementTree.Element) -> None:
    """Add space around function names, as TeX does, but not next to brackets."""
    for element in parent:
        if _name(element) == "mo" and element.text and element.text in BARS:
            element.attrib.update(lspace="0", rspace="0")
        if _name(element) == "mo" and re.fullmatch("[A-Za-z]{2,}", element.text or ""):
            element.tag = f"{{{NAMESPACE}}}mi"
            element.attrib.clear()
        if _name(element) == "mi" and (element.text or "") in RELATIONS and element.text:
            element.tag = f"{{{NAMESPACE}}}mo"
    if _name(parent) not in ("math", "mrow", "mtd"):
        return
    children = list(parent)
    for index in reversed(range(len(children))):
        if not _is_function(children[index]):
            continue
        if index + 1 < len(children) and _is_operand(children[index + 1]):
            parent.insert(index + 1, ElementTree.Element(f"{{{NAMESPACE}}}mspace", width=THIN))
        if index and _is_operand(children[index - 1]):
            parent.insert(index, ElementTree.Element(f"{{{NAMESPACE}}}mspace", width=THIN))


def _unwrap(root: ElementTree.Element) -> None:
    """Remove rows with a single part, and the outermost row: they are many and have no effect."""
    for parent in root.iter():
        for index, child in enumerate(parent):
            while _name(child) == "mrow" and len(child) == 1 and not child.attrib:
                child = child[0]
            parent[index] = child
    if len(root) == 1 and _name(root[0]) == "mrow" and not root[0].attrib:
        root[:] = list(root[0])


def _is_function(element: ElementTree.Element) -> bool:
    if _name(element) in ("msub", "msup", "msubsup"):
        element = element[0]
    text = element.text or ""
    return _name(element) == "mi" and len(text) > 1 and text.isascii() and text.isalpha()


def _is_operand(element: ElementTree.Element) -> bool:
    return _name(element) not in ("mo", "mspace", "mtext")


def _name(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]
