"""What somebody asks of the specification: a call with arrays of their own, in their own order."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from posenc_conformance.errors import describe_exception, printable
from posenc_conformance.judge.arrays import DTYPES, Array, dtype_name, round_to, to_numpy
from posenc_conformance.judge.case import Case
from posenc_conformance.scheme_file.forms import ANY, Form
from posenc_conformance.scheme_file.model import ArgumentDict, Arguments, Point, Value
from posenc_conformance.testing.signatures import Signature, find_signature

COMBINATION = "combination"
"""The keyword that takes a combination of conventions by its name."""
ROW, CHANNEL = "s", "d"
"""Letters of a shape: the axis of the sequence, and that of the channels."""


@dataclass(frozen=True, eq=False)
class Question:
    """A call with arguments in the order of axes that the specification has."""

    signature: Signature
    arguments: Arguments
    """Arrays of floats in float64, of whole numbers in int64."""
    conventions: Point
    dtypes: Mapping[str, str]
    """Of each array of floats that came with a dtype, which one that was."""
    order: tuple[int, ...]
    """Which axis of somebody's arrays of rows each axis of the specification is; empty if they are
    the same."""

    @classmethod
    def of(cls, name: str, shape: str | None, given: Mapping[str, Any]) -> "Question":
        """Read a question from keyword arguments.

        Raises Misuse for what is missing, unknown or of the wrong form.
        """
        signature = find_signature(name)
        conventions = _conventions(signature, given)
        arguments, dtypes = _arguments(signature, given)
        order = _order(signature, shape)
        for argument, form in signature.forms.items():
            if order and form.has_rows and argument in arguments:
                value = arguments[argument]
                if value.ndim == len(order):
                    arguments[argument] = value.transpose(order)
                elif form.leading or len(form.axes) > 2:
                    raise signature.misuse(
                        f"{argument} has {value.ndim} axes, and shape={shape!r} has {len(order)}"
                    )
        return cls(signature, arguments, conventions, dtypes, order)

    @cached_property
    def batch(self) -> int | None:
        """How many sequences are asked for at once; None if the call is for all of them together.

        They are, if an array has one axis more than the specification says. The first axis is that
        of the sequences then.
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
                others = ", ".join(each for each in sizes if each != name)
                raise self.signature.misuse(
                    f"{name} has the shape {value.shape}, but {others} a batch of {size}"
                )
        return size

    def _is_batched(self, name: str, form: Form) -> bool:
        return not form.leading and self.arguments[name].ndim == len(form.axes) + 1

    def cases(self, dtype: str) -> Iterator[Case]:
        """Yield the call, or that of each sequence."""
        if self.batch is None:
            yield self._case(self.arguments, dtype)
            return
        for number in range(self.batch):
            given = dict(self.arguments)
            for name, form in self.signature.forms.items():
                if name in given and (form.leading or self._is_batched(name, form)):
                    value = given[name]
                    given[name] = value[number if len(value) > 1 else 0]
            yield self._case(given, dtype)

    def _case(self, arguments: Arguments, dtype: str) -> Case:
        signature = self.signature
        scheme, call = signature.scheme, signature.call
        case = Case(scheme, call, self.conventions, arguments, dtype, is_asked_once=True)
        try:
            _ = case.truth, case.shape, case.bound
        except (TypeError, ValueError, IndexError) as error:
            hint = "rows are the next-to-last axis unless shape= says otherwise, as in shape='bshd'"
            reordered = self.order or not signature.has_rows
            raise signature.misuse(describe_exception(error), "" if reordered else hint) from None
        return case

    def ordered(self, result: Array) -> Array:
        """Return a result with its axes in the specification's order."""
        return result.transpose(self.order) if self._is_reordered(result) else result

    def given_order(self, result: Array) -> Array:
        """Return a result of the specification with its axes in somebody's order."""
        return result.transpose(np.argsort(self.order)) if self._is_reordered(result) else result

    def _is_reordered(self, result: Array) -> bool:
        form = self.signature.returned
        return bool(self.order and form and form.has_rows and result.ndim == len(self.order))

    def dtype_of(self, result: Array) -> str:
        """Return the dtype in which a result is judged.

        Raises Misuse for a result that is not in a dtype of the specification, and for arrays of
        which it cannot be made.
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

    def require_held(self, dtype: str) -> None:
        """Raise Misuse for an array of floats whose values the result's dtype does not hold.

        The truth would be that of other values than the implementation was given.
        """
        if self.signature.call.dtype != "inputs":
            return
        for name, own in self.dtypes.items():
            values = self.arguments[name]
            if own != dtype and not np.array_equal(round_to(values, dtype), values, equal_nan=True):
                raise self.signature.misuse(
                    f"{name} is in {own}, and {dtype} does not hold its values",
                    f"give {name} in {dtype}, as the implementation computes with it",
                )

    @property
    def _leader(self) -> str:
        """The array whose dtype the result has: the first one of floats."""
        return next(iter(self.dtypes), "")


def _conventions(signature: Signature, given: Mapping[str, Any]) -> dict[str, Value]:
    """Return the conventions that are asked for: those given, else the defaults.

    A convention without a default may be any that the others leave open.

    Raises Misuse for values that the specification does not know, or not together.
    """
    axes = {**signature.defaults, **dict.fromkeys(signature.call.options)}
    for axis in axes:
        values = list(signature.scheme.conventions[axis].values)
        if axis in given and given[axis] not in values:
            raise signature.misuse(
                f"{axis}={_shown(given[axis])} is not known", f"{axis} is one of {values}"
            )
    chosen = dict(_combination(signature, given))
    for name, parameter in signature.parameters.items():
        if name in given:
            chosen |= parameter.when
    return chosen | {axis: given[axis] for axis in axes if axis in given}


def _combination(signature: Signature, given: Mapping[str, Any]) -> Point:
    """Return the conventions of the combination that is named, or is meant by what is given."""
    known = signature.call.combinations
    name = given.get(COMBINATION)
    if name is not None:
        if name not in known:
            raise signature.misuse(
                f"{COMBINATION}={_shown(name)} is not known", f"it has {', '.join(known)}"
            )
        return known[name].conventions
    wanted = {
        axis: given.get(axis, value)
        for axis, value in signature.defaults.items()
        if axis in given or value is not None
    }
    for name, parameter in signature.parameters.items():
        if name in given:
            wanted |= {axis: value for axis, value in parameter.when.items() if axis in wanted}
    for each in known.values():
        whole = {**signature.defaults, **each.conventions}
        if all(whole[axis] == value for axis, value in wanted.items()):
            return each.conventions
    raise signature.misuse(
        f"the specification does not have {wanted} together",
        f"it has the combinations {', '.join(known)}; 'posenc schemes {signature.scheme.id}' says "
        f"what they are, and {COMBINATION}= takes one of them",
    )


def _arguments(
    signature: Signature, given: Mapping[str, Any]
) -> tuple[ArgumentDict, dict[str, str]]:
    """Return the arguments as NumPy holds them, and the dtypes with which floats came.

    Raises Misuse for those that are missing or unknown, and for what is no number or array.
    """
    call = signature.call
    needed = [*call.arguments, *(n for n, each in signature.parameters.items() if not each.when)]
    known = [*needed, *signature.parameters, *signature.defaults, *call.options, COMBINATION]
    if unknown := [name for name in given if name not in known]:
        raise signature.misuse(f"it takes no {' and no '.join(unknown)}")
    if missing := [name for name in needed if name not in given]:
        raise signature.misuse(f"{' and '.join(missing)} {_is_or_are(missing)} missing")
    arguments: ArgumentDict = {}
    dtypes: dict[str, str] = {}
    for name in (*call.arguments, *signature.parameters):
        if name not in given:
            continue
        try:
            value = to_numpy(given[name])
        except Exception as error:
            raise signature.misuse(f"{name} is no array: {describe_exception(error)}") from None
        if value.dtype.kind not in "biuf" and dtype_name(value) not in DTYPES:
            raise signature.misuse(f"{name} holds {value.dtype}, not numbers")
        is_whole = value.dtype.kind in "biu"
        if not is_whole and hasattr(given[name], "dtype") and value.ndim:
            dtypes[name] = dtype_name(value)
        form = signature.forms.get(name)
        if form is not None and value.ndim < len(form.axes):
            wanted = ", ".join([*[ANY] * form.leading, *form.axes])
            raise signature.misuse(f"{name} has the shape {value.shape}; it must be [{wanted}]")
        exact = value.astype(np.int64 if is_whole else np.float64)
        arguments[name] = exact if exact.ndim else exact.item()
    return arguments, dtypes


def _is_or_are(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _order(signature: Signature, shape: str | None) -> tuple[int, ...]:
    """Return which axis of somebody's arrays of rows each axis of the specification is.

    Raises Misuse for a shape that names no order, and for a call without such arrays.
    """
    if shape is None:
        return ()
    if not signature.has_rows:
        raise signature.misuse("it takes no shape=: none of its arrays has rows of channels")
    letters = list(shape) if isinstance(shape, str) else []
    if len(set(letters)) < len(letters) or not {ROW, CHANNEL} <= set(letters):
        raise signature.misuse(
            f"shape={_shown(shape)} names no order of axes",
            "write a letter for each axis: s for the sequence, d for the channels, any others for "
            "batch and heads, as in shape='bshd'",
        )
    leading = [number for number, letter in enumerate(letters) if letter not in (ROW, CHANNEL)]
    return (*leading, letters.index(ROW), letters.index(CHANNEL))


def _shown(value: object) -> str:
    return printable(repr(value))[:80]
