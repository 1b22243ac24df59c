"""The questions that an engine is asked about a group of layers of a model."""

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
"""Methods for layers that rotate, and for layers among them that do not."""
HEADS = 2
USUAL_LENGTH = 4096
"""Length of texts for a configuration without one."""
BETWEEN = (37, 300)
"""Positions between the first ones and the last one."""
SHORT = "short"
"""The question about a text that is far from every border."""
STEPS = "steps"
"""The question about queries whose temperature rises, including both sides of each rise."""
RISES = (1, 2, 5)
"""The steps whose rises it includes."""
SCALED = 4
"""Units of rounding granted for scores beyond those for rotated rows: a key may be scaled, a query
multiplied by a factor, and that by another, and all rounded to the dtype."""


@dataclass(frozen=True, eq=False)
class Question:
    """A question about a group of layers of a model."""

    model: Model
    group: Group
    id: str
    call: str
    arguments: Arguments

    def of(self, group: Group, dtype: str) -> Case:
        """Make the case of this or another group, in a dtype that holds lattices exactly."""
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
        given = case.with_fields(arguments=self.arguments).inputs
        size, positions = case.shape[-1], given["positions"]
        keys = np.broadcast_to(np.eye(size, dtype=given["x"].dtype), (HEADS, size, size))
        asked = {
            "q": given["x"],
            "k": keys.copy(),
            "q_positions": positions,
            "k_positions": np.zeros((*positions.shape[:-1], size), positions.dtype),
        }
        output = ask(subject, case, asked)
        subject.require_form(case, output)
        return output


def questions(model: Model, group: Group, call: str) -> list[Question]:
    """List the questions about a group of layers."""
    asked = {
        "rotary": _of_rotary,
        "scores": _of_scores,
        "bias": _of_bias,
        "encoding": _of_encoding,
    }[call]
    return [
        Question(model, group, id, call, arguments)
        for id, arguments in asked(model.meaning.context, group).items()
    ]


def _of_rotary(context: Context, group: Group) -> dict[str, dict[str, Any]]:
    """Return the questions up to the end of the original context, beyond it, and at the end."""
    end = context.original or context.extended or USUAL_LENGTH
    places = {"within": [0, 1, *(each for each in BETWEEN if each < end - 1), end - 1]}
    if group.scheme == "longrope":  # "within" asks about the longest short text
        places[SHORT] = [0, 1, *(each for each in BETWEEN if each < end // 2)]
    if group.grows:  # neither is factor times the original length, which some use for all
        places["beyond"] = [1, end, end + end // 2 - 1]
        places["longer"] = [1, end, max(4 * end, context.extended or 0) - 1]
    elif context.extended is not None and context.extended > end:
        last = context.extended - 1
        near = {end, end + BETWEEN[0], last - BETWEEN[0], last}  # tables may end where texts do
        places["beyond"] = sorted(each for each in near if end <= each <= last)
    found = {id: turned_at(group, rows) for id, rows in places.items()}
    if group.scheme == "m-rope":  # an image: rows and columns at one time
        axes = np.array([[9, 9, 9, 9], [9, 9, 10, 10], [9, 10, 9, 10]])
        found["axes"] = {**turned_at(group, axes[0]), "positions": axes}
    return found


def _of_scores(context: Context, group: Group) -> dict[str, dict[str, Any]]:
    """Return the questions about rotation; with a temperature, also about both sides of its rises.

    They are one question then, since a few rows match many mistakes.
    """
    found = _of_rotary(context, group)
    warm = group.temperature
    if warm is None:
        return found
    rises = [step * warm.interval - warm.first for step in RISES]
    rows = {place + side for place in rises for side in (-1, 0)}
    end = context.extended or USUAL_LENGTH
    rows = {each for each in rows if each < end}
    rows.update(int(each) for asked in found.values() for each in asked["positions"])
    return {STEPS: turned_at(group, sorted(rows))}


def turned_at(group: Group, rows: Sequence[int]) -> dict[str, Any]:
    """Return arguments for rows of a group at some positions."""
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
    """Return the scheme with the additional error of scores, compared with rotated rows.

    Channels that are not rotated are multiplied as well, and so need not be exact.
    """

    def find(own: Scheme) -> Knowledge:
        return {name: _of_channels(each) for name, each in scheme.find_knowledge(own).items()}

    accuracy = replace(scheme.accuracy, rounding=scheme.accuracy.rounding + SCALED)
    return replace(scheme, accuracy=accuracy, find_knowledge=find)


def _of_channels(known: CallKnowledge) -> CallKnowledge:
    def terms(case: Case) -> ErrorTerms:
        found = known.error_terms(case)
        own = np.abs(case.arguments["x"])
        return ErrorTerms(np.where(found.scale > 0, found.scale, own), found.angle)

    return replace(known, error_terms=terms)


def seen(case: Case) -> Case:
    """Return the same case; of a bias, only the part that a causal mask shows."""
    if case.call.kind != "bias":
        return case
    rows = case.shape[-1] - case.shape[-2] + np.arange(case.shape[-2])
    visible = np.arange(case.shape[-1]) <= rows[:, None]
    return replace(case, printed=np.where(visible, case.truth, np.nan))
