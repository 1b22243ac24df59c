"""A call of the specification with a user's arrays, in the user's order of axes."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from math import prod
from operator import index
from typing import Any

import numpy as np

from posenc_conformance.errors import UserError, describe_exception, in_line
from posenc_conformance.judge.arrays import DTYPES, Array, dtype_name, round_to, to_numpy
from posenc_conformance.judge.call_kinds import KINDS
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.warnings_off import without_warnings
from posenc_conformance.remote.process import amount, spare
from posenc_conformance.scheme_file.axis_names import ANY, ROWS, Form
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments, Parameter, Point, Value
from posenc_conformance.testing.signatures import Misuse, Signature, find_signature
from posenc_conformance.testing.unknown_words import describe_unknown
from posenc_conformance.testing.words import LARGEST_WHOLE, translate

COMBINATION = "combination"
"""The keyword that names a combination of conventions."""
ROW, CHANNEL = "s", "d"
"""Letters in ``shape=`` for the sequence axis and the channel axis."""
ROWS_ELSEWHERE = {"l", "t"}
"""Letters of other code for the sequence axis: its length, and time or tokens."""
WHOLE = "biu"
"""NumPy's kinds of booleans and whole numbers."""
LARGEST = float(np.finfo(np.float64).max)
SMALL = 2**20
"""Size up to which an expected result is computed even if the shape of the given one is wrong, so
that errors in the arguments are reported first."""
COPIES = 4
"""Number of float64 arrays of the result's size in judging: truth, bound, result, error."""
WIDEST = 2**24
"""The largest ``dim``: the reference computes every channel, even those the result lacks."""
LONGEST_SHOWN = 80
"""Most characters of a user's value that a message shows."""
PAIRS = ("r / 2",)
"""The axes of an array with a number for each rotated pair."""


