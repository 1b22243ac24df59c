"""Vectors as one JSON document, under ``vectors.schema.json``."""

import json
from collections.abc import Mapping
from typing import Any

from posenc_conformance.commands.export.vectors import FORMAT, MARK, Tensor, Vector, Vectors

OWN = (MARK, "scheme", "dtype", "note", "cases")
"""Fields of the document that do not describe the scheme."""


def to_json(vectors: Vectors) -> bytes:
    """Encode vectors as the whole document, under ``vectors.schema.json``."""
    document = document_of(vectors)
    cases = document.pop("cases")
    head = json.dumps(document, indent=1, ensure_ascii=False).removesuffix("\n}")
    lines = ",\n".join(f"  {compact(case)}" for case in cases)
    return f'{head},\n "cases": [\n{lines}\n ]\n}}\n'.encode()


def of_json(content: bytes) -> Vectors:
    """Decode the vectors of a document."""
    return of_document(json.loads(content))


def compact(value: Any) -> str:
    """Write a value as JSON in one line."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def document_of(vectors: Vectors) -> dict[str, Any]:
    """Make the document of vectors as plain data."""
    return {
        MARK: FORMAT,
        "scheme": vectors.scheme,
        "dtype": vectors.dtype,
        "note": vectors.note,
        **vectors.about,
        "cases": [_case(vector) for vector in vectors.cases],
    }


def _case(vector: Vector) -> dict[str, Any]:
    return {
        "id": vector.id,
        "call": vector.call,
        "combination": vector.combination,
        "conventions": dict(vector.conventions),
        "comment": vector.comment,
        "kills": list(vector.kills),
        "kills_some": list(vector.kills_some),
        "arguments": {name: argument_of(value) for name, value in vector.arguments.items()},
        "shape": list(vector.shape),
        "elements": [list(element) for element in vector.elements],
    }


def argument_of(value: Tensor | int | float) -> Any:
    """Turn an argument into plain data."""
    if not isinstance(value, Tensor):
        return value
    key = "bits" if value.dtype == "bfloat16" else "values"
    return {"dtype": value.dtype, "shape": list(value.shape), key: list(value.values)}


def of_document(raw: Mapping[str, Any]) -> Vectors:
    """Read the vectors of a document that is plain data.

    Raises ValueError, KeyError or TypeError for any other data.
    """
    about = {key: value for key, value in raw.items() if key not in OWN}
    if raw[MARK] != FORMAT:
        raise ValueError(f"it is not of format {FORMAT}")
    cases = tuple(map(_of_case, raw["cases"]))
    return Vectors(raw["scheme"], raw["dtype"], about, cases, raw["note"])


def _of_case(raw: Mapping[str, Any]) -> Vector:
    lists = {key: tuple(raw[key]) for key in ("kills", "kills_some", "shape")}
    arguments = {name: _of_argument(value) for name, value in raw["arguments"].items()}
    elements = tuple((index, expected, allowed) for index, expected, allowed in raw["elements"])
    return Vector(**{**raw, **lists, "arguments": arguments, "elements": elements})


def _of_argument(raw: Any) -> Tensor | int | float:
    if not isinstance(raw, dict):
        number: int | float = raw
        return number
    values = raw["bits"] if raw["dtype"] == "bfloat16" else raw["values"]
    return Tensor(raw["dtype"], tuple(raw["shape"]), tuple(values))
