"""Data of the explorer's page from the spec: schemes, conventions, parameters and goldens."""

import json
import re
from functools import cache
from inspect import signature
from pathlib import Path
from typing import Any

import posenc
from posenc_conformance.judge.call_kinds import KINDS
from posenc_conformance.registry import load_all
from posenc_conformance.scheme_file.scheme import Call, Golden, Parameter, Scheme

FOLDER = "assets/explorer"
ADDRESS = f"{FOLDER}/schemes.json"
DOCS = Path(__file__).parents[1]


IMPORTED = re.compile(r'^(?:import|export)[^"]* from "([^"]+)";$', re.MULTILINE)
EXPORTED = re.compile(r"^export function (\w+)", re.MULTILINE)


def content() -> str:
    """Return the explorer's data as JSON, for the calls that have a JavaScript implementation."""
    data = [_scheme(scheme) for scheme in _explored()]
    return json.dumps({"schemes": data}, separators=(",", ":"))


def module_list() -> str:
    """List links to the source of each scheme's JavaScript module."""
    links = [
        f"[`{item.id}.js`]({FOLDER}/schemes/{item.family}/{item.id}.js)" for item in _explored()
    ]
    return ", ".join(links) + ".\n"


def preloads() -> str:
    """Make preload links to all modules that the page starts with.

    Without them, a browser discovers each module only after loading the one that imports it.
    """
    paths, new = set[Path](), [DOCS / FOLDER / "page.js"]
    while new:
        path = new.pop().resolve()
        if path not in paths:
            paths.add(path)
            new += [path.parent / name for name in IMPORTED.findall(path.read_text("utf-8"))]
    names = sorted(path.relative_to(DOCS.resolve()).as_posix() for path in paths)
    return "\n".join(f'<link rel="modulepreload" href="../{name}">' for name in names)


def _explored() -> list[Scheme]:
    return [scheme for scheme in load_all() if scheme.id in _exported()]


@cache
def _exported() -> dict[str, set[str]]:
    """Return the names of the functions that each scheme's module exports."""
    modules = (DOCS / FOLDER / "schemes").glob("*/*.js")
    return {path.stem: set(EXPORTED.findall(path.read_text("utf-8"))) for path in modules}


def _scheme(scheme: Scheme) -> dict[str, Any]:
    calls = _exported()[scheme.id]
    return {
        "id": scheme.id,
        "title": scheme.title,
        "summary": scheme.summary,
        "accuracy": {"rounding": scheme.accuracy.rounding, "angle": scheme.accuracy.angle},
        "conventions": {
            name: {
                "description": axis.description,
                "default": axis.default,
                "passed": axis.passed,
                "values": [
                    {"value": value, "description": words} for value, words in axis.values.items()
                ],
            }
            for name, axis in scheme.conventions.items()
        },
        "calls": {
            name: _call(scheme, call) for name, call in scheme.calls.items() if name in calls
        },
        "goldens": [_golden(golden) for golden in scheme.goldens if golden.call in calls],
    }


def _call(scheme: Scheme, call: Call) -> dict[str, Any]:
    return {
        "kind": call.kind,
        "axes": KINDS[call.kind].axes,
        "arguments": call.arguments,
        "parameters": {
            name: {
                "type": parameter.type,
                "description": parameter.description,
                "passed": parameter.passed,
                "optional": bool(parameter.when),
                "initial": _initial(scheme, call, parameter),
            }
            for name, parameter in call.parameters.items()
        },
        "combinations": {
            name: {"conventions": combination.conventions, "used_by": combination.used_by}
            for name, combination in call.combinations.items()
        },
        "options": call.options,
    }


def _initial(scheme: Scheme, call: Call, parameter: Parameter) -> Any:
    """Return the initial value of a parameter on the page.

    It is the reference's default if that is a number, else the value in the first golden that has
    the parameter, else None.
    """
    default = signature(getattr(posenc, call.name)).parameters.get(parameter.name)
    if default is not None and isinstance(default.default, int | float):
        return default.default
    arguments = (g.arguments for g in scheme.goldens if g.call == call.name)
    return next((values[parameter.name] for values in arguments if parameter.name in values), None)


def _golden(golden: Golden) -> dict[str, Any]:
    return {
        "id": golden.id,
        "call": golden.call,
        "combination": golden.combination,
        "options": golden.options,
        "arguments": golden.arguments,
        "values": golden.values,
        "probes": golden.probes,
    }