@dataclass(frozen=True, eq=False)
class Question:
    """A call with arguments in the specification's order of axes."""

    signature: Signature
    arguments: Arguments
    """Arrays are float64 for floats, int64 for whole numbers."""
    conventions: Point
    assumed: Arguments
    """Conventions and parameters that have their defaults because nothing says otherwise."""
    dtypes: Mapping[str, str]
    """The original dtype of each float array that was passed with a dtype."""
    order: tuple[int, ...]
    """For each axis in the specification, its index in the user's arrays of rows; empty without
    ``shape=``."""

    @classmethod
    def of(cls, name: object, shape: object, given: Mapping[str, Any]) -> "Question":
        """Build a question from a call's name, its ``shape=`` and its keyword arguments.

        Raises Misuse for arguments that are missing, unknown or of the wrong form.
        """
        signature = find_signature(_name(name))
        order = _order(signature, shape)
        given = translate(signature, given, order[-2] - len(order) if order else -2)
        conventions = _conventions(signature, given)
        arguments, dtypes = _arguments(signature, given)
        for argument, form in signature.forms.items():
            if order and form.has_rows and argument in arguments:
                value = arguments[argument]
                if value.ndim == len(order):
                    arguments[argument] = value.transpose(order)
                elif form.leading or len(form.axes) > 2:
                    raise signature.misuse(
                        f"{argument} has {value.ndim} axes, and shape={shape!r} has {len(order)}"
                    )
        if any(form.leading and name in arguments for name, form in signature.forms.items()):
            _drop_batches_of_one(signature.forms, arguments)
        assumed = _assumed(signature, given, conventions)
        return cls(signature, arguments, conventions, assumed, dtypes, order)

    @cached_property
    def batch(self) -> int | None:
        """The number of sequences in a batch; None if one call covers everything.

        An array with one axis more than in the specification has a batch; its first axis is then
        that of the sequences.
        """
        sizes = {
            name: len(self.arguments[name])
            for name, form in self.signature.forms.items()
            if name in self.arguments and self._is_batched(name, form)
        }
        if not sizes:
            return None
        size = max(sizes.values())
        for name, form in self.signature.forms.items():
            if name not in self.arguments or not (form.leading or name in sizes):
                continue
            value = self.arguments[name]
            if value.ndim <= len(form.axes) or len(value) not in (1, size):
                others = ", ".join(other for other in sizes if other != name)
                raise self.signature.misuse(
                    f"{name} has the shape {value.shape}, but {others} a batch of {size}"
                )
        return size

    def _is_batched(self, name: str, form: Form) -> bool:
        return not form.leading and self.arguments[name].ndim == len(form.axes) + 1

    def cases(self, dtype: str, result: Array | None = None) -> Iterator[Case]:
        """Yield the case, or one case for each sequence of the batch.

        Raises Misuse for a call that cannot be computed. Raises AssertionError if ``result`` is
        smaller than a large expected result, before this is computed.
        """
        if self.batch is None:
            yield self._case(self.arguments, dtype, result)
            return
        for number in range(self.batch):
            arguments = dict(self.arguments)
            for name, form in self.signature.forms.items():
                if name in arguments and (form.leading or self._is_batched(name, form)):
                    value = arguments[name]
                    arguments[name] = value[number if len(value) > 1 else 0]
            yield self._case(arguments, dtype, result)

    def _case(self, arguments: Arguments, dtype: str, result: Array | None) -> Case:
        signature = self.signature
        scheme, call = signature.scheme, signature.call
        case = Case(scheme, call, self.conventions, arguments, dtype, is_asked_once=True)
        shape: tuple[int, ...] = ()
        with suppress(Exception):  # if arguments do not fit, the reference raises below
            shape = case.shape
        _require_size(signature, shape, result)
        try:
            with without_warnings():
                truth, _, _ = case.truth, case.shape, case.bound
        except UserError:
            raise
        except Exception as error:
            raise self._unfit(arguments, describe_exception(error)) from None
        if not KINDS[call.kind].hides and not np.isfinite(truth).all():
            raise signature.misuse("no finite result can be computed for these arguments")
        if disagreement := _disagreement(signature.forms, arguments):
            raise signature.misuse(disagreement)
        return case

    def _unfit(self, arguments: Arguments, words: str) -> Misuse:
        """Make the error for arguments that the reference refuses, with its words."""
        signature = self.signature
        for name, own in self.dtypes.items():  # the reference has them in float64
            words = words.replace(f"{name} are float64", f"{name} are {own}")
        shapes = {name: np.shape(arguments[name]) for name in signature.forms if name in arguments}
        if "broadcast together" in words:  # NumPy's words are about arrays inside the reference
            listed = ", ".join(f"{name} has {shape}" for name, shape in shapes.items())
            words = f"the shapes do not fit each other: {listed}"
        elif "shape" not in words:
            return signature.misuse(words)
        hint = "rows are the next-to-last axis unless shape= says otherwise, as in shape='bshd'"
        return signature.misuse(words, "" if self.order or not signature.has_rows else hint)

    def first_axis(self, result: Array) -> int:
        """Return the axis of a result, in the user's order, that the specification has first.

        The axis of a batch stands before it.
        """
        form = self.signature.returned
        number = result.ndim - len(form.axes) if form else 0
        return self.order[number] if self._is_reordered(result) else max(number, 0)

    def ordered(self, result: Array) -> Array:
        """Return a result with its axes in the specification's order."""
        return result.transpose(self.order) if self._is_reordered(result) else result

    def given_order(self, result: Array) -> Array:
        """Return an expected result with its axes in the user's order."""
        return result.transpose(np.argsort(self.order)) if self._is_reordered(result) else result

    def _is_reordered(self, result: Array) -> bool:
        form = self.signature.returned
        return bool(self.order and form and form.has_rows and result.ndim == len(self.order))

    def dtype_of(self, result: Array) -> str:
        """Return the dtype in which a result is judged.

        Raises Misuse for a result that is not in a dtype of the specification.
        """
        call = self.signature.call
        if call.dtype in ("integer", "boolean"):
            return call.dtype
        dtype = dtype_name(result)
        if dtype not in DTYPES:
            raise self.signature.misuse(
                f"the result is in {dtype}", f"it can be judged in {', '.join(DTYPES)}"
            )
        return self.dtypes.get(self._leader, dtype) if call.dtype == "inputs" else dtype

    @property
    def is_all_zero(self) -> bool:
        """Whether the result has the dtype of inputs of which every value is 0."""
        if self.signature.call.dtype != "inputs" or not self._leader:
            return False
        values = self.arguments[self._leader]
        return bool(values.size) and not np.any(values)

    @property
    def nothing(self) -> str:
        """Why a right result of the call has no values, in words."""
        for name, value in self.arguments.items():
            if isinstance(value, np.ndarray) and not value.size:
                form = self.signature.forms.get(name)
                is_of_rows = form is not None and form.has_rows and not value.shape[-2]
                has = "no rows" if is_of_rows else f"the shape {value.shape}"
                return f"there is nothing to compare: {name} has {has}"
        return "there is nothing to compare: the call has no values"

    def require_held(self, dtype: str) -> None:
        """Raise Misuse for a float array with values that ``dtype`` cannot represent.

        The truth would be computed from other values than the implementation received. A number
        for each pair is a setting, which code holds in its own dtype, as LongRoPE's factors.
        """
        if self.signature.call.dtype != "inputs":
            return
        settings = {n for n, form in self.signature.forms.items() if form.axes == PAIRS}
        for name, own in self.dtypes.items():
            if name in settings:
                continue
            values = self.arguments[name]
            if own != dtype and not np.array_equal(round_to(values, dtype), values, equal_nan=True):
                raise self.signature.misuse(
                    f"{name} is in {own}, and {dtype} does not hold its values",
                    f"give {name} in {dtype}, as the implementation computes with it",
                )

    @property
    def _leader(self) -> str:
        """Name of the array whose dtype the result has: the first float array."""
        return next(iter(self.dtypes), "")


