"""The scope of a claim: the cases that it covers, and how to call an engine for it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from posenc_conformance.errors import UserError, describe_exception, location_of
from posenc_conformance.judge.case import Case
from posenc_conformance.scheme_file.scheme import Value

SWITCHES = ("rows", "heads", "token_heads")
"""Quantities by which an implementation may branch: rows of a sequence, leading entries (batch and
heads), and rows of all of these together."""


@dataclass(frozen=True)
class Scope:
    """The cases that one claim covers under one combination."""

    options: Mapping[str, tuple[Value, ...]]
    parameters: Mapping[str, tuple[Any, ...]]
    dtypes: tuple[str, ...]
    max_position: int
    when: "Condition | None" = None
    masked: bool = False
    """Whether the result includes its mask."""
    broadcast: bool = False
    """Whether the result may leave out axes along which it repeats."""
    even_dim: bool = False
    """Whether odd dims are excluded, although the combination defines them."""
    switches: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Sizes at which the implementation branches, by the quantity counted."""

    def covers(self, case: Case) -> bool:
        """Return whether the claim covers this case."""
        chosen = case.conventions
        return (
            case.dtype in self.dtypes
            and case.largest_position <= self.max_position
            and all(
                chosen[name] in self.options.get(name, ())
                for name in case.call.options
                if name in chosen
            )
            and all(case.parameter(name) in (None, *some) for name, some in self.parameters.items())
            and not (self.even_dim and case.shape[-1] % 2)
            and (self.when is None or self.when.holds(case))
        )


@dataclass(frozen=True)
class Condition:
    """A claim's condition: a function that takes some arguments of a call."""

    function: Callable[..., Any]
    names: tuple[str, ...]

    def holds(self, case: Case) -> bool:
        """Return whether the condition is true for a case.

        Raises UserError if the function raises.
        """
        try:
            return bool(self.function(**{name: _value(case, name) for name in self.names}))
        except Exception as error:
            raise UserError(
                f"the condition {location_of(self.function)} of a claim raised "
                f"{describe_exception(error)}",
                "it gets the arguments that it names; one that a call does not use is None",
            ) from error


def _value(case: Case, name: str) -> Any:
    if name == "dtype":
        return case.dtype
    if name in case.arguments:
        return case.arguments[name]
    return case.parameter(name) if name in case.call.parameters else case.conventions.get(name)


@dataclass(frozen=True)
class Engine:
    """The engine call that replaces a scheme's call for one group of a model's layers."""

    model: str
    """Id of the model, or the name of the file that holds its configuration."""
    group: str
    """Id of the group of layers."""
    call: str
    """A key of ``call_kinds.ENGINE``."""
    keywords: Mapping[str, Any]
    """The configuration, and the layer, as keyword arguments."""
