"""A process as an adapter: an object whose methods carry claims and call the process."""

from collections.abc import Mapping, Sequence
from inspect import Parameter, Signature
from typing import Any

import numpy as np

from posenc_conformance.adapters.claims import ATTRIBUTE, Claim
from posenc_conformance.errors import PLACE, in_line, indented
from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.in_memory import Held
from posenc_conformance.judge.misbehaviour import Breakdown, Escape, Misbehaviour, Refusal
from posenc_conformance.judge.verdict import TookTooLong
from posenc_conformance.remote.messages import (
    PartedArguments,
    ProgramError,
    SaidCondition,
    SaidParameter,
    WorkerError,
)
from posenc_conformance.remote.peer import Peer
from posenc_conformance.remote.process import GaveNoAnswer, ProcessDied
from posenc_conformance.remote.wire import Malformed, Message, Received, value
from posenc_conformance.scheme_file.scheme import Arguments

RESULT = "the result"
"""Name of the result among arrays; the others are inputs, named by position or keyword."""


class Adapter:
    """An adapter whose attributes are the given methods."""

    def __init__(self, methods: Mapping[str, "Method"]) -> None:
        self.__dict__.update(methods)


class Method:
    """A method of an adapter that runs in another process."""

    def __init__(self, peer: Peer, name: str, claims: Sequence[Claim], place: str) -> None:
        self._peer = peer
        self._name = name
        setattr(self, ATTRIBUTE, tuple(claims))
        setattr(self, PLACE, place)

    def _ask(self, request: Message) -> Received:
        try:
            return self._peer.ask(request)
        except GaveNoAnswer as reason:
            raise TookTooLong(f"{self._name}() {reason}") from None
        except ProcessDied as reason:
            raise self._broke(reason) from None

    def _broke(self, reason: ProcessDied) -> Breakdown:
        return Breakdown(f"{self._name}() {reason}")


class Program(Method):
    """A method that a program implements, and that gets all arguments by name."""

    is_python = False

    def __init__(
        self, peer: Peer, name: str, claims: Sequence[Claim], place: str, arguments: Sequence[str]
    ) -> None:
        super().__init__(peer, name, claims, place)
        self._arguments = arguments

    def __call__(self, *positional: object, **keywords: object) -> Any:
        """Call the program and return the result, which is an array in most cases.

        Raises Refusal if the program answers with an error, and Breakdown if the process is lost or
        its result is malformed.
        """
        named = dict(zip(self._arguments, positional, strict=True)) | keywords
        arguments = {name: _in_json(argument) for name, argument in named.items()}
        request = {"request": "call", "call": self._name, "arguments": arguments}
        response = self._ask(request)
        answer = response.message
        if "error" in answer:
            error: ProgramError = answer["error"]
            reason = f"{in_line(error['type'])}: {indented(error['message'])}"
            text = f"{self._name}() failed with {reason}"
            declines = error["type"] == NotImplementedError.__name__
            raise Refusal(text) from (NotImplementedError(error["message"]) if declines else None)
        try:
            return value(answer["result"])
        except Malformed as problem:
            raise self._broke(self._peer.refuse(problem, response)) from None


class Worker(Method):
    """A method of an adapter in Python; its arrays keep their memory layout."""

    def __init__(
        self,
        peer: Peer,
        name: str,
        claims: Sequence[Claim],
        place: str,
        signature: Signature | None,
    ) -> None:
        super().__init__(peer, name, claims, place)
        if signature is not None:
            self.__signature__ = signature

    def __call__(self, *positional: object, **keywords: object) -> Any:
        """Make the call and return its result as an array; None if there is none.

        Copies in-place changes of the inputs back to the arrays that were passed.
        """
        return self._result(positional, keywords)[0]

    def hold(self, *positional: object, **keywords: object) -> Held:
        """Make the call and return its result, which stays in the memory of the process."""
        array, answer = self._result(positional, keywords, keep=True)
        if array is None:
            raise Misbehaviour(f"{self._name}() returned None: is a return missing?")
        return _Kept(array, self, self._peer.starts, answer["id"], (positional, keywords))

    def changes(self, *positional: object, **keywords: object) -> list[str]:
        """Make the call and list the process state that it changes."""
        answer = self._result(positional, keywords, request="watch")[1]
        changed: list[str] = answer["result"]
        return changed

    def of_kept(self, starts: int, request: Message) -> Message:
        """Send a request about a result that the process keeps.

        Raises Breakdown if the process was lost in the meantime and has been restarted.
        """
        if starts != self._peer.starts:
            raise Breakdown(f"{self._name}(): its process ended, and an earlier result is lost")
        return self._ask(request).message

    def _result(
        self,
        positional: Sequence[object],
        keywords: Arguments,
        request: str = "call",
        keep: bool = False,
    ) -> tuple[Array | None, Message]:
        named = {**{str(index): argument for index, argument in enumerate(positional)}, **keywords}
        message = {"request": request, "call": self._name, "keep": keep, **parted(named)}
        answer = self._ask(message).message
        if "error" in answer:
            if answer["error"]["kind"] == "lost":
                self._peer.end()  # the next call starts a new process
            raise _problem(self._name, answer["error"])
        _change(answer["arrays"], positional, keywords)
        return answer["arrays"].get(RESULT), answer


