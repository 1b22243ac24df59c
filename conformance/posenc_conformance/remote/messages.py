"""The messages of the protocol, typed: what a process says of itself, and how it answers.

``spec/protocol.schema.json`` says what programs in any language send; workers in Python send more.
"""

from typing import Literal, NotRequired, TypedDict

from posenc_conformance.judge.arrays import Array

Restrictions = dict[str, object]
"""Values of parameters and optional conventions, by their names: one or a list of each."""
SaidParameter = tuple[str, str, bool]
"""A parameter of a function: its name, its kind as ``inspect`` names it, whether it is optional."""


class ProgramClaim(TypedDict):
    """What a program claims of a call."""

    call: str
    combinations: NotRequired[list[str]]
    dtype: NotRequired[str | list[str]]
    max_position: NotRequired[int]
    restrictions: NotRequired[Restrictions]
    masked: NotRequired[bool]
    broadcast: NotRequired[bool]
    switches: NotRequired[dict[str, int | list[int]]]


class ProgramDescription(TypedDict):
    """What a program says of itself."""

    name: str
    version: str
    language: str
    claims: list[ProgramClaim]


class SaidCondition(TypedDict):
    """The condition of a claim, which is a function in the worker."""

    place: str
    parameters: list[SaidParameter] | None


class WorkerClaim(TypedDict):
    """What an adapter in a worker claims of a call; odd values come as their looks."""

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
    """What a worker says of the adapter that it has made."""

    type: str
    versions: dict[str, str]
    calls: list[WorkerCall]


class ProgramError(TypedDict):
    """Why a program did not answer; the type is the name of an exception."""

    type: str
    message: str


class WorkerError(TypedDict):
    """Why a worker did not answer."""

    kind: Literal["refusal", "escape", "form", "lost"]
    message: str
    declines: NotRequired[str]
    """The text of NotImplementedError, if it was that."""


class PartedArguments(TypedDict):
    """Arguments as a message to a worker has them: arrays apart."""

    arrays: dict[str, Array]
    rest: dict[str, object]
