"""Rewrite goldens in the YAML text of a scheme or a model.

A golden is written as a flow mapping of two or three lines: its description, its arguments, and its
result. So computed numbers are on a line of their own.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from posenc_conformance.errors import UserError
from posenc_conformance.scheme_file.strict_yaml import TEXT, load_yaml

RESULT = ("expect", "sha256")
"""Fields of a golden that are computed."""
WORDS = re.compile(r"[A-Za-z0-9][A-Za-z0-9_. -]*")
"""Values that need no quotes in any style, except numbers, dates and the like."""
COMMENT = re.compile(r"#[^\n]*")
RESOLVER = yaml.SafeLoader("")

Piece = tuple[int, int, str]
"""Start and end of a part of a text, and its replacement."""


def rewrite(text: str, results: Mapping[int, str], provenance: Mapping[str, str]) -> str:
    """Return the text of a file with some goldens and its provenance rewritten.

    ``results`` maps the number of a golden to its new result. Comments are kept; those within a
    rewritten golden are moved above it. Other goldens and the line ends are unchanged.

    Raises UserError for a golden that cannot be rewritten with the same meaning, such as one with
    an anchor, and for text that some readers of YAML refuse.
    """
    ending = _line_end(text)
    plain = text.replace(ending, "\n")
    try:
        root: Any = yaml.compose(plain, Loader=yaml.SafeLoader)
        parts = _Parts(plain)
    except yaml.YAMLError as error:
        raise UserError(f"the goldens cannot be written: {error}", "use no tabs") from None
    pieces = _provenance_pieces(parts, root, provenance)
    for number, node in enumerate(_fields(root)["goldens"].value):
        if number in results:
            pieces += _golden_pieces(parts, node, results[number])
    new = _replaced(plain, pieces)
    _demand_same(plain, new)
    return new.replace("\n", ending)


def _line_end(text: str) -> str:
    """Return the line end of a text; raise UserError if it has several."""
    ending = "\r\n" if "\r\n" in text else "\n"
    if set("\r\n") & set(text.replace(ending, "")):
        raise UserError("lines of the file end in different ways", "save it with one line end")
    return ending


def write_result(expect: Mapping[str, Any], digest: str) -> str:
    """Return the result of a golden as fields of a flow mapping."""
    ((form, content),) = expect.items()
    return f"expect: {{{form}: {_written(content)}}}, sha256: {digest}"


class _Parts:
    """The offsets of the values and anchors in a YAML text, and its comments."""

    def __init__(self, text: str) -> None:
        self.text = text
        tokens = [*yaml.scan(text, Loader=yaml.SafeLoader)]
        self.values = [
            (self._content_of(token), token.end_mark.index)
            for token in tokens
            if isinstance(token, yaml.ScalarToken)
        ]
        self.marks = [
            token.start_mark.index
            for token in tokens
            if isinstance(token, (yaml.AnchorToken, yaml.AliasToken, yaml.TagToken))
        ]

    def _content_of(self, token: yaml.ScalarToken) -> int:
        """Return where a value's content begins: that of a block is below its header line."""
        start: int = token.start_mark.index
        return self.text.index("\n", start) if token.style in ("|", ">") else start

    def demand_plain(self, start: int, end: int) -> None:
        """Raise UserError for an anchor, an alias or a tag between two offsets."""
        if any(start <= mark < end for mark in self.marks):
            raise UserError(
                "the goldens cannot be written as they are meant",
                "write them without anchors and tags",
            )

    def end_of(self, node: Any) -> int:
        """Return where a node ends.

        A block's own end mark is at the next token, so that of its last part is used.
        """
        if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
            last = node.value[-1]
            return self.end_of(last[1] if isinstance(last, tuple) else last)
        return len(self.text[: node.end_mark.index].rstrip())

    def comments(self, start: int, end: int) -> list[str]:
        """Return the comments between two offsets: texts from a # outside of all values."""
        comments, at = [], start
        inside = (span for span in self.values if start <= span[0] < end)
        for begin, after in (*inside, (end, end)):
            comments += COMMENT.findall(self.text[at:begin])
            at = after
        return comments


def _golden_pieces(parts: _Parts, node: yaml.Node, result: str) -> Iterator[Piece]:
    text, start, end = parts.text, node.start_mark.index, parts.end_of(node)
    begin = start - node.start_mark.column
    parts.demand_plain(begin, end)
    margin = ",\n" + " " * (node.start_mark.column + 1)
    yield start, end, "{" + margin.join([*_given_lines(text, node), result]) + "}"
    indent = re.match(" *", text[begin:])[0]  # type: ignore[index]  # it matches everything
    yield begin, begin, "".join(f"{indent}{comment}\n" for comment in parts.comments(start, end))


