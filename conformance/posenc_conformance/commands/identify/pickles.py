"""The tensors that a pickle describes, read as data: nothing that the file names is called.

A pickle is a program for a stack machine. Python's own machine imports the names in the program,
calls them, and sets attributes on the results. This one has only the opcodes that `torch.save`
writes for dictionaries, lists, numbers and tensors. A name stays a name, and the few names that
describe tensors have stand-ins here. Every other opcode and every other name is refused.
"""

import pickletools
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from posenc_conformance.errors import UserError

LARGEST_INTEGER = 2**63
"""Sizes, strides and offsets of tensors are below this, as in torch."""


@dataclass(frozen=True)
class Name:
    """The name of a class or function in the file: text, never the class or function itself."""

    module: str
    name: str


@dataclass(frozen=True)
class Storage:
    """A file of numbers next to the pickle: its class in torch, and its name in the archive."""

    kind: str
    key: str


@dataclass(frozen=True)
class StoredTensor:
    """The place of a tensor's numbers; strides and offset count numbers, not bytes."""

    storage: Storage
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int


def read_pickle(data: bytes) -> Any:
    """Return the content of a pickle: dictionaries, lists, tuples, text, numbers and tensors.

    Raises UserError for anything else, and ValueError for a damaged pickle.
    """
    machine = _Machine()
    try:
        for opcode, argument, _ in pickletools.genops(data):
            machine.run(opcode.name, argument)
        return machine.pop()
    except (IndexError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"its description of tensors is damaged ({error})") from None


class _Machine:
    """A machine with its stack of values, the heights at which lists began, and its memo."""

    def __init__(self) -> None:
        self.stack: list[object] = []
        self.marks: list[int] = []
        self.memo: dict[int, object] = {}

    def run(self, opcode: str, argument: object) -> None:
        if opcode in PUSH_ARGUMENT:
            self.stack.append(argument)
        elif opcode in PUSH_NEW:
            self.stack.append(PUSH_NEW[opcode]())
        elif opcode in STEPS:
            STEPS[opcode](self, argument)
        elif opcode not in NOTHING_TO_DO:
            raise UserError(
                f"it uses the pickle opcode {opcode}, which no description of tensors needs",
                "save module.state_dict(), or the tensor alone",
            )

    def pop(self) -> Any:
        return self.stack.pop()

    def pop_to_mark(self) -> list[object]:
        begin = self.marks.pop()
        items = self.stack[begin:]
        del self.stack[begin:]
        return items

    def mark(self, _: None) -> None:
        self.marks.append(len(self.stack))

    def make_list(self, _: None) -> None:
        self.stack.append(self.pop_to_mark())

    def make_tuple(self, _: None) -> None:
        self.stack.append(tuple(self.pop_to_mark()))

    def make_dictionary(self, _: None) -> None:
        items = self.pop_to_mark()
        self.stack.append({})
        self._set(items)

    def append(self, _: None) -> None:
        self._extend([self.pop()])

    def append_all(self, _: None) -> None:
        self._extend(self.pop_to_mark())

    def _extend(self, items: list[object]) -> None:
        if not isinstance(self.stack[-1], list):
            raise ValueError("it appends to something that is not a list")
        self.stack[-1].extend(items)

    def set_item(self, _: None) -> None:
        value = self.pop()
        self._set([self.pop(), value])

    def set_all(self, _: None) -> None:
        self._set(self.pop_to_mark())

    def _set(self, items: list[object]) -> None:
        target = self.stack[-1]
        if not isinstance(target, dict):
            raise ValueError("it sets a key of something that is not a dictionary")
        for key, value in zip(items[::2], items[1::2], strict=True):
            # Hashing tuples nested a million deep would overflow Python's own stack.
            if not isinstance(key, str | bytes | int | float | None):
                raise UserError(
                    f"a dictionary has a {type(key).__name__} as a key, which is not read",
                    "save module.state_dict(), or the tensor alone",
                )
            target[key] = value

    def keep_as(self, key: int) -> None:
        self.memo[key] = self.stack[-1]

    def keep(self, _: None) -> None:
        self.keep_as(len(self.memo))

    def recall(self, key: int) -> None:
        self.stack.append(self.memo[key])

    def name(self, text: str) -> None:
        self.stack.append(Name(*text.split(" ", 1)))

    def name_from_stack(self, _: None) -> None:
        name = self.pop()
        self.stack.append(Name(str(self.pop()), str(name)))

    def find_storage(self, _: None) -> None:
        kind, storage, key, *_rest = self.pop()
        if kind != "storage" or not isinstance(storage, Name) or not isinstance(key, str):
            raise ValueError("a tensor's numbers are in no storage")
        if storage.module != "torch":
            raise _unknown(storage)
        self.stack.append(Storage(storage.name, key))

    def stand_in(self, _: None) -> None:
        arguments = self.pop()
        self.stack.append(_make_stand_in(self.pop(), arguments))

    def leave_out_attributes(self, _: None) -> None:
        """Drop the attributes of a state dict: its versions, which do not describe its tensors.

        Raises UserError for attributes of anything else.
        """
        self.pop()
        if not isinstance(self.stack[-1], OrderedDict):
            raise UserError(
                "it sets attributes of something else than a state dict, which posenc refuses",
                "save module.state_dict(), or the tensor alone",
            )


