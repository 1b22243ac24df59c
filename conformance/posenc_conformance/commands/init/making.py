"""Instantiate a library's classes, and list the callables of an object."""

import inspect
import re
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from posenc_conformance.commands.init.calls.axes_said import axes_said
from posenc_conformance.commands.init.candidates import ACTS, Found, turns
from posenc_conformance.commands.init.roles import (
    PASSED_IF_OPTIONAL,
    CallText,
    call_text,
    roles_of,
)

SHORTEST = 16
"""A default length below is none of a table that a user would make."""
LONG = 2**15
"""Length of a table of which few are kept, to save memory."""
GENERAL = ("PreTrainedConfig", "PretrainedConfig")
"""Classes of transformers from which configurations of models are derived."""
CALLS = re.compile(r"forward|rotat|apply|embed|encod|bias|^get_")


@dataclass(frozen=True)
class Maker:
    """Code that makes an object, which is cached for calls with the same parameters."""

    line: str
    setup: tuple[str, ...]
    imports: tuple[str, ...]
    used: frozenset[str]
    left: tuple[str, ...] = ()
    """Names of optional parameters that the code does not pass."""


@dataclass(frozen=True)
class Target:
    """A function of the library, or a method of an object called ``module``."""

    text: str
    parameters: tuple[inspect.Parameter, ...]
    axes: str = ""
    """The axes of x that its texts name, as letters; empty if unknown."""


def maker(found: Found, offered: Mapping[str, str], also: Collection[str] = ()) -> Maker | None:
    """Return code that makes an object of a class; None if a parameter's meaning is unknown.

    ``also`` has roles of optional parameters that are passed beside the usual ones.
    """
    name = found.path
    line = f"from {found.module} import {name}"
    if any(_needs_config(parameter) for parameter in found.parameters):
        own = own_config(found)
        return _from_own(found, own, line, offered) if own else _from_config(found, line, offered)
    lengths = _own_lengths(found)
    passed = PASSED_IF_OPTIONAL.union(also) - ({"length"} if lengths else set())
    call = call_text(f"make_{found.named}", found.parameters, offered, passed)
    if call is None:
        return None
    if "rule" in call.used:  # a dict is no key of a cache
        made = f"module = {name}{call.text.removeprefix(f'make_{found.named}')}"
        return Maker(made, (), (line,), call.used, call.left)
    kept = 8 if max(lengths, default=0) <= LONG else 2
    setup = (f"make_{found.named} = lru_cache(maxsize={kept})({name})",)
    return Maker(f"module = {call.text}", setup, (line,), call.used, call.left)


def has_own_length(found: Found) -> bool:
    """Return whether objects of a class have tables of a length that is not passed."""
    return bool(_own_lengths(found))


def _own_lengths(found: Found) -> list[int]:
    """Return the default lengths of a class's tables, which its users meet.

    Indices beyond a table raise in NumPy and PyTorch; JAX moves them to its end.
    """
    if not found.is_class or found.framework == "jax":
        return []
    return [
        parameter.default
        for parameter in found.parameters
        if "length" in roles_of(parameter) and type(parameter.default) is int
        if parameter.default >= SHORTEST
    ]


def _needs_config(parameter: inspect.Parameter) -> bool:
    return "config" in roles_of(parameter) and parameter.default is inspect.Parameter.empty


def own_config(found: Found) -> type | None:
    """Return the class of the configuration that a class needs, if it is not of transformers.

    It is that of the annotation, or one of the same module whose name ends with Config.
    """
    said = next((each.annotation for each in found.parameters if _needs_config(each)), None)
    if said is None or not found.is_class:
        return None
    if said is inspect.Parameter.empty or not inspect.isclass(said):
        said = vars(sys.modules[found.value.__module__]).get(str(said)) or _config_class(found)
    general = inspect.isclass(said) and {base.__name__ for base in said.__mro__} & {*GENERAL}
    return said if inspect.isclass(said) and not general else None


def parameters_of(found: Found) -> tuple[inspect.Parameter, ...]:
    """Return the parameters of a candidate, and those of the configuration that it needs."""
    config = own_config(found)
    more = inspect.signature(config).parameters.values() if config else ()
    return (*found.parameters, *more)


def _from_own(found: Found, config: type, line: str, offered: Mapping[str, str]) -> Maker | None:
    """Return code that makes an object of a class that takes a configuration of its library."""
    settings = tuple(inspect.signature(config).parameters.values())
    passed = PASSED_IF_OPTIONAL | {"dim", "heads"}
    inner = call_text(config.__name__, settings, {**offered, "heads": "1"}, passed)
    outer = inner and call_text(found.path, found.parameters, {"config": inner.text})
    if inner is None or outer is None:
        return None
    imports = (line, f"from {config.__module__} import {config.__name__}")
    return Maker(f"module = {outer.text}", (), imports, inner.used, (*outer.left, *inner.left))