def _conventions(signature: Signature, given: Mapping[str, Any]) -> dict[str, Value]:
    """Return the conventions of the call: those given, else the defaults.

    A convention without a default has its value in the first combination that fits the others.

    Raises Misuse for values that are unknown, or that the specification does not combine.
    """
    axes = {**signature.defaults, **dict.fromkeys(signature.call.options)}
    explicit = {axis: _convention(signature, axis, given[axis]) for axis in axes if axis in given}
    chosen = dict(_combination(signature, given, explicit))
    for name, parameter in signature.parameters.items():
        if name in given:
            chosen |= parameter.when
    return chosen | explicit


def _assumed(signature: Signature, given: Mapping[str, Any], conventions: Point) -> ArgumentDict:
    """Return the conventions and parameters to which no argument of a test leads."""
    said = set(given)
    for name in said & signature.parameters.keys():
        said |= signature.parameters[name].when.keys()
    chosen = {} if COMBINATION in given else conventions
    usual = {n: each.usual for n, each in signature.parameters.items() if each.usual is not None}
    return {name: value for name, value in {**chosen, **usual}.items() if name not in said}


def _convention(signature: Signature, axis: str, given: object) -> Value:
    """Return the value of a convention as the specification writes it; raise Misuse if unknown."""
    values = list(signature.scheme.conventions[axis].values)
    choice: object = given if isinstance(given, str) else None
    if not isinstance(given, str | bool | np.bool_):
        with suppress(Exception):  # NumPy's and PyTorch's whole numbers count too
            choice = index(given)  # type: ignore[arg-type]  # index() raises for other values
    for value in values:
        if isinstance(choice, type(value)) and value == choice:
            return value
    raise signature.misuse(f"{axis}={shown(given)} is not known", f"{axis} is one of {values}")


def _combination(signature: Signature, given: Mapping[str, Any], said: Point) -> Point:
    """Return the conventions of the combination that the arguments name or imply."""
    points = signature.call.combinations
    name = given.get(COMBINATION)
    if name is not None:
        if not isinstance(name, str) or name not in points:
            raise signature.misuse(
                f"{COMBINATION}={shown(name)} is not known", f"it has {', '.join(points)}"
            )
        own = points[name].conventions
        for axis, value in said.items():
            if own.get(axis, value) != value:
                raise signature.misuse(
                    f"{COMBINATION}={name!r} has {axis}={own[axis]!r}, and {value!r} is given",
                    "give one of them",
                )
        return own
    required = {
        axis: said.get(axis, value)
        for axis, value in signature.defaults.items()
        if axis in said or value is not None
    }
    for name, parameter in signature.parameters.items():
        if name in given:
            required |= {axis: value for axis, value in parameter.when.items() if axis in required}
    fitting = _nearest(signature, said, required)
    if fitting is not None:
        return fitting
    raise signature.misuse(
        f"the specification does not have {required} together",
        f"it has the combinations {', '.join(points)}; 'posenc schemes {signature.scheme.id}' says "
        f"what they are, and {COMBINATION}= takes one of them",
    )