def _given_lines(text: str, node: yaml.Node) -> list[str]:
    """Return the hand-written fields of a golden, the arguments on a line of their own.

    A model's golden has so few other fields that they share a line with the arguments.
    """
    fields = {
        name: f"{name}: {_in_flow(text, value)}"
        for name, value in _fields(node).items()
        if name not in RESULT
    }
    own = [fields.pop("arguments")] if "call" in fields else []
    return [", ".join(fields.values()), *own]


def _provenance_pieces(parts: _Parts, root: Any, provenance: Mapping[str, str]) -> list[Piece]:
    """Replace the provenance, with its comments above it, or add one above the goldens."""
    fields = ", ".join(f"{name}: {_plain_or_quoted(text)}" for name, text in provenance.items())
    places = {key.value: (key.start_mark.index, value) for key, value in root.value}
    if "provenance" in places:
        start, node = places["provenance"]
        end = parts.end_of(node)
        comments = "".join(f"{text}\n" for text in parts.comments(start, end))
        return [(start, end, f"{comments}provenance: {{{fields}}}")]
    start, _ = places["goldens"]
    return [(start, start, f"provenance: {{{fields}}}\n\n")]


def _fields(node: Any) -> dict[str, yaml.Node]:
    return {key.value: value for key, value in node.value}


def _in_flow(text: str, node: Any) -> str:
    """Return a node in flow style on one line, with scalars as they were written if possible."""
    if isinstance(node, yaml.MappingNode):
        pairs = (f"{_in_flow(text, k)}: {_in_flow(text, v)}" for k, v in node.value)
        return "{" + ", ".join(pairs) + "}"
    if isinstance(node, yaml.SequenceNode):
        return "[" + ", ".join(_in_flow(text, item) for item in node.value) + "]"
    if node.style is None:
        return _plain_or_quoted(node.value, node.tag)
    source = text[node.start_mark.index : node.end_mark.index]
    is_line = node.style in "'\"" and "\n" not in source
    return source if is_line else _quoted(node.value)


def _plain_or_quoted(value: str, tag: str = TEXT) -> str:
    """Return a value, quoted unless a flow mapping reads it back as the same value."""
    if not value and tag != TEXT:
        return "null"
    is_plain = bool(WORDS.fullmatch(value)) or _is_read_in_flow(value)
    same = RESOLVER.resolve(yaml.ScalarNode, value, (True, False)) == tag  # type: ignore[no-untyped-call]
    return value if is_plain and same else _quoted(value)


def _is_read_in_flow(value: str) -> bool:
    """Return whether a mapping and a list in flow style both read a plain value back as it is."""
    try:
        read = yaml.load(f"{{a: {value}, b: [{value}, c]}}", Loader=yaml.BaseLoader)
    except yaml.YAMLError:
        return False
    return bool(read == {"a": value, "b": [value, "c"]})


def _quoted(value: str) -> str:
    quoted: str = yaml.safe_dump(value, default_style='"', allow_unicode=True, width=math.inf)
    return quoted.rstrip("\n")


def _written(content: Any) -> str:
    if isinstance(content, list):
        return "[" + ", ".join(map(_written, content)) + "]"
    return _number(content)


def _number(value: object) -> str:
    """Write a number as text that reads back as the same number, in YAML 1.1 and 1.2."""
    if value is None:
        return "null"
    text = repr(value)
    if "e" in text and "." not in text:
        text = text.replace("e", ".0e")
    return text


def _replaced(text: str, pieces: Sequence[Piece]) -> str:
    for start, end, new in sorted(pieces, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _demand_same(before: str, after: str) -> None:
    """Raise UserError unless two texts differ only in computed fields."""
    try:
        same = dict(_givens(before)) == dict(_givens(after))
        yaml.compose(after, Loader=yaml.SafeLoader)  # stricter than the reader of scheme files
    except (UserError, yaml.YAMLError):
        same = False
    if not same:
        raise UserError("the goldens cannot be written as they are meant", "put texts in quotes")


def _givens(text: str) -> Iterator[tuple[str, str]]:
    """Yield the hand-written fields of a file as JSON, which keeps the types of numbers."""
    raw = load_yaml("goldens", text)
    for name, value in raw.items():
        if name == "goldens":
            value = [{k: v for k, v in golden.items() if k not in RESULT} for golden in value]
        if name != "provenance":
            yield name, json.dumps(value, sort_keys=True)
