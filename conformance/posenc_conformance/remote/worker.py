"""The process that runs an adapter in Python.

It is started as a script by the library's interpreter, and finds the kit by itself. The kit's right
answers are hidden from the adapter, so that it cannot import them by accident.
"""

import ctypes
import gc
import inspect
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

KIT = "posenc_conformance"
FOLDER = Path(__file__).resolve().parents[1]
VISIBLE_ROOMS = (
    "adapters",
    "errors",
    "implementations",
    "files",
    "judge.arrays",
    "judge.process_state",
    "remote.wire",
)
"""Rooms and modules of the kit that an adapter may import."""
ROOMS = ("", "judge", "remote")
"""Packages that contain ``VISIBLE_ROOMS``; they may be imported too."""
RESULT = "the result"
"""Name of the result among the arrays of an answer; the others are changed inputs."""
LARGEST_MESSAGE = 2**31
"""The largest size of a result, in bytes."""
PR_SET_PDEATHSIG = 1
HELD = 64
"""The number of latest results that are kept."""

Request = Mapping[str, Any]
"""A request of the judge, as received."""
Answer = dict[str, Any]
"""The answer to a request."""


class Finder:
    """An importer that finds the kit, whatever ``sys.path`` is, and hides the reference."""

    def __init__(self) -> None:
        self.hides = True

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find the kit itself; return None for any other module.

        Raises ImportError for a hidden module.
        """
        if self.hides and _is_hidden(name):
            words = f"{name} contains the right answers, so an adapter cannot import it"
            raise ImportError(words, name=name)
        if name != KIT:
            return None
        file = FOLDER / "__init__.py"
        return spec_from_file_location(name, file, submodule_search_locations=[str(FOLDER)])


def _is_hidden(name: str) -> bool:
    package, _, module = name.partition(".")
    if package != KIT:
        return package == "posenc"
    shown = module in ROOMS or any(f"{module}.".startswith(f"{room}.") for room in VISIBLE_ROOMS)
    return not shown or module == "implementations.reference"


class Answering:
    """An adapter that answers requests, with the results that it keeps."""

    def __init__(self, made: object) -> None:
        from posenc_conformance.errors import describe_exception, is_refusal, own_traceback
        from posenc_conformance.judge.arrays import around, to_numpy
        from posenc_conformance.remote.wire import is_serialisable

        self.made, self.refuses, self.told, self.traced = (
            made,
            is_refusal,
            describe_exception,
            own_traceback,
        )
        self.to_numpy, self.known, self.around = to_numpy, is_serialisable, around
        self.kept: dict[int, tuple[Any, Mapping[str, Any]]] = {}

    def call(self, request: Request) -> Answer:
        """Make a call; answer with its result and the inputs that it changed, or with an error."""
        inputs = request["arrays"]
        before = {name: array.tobytes() for name, array in inputs.items()}
        between = {name: self.around(array) for name, array in inputs.items()}
        named = {**request["rest"], **inputs}
        places = sorted((name for name in named if name.isdigit()), key=int)
        keywords = {name: value for name, value in named.items() if not name.isdigit()}
        try:
            method = getattr(self.made, request["call"])
            result = method(*(named[name] for name in places), **keywords)
        except BaseException as error:
            kind = "refusal" if self.refuses(error) else "escape"
            answer = self._failed(kind, f"raised {self.told(error)}\n{self.traced(error)}")
            if isinstance(error, NotImplementedError):
                answer["error"]["declines"] = str(error)
            return answer
        for name, array in inputs.items():
            if self.around(array) != between[name]:
                return _error("form", "wrote into memory between the elements of an input")
        if result is None:
            return {"result": None, "arrays": _changed(inputs, before)}
        try:
            array = self.to_numpy(result)
        except BaseException as error:
            reason = f"returned a {type(result).__name__}, which cannot be made an array"
            return self._failed("form", f"{reason}: {self.told(error)}")
        if not self.known(array):
            return _error("form", f"returned {array.dtype}, a dtype that the kit does not know")
        if array.nbytes > LARGEST_MESSAGE:
            return _error("form", f"returned shape {array.shape}, too large to be looked at")
        if request["keep"]:
            self.kept[request["id"]] = array, inputs
            if len(self.kept) > HELD:
                del self.kept[next(iter(self.kept))]
        return {"result": True, "arrays": {RESULT: _flatten(array), **_changed(inputs, before)}}

    def _failed(self, kind: str, message: str) -> Answer:
        """Return an error; its kind is "lost" if the GPU is unusable, which ends the process."""
        if not _gpu_is_lost():
            return _error(kind, message)
        return _error("lost", f"left the GPU in a state in which it does nothing more: {message}")

    def watch(self, request: Request) -> Answer:
        """Make a call and answer with the process state that it changes."""
        from posenc_conformance.judge.process_state import find_changes_by

        answers: list[Answer] = []
        changes = find_changes_by(lambda: answers.append(self.call(request)))
        failed = [answer for answer in answers if "error" in answer]
        return failed[0] if failed else {**answers[0], "result": changes}

    def when(self, request: Request) -> Answer:
        """Answer whether the condition of a claim holds."""
        from posenc_conformance.adapters.claims import claims_on

        function = claims_on(self.made)[request["call"]][request["claim"]].when
        try:
            return {"result": bool(function and function(**request["rest"], **request["arrays"]))}
        except BaseException as error:
            return _error("refusal", self.told(error))

    def now(self, request: Request) -> Answer:
        """Return the current values of a kept result."""
        return {"result": True, "arrays": {RESULT: _flatten(self.kept[request["held"]][0])}}

    def write(self, request: Request) -> Answer:
        """Write into a kept result, and answer whether that was possible."""
        array, inputs = self.kept[request["held"]]
        before = {name: values.tobytes() for name, values in inputs.items()}
        written = bool(array.flags.writeable)
        if written:
            array[...] = request["arrays"][RESULT]
        return {"result": written, "arrays": _changed(inputs, before)}


def _gpu_is_lost() -> bool:
    """Return whether every use of the GPU now fails, as after an illegal memory access."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return False
    try:
        torch.cuda.synchronize()
    except RuntimeError:
        return True
    return False


