"""The list of engines from outside: the inputs of each, and the expected answer of the kit."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from posenc_lab.deployed.engine import Engine
from posenc_lab.deployed.outside.configs import MODELS

CONTEXT = 1024
"""Tokens of the longest text, if a case says nothing else."""
FAR = 4352
"""Tokens of the longest text of a case whose mistake begins beyond 1,024."""


@dataclass(frozen=True)
class Case:
    """An engine, the options of its run, and the expected answer of the kit."""

    engine: type[Engine]
    config: str
    name: str
    right: bool
    about: str
    """What the engine does, in one line."""
    ids: frozenset[str] = frozenset()
    """Names that the kit has for the mistake. Each of them alone is a good answer."""
    words: str = ""
    """A pattern that a good first line matches, where the kit has no name yet."""
    report: str = ""
    """Where this mistake, or this right way, was reported: owner/repository#number."""
    doubt: str = ""
    """Why the case may be right although it is listed as wrong, or the other way round."""
    unseen: str = ""
    """Why no probe as it is written today can show the mistake."""
    dtype: str = "float32"
    cache: str = ""
    context: int = CONTEXT

    @property
    def kind(self) -> str:
        """The module that lists the case."""
        return "right" if self.right else self.engine.__module__.rpartition(".")[2]

    @property
    def models(self) -> tuple[str, ...]:
        """Models of the spec that the configuration stands for."""
        return MODELS[self.config]

    @property
    def id(self) -> str:
        """The name of the engine and of its configuration."""
        return f"{self.name}[{self.config}]"


CASES: list[Case] = []
Decorator = Callable[[type[Engine]], type[Engine]]


def right(
    config: str,
    *,
    name: str = "",
    about: str = "",
    report: str = "",
    doubt: str = "",
    dtype: str = "float32",
    cache: str = "",
    context: int = CONTEXT,
) -> Decorator:
    """Put an engine on the list as a right one."""

    def listed(engine: type[Engine]) -> type[Engine]:
        CASES.append(
            Case(
                engine,
                config,
                name or kebab(engine.__name__),
                True,
                about or first_line(engine),
                report=report,
                doubt=doubt,
                dtype=dtype,
                cache=cache,
                context=context,
            )
        )
        return engine

    return listed


def wrong(
    config: str,
    ids: str = "",
    *,
    words: str = "",
    name: str = "",
    about: str = "",
    report: str = "",
    doubt: str = "",
    unseen: str = "",
    dtype: str = "float32",
    cache: str = "",
    context: int = CONTEXT,
) -> Decorator:
    """Put an engine on the list as a wrong one; ``ids`` has the good names, with spaces between."""

    def listed(engine: type[Engine]) -> type[Engine]:
        CASES.append(
            Case(
                engine,
                config,
                name or kebab(engine.__name__),
                False,
                about or first_line(engine),
                frozenset(ids.split()),
                words,
                report,
                doubt,
                unseen,
                dtype,
                cache,
                context,
            )
        )
        return engine

    return listed


def kebab(name: str) -> str:
    """Return the name of a class in small letters with hyphens."""
    return re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower()


def first_line(engine: type[Engine]) -> str:
    """Return the first line of what a class says about itself."""
    return (engine.__doc__ or "").strip().splitlines()[0]
