"""The process that implementations share with their callers."""

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
        lambda found: np.seterr(**found),
    ),
    "NumPy's print options": (np.get_printoptions, lambda found: np.set_printoptions(**found)),
    "the filters of warnings": (
        lambda: list(warnings.filters),
        # A list, which is typed as a sequence.
        lambda found: warnings.filters.__setitem__(slice(None), found),  # type: ignore[index]
    ),
    "the locale": (
        lambda: locale.setlocale(locale.LC_ALL),
        lambda found: locale.setlocale(locale.LC_ALL, found),
    ),
}
"""What belongs to the whole process: how to read it, and how to put it back."""


USUAL_STATE = {name: read() for name, (read, _) in STATE.items()}
"""This state before any implementation was called. Every watch starts from it: a change that one
implementation has left for good would hide the same change by the next."""


LEAVING = {name: act for name in ("_exit", "execv", "execve") if (act := vars(os).get(name))}
"""Functions of ``os`` after which this process does nothing more; all others call one of them."""


@contextmanager
def preventing_exit() -> Iterator[None]:
    """Keep functions of ``os`` from ending this process while it lasts: raise SystemExit instead.

    A child that was forked may exit. Another thread, which no exception would stop, ends the
    process with a status that is not taken for success.
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
    """Name what an action changes in the process; do it a few times, and put everything back.

    What it changes the first time alone is no concern of its callers: something is imported then.
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
    """Yield a list that gets the names of what a block changes; put everything back at its end."""
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
    """Yield a list that says in the end whether PyTorch's default dtype was changed; put it back.

    It stays empty where PyTorch is not imported.
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
    """A generator of random numbers that belongs to the whole process."""

    read: Callable[[], Any]
    put_back: Callable[[Any], object]
    seed: Callable[[int], object]
    are_equal: Callable[[Any, Any], bool]
    """Whether two states are the same."""


def _generators() -> dict[str, Generator]:
    found = {
        "NumPy's random state": Generator(
            lambda: np.random.get_state(legacy=False),  # noqa: NPY002  # what must not be seeded
            np.random.set_state,
            np.random.seed,
            _equal,
        ),
        "Python's random state": Generator(random.getstate, random.setstate, random.seed, _equal),
    }
    if (torch := sys.modules.get("torch")) is not None:
        found["PyTorch's random state"] = Generator(
            torch.random.get_rng_state, torch.random.set_rng_state, torch.manual_seed, torch.equal
        )
    return found


def _seeded_by(action: Callable[[], object], generators: Mapping[str, Generator]) -> list[str]:
    """Name the generators of random numbers that an action seeds; do it twice at most.

    Drawing numbers is in order: modules do so that are made. Seeded is a generator that ends alike
    from two beginnings.
    """
    ends = dict[str, list[Any]]()
    for seed in (1, 2):
        starts = dict[str, Any]()
        for name, each in generators.items():
            each.seed(seed)
            starts[name] = each.read()
        action()
        for name, each in generators.items():
            if not each.are_equal(end := each.read(), starts[name]):
                ends.setdefault(name, []).append(end)
        if not ends:
            break
    return [
        name
        for name, each in generators.items()
        if len(found := ends.get(name, [])) == 2 and each.are_equal(*found)
    ]


@contextmanager
def _putting_back(generators: Collection[Generator]) -> Iterator[None]:
    before = [each.read() for each in generators]
    try:
        yield
    finally:
        for each, state in zip(generators, before, strict=True):
            each.put_back(state)


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other)
    return bool(one == other)
