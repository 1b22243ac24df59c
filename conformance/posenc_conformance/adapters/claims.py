"""The claims of an implementation."""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from posenc_conformance.errors import UserError, describe_exception, location_of

Method = TypeVar("Method")

ATTRIBUTE = "__posenc_claims__"
DEFAULT_MAX_POSITION = 131_071
"""Largest position of a call unless a claim names another. Many implementations build a table of
all positions, and a table up to 2**31 would exhaust the memory."""


@dataclass(frozen=True)
class Claim:
    """The arguments of one ``@claims``, not yet checked against the spec."""

    combinations: tuple[str, ...]
    dtypes: tuple[str, ...]
    max_position: int | None
    """Largest position of a call; None if the claim does not name it."""
    restrictions: Mapping[str, tuple[Any, ...]]
    when: Callable[..., Any] | None = None
    masked: bool = False
    broadcast: bool = False
    switches: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)

    @property
    def farthest(self) -> int:
        """Largest position of a call, claimed or by default."""
        return DEFAULT_MAX_POSITION if self.max_position is None else self.max_position


_declared: dict[tuple[str, str], str] = {}
"""File and line of each function with claims, by module and qualified name."""


def claims(
    *combinations: str,
    dtype: str | Iterable[str] = "float32",
    max_position: int | None = None,
    when: Callable[..., Any] | None = None,
    masked: bool = False,
    broadcast: bool = False,
    switches: Mapping[str, int | Iterable[int]] | None = None,
    **restrictions: Any,
) -> Callable[[Method], Method]:
    """Declare what an adapter's method implements.

    Several ``@claims`` on one method add up. A method that overrides one with claims inherits them,
    unless it has its own.

    Parameters
    ----------
    combinations : str
        Named combinations of conventions, such as ``"fairseq"``. Without any, the conventions
        given by keyword select the combination; those left out have the scheme's default.
    dtype : str or several
        Dtype of the results, and of x where the scheme has one: float64, float32, bfloat16 or
        float16.
    max_position : int
        Largest position of a call: 131,071 if left out, or for an engine the last one of the model,
        up to 1,048,575. Where a call takes k_len, keys are at positions 0 to k_len - 1, so that
        k_len is at most one more.
    when : callable
        The condition under which the claim holds, where values of single parameters cannot express
        it. It is a function of some arguments of the call, by name, such as
        ``lambda q_len, k_len: q_len == k_len`` or ``lambda rotary_dim: rotary_dim is not None``. It
        may also name ``dtype``, and parameters that follow from the shape of an array, such as
        ``head_dim``. The kit makes no call for which it is false.
    masked : bool
        Whether the result includes its mask: the entry of a key that a query must not see is -inf,
        or so low that the key gets no weight, in every head. If False, these entries are ignored.
    broadcast : bool
        For a bias: whether an axis along which it repeats may have length 1, or be left out at the
        front, as in BLOOM's ``[heads, 1, k_len]``. The bias is judged as broadcast to logits.
    switches : mapping
        Sizes at which the implementation switches to another kernel, or to the next chunk:
        ``{"rows": 2048, "token_heads": [1024, 10240]}``. ``rows`` counts rows of a sequence,
        ``heads`` leading entries of any kind, ``token_heads`` rows of all heads together. The kit
        adds calls just below, at and just above each size.
    restrictions
        Further limits of the claim, each with one value or a list. For an engine's ``rotary``,
        ``scores``, ``bias`` or ``encoding``, this is ``models``: ids of the models that it
        supports, or their names on Hugging Face; every model if left out. For other calls it is a
        convention (``layout="half"``), an optional ability (``rotation="partial"``) or a parameter
        that cannot be chosen freely (``base=10000.0``). The method must accept all other
        conventions, abilities and parameters by keyword.

    Raises
    ------
    UserError
        If ``@claims`` is used without parentheses, or on something that the kit cannot call, or if
        ``switches`` is no mapping.
    """
    if combinations and not isinstance(combinations[0], str):
        raise UserError(
            f"{location_of(combinations[0])}: @claims is used without parentheses, or is given "
            "something that is no name of a combination",
            'write @claims() for the default conventions, or @claims("half") for named ones',
        )
    if switches is not None and not isinstance(switches, Mapping):
        raise UserError(
            f"@claims(switches={switches!r}) does not say what is counted",
            'write switches={"rows": 2048}, with rows, heads or token_heads',
        )
    claim = Claim(
        combinations,
        several(dtype),
        max_position,
        {name: several(value) for name, value in restrictions.items()},
        when,
        masked,
        broadcast,
        {name: several(value) for name, value in (switches or {}).items()},
    )

    def declare(method: Method) -> Method:
        function = _function_of(method)
        try:
            setattr(function, ATTRIBUTE, (claim, *getattr(function, ATTRIBUTE, ())))
        except (AttributeError, TypeError):
            raise UserError(
                f"{location_of(function)}: @claims stands above something that keeps no "
                "attributes, such as a function in C",
                "call it from a method of your own, and put @claims above that",
            ) from None
        place = getattr(function, "__module__", ""), getattr(function, "__qualname__", "")
        _declared[place] = location_of(function)
        return method

    return declare


