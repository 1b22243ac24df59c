"""Build a scheme from the content of its file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from posenc_conformance.scheme_file.scheme import (
    Accuracy,
    BadInput,
    Call,
    Combination,
    Convention,
    Desideratum,
    Deviation,
    Golden,
    Invariant,
    Parameter,
    Published,
    Scheme,
    Witness,
)

Raw = Mapping[str, Any]
"""A mapping from a scheme file that is valid under the schema."""


def scheme_of(path: Path, raw: Raw) -> Scheme:
    """Make a scheme from the content of a file that is valid under the schema."""
    accuracy = raw["accuracy"]
    return Scheme(
        path=path,
        id=raw["id"],
        family=raw["family"],
        title=raw["title"],
        summary=raw["summary"],
        sources=raw["sources"],
        calls={name: _call(name, call) for name, call in raw["calls"].items()},
        conventions={name: _convention(name, axis) for name, axis in raw["conventions"].items()},
        accuracy=Accuracy(**accuracy),
        provenance=raw.get("provenance", {}),
        goldens=tuple(map(_golden, raw["goldens"])),
        published=tuple(Published(**({"note": ""} | item)) for item in raw["published"]),
        invariants=tuple(Invariant(**_scoped(item)) for item in raw["invariants"]),
        desiderata=tuple(_desideratum(*item) for item in raw.get("desiderata", {}).items()),
        bad_inputs=tuple(BadInput(**_scoped(item)) for item in raw["bad_inputs"]),
        deviations=tuple(map(_deviation, raw["deviations"])),
    )


def _scoped(item: Raw) -> dict[str, Any]:
    return {
        **item,
        "combinations": tuple(item.get("combinations", ())),
        "options": item.get("options", {}),
    }


def _call(name: str, raw: Raw) -> Call:
    return Call(
        name=name,
        kind=raw["kind"],
        returns=raw["returns"],
        dtype=raw.get("dtype", "keyword"),
        arguments=raw["arguments"],
        parameters={
            key: Parameter(
                key,
                value["type"],
                _with_usual(value),
                value.get("of"),
                value.get("axis", -1),
                value.get("argument", False),
                value.get("when", {}),
                value.get("usual"),
            )
            for key, value in raw["parameters"].items()
        },
        combinations={
            key: Combination(key, value["conventions"], value["used_by"])
            for key, value in raw["combinations"].items()
        },
        options=tuple(raw.get("options", ())),
    )


def _with_usual(parameter: Raw) -> str:
    description = str(parameter["description"])
    if "usual" not in parameter:
        return description
    return f"{description.removesuffix('.')}; {parameter['usual']:g} if not given."


def _convention(name: str, raw: Raw) -> Convention:
    values = {item["value"]: item["description"] for item in raw["values"]}
    return Convention(name, raw["description"], values, raw.get("default"), raw.get("passed", True))


def _golden(raw: Raw) -> Golden:
    return Golden(
        id=raw["id"],
        call=raw["call"],
        combination=raw["combination"],
        options=raw.get("options", {}),
        kills=raw["kills"],
        source=raw["source"],
        arguments=raw["arguments"],
        values=raw["expect"].get("values"),
        probes=raw["expect"].get("probes"),
        sha256=raw.get("sha256", ""),
    )


def _deviation(raw: Raw) -> Deviation:
    fields = {key: raw[key] for key in ("id", "description", "effect")}
    calls = tuple(raw.get("calls", ())) or (raw["call"],)
    return Deviation(calls=calls, kind=raw["class"], links=tuple(raw.get("links", ())), **fields)


def _desideratum(name: str, raw: Raw) -> Desideratum:
    witness = raw.get("witness")
    if witness is not None:
        arguments = tuple(witness["arguments"])
        printed = tuple(witness.get("printed", ()))
        rows = tuple(witness.get("rows", ()))
        witness = Witness(**{**witness, "arguments": arguments, "printed": printed, "rows": rows})
    return Desideratum(name, raw["holds"], raw["why"], raw.get("invariant"), witness)
