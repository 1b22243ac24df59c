"""What a configuration means, group of layers by group of layers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from posenc_conformance.errors import UserError
from posenc_conformance.judge.case import Case, materialise
from posenc_conformance.scheme_file.model import Call, Combination, Point, Scheme
from posenc_conformance.scheme_file.read import folder, load_scheme

Number = int | float


@dataclass(frozen=True)
class Temperature:
    """By what queries are multiplied: ``1 + scale * ln(1 + floor((p + first) / interval))``."""

    scale: Number
    interval: int
    first: int
    """What the first position counts as."""


@dataclass(frozen=True)
class Group:
    """Layers that treat positions alike."""

    id: str
    layers: tuple[int, ...]
    """Numbers from 0; none for what happens once, before the first layer."""
    scheme: str
    attention: str = "full"
    window: int | None = None
    """Positions that a query sees of a sliding or chunked layer; of a two-sided one, on each side
    of its own."""
    call: str | None = None
    """What is computed, in the names of the scheme's file; None where nothing is."""
    combination: str | None = None
    options: Point = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    temperature: Temperature | None = None
    score_factor: float | None = None
    """By what the logits are multiplied beside 1/√d."""

    @property
    def turns(self) -> bool:
        """Whether queries and keys are rotated."""
        return self.call is not None and "head_dim" in self.parameters

    @property
    def reach(self) -> int | None:
        """How far behind a query the furthest key is that it sees; None if there is no bound."""
        if self.window is None:
            return None
        return self.window if self.attention == "two-sided" else self.window - 1

    @property
    def conventions(self) -> Point:
        """All conventions under which the call is made."""
        return {**combination_of(self).conventions, **self.options}


@dataclass(frozen=True)
class Context:
    """Lengths of texts, as far as a configuration says them."""

    original: int | None
    """That the model was trained on before its positions were stretched."""
    extended: int | None
    """That it is released for."""


@dataclass(frozen=True)
class Meaning:
    """All that a configuration says of positions."""

    groups: tuple[Group, ...]
    context: Context
    layout: str | None
    """How the checkpoint stores the channels of queries and keys; None if nothing is rotated."""


def scheme_of(group: Group) -> Scheme:
    """The scheme file of a group."""
    return load_scheme(folder() / f"{group.scheme}.yaml")


def combination_of(group: Group) -> Combination:
    """The combination of conventions that a group's call is made under."""
    return call_of(group).combinations[group.combination or ""]


def case_of(group: Group, arguments: Mapping[str, Any]) -> Case:
    """A group's call with some inputs, in float64: its ``truth`` is what the model computes."""
    call = call_of(group)
    given = materialise({**passed(group), **arguments})
    return Case(scheme_of(group), call, group.conventions, given, dtype="float64")


def call_of(group: Group) -> Call:
    """What a group computes, in the scheme's file."""
    if group.call is None:
        raise UserError(f"group {group.id!r} computes nothing", "ask a group that has a call")
    return scheme_of(group).calls[group.call]


def passed(group: Group) -> dict[str, Any]:
    """The parameters of a group that its call takes: not the lengths of its arrays' axes."""
    if group.call is None:
        return {}
    call = scheme_of(group).calls.get(group.call)
    if call is None:
        return {}
    taken = {name for name, parameter in call.parameters.items() if parameter.of is None}
    taken |= {*call.arguments}
    return {name: value for name, value in group.parameters.items() if name in taken}


def written(layers: Sequence[int]) -> str:
    """Layers as people write them: ``0-4, 6-10, 12``."""
    runs: list[list[int]] = []
    for number in layers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def unwritten(text: str) -> tuple[int, ...]:
    """The layers that such a text names."""
    found: list[int] = []
    for part in filter(None, text.split(", ")):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return tuple(found)
