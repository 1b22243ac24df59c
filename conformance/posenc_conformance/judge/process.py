"""The process that implementations share with their callers."""

import locale
import os
import random
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

STATE: Mapping[str, tuple[Callable[[], Any], Callable[[Any], object]]] = {
    "NumPy's random state": (
        lambda: np.random.get_state(legacy=False),  # noqa: NPY002  # what is not to be touched
        np.random.set_state,
    ),
    "Python's random state": (random.getstate, random.setstate),
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


@contextmanager
def preventing_exit() -> Iterator[None]:
    """Keep ``os._exit`` from ending this process while it lasts: raise SystemExit instead.

    A child that was forked may exit. Another thread, which no exception would stop, ends the
    process with a status that is not taken for success.
    """
    usual = vars(os)["_exit"]
    process, thread = os.getpid(), threading.get_ident()

    def leave(status: int) -> None:
        if os.getpid() != process:
            usual(status)
        if threading.get_ident() != thread:
            os.write(2, f"os._exit({status}) in a thread ended the run\n".encode())
            usual(status or 1)
        raise SystemExit(f"os._exit({status})")

    vars(os)["_exit"] = leave
    try:
        yield
    finally:
        vars(os)["_exit"] = usual


def find_changes_by(action: Callable[[], object]) -> list[str]:
    """Name what an action changes in the process; do it a few times, and put everything back.

    What it changes the first time alone is no concern of its callers: something is imported then.
    """
    with _watched():
        action()
    with _watched() as changed:
        action()
    return changed + _torch_changes(action)


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


def _torch_changes(action: Callable[[], object]) -> list[str]:
    """Name what an action does to PyTorch for good, where that is imported; do it once or twice.

    Drawing random numbers is in order: every module does so that is made. Seeding them is not.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        return []
    state, dtype = torch.random.get_rng_state(), torch.get_default_dtype()
    ends = []
    torch.set_default_dtype(torch.float32)  # an earlier call may have changed it already
    try:
        for seed in (1, 2):
            torch.manual_seed(seed)
            start = torch.random.get_rng_state()
            action()
            ends.append(torch.random.get_rng_state())
            if torch.equal(start, ends[-1]):
                break
        changed = ["PyTorch's default dtype"] * (torch.get_default_dtype() != torch.float32)
        seeded = len(ends) == 2 and torch.equal(*ends)
        return changed + ["PyTorch's random state"] * seeded
    finally:
        torch.random.set_rng_state(state)
        torch.set_default_dtype(dtype)


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other)
    return bool(one == other)
