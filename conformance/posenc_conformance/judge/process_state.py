"""The process state that implementations share with their callers."""

import locale
import os
import random
import sys
import threading
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

STATE: Mapping[str, tuple[Callable[[], Any], Callable[[Any], object]]] = {
    "NumPy's handling of floating-point errors": (
        np.geterr,
        lambda state: np.seterr(**state),
    ),
    "NumPy's print options": (np.get_printoptions, lambda state: np.set_printoptions(**state)),
    "the filters of warnings": (
        lambda: list(warnings.filters),
        # It is a list, although typed as a sequence.
        lambda state: warnings.filters.__setitem__(slice(None), state),  # type: ignore[index]
    ),
    "the locale": (
        lambda: locale.setlocale(locale.LC_ALL),
        lambda state: locale.setlocale(locale.LC_ALL, state),
    ),
}
"""State of the whole process: how to read it, and how to restore it."""


USUAL_STATE = {name: read() for name, (read, _) in STATE.items()}
"""This state before any implementation was called. Every watch starts from it: a permanent change
by one implementation would hide the same change by the next one."""


LEAVING = {name: act for name in ("_exit", "execv", "execve") if (act := vars(os).get(name))}
"""Functions of ``os`` that end this program; all others call one of them."""


@contextmanager
def preventing_exit() -> Iterator[None]:
    """Make functions of ``os`` that would end this process raise SystemExit instead.

    A forked child may exit. In another thread, where an exception would stop nothing, they end the
    process with a failure status.
    """
    usual = {name: vars(os)[name] for name in LEAVING}
    process, thread = os.getpid(), threading.get_ident()

    def leave(name: str, *given: Any, **named: Any) -> None:
        if os.getpid() != process:
            LEAVING[name](*given, **named)
        first = next(iter((*given, *named.values())), "")
        if threading.get_ident() != thread:
            os.write(2, f"os.{name}({first}) in a thread ended the run\n".encode())
            LEAVING["_exit"]((name == "_exit" and first) or 1)
        raise SystemExit(f"os.{name}({first})")

    vars(os).update({name: partial(leave, name) for name in LEAVING})
    try:
        yield
    finally:
        vars(os).update(usual)


def find_changes_by(action: Callable[[], object]) -> list[str]:
    """Name the process state that an action changes; run it a few times, and restore the state.

    Changes on the first run only are ignored: they come from imports.
    """
    with _watched():
        action()
    with _watched() as changed:
        action()
    generators = _generators()
    with _putting_back(generators.values()), _watching_default_dtype() as dtype:
        seeded = _seeded_by(action, generators)
    return [*changed, *dtype, *seeded]


@contextmanager
def _watched() -> Iterator[list[str]]:
    """Yield a list that receives the names of state changed in the block; restore it at the end."""
    changed: list[str] = []
    present = {name: read() for name, (read, _) in STATE.items()}
    for name, (_, put_back) in STATE.items():
        put_back(USUAL_STATE[name])
    try:
        yield changed
        changed += [
            name for name, (read, _) in STATE.items() if not _equal(read(), USUAL_STATE[name])
        ]
    finally:
        for name, (_, put_back) in STATE.items():
            put_back(present[name])


@contextmanager
def _watching_default_dtype() -> Iterator[list[str]]:
    """Yield a list that names PyTorch's default dtype in the end if it changed; restore it.

    The list stays empty if PyTorch is not imported.
    """
    changed: list[str] = []
    torch = sys.modules.get("torch")
    if torch is None:
        yield changed
        return
    dtype = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)  # an earlier call may have changed it already
    try:
        yield changed
        changed += ["PyTorch's default dtype"] * (torch.get_default_dtype() != torch.float32)
    finally:
        torch.set_default_dtype(dtype)


@dataclass(frozen=True)
class Generator:
    """A process-wide generator of random numbers."""

    read: Callable[[], Any]
    put_back: Callable[[Any], object]
    seed: Callable[[int], object]
    are_equal: Callable[[Any, Any], bool]
    """Whether two states are equal."""


STARTS = (1886351218, 1701736227)
"""Seeds from which a call begins: none that code would choose, or it would end where it began."""


def _generators() -> dict[str, Generator]:
    generators = {
        "NumPy's random state": Generator(
            lambda: np.random.get_state(legacy=False),  # noqa: NPY002  # the watched state
            np.random.set_state,
            np.random.seed,
            _equal,
        ),
        "Python's random state": Generator(random.getstate, random.setstate, random.seed, _equal),
    }
    if (torch := sys.modules.get("torch")) is not None:
        generators["PyTorch's random state"] = Generator(
            torch.random.get_rng_state, torch.random.set_rng_state, torch.manual_seed, torch.equal
        )
    return generators


def _seeded_by(action: Callable[[], object], generators: Mapping[str, Generator]) -> list[str]:
    """Name the random generators that an action seeds; run it at most twice.

    Drawing numbers is allowed: creating a module does that. A generator counts as seeded if it ends
    in the same state from two different starts.
    """
    ends = dict[str, list[Any]]()
    for seed in STARTS:
        starts = dict[str, Any]()
        for name, generator in generators.items():
            generator.seed(seed)
            starts[name] = generator.read()
        action()
        for name, generator in generators.items():
            if not generator.are_equal(end := generator.read(), starts[name]):
                ends.setdefault(name, []).append(end)
        if not ends:
            break
    return [
        name
        for name, generator in generators.items()
        if len(states := ends.get(name, [])) == 2 and generator.are_equal(*states)
    ]


@contextmanager
def _putting_back(generators: Collection[Generator]) -> Iterator[None]:
    before = [generator.read() for generator in generators]
    try:
        yield
    finally:
        for generator, state in zip(generators, before, strict=True):
            generator.put_back(state)


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other)
    return bool(one == other)
