"""YAML as plain data: the only reader of scheme files, models and lists of known failures.

Plain data is that of JSON: mappings with texts as keys, lists, texts, numbers, booleans and null.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import yaml

from posenc_conformance.door import named
from posenc_conformance.errors import UserError, in_line

MOST_VALUES = 1_000_000
"""Most values in a file with its aliases expanded."""
LONGEST_NUMBER = 1000
_TAG = "tag:yaml.org,2002:"
MERGE, TEXT = f"{_TAG}merge", f"{_TAG}str"
SCALARS: Mapping[str, str] = {
    TEXT: "text",
    f"{_TAG}int": "a whole number",
    f"{_TAG}float": "a number",
    f"{_TAG}bool": "true or false",
    f"{_TAG}null": "null",
}
"""Names of the scalar types in messages."""
COUNTED = (f"{_TAG}int", f"{_TAG}float")
KINDS: Mapping[str, type[yaml.Node]] = {
    **dict.fromkeys(SCALARS, yaml.ScalarNode),
    f"{_TAG}seq": yaml.SequenceNode,
    f"{_TAG}map": yaml.MappingNode,
}
"""The accepted tags, each with the kind of node that it may mark."""
_SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load_yaml(path: object, text: str, hint: str = "correct the YAML there") -> Any:
    """Parse the text of a YAML file into plain data.

    Raises UserError, naming file and line, for invalid YAML, for anything but plain data, and for
    data that is nested too deeply or has too many values once its aliases are expanded.
    """
    with named(path, hint):
        try:
            raw = yaml.load(text, Loader=StrictLoader)
        except yaml.MarkedYAMLError as error:
            line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
            raise UserError(f"{path}{line}: {error.problem}", hint) from None
        except yaml.YAMLError as error:
            raise UserError(f"{path}: {error}", "save it as UTF-8 text") from None
        size = _size(raw)
    if size > MOST_VALUES:
        raise UserError(f"{path}: its aliases expand to {size:,} values", "write it out")
    return raw


def find_line(text: str, where: Sequence[str | int]) -> int:
    """Return the line of a field; 1 if it cannot be found."""
    node = None
    with suppress(yaml.YAMLError, RecursionError):
        node = yaml.compose(text, Loader=_SafeLoader)
    for step in where:
        if isinstance(node, yaml.MappingNode):
            nodes = [value for key, value in node.value if key.value == str(step)]
        elif isinstance(node, yaml.SequenceNode) and str(step).isdigit():
            nodes = node.value[int(step) : int(step) + 1]
        else:
            nodes = []
        if not nodes:
            break
        node = nodes[0]
    return node.start_mark.line + 1 if node else 1


def _size(raw: object) -> int:
    """Count the values in a structure whose parts may be shared.

    A part counts as often as it occurs. Raises RecursionError if the structure contains itself.
    """
    sizes: dict[int, int] = {}

    def size(part: object) -> int:
        if not isinstance(part, dict | list):
            return 1
        if id(part) not in sizes:
            inner = part.values() if isinstance(part, dict) else part
            sizes[id(part)] = 1 + sum(map(size, inner))
        return sizes[id(part)]

    return size(raw)


class StrictLoader(_SafeLoader):  # type: ignore[misc]  # the fast loader exists where libyaml does
    """A safe YAML loader that accepts only plain data, and names the line of anything else.

    It refuses a repeated key, of which YAML would silently keep the last, a key that is no text, a
    tag of anything but plain data, such as a date, and a tag that does not fit its node. It also
    refuses ``<<``: a short file of nested merges can take forever to build.
    """

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[object, object]:
        """Make a mapping; refuse keys that are not text, and repeated keys."""
        seen = set()
        for key, _ in node.value:
            if key.tag == MERGE:
                raise _unreadable("keys are not merged from elsewhere: write them out", key)
            if not isinstance(key, yaml.ScalarNode):
                raise _unreadable("a key must be plain text", key)
            if key.tag != TEXT:
                raise _unreadable(f"the key {_shown(key)} must be text: put it in quotes", key)
            if key.value in seen:
                raise _unreadable(f"the key {_shown(key)} is given twice", key)
            seen.add(key.value)
        mapping: dict[object, object] = super().construct_mapping(node, deep=deep)
        return mapping

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """Make a value of plain data; refuse a number that is too long or too large."""
        if not isinstance(node, KINDS.get(node.tag, ())):
            raise _unreadable(_misfit(node), node)
        if node.tag in COUNTED and len(node.value) > LONGEST_NUMBER:
            raise _unreadable("the number is too long", node)
        try:
            value = super().construct_object(node, deep=deep)
        except (ArithmeticError, LookupError, ValueError):
            raise _unreadable(f"{_shown(node)} is not {SCALARS[node.tag]}", node) from None
        if isinstance(value, int) and abs(value) >= 2**64:
            raise _unreadable("the number is too large", node)
        return value


def _misfit(node: yaml.Node) -> str:
    """Return the reason why a tag does not fit its node."""
    short = in_line(node.tag.replace(_TAG, "!!"))
    if not isinstance(node, yaml.ScalarNode):
        kind = "a mapping" if isinstance(node, yaml.MappingNode) else "a list"
        return f"{short} cannot stand before {kind}"
    if node.tag in KINDS:
        return f"{short} cannot stand before {_shown(node)}"
    return f"{_shown(node)} is read as {short}: put it in quotes if it is text"


def _shown(node: yaml.Node) -> str:
    return in_line(repr(node.value))


def _unreadable(problem: str, node: yaml.Node) -> yaml.constructor.ConstructorError:
    return yaml.constructor.ConstructorError(None, None, problem, node.start_mark)
