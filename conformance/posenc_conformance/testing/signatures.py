"""Signatures of the specification's calls: how a test writes them, and with which arguments."""

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache

from posenc_conformance.errors import UserError, in_line
from posenc_conformance.judge.knowledge import KnownScheme
from posenc_conformance.registry import load_all
from posenc_conformance.scheme_file.axis_names import Form, form_of, forms_of
from posenc_conformance.scheme_file.scheme import Call, Parameter, Value
from posenc_conformance.testing.call_names import near_calls

OF_BOTH = re.compile(r"\bof q\b.*, then those of k\b")
"""What a call says that returns two arrays as one."""


class Misuse(UserError):
    """The error for a call of ``check`` or ``expected`` that cannot be answered."""


@dataclass(frozen=True, eq=False)
class Signature:
    """A call of the specification, as a test writes it."""

    scheme: KnownScheme
    call: Call

    @cached_property
    def forms(self) -> dict[str, Form]:
        """The axis names of each argument whose description lists them."""
        return forms_of(self.call)

    @property
    def has_rows(self) -> bool:
        """Whether any argument has a row of channels for each token."""
        return any(form.has_rows for form in self.forms.values())

    @cached_property
    def returned(self) -> Form | None:
        """The axis names of the result; None if its description lists none."""
        like = self.call.returns.removeprefix("like ")
        if self.call.kind == "in-place":
            like = "x"
        return self.forms.get(like) or form_of(self.call.returns)

    @property
    def has_both(self) -> bool:
        """Whether the result is that of queries and that of keys, joined."""
        return bool(OF_BOTH.search(self.call.returns))

    @cached_property
    def defaults(self) -> dict[str, Value | None]:
        """The default of each convention of the call; None for a convention without one."""
        axes = (axis for point in self.call.combinations.values() for axis in point.conventions)
        return {axis: self.scheme.conventions[axis].default for axis in dict.fromkeys(axes)}

    @cached_property
    def parameters(self) -> dict[str, Parameter]:
        """The parameters that are passed by keyword."""
        return {name: keyword for name, keyword in self.call.parameters.items() if keyword.passed}

    @property
    def text(self) -> str:
        """The call as a test writes it, with optional arguments in brackets."""
        parts = [f"{name}=…" for name in self.call.arguments]
        parts += [f"{name}=…" for name, keyword in self.parameters.items() if not keyword.when]
        parts += [f"{axis}={value!r}" for axis, value in self.defaults.items() if value is not None]
        free = [name for name, keyword in self.parameters.items() if keyword.when]
        free += [name for name in self.call.options if self.scheme.conventions[name].passed]
        parts += [f"[{name}=…]" for name in free]
        return f"check(result, {', '.join([repr(self.call.name), *parts])})"

    def misuse(self, what: str, hint: str = "") -> Misuse:
        """Make the error for arguments that do not fit, with the call's signature as a hint."""
        written = f"write {self.text}"
        return Misuse(f"{self.call.name}: {what}", f"{hint}\n{written}" if hint else written)


@lru_cache(maxsize=512)
def find_signature(name: str) -> Signature:
    """Find a call of the specification by its name, or by that of a scheme with a single call.

    Raises Misuse for an unknown name, and for a scheme with several calls.
    """
    schemes = load_all()
    homes = {call: scheme for scheme in schemes for call in scheme.calls}
    folded = name.lower().replace("-", "_")
    for call in (name, folded):
        if call in homes:
            return Signature(homes[call], homes[call].calls[call])
    for scheme in schemes:
        if name in (scheme.id, scheme.module_name):
            if len(scheme.calls) == 1:
                return Signature(scheme, *scheme.calls.values())
            raise Misuse(f"{name!r} has several calls", f"say which one: {', '.join(scheme.calls)}")
    near = near_calls(folded, homes)
    raise Misuse(
        f"the specification has no call {in_line(repr(name))}",
        f"did you mean {' or '.join(near)}?" if near else "'posenc schemes' lists all of them",
    )
