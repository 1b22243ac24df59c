"""Drafts of an adapter's methods: source text that can be run."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from posenc_conformance.commands.init.calls.patience import patiently
from posenc_conformance.commands.init.candidates import Found, quiet
from posenc_conformance.scheme_file.scheme import Call

HEAD_DIM = "HEAD_DIM"
"""The placeholder in the text for the number of rotated channels."""
LENGTH = "length = 1 << int(positions.max(initial=63)).bit_length()"
"""The line that makes a table long enough for all positions: a power of two, to make few."""
EXACT_LENGTH = "length = int(positions.max(initial=63)) + 1"
"""The same for an object whose table has a length of its own, which a power of two may exceed."""
POSITIONS = {
    "torch": "to_torch(positions)",
    "jax": "jnp.asarray(positions)",
    "numpy": "positions",
}
ARRAY = {"torch": "to_torch(x)", "jax": "jnp.asarray(x)", "numpy": "x"}
IMPORTS = {"torch": ("import torch",), "jax": ("import jax.numpy as jnp",), "numpy": ()}
ONE_SEQUENCE = "not judged: a batch of several sequences"
IN_RUNS = "rows whose positions do not follow each other are given in calls of their own"
FIRST_RESULT = "not judged: all results but the first"
HELPERS = (
    "by_heads",
    "in_batch",
    "in_sequence",
    "in_stretches",
    "of_both",
    "of_each",
    "of_keys",
    "of_queries",
    "span",
    "written_over",
)
LENGTHS = range(64, 2**13 + 1)
"""Lengths of tables that are tried; a square one above takes too much memory."""
ZEROS = {
    "torch": "torch.zeros({})",
    "jax": "jnp.zeros(({}))",
    "numpy": "np.zeros(({}), np.float32)",
}


@dataclass(frozen=True, eq=False)
class Draft:
    """A way to make a call of the spec with parts of a library."""

    call: Call
    what: str
    """The names of the library's parts that the draft calls."""
    imports: tuple[str, ...]
    body: tuple[str, ...]
    """Lines of the method; the last one returns the result."""
    parts: tuple[Found, ...]
    """The parts of the library that the draft uses."""
    setup: tuple[str, ...] = ()
    """Lines before the class."""
    keywords: tuple[str, ...] = ()
    """Parameters and conventions that the method takes by keyword."""
    framework: str = "numpy"
    limit: int | None = None
    """Largest position at which a call is still cheap, if it takes whole sequences."""
    default_base: float | None = None
    """The default base in the library's signature, for a call that does not pass one."""
    left: tuple[str, ...] = ()
    """Names of optional parameters that are not passed, so that their effect is not judged."""
    both: tuple[str, ...] = ()
    """Lines of a method for queries and keys, for a call that takes both."""
    notes: tuple[str, ...] = ()
    """Further findings on the call, as text."""
    partial: bool = False
    """Whether the method takes rotary_dim."""

    @property
    def can_be_partial(self) -> bool:
        """Whether the parts that are called can work on fewer channels than x has."""
        return any(HEAD_DIM in line for line in self.body)

    @property
    def lengths_left(self) -> tuple[int, ...]:
        """The defaults of parameters that are not passed and may be lengths of tables."""
        defaults = (
            parameter.default
            for part in self.parts
            for parameter in part.parameters
            if parameter.name in self.left and type(parameter.default) is int
        )
        return tuple(sorted({each for each in defaults if each in LENGTHS}))

    def source(self, decorators: str = "") -> str:
        """Return the method as text."""
        keywords = [f"{name}{self._default(name)}" for name in self.keywords]
        star = ["*", *keywords] if keywords else []
        head = ", ".join(["self", *self.call.arguments, *star])
        lines = [f"def {self.call.name}({head}):", f'    """{self.what}."""']
        dim = f"{next(iter(self.call.arguments))}.shape[-1]"
        dim = f"rotary_dim or {dim}" if self.partial else dim
        dividend = f"({dim}) /" if self.partial else f"{dim} /"
        body = (line.replace(f"{HEAD_DIM} /", dividend) for line in self.body)
        lines += [f"    {line.replace(HEAD_DIM, dim)}" for line in body]
        return decorators + "".join(f"    {line}\n" for line in lines)

    def _default(self, name: str) -> str:
        """Return the default of a keyword that not every case has, as text; empty without one."""
        parameter = self.call.parameters.get(name)
        if parameter is not None and parameter.usual is not None:
            return f"={parameter.usual:g}"
        return "=None" if name == "rotary_dim" else ""

    def giving(self, *body: str, **changes: Any) -> "Draft":
        """Return the same draft with another body."""
        return replace(self, body=body, **changes)

    @property
    def method(self) -> Any:
        """The method, ready to be called with the arguments of the call.

        Raises any error of running the text.
        """
        lines = [*header([self]), *self.setup, "class Adapter:", self.source()]
        method = getattr(_adapter("\n".join(lines)), self.call.name)
        return patiently(method, self.parts)

    def value(self, arguments: Mapping[str, Any]) -> Any:
        """Call the method and return its result, of any type; None if it raises."""
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


def header(drafts: Sequence[Draft]) -> list[str]:
    """Return the imports for some drafts: standard library, packages, and the kit."""
    text = "\n".join(line for draft in drafts for line in (*draft.setup, *draft.body))
    lines = {line for draft in drafts for line in draft.imports} | {"import numpy as np"}
    names = ["claims", *(name for name in ("to_numpy", "to_torch") if f"{name}(" in text)]
    kit = [f"from posenc_conformance import {', '.join(names)}"]
    helpers = [name for name in HELPERS if f"{name}(" in text]
    if helpers:
        kit.append(f"from posenc_conformance.adapters import {', '.join(helpers)}")
    used = {line for line in lines if line.startswith("from ") or _binds(line, text)}
    own = _merged(sorted(used - {"import math"}, key=lambda line: (line.startswith("from "), line)))
    standard = ["from functools import lru_cache"] if "lru_cache" in text else []
    standard = (["import math"] if "import math" in used else []) + standard
    return [*standard, *([""] if standard else []), *own, *([""] if own else []), *kit]


def _merged(lines: Sequence[str]) -> list[str]:
    """Merge imports so that names of one module are on one line."""
    names: dict[str, list[str]] = {}
    for line in lines:
        module, _, name = line.partition(" import ")
        names.setdefault(module, []).append(name)
    return [
        f"{module} import {', '.join(members)}" if any(members) else module
        for module, members in names.items()
    ]


def _binds(line: str, text: str) -> bool:
    """Return whether a text uses the name that an import binds."""
    return re.search(rf"\b{line.split()[-1]}\.", text) is not None


def imported(found: Found) -> str:
    """Return the line that imports a candidate."""
    return f"from {found.module} import {found.path.partition('.')[0]}"


def default_of(found: Found, role_names: frozenset[str]) -> Any:
    """Return the default of the first parameter with one of these names, if it is a number."""
    for parameter in found.parameters:
        if parameter.name in role_names and isinstance(parameter.default, (int, float)):
            return float(parameter.default)
    return None
