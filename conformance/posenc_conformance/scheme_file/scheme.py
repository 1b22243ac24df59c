"""The content of a scheme file, as plain data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Value = str | int
Point = Mapping[str, Value]
RawArguments = Mapping[str, Any]
"""Arguments as a scheme file writes them, see ``judge.invocation.materialise``."""
Arguments = Mapping[str, Any]
"""Arguments of a call, by their names."""
ArgumentDict = dict[str, Any]
"""Newly made arguments: all of a call, or those to be changed."""


@dataclass(frozen=True)
class Convention:
    """A named axis on which right implementations differ."""

    name: str
    description: str
    values: Mapping[Value, str]
    default: Value | None
    passed: bool

    @property
    def optional(self) -> bool:
        """Whether a claim covers values of this axis only if it names them."""
        return self.default is None


@dataclass(frozen=True)
class Parameter:
    """A number that a case chooses and a claim may restrict."""

    name: str
    type: str
    description: str
    of: str | None
    axis: int
    argument: bool
    when: Point
    usual: float | None = None
    """The value if none is given; None if it must be given."""

    @property
    def passed(self) -> bool:
        """Whether the parameter is passed by keyword."""
        return self.of is None and not self.argument


@dataclass(frozen=True)
class Combination:
    """A named choice of a value for each convention."""

    name: str
    conventions: Point
    used_by: str


@dataclass(frozen=True)
class Call:
    """The arguments, conventions and result of an adapter's method of this name."""

    name: str
    kind: str
    returns: str
    dtype: str
    arguments: Mapping[str, str]
    parameters: Mapping[str, Parameter]
    combinations: Mapping[str, Combination]
    options: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Golden:
    """Inputs and their exact result."""

    id: str
    call: str
    combination: str
    options: Point
    kills: str
    source: str
    arguments: RawArguments
    values: Sequence[Any] | None
    probes: Sequence[Sequence[float]] | None
    sha256: str
    """Hash of the golden's content; empty if its values are not written yet."""


@dataclass(frozen=True)
class Published:
    """Numbers as their source prints them."""

    id: str
    call: str
    combination: str
    source: str
    note: str
    rounding: str
    arguments: RawArguments
    quantity: str
    printed: Sequence[Sequence[Value]]


@dataclass(frozen=True)
class Invariant:
    """A property that holds for all inputs."""

    id: str
    call: str
    statement: str
    proof: str
    combinations: tuple[str, ...]
    options: Point


@dataclass(frozen=True)
class Witness:
    """Two calls whose results show that a desideratum does not hold."""

    call: str
    combination: str
    arguments: tuple[RawArguments, RawArguments]
    shows: str
    printed: tuple[float, ...]
    rows: tuple[Sequence[int], ...]
    """Rows of each result that are compared; all if empty."""


@dataclass(frozen=True)
class Desideratum:
    """A desirable property of an encoding, and whether this scheme has it."""

    name: str
    holds: bool
    why: str
    invariant: str | None
    witness: Witness | None


@dataclass(frozen=True)
class BadInput:
    """Arguments that must be refused."""

    id: str
    call: str
    why: str
    combinations: tuple[str, ...]
    options: Point
    arguments: RawArguments


@dataclass(frozen=True)
class Deviation:
    """A named, known mistake."""

    id: str
    calls: tuple[str, ...]
    kind: str
    description: str
    effect: str
    links: tuple[str, ...]


@dataclass(frozen=True)
class Accuracy:
    """Constants of the error model."""

    rounding: int
    angle: int
    scale: str
    derivation: str


@dataclass(frozen=True, eq=False)
class Scheme:
    """One way to encode position."""

    path: Path
    id: str
    family: str
    title: str
    summary: str
    sources: Mapping[str, Mapping[str, str]]
    calls: Mapping[str, Call]
    conventions: Mapping[str, Convention]
    accuracy: Accuracy
    provenance: Mapping[str, str]
    goldens: tuple[Golden, ...]
    published: tuple[Published, ...]
    invariants: tuple[Invariant, ...]
    desiderata: tuple[Desideratum, ...]
    bad_inputs: tuple[BadInput, ...]
    deviations: tuple[Deviation, ...]

    @property
    def module_name(self) -> str:
        """Name of the scheme's modules in the reference, the kit and the oracle."""
        return self.id.replace("-", "_")

    @property
    def package_name(self) -> str:
        """Name of the packages that contain the modules of the scheme's family."""
        return self.family.replace("-", "_")
