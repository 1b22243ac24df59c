"""The names that ``check`` gives to one mistake in results of different dtypes and sizes.

    python -m posenc_lab.names_by_dtype [--call NAME] [--all]

Every deviation of calls that turn pairs or compute sinusoids is made by a wrong miniature, in
float64, float32 and bfloat16, for 128 rows of 64 channels and 1,024 rows of 128. In both short
dtypes, angles, cosines and sines are rounded to float32 and the result to the dtype, as in code of
users. The name must be that of the deviation; in short dtypes, a mistake may be too small to be
seen. The table has a line for each difference, with ``--all`` for every deviation.
"""

import argparse
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

import numpy as np

from posenc_conformance import check
from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.judge.arrays import DTYPES, Array
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.misbehaviour import Misbehaviour
from posenc_conformance.judge.subject import Subject
from posenc_conformance.judge.trial import Seeded, Trial
from posenc_conformance.judge.verdict import NotClaimed
from posenc_conformance.scheme_file.axis_names import forms_of
from posenc_conformance.testing.signatures import Misuse
from posenc_lab.judging import schemes
from posenc_lab.miniatures import wrong
from posenc_lab.miniatures.base import WRONG, Mistake
from posenc_lab.results import table

assert wrong.__path__  # importing it fills the list

SIZES = ((128, 64), (1024, 128))
"""Rows and channels of users' calls."""
SHOWN = ("float64", "float32", "bfloat16")
ENCODINGS = ("sinusoidal", "timestep", "sincos_2d", "concatenation", "embedding_sum")
TURNING = ("rotary", "gradient", "in-place", "layer")
DRAWS = 6
"""Draws of parameters among which one should show the mistake by its name."""
PASSES, UNREAD, RAISES, UNJUDGED = "passes", "-", "raises", "not judged"
SIDE = 8
"""Patches along each axis of an image but the first."""


@dataclass(frozen=True)
class Named:
    """The names given to a mistake, by dtype."""

    call: str
    claimed: str
    deviation: str
    size: tuple[int, int]
    names: Mapping[str, str]

    @property
    def is_steady(self) -> bool:
        """Whether the result has the deviation's name wherever it is seen."""
        return all(
            name == self.deviation or (dtype != "float64" and name in (PASSES, UNJUDGED))
            for dtype, name in self.names.items()
        )


def mistakes() -> list[type[Mistake]]:
    """Return a miniature for each deviation of each call that computes angles."""
    chosen: dict[tuple[str, str], type[Mistake]] = {}
    calls = angle_calls()
    for mistake in WRONG:
        if mistake.call in calls and mistake.named and "+" not in mistake.named:
            chosen.setdefault((mistake.call, mistake.named), mistake)
    return list(chosen.values())


def angle_calls() -> set[str]:
    """Name the calls that turn rows at positions, or return sinusoids of them."""
    turning = {
        call.name
        for scheme in schemes()
        if scheme.family == "rotary" and scheme.id != "rope-apply"
        for call in scheme.calls.values()
        if call.kind in TURNING
    }
    return turning | set(ENCODINGS)


def named(mistake: type[Mistake], size: tuple[int, int]) -> Named | None:
    """Return the names of a mistake in each dtype, in a call in which float64 has its name.

    Without such a call, any in which it shows; None if it shows in no drawn call of this size.
    """
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return _named(mistake, size)


def _named(mistake: type[Mistake], size: tuple[int, int]) -> Named | None:
    claimed = subjects(mistake(), schemes())
    subject = next(each for each in claimed if each.call.name == mistake.call)
    shown: Case | None = None
    for seed in range(DRAWS):
        drawn = _drawn(subject, size, seed)
        name = PASSES if drawn is None else _name(subject, drawn, "float64")
        if name not in (PASSES, UNJUDGED, RAISES):
            shown = drawn
        if name == mistake.named:
            break
    if shown is None:
        return None
    names = {dtype: _name(subject, shown, dtype) for dtype in SHOWN}
    return Named(mistake.call, subject.label, str(mistake.named), size, names)


def _drawn(subject: Subject, size: tuple[int, int], seed: int) -> Case | None:
    """Draw a call of this size; None if the claim does not cover it."""
    rows, channels = size
    dtype = subject.dtypes[0]
    scope = next(each for each in subject.scopes if dtype in each.dtypes)
    fixed = {name: (channels,) for name in ("head_dim", "dim") if name in subject.call.parameters}
    scope = replace(scope, parameters={**scope.parameters, **fixed})
    trial = Trial(subject, scope, dtype, {}, Seeded(seed))
    case = trial.case(**subject.knowledge.arguments(trial))
    case = case.with_arguments(**_enlarged(case, rows, seed))
    return case if case.has_result else None


