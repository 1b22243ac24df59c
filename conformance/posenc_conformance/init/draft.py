"""A method of an adapter as text, and calling it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from posenc_conformance.init.find import Found, quiet
from posenc_conformance.spec import Call

HEAD_DIM = "HEAD_DIM"
"""Stands in the text for the number of channels that are rotated."""
LENGTH = "length = 1 << int(positions.max(initial=63)).bit_length()"
"""Of a table that holds all positions; a power of two, so that few tables are made."""
POSITIONS = {
    "torch": "to_torch(positions)",
    "jax": "jnp.asarray(positions)",
    "numpy": "positions",
}
ARRAY = {"torch": "to_torch(x)", "jax": "jnp.asarray(x)", "numpy": "x"}
IMPORTS = {"torch": ("import torch",), "jax": ("import jax.numpy as jnp",), "numpy": ()}
ZEROS = {"torch": "torch.zeros({})", "jax": "jnp.zeros(({}))", "numpy": "np.zeros(({}))"}


@dataclass(frozen=True, eq=False)
class Draft:
    """How a call of the spec may be made with what a library has."""

    call: Call
    what: str
    """What it calls, in words."""
    imports: tuple[str, ...]
    body: tuple[str, ...]
    """Lines of the method; the last one returns the result."""
    parts: tuple[Found, ...]
    """What it uses of the library."""
    setup: tuple[str, ...] = ()
    """Lines before the class."""
    keywords: tuple[str, ...] = ()
    """Parameters and conventions that the method takes by keyword."""
    framework: str = "numpy"
    limit: int | None = None
    """Largest position at which a call is still cheap, if it takes whole sequences."""
    default_base: float | None = None
    """Base of the library's own signature, where a call does not pass one."""
    partial: bool = False
    """Whether the method is told rotary_dim."""

    @property
    def can_be_partial(self) -> bool:
        """Whether what is called can be made for fewer channels than x has."""
        return any(HEAD_DIM in line for line in self.body)

    def source(self, decorators: str = "") -> str:
        """The method."""
        keywords = [f"{each}=None" if each == "rotary_dim" else each for each in self.keywords]
        star = ["*", *keywords] if keywords else []
        head = ", ".join(["self", *self.call.arguments, *star])
        lines = [f"def {self.call.name}({head}):", f'    """{self.what}."""']
        dim = "rotary_dim or x.shape[-1]" if self.partial else "x.shape[-1]"
        lines += [f"    {line.replace(HEAD_DIM, dim)}" for line in self.body]
        return decorators + "".join(f"    {line}\n" for line in lines)

    def giving(self, *body: str, **changes: Any) -> "Draft":
        """The same draft with another body."""
        return replace(self, body=body, **changes)

    @property
    def method(self) -> Any:
        """The method, ready to be called with the arguments of the call.

        Raises whatever running the text raises.
        """
        lines = [*header([self]), *self.setup, "class Adapter:", self.source()]
        return getattr(_adapter("\n".join(lines)), self.call.name)

    def value(self, arguments: Mapping[str, Any]) -> Any:
        """What the method returns, of any type; None if it raises."""
        try:
            with quiet():
                return self.method(**arguments)
        except (Exception, SystemExit):
            return None


@cache
def _adapter(source: str) -> Any:
    names: dict[str, Any] = {"np": np}
    exec(source, names)
    return names["Adapter"]()


def header(drafts: list[Draft]) -> list[str]:
    """The imports of some drafts: standard library, packages, and the kit."""
    text = "\n".join(line for each in drafts for line in (*each.setup, *each.body))
    own = sorted({line for each in drafts for line in each.imports})
    lines = ["from functools import lru_cache", ""] if "lru_cache" in text else []
    lines += ["import numpy as np"] if "np." in text.replace("jnp.", "") else []
    used = [line for line in own if not line.startswith("import ") or _name(line) in text]
    kit = ["claims"] + [n for n in ("to_numpy", "to_torch") if f"{n}(" in text]
    where = {"to_numpy": "posenc_conformance.arrays"}
    lines += sorted(line for line in used if line.startswith("import "))
    lines += sorted(line for line in used if not line.startswith("import "))
    lines += [
        f"from {where.get(name, 'posenc_conformance')} import {name}"
        for name in kit
        if name in where
    ]
    names = ", ".join(name for name in kit if name not in where)
    return [*lines, f"from posenc_conformance import {names}"]


def _name(line: str) -> str:
    """The name that an import binds, with a dot behind it."""
    return line.rpartition(" ")[2] + "."


def imported(found: Found) -> str:
    """The line that imports what was found."""
    return f"from {found.module} import {found.path.partition('.')[0]}"


def default_of(found: Found, role_names: frozenset[str]) -> Any:
    """The default of the first parameter with one of these names, if it is a number."""
    for each in found.parameters:
        if each.name in role_names and isinstance(each.default, (int, float)):
            return float(each.default)
    return None

