"""Misbehaving readers for the fuzzer to find; run as its worker."""

import os
import signal
import sys
from pathlib import Path

import numpy as np

from posenc_conformance.door import named
from posenc_conformance.errors import UserError
from posenc_lab.fuzzing import trials
from posenc_lab.fuzzing.kinds import KINDS, Kind
from posenc_lab.fuzzing.mutators import mutated


def _raise(_: Path) -> None:
    raise KeyError("a")


def _raise_behind_the_door(path: Path) -> None:
    with named(path, "hint"):
        raise KeyError("a")


def _refuse(_: Path) -> None:
    raise UserError("it is wrong", "correct it")


def _loop(_: Path) -> None:
    while True:
        pass


def _loop_deafly(path: Path) -> None:
    signal.signal(signal.SIGPROF, signal.SIG_IGN)
    _loop(path)


def _take_memory(path: Path) -> None:
    with named(path, "hint"):
        np.ones(2**28)


def _die(_: Path) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


PLANTED = {
    "right": lambda _: None,
    "refuses": _refuse,
    "raises": _raise,
    "raises behind the door": _raise_behind_the_door,
    "loops": _loop,
    "loops deafly": _loop_deafly,
    "takes memory": _take_memory,
    "dies": _die,
}

if __name__ == "__main__":
    reader = PLANTED[sys.argv[1]]
    seen = iter(range(10**9))

    def read(path: Path) -> None:
        """Misbehave from the second input on: the first is read before limits apply."""
        if next(seen):
            reader(path)

    KINDS[sys.argv[1]] = Kind("a.txt", lambda random: mutated(random, b"1 2"), read)  # type: ignore[index]
    trials.work(sys.argv[1:])
