"""A snippet that reproduces one failure, with only NumPy and the implementation."""

import inspect
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from posenc_conformance.adapters.find import Implementation, registered, target
from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.checks import LEVELS, Check, Options, checks_of
from posenc_conformance.checks.execution import Execution, execute
from posenc_conformance.checks.model_adapter import LEVEL, subjects_of
from posenc_conformance.checks.model_adapter import checks as checks_of_model
from posenc_conformance.commands.init.in_memory import load_here, load_or_guess
from posenc_conformance.commands.progress import Tell, silent
from posenc_conformance.commands.repro.conversation import conversation
from posenc_conformance.commands.repro.record import Given, Made, Recorded
from posenc_conformance.commands.repro.script import Script
from posenc_conformance.errors import UserError, in_line
from posenc_conformance.judge.arrays import Array, dtype_name, to_numpy
from posenc_conformance.judge.error_model import agrees, compare
from posenc_conformance.judge.form import EXACT
from posenc_conformance.judge.knowledge import KnownScheme
from posenc_conformance.judge.subject import MEMORY_OF_A_CALL
from posenc_conformance.judge.verdict import Verdict
from posenc_conformance.models.file import load_model, with_configuration
from posenc_conformance.models.file import paths as model_paths
from posenc_conformance.remote.command_line import Manifest, manifest_of
from posenc_conformance.remote.load import How, Isolation, load

BETWEEN_CALLS = ("second-call", "no-leak", "after-others", "results-last")
"""Behaviours whose failure needs all earlier calls, in their order."""


@dataclass(frozen=True)
class Circumstances:
    """What a run was given besides an implementation and a check."""

    options: Options
    how: How
    schemes: Sequence[KnownScheme]
    models: Sequence[Path] = ()
    memory_of_a_call: int = MEMORY_OF_A_CALL
    search_path: Sequence[str] = ()
    """Folders that the project's settings put on the search path."""
    progress: Tell = silent
    """Takes a line that says what is being done."""

    def load(self, name: str) -> Implementation:
        """Load an implementation: in this process, unless it is to have one of its own."""
        self.progress(f"loading {in_line(name)}")
        if self.how.place is Isolation.APART:
            return load_or_guess(name, self.how, self.schemes)
        return load_here(name)


def snippet(id: str, implementation_name: str, run: Circumstances) -> str:
    """Return Python text that makes the failing calls and shows the error in the result.

    For a program, return a shell command that sends the same requests.

    Raises UserError if the implementation claims no such check, or the check passes or is blocked.
    """
    manifest = manifest_of(implementation_name)
    if manifest is not None:
        return _asked_again(id, implementation_name, manifest, run)
    implementation = run.load(implementation_name)
    try:
        check, subject = _check(id, implementation, run)
        run.progress(f"running {in_line(id)}")
        wrong = _failure(check, run.options)
    finally:
        implementation.end()
    name = check.id.partition("[")[0] if check.level == "behaviour" else ""
    last = _failing(subject.calls, wrong, name)
    calls = subject.calls[: last + 1]
    result = _repeated(run.load(implementation_name), subject, calls[-1])
    python = [f"run it with {run.how.python}"] if run.how.python else []
    comments = [id, wrong.text.splitlines()[0], *python]
    script = Script(comments, result, is_apart=run.how.place is Isolation.APART)
    script.search(run.search_path)
    script.adapter = (
        f"{_write_loading(implementation_name, script, implementation, run.how)}.{subject.name}"
    )
    if name in BETWEEN_CALLS:
        _write_sequence(script, calls, name)
    elif _is_like(calls[-1], result) or name in ("no-alias", "inputs-untouched"):
        _write_call(script, calls[-1], wrong, name, result)
    else:  # the call does not fail alone
        _write_sequence(script, calls, "after-others")
    return script.text


def _asked_again(id: str, name: str, manifest: Manifest, run: Circumstances) -> str:
    program = load(name, run.how, run.schemes)
    try:
        check, subject = _check(id, program, run)
        run.progress(f"running {in_line(id)}")
        wrong = _failure(check, run.options)
    finally:
        program.end()
    behaviour = check.id.partition("[")[0] if check.level == "behaviour" else ""
    last = _failing(subject.calls, wrong, behaviour)
    first = 0 if behaviour in BETWEEN_CALLS else last
    title = [id, wrong.text.splitlines()[0]]
    return conversation(title, manifest, subject.name, subject.calls[first : last + 1])


def _check(id: str, implementation: Implementation, run: Circumstances) -> tuple[Check, Recorded]:
    """Return the check with this id, and the subject that records the check's calls.

    Raises UserError if there is none.
    """
    file, _, inner = id.partition("::")
    level, _, name = inner.partition("::")
    if level == LEVEL:
        return _check_of_model(Path(file).name, name, implementation, run.models)
    for scheme in run.schemes:
        if scheme.path.name != Path(file).name or level not in LEVELS:
            continue
        claimed = subjects(implementation.adapter, run.schemes, run.memory_of_a_call)
        for subject in map(Recorded.of, claimed):
            for check in checks_of(scheme, level, [subject]):
                if check.id == name:
                    return check, subject
    raise _no_check(id, implementation)


