"""Putting a question to an implementation."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from posenc_conformance.errors import told
from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.subject import Held, Misbehaviour, Subject
from posenc_conformance.judge.verdict import Declined


def asked(subject: Subject, case: Case, inputs: Mapping[str, Any] | None = None) -> Array:
    """The implementation's result; for inputs of an unusual form whatever array it returns.

    Raises Misbehaviour that tells the call as well, and Declined if the implementation says that
    it does not do this, by NotImplementedError.
    """
    with _told(case):
        return subject.run(case) if inputs is None else subject.invoke(case, inputs)


def held(subject: Subject, case: Case, inputs: Mapping[str, Any]) -> Held:
    """The implementation's result in the memory where it has it.

    Raises Misbehaviour that tells the call as well.
    """
    with _told(case):
        return subject.held(case, inputs)


def changes(subject: Subject, case: Case) -> list[str]:
    """What a call changes that belongs to the whole process in which the implementation lives.

    Raises Misbehaviour that tells the call as well.
    """
    with _told(case):
        return subject.changes(case)


@contextmanager
def _told(case: Case) -> Iterator[None]:
    try:
        yield
    except Misbehaviour as problem:
        if isinstance(problem.__cause__, NotImplementedError):
            raise Declined(f"declined with {told(problem.__cause__)}") from problem
        raise type(problem)(f"{problem}\n{call_line(case)}") from problem.__cause__


def call_line(case: Case) -> str:
    """What was called, as a line of an explanation."""
    return f"call       {call_text(case)}"


def call_text(case: Case) -> str:
    """The call, short enough to read."""
    shown = [f"{name}={_short(value)}" for name, value in case.arguments.items()]
    shown += [f"{name}={value!r}" for name, value in case.conventions.items()]
    return f"{case.call.name}({', '.join(shown)}) in {case.dtype}"


def _short(value: object) -> str:
    if not isinstance(value, np.ndarray):
        return repr(value)
    if value.size <= 8 and value.ndim == 1:
        return str(value.tolist())
    return f"array{value.shape}"