def _enlarged(case: Case, rows: int, seed: int) -> dict[str, Any]:
    """Give every array with a row for each token ``rows`` of them, at consecutive positions."""
    if {"height", "width"} <= case.arguments.keys():
        sides: dict[str, Any] = {"height": rows // SIDE, "width": SIDE}
        if "x" in case.arguments:
            shape = (*case.arguments["x"].shape[:-2], rows, case.arguments["x"].shape[-1])
            sides["x"] = np.random.default_rng(seed).standard_normal(shape)
        return sides
    changed: dict[str, Any] = {}
    for name, form in forms_of(case.call).items():
        value = case.arguments.get(name)
        if isinstance(value, np.ndarray) and "n" in form.axes:
            axis = form.axes.index("n") - len(form.axes) + value.ndim
            shape = (*value.shape[:axis], rows, *value.shape[axis + 1 :])
            changed[name] = _values(value, shape, seed)
    return changed


def _values(before: Array, shape: tuple[int, ...], seed: int) -> Array:
    """Return normal numbers, or positions that count on from those of a drawn call.

    Distances below 0 count up through 0: if none is above it, its sign and the 0 are alike.
    """
    if before.dtype.kind == "f":
        return np.random.default_rng(seed).standard_normal(shape)
    if before.ndim == 1:
        first = before[0] if before[0] >= 0 else -(shape[-1] // 2)
        return np.asarray(first + np.arange(shape[-1]))
    sides = (-1, *[SIDE] * (before.shape[0] - 1))
    grid = np.arange(shape[-1])
    places = []
    for side in reversed(sides):
        places.append(grid if side < 0 else grid % side)
        grid = grid // SIDE
    return np.asarray(before[..., :1] + np.stack(places[::-1]))


def _name(subject: Subject, drawn: Case, dtype: str) -> str:
    """Return the id, or the kind of answer, that ``check`` gives to a miniature's result."""
    case = subject.case(drawn.arguments, dtype, {**drawn.conventions})
    try:
        with _in_single() if dtype != "float64" else nullcontext():
            result = subject.invoke(case, case.inputs)
    except (Misbehaviour, NotClaimed):
        return RAISES
    return _told(result.astype(DTYPES[dtype]), case)


def _told(result: Array, case: Case) -> str:
    try:
        check(result, case.call.name, **{**case.inputs, **case.conventions})
    except Misuse:
        return UNJUDGED
    except AssertionError as error:
        first = str(error).splitlines()[0]
        return first.rpartition("[")[2].partition(";")[0] if first.endswith("bound]") else UNREAD
    return PASSES


@contextmanager
def _in_single() -> Iterator[None]:
    """Let sines, cosines and complex exponentials take and return float32 numbers."""
    exponential = np.exp

    def wave(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda angles, *_, **__: function(np.asarray(angles, np.float32)).astype(np.float64)

    def turn(values: Any, *more: Any, **keywords: Any) -> Any:
        if np.iscomplexobj(values):
            return exponential(np.asarray(values, np.complex64)).astype(np.complex128)
        return exponential(values, *more, **keywords)

    with (
        mock.patch.object(np, "sin", wave(np.sin)),
        mock.patch.object(np, "cos", wave(np.cos)),
        mock.patch.object(np, "exp", turn),
    ):
        yield


def main() -> None:
    """Print the table, a line as soon as it is known."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--call", nargs="*", help="these calls alone")
    parser.add_argument("--all", action="store_true", help="list every deviation")
    options = parser.parse_args()
    chosen = [each for each in mistakes() if options.call is None or each.call in options.call]
    print(table(["call", "claim", "deviation", "size", *SHOWN], []))
    seen = steady = 0
    for mistake in chosen:
        for size in SIZES:
            found = named(mistake, size)
            seen += found is not None
            steady += found is not None and found.is_steady
            if found is not None and (options.all or not found.is_steady):
                names = [found.names[dtype] for dtype in SHOWN]
                cells = [
                    found.call,
                    found.claimed,
                    found.deviation,
                    "{} x {}".format(*size),
                    *names,
                ]
                print(f"| {' | '.join(cells)} |", flush=True)
    print(f"{len(chosen)} deviations; {seen} shown by a call, {steady} with one name")


if __name__ == "__main__":
    main()