def _no_check(id: str, implementation: Implementation) -> UserError:
    return UserError(
        f"{id} is not among the checks of what {implementation.name} claims",
        "copy the id from a run, such as 'rope.yaml::golden::half-d2[float32]'",
    )


def _check_of_model(
    file: str, name: str, implementation: Implementation, models: Sequence[Path]
) -> tuple[Check, Recorded]:
    """Return the check of an engine's reading of a model, and the subject that records its calls.

    Raises UserError if there is none.
    """
    paths = {path.name: path for path in (*model_paths(), *models)}
    if file in paths:
        own = [with_configuration(path) for path in models if path.name == file]
        shipped = [] if own else [load_model(paths[file])]
        for group in subjects_of(implementation.adapter, shipped, own=own).values():
            for subject in map(Recorded.of, group):
                for check in checks_of_model((own or shipped)[0], [subject]):
                    if check.id == name:
                        return check, subject
    raise _no_check(f"{file}::{LEVEL}::{name}", implementation)


def _failure(check: Check, options: Options) -> Execution:
    execution = execute(check, options)
    if execution.verdict in (Verdict.FAILED, Verdict.SILENT):
        return execution
    if execution.verdict is Verdict.PASSED:
        raise UserError(
            "this check passes when it runs alone",
            "if it fails in a run, it does so only after other checks: see which with pytest -x",
        )
    raise UserError(f"this check does not run: {execution.text}", "ask for another one")


def _failing(calls: Sequence[Made], wrong: Execution, name: str) -> int:
    """Return the index of the call whose result is wrong."""
    if same := [number for number, made in enumerate(calls) if made.case is wrong.case]:
        # A call may have been repeated with plain arrays, to diagnose it.
        numbers = (number for number in reversed(same) if _is_wrong(calls[number]))
        return next(numbers, _wrong_beside(calls, same[-1]))
    for number in reversed(range(len(calls))):
        made = calls[number]
        if wrong.case is None and made.problem and made.problem.splitlines()[0] in wrong.text:
            return number
    if name in ("second-call", "no-leak"):
        return next((i for i, made in enumerate(calls) if _differs(calls, made)), len(calls) - 1)
    return len(calls) - 1


def _wrong_beside(calls: Sequence[Made], number: int) -> int:
    """Return the index of the wrong call nearest to call ``number``.

    An invariant makes several calls, and its failure names only one of them.
    """
    near = sorted(range(len(calls)), key=lambda other: abs(other - number))[:5]
    return next((other for other in near if _is_wrong(calls[other])), number)


def _is_wrong(made: Made) -> bool:
    return _has_form(made) and not agrees(made.case, _plain_array(made))


def _differs(calls: Sequence[Made], made: Made) -> bool:
    """Return whether a call gave another result than the first of the same case."""
    first = next(other for other in calls if other.case is made.case)
    if first.got is None or made.got is None:
        return False
    return not np.array_equal(first.got, made.got, equal_nan=True)


def _repeated(new: Implementation, subject: Recorded, made: Made) -> object:
    """Make the same call with a new adapter; return its result, or the exception it raises."""
    method = getattr(new.adapter, subject.name)
    values = {
        key: value.made() if isinstance(value, Given) else value
        for key, value in made.arguments.items()
    }
    positional = [values.pop(key) for key in subject.positional]
    try:
        return method(*positional, **values)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return error
    finally:
        new.end()


def _is_like(made: Made, result: object) -> bool:
    """Return whether a repeated call ended as it did before."""
    if isinstance(result, BaseException) or made.got is None:
        return isinstance(result, BaseException) == (" raised " in made.problem)
    return np.array_equal(to_numpy(result), made.got, equal_nan=True)


def _write_sequence(script: Script, calls: Sequence[Made], name: str) -> None:
    """Write all calls, and lines that compare their results."""
    names = [script.function(made) for made in calls]
    *before, last = names
    if name == "after-others" or calls[-1].problem:
        script.lines += [f"{function}()" for function in before]
        script.lines += [f"got = plain({last}())", *_verdict(calls[-1])]
    elif name == "results-last":
        spoiled = next(i for i, made in enumerate(calls) if _spoiled(made))
        script.lines += [f"{function}()" for function in names[:spoiled]]
        script.lines += [f"first = plain({names[spoiled]}())", "kept = first.copy()"]
        script.lines += [f"{function}()" for function in names[spoiled + 1 :]]
        script.lines += _differing("kept", "first", "of the earlier result have changed")
    else:
        first = names.index(last)
        script.lines += [f"{function}()" for function in names[:first]]
        script.lines += [f"first = plain({last}()).copy()"]
        script.lines += [f"{function}()" for function in names[first + 1 : -1]]
        script.lines += [f"again = plain({last}())"]
        script.lines += _differing("first", "again", "differ although the call is the same")


def _spoiled(made: Made) -> bool:
    if made.result is None or made.got is None:
        return False
    return not np.array_equal(made.result, made.got, equal_nan=True)


