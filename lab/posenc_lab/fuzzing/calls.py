"""Calls of ``check`` and ``expected`` with one or two odd arguments."""

import array
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import cache
from random import Random
from typing import Any

import ml_dtypes
import numpy as np

from posenc_conformance import check, expected
from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.implementations.reference import reference_for
from posenc_conformance.judge.subject import Subject
from posenc_conformance.judge.trial import First, Trial
from posenc_lab.judging import schemes

MISSING = object()
"""The value of an argument that the call leaves out."""


class Raising:
    """An object whose special methods and attributes raise."""

    def __getattr__(self, name: str) -> Any:
        raise KeyError(name)

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise ZeroDivisionError("\x1b[31m")

    def __repr__(self) -> str:
        raise AttributeError("__repr__")


class Lying:
    """An object whose ``__array__`` returns no array."""

    dtype, shape, ndim = "float32", (1, 2, 3), -1

    def __array__(self, *_: Any, **__: Any) -> Any:
        return "no array"


def _at(place: float) -> Callable[[Any], Any]:
    def change(right: Any) -> Any:
        changed = np.array(right, np.float64)
        changed[(0,) * changed.ndim] = place
        return changed

    return change


def _as(dtype: Any) -> Callable[[Any], Any]:
    return lambda right: np.asarray(right).astype(dtype)