def _nearest(
    signature: Signature, said: Point, required: Mapping[str, Value | None]
) -> Point | None:
    """Return the combination with all that is ``said`` and most of what is required; or None.

    A default of the scheme may be another call's, so that no combination of this call has it. An
    option fits every combination that does not set it.
    """
    options = {axis: value for axis, value in said.items() if axis in signature.call.options}
    asked = {axis: value for axis, value in required.items() if axis in said}
    shared: list[tuple[int, Point]] = []
    for combination in signature.call.combinations.values():
        whole = {**signature.defaults, **options, **combination.conventions}.items()
        if asked.items() <= whole:
            shared.append((len(required.items() & whole), combination.conventions))
    most = max((number for number, _ in shared), default=0)
    best = [point for number, point in shared if number == most]
    return best[0] if len(best) == 1 or (best and most == len(required)) else None


def _arguments(
    signature: Signature, given: Mapping[str, Any]
) -> tuple[ArgumentDict, dict[str, str]]:
    """Return the arguments as NumPy arrays or numbers, and the original dtypes of float arrays.

    Raises Misuse for missing and unknown arguments, and for values that are no number or array.
    """
    call = signature.call
    numbers = signature.parameters.items()
    given = {**{name: n.usual for name, n in numbers if n.usual is not None}, **given}
    needed = [*call.arguments, *(n for n, param in signature.parameters.items() if not param.when)]
    accepted = [*needed, *signature.parameters, *signature.defaults, *call.options, COMBINATION]
    if unknown := [name for name in given if name not in accepted]:
        words = f"it takes no {' and no '.join(map(in_line, unknown))}"
        raise signature.misuse(words, describe_unknown(signature, unknown, given))
    if missing := [name for name in needed if name not in given]:
        raise signature.misuse(f"{' and '.join(missing)} {_is_or_are(missing)} missing")
    arguments: ArgumentDict = {}
    dtypes: dict[str, str] = {}
    for name in (*call.arguments, *signature.parameters):
        if name not in given:
            continue
        if name in call.parameters:
            arguments[name] = _number(signature, call.parameters[name], given[name])
            continue
        value = _array(signature, name, given[name])
        if value.dtype.kind == "b" and name.endswith("positions"):
            raise signature.misuse(f"{name} are booleans, and must be whole numbers")
        is_whole = value.dtype.kind in WHOLE
        if not is_whole and hasattr(given[name], "dtype") and value.ndim:
            dtypes[name] = dtype_name(value)
        form = signature.forms.get(name)
        if form is not None and value.ndim < len(form.axes):
            expected = ", ".join([*[ANY] * form.leading, *form.axes])
            raise signature.misuse(f"{name} has the shape {value.shape}; it must be [{expected}]")
        exact = value.astype(np.int64 if is_whole else np.float64)
        arguments[name] = exact if exact.ndim else exact.item()
    return arguments, dtypes


def _drop_batches_of_one(forms: Mapping[str, Form], arguments: ArgumentDict) -> None:
    """Drop the batch axis of length 1 from positions and other arrays without leading axes."""
    for name, form in forms.items():
        value = arguments.get(name)
        if form.leading or not isinstance(value, np.ndarray):
            continue
        if value.ndim == len(form.axes) + 1 and len(value) == 1:
            arguments[name] = value[0]


def _disagreement(forms: Mapping[str, Form], arguments: Arguments) -> str:
    """Describe two arrays that disagree in the number of tokens; return empty text if none do.

    NumPy would broadcast an array of length 1, but a single position must not be repeated.
    """
    sizes: dict[str, tuple[str, int]] = {}
    for name, form in forms.items():
        if name not in arguments:
            continue
        shape = arguments[name].shape
        for axis, size in zip(form.axes, shape[len(shape) - len(form.axes) :], strict=True):
            first, length = sizes.setdefault(axis, (name, size))
            if axis in ROWS and size != length:
                return f"{first} has the length {length} along {axis}, and {name} has {size}"
    return ""


