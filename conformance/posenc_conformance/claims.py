"""What an implementation says it does."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

Method = TypeVar("Method", bound=Callable[..., Any])

ATTRIBUTE = "__posenc_claims__"
DEFAULT_MAX_POSITION = 131_071
"""Largest position asked for unless a claim says more: many implementations build a table of all
positions, and a table up to 2**31 would take the machine down."""


@dataclass(frozen=True)
class Claim:
    """One ``@claims`` line, as written; the spec gives it meaning."""

    combinations: tuple[str, ...]
    dtypes: tuple[str, ...]
    max_position: int
    restrictions: Mapping[str, tuple[Any, ...]]


def claims(
    *combinations: str,
    dtype: str | Iterable[str] = "float32",
    max_position: int = DEFAULT_MAX_POSITION,
    **restrictions: Any,
) -> Callable[[Method], Method]:
    """Declare on an adapter's method what it implements.

    Several ``@claims`` on one method add up.

    Parameters
    ----------
    combinations : str
        Named combinations of conventions, such as ``"fairseq"``. Without any, the conventions
        given by keyword say which is meant; those left out have the scheme's default.
    dtype : str or several
        Of the results, and of x where the scheme has one: float64, float32, bfloat16, float16.
    max_position : int
        Largest position that may be asked for.
    restrictions
        A convention (``layout="half"``), an optional ability (``rotation="partial"``) or a
        parameter that cannot be chosen freely (``base=10000.0``), with one value or a list.
        The method must accept, by keyword, whatever is left open.
    """
    claim = Claim(
        combinations,
        _several(dtype),
        max_position,
        {name: _several(value) for name, value in restrictions.items()},
    )

    def declare(method: Method) -> Method:
        setattr(method, ATTRIBUTE, (claim, *getattr(method, ATTRIBUTE, ())))
        return method

    return declare


def _several(value: Any) -> tuple[Any, ...]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        return (value,)
    return tuple(value)