def _function_of(method: Any) -> Any:
    """Return the function to mark: for a static or class method, the one that it wraps.

    A static or class method has the attributes of its function. Raises UserError for a property,
    and for anything else that is no function.
    """
    if isinstance(method, property | cached_property):
        function = method.fget if isinstance(method, property) else method.func
        raise UserError(
            f"{location_of(function)}: @claims stands above a property",
            "the kit calls methods: make it a method that takes the call's arguments",
        )
    function = method.__func__ if isinstance(method, staticmethod | classmethod) else method
    if not callable(function) or inspect.isclass(function):
        raise UserError(
            f"{location_of(function)}: @claims stands above something that is not a function",
            "put it above the method that the kit should call",
        )
    return function


def claims_on(owner: object) -> dict[str, tuple[Claim, ...]]:
    """Return claims by the name of the method or function that they decorate.

    For an object or class, these are its own claims and the inherited ones; for a module, those of
    its functions.

    Raises UserError for a claim that the kit would never see.
    """
    by_name: dict[str, tuple[Claim, ...]] = {}
    for body in _bodies(owner):
        lost = dict(_declared_in(body))
        for name, value in vars(body).items():
            marks = _marks(value)
            if name in lost and not marks:
                raise UserError(
                    f"{lost[name]}: the claims of {name} are lost: the name now stands for "
                    "something else, such as the wrapper of a decorator above @claims",
                    "put @claims on top of the other decorators, or use functools.wraps in them",
                )
            if marks and name.startswith("_"):
                raise UserError(
                    f"{location_of(value)}: {name} claims something, but its name is private",
                    "name it like the call of the spec that it implements",
                )
            if marks and name not in by_name:
                by_name[name] = marks
    return by_name


def method_of(adapter: object, name: str) -> Any:
    """Return an adapter's attribute with the name of a call.

    Raises UserError if getting it fails.
    """
    try:
        return getattr(adapter, name)
    except Exception as error:
        raise UserError(
            f"{type(adapter).__name__} claims {name}(), but getting this attribute fails: "
            f"{describe_exception(error)}",
            "see its __getattribute__, or the descriptor under that name",
        ) from error


def _bodies(owner: object) -> list[Any]:
    """Return the objects in which attributes of the owner are looked up, the nearest first."""
    if inspect.ismodule(owner):
        return [owner]
    if inspect.isclass(owner):
        return list(owner.__mro__)
    return [*([owner] if hasattr(owner, "__dict__") else []), *type(owner).__mro__]


def _marks(value: Any) -> tuple[Claim, ...]:
    function = value.__func__ if isinstance(value, staticmethod | classmethod) else value
    try:
        marks = getattr(function, ATTRIBUTE, ())
    except Exception:  # a foreign object, whose attributes may do anything
        return ()
    claimed = isinstance(marks, tuple) and all(isinstance(mark, Claim) for mark in marks)
    return marks if claimed and not inspect.isclass(value) else ()


def _declared_in(owner: Any) -> Iterator[tuple[str, str]]:
    """Yield name and place of each function with claims in the body of a class or module."""
    if not inspect.isclass(owner) and not inspect.ismodule(owner):
        return
    module = owner.__module__ if inspect.isclass(owner) else owner.__name__
    prefix = f"{owner.__qualname__}." if inspect.isclass(owner) else ""
    for (of_module, qualname), place in _declared.items():
        name = qualname.removeprefix(prefix)
        if of_module == module and qualname == prefix + name and "." not in name:
            yield name, place


def several(value: Any) -> tuple[Any, ...]:
    """Return the values of a list, or the one value, as a tuple."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        return (value,)
    return tuple(value)
