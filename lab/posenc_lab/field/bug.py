"""What a bug of the bench is: wrong code with a claim, and the name that would be right."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from posenc_conformance import claims

Array = npt.NDArray[Any]
Answer = Callable[..., Any]

BUGS: list["Bug"] = []


@dataclass(frozen=True)
class Bug:
    """A stateless wrong implementation that the kit has not been made for."""

    call: str
    answer: Answer
    claimed: tuple[str, ...]
    limits: dict[str, Any]
    right: tuple[str, ...]
    """Names that are right; none if the specification knows no such mistake."""
    thread: str
    """Address of the public thread that it was rebuilt from; empty if it is made up."""

    @property
    def name(self) -> str:
        """Call and function, which are its own."""
        return f"{self.call}:{self.answer.__name__}"

    @property
    def meaning(self) -> str:
        """What is wrong, in a sentence."""
        return str(self.answer.__doc__).partition("\n")[0]

    @property
    def adapter(self) -> object:
        """What the kit judges."""

        def method(_: object, *arguments: Any, **keywords: Any) -> Any:
            with np.errstate(all="ignore"):
                return self.answer(*arguments, **keywords)

        claim = claims(*self.claimed, **self.limits)
        return type("Field", (), {self.call: claim(method)})()


def bug(
    call: str,
    claimed: str,
    right: str | Iterable[str] = (),
    thread: str = "",
    **limits: Any,
) -> Callable[[Answer], Answer]:
    """Put a wrong function on the bench; threads are given as ``owner/name#number``."""

    def put(answer: Answer) -> Answer:
        names = (right,) if isinstance(right, str) else tuple(right)
        place, _, number = thread.partition("#")
        address = f"https://github.com/{place}/issues/{number}" if thread else ""
        BUGS.append(Bug(call, answer, (claimed,), limits, names, address))
        return answer

    return put