class When:
    """The condition of a claim, which is a function in another process."""

    def __init__(self, peer: Peer, call: str, number: int, said: SaidCondition) -> None:
        self._peer, self._request = peer, {"request": "when", "call": call, "claim": number}
        setattr(self, PLACE, said["place"])
        self.__signature__ = signature_of(said["parameters"])

    def __call__(self, **named: object) -> bool:
        """Return whether the condition holds.

        Raises RuntimeError if the function raises, or its process is lost.
        """
        try:
            answer = self._peer.ask({**self._request, **parted(named)}).message
        except ProcessDied as reason:
            raise RuntimeError(f"its process {reason}") from None
        if "error" in answer:
            raise RuntimeError(answer["error"]["message"])
        return bool(answer["result"])


def signature_of(said: Sequence[SaidParameter] | None) -> Signature | None:
    """Make the signature of a function in another process; None if it could not be inspected."""
    if said is None:
        return None
    names = ("POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD", "VAR_POSITIONAL", "KEYWORD_ONLY")
    kinds = {kind: getattr(Parameter, kind) for kind in (*names, "VAR_KEYWORD")}
    return Signature(
        [
            Parameter(name, kinds[kind], default=None if optional else Parameter.empty)
            for name, kind, optional in said
        ]
    )


class _Kept(Held):
    """A result in the memory of another process."""

    def __init__(
        self,
        result: Array,
        method: Worker,
        starts: int,
        number: int,
        inputs: tuple[Sequence[object], Arguments],
    ) -> None:
        super().__init__(result)
        self._method, self._starts, self._number, self._inputs = method, starts, number, inputs

    def now(self) -> Array:
        answer = self._method.of_kept(self._starts, {"request": "now", "held": self._number})
        array: Array = answer["arrays"][RESULT]
        return array

    def write(self, values: Array | float) -> bool:
        request = {"request": "write", "held": self._number, "arrays": {RESULT: np.asarray(values)}}
        answer = self._method.of_kept(self._starts, request)
        _change(answer["arrays"], *self._inputs)
        return bool(answer["result"])


def _in_json(given: Any) -> Any:
    """Return an argument for JSON; infinities and NaN become arrays without axes."""
    return np.asarray(given) if isinstance(given, float) and not np.isfinite(given) else given


def parted(named: Arguments) -> PartedArguments:
    """Split arguments into arrays and all others, as a message to a worker contains them."""
    arrays = {name: item for name, item in named.items() if isinstance(item, np.ndarray)}
    return {"arrays": arrays, "rest": {n: item for n, item in named.items() if n not in arrays}}


def _problem(name: str, error: WorkerError) -> Misbehaviour:
    kinds = {"refusal": Refusal, "escape": Escape, "form": Misbehaviour, "lost": Breakdown}
    problem = kinds[error["kind"]](f"{name}() {error['message']}")
    if "declines" in error:
        problem.__cause__ = NotImplementedError(error["declines"])
    return problem


def _change(changed: Mapping[str, Array], positional: Sequence[Any], keywords: Arguments) -> None:
    """Copy in-place changes that the worker made to inputs back to our arrays.

    Raises Misbehaviour for a changed shape, and for an input that is read-only.
    """
    for name, values in changed.items():
        if name == RESULT:
            continue
        here = positional[int(name)] if name.isdigit() else keywords[name]
        if here.shape != values.shape:
            raise Misbehaviour(f"the call changed the shape of its input to {values.shape}")
        if not here.flags.writeable:
            raise Misbehaviour("the call wrote into an input that is read-only")
        here[...] = values
