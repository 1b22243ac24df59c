"""Questions to an engine about a group of a model's layers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from posenc_conformance.judge.arrays import Array, lattice
from posenc_conformance.judge.calling import ask
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.knowledge import CallKnowledge, Knowledge, KnownScheme
from posenc_conformance.judge.subject import Subject
from posenc_conformance.models.cost import multiplier
from posenc_conformance.models.file import Model
from posenc_conformance.models.meaning import Context, Group, case_of, rows_of
from posenc_conformance.models.misreadings import longer
from posenc_conformance.scheme_file.scheme import Arguments, Scheme

TURNING = ("rotary", "scores")
"""Adapter methods for layers that rotate, and for layers without rotation in the same model."""
HEADS = 2
USUAL_LENGTH = 4096
"""Assumed length of texts if a configuration states none."""
BETWEEN = (37, 300)
"""Positions between the first ones and the last one."""
SHORT = "short"
"""Id of the question about a text that is well within the original context."""
STEPS = "steps"
"""Id of the question about queries whose temperature rises, on both sides of each rise."""
RISES = (1, 2, 5)
"""The numbers of the temperature steps in that question."""
SCALED = 4
"""Additional units of rounding allowed for scores, compared with rotated rows: a key may be scaled,
a query multiplied by two factors, and each product rounded to the dtype."""


@dataclass(frozen=True, eq=False)
class Question:
    """A question about a group of layers of a model."""

    model: Model
    group: Group
    id: str
    call: str
    arguments: Arguments

    def of(self, group: Group, dtype: str) -> Case:
        """Make the case of this or another group, in a dtype that represents lattices exactly."""
        case = case_of(group, self.arguments).with_fields(dtype=dtype)
        return _scored(case, group) if self.call == "scores" else seen(case)

    def ask(self, subject: Subject, case: Case) -> Array:
        """Ask an engine the question; the case has the shape and dtype of its answer.

        For scores, each key is 1 in one channel and at position 0, where nothing is rotated. So the
        scores are the channels of the rotated queries.

        Raises Misbehaviour and Declined as :func:`judge.calling.ask` does.
        """
        if self.call != "scores":
            return ask(subject, case)
        inputs = case.with_fields(arguments=self.arguments).inputs
        size, positions = case.shape[-1], inputs["positions"]
        keys = np.broadcast_to(np.eye(size, dtype=inputs["x"].dtype), (HEADS, size, size))
        arguments = {
            "q": inputs["x"],
            "k": keys.copy(),
            "q_positions": positions,
            "k_positions": np.zeros((*positions.shape[:-1], size), positions.dtype),
        }
        output = ask(subject, case, arguments)
        subject.require_form(case, output)
        return output


def questions(model: Model, group: Group, call: str) -> list[Question]:
    """List the questions about a group of layers."""
    arguments_of = {
        "rotary": _of_rotary,
        "scores": _of_scores,
        "bias": _of_bias,
        "encoding": _of_encoding,
    }[call]
    return [
        Question(model, group, id, call, arguments)
        for id, arguments in arguments_of(model.meaning.context, group).items()
    ]


def _of_rotary(context: Context, group: Group) -> dict[str, dict[str, Any]]:
    """Return the questions about positions within the original context and beyond it."""
    end = context.original or context.extended or USUAL_LENGTH
    places = {"within": [0, 1, *(position for position in BETWEEN if position < end - 1), end - 1]}
    if group.scheme == "longrope":  # "within" asks about the longest short text
        places[SHORT] = [0, 1, *(position for position in BETWEEN if position < end // 2)]
    if group.grows:  # neither is factor times the original length, which some use for all
        places["beyond"] = [1, end, end + end // 2 - 1]
        places["longer"] = [1, end, max(4 * end, context.extended or 0) - 1]
    elif context.extended is not None and context.extended > end:
        last = context.extended - 1
        near = {end, end + BETWEEN[0], last - BETWEEN[0], last}  # tables may end where texts do
        places["beyond"] = sorted(position for position in near if end <= position <= last)
    arguments = {id: turned_at(group, rows) for id, rows in places.items()}
    if group.scheme == "m-rope":  # an image: rows and columns at one time
        axes = np.array([[9, 9, 9, 9], [9, 9, 10, 10], [9, 10, 9, 10]])
        arguments["axes"] = {**turned_at(group, axes[0]), "positions": axes}
    return arguments


def _of_scores(context: Context, group: Group) -> dict[str, dict[str, Any]]:
    """Return the questions about rotation; with a temperature, also about both sides of its rises.

    They are one question then, since a few rows match many mistakes.
    """
    rotary = _of_rotary(context, group)
    warm = group.temperature
    if warm is None:
        return rotary
    rises = [step * warm.interval - warm.first for step in RISES]
    rows = {place + side for place in rises for side in (-1, 0)}
    end = context.extended or USUAL_LENGTH
    rows = {row for row in rows if row < end}
    rows.update(int(row) for arguments in rotary.values() for row in arguments["positions"])
    return {STEPS: turned_at(group, sorted(rows))}


def turned_at(group: Group, rows: Sequence[int]) -> dict[str, Any]:
    """Return the arguments of a call that rotates rows at these positions."""
    size = int(group.parameters["head_dim"])
    positions = rows_of(group, np.array(rows))
    return {"x": lattice((HEADS, len(rows), size)), "positions": positions}


def _of_bias(context: Context, group: Group) -> dict[str, dict[str, Any]]:
    longest = context.extended or USUAL_LENGTH
    return {"prefill": {"q_len": 5, "k_len": 5}, "decode": {"q_len": 2, "k_len": longest}}


def _of_encoding(context: Context, group: Group) -> dict[str, dict[str, Any]]:
    last = int(group.parameters["rows"]) - 1
    return {"rows": {"positions": np.array([0, 1, *BETWEEN, last])}}


def _scored(case: Case, group: Group) -> Case:
    """Return a rotary case whose rows are multiplied by the factors of their scores."""
    where = np.atleast_2d(case.arguments["positions"])[0]
    factors = np.array([longer(group) * multiplier(group, int(place)) for place in where])
    x = case.arguments["x"] * factors[:, None]
    return replace(
        case.with_fields(arguments={**case.arguments, "x": x}), scheme=_with_room(case.scheme)
    )


@lru_cache(maxsize=32)
def _with_room(scheme: KnownScheme) -> KnownScheme:
    """Return the scheme with the wider error bound of scores, compared with rotated rows.

    Channels that are not rotated are multiplied as well, and so need not be exact.
    """

    def find(own: Scheme) -> Knowledge:
        return {name: _of_channels(call) for name, call in scheme.find_knowledge(own).items()}

    accuracy = replace(scheme.accuracy, rounding=scheme.accuracy.rounding + SCALED)
    return replace(scheme, accuracy=accuracy, find_knowledge=find)


def _of_channels(known: CallKnowledge) -> CallKnowledge:
    def terms(case: Case) -> ErrorTerms:
        usual = known.error_terms(case)
        own = np.abs(case.arguments["x"])
        return ErrorTerms(np.where(usual.scale > 0, usual.scale, own), usual.angle)

    return replace(known, error_terms=terms)


def seen(case: Case) -> Case:
    """Return the case; for a bias, only the part that a causal mask shows is judged."""
    if case.call.kind != "bias":
        return case
    rows = case.shape[-1] - case.shape[-2] + np.arange(case.shape[-2])
    visible = np.arange(case.shape[-1]) <= rows[:, None]
    return replace(case, printed=np.where(visible, case.truth, np.nan))