def _from_config(found: Found, line: str, offered: Mapping[str, str]) -> Maker | None:
    """Return code that makes an object of a class that takes a configuration of transformers.

    Returns None if the class needs more than that, or no base is offered.
    """
    config = _config_class(found)
    required = [param for param in found.parameters if param.default is inspect.Parameter.empty]
    if config is None or len(required) != 1 or "base" not in offered:
        return None
    setup = (
        "@lru_cache(maxsize=8)",
        f"def make_{found.named}(dim, base):",
        '    rope = {"rope_type": "default", "rope_theta": base}',
        f"    config = {config.__name__}(",
        "        hidden_size=dim, num_attention_heads=1, head_dim=dim, rope_parameters=rope",
        "    )",
        f"    return {found.path}(config)",
    )
    text = f"module = make_{found.named}({offered['dim']}, {offered['base']})"
    imports = (line, f"from {config.__module__} import {config.__name__}")
    return Maker(text, setup, imports, frozenset({"dim", "base"}))


def _config_class(found: Found) -> Any:
    names = vars(sys.modules[found.value.__module__]).items()
    return next(
        (
            value
            for name, value in names
            if name.endswith("Config") and name not in GENERAL and inspect.isclass(value)
        ),
        None,
    )


def callables(found: Found) -> Iterator[Target]:
    """Yield the callables of a candidate: the function itself, or the object and its methods."""
    if not found.is_class:
        yield _target(found, found.path, found.value, found.parameters)
        return
    for name in ("forward", "__call__"):
        if inspect.isfunction(vars_of(found.value).get(name)):
            text = "module" if _can_be_called(found.value) else f"module.{name}"
            method = vars_of(found.value)[name]
            yield _target(found, text, method, _parameters(found.value, name))
            break
    for name, value in vars_of(found.value).items():
        public = not name.startswith("_") and name != "forward"
        if not (public and inspect.isfunction(value)):
            continue
        parameters = _parameters(found.value, name)
        if CALLS.search(name) or (turns(parameters) and not ACTS.search(name)):
            yield _target(found, f"module.{name}", value, parameters)


def _target(
    found: Found, text: str, function: Any, parameters: tuple[inspect.Parameter, ...]
) -> Target:
    """Return a callable with the axes that its own docstring names, or else that of its class."""
    own, whole = function.__doc__, found.value.__doc__ if found.is_class else None
    said = [axes_said([each or ""], parameters) for each in (own, whole)]
    return Target(text, parameters, next(filter(None, said), ""))


def _can_be_called(cls: type) -> bool:
    """Return whether objects of a class are callable, as modules of PyTorch are."""
    return any("__call__" in vars(base) for base in cls.__mro__)


def unused_methods(found: Found, body: str) -> list[str]:
    """Return the public methods of a class that take arrays and are not called in a text.

    An object's own call, and what makes a bias, are listed whatever they take.
    """
    methods = {
        name: value.__func__ if isinstance(value, staticmethod) else value
        for name, value in vars_of(found.value).items()
        if name == "__call__" or not name.startswith("_")
    }
    direct = next((name for name in ("forward", "__call__") if name in methods), "")
    called_ones = {
        value
        for name, value in methods.items()
        if inspect.isfunction(value)
        if any(f"{own}.{name}(" in body for own in ("module", found.path))
        or (name == direct and "module(" in body)
    }
    if "forward" in methods and inspect.isfunction(methods.get("__call__")):
        del methods["__call__"]  # it is the same, or calls it
    return [
        name
        for name, value in methods.items()
        if inspect.isfunction(value) and value not in called_ones
        if name == direct or "bias" in name or _takes_arrays(value)
    ]


def _takes_arrays(function: Any) -> bool:
    parameters = list(inspect.signature(function).parameters.values())
    return any({"x", "other"} & {*roles_of(each)[:1]} for each in parameters)


def vars_of(cls: type) -> dict[str, Any]:
    """Return the attributes of a class and of its bases in its own library."""
    root = cls.__module__.partition(".")[0]
    names: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        if base.__module__.partition(".")[0] == root and base is not object:
            names |= vars(base)
    return names


def _parameters(cls: type, name: str) -> tuple[inspect.Parameter, ...]:
    parameters = list(inspect.signature(getattr(cls, name)).parameters.values())
    return tuple(parameters[1:])


def called(callable_: Target, offered: Mapping[str, str]) -> CallText | None:
    """Return the text of a call with offered expressions; None if a parameter remains unknown."""
    return call_text(callable_.text, callable_.parameters, offered)
