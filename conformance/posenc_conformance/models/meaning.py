"""The meaning of a configuration: its groups of layers, and how they treat positions."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from posenc_conformance.errors import UserError
from posenc_conformance.judge.arrays import Ints
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.invocation import materialise
from posenc_conformance.judge.knowledge import KnownScheme
from posenc_conformance.registry import load_scheme
from posenc_conformance.scheme_file.read import paths_by_name
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments, Call, Combination, Point

Number = int | float

LENGTH = "length"
"""The argument of schemes whose frequencies depend on the length of the text."""


@dataclass(frozen=True)
class Temperature:
    """The factor of a query at p: ``1 + scale * ln(1 + floor((p + first) / interval))``."""

    scale: Number
    interval: int
    first: int
    """The number from which positions are counted: 0 or 1."""


@dataclass(frozen=True)
class Group:
    """Layers that treat positions alike."""

    id: str
    layers: tuple[int, ...]
    """Numbers from 0; empty for a group that acts once, before the first layer."""
    scheme: str
    attention: str = "full"
    window: int | None = None
    """Number of positions that a query sees in a sliding or chunked layer; in a two-sided layer,
    on each side of its own position."""
    call: str | None = None
    """The name of the call in the scheme's file; None if nothing is computed."""
    combination: str | None = None
    options: Point = field(default_factory=dict)
    parameters: Arguments = field(default_factory=dict)
    temperature: Temperature | None = None
    score_factor: float | None = None
    """The factor of logits in addition to 1/√d."""

    @property
    def turns(self) -> bool:
        """Whether queries and keys are rotated."""
        return self.call is not None and "head_dim" in self.parameters

    @property
    def grows(self) -> bool:
        """Whether frequencies depend on the length of the text, and the length is not given."""
        return self.scheme == "dynamic-ntk" and LENGTH not in self.parameters

    @property
    def reach(self) -> int | None:
        """The distance of the farthest key that a query sees; None if there is no bound."""
        if self.window is None:
            return None
        return self.window if self.attention == "two-sided" else self.window - 1

    @property
    def conventions(self) -> Point:
        """All conventions of the call."""
        return {**combination_of(self).conventions, **self.options}


@dataclass(frozen=True)
class Context:
    """Context lengths, if the configuration states them."""

    original: int | None
    """Length that the model was trained on before its positions were stretched."""
    extended: int | None
    """Length that the model is released for."""


@dataclass(frozen=True)
class Meaning:
    """Everything that a configuration says about positions."""

    groups: tuple[Group, ...]
    context: Context
    layout: str | None
    """The layout of queries and keys in the checkpoint; None if nothing is rotated."""


def scheme_of(group: Group) -> KnownScheme:
    """Load the scheme of a group."""
    return load_scheme(paths_by_name()[group.scheme])


def combination_of(group: Group) -> Combination:
    """Return the combination of conventions of a group's call."""
    return call_of(group).combinations[group.combination or ""]


def case_of(group: Group, arguments: Arguments) -> Case:
    """Make a case for a group's call with some inputs, in float64.

    Its ``truth`` is the model's result. If that depends on the length of the text and none is
    given, the text ends with the largest position.
    """
    call = call_of(group)
    inputs = materialise({**passed(group), **arguments})
    if LENGTH in call.parameters and LENGTH not in inputs:
        inputs[LENGTH] = length_of(inputs["positions"])
    return Case(scheme_of(group), call, group.conventions, inputs, dtype="float64")


def length_of(positions: Ints) -> int:
    """Return the length of a text that ends with the largest of these positions."""
    return int(np.max(positions)) + 1


def rows_of(group: Group, positions: Ints) -> Ints:
    """Return positions in the form that a group's call takes: the same on each of its axes."""
    axes = {"m-rope": 3, "axial-rope": len(group.parameters.get("widths", ()))}
    return np.stack([positions] * axes[group.scheme]) if group.scheme in axes else positions


def call_of(group: Group) -> Call:
    """Return the call of a group, from the scheme's file.

    Raises UserError for a group that computes nothing.
    """
    if group.call is None:
        raise UserError(f"group {group.id!r} computes nothing", "ask a group that has a call")
    return scheme_of(group).calls[group.call]


def passed(group: Group) -> ArgumentDict:
    """Return the parameters of a group that its call takes, except the lengths of arrays' axes."""
    if group.call is None:
        return {}
    call = scheme_of(group).calls.get(group.call)
    if call is None:
        return {}
    taken = {name for name, parameter in call.parameters.items() if parameter.of is None}
    taken |= {*call.arguments}
    return {name: value for name, value in group.parameters.items() if name in taken}


def written(layers: Sequence[int]) -> str:
    """Format layer numbers for people: ``0-4, 6-10, 12``."""
    runs: list[list[int]] = []
    for number in layers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def unwritten(text: str) -> tuple[int, ...]:
    """Parse layer numbers from a text such as ``0-4, 6-10, 12``."""
    layers: list[int] = []
    for part in filter(None, text.split(", ")):
        first, _, last = part.partition("-")
        layers += range(int(first), int(last or first) + 1)
    return tuple(layers)
