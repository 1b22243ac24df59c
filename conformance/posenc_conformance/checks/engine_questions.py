"""What an engine is asked about a group of layers of a model."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from posenc_conformance.judge.arrays import lattice
from posenc_conformance.judge.case import Case
from posenc_conformance.models.file import Model
from posenc_conformance.models.meaning import Context, Group, case_of, rows_of
from posenc_conformance.scheme_file.model import Arguments

HEADS = 2
USUAL_LENGTH = 4096
"""Length of texts for a configuration that does not say one."""
BETWEEN = (37, 300)
"""Positions between the first ones and the last one."""
SHORT = "short"
"""The question about a text that is far from every border."""


@dataclass(frozen=True, eq=False)
class Question:
    """What is asked about a group of layers of a model."""

    model: Model
    group: Group
    id: str
    call: str
    arguments: Arguments

    def of(self, group: Group, dtype: str) -> Case:
        """Make the case of this or another group in a dtype, which holds lattices exactly."""
        return seen(case_of(group, self.arguments).with_fields(dtype=dtype))


def questions(model: Model, group: Group, call: str) -> list[Question]:
    """List what is asked about a group of layers."""
    asked = {"rotary": _of_rotary, "bias": _of_bias, "encoding": _of_encoding}[call]
    return [
        Question(model, group, id, call, arguments)
        for id, arguments in asked(model.meaning.context, group).items()
    ]


def _of_rotary(context: Context, group: Group) -> dict[str, dict[str, Any]]:
    """Ask within the original context, to its very end; then past it, and at the end of all."""
    end = context.original or context.extended or USUAL_LENGTH
    places = {"within": [0, 1, *(each for each in BETWEEN if each < end - 1), end - 1]}
    if group.scheme == "longrope":  # the last text that is short is asked within
        places[SHORT] = [0, 1, *(each for each in BETWEEN if each < end // 2)]
    if group.grows:  # neither length is factor times the original one, which some take for all
        places["beyond"] = [1, end, end + end // 2 - 1]
        places["longer"] = [1, end, max(4 * end, context.extended or 0) - 1]
    elif context.extended is not None and context.extended > end:
        last = context.extended - 1
        near = {end, end + BETWEEN[0], last - BETWEEN[0], last}  # a table may end where a text does
        places["beyond"] = sorted(each for each in near if end <= each <= last)
    found = {id: turned_at(group, rows) for id, rows in places.items()}
    if group.scheme == "m-rope":  # an image: rows and columns beside one moment
        axes = np.array([[9, 9, 9, 9], [9, 9, 10, 10], [9, 10, 9, 10]])
        found["axes"] = {**turned_at(group, axes[0]), "positions": axes}
    return found


def turned_at(group: Group, rows: Sequence[int]) -> dict[str, Any]:
    """Return what is passed to have rows of a group turned that stand at some positions."""
    size = int(group.parameters["head_dim"])
    positions = rows_of(group, np.array(rows))
    return {"x": lattice((HEADS, len(rows), size)), "positions": positions}


def _of_bias(context: Context, group: Group) -> dict[str, dict[str, Any]]:
    longest = context.extended or USUAL_LENGTH
    return {"prefill": {"q_len": 5, "k_len": 5}, "decode": {"q_len": 2, "k_len": longest}}


def _of_encoding(context: Context, group: Group) -> dict[str, dict[str, Any]]:
    last = int(group.parameters["rows"]) - 1
    return {"rows": {"positions": np.array([0, 1, *BETWEEN, last])}}


def seen(case: Case) -> Case:
    """Return the same case; of a bias only what a causal mask lets a query look at."""
    if case.call.kind != "bias":
        return case
    rows = case.shape[-1] - case.shape[-2] + np.arange(case.shape[-2])
    visible = np.arange(case.shape[-1]) <= rows[:, None]
    return replace(case, printed=np.where(visible, case.truth, np.nan))
