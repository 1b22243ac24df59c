"""Make the vectors of a scheme."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from posenc_conformance.commands.export.choice import Candidate, Choice, choices
from posenc_conformance.commands.export.vectors import Tensor, Vector, Vectors
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.form import EXACT
from posenc_conformance.judge.knowledge import KnownScheme
from posenc_conformance.scheme_file.scheme import Call


def vectors_of(scheme: KnownScheme, dtypes: Sequence[str]) -> Iterator[Vectors]:
    """Yield the vectors of a scheme in each of ``dtypes``, and those of calls without a dtype.

    Calls that return whole numbers or booleans have vectors of their own, whatever the ``dtypes``.
    """
    calls: dict[str, list[Call]] = {}
    for call in scheme.calls.values():
        for name in (call.dtype,) if call.dtype in EXACT else dtypes:
            calls.setdefault(name, []).append(call)
    for name, group in calls.items():
        cases = [_vector(choice) for call in group for choice in choices(scheme, call, name)]
        if cases:
            yield Vectors(scheme.id, name, _about(scheme, group, cases), tuple(cases))


def _vector(choice: Choice) -> Vector:
    candidate, case = choice.candidate, choice.candidate.case
    return Vector(
        id=_id(candidate),
        call=case.call.name,
        combination=candidate.group[0],
        conventions=dict(case.conventions),
        comment=candidate.comment,
        kills=choice.kills,
        kills_some=choice.kills_some,
        arguments={name: _argument(case, name, value) for name, value in case.inputs.items()},
        shape=case.shape,
        elements=tuple(_elements(choice)),
    )


def _id(candidate: Candidate) -> str:
    """Name a case by its golden, or by the added call.

    The name of an added call ends with its conventions.
    """
    if candidate.own:
        return candidate.name
    combination, options = candidate.group
    words = (candidate.name, "as", combination, *(str(value) for _, value in options))
    return "-".join(words)


def _argument(case: Case, name: str, value: Any) -> Tensor | int | float:
    if isinstance(value, np.ndarray):
        return Tensor.of(value)
    parameter = case.call.parameters.get(name)
    return float(value) if parameter is not None and parameter.type == "real" else int(value)


def _elements(choice: Choice) -> Iterator[tuple[int, float, float]]:
    case = choice.candidate.case
    truth = np.broadcast_to(case.truth, case.shape).ravel()
    allowed = case.bound.ravel()
    kind = int if case.dtype in EXACT else float
    for index in np.flatnonzero(choice.elements):
        yield int(index), kind(truth[index]), kind(allowed[index])


def _about(scheme: KnownScheme, calls: list[Call], cases: list[Vector]) -> dict[str, Any]:
    """Describe the calls, their conventions, and the deviations that the cases name."""
    used = {name for case in cases for name in case.conventions}
    named = {name for case in cases for name in (*case.kills, *case.kills_some)}
    return {
        "title": scheme.title,
        "summary": scheme.summary,
        "calls": {
            call.name: {
                "kind": call.kind,
                "arguments": dict(call.arguments),
                "parameters": {
                    name: parameter.description for name, parameter in call.parameters.items()
                },
                "returns": call.returns,
                "combinations": {name: item.used_by for name, item in call.combinations.items()},
            }
            for call in calls
        },
        "conventions": {
            name: {
                "description": axis.description,
                "values": {str(value): words for value, words in axis.values.items()},
            }
            for name, axis in scheme.conventions.items()
            if name in used
        },
        "deviations": {
            item.id: f"{item.description} {item.effect}"
            for item in scheme.deviations
            if item.id in named
        },
    }