def _write_call(script: Script, made: Made, wrong: Execution, name: str, result: object) -> None:
    """Write one call, and lines that show its error."""
    call = script.call(made)
    arrays = [key for key, value in made.arguments.items() if isinstance(value, Given)]
    if name in ("inputs-untouched", "no-alias"):
        script.lines += [
            f"inputs = dict({', '.join(f'{array}={array}' for array in arrays)})",
            "before = {name: array.copy() for name, array in inputs.items()}",
        ]
    if name == "no-alias":
        script.lines += [
            f"got = plain({call})",
            "kept = got.copy()",
            "got[...] = 0  # what a caller may do",
            *_changed("writing into the result changed"),
            "    array[...] = before[name]",
            f"again = plain({call})",
            *_differing("kept", "again", "of the next result differ"),
        ]
    elif name == "inputs-untouched":
        script.lines += [call, *_changed("the call changed")]
    elif wrong.verdict is Verdict.SILENT:
        script.lines += [
            f"got = plain({call})",
            'print(f"answered with an array of shape {got.shape} instead of an exception")',
        ]
    elif isinstance(result, BaseException):
        script.lines += [f"{call}  # raises {type(result).__name__}"]
    elif made.got is None:
        script.lines += [f"got = {call}", 'print(f"got {type(got)}, which is not an array")']
    else:
        script.lines += [f"got = plain({call})", *_verdict(made)]


def _changed(words: str) -> list[str]:
    return [
        "for name, array in inputs.items():",
        "    wrong = np.count_nonzero(array != before[name])",
        f'    print(f"{words} {{wrong}} of {{array.size}} values of {{name}}")',
    ]


def _differing(first: str, second: str, words: str) -> list[str]:
    return [
        f"wrong = np.count_nonzero({first} != {second})",
        f'print(f"{{wrong}} of {{{first}.size}} values {words}")',
    ]


def _verdict(made: Made) -> list[str]:
    """Return lines that show the error in the array ``got``."""
    case = made.case
    if not _has_form(made):
        return [
            'print(f"got shape {got.shape} and dtype {got.dtype}")',
            f'print("expected shape {case.shape} and dtype {case.dtype}")',
        ]
    index = _worst(made)
    bound = case.bound[index]
    repeats = made.result is not None and made.result.shape != case.shape
    return [
        *([f"got = np.broadcast_to(got, {case.shape})"] if repeats else []),
        f"index, expected, bound = {index}, {float(case.truth[index])!r}, {float(bound)!r}",
        "at_worst = float(got[index])",
        'print(f"at {index}: expected {expected}, got {at_worst}")',
        'print(f"error {abs(at_worst - expected):.3g}, but only {bound:.3g} is allowed")',
    ]


def _has_form(made: Made) -> bool:
    """Return whether the result can be compared with the truth, element by element."""
    got, dtype = made.got, made.case.dtype
    if got is None or got.shape != made.case.shape:
        return False
    return got.dtype.kind in EXACT[dtype] if dtype in EXACT else dtype_name(got) == dtype


def _plain_array(made: Made) -> Array:
    return np.asarray(made.got, dtype=np.float64)


def _worst(made: Made) -> tuple[int, ...]:
    """Return the index at which the result is farthest from the truth."""
    got = _plain_array(made)
    infinite = np.argwhere(made.case.shown & ~np.isfinite(got))
    if len(infinite):
        return tuple(int(i) for i in infinite[0])
    return compare(made.case, got).index


def _write_loading(name: str, script: Script, loaded: Implementation, how: How) -> str:
    """Write lines that load the adapter, or its text, and return its expression."""
    if loaded.text:
        return f"{script.load_text(loaded.text, Path.cwd())}.Adapter()"
    point = registered().get(name)
    module, _, attribute = (point.value if point else name).partition(":")
    path = Path(module).resolve() if not point and module.endswith(".py") else None
    if how.python:  # this interpreter may lack what the adapter imports
        called = _call_text_of(type(loaded.adapter).__name__, attribute)
    else:
        adapter = target(name)
        called = _call_text(adapter, attribute or (_name_in(path, adapter) if path else ""))
    if path:
        return script.load_file(path) + called
    return script.load_module(module, None if point else Path.cwd()) + called


def _call_text_of(kind: str, attribute: str) -> str:
    """Return the text for an adapter in another process, which tells the name of its class."""
    attribute = attribute or ("" if kind == "module" else kind)
    return f".{attribute}{'()' * (attribute == kind)}" if attribute else ""


def _call_text(found: object, attribute: str) -> str:
    if inspect.ismodule(found):
        return ""
    return f".{attribute}()" if inspect.isclass(found) else f".{attribute}"


def _name_in(path: Path, found: object) -> str:
    """Return the name of an adapter in the module of its file."""
    for module in list(sys.modules.values()):
        if Path(getattr(module, "__file__", None) or "").resolve() == path:
            for name, value in vars(module).items():
                if value is found:
                    return name
    return getattr(found, "__name__", "")
