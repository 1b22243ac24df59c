"""The inputs of a record: for each scheme a digest of its own files, and one of all code it ran.

Neither depends on the machine, the Python version or the layout of a file. A change in a scheme's
own files makes its entry stale. A change in shared code, such as a family or a check, makes it
older: it has to be measured again some time, but most such changes change no count.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from posenc_conformance.scheme_file.scheme import Scheme
from posenc_lab.dependencies import closure, digest_of_spec, files, modules_of, source

WRITING = "posenc_lab.results"
"""The module that prints and stores results."""
DIAGNOSIS = "posenc_conformance.diagnose"
LEFT_OUT = {
    "calibrate": (WRITING, DIAGNOSIS),
    "matrix": (WRITING,),
    "sensitivity": (WRITING, DIAGNOSIS),
    "today": (WRITING, DIAGNOSIS),
}
"""Packages on which each record does not depend, for records that are updated per scheme."""

Record = Mapping[str, Any]
Inputs = dict[str, str | None]


def inputs(name: str, scheme: Scheme) -> Inputs:
    """Return the current inputs of a measurement."""
    return {"own": own(scheme), "all": everything(name, scheme)}


@cache
def own(scheme: Scheme) -> str:
    """Return a digest of only the scheme's own files, independent of their location."""
    return _digest(scheme, (source(each).digest for each in own_modules(scheme)))


@cache
def everything(name: str, scheme: Scheme) -> str:
    """Return a digest of all code with which a record measures a scheme."""
    roots = [f"posenc_lab.{name}", *own_modules(scheme)]
    modules = closure(roots, LEFT_OUT[name])
    return _digest(scheme, (f"{each} {source(each).digest}" for each in modules))


def own_modules(scheme: Scheme) -> list[str]:
    """Return a scheme's modules: reference, kit, right and wrong miniatures; not the oracle."""
    name = f"{scheme.package_name}.{scheme.module_name}"
    miniatures = [f"posenc_lab.miniatures.{side}.{name}" for side in ("right", "wrong")]
    some = [*modules_of(scheme), *(name for name in miniatures if name in files())]
    within = tuple(f"{name}." for name in some)
    return sorted([*some, *(name for name in files() if name.startswith(within))])


def stale(record: Record, schemes: Sequence[Scheme]) -> list[str]:
    """Return the schemes whose own files have changed since the record was made."""
    known = record.get("inputs", {})
    return [each.id for each in schemes if known.get(each.id, {}).get("own") != own(each)]


def older(name: str, record: Record, schemes: Sequence[Scheme]) -> list[str]:
    """Return the schemes whose own or shared code has changed since the record was made."""
    known = record.get("inputs", {})
    return [
        each.id for each in schemes if known.get(each.id, {}).get("all") != everything(name, each)
    ]


def _digest(scheme: Scheme, code: Iterable[str]) -> str:
    text = json.dumps([digest_of_spec(scheme.path), [*code]])
    return hashlib.sha256(text.encode()).hexdigest()[:16]
