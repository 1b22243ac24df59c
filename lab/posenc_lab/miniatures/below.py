"""Mistakes with negative positions that any call with positions can make."""

from collections.abc import Callable
from typing import Any

import numpy as np

from posenc_lab.miniatures.base import Array, Mistake, made


def below_zero(steps: type[Mistake], claimed: str) -> None:
    """Register two mistakes that claim negative positions, made from a right f(x, positions, …)."""
    for words, place in (
        ("of magnitudes", np.abs),
        ("from the end of a table", lambda positions: positions % 4096),
    ):
        made(
            steps,
            f"{steps.__name__} {words}",
            "A negative position taken for another one.",
            claimed=(claimed,),
            limits={"domain": "negative"},
            answer=_at(steps, place),
        )


def _at(steps: type[Mistake], place: Callable[[Array], Array]) -> Callable[..., Any]:
    def answer(self: Mistake, x: Array, positions: Array, *rest: Any, **keywords: Any) -> Any:
        return steps.answer(self, x, place(positions), *rest, **keywords)

    return answer
