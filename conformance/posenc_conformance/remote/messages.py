"""The messages of the protocol, typed: descriptions of processes, and their answers.

``spec/protocol.schema.json`` describes the messages of programs in any language; those of workers
in Python have more fields.
"""

from typing import Literal, NotRequired, TypedDict

from posenc_conformance.judge.arrays import Array

Restrictions = dict[str, object]
"""Values of parameters and optional conventions, by name: one value or a list."""
SaidParameter = tuple[str, str, bool]
"""A parameter of a function: its name, its kind as ``inspect`` names it, whether it is optional."""


class ProgramClaim(TypedDict):
    """A program's claim about a call."""

    call: str
    combinations: NotRequired[list[str]]
    dtype: NotRequired[str | list[str]]
    max_position: NotRequired[int]
    restrictions: NotRequired[Restrictions]
    masked: NotRequired[bool]
    broadcast: NotRequired[bool]
    switches: NotRequired[dict[str, int | list[int]]]


class ProgramDescription(TypedDict):
    """A program's description of itself."""

    name: str
    version: str
    language: str
    claims: list[ProgramClaim]


class SaidCondition(TypedDict):
    """The condition of a claim, which is a function in the worker."""

    place: str
    parameters: list[SaidParameter] | None


class WorkerClaim(TypedDict):
    """A worker's claim about a call; values that JSON lacks are replaced by their repr."""

    combinations: list[object]
    dtypes: list[object]
    max_position: object
    restrictions: dict[str, list[object]]
    when: SaidCondition | dict[str, str] | None
    masked: object
    broadcast: object
    switches: dict[str, list[object]]


class WorkerCall(TypedDict):
    """A method of an adapter in a worker."""

    call: str
    claims: list[WorkerClaim]
    place: str
    parameters: list[SaidParameter] | None


class WorkerDescription(TypedDict):
    """A worker's description of its adapter."""

    type: str
    versions: dict[str, str]
    calls: list[WorkerCall]


class ProgramError(TypedDict):
    """A program's error; ``type`` is the name of an exception."""

    type: str
    message: str


class WorkerError(TypedDict):
    """A worker's error."""

    kind: Literal["refusal", "escape", "form", "lost"]
    message: str
    declines: NotRequired[str]
    """The text of a NotImplementedError, if the call raised one."""


class PartedArguments(TypedDict):
    """Arguments in a message to a worker, split into arrays and the rest."""

    arrays: dict[str, Array]
    rest: dict[str, object]
