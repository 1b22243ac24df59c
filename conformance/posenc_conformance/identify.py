"""What a saved array is: which call of which scheme gives it, or gives it with a known mistake."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from posenc_conformance import schemes
from posenc_conformance.arrays import DTYPES, Array, dtype_name
from posenc_conformance.cases import Case, rounded
from posenc_conformance.diagnosis import diagnose
from posenc_conformance.errors import UserError
from posenc_conformance.failure import AXES
from posenc_conformance.pattern import pattern
from posenc_conformance.spec import Scheme, load_all
from posenc_conformance.tolerance import Floats, compare

HINT = "give a .npy file, an .npz file with one array, or numbers in text, a row to a line"


@dataclass(frozen=True)
class Match:
    """A call whose result the array is, or is but for a known mistake."""

    case: Case
    combination: str
    deviation: str | None
    """Ids of the mistakes in between; None if there are none."""
    explanation: str
    difference: float
    """Largest difference from the call's result, or from what the mistake makes of it."""
    ratio: float
    """The same in units of its bound."""

    @property
    def text(self) -> str:
        """In words."""
        case = self.case
        shown = {**case.conventions, **_numbers(case)}
        said = ", ".join(f"{name} {value}" for name, value in shown.items())
        but = f"\n  but {self.explanation} [{self.deviation}]" if self.deviation else ""
        return (
            f"{case.scheme.id}: {case.call.name}, {self.combination} ({said}){but}\n"
            f"  worst difference {self.difference:.2g}, {self.ratio:.2g} of what "
            f"{case.dtype} allows"
        )


def load(path: Path) -> Array:
    """The array of a file.

    Raises UserError if there is none, or not one of numbers.
    """
    try:
        if path.suffix == ".npz":
            with np.load(path) as arrays:
                names = list(arrays)
                if len(names) != 1:
                    raise UserError(f"{path} has the arrays {', '.join(names)}", HINT)
                array = arrays[names[0]]
        elif path.suffix == ".npy":
            array = np.load(path)
        else:
            text = path.read_text(encoding="utf-8")
            array = np.array([line.replace(",", " ").split() for line in text.splitlines()], float)
    except (OSError, ValueError, EOFError) as error:
        raise UserError(f"{path} cannot be read: {error}", HINT) from None
    if array.dtype.kind not in "fiub" and dtype_name(array) not in DTYPES:
        raise UserError(f"{path} holds {array.dtype}, not numbers", HINT)
    if array.size == 0 or (array.dtype.kind == "f" and np.isnan(array).any()):
        raise UserError(f"{path} is empty, or holds values that are no numbers", HINT)
    return np.asarray(array)


def identify(array: Array, known: Sequence[Scheme] | None = None) -> tuple[list[Match], str]:
    """Every call that explains an array, those without a mistake first; else words for the nearest.

    The calls are those whose scheme's module offers ``IDENTIFY[call](array)``: arguments that would
    give an array of this shape, each with the part of the array that they give.
    """
    squeezed = array.reshape([n for n in array.shape if n != 1] or [1])
    exact: list[Match] = []
    mistaken: list[Match] = []
    nearest: tuple[float, str] = (np.inf, "no call of any scheme gives an array of this shape")
    for case, combination, part in _candidates(squeezed, known or load_all()):
        output = part.astype(np.float64)
        comparison = compare(case, output, case.terms)
        if comparison.judged == 0:
            continue
        difference = abs(comparison.got - comparison.expected)
        if comparison.right:
            exact.append(Match(case, combination, None, "", difference, comparison.worst))
            continue
        found = diagnose(case, output)
        if found.deviation is not None and found.residual <= 1:
            words = found.explanations[0][1]
            left = found.residual * comparison.bound
            mistaken.append(Match(case, combination, found.deviation, words, left, found.residual))
        off = _off(case, output)
        if off < nearest[0]:
            nearest = off, _nearest_text(case, combination, output, off)
    alone = [match for match in mistaken if "+" not in str(match.deviation)]
    return exact or alone or mistaken, nearest[1]


def _candidates(array: Array, known: Sequence[Scheme]) -> Iterator[tuple[Case, str, Array]]:
    for scheme in known:
        offered = getattr(schemes.module(scheme), "IDENTIFY", {})
        for name, arguments_of in offered.items():
            call = scheme.calls[name]
            dtype = call.dtype if call.dtype in ("integer", "boolean") else _dtype(array)
            for arguments, part in arguments_of(array):
                options = {key: arguments.pop(key) for key in call.options if key in arguments}
                for combination in call.combinations.values():
                    point = {**combination.conventions, **options}
                    case = Case(scheme, call, point, rounded(call, arguments, dtype), dtype)
                    if _answers(case, part):
                        yield case, combination.name, part


def _answers(case: Case, part: Array) -> bool:
    """Whether the case has a result, of the right shape."""
    try:
        return case.truth.shape == part.shape
    except ValueError:
        return False


def _dtype(array: Array) -> str:
    """The narrowest dtype that holds the array exactly, as saving often widens it."""
    values = array.astype(np.float64)
    for name in ("bfloat16", "float16", "float32"):
        with np.errstate(over="ignore"):
            if np.array_equal(values.astype(DTYPES[name]).astype(np.float64), values):
                return name
    return "float64"


def _numbers(case: Case) -> dict[str, Any]:
    return {
        name: value for name, value in case.arguments.items() if not isinstance(value, np.ndarray)
    }


def _off(case: Case, output: Floats) -> float:
    """Largest difference as a part of the largest value."""
    truth = np.where(case.shown, case.truth, 0.0)
    difference = np.where(case.shown, np.abs(output - truth), 0.0)
    return float(difference.max() / max(np.abs(truth).max(), 1e-300))


def _nearest_text(case: Case, combination: str, output: Floats, off: float) -> str:
    looks = pattern(case, output, AXES.get(case.call.kind, ()))
    return (
        f"nothing known; the nearest is {case.scheme.id}: {case.call.name}, {combination}, off by "
        f"{off:.2g} of its largest value\n  wrong there: {looks}"
    )