def _array(signature: Signature, name: str, given: object) -> Array:
    """Return an argument as a NumPy array of booleans, whole numbers, or floats of a known dtype.

    Raises Misuse for anything else, and for an array that does not fit into memory.
    """
    if isinstance(given, range):  # NumPy would convert it number by number
        with suppress(OverflowError):
            _require_room(signature, name, (len(given),))
            given = np.arange(given.start, given.stop, given.step)
    try:
        value = to_numpy(given)
    except Exception as error:
        raise signature.misuse(f"{name} is no array: {describe_exception(error)}") from None
    is_known = dtype_name(value) in DTYPES
    if value.dtype.kind not in WHOLE and not is_known:
        kind = in_line(value.dtype)
        raise signature.misuse(
            f"{name} holds {kind}, not numbers"
            if value.dtype.kind != "f"
            else f"{name} is in {kind}; it can be in {', '.join(DTYPES)}"
        )
    _require_room(signature, name, value.shape)
    if value.dtype.kind == "u" and value.size and value.max() > LARGEST_WHOLE:
        raise signature.misuse(f"{name} holds {value.max()}, and int64 ends at {LARGEST_WHOLE}")
    return value


def _number(signature: Signature, parameter: Parameter, given: object) -> int | float:
    """Return a parameter as a Python number.

    Raises Misuse for a value that is no number, not finite, or not whole where it must be.
    """
    whole = parameter.type == "integer"
    largest = WIDEST if whole and parameter.name.endswith("dim") else LARGEST_WHOLE
    expected = f"a whole number up to {largest}" if whole else "a finite number"
    with suppress(Exception):
        value = to_numpy(given)
        kind = "f" if dtype_name(value) in DTYPES else value.dtype.kind
        if not value.ndim and kind in ("iu" if whole else "iuf"):
            with without_warnings():
                number: int | float = (
                    value.astype(np.float64).item() if kind == "f" else value.item()
                )
            if abs(number) <= (largest if kind in "iu" else LARGEST):
                return number
    raise signature.misuse(f"{parameter.name} is {shown(given)}; it must be {expected}")


def _require_size(signature: Signature, shape: Sequence[int], result: Array | None) -> None:
    """Raise Misuse for an expected result that does not fit into memory.

    Raises AssertionError if ``result`` is smaller than a large expected result, which then need not
    be computed.
    """
    _require_room(signature, "its result", shape)
    if result is not None and prod(shape) > max(SMALL, result.size):
        call = signature.call
        raise AssertionError(
            f"{call.name}() returned shape {result.shape}; expected {(*shape,)}: {call.returns}"
        )


def _require_room(signature: Signature, what: str, shape: Sequence[int]) -> None:
    room = spare()
    if room and COPIES * 8 * prod(shape) > room:
        raise signature.misuse(
            f"{what} has the shape {(*shape,)}, for which {amount(room)} of memory are too few",
            "check a part of it, such as a few heads or rows",
        )


def _is_or_are(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _order(signature: Signature, shape: object) -> tuple[int, ...]:
    """Return, for each axis in the specification, its index in the user's arrays of rows.

    Raises Misuse for an invalid ``shape``, and for a call without arrays of rows.
    """
    if shape is None:
        return ()
    if not signature.has_rows:
        raise signature.misuse("it takes no shape=: none of its arrays has rows of channels")
    letters = list("".join(shape.lower().split())) if isinstance(shape, str) else []
    elsewhere = [place for place, letter in enumerate(letters) if letter in ROWS_ELSEWHERE]
    if ROW not in letters and len(elsewhere) == 1:
        letters[elsewhere[0]] = ROW
    is_spelt = {ROW, CHANNEL} <= set(letters) and all(map(str.isalpha, letters))
    if len(set(letters)) < len(letters) or not is_spelt:
        raise signature.misuse(
            f"shape={shown(shape)} names no order of axes",
            "write a letter for each axis: s for the sequence, d for the channels, any others for "
            "batch and heads, as in shape='bshd'",
        )
    leading = [number for number, letter in enumerate(letters) if letter not in (ROW, CHANNEL)]
    return (*leading, letters.index(ROW), letters.index(CHANNEL))


def _name(given: object) -> str:
    """Return the name of a call; raise Misuse if it is not text."""
    if isinstance(given, str):
        return str(given)
    raise Misuse(
        f"the name of a call is text, not {shown(given)}",
        "write check(result, 'rope', …) or expected('rope', …); 'posenc schemes' lists the calls",
    )


def shown(value: object) -> str:
    """Return a user's value as text, or its class if the text is long or its repr raises."""
    with suppress(Exception):
        text = repr(value)
        if len(text) <= LONGEST_SHOWN:
            return in_line(text)
    return f"a value of the class {in_line(type(value).__name__)}"
