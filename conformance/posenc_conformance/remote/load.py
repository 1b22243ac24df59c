"""Loading the implementation that ``--impl`` names, into its own process or this one."""

import json
import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache
from pathlib import Path
from typing import Any, cast, get_type_hints

import fastjsonschema

from posenc_conformance.adapters.claims import Claim, several
from posenc_conformance.adapters.find import Implementation, is_reference, load_adapter, registered
from posenc_conformance.errors import UserError, in_line, indented, printable
from posenc_conformance.judge.call_kinds import ENGINE
from posenc_conformance.judge.process_state import preventing_exit
from posenc_conformance.remote import worker
from posenc_conformance.remote.adapter import Adapter, Program, When, Worker, signature_of
from posenc_conformance.remote.command_line import Manifest, amount_of, manifest_of, seconds_of
from posenc_conformance.remote.messages import (
    ProgramClaim,
    ProgramDescription,
    SaidCondition,
    WorkerClaim,
    WorkerDescription,
)
from posenc_conformance.remote.peer import STARTING, Command, Limits, Peer
from posenc_conformance.remote.process import ProcessDied, amount, spare
from posenc_conformance.remote.wire import Frames, Lines, Message
from posenc_conformance.scheme_file.read import spec_folder
from posenc_conformance.scheme_file.scheme import Scheme

SECONDS = 60.0


class Isolation(Enum):
    """Where an adapter in Python runs."""

    USUAL = auto()
    """Registered libraries run in a process of their own; other adapters, which may still be in
    development, run in the judge's."""
    HERE = auto()
    """In the judge's own process, without limits."""
    APART = auto()


@dataclass(frozen=True)
class How:
    """Where an implementation runs, and the limits of a call."""

    place: Isolation = Isolation.USUAL
    seconds: float | None = None
    memory: int | None = None
    """In bytes; 0 for no limit, None for the default."""
    python: str = ""
    """The interpreter of the worker, if it is not this one."""

    @classmethod
    def of(
        cls, seconds: float | None, memory: str | None, python: str, *, here: bool, apart: bool
    ) -> "How":
        """Read where an implementation runs from the values of options.

        Raises UserError for options that contradict each other, and for impossible limits.
        """
        apart = apart or bool(python) or memory is not None or seconds is not None
        if here and apart:
            raise UserError(
                "--posenc-here runs the adapter in pytest's own process, where limits and another "
                "interpreter are impossible",
                "drop --posenc-here, or else --posenc-apart, --posenc-timeout, --posenc-memory and "
                "--posenc-python",
            )
        return cls(
            Isolation.HERE if here else Isolation.APART if apart else Isolation.USUAL,
            None if seconds is None else seconds_of(seconds, "--posenc-timeout"),
            None if memory is None else amount_of(memory, "--posenc-memory"),
            python,
        )


def load(name: str, how: How, schemes: Sequence[Scheme]) -> Implementation:
    """Load the implementation that ``name`` means: registered, in a file or module, or a program.

    Raises UserError if there is no implementation, or it cannot be started.
    """
    manifest = manifest_of(name)
    if manifest is not None:
        return _program(name, manifest, how, schemes)
    if _is_apart(name, how.place):
        return _worker(name, how, schemes)
    with preventing_exit():
        return load_adapter(name)


def _is_apart(name: str, place: Isolation) -> bool:
    if place is Isolation.USUAL:
        return name in registered() and not is_reference(name) and os.name == "posix"
    return place is Isolation.APART


def _program(name: str, manifest: Manifest, how: How, schemes: Sequence[Scheme]) -> Implementation:
    if how.place is Isolation.HERE or how.python:
        option = "--posenc-python" if how.python else "--posenc-here"
        raise UserError(
            f"--impl={name} is a program, so {option} does not apply",
            f"leave {option} out: a program always runs in a process of its own",
        )
    _demand_poll(f"--impl={name} is a program, which can be judged")
    limits = _limits(how, manifest)
    first = {"request": "describe", "protocol": 1}
    peer = Peer(manifest.command, Lines, limits, first, _show)
    description = _describe(name, peer)
    try:
        _description()(description)
    except fastjsonschema.JsonSchemaValueException as error:
        peer.end()
        raise UserError(
            f"--impl={name} describes itself in a way that breaks the protocol: "
            f"{in_line(error.message.replace('data', 'the result of describe', 1))}",
            f"a description has {_fields(ProgramDescription)}, and each claim "
            f"{_fields(ProgramClaim)}; spec/protocol.schema.json says what they hold",
        ) from None
    described = cast(ProgramDescription, description)
    calls = [call for scheme in schemes for call in scheme.calls.values()]
    arguments = {**ENGINE, **{call.name: tuple(call.arguments) for call in calls}}
    claims: dict[str, list[Claim]] = {}
    for claim in described["claims"]:
        claims.setdefault(claim["call"], []).append(_program_claim(claim))
    methods = {
        call: Program(peer, call, of_call, manifest.place, arguments.get(call, ()))
        for call, of_call in claims.items()
    }
    version = f"{described['version']} in {described['language']}".strip()
    versions = {described["name"]: version}
    return Implementation(name, Adapter(methods), versions, peer.end, _in_words(limits))


