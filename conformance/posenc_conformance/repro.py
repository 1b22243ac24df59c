"""A snippet that reproduces one failure, with NumPy and the implementation alone."""

import base64
import inspect
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from posenc_conformance.arrays import Array, dtype_name
from posenc_conformance.cases import Case
from posenc_conformance.checks import LEVELS, Blocked, Check, NotClaimed, Options, Wrong, checks_of
from posenc_conformance.claimed import subjects
from posenc_conformance.errors import UserError
from posenc_conformance.implementation import Implementation, load, registered, target
from posenc_conformance.spec import load_all
from posenc_conformance.subject import Misbehaviour, Subject
from posenc_conformance.tolerance import bounds, compare

SHORT = 400
"""Arrays of more elements are written compressed."""


def snippet(id: str, implementation_name: str, options: Options) -> str:
    """Python that calls the implementation as the check does and prints expected and got.

    Raises UserError if the implementation claims no such check, if it passes, or if it fails in
    another way than by a wrong number.
    """
    implementation = load(implementation_name)
    check = _check(id, implementation)
    wrong = _failure(check, options)
    if wrong.case is None:
        raise UserError(
            f"{id} fails without a wrong number to show:\n{wrong.text}",
            "call it as the text says",
        )
    return _written(id, implementation, check.subject, wrong.case)


def _check(id: str, implementation: Implementation) -> Check:
    file, _, rest = id.partition("::")
    level, _, name = rest.partition("::")
    found = subjects(implementation.adapter, load_all())
    for scheme in load_all():
        if scheme.path.name == Path(file).name and level in LEVELS:
            for check in checks_of(scheme, level, found):
                if check.id == name:
                    return check
    raise UserError(
        f"{id} is no check that {implementation.name} claims",
        "ids are those of a run, such as 'rope.yaml::golden::half-d2[float32]'",
    )


def _failure(check: Check, options: Options) -> Wrong:
    try:
        check.run(options)
    except Wrong as wrong:
        return wrong
    except (Blocked, NotClaimed) as reason:
        raise UserError(f"this check does not run: {reason}", "ask for another one") from None
    raise UserError("this check passes", "there is nothing to reproduce")


def _written(id: str, implementation: Implementation, subject: Subject, case: Case) -> str:
    positional, keywords = subject.arguments(case, case.inputs)
    index, expected, bound = _worst(subject, case)
    imported, adapter = _target(implementation.name)
    call = f"{adapter}.{subject.call.name}({_call(case, keywords)})"
    narrow = any(
        dtype_name(value) == "bfloat16" for value in positional if isinstance(value, np.ndarray)
    )
    lines = [
        f"# {id}",
        f"# {case.scheme.title}: {subject.call.name}, {subject.label}, {case.dtype}",
        *(["import base64", "import zlib", ""] if _packed(positional) else []),
        *(["import ml_dtypes"] if narrow else []),
        "import numpy as np",
        "",
        imported,
        "",
        *(
            f"{name} = {_literal(value)}"
            for name, value in zip(case.call.arguments, positional, strict=True)
        ),
        f"got = np.asarray({call}, dtype=np.float64)",
    ]
    if index is None:
        lines += ["print(got)"]
    else:
        lines += [
            f"index, expected, bound = {index}, {expected!r}, {bound!r}",
            'print(f"at {index}: expected {expected}, got {got[index]}")',
            'print(f"error {abs(got[index] - expected):.3g}, of which {bound:.3g} is allowed")',
        ]
    return "\n".join(lines)


def _call(case: Case, keywords: Mapping[str, Any]) -> str:
    return ", ".join(
        [*case.call.arguments, *(f"{name}={_literal(value)}" for name, value in keywords.items())]
    )


def _worst(subject: Subject, case: Case) -> tuple[tuple[int, ...] | None, float, float]:
    """Where the result is farthest from the truth; no index if there is no result to compare."""
    try:
        output = subject.run(case)
    except Misbehaviour:
        return None, np.nan, np.nan
    terms = case.terms
    index = compare(case, output, terms).index
    return index, float(case.truth[index]), float(bounds(case, terms)[index])


def _target(name: str) -> tuple[str, str]:
    """How to get at the adapter: its import, and the expression that stands for it."""
    found, point = target(name), registered().get(name)
    module, _, attribute = (point.value if point else name).partition(":")
    module = Path(module).stem if module.endswith(".py") else module
    if inspect.ismodule(found):
        return f"import {module}", module
    attribute = attribute or found.__name__
    made = f"{attribute}()" if inspect.isclass(found) else attribute
    return f"from {module} import {attribute}", made


def _packed(values: list[Any]) -> bool:
    return any(isinstance(value, np.ndarray) and value.size > SHORT for value in values)


def _literal(value: Any) -> str:
    """A value as Python that gives it back bit by bit."""
    if not isinstance(value, np.ndarray):
        return repr(value)
    dtype = dtype_name(value)
    of = f"ml_dtypes.{dtype}" if dtype == "bfloat16" else f"np.{dtype}"
    if value.size <= SHORT:
        return f"np.array({_nested(value)}, dtype={of}).reshape({value.shape})"
    packed = base64.b64encode(zlib.compress(np.ascontiguousarray(value).tobytes(), 9)).decode()
    return (
        f'np.frombuffer(zlib.decompress(base64.b64decode("{packed}")), dtype={of})'
        f".reshape({value.shape}).copy()"
    )


def _nested(value: Array) -> str:
    plain = value.astype(np.float64) if value.dtype.kind not in "iub" else value
    return repr(plain.ravel().tolist())
