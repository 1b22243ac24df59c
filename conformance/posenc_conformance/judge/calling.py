"""Calling an implementation."""

from collections.abc import Iterator
from contextlib import contextmanager
from math import prod

import numpy as np

from posenc_conformance.errors import describe_exception
from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.call_kinds import IDS
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.in_memory import Held
from posenc_conformance.judge.misbehaviour import Misbehaviour, Refusal
from posenc_conformance.judge.subject import Subject
from posenc_conformance.judge.verdict import Declined, TookTooLong
from posenc_conformance.judge.warnings_off import as_usual
from posenc_conformance.scheme_file.scheme import Arguments


def ask(subject: Subject, case: Case, inputs: Arguments | None = None) -> Array:
    """Return the implementation's result for a case; with ``inputs``, return any array unchecked.

    Raises Misbehaviour, whose text includes the call, and Declined if the implementation raises
    NotImplementedError, or refuses to number no tokens.
    """
    with _with_call_context(case):
        return subject.run(case) if inputs is None else subject.invoke(case, inputs)


def hold(subject: Subject, case: Case, inputs: Arguments) -> Held:
    """Return the result for a case in the implementation's own memory.

    Raises Misbehaviour, whose text includes the call, and Declined as :func:`ask` does.
    """
    with _with_call_context(case):
        return subject.hold(case, inputs)


def find_changes(subject: Subject, case: Case) -> list[str]:
    """Name the changes that a call makes to the state of the implementation's process.

    Raises Misbehaviour, whose text includes the call, and Declined as :func:`ask` does.
    """
    with _with_call_context(case):
        return subject.changes(case)


@contextmanager
def _with_call_context(case: Case) -> Iterator[None]:
    try:
        with as_usual():
            yield
    except Misbehaviour as problem:
        if isinstance(problem.__cause__, NotImplementedError):
            raise Declined(f"declined with {describe_exception(problem.__cause__)}") from problem
        if isinstance(problem, Refusal) and case.call.kind == IDS and not prod(case.shape):
            raise Declined(f"refuses to number nothing: {problem}") from problem
        raise type(problem)(f"{problem}\n{call_line(case)}") from problem.__cause__
    except TookTooLong as problem:
        raise TookTooLong(f"{problem.reason}\n{call_line(case)}") from None


def call_line(case: Case) -> str:
    """Return the call as a line of an explanation."""
    return f"call       {call_text(case)}"


def call_text(case: Case) -> str:
    """Return the call in a form that is short enough to read."""
    shown = [f"{name}={_short(value)}" for name, value in case.arguments.items()]
    shown += [f"{name}={value!r}" for name, value in case.conventions.items()]
    return f"{case.call.name}({', '.join(shown)}) in {case.dtype}"


def _short(value: object) -> str:
    if not isinstance(value, np.ndarray):
        return repr(value)
    if value.size <= 8 and value.ndim == 1:
        return str(value.tolist())
    return f"array{value.shape}"
