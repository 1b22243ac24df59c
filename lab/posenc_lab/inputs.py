"""What a record hangs on: for each scheme a digest of its own files, and one of all code it ran.

Both are the same on every machine and for every Python. A change in a scheme's own files makes what
is recorded of it stale. A change in what schemes share, such as a family or a check, makes it
older: it has to be measured again some time, but most such changes change no count.
"""

import ast
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from posenc_conformance.scheme_file.model import Scheme
from posenc_lab.dependencies import DOCUMENTED, closure, files, modules_of
from posenc_lab.store import STORE

WRITING = "posenc_lab.results"
"""Prints and keeps what was measured."""
DIAGNOSIS = "posenc_conformance.diagnose"
ORACLE = "posenc_conformance.oracle."
LEFT_OUT = {
    "calibrate": (WRITING, DIAGNOSIS),
    "matrix": (WRITING,),
    "mutants": (WRITING, DIAGNOSIS),
    "sensitivity": (WRITING, DIAGNOSIS),
    "today": (WRITING, DIAGNOSIS),
}
"""The records that are brought up to date scheme by scheme, and what each does not hang on."""

Record = Mapping[str, Any]
Inputs = dict[str, str | None]


def inputs(name: str, scheme: Scheme) -> Inputs:
    """What a measurement that is made now hangs on."""
    return {"own": own(scheme), "all": everything(name, scheme)}


@cache
def own(scheme: Scheme) -> str:
    """Digest of the files of a scheme alone."""
    return _digest(scheme, own_modules(scheme))


@cache
def everything(name: str, scheme: Scheme) -> str:
    """Digest of all code by which a record measures a scheme."""
    roots = [f"posenc_lab.{name}", *own_modules(scheme)]
    return _digest(scheme, closure(roots, LEFT_OUT[name]))


def own_modules(scheme: Scheme) -> list[str]:
    """The modules of a scheme: reference, kit, right and wrong miniatures; without the oracle."""
    miniatures = [
        f"posenc_lab.miniatures.{side}.{scheme.module_name}" for side in ("right", "wrong")
    ]
    asked = [name for name in modules_of(scheme) if not name.startswith(ORACLE)]
    some = [*asked, *(name for name in miniatures if name in files())]
    within = tuple(f"{name}." for name in some)
    return sorted([*some, *(name for name in files() if name.startswith(within))])


def stale(record: Record, schemes: Sequence[Scheme]) -> list[str]:
    """Schemes whose own files have changed since a record was made."""
    known = record.get("inputs", {})
    return [each.id for each in schemes if known.get(each.id, {}).get("own") != own(each)]


def older(name: str, record: Record, schemes: Sequence[Scheme]) -> list[str]:
    """Schemes that were measured with other code than that of today, their own or shared."""
    known = record.get("inputs", {})
    return [
        each.id for each in schemes if known.get(each.id, {}).get("all") != everything(name, each)
    ]


def _digest(scheme: Scheme, modules: Sequence[str]) -> str:
    code = [f"{module} {_code(module)}" for module in modules]
    text = json.dumps([hashlib.sha256(scheme.path.read_bytes()).hexdigest(), code])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@cache
def _code(module: str) -> str:
    """Digest of what a module does, remembered by its bytes: parsing all of them takes seconds."""
    data = files()[module].read_bytes()
    key = hashlib.sha256(b"what a record hangs on: " + data).hexdigest()
    if known := STORE.text(key):
        return known
    found = hashlib.sha256("".join(_shape(ast.parse(data))).encode()).hexdigest()
    STORE.keep_text(key, found)
    return found


def _shape(node: object) -> Iterator[str]:
    """A tree without comments, docstrings and empty fields, of which each Python has others."""
    if isinstance(node, list):
        for each in node:
            yield from _shape(each)
    elif isinstance(node, ast.AST):
        yield f"({type(node).__name__}"
        for name, value in ast.iter_fields(node):
            if isinstance(node, DOCUMENTED) and name == "body" and ast.get_docstring(node):
                value = value[1:]
            if value not in (None, []):
                yield f" {name}="
                yield from _shape(value)
        yield ")"
    else:
        yield repr(node)