def _make_stand_in(name: object, arguments: object) -> Any:
    """Return the stand-in for a call of a name with these arguments.

    Raises UserError for a name that has no stand-in.
    """
    if not isinstance(name, Name) or not isinstance(arguments, tuple):
        raise ValueError("it calls something that is not a function")
    if name not in STAND_INS:
        raise _unknown(name)
    return STAND_INS[name](*arguments)


def _unknown(name: Name) -> UserError:
    return UserError(
        f"it holds more than tensors: {name.module}.{name.name}, which is not loaded",
        "save module.state_dict(), or the tensor alone",
    )


def _tensor(
    storage: object, offset: object, shape: object, strides: object, *_: object
) -> StoredTensor:
    if not isinstance(storage, Storage):
        raise ValueError("a tensor's numbers are in no storage")
    (start,) = _integers((offset,))
    return StoredTensor(storage, _integers(shape), _integers(strides), start)


def _integers(values: object) -> tuple[int, ...]:
    if not isinstance(values, tuple | list) or not all(type(value) is int for value in values):
        raise ValueError("a tensor's shape, strides or offset are not whole numbers")
    if any(abs(value) >= LARGEST_INTEGER for value in values):
        raise ValueError("a tensor's shape, strides or offset are beyond 64 bits")
    return tuple(values)


def _parameter(tensor: object, *_: object) -> StoredTensor:
    if not isinstance(tensor, StoredTensor):
        raise ValueError("a parameter is not a tensor")
    return tensor


def _tensor_with_attributes(
    rebuild: object, _type: object, arguments: object, _state: object
) -> Any:
    """Make a tensor that carries attributes, or is a parameter or buffer by its type."""
    if rebuild not in (TENSOR, PARAMETER):
        raise ValueError("a tensor is made in no known way")
    return _make_stand_in(rebuild, arguments)


def _size(sizes: object) -> tuple[int, ...]:
    return _integers(sizes)


def _state_dict() -> OrderedDict[object, object]:
    return OrderedDict()


TENSOR = Name("torch._utils", "_rebuild_tensor_v2")
PARAMETER = Name("torch._utils", "_rebuild_parameter")
STAND_INS: dict[Name, Callable[..., Any]] = {
    TENSOR: _tensor,
    PARAMETER: _parameter,
    Name("torch._utils", "_rebuild_parameter_with_state"): _parameter,
    Name("torch._tensor", "_rebuild_from_type_v2"): _tensor_with_attributes,
    Name("torch", "Size"): _size,
    Name("collections", "OrderedDict"): _state_dict,
}
"""Stand-ins for calls of names: each returns plain data."""

INTEGERS = {"INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4"}
FLOATS = {"FLOAT", "BINFLOAT"}
TEXTS = {"UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"}
BYTES = {"STRING", "BINSTRING", "SHORT_BINSTRING", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8"}
PUSH_ARGUMENT = frozenset(INTEGERS | FLOATS | TEXTS | BYTES)
"""Opcodes whose argument is the value."""

PUSH_NEW: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_TUPLE": tuple,
    "EMPTY_LIST": list,
    "EMPTY_DICT": dict,
}

NOTHING_TO_DO = frozenset({"PROTO", "FRAME", "STOP"})


def _tuple_of(count: int) -> Callable[[_Machine, None], None]:
    def make(machine: _Machine, _: None) -> None:
        items = [machine.pop() for _ in range(count)]
        machine.stack.append(tuple(reversed(items)))

    return make


STEPS: dict[str, Callable[[_Machine, Any], None]] = {
    "MARK": _Machine.mark,
    "LIST": _Machine.make_list,
    "TUPLE": _Machine.make_tuple,
    "DICT": _Machine.make_dictionary,
    "TUPLE1": _tuple_of(1),
    "TUPLE2": _tuple_of(2),
    "TUPLE3": _tuple_of(3),
    "APPEND": _Machine.append,
    "APPENDS": _Machine.append_all,
    "SETITEM": _Machine.set_item,
    "SETITEMS": _Machine.set_all,
    "PUT": _Machine.keep_as,
    "BINPUT": _Machine.keep_as,
    "LONG_BINPUT": _Machine.keep_as,
    "MEMOIZE": _Machine.keep,
    "GET": _Machine.recall,
    "BINGET": _Machine.recall,
    "LONG_BINGET": _Machine.recall,
    "GLOBAL": _Machine.name,
    "STACK_GLOBAL": _Machine.name_from_stack,
    "BINPERSID": _Machine.find_storage,
    "REDUCE": _Machine.stand_in,
    "BUILD": _Machine.leave_out_attributes,
}