def _torch(make: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    def change(right: Any) -> Any:
        import torch

        return make(torch, torch.tensor(np.asarray(right).astype(np.float32)))

    return change


PLAIN: Mapping[str, Any] = {
    **{"None": None, "True": True, "False": False, "text": "half", "no text": "", "bytes": b"\xff"},
    **{"a number in text": "4", "surrogate": "\ud800\x1b[31m\n", "long": "x" * 5000},
    **{"an object": object(), "raising": Raising(), "lying": Lying(), "a class": np.float32},
    **{"a function": len, "an empty list": [], "lists": [[]], "ragged": [1, [2]], "a dict": {}},
    **{"a set": {1}, "a list of text": ["half"], "a list of None": [None], "a slice": slice(1)},
    **{"nan": float("nan"), "infinity": float("inf"), "minus infinity": -float("inf")},
    **{"-1": -1, "0": 0, "1": 1, "2": 2, "3": 3, "0.5": 0.5, "-0.0": -0.0, "7.0": 7.0},
    **{"2**31": 2**31, "10**9": 10**9, "10**10": 10**10, "2**63": 2**63, "-2**63": -(2**63)},
    **{"10**30": 10**30, "10**400": 10**400, "10**5000": 10**5000, "-10**10": -(10**10)},
    **{"1e300": 1e300, "-1e300": -1e300, "5e-324": 5e-324, "complex": 1j},
    **{"Fraction": Fraction(1, 3), "Decimal": Decimal("1e9999"), "an ellipsis": ...},
    **{"no array": np.zeros(()), "of objects": np.array([None, "x"], object)},
    **{"of text": np.array(["half", "x"]), "of times": np.array(["2020-01-01"], "M8[D]")},
    **{"structured": np.zeros(2, [("a", "f4"), ("b", "i4")]), "seven axes": np.zeros((1,) * 7)},
    **{"missing": MISSING},
}
CHANGED: Mapping[str, Callable[[Any], Any]] = {
    "a list": lambda right: np.asarray(right).tolist(),
    "a tuple": lambda right: tuple(np.asarray(right).tolist()),
    "a generator": lambda right: (element for element in np.atleast_1d(right)),
    "a text": str,
    "one more axis": lambda right: np.asarray(right)[None],
    "two more axes": lambda right: np.asarray(right)[None, None],
    "a batch of two": lambda right: np.stack([np.asarray(right)] * 2),
    "a batch of none": lambda right: np.stack([np.asarray(right)] * 2)[:0],
    "one axis less": lambda right: np.atleast_1d(right)[0],
    "the first": lambda right: np.atleast_1d(right)[:1],
    "without the last": lambda right: np.atleast_1d(right)[..., :-1],
    "none": lambda right: np.atleast_1d(right)[..., :0],
    "no rows": lambda right: np.atleast_1d(right)[:0],
    "one number": lambda right: np.atleast_1d(right).flat[0],
    "flat": lambda right: np.ravel(right),
    "turned round": lambda right: np.asarray(right).T,
    "backward": lambda right: np.atleast_1d(right)[::-1],
    "columns first": lambda right: np.asfortranarray(right),
    "every other": lambda right: (
        np.repeat(np.asarray(right), 2, axis=-1)[..., ::2] if np.ndim(right) else right
    ),
    "spread": lambda right: np.broadcast_to(np.float32(0), (10**5, 10**5, 10**4)),
    "repeated": lambda right: np.repeat(np.atleast_1d(right), 2, axis=-1),
    "masked": lambda right: np.ma.masked_array(right, np.asarray(right) == 0),
    "a matrix": lambda right: np.matrix(np.atleast_2d(right)[..., 0, :].reshape(1, -1)),
    "of memory": lambda right: np.atleast_1d(right).data,
    "an array of Python": lambda right: array.array("d", np.ravel(right).astype(float).tolist()),
    "an element": lambda right: np.float32(np.ravel(right)[0] if np.size(right) else 0),
    "of no axes": lambda right: np.array(np.ravel(right)[0] if np.size(right) else 0),
    "of one": lambda right: np.ravel(right)[:1],
    "float64": _as(np.float64),
    "float32": _as(np.float32),
    "float16": _as(np.float16),
    "bfloat16": _as(ml_dtypes.bfloat16),
    "float8_e5m2": _as(ml_dtypes.float8_e5m2),
    "float8_e4m3fn": _as(ml_dtypes.float8_e4m3fn),
    "int4": _as(ml_dtypes.int4),
    "longdouble": _as(np.longdouble),
    "complex64": _as(np.complex64),
    "int8": _as(np.int8),
    "uint64": _as(np.uint64),
    "bool": _as(np.bool_),
    "objects": _as(object),
    "swapped bytes": lambda right: np.asarray(right).astype(">f4"),
    "negative": lambda right: -np.asarray(right).astype(np.float64),
    "much": lambda right: np.asarray(right).astype(np.float64) + 2.0**40,
    "more than int64": lambda right: np.asarray(right).astype(np.uint64) + np.uint64(2**63),
    "a little more": lambda right: np.asarray(right) + 0.25,
    "many": lambda right: np.asarray(right) * 10**9,
    "nan inside": _at(float("nan")),
    "infinity inside": _at(float("inf")),
    "-1 inside": _at(-1.0),
    "3e38 inside": _at(3e38),
    "1e308 inside": _at(1e308),
}
OF_TORCH: Mapping[str, Callable[[Any], Any]] = {
    "a tensor": _torch(lambda torch, right: right),
    "a tensor of bfloat16": _torch(lambda torch, right: right.to(torch.bfloat16)),
    "a tensor with a gradient": _torch(lambda torch, right: right.requires_grad_()),
    "a tensor without memory": _torch(lambda torch, right: right.to("meta")),
    "a sparse tensor": _torch(lambda torch, right: right.to_sparse()),
    "a tensor of float8": _torch(lambda torch, right: right.to(torch.float8_e5m2)),
    "a complex tensor": _torch(lambda torch, right: right.to(torch.complex64)),
    "a tensor of booleans": _torch(lambda torch, right: right.bool()),
    "whole numbers in a tensor": _torch(lambda torch, right: right.long()),
    "a packed tensor": _torch(
        lambda torch, right: torch.quantize_per_tensor(right, 0.1, 0, torch.qint8)
    ),
    "a dtype of torch": _torch(lambda torch, right: torch.float32),
}
ODD = [*PLAIN, *CHANGED]
"""Names of odd values for an argument."""


@cache
def _right_calls() -> dict[str, tuple[dict[str, Any], Any]]:
    """Return small arguments and the expected result of each call."""
    calls: dict[str, tuple[dict[str, Any], Any]] = {}
    for subject in subjects(reference_for(schemes())(), schemes()):
        if subject.name not in calls:
            calls[subject.name] = _right_call(subject)
    return calls


def _right_call(subject: Subject) -> tuple[dict[str, Any], Any]:
    scope = subject.scopes[0]
    dtype = "float32" if "float32" in scope.dtypes else scope.dtypes[0]
    trial = Trial(subject, scope, dtype, {}, First())
    case = trial.case(**subject.knowledge.arguments(trial))
    arguments = {**case.inputs, **case.conventions}
    return arguments, expected(subject.name, dtype=dtype, **arguments)


def right_call(random: Random) -> Any:
    """Return the description of a call with right arguments and a right or wrong result."""
    function = random.choice(("check", "check", "expected"))
    name = random.choice(list(_right_calls()))
    return {"function": function, "call": name, "wrong": random.random() < 0.4, "odd": {}}


def mutated_call(random: Random, described: Any) -> Any:
    """Return the description of a call with one or two odd arguments."""
    arguments, _ = _right_calls()[described["call"]]
    others = ["result", "call", "shape", "broadcast", "combination", "dtype", "unknown"]
    odd = {
        random.choice([*arguments] if random.random() < 0.7 else others): random.choice(ODD)
        for _ in range(random.choice((1, 1, 2)))
    }
    return {**described, "odd": odd}


def make_call(asked: Mapping[str, Any]) -> object:
    """Make the described call; errors propagate."""
    inputs, result = _right_calls()[asked["call"]]
    if asked["wrong"]:
        with np.errstate(all="ignore"):
            result = ~result if result.dtype == bool else (result * 3 + 1).astype(result.dtype)
    whole = {"result": result, "call": asked["call"], **inputs}
    for place, name in asked["odd"].items():
        with np.errstate(all="ignore"):
            whole[place] = odd_value(name, whole.get(place))
    result, call = whole.pop("result"), whole.pop("call")
    arguments = {name: value for name, value in whole.items() if value is not MISSING}
    return (
        expected(call, **arguments)
        if asked["function"] == "expected"
        else check(result, call, **arguments)
    )


def odd_value(name: str, right: Any) -> Any:
    """Return the odd value of this name; ``right`` itself if it can't be changed that way."""
    if name in PLAIN:
        return PLAIN[name]
    try:
        return {**CHANGED, **OF_TORCH}[name](right)
    except (IndexError, TypeError, ValueError, RuntimeError, NotImplementedError):
        return right