def describe(adapter: object, versions: Mapping[str, str]) -> Answer:
    """Describe an adapter's claims, and how its methods can be called."""
    from posenc_conformance.adapters.claims import claims_on, method_of
    from posenc_conformance.errors import location_of

    calls = []
    for name, claims in claims_on(adapter).items():
        method = method_of(adapter, name)
        if callable(method):  # a subclass withdraws a claim: rope = None
            entries = [
                {field: _to_json(part) for field, part in vars(claim).items()} for claim in claims
            ]
            for entry, claim in zip(entries, claims, strict=True):
                if callable(claim.when):
                    place, names = location_of(claim.when), _parameters(claim.when)
                    entry["when"] = {"place": place, "parameters": names}
            entry = {"call": name, "claims": entries, "place": location_of(method)}
            calls.append({**entry, "parameters": _parameters(method)})
    return {"type": type(adapter).__name__, "versions": dict(versions), "calls": calls}


def _to_json(value: Any) -> Any:
    """Return part of a claim as JSON; values that JSON lacks are replaced by their repr."""
    if isinstance(value, Mapping):
        return {name: _to_json(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_to_json(part) for part in value]
    plain = value is None or isinstance(value, str | int | float)
    return value if plain else {"looks": repr(value)}


def _parameters(method: Callable[..., Any]) -> list[tuple[str, str, bool]] | None:
    try:
        parameters = inspect.signature(method).parameters.values()
    except (TypeError, ValueError):  # compiled code may have no signature
        return None
    return [(p.name, p.kind.name, p.default is not p.empty) for p in parameters]


def make_adapter(request: Request) -> tuple[object, Mapping[str, str]]:
    """Make the requested adapter; return it with the versions of its requirements.

    Raises UserError if it cannot be found, imported or made.
    """
    from posenc_conformance.adapters.find import load_adapter, versions

    if request["schemes"]:
        module = import_module(request["registered"].partition(":")[0])
        reference = module.reference_in(request["schemes"])
        return reference(), versions(reference)
    implementation = load_adapter(request["impl"], request["registered"])
    return implementation.adapter, implementation.versions


def _changed(inputs: Mapping[str, Any], before: Mapping[str, bytes]) -> Answer:
    return {name: array for name, array in inputs.items() if array.tobytes() != before[name]}


def _flatten(array: Any) -> Any:
    """Return the values of an array in row-major order."""
    return array if array.flags.c_contiguous else array.copy(order="C")


def _error(kind: str, message: str) -> Answer:
    return {"error": {"type": "", "kind": kind, "message": message}}


def _answer(request: Request, adapters: list[Answering], finder: Finder) -> Answer:
    if request["request"] != "describe":
        answer: Answer = getattr(adapters[0], request["request"])(request)
        return answer
    from posenc_conformance.errors import UserError

    import_module("posenc_conformance.judge.process_state")  # before anything changes the state
    finder.hides = not request["schemes"]
    if request["path"]:
        sys.path[:] = request["path"]
    try:
        adapter, versions = make_adapter(request)
        description = describe(adapter, versions)
    except UserError as error:
        return {"error": {"type": "", "message": error.cause, "hint": error.hint}}
    adapters.append(Answering(adapter))
    gc.freeze()  # loaded modules stay, so the garbage collector need not visit them
    return {"result": description}


def _end_with_the_judge() -> None:
    """Have Linux kill this process, even during a call, if the judge is killed.

    On other systems, the process ends when it reads the next request.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _no_breakpoint(*arguments: Any, **keywords: Any) -> None:
    raise RuntimeError("breakpoint() needs the terminal: judge with --posenc-here")


def main() -> None:
    """Answer requests until the kit sends a goodbye or ends."""
    incoming, outgoing = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    os.register_at_fork(after_in_child=lambda: os.closerange(incoming, outgoing + 1))
    _end_with_the_judge()
    sys.breakpointhook = _no_breakpoint
    finder = Finder()
    sys.meta_path.insert(0, finder)
    from posenc_conformance.remote.wire import Frames

    wire, buffer, adapters = Frames(), bytearray(), list[Answering]()
    while True:
        received = wire.take(buffer)
        if received is None:
            piece = os.read(incoming, 2**20)
            if not piece:
                os._exit(0)
            buffer += piece
            continue
        request = received.message
        leaving = request["request"] == "goodbye"
        answer = {"result": None} if leaving else _answer(request, adapters, finder)
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:  # an adapter may have closed or replaced it
                continue
        unsent = memoryview(wire.encode({"id": request["id"], **answer}))
        while unsent:
            unsent = unsent[os.write(outgoing, unsent) :]
        if leaving:
            return


if __name__ == "__main__":
    main()
