"""The inputs of a record: for each scheme a digest of its own files, and one of all code it ran.

Neither depends on the machine, the Python version or the layout of a file. A change in a scheme's
own files makes its entry stale. A change in shared code, such as a family or a check, makes it
older: it must be measured again at some time, though most such changes alter no count.
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
"""For each record that is updated per scheme: the modules left out of its digest."""

Record = Mapping[str, Any]
Inputs = dict[str, str | None]


def inputs(name: str, scheme: Scheme) -> Inputs:
    """Return the current digests of a scheme's own files and of all code that a record runs."""
    return {"own": own(scheme), "all": everything(name, scheme)}


@cache
def own(scheme: Scheme) -> str:
    """Return a digest of only the scheme's own files, independent of their location."""
    return _digest(scheme, (source(module).digest for module in own_modules(scheme)))


@cache
def everything(name: str, scheme: Scheme) -> str:
    """Return a digest of all code with which a record measures a scheme."""
    roots = [f"posenc_lab.{name}", *own_modules(scheme)]
    modules = closure(roots, LEFT_OUT[name])
    return _digest(scheme, (f"{module} {source(module).digest}" for module in modules))


def own_modules(scheme: Scheme) -> list[str]:
    """Return a scheme's modules: reference, kit, right and wrong miniatures; not the oracle."""
    name = f"{scheme.package_name}.{scheme.module_name}"
    miniatures = [f"posenc_lab.miniatures.{side}.{name}" for side in ("right", "wrong")]
    roots = [*modules_of(scheme), *(name for name in miniatures if name in files())]
    within = tuple(f"{name}." for name in roots)
    return sorted([*roots, *(name for name in files() if name.startswith(within))])


def stale(record: Record, schemes: Sequence[Scheme]) -> list[str]:
    """Return the ids of schemes whose own files have changed since the record was made."""
    recorded = record.get("inputs", {})
    return [
        scheme.id for scheme in schemes if recorded.get(scheme.id, {}).get("own") != own(scheme)
    ]


def older(name: str, record: Record, schemes: Sequence[Scheme]) -> list[str]:
    """Return the ids of schemes whose own or shared code has changed since the record was made."""
    recorded = record.get("inputs", {})
    return [
        scheme.id
        for scheme in schemes
        if recorded.get(scheme.id, {}).get("all") != everything(name, scheme)
    ]


def _digest(scheme: Scheme, code: Iterable[str]) -> str:
    text = json.dumps([digest_of_spec(scheme.path), [*code]])
    return hashlib.sha256(text.encode()).hexdigest()[:16]