def _worker(name: str, how: How, schemes: Sequence[Scheme]) -> Implementation:
    _demand_poll("an adapter can run in a process of its own")
    point = registered().get(name)
    limits = _limits(how)
    first = {
        "request": "describe",
        "impl": name,
        "registered": point.value if point else "",
        "path": [] if how.python else sys.path,
        "schemes": [str(scheme.path) for scheme in schemes] if is_reference(name) else [],
    }
    python = _interpreter(how.python) if how.python else sys.executable
    peer = Peer(Command([python, "-P", str(worker.__file__)]), Frames, limits, first, _show)
    data = cast(WorkerDescription, _describe(name, peer))
    methods = {
        call["call"]: Worker(
            peer,
            call["call"],
            [_worker_claim(peer, call["call"], n, data) for n, data in enumerate(call["claims"])],
            call["place"],
            signature_of(call["parameters"]),
        )
        for call in data["calls"]
    }
    adapter = type(data["type"], (Adapter,), {})(methods)
    return Implementation(name, adapter, data["versions"], peer.end, _in_words(limits))


def _describe(name: str, peer: Peer) -> Message:
    """Return the description that a new process gives of itself.

    Raises UserError if the process ends before it answers, or answers with an error.
    """
    try:
        answer = peer.describe()
    except ProcessDied as reason:
        raise UserError(
            f"--impl={name} cannot be judged: the process {reason}",
            "the kit first asks for its name and claims, and it must stay alive until it answers",
        ) from None
    if "error" not in answer:
        result: Message = answer["result"]
        return result
    peer.end()
    error = answer["error"]
    if "hint" in error:
        raise UserError(error["message"], error["hint"])
    raise UserError(
        f"--impl={name} failed to describe itself: {in_line(error['type'])}: "
        f"{indented(error['message'])}",
        "a program must answer the request 'describe' with its name and claims",
    )


def _limits(how: How, manifest: Manifest | None = None) -> Limits:
    """Return the limits from the command line, else from the manifest, else the defaults."""
    seconds, memory, starting = how.seconds, how.memory, None
    if manifest is not None:
        seconds = manifest.seconds if seconds is None else seconds
        memory = manifest.memory if memory is None else memory
        starting = manifest.starting
    seconds = SECONDS if seconds is None else seconds
    if memory is None:
        memory = spare()
    return Limits(seconds, STARTING * seconds if starting is None else starting, memory)


def _in_words(limits: Limits) -> str:
    memory = f" and {amount(limits.memory)}" if limits.memory else ""
    return f"in a process of its own, with {limits.seconds:g} s{memory} for a call"


def _demand_poll(what: str) -> None:
    if os.name != "posix":
        raise UserError(
            f"{what} only on POSIX systems such as Linux and macOS, not on {sys.platform}",
            "on Windows use WSL, or judge an adapter in Python with --posenc-here",
        )


def _interpreter(path: str) -> str:
    """Return the interpreter at a path, which may be a virtual environment.

    Raises UserError if there is none that can be executed.
    """
    place = Path(path).expanduser()
    program = place / "bin" / "python" if place.is_dir() else place
    if shutil.which(program) is None:
        raise UserError(
            f"--posenc-python={path} is no program that can be executed",
            "give an interpreter or a virtual environment of Python that has numpy and ml-dtypes",
        )
    return str(program) if os.sep in str(program) else path


def _show(text: str) -> None:
    """Print the output of a process in printable form; pytest keeps it with the check."""
    sys.stderr.write("\n".join(map(printable, text.split("\n"))))


@lru_cache(maxsize=1)
def _description() -> Any:
    """Compile the validator of a program's description of itself.

    The validator raises JsonSchemaValueException for an invalid description.
    """
    schema = json.loads((spec_folder() / "protocol.schema.json").read_text(encoding="utf-8"))
    only = {"$ref": "#/definitions/description", "definitions": schema["definitions"]}
    return fastjsonschema.compile(only)


def _program_claim(said: ProgramClaim) -> Claim:
    return Claim(
        tuple(said.get("combinations", ())),
        several(said.get("dtype", "float32")),
        said.get("max_position"),
        {name: several(value) for name, value in said.get("restrictions", {}).items()},
        masked=said.get("masked", False),
        broadcast=said.get("broadcast", False),
        switches={name: several(value) for name, value in said.get("switches", {}).items()},
    )


def _fields(described: type) -> str:
    """Return the field names of a message."""
    return ", ".join(get_type_hints(described))


def _worker_claim(peer: Peer, call: str, number: int, said: WorkerClaim) -> Claim:
    when = said["when"]
    if isinstance(when, dict) and "parameters" in when:
        condition: Any = When(peer, call, number, cast(SaidCondition, when))
    else:
        condition = None if when is None else _heard(when)
    return Claim(
        tuple(map(_heard, said["combinations"])),
        tuple(map(_heard, said["dtypes"])),
        _heard(said["max_position"]),
        {name: tuple(map(_heard, values)) for name, values in said["restrictions"].items()},
        condition,
        _heard(said["masked"]),
        _heard(said["broadcast"]),
        {name: tuple(map(_heard, values)) for name, values in said["switches"].items()},
    )


@dataclass(frozen=True)
class _Strange:
    """A value in a claim that JSON cannot represent."""

    looks: str

    def __repr__(self) -> str:
        return self.looks


def _heard(said: Any) -> Any:
    return _Strange(said["looks"]) if isinstance(said, dict) else said
